"""T20, an absence must never read as "nothing was there": what the lake and the stage show is compared with what is recorded of them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from incremental_assets.adapters.delta.log import log_cache
from incremental_assets.core.model.batch import Batch
from incremental_assets.core.model.paths import quarantine_path, staging_path
from incremental_assets.core.planning.plan import Mode
from incremental_assets.core.planning.report import Status
from incremental_assets.core.ports import Ports, Stage
from tests.conformance.conftest import OpenStand
from tests.conformance.meddling import assert_told
from tests.conformance.scenario import scenario
from tests.conformance.stand import Stand

NAMES = ("orders", "readings")
TABLES = '- "public.orders:at:timestamp!upsert"\n- "public.readings:at:timestamp!append"'
COLUMNS = "id int PRIMARY KEY, note text, at timestamptz NOT NULL DEFAULT now()"
FORGETS = "delta.setTransactionRetentionDuration"
SCHEMA = (
    *(f"CREATE TABLE {name} ({COLUMNS})" for name in NAMES),
    *(f"INSERT INTO {name} SELECT i, 'a', '2024-01-10Z' FROM generate_series(1, 50) AS i" for name in NAMES),
)


@pytest.fixture(autouse=True)
def new_process(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """What this process knows of logs is forgotten when the fixture's value is called, as a command of its own knows nothing."""

    def forget() -> None:
        monkeypatch.setattr(log_cache, "_cache", log_cache._Cache())

    forget()
    return forget


@scenario(
    "T20",
    f"Somebody sets `{FORGETS}` and writes a checkpoint, so that the tables forget which syncs have landed; then one row comes",
    holds="the next sync stops and names the property and the statement that removes it; once it is removed, the row lands beside all others",
)
def test_the_tables_forget_which_syncs_have_landed(stand: OpenStand, new_process: Callable[[], None]) -> None:
    desk = _landed(stand)
    for name in NAMES:
        desk.spark.sql(f"ALTER TABLE {_delta(desk, name)} SET TBLPROPERTIES ('{FORGETS}' = 'interval 0 seconds')")
        DeltaTable(desk.shop.lake(name)).create_checkpoint()
    new_process()
    desk.execute(*(f"INSERT INTO {name} VALUES (51, 'b')" for name in NAMES))
    for report in desk.sync().values():
        assert_told(report, FORGETS, "UNSET TBLPROPERTIES")
    for name in NAMES:
        desk.spark.sql(f"ALTER TABLE {_delta(desk, name)} UNSET TBLPROPERTIES ('{FORGETS}')")
    desk.land()
    for name in NAMES:
        desk.assert_equal(name)
    desk.assert_tidy(*NAMES)


HARMS: dict[str, Callable[[Path, Path], object]] = {
    "empty": lambda middle, _: middle.write_bytes(b""),
    "cut": lambda middle, _: middle.write_bytes(middle.read_bytes()[:-30]),
    "missing": lambda middle, _: middle.unlink(),
    "cut between two actions": lambda middle, _: middle.write_bytes(
        b"".join(middle.read_bytes().splitlines(True)[:-1])
    ),
    "empty, and it is the last": lambda _, last: last.write_bytes(b""),
}


@scenario(
    "T20",
    "A commit file in the log of a copy is emptied, cut, or removed, as a full disk, a power cut or a restore leaves it; nothing, or a row, is new in the source",
    holds="the next sync stops, also of a table that stands still, and names the file and what helps; with the folder moved away `--full-refresh` makes the table equal",
    long=True,
)
@pytest.mark.parametrize("harm", HARMS)
def test_a_commit_file_is_damaged(stand: OpenStand, harm: str, new_process: Callable[[], None]) -> None:
    desk = _landed(stand)
    desk.execute(*(f"UPDATE {name} SET note = 'b', at = now() WHERE id <= 3" for name in NAMES))
    desk.land()
    desk.execute(*(f"INSERT INTO {name} VALUES (51, 'c')" for name in NAMES))
    desk.land()
    for name in NAMES:
        log = desk.shop.lake(name) / "_delta_log"
        middle, last = (log / f"{version:020d}.json" for version in desk.versions(name)[-2:])
        for checksum in log.glob(".*.crc"):
            checksum.unlink()
        HARMS[harm](middle, last)
    new_process()
    if harm != "cut between two actions":
        for report in desk.sync().values():
            assert_told(report, "_delta_log/0000", "restore that file", "--full-refresh")
    desk.execute(*(f"INSERT INTO {name} VALUES (52, 'd')" for name in NAMES))
    for report in desk.sync().values():
        assert_told(report, "_delta_log/0000", "restore that file", "--full-refresh")


