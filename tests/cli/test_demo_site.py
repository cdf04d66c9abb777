"""The demo removes what it has made, and nothing else."""

from __future__ import annotations

import shutil
import stat
from pathlib import Path

import pytest

from incremental_assets.cli.commands.demo_site import MARK, DemoBusy, Site
from incremental_assets.core.config.load import load
from incremental_assets.core.errors import Refused, SelectionError
from incremental_assets.demo.places import PLACES, configuration_of

SHIPPED = Path(__file__).parents[2] / "incremental_assets" / "sources.yaml"


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """A clone without its database."""
    config = tmp_path / "incremental_assets" / "sources.yaml"
    config.parent.mkdir()
    shutil.copy(SHIPPED, config)
    return Site.of(load(config))


def test_the_shipped_configuration_describes_the_demo_beside_it(site: Site, tmp_path: Path) -> None:
    assert (site.folder, site.lake) == (tmp_path / ".demo", tmp_path / ".lake")
    assert site.checkpoints.parent == site.lake


@pytest.mark.parametrize("name", PLACES)
def test_every_shipped_configuration_describes_a_demo_of_its_own(name: str) -> None:
    site = Site.of(load(configuration_of(name)))
    assert site.source.dialect == {"log": "postgresql", "s3": "postgresql", "binlog": "mariadb"}.get(name, name)
    assert site.in_store is (name == "s3")
    assert site.folder == SHIPPED.parents[1] / PLACES[name]
    shop = site.shop()
    assert type(shop).__module__.endswith(f"shop_in_{name}")
    assert shop.schema in (*site.source.schemas, *(table.schema for table in site.source.tables))


def test_another_file_of_sqlite_is_nobodys_to_clear(tmp_path: Path) -> None:
    config = tmp_path / "sources.yaml"
    config.write_text(configuration_of("sqlite").read_text().replace("../../.demo-sqlite/shop.db", "mine/shop.db"))
    with pytest.raises(SelectionError, match="does not describe the demo"):
        Site.of(load(config))


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("{file: ../.demo/port}", "5432"),
        ("{file: ../.demo/port}", "{file: /etc/port}"),
        ("{file: ../.demo/reader.password}", "{env: SECRET}"),
        ("{file: ../.demo/reader.password}", "{file: ../elsewhere/.demo/reader.password}"),
        ("lake: ../.lake ", "lake: s3a://bucket/lake "),
    ],
)
def test_any_other_configuration_is_nobodys_to_clear(site: Site, tmp_path: Path, was: str, now: str) -> None:
    config = tmp_path / "incremental_assets" / "sources.yaml"
    text = config.read_text()
    assert was in text
    config.write_text(text.replace(was, now))

    with pytest.raises(SelectionError, match="does not describe the demo"):
        Site.of(load(config))


def test_a_lake_of_the_demo_goes_with_everything_in_it(site: Site) -> None:
    site.claim()
    (site.lake / "tpch" / "public" / "orders").mkdir(parents=True)
    (site.lake / "_staging").mkdir()
    site.checkpoints.write_text("")

    site.clear()

    assert [entry.name for entry in site.lake.iterdir()] == [MARK]


def test_checkpoints_alone_are_nobodys_work(site: Site) -> None:
    site.lake.mkdir()
    site.checkpoints.write_text("")
    (site.lake / "checkpoints.db-wal").write_text("")

    site.clear()

    assert [entry.name for entry in site.lake.iterdir()] == [MARK]


@pytest.mark.parametrize("marked", [True, False])
def test_a_table_of_somebody_elses_stays_and_so_does_all_the_rest(site: Site, *, marked: bool) -> None:
    site.lake.mkdir()
    if marked:
        site.claim()
    foreign = site.lake / ("shop" if marked else "tpch") / "public" / "orders"
    foreign.mkdir(parents=True)
    site.folder.mkdir()

    with pytest.raises(Refused, match=foreign.parts[-3]):
        site.clear()

    assert foreign.is_dir()
    assert site.folder.is_dir()


def test_days_are_remembered_for_the_next_one(site: Site) -> None:
    site.folder.mkdir()

    assert site.days() == 0
    site.remember(2)

    assert site.days() == 2


def test_of_two_demos_in_one_folder_the_second_says_to_wait(site: Site, tmp_path: Path) -> None:
    with site.alone(), pytest.raises(DemoBusy) as refused, site.alone():
        pass

    assert str(refused.value) == (
        f"{tmp_path / '.demo'}: another demo is running in this folder; run `make demo` again when it has ended"
    )
    assert refused.value.exit_code == 4


def test_the_lock_of_a_demo_is_no_other_user_s_to_hold(site: Site) -> None:
    """Whoever may read a file can lock it."""
    with site.alone():
        (lock,) = site.folder.parent.glob(".demo-*.lock")
        assert stat.S_IMODE(lock.stat().st_mode) == 0o600


def test_a_demo_that_starts_from_scratch_keeps_its_lock(site: Site) -> None:
    with site.alone():
        site.clear()
        with pytest.raises(DemoBusy), site.alone():
            pass

    with site.alone():
        assert not site.folder.exists()


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("lake: s3://shop/lake", "lake: s3://another/lake"),
        ("{file: ../../.demo-s3/endpoint}", "https://s3.example.com"),
        ("{file: ../../.demo-s3/endpoint}", "{file: ../../elsewhere/endpoint}"),
    ],
)
def test_another_store_is_nobodys_to_clear(tmp_path: Path, was: str, now: str) -> None:
    config = tmp_path / "incremental_assets" / "demo" / "s3.yaml"
    config.parent.mkdir(parents=True)
    text = configuration_of("s3").read_text()
    assert was in text
    bucket = "another" if "another" in now else "shop"
    config.write_text(text.replace(was, now).replace("  shop:  ", f"  {bucket}:  "))
    with pytest.raises(SelectionError, match="does not describe the demo"):
        Site.of(load(config))
