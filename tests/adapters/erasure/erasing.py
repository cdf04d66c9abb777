"""Ann, who is erased from a lake in a folder or in a store: whose rows they are, the erasure, and what of her is found after it."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from incremental_assets.adapters.erasure.eraser import Eraser
from incremental_assets.adapters.erasure.former import former_places
from incremental_assets.adapters.erasure.prover import Grounds, examine
from incremental_assets.core.maintenance.erase import erase
from incremental_assets.core.model.erased import ErasureKey
from incremental_assets.core.model.erasure import Place
from incremental_assets.core.model.subject import Subject
from tests.conformance.stand import Stand

SECRET = "a key of erasures that nobody can try all values of"
MAIL = "ann.planted@example.com"
ANN = (Subject((("id", "900001"),), (("mail", MAIL),)),)


class Died(BaseException):
    """`kill -9`."""


def grounds(stand: Stand[Any]) -> Grounds:
    with stand.runtime() as runtime:
        found, table = runtime.configuration, stand.spec("people").id
        here = Grounds(found.lake, table, found.checkpoints, stand.shop.folder / "dagster")
        return replace(here, former=former_places(here.store, found.lake, table, runtime.checkpoints.made()))


def erased(stand: Stand[Any]) -> None:
    with stand.runtime() as runtime:
        eraser = Eraser(grounds(stand), stand.spec("people"), ANN, ErasureKey(SECRET))
        erase(eraser.spec, str(uuid.uuid4()), runtime.ports("shop"), eraser)


def places(stand: Stand[Any]) -> set[Place]:
    return {each.place for each in examine(grounds(stand), ANN).left}


@contextmanager
def dying(monkeypatch: pytest.MonkeyPatch, step: str, *, behind: bool = True) -> Iterator[None]:
    """Whoever erases in the block dies at this step: behind it, or before."""
    real = getattr(Eraser, step)

    def die(self: Eraser, *given: Any) -> None:
        if behind:
            real(self, *given)
        raise Died(step)

    with monkeypatch.context() as patch:
        patch.setattr(Eraser, step, die)
        with pytest.raises(Died):
            yield