@scenario(
    "T20",
    "The hint at the last checkpoint is lost from a log whose first commits have been cleaned away",
    holds="the checkpoint is found by its name: the next sync lands what is new, and the copies are equal",
)
def test_the_hint_at_the_last_checkpoint_is_lost(stand: OpenStand, new_process: Callable[[], None]) -> None:
    desk = _landed(stand)
    for name in NAMES:
        table, log = DeltaTable(desk.shop.lake(name)), desk.shop.lake(name) / "_delta_log"
        table.create_checkpoint()
        for version in desk.versions(name)[:-1]:
            (log / f"{version:020d}.json").unlink()
        (log / "_last_checkpoint").unlink()
    new_process()
    desk.execute(*(f"INSERT INTO {name} VALUES (51, 'b')" for name in NAMES))
    desk.land()
    for name in NAMES:
        desk.assert_equal(name)
    desk.assert_tidy(*NAMES)


def _put_back(desk: Stand, older: Path, name: str) -> None:
    shutil.rmtree(desk.shop.lake(name))
    shutil.copytree(older / name, desk.shop.lake(name))


def _maintained(desk: Stand, name: str, until: int) -> None:
    while desk.versions(name)[-1] < until:
        DeltaTable(desk.shop.lake(name)).alter.set_table_properties({"theirs": "1"}, raise_if_not_exists=False)


def _older_and_maintained(desk: Stand, older: Path, name: str) -> None:
    last = desk.versions(name)[-1]
    _put_back(desk, older, name)
    _maintained(desk, name, last)


def _older_and_maintained_more(desk: Stand, older: Path, name: str) -> None:
    last = desk.versions(name)[-1]
    _put_back(desk, older, name)
    _maintained(desk, name, last + 2)


def _newest_replaced(desk: Stand, _older: Path, name: str) -> None:
    last = desk.versions(name)[-1]
    (desk.shop.lake(name) / "_delta_log" / f"{last:020d}.json").unlink()
    _maintained(desk, name, last)


def _exchanged(desk: Stand, _older: Path, name: str) -> None:
    if name == NAMES[0]:
        one, other = (desk.shop.lake(each) for each in NAMES)
        one.rename(desk.shop.folder / "one")
        other.rename(one)
        (desk.shop.folder / "one").rename(other)


OLDER: dict[str, Callable[[Stand, Path, str], None]] = {
    "older, and maintained up to the version of before": _older_and_maintained,
    "older, and maintained beyond it": _older_and_maintained_more,
    "without its newest commit, in whose place is one of maintenance": _newest_replaced,
    "exchanged with another one": _exchanged,
}


@scenario(
    "T20",
    "The copy is an older one that was put back, or lacks its newest commit, and another writer's maintenance has brought its version up to what it was; or two copies are exchanged",
    holds="the next sync stops, also of a table that stands still, and says what it is; nothing is written over it; with its folder moved away `--full-refresh` makes the table equal",
)
@pytest.mark.parametrize("harm", OLDER)
def test_an_older_copy_with_as_high_a_version(stand: OpenStand, harm: str, new_process: Callable[[], None]) -> None:
    desk = _landed(stand)
    shutil.copytree(desk.lake / "shop" / "public", desk.shop.folder / "older")
    desk.execute(*(f"UPDATE {name} SET note = 'b', at = now() WHERE id <= 3" for name in NAMES))
    desk.land()
    for name in NAMES:
        OLDER[harm](desk, desk.shop.folder / "older", name)
    new_process()
    words = ("taken its place",) if harm.startswith("exchanged") else ("restored from an older copy",)
    for report in desk.sync().values():
        assert_told(report, *words, "nothing was written", "--full-refresh")
    desk.execute(*(f"INSERT INTO {name} VALUES (51, 'c')" for name in NAMES))
    for report in desk.sync().values():
        assert_told(report, *words, "nothing was written", "--full-refresh")
    for name in NAMES:
        shutil.rmtree(desk.shop.lake(name))
    desk.land(mode=Mode.FULL_REFRESH)
    for name in NAMES:
        desk.assert_equal(name)


def _unlink(file: Path) -> None:
    file.unlink()


