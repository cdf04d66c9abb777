"""T20: our own hand in the lake, which puts files together between two runs."""

from __future__ import annotations

from pathlib import Path

from incremental_assets.core.model.compaction import How
from incremental_assets.core.planning.report import Status
from tests.conformance.conftest import OpenStand
from tests.conformance.scenario import scenario
from tests.conformance.stand import Stand

TABLES = '- "public.orders:at:timestamp!upsert"\n- "public.readings:at:timestamp!append"'
COLUMNS = "id int PRIMARY KEY, note text, at timestamptz NOT NULL DEFAULT now()"
NAMES = ("orders", "readings")


@scenario(
    "T20",
    "The files of an upsert and an append are put together after two syncs, and then the checkpoint table is lost",
    holds="the next sync rebuilds its position from that commit and goes on: nothing is lost or lands twice",
    long=True,
)
def test_the_checkpoint_table_is_lost_after_our_own_maintenance(stand: OpenStand) -> None:
    desk = stand(TABLES, *(f"CREATE TABLE {name} ({COLUMNS})" for name in NAMES))
    # The second batch is small beside the first: half of a table or more would be written together with the rest.
    for rows in ("(0, 'a'), (1, 'a'), (2, 'a'), (3, 'a')", "(4, 'a')"):
        desk.execute(*(f"INSERT INTO {name} VALUES {rows}" for name in NAMES))
        desk.land()
    desk.execute("UPDATE orders SET note = 'b', at = now() WHERE id = 0", "INSERT INTO readings VALUES (5, 'c')")
    for name in NAMES:
        put_together(desk, name)
    Path(desk.shop.folder, "checkpoints.db").unlink()
    reports = desk.land()

    assert {report.status for report in reports.values()} == {Status.LANDED}
    assert {name: report.rows.read < 3 for name, report in reports.items()} == dict.fromkeys(NAMES, True)
    for name in NAMES:
        assert desk.kinds(name)[0] == "rebuilt"
        desk.assert_equal(name)
    desk.assert_tidy(*NAMES)


def put_together(desk: Stand, name: str) -> None:
    """As it is done under the table's lease when that pays."""
    spec = desk.spec(name)
    with desk.runtime() as runtime:
        state = runtime.checkpoints.position(spec.id).state
        assert state is not None
        runtime.ports("shop").lake.compact(spec, How.GATHER, "maintenance", state)
