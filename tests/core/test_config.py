"""sources.yaml: what is written becomes values with every default merged in."""

import textwrap
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path

import pytest

from incremental_assets.core.config import load as config
from incremental_assets.core.config.database_settings import Tls, database_of
from incremental_assets.core.config.settings import (
    BackfillTerms,
    Compact,
    Configuration,
    Freshness,
    Parallel,
    Reference,
    SourceConfig,
    SparkConfig,
    TableConfig,
    unlisted_table,
)
from incremental_assets.core.config.terms import terms_of
from incremental_assets.core.errors import SelectionError
from incremental_assets.core.model.column_choice import ColumnChoice
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.deletes import IGNORED, DeleteMode, Deletes, Then
from incremental_assets.core.model.number_keys import IntegerGrid
from incremental_assets.core.model.partition import Every, TimeGrid
from incremental_assets.core.model.readers import Readers
from incremental_assets.core.model.retention import Retention
from incremental_assets.core.model.table import Cursor, FuturePolicy, NullPolicy, Strategy
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.verdict import Severity

NOW = datetime(2024, 6, 15, 12, tzinfo=UTC)

SMALLEST = """
lake: ./lake
checkpoints: sqlite:///checkpoints.db
sources:
  shop: {dialect: postgresql, host: localhost, database: shop, user: reader}
"""

WHOLE = """
lake: s3a://bucket/lake/
checkpoints: postgresql://sync@db.example.com/checkpoints
sources:
  shop:
    dialect: postgresql
    host: db.example.com
    port: 6432
    database: shop
    user: {env: SHOP_USER}
    password: {file: secrets/shop}
    tls: verify-ca
    options: {connect_timeout: 5s, socket_timeout: 30s, statement_timeout: 1h}
    fetch_size: 5000
    schemas: [public, sales]
    unlisted: ignore
    parallel: {tables: 2, connections: 8}
    every: 30s
    refresh_every: 12h
    partitions: {every: week, from: 2024-01-01}
    defaults: {deletes: {mode: soft, column: state, is: gone, then: keep}, lookback: 5m, holdback: 1m, freshness: {warn: 30m, fail: 2h}, tags: {team: shop}, owners: [team:shop]}
    tables:
      - "public.orders:updated_at:timestamp!upsert"
      - "public.events:event_time:timestamp@2025-01-01"
      - "public.returns:return_date:date:e"
      - table: public."a.b"
        cursor: {column: updated_at, type: datetime, nulls: always, fallback: created_at, zone: Europe/Paris}
        strategy: upsert
        primary_key: [id, line]
        history: none
        deletes: {mode: diff, every: 6h, max_fraction: 0.1, then: remove}
        lookback: 15m
        holdback: 0s
        future: quarantine
        partitions: {every: day, from: 2024-01-01}
        start: 2024-01-01 10:00:00.123456789
        schema_changes: freeze
        freshness: {warn: 15m}
        owners: [ann@example.com]
        tags: {tier: gold}
        pii: [email]
        columns: {exclude: [secret]}
        rename: {mail: email}
        reconciliation: {severity: warn}
        maintenance: {compact: never}
        retention: {files: 30d, history: forever, quarantine: 90d}
      - table: public.log
        cursor: {column: id, type: integer}
        lookback: 1000
        holdback: 0
        partitions: {size: 50000}
        start: 42
      - {table: public.countries, refresh_every: 7d}
spark: {master: "k8s://https://k8s.example.com:6443"}
"""


def loaded(folder: Path, text: str) -> Configuration:
    file = folder / "sources.yaml"
    file.write_text(textwrap.dedent(text), encoding="utf-8")
    return config.load(file, now=NOW)


@pytest.fixture
def shop(tmp_path: Path) -> SourceConfig:
    return loaded(tmp_path, WHOLE).source("shop")


def table(source: SourceConfig, name: str) -> TableConfig:
    return next(table for table in source.tables if table.name == name)


# --- the file -------------------------------------------------------------------------------------


