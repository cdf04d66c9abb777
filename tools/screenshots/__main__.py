"""`make screenshots`: three syncs, a row that breaks its contract, a drift that the check finds, and what repairs it."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

from incremental_assets.demo.day import LateTransaction, live_a_day, open_shop
from incremental_assets.demo.tpch import DATABASE
from tools.screenshots.camera import Camera, camera
from tools.screenshots.stage import Stage, stage, wait

IMAGES = Path(__file__).parents[2] / "docs" / "images"
ORDERS = "assets/tpch/public/orders"
BAR = "//*[contains(@class, 'PartitionStatusBar_partitionSpansContainer')]"
DRIFTED = 2
"""Weeks, side by side, in which somebody changes orders behind the back of `updated_at`."""

DRIFT = """
    UPDATE orders SET o_totalprice = round(o_totalprice * 1.1, 2)
    WHERE o_orderkey %% 40 = 1 AND updated_at >= %s AND updated_at < %s
"""


def main() -> None:
    with stage() as shop, camera(shop.url, IMAGES) as ui:
        three_syncs(shop)
        shop.launched("check")
        overview(ui)
        ticks(ui)
        contract_and_history(ui)
        weeks = drift(shop)
        failed_check(shop, ui)
        backfill(shop, ui, weeks)
        if not checked(shop, ui):
            raise SystemExit("the backfill did not repair what the check had found")
        repair(shop, ui)


def three_syncs(shop: Stage) -> None:
    """All of them asked for by the sensor; the second one meets rows that were stamped before the first."""
    with LateTransaction(shop.server.dsn(DATABASE)) as late, shop.connect() as connection:
        open_shop(connection)
        shop.wait_for_syncs(1)
        late.commit()
    for seed in (1, 2):
        before = len(shop.runs_of_orders())
        with shop.connect() as connection:
            live_a_day(connection, seed=seed)
        shop.wait_for_syncs(before + 1)


def overview(ui: Camera) -> None:
    """What is there: the tables, one of them, its partitions, its numbers."""
    ui.open("locations/incremental_assets/asset-groups/tpch/lineage", "orders", height=1400)
    for _ in range(7):
        ui.click("//button[.//*[@aria-label='zoom_out']]")
    ui.take("lineage")
    ui.open(f"{ORDERS}?view=overview", "guarantee", height=1500)
    ui.click("//*[text()='Columns']")
    ui.take("asset")
    ui.button("Plots")
    ui.button("Events")
    ui.until("rows_read")
    ui.take("plots")
    ui.open(f"{ORDERS}?view=partitions&partition={_sunday(weeks_ago=0)}", "rows_read", height=1000)
    ui.take("partitions")


def ticks(ui: Camera) -> None:
    """The sensor: most looks find nothing, and cost nothing."""
    ui.open("locations/incremental_assets/sensors/sync__tpch__sensor", "runs requested", height=1000)
    ui.take("sensor")


def contract_and_history(ui: Camera) -> None:
    """A check that fails because a row is held in quarantine, and the versions of rows beside their copy."""
    # The description says "held in quarantine" too; what the check has found follows it.
    ui.open("assets/tpch/public/part?view=checks&checkDetail=contract", "held in quarantine, since", height=740)
    ui.take("contract")
    ui.open("assets/tpch/public/customer__history?view=lineage", "customer__history", "2 / 2 Passed", height=620)
    ui.take("history")


def drift(shop: Stage) -> list[date]:
    """Prices change where the trigger that stamps does not see it: no watermark in the world would notice."""
    weeks = [_sunday(weeks_ago=number) for number in (6, 5)]
    with shop.connect() as connection:
        connection.execute("ALTER TABLE orders DISABLE TRIGGER stamp")
        connection.execute(DRIFT, [weeks[0], weeks[0] + timedelta(weeks=DRIFTED)])
        connection.execute("ALTER TABLE orders ENABLE TRIGGER stamp")
    return weeks


def failed_check(shop: Stage, ui: Camera) -> None:
    """Run from its page; it names the rows and where they are."""
    if checked(shop, ui):
        raise SystemExit("the check did not find that orders were changed")
    ui.until("missing in the lake or different there")
    ui.take("check")


def checked(shop: Stage, ui: Camera) -> bool:
    """The answer of a reconciliation that is run by hand."""
    before = shop.reconciliations()
    ui.open(f"{ORDERS}?view=checks&checkDetail=reconciliation", "Execution history", height=960)
    ui.click("//button[normalize-space(.)='Execute']")
    wait(lambda: len(shop.reconciliations()) > len(before), "a reconciliation")
    return shop.reconciliations()[0]


def backfill(shop: Stage, ui: Camera, weeks: list[date]) -> None:
    """Materialize, drag over the drifted weeks, launch."""
    before, ran = shop.backfills(), shop.runs_of_orders()
    ui.open(f"{ORDERS}?view=overview", "guarantee", height=800)
    ui.button("Materialize")
    ui.until("Launch backfill")
    keys = shop.partitions_of_orders()
    first, last = (keys.index(str(week)) for week in (weeks[0], weeks[-1]))
    ui.drag(BAR, (first + 0.3) / len(keys), (last + 0.7) / len(keys))
    ui.until(f"{DRIFTED} partitions")
    ui.take("backfill_dialog")
    ui.button("Launch backfill")
    wait(lambda: len(shop.backfills()) > len(before) and "REQUESTED" not in shop.backfills().values(), "the backfill")
    (made,) = shop.backfills().keys() - before.keys()
    ui.open(f"runs/b/{made}", "100% completed", height=560)
    ui.take("backfill")
    (run,) = shop.runs_of_orders() - ran
    ui.open(f"runs/{run}", "RUN_SUCCESS")
    ui.take("run")


def repair(shop: Stage, ui: Camera) -> None:
    """The same drift once more, repaired by the job."""
    drift(shop)
    if checked(shop, ui):
        raise SystemExit("the check did not find that orders were changed again")
    shop.launched("repair")
    ui.open("assets/tpch/public/orders?view=events", "rows_updated", height=1000)
    ui.take("repair")


def _sunday(*, weeks_ago: int) -> date:
    """The first day of a week of the grid, which is the key of its partition."""
    return Stage.today() - timedelta(days=Stage.today().isoweekday() % 7, weeks=weeks_ago)


if __name__ == "__main__":
    main()