def _cut(file: Path) -> None:
    with file.open("r+b") as opened:
        opened.truncate(file.stat().st_size // 2)


@scenario(
    "T20",
    "The first data file of a copy, in which nothing of the batch lies, is removed or cut while its log stays as it was; a row comes",
    holds="the next sync that has something to read stops before it reads, names the file and what helps, and leaves the watermark; with its folder moved away `--full-refresh` makes the table equal",
)
@pytest.mark.parametrize("harm", [_unlink, _cut], ids=["removed", "cut"])
def test_a_data_file_is_gone_in_which_nothing_of_the_batch_lies(
    stand: OpenStand, harm: Callable[[Path], None], new_process: Callable[[], None]
) -> None:
    desk = _landed(stand)
    desk.execute(*(f"INSERT INTO {name} VALUES (51, 'b')" for name in NAMES))
    desk.land()
    for name in NAMES:
        oldest, _ = sorted(desk.shop.lake(name).glob("*.parquet"), key=lambda file: file.stat().st_mtime_ns)
        harm(oldest)
    new_process()
    desk.execute(*(f"INSERT INTO {name} VALUES (52, 'c')" for name in NAMES))
    for _ in range(2):
        for report in desk.sync().values():
            assert_told(report, "a file of the copy is", ".parquet", "--full-refresh")
    for name in NAMES:
        shutil.rmtree(desk.shop.lake(name))
    desk.land(mode=Mode.FULL_REFRESH)
    for name in NAMES:
        desk.assert_equal(name)


class _Robbed:
    """A stage whose batches somebody removes before they land: the whole folder, its files, or one of them."""

    def __init__(self, stage: Stage, lake: Path, harm: str) -> None:
        self._stage, self._lake, self._harm = stage, lake, harm

    def write(self, plan: Any, *rest: Any) -> Batch:
        batch = self._stage.write(plan, *rest)
        folder = Path(staging_path(str(self._lake), plan.spec.id, batch.batch_id))
        files = sorted(folder.glob("*.parquet"))
        if self._harm == "the folder":
            shutil.rmtree(folder)
        for file in files if self._harm == "its files" else files[:1] if self._harm == "one file" else ():
            file.unlink()
        return batch

    def discard(self, *names: Any) -> tuple[str, ...]:
        return self._stage.discard(*names)


@scenario(
    "T20",
    "The files of a staged batch vanish before it lands",
    holds="nothing lands as nothing: the sync stops in one sentence and the watermark stays; the next one lands all rows",
)
@pytest.mark.parametrize("harm", ["the folder", "its files", "one file"])
def test_the_files_of_a_staged_batch_vanish(stand: OpenStand, harm: str) -> None:
    desk = _landed(stand)
    desk.execute(*(f"INSERT INTO {name} SELECT i, 'b' FROM generate_series(51, 151) AS i" for name in NAMES))

    def robbed(ports: Ports) -> Ports:
        stage: Any = _Robbed(ports.stage, desk.lake, harm)
        return replace(ports, stage=stage)

    for report in desk.sync(through=robbed).values():
        assert_told(report, "had staged, so nothing of its batch landed", "sync again")
    desk.land()
    for name in NAMES:
        desk.assert_equal(name)
    desk.assert_tidy(*NAMES)


@scenario(
    "T20",
    "A second installation, with a copy of the configuration and a checkpoint database of its own, syncs into the same lake while the first has staged a batch",
    holds="the second one is refused by the name of the first before it writes or removes anything, and the first lands its batch; "
    "once the second has taken the tables over it goes on from where the first was, and the first one is refused",
)
def test_a_second_installation_syncs_into_the_same_lake(stand: OpenStand, tmp_path_factory: Any) -> None:
    desk = _landed(stand)
    second = _copied(desk, tmp_path_factory.mktemp("second"))
    desk.execute(*(f"INSERT INTO {name} SELECT i, 'b' FROM generate_series(51, 151) AS i" for name in NAMES))

    def meanwhile(ports: Ports) -> Ports:
        class Pausing:
            def write(self, plan: Any, *rest: Any) -> Batch:
                batch = ports.stage.write(plan, *rest)
                (told,) = second.sync(plan.spec.id.name).values()
                assert_told(told, "another installation writes this table", str(desk.shop.folder), "--take-over")
                return batch

            def discard(self, *names: Any) -> tuple[str, ...]:
                return ports.stage.discard(*names)

        stage: Any = Pausing()
        return replace(ports, stage=stage)

    desk.land(through=meanwhile)
    for name in NAMES:
        desk.assert_equal(name)
    desk.execute(*(f"INSERT INTO {name} VALUES (152, 'c')" for name in NAMES))
    with second.runtime() as runtime:
        for name in NAMES:
            assert runtime.ownership.take(desk.spec(name).id) is not None
    assert {report.status for report in second.sync().values()} == {Status.LANDED}
    for name in NAMES:
        desk.assert_equal(name)
    desk.execute(*(f"INSERT INTO {name} VALUES (153, 'd')" for name in NAMES))
    for report in desk.sync().values():
        assert_told(report, "another installation writes this table", "--take-over")


def _landed(stand: OpenStand) -> Stand:
    desk = stand(TABLES, *SCHEMA)
    desk.land()
    return desk


def _copied(desk: Stand, folder: Path) -> Stand:
    """The same source and lake, and a checkpoint database of its own."""
    shop = replace(desk.shop, folder=folder)
    text = desk.shop.config.read_text()
    shop.config.write_text(text.replace("lake: ./lake", f"lake: {desk.lake}"))
    return Stand(shop, desk.spark)


def _delta(desk: Stand, name: str) -> str:
    return f"delta.`{desk.shop.lake(name)}`"


BESIDE = ("quarantine_gone", "quarantine_older", "quarantine_emptied", "history_gone", "history_older")


def _put_beside(desk: Stand, older: Path, name: str) -> None:
    """Harm what lies beside a copy, as the table is called."""
    what, harm = name.split("_")
    place = (
        Path(quarantine_path(str(desk.lake), desk.spec(name).id))
        if what == "quarantine"
        else desk.shop.lake(f"{name}__history")
    )
    if harm == "emptied":
        for file in (place / "_delta_log").iterdir():
            file.unlink()
        return
    shutil.rmtree(place)
    if harm == "older":
        shutil.copytree(older / place.relative_to(desk.lake), place)


@scenario(
    "T20",
    "The quarantine of a copy, or its history, is removed, emptied, or put back from an older copy, while the copy itself stays",
    holds="the next sync stops and names it, `check` does not pass, and a full refresh fills the quarantine again; of a history that is gone, which may have been moved away, "
    "the run warns that a new one begins, and until then `check` says that it is gone",
)
@pytest.mark.parametrize("name", BESIDE)
def test_what_lies_beside_a_copy_is_gone(stand: OpenStand, name: str, new_process: Callable[[], None]) -> None:
    settings = (
        "cursor: {column: at, type: timestamp}, strategy: upsert, history: scd2, contract: {note: {isin: [a, b, c, d]}}"
    )
    desk = stand(
        f"- {{table: public.{name}, {settings}}}",
        f"CREATE TABLE {name} (id int PRIMARY KEY, v numeric(9, 2), note text, at timestamptz NOT NULL DEFAULT now())",
        f"INSERT INTO {name} VALUES (1, 1, 'a'), (2, 'NaN', 'a'), (3, 3, 'wrong')",
    )
    desk.land()
    older, harmed = desk.shop.folder / "older", name.partition("_")[0]
    shutil.copytree(desk.lake, older)
    desk.execute(f"INSERT INTO {name} VALUES (4, 'NaN', 'b'), (5, 5, 'wrong'), (6, 6, 'b')")
    for note in ("b", "c"):
        desk.execute(f"UPDATE {name} SET note = '{note}', at = now() WHERE id = 1")
        desk.land()
    _put_beside(desk, older, name)
    new_process()
    failed = {str(each.check) for each in desk.verdicts(name) if not each.passed}
    assert ({"current", "overlap"} if harmed == "history" else {"reconciliation", "contract"}) <= failed
    for _ in range(2 if name != "history_gone" else 0):
        words = "older copy" if name.endswith("older") else "is gone"
        assert_told(desk.sync()[name], harmed, words, "move it away" if harmed == "history" else "--full-refresh")
        desk.execute(f"INSERT INTO {name} VALUES (7, 7, 'd') ON CONFLICT DO NOTHING")
    if name == "history_older":
        shutil.rmtree(desk.shop.lake(f"{name}__history"))
    if name == "quarantine_emptied":
        emptied = quarantine_path(str(desk.lake), desk.spec(name).id)
        assert_told(desk.sync(mode=Mode.FULL_REFRESH)[name], emptied, "move them away")
        shutil.rmtree(emptied)
    again = desk.land(mode=Mode.SYNC if harmed == "history" else Mode.FULL_REFRESH)[name]
    assert any("a new one begins" in each for each in again.warnings) is (harmed == "history"), again.warnings
    desk.execute(f"UPDATE {name} SET note = 'd', at = now() WHERE id = 1")
    assert not [each for each in desk.land()[name].warnings if "a new one begins" in each]
    desk.assert_equal(name, f"SELECT * FROM {name} WHERE id IN (1, 6, 7)")
    assert {row["id"] for row in desk.quarantined(name) if row["_sync_resolved_at"] is None} == {"2", "3", "4", "5"}