def test_the_smallest_file_has_every_default(tmp_path: Path) -> None:
    read = loaded(tmp_path, SMALLEST)
    assert read.lake == str(tmp_path / "lake")
    assert read.checkpoints == f"sqlite:///{tmp_path}/checkpoints.db"
    assert read.spark == SparkConfig(remote="auto", master=None, keep=None)
    source = read.source("shop")
    assert (database_of(source).port, database_of(source).password, database_of(source).tls) == (
        5432,
        None,
        Tls.DISABLE,
    )
    assert (database_of(source).options.connect_timeout, database_of(source).options.socket_timeout) == (
        timedelta(seconds=10),
        timedelta(seconds=60),
    )
    assert (database_of(source).options.statement_timeout, database_of(source).fetch_size) == (
        timedelta(minutes=15),
        1000,
    )
    assert (source.schemas, source.unlisted, source.parallel) == (("public",), "full_refresh", Parallel(4, 4))
    assert (source.every, source.refresh_every) == (timedelta(minutes=1), timedelta(days=1))
    assert source.partitions == TimeGrid(Every.MONTH, date(2000, 1, 1))
    assert source.tables == ()


def test_runs_that_leave_an_engine_behind_use_it(tmp_path: Path) -> None:
    read = loaded(tmp_path, f"spark: {{keep: 10m}}\n{SMALLEST}")
    assert read.spark == SparkConfig(keep=timedelta(minutes=10))
    assert read.shares_engine


def test_every_key_arrives(tmp_path: Path, shop: SourceConfig) -> None:
    read = loaded(tmp_path, WHOLE)
    assert read.lake == "s3a://bucket/lake"
    assert read.checkpoints == "postgresql+psycopg://sync@db.example.com/checkpoints"
    assert read.spark == SparkConfig(remote="auto", master="k8s://https://k8s.example.com:6443")
    assert (database_of(shop).host, database_of(shop).port, database_of(shop).tls) == (
        "db.example.com",
        6432,
        Tls.VERIFY_CA,
    )
    assert (database_of(shop).user, database_of(shop).password) == (
        Reference("env", "SHOP_USER"),
        Reference("file", str(tmp_path / "secrets/shop")),
    )
    assert (shop.schemas, shop.unlisted, shop.parallel) == (("public", "sales"), "ignore", Parallel(2, 8))
    assert shop.partitions == TimeGrid(Every.WEEK, date(2023, 12, 31))
    assert table(shop, "a.b") == TableConfig(
        schema="public",
        name="a.b",
        strategy=Strategy.UPSERT,
        cursor=Cursor("updated_at", CursorType.DATETIME, NullPolicy.ALWAYS, "created_at", "Europe/Paris"),
        primary_key=("id", "line"),
        lookback=timedelta(minutes=15),
        holdback=timedelta(0),
        future=FuturePolicy.QUARANTINE,
        partitions=TimeGrid(Every.DAY, date(2024, 1, 1)),
        start=CursorValue(CursorType.DATETIME, "2024-01-01T10:00:00.123456789"),
        schema_changes="freeze",
        freshness=Freshness(warn=timedelta(minutes=15)),
        refresh_every=timedelta(hours=12),
        owners=("ann@example.com",),
        tags={"team": "shop", "tier": "gold"},
        renamed=(("mail", "email"),),
        pii=("email",),
        reconciliation=Severity.WARN,
        compact=Compact.NEVER,
        retention=Retention(files=timedelta(days=30), quarantine=timedelta(days=90)),
        deletes=Deletes(DeleteMode.DIFF, Then.REMOVE, timedelta(hours=6), 0.1),
        columns=ColumnChoice(exclude=("secret",)),
        file=str(tmp_path / "sources.yaml"),
        line=26,
    )


def test_what_a_table_leaves_out_comes_from_its_source(shop: SourceConfig) -> None:
    orders = table(shop, "orders")
    assert (orders.strategy, orders.cursor) == (Strategy.UPSERT, Cursor("updated_at", CursorType.TIMESTAMP))
    assert (orders.lookback, orders.holdback) == (timedelta(minutes=5), timedelta(minutes=1))
    assert orders.freshness == Freshness(timedelta(minutes=30), timedelta(hours=2))
    assert (orders.owners, orders.tags, orders.partitions) == (("team:shop",), {"team": "shop"}, shop.partitions)
    assert orders.id("shop") == TableId("shop", "public", "orders")
    assert orders.line == 23


