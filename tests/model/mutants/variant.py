"""How the product is varied: one attribute, or a piece of one function's source."""

from __future__ import annotations

import contextlib
import inspect
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any
from unittest import mock

Variant = Callable[[], AbstractContextManager[object]]


@dataclass(frozen=True)
class Mutant:
    """One variant, and what it is known to do."""

    name: str
    harm: str
    variant: Variant


def without_the_thought(module: ModuleType, function: str, *changes: tuple[str, str]) -> Variant:
    """The function, as this module calls it, with pieces of its source replaced; `A.b` names a method."""

    @contextmanager
    def changed() -> Iterator[None]:
        owner: Any = module
        *path, name = function.split(".")
        for part in path:
            owner = getattr(owner, part)
        found = getattr(owner, name)
        text = textwrap.dedent(inspect.getsource(found))
        for old, new in changes:
            assert old in text, f"{module.__name__}.{function} no longer says {old!r}: write its mutant again"
            text = text.replace(old, new)
        made: dict[str, Any] = {}
        code = compile("from __future__ import annotations\n" + text, f"<mutant of {function}>", "exec")
        exec(code, sys.modules[found.__module__].__dict__, made)
        with mock.patch.object(owner, name, made[name]):
            yield

    return changed


def together(*variants: Variant) -> Variant:
    """Several at once."""

    @contextmanager
    def changed() -> Iterator[None]:
        with contextlib.ExitStack() as stack:
            for variant in variants:
                stack.enter_context(variant())
            yield

    return changed


def instead(owner: object, name: str, value: object) -> Variant:
    """One attribute replaced."""
    return lambda: mock.patch.object(owner, name, value)
