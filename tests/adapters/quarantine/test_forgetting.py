"""Rows that wait for nothing leave a quarantine once they are old; what waits stays, however old it is."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, QueryBuilder

from incremental_assets.adapters.delta import forgetting
from incremental_assets.adapters.delta.commit_metadata import CommitMetadata
from incremental_assets.adapters.delta.forgetting import Aged, forget_quarantined
from incremental_assets.adapters.delta.log.transaction_log import open_log
from incremental_assets.adapters.delta.tasks.forgetting import task
from incremental_assets.core.model.paths import quarantine_path
from incremental_assets.core.planning.plan import CommitIds
from tests.adapters.quarantine.offline import Counter

SOON = timedelta(minutes=1)


@pytest.fixture
def counter(tmp_path: Path) -> Counter:
    """1 and 3 were overtaken, 2 and 4 are held."""
    return overtaken(tmp_path)


def overtaken(folder: Path) -> Counter:
    found = Counter(folder)
    found.copy()
    found.keep(1, [(1, None, 10), (2, None, 20), (3, None, 30), (4, None, 40)])
    found.settle(2, [(1, "mended", 11), (3, "mended", 31)])
    return found


def forget(counter: Counter, before: datetime) -> int:
    log = open_log(quarantine_path(counter.lake, counter.spec.id))
    assert log is not None
    note = CommitMetadata.of_maintenance(CommitIds(log.app_id, 9, uuid.uuid4().hex), "run", None, log.version)
    return forget_quarantined(counter.site, Aged(counter.spec, before, log, note))


def test_what_was_resolved_long_ago_goes_and_what_is_held_stays(counter: Counter) -> None:
    now = datetime.now(UTC)
    assert forget(counter, now - SOON) == 0
    assert len(counter.rows()) == 4
    assert forget(counter, now + SOON) == 2
    assert counter.rows() == [("2", "20", 1, None, False), ("4", "40", 1, None, False)]
    assert forget(counter, now + SOON) == 0


def test_it_goes_on_to_be_settled_afterwards(counter: Counter) -> None:
    forget(counter, datetime.now(UTC) + SOON)
    counter.keep(3, [(1, None, 10)])
    counter.settle(4, [(2, "mended", 21)])
    assert [row[:4] for row in counter.rows()] == [
        ("1", "10", 3, None), ("2", "20", 1, "superseded"), ("4", "40", 1, None)
    ]  # fmt: skip


def test_a_row_that_could_not_land_and_has_since_goes_and_one_that_has_not_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counter = Counter(tmp_path)
    counter.copy()
    counter.keep(1, [(1, None, 10), (2, None, 20), (3, None, 30)])
    # As where no column says that a contract holds them.
    monkeypatch.setattr(forgetting, "HELD", "_nobody_holds_it")
    monkeypatch.setattr(forgetting, "waiting_texts", lambda *_: (("2",),))
    assert forget(counter, datetime.now(UTC) - SOON) == 0
    assert forget(counter, datetime.now(UTC) + SOON) == 2
    assert ids(counter) == ["2"]


def ids(counter: Counter) -> list[str]:
    """By another reader."""
    found = QueryBuilder().register("t", DeltaTable(quarantine_path(counter.lake, counter.spec.id)))
    return sorted(row["id"] for row in pa.table(found.execute("SELECT id FROM t").read_all()).to_pylist())


VARIANTS: dict[str, tuple[str, object]] = {
    "what waits goes too": ("_closed", lambda _old, _of, group: group.alive),
    "what is held has landed": ("_landed", lambda _old, _of, group: group.alive),
    "what is resolved is not old": ("_closed", lambda _old, _of, group: ~group.alive),
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_each_known_bad_variant_is_found(variant: str, counter: Counter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task, *VARIANTS[variant])
    with pytest.raises(AssertionError):
        test_what_was_resolved_long_ago_goes_and_what_is_held_stays(counter)