def test_files_are_put_together_unless_the_source_or_the_table_says_never(tmp_path: Path, shop: SourceConfig) -> None:
    assert table(shop, "orders").compact is Compact.AUTO
    never = loaded(
        tmp_path,
        WHOLE.replace("defaults: {", "defaults: {maintenance: {compact: never}, ").replace(
            "refresh_every: 7d", "maintenance: {compact: auto}"
        ),
    ).source("shop")
    assert table(never, "orders").compact is Compact.NEVER
    assert table(never, "countries").compact is Compact.AUTO
    assert terms_of(never, TableId("shop", "public", "unlisted")).compact is Compact.NEVER


def test_copies_for_any_reader_are_a_table_s_or_a_source_s(tmp_path: Path) -> None:
    shop = loaded(
        tmp_path,
        WHOLE.replace("defaults: {", "defaults: {copies: {readers: any}, ").replace(
            "refresh_every: 7d", "copies: {readers: vectors}"
        ),
    ).source("shop")
    assert table(shop, "orders").readers is Readers.ANY
    assert table(shop, "countries").readers is Readers.VECTORS
    assert terms_of(shop, TableId("shop", "public", "unlisted")).readers is Readers.ANY


def test_without_a_strategy_a_cursor_means_append(shop: SourceConfig) -> None:
    events = table(shop, "events")
    assert (events.strategy, events.start) == (
        Strategy.APPEND,
        CursorValue(CursorType.TIMESTAMP, "2025-01-01T00:00:00Z"),
    )
    assert table(shop, "log").strategy is Strategy.APPEND


def test_an_excluded_table_is_as_if_it_were_not_listed(shop: SourceConfig) -> None:
    assert [table.name for table in shop.tables] == ["orders", "events", "a.b", "log", "countries"]


def test_a_timestamp_takes_a_zone_for_a_fallback_that_has_none(tmp_path: Path) -> None:
    cursor = "{column: updated_at, type: timestamp, fallback: created_at, zone: Europe/Paris}"
    text = SMALLEST.replace("user: reader", f"user: reader, tables: [{{table: a.b, cursor: {cursor}}}]")
    found = loaded(tmp_path, text).source("shop").tables[0]
    assert found.cursor == Cursor("updated_at", CursorType.TIMESTAMP, NullPolicy.FAIL, "created_at", "Europe/Paris")


def test_an_integer_cursor_counts_in_numbers(shop: SourceConfig) -> None:
    log = table(shop, "log")
    assert (log.lookback, log.partitions, log.start) == (
        1000,
        IntegerGrid(50_000),
        CursorValue(CursorType.INTEGER, "42"),
    )


def test_an_integer_cursor_in_one_line_has_a_grid_too(tmp_path: Path) -> None:
    read = loaded(tmp_path, SMALLEST.replace("user: reader", 'user: reader, tables: ["a.b:id:integer"]'))
    found = read.source("shop").tables[0]
    assert (found.partitions, found.lookback, found.holdback) == (IntegerGrid(1_000_000), 0, 0)


def test_a_table_that_is_read_whole_has_one_partition_and_no_hourly_freshness(shop: SourceConfig) -> None:
    countries = table(shop, "countries")
    assert (countries.strategy, countries.cursor, countries.partitions) == (Strategy.FULL_REFRESH, None, None)
    assert (countries.refresh_every, countries.freshness) == (timedelta(days=7), Freshness())


def test_an_unlisted_table_is_read_whole_on_its_sources_cadence(shop: SourceConfig) -> None:
    unlisted = unlisted_table(shop, "sales", "Regions")
    assert (unlisted.schema, unlisted.name, unlisted.strategy, unlisted.partitions) == (
        "sales",
        "Regions",
        Strategy.FULL_REFRESH,
        None,
    )
    assert (unlisted.refresh_every, unlisted.owners, unlisted.line) == (timedelta(hours=12), ("team:shop",), 0)


def test_a_source_that_is_not_there_is_named_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(SelectionError, match="did you mean 'shop'"):
        loaded(tmp_path, SMALLEST).source("shpo")


def test_plain_words_of_yaml_stay_words(tmp_path: Path) -> None:
    """`on`, `no` and `2024` are names here, whatever YAML 1.1 makes of them."""
    read = loaded(tmp_path, SMALLEST.replace("database: shop, user: reader", "database: 2024, user: no, schemas: [on]"))
    source = read.source("shop")
    assert (database_of(source).database, database_of(source).user, source.schemas) == ("2024", "no", ("on",))


# --- paths and secrets ----------------------------------------------------------------------------


