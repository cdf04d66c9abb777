"""Pydantic's errors as problems with a line and a cure, in the terms of the file."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from incremental_assets.core.config import document as written
from incremental_assets.core.config.source_kinds import kind_named
from incremental_assets.core.config.yaml_source import Data, Document, Path
from incremental_assets.core.errors import Problem

_OTHER_WORDS = {
    "safety_lag": "lookback",
    "incremental_safety_lag": "lookback",
    "n_jobs": "parallel",
    "cron": "schedule",
    "location": "target",
    "glob": "match",
    "keys": "primary_key",
    "key": "primary_key",
    "not_null": "nullable",
    "min": "ge",
    "max": "le",
    "regex": "matches",
    "pattern": "matches",
    "in": "isin",
}
_BY_KEY = (
    "a server of SSH is entered by a key: write `key: {file: …}`; the database's own `password` stands beside `ssh`"
)

_CURES = {
    "int_parsing": "write a whole number",
    "int_type": "write a whole number",
    "int_from_float": "write a whole number",
    "int_parsing_size": "write a smaller number",
    "greater_than_equal": "write {ge} or more",
    "less_than_equal": "write {le} or less",
    "string_type": "write a single value here",
    "string_too_short": "write a value",
    "string_pattern_mismatch": "write the name of an environment variable: letters, digits and _",
    "bool_parsing": "write true or false",
    "bool_type": "write true or false",
    "model_type": "write keys and values here",
    "dict_type": "write keys and values here",
    "tuple_type": "write a list here: [first, second]",
    "too_short": "write at least one",
}


def problems(document: Document, path: Path, errors: Iterable[ErrorDetails]) -> Iterator[Problem]:
    """What pydantic found in the part of the file that begins at `path`."""
    errors = _innermost(errors)
    misspelt = {
        (error["loc"][:-1], meant(document, (*path, *error["loc"])))
        for error in errors
        if error["type"] == "extra_forbidden"
    }
    for error in errors:
        *above, key = error["loc"] or ("",)
        meant_so = (key, "match") if key == "table" else (key,)
        if error["type"] != "missing" or not any((tuple(above), each) in misspelt for each in meant_so):
            yield _problem(document, (*path, *error["loc"]), error)


def _innermost(errors: Iterable[ErrorDetails]) -> list[ErrorDetails]:
    """The errors without those of a list or a mapping that holds another one: it is not too short as well."""
    errors = list(errors)
    around = {error["loc"][:end] for error in errors for end in range(len(error["loc"]))}
    return [error for error in errors if error["loc"] not in around]


def _problem(document: Document, loc: Path, error: ErrorDetails) -> Problem:
    context: dict[str, Any] = error.get("ctx", {})
    match error["type"]:
        case "extra_forbidden":
            return document.key_problem(document.existing(loc), _unknown_key(document, loc))
        case "missing":
            return document.problem(loc, f"the key `{loc[-1]}` is missing; add it")
        case "literal_error" | "enum":
            choices = re.findall(r"'([^']*)'", context["expected"])
            if isinstance(error["input"], str):
                return document.problem(loc, choose(error["input"], choices))
            return document.problem(loc, f"write a single value here; choose one of: {', '.join(choices)}")
        case "string_type" if document.existing(loc)[-1:] == ("database",) and isinstance(error["input"], list):
            return document.problem(loc, "write the name of one here, or several as `databases: [first, second]`")
        case "value_error":
            return document.problem(loc, str(context["error"]))
        case "string_pattern_mismatch" if loc[-1] == "[key]":
            return document.key_problem(document.existing(loc), "write a name of letters, digits, _, - or .")
        case kind if kind in _CURES:
            return document.problem(loc, _CURES[kind].format_map(context))
    return document.problem(loc, error["msg"])


def choose(text: str, choices: Iterable[str]) -> str:
    """`did you mean …?` where something is near, and the choices in any case."""
    choices = list(choices)
    near = difflib.get_close_matches(text.lower(), choices, n=1)
    hint = f"did you mean `{near[0]}`? " if near else ""
    return f"{hint}choose one of: {', '.join(choices)}"


def _unknown_key(document: Document, loc: Path) -> str:
    models = _models(document, document.existing(loc))
    if loc[-1] in _keys(models):
        return f"`{loc[-1]}` does not go with the other key here; remove one of the two"
    if loc[-1] == "<<":
        return "keys are not merged here; write them out, or an alias in place of a whole value"
    if document.existing(loc)[-2:] == ("ssh", "password"):
        return f"there is no such key here; {_BY_KEY}"
    if around := _around(document, loc):
        return f"there is no such key here; write `{loc[-1]}` beside `{around}`, not in it"
    near = meant(document, loc)
    hint = f"did you mean `{near}`?" if near else f"the keys are {', '.join(_keys(models))}"
    return f"there is no such key here; {hint}"


def meant(document: Document, loc: Path) -> str:
    """The key that was meant by one that does not exist; empty where none is near."""
    keys = _keys(_models(document, document.existing(loc)))
    other_word = _OTHER_WORDS.get(str(loc[-1]), "")
    near = difflib.get_close_matches(str(loc[-1]), keys, n=1)
    return other_word if other_word in keys else near[0] if near else ""


def _around(document: Document, loc: Path) -> str:
    """The key beside which the last of `loc` would be right, as what is around has a key of that name; else empty."""
    path = document.existing(loc)
    outer = (
        end for end in range(len(path) - 2, -1, -1) if path[-1] in _keys(_models(document, (*path[:end], path[-1])))
    )
    around = next((path[end] for end in outer), "")
    return around if isinstance(around, str) else ""


def _keys(models: tuple[type[BaseModel], ...]) -> list[str]:
    return list(dict.fromkeys(field.alias or name for model in models for name, field in model.model_fields.items()))


def dialect_of(source: Data) -> str:
    """The dialect as written; empty where none is."""
    dialect = source.get("dialect") if isinstance(source, dict) else None
    return dialect if isinstance(dialect, str) else ""


def _models(document: Document, path: Path) -> tuple[type[BaseModel], ...]:
    """The models whose keys may appear next to the last of `path`."""
    kinds: list[Any] = [written.ConfigurationDocument]
    for depth, part in enumerate(path[:-1]):
        if path[:depth] == ("sources",):
            sources = document.data.get("sources") if isinstance(document.data, dict) else None
            kinds = [kind_named(dialect_of(sources.get(str(part)) if isinstance(sources, dict) else None)).document]
        else:
            kinds = [inside for kind in kinds for inside in _inside(kind, part)]
    return tuple(kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel))


def _inside(kind: Any, part: str | int) -> Iterator[Any]:
    """What may stand at a key of a model or of a mapping, or at a place of a list."""
    found: Iterable[Any] = get_args(kind)[:1]
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        found = (field.annotation for name, field in kind.model_fields.items() if part == (field.alias or name))
    elif get_origin(kind) is dict:
        found = get_args(kind)[1:]
    for each in found:
        yield from _alternatives(each)


def _alternatives(kind: Any) -> Iterator[Any]:
    if get_origin(kind) is Annotated:
        yield from _alternatives(get_args(kind)[0])
    elif get_origin(kind) in (Union, UnionType):
        for each in get_args(kind):
            yield from _alternatives(each)
    else:
        yield kind
