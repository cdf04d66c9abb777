"""A replica has taken over: by the numbers of its transactions its binlog is gone on with, each change once, or it is said what is missing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from incremental_assets.adapters.logs.mysql.decode import Decoder
from incremental_assets.adapters.logs.mysql.gtids import Domains
from incremental_assets.core.captures.registry import capture_of
from incremental_assets.core.errors import IncrementalAssetsError, SourceExchanged
from incremental_assets.demo.mariadb import EmbeddedMariaDB
from incremental_assets.demo.mysql import EmbeddedMySQL
from tests.adapters.logs.binlogged import ORDERS, world_of
from tests.adapters.logs.mirror import Mirror, address_of
from tests.adapters.logs.opening import binlog_server
from tests.conformance.binlog_servers import begin_a_file, caught_up, promote, replica_of, without_log
from tests.conformance.worlds import MariaWorld
from tests.shop import PASSWORD

Patch = pytest.MonkeyPatch


@dataclass
class Pair:
    """A primary with a database, and a replica that gets all of it."""

    primary: EmbeddedMariaDB
    replica: EmbeddedMariaDB
    world: MariaWorld

    @property
    def there(self) -> MariaWorld:
        """The database on the replica."""
        return replace(self.world, server=self.replica)

    def takes_over(self, *mirrors: Mirror) -> None:
        """The replica does, and the mirrors are led to it."""
        caught_up(self.replica, self.primary)
        promote(self.replica)
        for mirror in mirrors:
            mirror.world, mirror.log = self.there, replace(mirror.log, address=address_of(self.there))


@pytest.fixture(params=["mariadb", pytest.param("mysql", marks=pytest.mark.acceptance)])
def pair(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: Patch) -> Iterator[Pair]:
    monkeypatch.setenv("SHOP_PASSWORD", PASSWORD)
    kind = EmbeddedMySQL if request.param == "mysql" else EmbeddedMariaDB
    with binlog_server(kind, tmp_path / "primary") as primary, replica_of(primary, tmp_path / "replica") as replica:
        world = world_of(primary, tmp_path)
        world.configure("- {table: {s}.orders, capture: log}\n- {table: {s}.items, capture: log}")
        world.execute(f"CREATE TABLE {ORDERS}", "CREATE TABLE items (id int PRIMARY KEY)")
        yield Pair(primary, replica, world)


def accept(*mirrors: Mirror) -> None:
    for mirror in mirrors:
        assert mirror.state is not None
        mirror.state = capture_of(mirror.spec).moved(mirror.spec, mirror.state)


def change(world: MariaWorld) -> None:
    world.execute("UPDATE orders SET total = total + 1", "INSERT INTO items SELECT MAX(id) + 1 FROM items")


def loaded(pair: Pair) -> tuple[Mirror, Mirror]:
    pair.world.execute(
        "INSERT INTO orders VALUES (1, 'new', 1, NULL), (2, 'new', 2, NULL)", "INSERT INTO items VALUES (1)"
    )
    orders, items = Mirror.of(pair.world), Mirror.of(pair.world, "items")
    assert (orders.sync(), items.sync()) == ("load", "load")
    return orders, items


def goes_on_with_each_change_once(pair: Pair) -> None:
    """Its newest file has definitions and rows that were read, and what came later; `orders` has landed less than was read."""
    orders, items = loaded(pair)
    caught_up(pair.replica, pair.primary)
    begin_a_file(pair.replica)
    pair.world.execute("ALTER TABLE orders ADD COLUMN more int", "ALTER TABLE orders DROP COLUMN more")
    assert orders.sync(again=True) == "load"
    change(pair.world)
    assert items.sync() == "changes"
    change(pair.world)
    pair.takes_over(orders, items)
    change(pair.there)
    for mirror in (orders, items):
        with pytest.raises(SourceExchanged):
            mirror.sync()
        accept(mirror)
        assert mirror.sync() == "changes"
        assert mirror.rows == mirror.truth()
        assert mirror.sync() == "idle"
    change(pair.there)
    begin_a_file(pair.replica)
    change(pair.there)
    for mirror in (orders, items):
        assert mirror.sync() == "changes"
        assert mirror.rows == mirror.truth()


def says_what_is_missing(pair: Pair) -> None:
    """The replica has not logged for a while what it got."""
    mirrors = loaded(pair)
    caught_up(pair.replica, pair.primary)
    pair.replica = without_log(pair.replica, pair.primary, lambda: change(pair.world))
    change(pair.world)
    pair.takes_over(*mirrors)
    accept(*mirrors)
    for mirror in mirrors:
        with pytest.raises(SourceExchanged, match="lacks transactions"):
            mirror.sync()
    for mirror in mirrors:
        assert mirror.sync(again=True) == "load"
        change(pair.there)
        assert mirror.sync() == "changes"
        assert mirror.rows == mirror.truth()


Story = Callable[[Pair], None]


@pytest.mark.acceptance
@pytest.mark.parametrize("story", [goes_on_with_each_change_once, says_what_is_missing])
def test_a_replica_that_has_taken_over(pair: Pair, story: Story) -> None:
    story(pair)


def _nothing_is_passed(patch: Patch) -> None:
    """What was read on the server before is read again."""
    patch.setattr(Decoder, "passed", property(lambda _: None, lambda *_: None), raising=False)


def _gaps_are_passed(patch: Patch) -> None:
    """That numbers are missing is not looked at."""
    patch.setattr(Domains, "skips", lambda *_: False)


@pytest.mark.acceptance
@pytest.mark.parametrize(
    ("mutant", "story"), [(_nothing_is_passed, goes_on_with_each_change_once), (_gaps_are_passed, says_what_is_missing)]
)
@pytest.mark.parametrize("pair", ["mariadb"], indirect=True)
def test_a_variant_that_is_known_to_be_bad_is_found(
    mutant: Callable[[Patch], None], story: Story, pair: Pair, monkeypatch: Patch
) -> None:
    mutant(monkeypatch)
    with pytest.raises((AssertionError, IncrementalAssetsError, pytest.fail.Exception)):
        story(pair)
