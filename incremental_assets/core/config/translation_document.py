"""`translation` as written: what assets in Dagster are called, and what else is said of them. Its templates are filled in by Dagster."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Discriminator, Field, Tag

from incremental_assets.core.config.scalars import Strict, Text


def _is_template(value: object) -> str:
    return "template" if isinstance(value, str) else "several"


_Texts = Annotated[
    Annotated[tuple[Text, ...], Tag("several")] | Annotated[Text, Tag("template")], Discriminator(_is_template)
]
"""Several, or one template that gives them; so too the next."""
_Tags = Annotated[
    Annotated[dict[Text, Text], Tag("several")] | Annotated[Text, Tag("template")], Discriminator(_is_template)
]
_Entries = Annotated[
    Annotated[dict[Text, Any], Tag("several")] | Annotated[Text, Tag("template")], Discriminator(_is_template)
]


class TranslationDocument(Strict):
    """Attributes of the assets of copies and histories; a text may hold `{{ table.source }}`, `{{ table.schema }}`, `{{ table.name }}` and `{{ spec.… }}`."""

    key: Annotated[Text | None, Field(examples=["raw/{{ table.name }}"])] = None
    key_prefix: _Texts | None = None
    group_name: Annotated[Text | None, Field(examples=["{{ table.schema }}"])] = None
    description: Text | None = None
    owners: _Texts | None = None
    tags: _Tags | None = None
    kinds: _Texts | None = None
    metadata: _Entries | None = None
    code_version: Text | None = None
    automation_condition: Text | None = None


Translated = Annotated[
    Annotated[TranslationDocument, Tag("templates")] | Annotated[Text, Tag("function")],
    Discriminator(lambda value: "function" if isinstance(value, str) else "templates"),
    Field(description="How assets are named and described in Dagster: by templates, or by a function of the project."),
]
