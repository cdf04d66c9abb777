"""What tables cannot land does not fill the disk of their source: beyond `max_slot_lag` the looks themselves read the log into the lake."""

from __future__ import annotations

import pytest

from incremental_assets.adapters.logs.alone import alone
from incremental_assets.adapters.logs.postgresql import source_log
from incremental_assets.core.captures.log.lsn import lsn_of
from incremental_assets.core.captures.log.observation import LogObservation
from incremental_assets.core.model.observe_request import ObserveRequest
from incremental_assets.core.observing.observers import Observer
from incremental_assets.core.syncing.looking import observe
from tests.adapters.logs.shelved import LoggedShop, Open

_MIB = 1 << 20


@pytest.fixture
def behind(open_shop: Open) -> LoggedShop:
    """A shop of one row that has landed, whose source has 3 MiB more for it than it is to keep."""
    shop = open_shop()
    shop.execute("INSERT INTO orders VALUES (0, 'new')")
    shop.land()
    file = shop.stand.shop.config
    file.write_text(file.read_text().replace("publication: shop", "publication: shop, max_slot_lag: 1MiB"))
    for n in range(1, 5):
        shop.execute(
            f"INSERT INTO orders SELECT n, repeat('x', 1000) FROM generate_series({n * 1000}, {n * 1000 + 899}) AS n"
        )
    return shop


def look(shop: LoggedShop) -> tuple[str, ...]:
    """One as the sensor's; its warnings."""
    with shop.stand.runtime() as runtime:
        spec = shop.stand.spec("orders")
        state = runtime.checkpoints.position(spec.id).state
        (seen,) = observe(runtime.probe(spec.id.source), [ObserveRequest(spec, state)], Observer())
    assert isinstance(seen, LogObservation)
    assert seen.log is not None
    return seen.log.warnings


def test_looks_alone_read_on_what_the_source_is_not_to_keep(behind: LoggedShop) -> None:
    before = lsn_of(behind.confirmed())
    (warning,) = look(behind)
    assert "more than `max_slot_lag` allows: what no table has read of it is read into the lake" in warning
    assert lsn_of(behind.confirmed()) - before > 3 * _MIB
    assert behind.land().rows.inserted == 3600
    behind.assert_equal()


@pytest.mark.acceptance
def test_each_look_takes_a_part_so_that_none_takes_long(behind: LoggedShop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_log, "_AHEAD_BYTES", _MIB)
    before, places = lsn_of(behind.confirmed()), list[int]()
    for _ in range(3):
        look(behind)
        places.append(lsn_of(behind.confirmed()) - before)
    assert 0 < places[0] < places[1] < places[2]
    assert len(behind.shelf().names()) >= 3
    assert behind.land().rows.inserted == 3600
    behind.assert_equal()


def test_a_look_leaves_alone_what_the_source_may_keep(open_shop: Open) -> None:
    shop = open_shop()
    shop.land()
    shop.execute("INSERT INTO orders VALUES (1, 'new')")
    before = shop.confirmed()
    look(shop)
    assert shop.confirmed() == before


@pytest.mark.acceptance
def test_a_look_does_not_wait_for_a_run_that_reads(behind: LoggedShop) -> None:
    before = behind.confirmed()
    with alone(behind.shelf().folder, 1.0):
        assert len(look(behind)) == 1
    assert behind.confirmed() == before


@pytest.mark.acceptance
def test_segments_that_cannot_be_trusted_are_named_and_the_slot_keeps_what_it_has(behind: LoggedShop) -> None:
    before = behind.confirmed()
    (behind.shelf().folder / "followed.json").write_text("{")
    _, told = look(behind)
    assert told.startswith(
        f"of what the source keeps for the replication slot {behind.slot} nothing more can be read: "
    )
    assert "followed.json does not say which tables are read from the log" in told
    assert behind.confirmed() == before


@pytest.mark.acceptance
def test_a_lake_that_takes_no_table_takes_the_log(open_shop: Open) -> None:
    shop = open_shop("orders (id int PRIMARY KEY, note text)", "items (id int PRIMARY KEY, note text)")
    shop.stand.land()
    file = shop.stand.shop.config
    file.write_text(file.read_text().replace("publication: shop", "publication: shop, max_slot_lag: 1MiB"))
    for name in ("orders", "items"):
        shop.execute(f"INSERT INTO {name} SELECT n, repeat('x', 1000) FROM generate_series(1, 1500) AS n")
    logs = [shop.stand.lake / "shop" / "public" / name / "_delta_log" for name in ("orders", "items")]
    for log in logs:
        log.rename(log.parent / "away")
    before = lsn_of(shop.confirmed())
    assert all(report.error for report in shop.stand.sync().values())
    assert lsn_of(shop.confirmed()) - before > 2 * _MIB
    for log in logs:
        (log.parent / "away").rename(log)
    shop.stand.land()
    shop.assert_equal("orders", "items")