def test_paths_are_relative_to_the_file_and_not_to_the_shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "conf").mkdir()
    monkeypatch.chdir("/")
    text = SMALLEST.replace("./lake", "../lake").replace(
        "sqlite:///checkpoints.db", "sqlite:///../state/c.db?timeout=5"
    )
    read = loaded(tmp_path / "conf", text)
    assert read.lake == str(tmp_path / "lake")
    assert read.checkpoints == f"sqlite:///{tmp_path}/state/c.db?timeout=5"
    absolute = loaded(tmp_path, SMALLEST.replace("sqlite:///checkpoints.db", "sqlite:////var/lib/c.db"))
    assert absolute.checkpoints == "sqlite:////var/lib/c.db"


def test_a_lake_that_is_not_there_yet_may_lie_in_the_root_of_the_file_system(tmp_path: Path) -> None:
    assert loaded(tmp_path, SMALLEST.replace("./lake", "/no-lake-yet")).lake == "/no-lake-yet"


def test_references_are_kept_and_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", "hunter2")
    (tmp_path / "port").write_text("5433")
    text = SMALLEST.replace("user: reader", "user: reader, port: {file: port}, password: {env: SHOP_PASSWORD}")
    source = loaded(tmp_path, text).source("shop")
    assert database_of(source).port == Reference("file", str(tmp_path / "port"))
    assert str(database_of(source).password) == "{env: SHOP_PASSWORD}"
    assert "hunter2" not in repr(source)


# --- TLS ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("host", "tls"),
    [
        ("localhost", Tls.DISABLE),
        ("127.0.0.1", Tls.DISABLE),
        ('"::1"', Tls.DISABLE),
        ("db.example.com", Tls.VERIFY_FULL),
        ("10.0.0.7", Tls.VERIFY_FULL),
        ("127.0.0.1.example.com", Tls.VERIFY_FULL),
        ("{env: SHOP_HOST}", Tls.VERIFY_FULL),
    ],
)
def test_whoever_is_not_loopback_is_verified(tmp_path: Path, host: str, tls: Tls) -> None:
    assert database_of(loaded(tmp_path, SMALLEST.replace("localhost", host)).source("shop")).tls is tls


@pytest.mark.parametrize(
    ("host", "said"),
    [
        ("localhost", ""),
        ('"::1"', ""),
        (
            "db.example.com",
            "rows and the password cross the network to db.example.com unencrypted, as `tls: disable` is written",
        ),
        (
            "172.18.0.2",
            "rows and the password cross the network to 172.18.0.2 unencrypted, as `tls: disable` is written",
        ),
        (
            "127.0.0.1.example.com",
            "rows and the password cross the network to 127.0.0.1.example.com unencrypted, as `tls: disable` is written",
        ),
        (
            "{env: SHOP_HOST}",
            "rows and the password cross the network unencrypted, as `tls: disable` is written, unless {env: SHOP_HOST} is this machine",
        ),
    ],
)
def test_no_encryption_is_allowed_where_it_is_written_and_named_with_its_line(
    tmp_path: Path, host: str, said: str
) -> None:
    read = loaded(tmp_path, SMALLEST.replace("host: localhost", f"host: {host}, tls: disable"))
    settings, cure = (
        database_of(read.source("shop")),
        "write verify-full, verify-ca or require once the server has TLS",
    )
    assert (settings.tls, settings.unencrypted) == (Tls.DISABLE, (said, cure) if said else None)
    assert read.unencrypted == ((f"{read.path}:5: shop: {said}; {cure}",) if said else ())


def test_a_source_that_is_encrypted_is_not_warned_of(tmp_path: Path) -> None:
    read = loaded(tmp_path, SMALLEST.replace("host: localhost", "host: db.example.com, tls: require"))
    assert read.unencrypted == ()


@pytest.mark.parametrize(
    ("written", "at"),
    [("", time(3)), ('check_at: "22:30"', time(22, 30)), ("check_at: 12:30", time(12, 30)), ("check_at: never", None)],
)
def test_everything_is_checked_daily_unless_never_and_a_time_needs_no_quotes(
    tmp_path: Path, written: str, at: time | None
) -> None:
    source = one_source(tmp_path, written)
    assert source.check_at == at
    assert source.backfill == BackfillTerms()


