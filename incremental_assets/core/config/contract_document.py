"""A contract as it is written: the name of a pandera model, or rules per column."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, Discriminator, Field, Tag, WithJsonSchema

from incremental_assets.core.config.scalars import Column, Strict, Text

_MODEL = r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*"


_FOREIGN = re.compile(
    r"(?P<escape>\\(?:[1-9ZuUN]|(?P<other>.)))|(?P<class>\[\^?\]?(?:\\.|[^\\\]])*\])"
    r"|(?P<group>\(\?(?:P?=|!|<[=!]|>|\(|#))|(?P<possessive>[*+?}]\+)",
    re.DOTALL,
)
"""What Python's regular expressions have and RE2's have not; an escaped character and a class are passed over whole."""


def _pattern(text: str) -> str:
    """The expression, if Python takes it and RE2, by which Arrow applies it, lacks nothing of it. ValueError says what is wrong."""
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"this is no regular expression: {error}") from None
    for found in _FOREIGN.finditer(text):
        if found["other"] is None and found["class"] is None:
            raise ValueError(
                f"Arrow's RE2 applies it, which has no `{found[0]}`: no look-around, no back-references and nothing else that "
                "looks back; write it without, or a pandera model with a check of your own"
            )
    return text


def _bound(text: str) -> str:
    if text.lower() == ".nan":
        raise ValueError("nothing is more or less than NaN, so that no value keeps this rule; write a number")
    return text


def _model_name(text: str) -> str:
    if not re.fullmatch(_MODEL, text, re.ASCII):
        raise ValueError("write `module:Class`, or rules per column as in {email: {nullable: false}}")
    return text


ConstantText = Annotated[
    str, WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "boolean"}], "examples": [0]})
]


BoundText = Annotated[ConstantText, AfterValidator(_bound)]
MOST_CHARACTERS = 2**31 - 1
"""No text in Arrow has more: it counts a text's bytes in 32 bits."""


class ColumnRulesDocument(Strict):
    """What each value of one column must be."""

    nullable: Annotated[bool, Field(description="Whether the column may be NULL.")] = True
    unique: Annotated[bool, Field(description="No two rows of one sync have the same value.")] = False
    matches: Annotated[
        Text | None, AfterValidator(_pattern), Field(description="A regular expression, from the text's beginning.")
    ] = None
    ge: Annotated[BoundText | None, Field(description="At least.")] = None
    gt: Annotated[BoundText | None, Field(description="More than.")] = None
    le: Annotated[BoundText | None, Field(description="At most.")] = None
    lt: Annotated[BoundText | None, Field(description="Less than.")] = None
    isin: Annotated[tuple[ConstantText, ...] | None, Field(min_length=1, description="One of these.")] = None
    notin: Annotated[tuple[ConstantText, ...] | None, Field(min_length=1, description="None of these.")] = None
    min_length: Annotated[
        int | None, Field(ge=0, le=MOST_CHARACTERS, description="Characters of a text, at least.")
    ] = None
    max_length: Annotated[int | None, Field(ge=0, le=MOST_CHARACTERS, description="Characters of a text, at most.")] = (
        None
    )


ContractDocument = Annotated[
    Annotated[
        Text,
        AfterValidator(_model_name),
        WithJsonSchema({"type": "string", "pattern": f"^{_MODEL}$", "examples": ["contracts.shop:Customers"]}),
        Tag("model"),
    ]
    | Annotated[dict[Column, ColumnRulesDocument], Field(min_length=1), Tag("rules")],
    Discriminator(lambda value: "model" if isinstance(value, str) else "rules"),
]
