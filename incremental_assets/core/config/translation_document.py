"""`translation` as written: what assets in Dagster are called, and what else is said of them. Its templates are filled in by Dagster."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

from pydantic import Discriminator, Field, Tag

from incremental_assets.core.config.scalars import Strict, Text


def _is_template(value: object) -> str:
    return "template" if isinstance(value, str) else "several"


_Several = TypeVar("_Several")
_OrTemplate = Annotated[
    Annotated[_Several, Tag("several")] | Annotated[Text, Tag("template")], Discriminator(_is_template)
]
"""As it is, or one template that gives it."""


class TranslationDocument(Strict):
    """Attributes of the assets of copies and histories; a text may hold `{{ table.source }}`, `{{ table.schema }}`, `{{ table.name }}` and `{{ spec.… }}`."""

    key: Annotated[Text | None, Field(examples=["raw/{{ table.name }}"])] = None
    key_prefix: _OrTemplate[tuple[Text, ...]] | None = None
    group_name: Annotated[Text | None, Field(examples=["{{ table.schema }}"])] = None
    description: Text | None = None
    owners: _OrTemplate[tuple[Text, ...]] | None = None
    tags: _OrTemplate[dict[Text, Text]] | None = None
    kinds: _OrTemplate[tuple[Text, ...]] | None = None
    metadata: _OrTemplate[dict[Text, Any]] | None = None
    code_version: Text | None = None
    automation_condition: Text | None = None


Translated = Annotated[
    Annotated[TranslationDocument, Tag("templates")] | Annotated[Text, Tag("function")],
    Discriminator(lambda value: "function" if isinstance(value, str) else "templates"),
    Field(description="How assets are named and described in Dagster: by templates, or by a function of the project."),
]