def test_a_backfill_keeps_the_source_at_ease_as_it_is_told(tmp_path: Path) -> None:
    source = one_source(tmp_path, "backfill: {windows: 3, connections: 1, pause: 30s}")
    assert source.backfill == BackfillTerms(3, 1, timedelta(seconds=30))


def one_source(folder: Path, more: str) -> SourceConfig:
    """A source with a line more."""
    text = "lake: ./lake\ncheckpoints: sqlite:///c.db\nsources:\n  shop:\n"
    keys = ("dialect: postgresql", "host: localhost", "database: shop", "user: reader", more)
    path = folder / "sources.yaml"
    path.write_text(text + "".join(f"    {key}\n" for key in keys if key))
    return config.load(path).source("shop")


def test_how_a_table_follows_deletes_is_its_own_or_the_defaults_and_says_nothing_to_one_that_is_read_whole(
    tmp_path: Path, shop: SourceConfig
) -> None:
    assert table(shop, "a.b").deletes == Deletes(DeleteMode.DIFF, Then.REMOVE, timedelta(hours=6), 0.1)
    assert table(shop, "orders").deletes == Deletes(DeleteMode.SOFT, Then.KEEP, column="state", value="gone")
    assert table(shop, "countries").deletes == IGNORED
    plain = loaded(tmp_path, WHOLE.replace("every: 6h, max_fraction: 0.1, then: remove", "every: 0s"))
    assert table(plain.source("shop"), "a.b").deletes == Deletes(DeleteMode.DIFF, Then.REMOVE, timedelta(), 0.2)


def test_whether_the_daily_check_mends_drift_comes_from_the_table_or_the_defaults(tmp_path: Path) -> None:
    text = SMALLEST.replace(
        "user: reader}",
        "user: reader, defaults: {reconciliation: {repair: auto}}, tables: ["
        "{table: public.a, cursor: {column: id, type: integer}, reconciliation: {repair: auto, max_rows: 5}}, "
        "{table: public.b, cursor: {column: id, type: integer}}, "
        "{table: public.c, cursor: {column: id, type: integer}, reconciliation: {severity: warn, repair: never}}]}",
    )
    shop = loaded(tmp_path, text).source("shop")
    found = {name: repaired_at_most(shop, name) for name in ("a", "b", "c", "unlisted")}
    assert found == {"a": 5, "b": 10_000, "c": 0, "unlisted": 10_000}
    assert repaired_at_most(loaded(tmp_path, SMALLEST).source("shop"), "a") == 0


def repaired_at_most(source: SourceConfig, name: str) -> int:
    return terms_of(source, TableId("shop", "public", name)).repaired_at_most


def test_a_comparison_follows_deletes_by_itself_and_takes_of_the_defaults_what_fits(tmp_path: Path) -> None:
    for defaults, deletes in (
        ("{mode: ignore}", Deletes(DeleteMode.DIFF, every=timedelta(0))),
        ("{mode: soft, column: gone}", Deletes(DeleteMode.DIFF, every=timedelta(0))),
        (
            "{mode: diff, every: 1d, then: mark, max_fraction: 0.5}",
            Deletes(DeleteMode.DIFF, Then.MARK, timedelta(0), 0.5),
        ),
    ):
        tables = "tables: [{table: public.a, strategy: upsert, compare: {every: 1h}}]"
        text = SMALLEST.replace("user: reader", f"user: reader, defaults: {{deletes: {defaults}}}, {tables}")
        (found,) = loaded(tmp_path, text).source("shop").tables
        assert (found.compares, found.refresh_every, found.cursor) == (True, timedelta(hours=1), None)
        assert found.deletes == deletes


def test_columns_that_a_source_excludes_are_left_out_of_each_table_unless_it_includes_them(tmp_path: Path) -> None:
    listed = "{table: public.a, columns: {exclude: [note]}}, {table: public.b, columns: {include: [id, secret]}}, {table: public.c}"
    keys = f"defaults: {{columns: {{exclude: [secret]}}}}, tables: [{listed}]"
    shop = loaded(tmp_path, SMALLEST.replace("user: reader", f"user: reader, {keys}")).source("shop")
    left_out = {
        name: [column for column in ("id", "note", "secret") if table(shop, name).columns.leaves_out(column)]
        for name in ("a", "b", "c")
    }
    assert left_out == {"a": ["note", "secret"], "b": ["note"], "c": ["secret"]}
    assert unlisted_table(shop, "public", "d").columns.leaves_out("secret")
