"""Every mistake in sources.yaml at once, each with its line, the offending text and the cure; never a secret.

In the snippets `#!` marks the line on which the mistake must be reported.
"""

import itertools
import re
import textwrap
from datetime import UTC, datetime
from pathlib import Path

import pytest

from incremental_assets.core.config import load as config
from incremental_assets.core.config import validate as config_check
from incremental_assets.core.errors import ConfigurationError, Problem

NOW = datetime(2024, 6, 15, 12, tzinfo=UTC)

FILE = "lake: ./lake\ncheckpoints: sqlite:///c.db\nsources:\n  shop:\n"
SOURCE = "    dialect: postgresql\n    host: localhost\n    database: shop\n    user: reader\n"


def problems(folder: Path, text: str) -> tuple[Problem, ...]:
    file = folder / "sources.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigurationError) as caught:
        config.load(file, now=NOW)
    return caught.value.problems


def in_source(snippet: str) -> str:
    return FILE + SOURCE + textwrap.indent(textwrap.dedent(snippet).strip("\n"), "    ")


def in_table(snippet: str) -> str:
    lines = textwrap.dedent(snippet).strip("\n").splitlines()
    return (
        FILE
        + SOURCE
        + "    tables:\n"
        + "\n".join(("      - " if not number else "        ") + line for number, line in enumerate(lines))
    )


def only_problem(folder: Path, text: str) -> Problem:
    """The one problem of the text; it must be reported on the line that is marked."""
    found = problems(folder, text)
    assert len(found) == 1, [str(problem) for problem in found]
    marked = [number for number, line in enumerate(text.splitlines(), start=1) if "#!" in line]
    assert [found[0].line] == marked
    assert found[0].file == str(folder / "sources.yaml")
    return found[0]


CURSOR = "cursor: {column: updated_at, type: timestamp}"
COMPARED = "table: public.a\nstrategy: upsert\ncompare: {every: 1h}\n"

TABLE_MISTAKES = [
    ("table: public.a\ncursro: {column: x, type: date} #!", "cursro", "did you mean `cursor`?"),
    ("table: public.a\nsafety_lag: 15m #!", "safety_lag", "did you mean `lookback`?"),
    ("table: public.a\nxyzzy: 1 #!", "xyzzy", "the keys are lookback, holdback"),
    ("table: public.a\nhistory: scd3 #!", "scd3", "did you mean `scd2`?"),
    ("table: public.a\nhistory: scd2 #!", "scd2", "`full_refresh` has no key by which rows are told apart"),
    ("table: public.a\nhistory: scd2 #!\n" + CURSOR, "scd2", "`append` keeps every version already; remove it"),
    ("table: public.a\nstrategy: upsert\ndeletes: {mode: dif} #!\n" + CURSOR, "dif", "did you mean `diff`?"),
    (
        "table: public.a\nstrategy: upsert\ndeletes: {mode: diff, max_fraction: 20} #!\n" + CURSOR,
        "20",
        "from 0 to 1, like 0.2",
    ),
    (
        "table: public.a\nstrategy: upsert\ndeletes: {mode: diff, column: gone} #!\n" + CURSOR,
        "gone",
        "`column` belongs to `soft`, and this is `mode: diff`",
    ),
    (
        "table: public.a\nstrategy: upsert\ndeletes: {mode: soft} #!\n" + CURSOR,
        "deletes",
        "needs the column in which the source marks its rows",
    ),
    (
        "table: public.a\nstrategy: upsert\ndeletes: {mode: diff, then: keep} #!\n" + CURSOR,
        "keep",
        "`mode: diff` takes `then: remove` or `then: mark`",
    ),
    ("table: public.a\ndeletes: {mode: diff} #!", "deletes", "`full_refresh` reads the whole table"),
    ("table: public.a\ndeletes: {mode: diff} #!\n" + CURSOR, "deletes", "`append` keeps every version"),
    ("table: public.a\ncontract: contracts.shop #!", "contracts.shop", "write `module:Class`"),
    ("table: public.a\ncontract: {email: {nulable: false}} #!", "nulable", "did you mean `nullable`?"),
    ("table: public.a\ncontract: {email: {}} #!", "email", "write at least one rule"),
    ("table: public.a\ncontract: {} #!", "contract", "write at least one"),
    ("table: public.a\ncontract: {email: {matches: '[a'}} #!", "[a", "this is no regular expression"),
    ("table: public.a\ncontract: {total: {isin: []}} #!", "isin", "write at least one"),
    ("table: public.a\non_breach: warn #!", "warn", "`on_breach` belongs to a `contract`"),
    ("table: public.a\nmax_fraction: 0.1 #!", "0.1", "`max_fraction` belongs to a `contract`"),
    (
        "table: public.a\ncontract: {id: {ge: 0}}\non_breach: warn\nmax_fraction: 0.1 #!",
        "0.1",
        "belongs to `on_breach: quarantine`, and this is `warn`",
    ),
    ("table: public.a\ncontract: {id: {ge: 0}}\non_breach: stop #!", "stop", "choose one of: quarantine, fail, warn"),
    ("table: public.a\ncolumns: {exlude: [x]} #!", "exlude", "did you mean `exclude`?"),
    ("table: public.a\ncolumns: {exclude: x} #!", "x", "write a list here"),
    ("table: public.a\ncolumns: {include: []} #!", "include", "write at least one"),
    ("table: public.a\ncolumns: {include: [x], exclude: [y]} #!", "columns", "remove `exclude`, or `include`"),
    (
        CURSOR + "\ntable: public.a\ncolumns: {exclude: [updated_at]} #!",
        "exclude",
        "synced by 'updated_at' (`cursor`); remove it",
    ),
    (CURSOR + "\ntable: public.a\ncolumns: {include: [y]} #!", "include", "synced by 'updated_at' (`cursor`); add it"),
    ("table: public.a\nprimary_key: [k]\ncolumns: {exclude: [k]} #!", "exclude", "(`primary_key`); remove it"),
    (
        "table: public.a\ncontract: {total: {ge: 0}}\ncolumns: {exclude: [total]} #!",
        "exclude",
        "synced by 'total' (`contract`)",
    ),
    ("table: customers #!", "customers", "write schema.table"),
    ('table: public."a #!', 'public."a', "write schema.table"),
    ("strategy: full_refresh #!", "full_refresh", "the key `table` is missing"),
    (
        "table: public.a\nstrategy: upsrt #!\n" + CURSOR,
        "upsrt",
        "did you mean `upsert`? choose one of: append, upsert, full_refresh",
    ),
    ("table: public.a\nstrategy: upsert #!", "upsert", "`upsert` needs a cursor"),
    ("table: public.a\nstrategy: upsert #!", "upsert", "or `compare: {every: 1h}`, or choose full_refresh"),
    (
        "table: public.a\ncompare: {every: 1h} #!",
        "compare",
        "`compare` is for `strategy: upsert`, and this is `full_refresh`",
    ),
    ("table: public.a\nstrategy: upsert\n" + CURSOR + "\ncompare: {every: 1h} #!", "compare", "this table has one"),
    ("table: public.a\nstrategy: append\n" + CURSOR + "\ncompare: {every: 1h} #!", "compare", "and this is `append`"),
    (COMPARED + "refresh_every: 1d #!", "1d", "remove `refresh_every`"),
    (COMPARED + "lookback: 15m #!", "15m", "this one is compared whole"),
    (
        COMPARED + "deletes: {mode: ignore} #!",
        "deletes",
        "`compare` finds what is gone by itself, and this is `mode: ignore`",
    ),
    (COMPARED + "deletes: {mode: diff, every: 1d} #!", "1d", "remove `every`"),
    ("table: public.a\nstrategy: full_refresh\n" + CURSOR + " #!", "cursor", "follows no cursor"),
    ("table: public.a\nlookback: 15m #!", "15m", "`lookback` is for tables with a cursor"),
    ("table: public.a\npartitions: {every: day} #!", "partitions", "`partitions` is for tables with a cursor"),
    (
        "table: public.a\nrefresh_every: 1d #!\n" + CURSOR,
        "1d",
        "`refresh_every` is for full_refresh tables, this one is `append`",
    ),
    ("table: public.a\nlookback: 15 #!\n" + CURSOR, "15", "a duration with its unit, like 15m"),
    ("table: public.a\nlookback: 15m #!\ncursor: {column: id, type: integer}", "15m", "a whole number, like 1000"),
    ("table: public.a\nholdback: soon #!\n" + CURSOR, "soon", "write a duration with its unit"),
    ("table: public.a\nholdback: -5s #!\n" + CURSOR, "-5s", "write a duration with its unit"),
    ("table: public.a\nlookback: [1, 2] #!\n" + CURSOR, "lookback", "write a single value here"),
    ("table: public.a\nlookback: #!\n" + CURSOR, "lookback", "write a value, or remove the key"),
    ("table: public.a\ncursor: #!", "cursor", "write a value, or remove the key"),
    ("table: public.a\ncursor: updated_at #!", "updated_at", "write keys and values here"),
    ("table: public.a\ncursor: {type: timestamp} #!", "cursor", "the key `column` is missing"),
    ("table: public.a\ncursor:\n  column: x\n  type: timestmp #!", "timestmp", "did you mean `timestamp`?"),
    (
        "table: public.a\ncursor:\n  column: _sync_at #!\n  type: timestamp",
        "_sync_at",
        "columns that begin with `_sync_`",
    ),
    ("table: public.a\nprimary_key: [id, _SYNC_seq] #!\n" + CURSOR, "_SYNC_seq", "columns that begin with `_sync_`"),
    ("table: public.a\nprimary_key: [id, id] #!\n" + CURSOR, "primary_key", "may appear once in the key"),
    ("table: public.a\nprimary_key: id #!\n" + CURSOR, "id", "write a list here"),
    ("table: public.a\nprimary_key: [] #!\n" + CURSOR, "primary_key", "write at least one"),
    ("table: public.a\npii:\n  - email\n  - _sync_id #!", "_sync_id", "columns that begin with `_sync_`"),
    ("table: public.a\ncursor: {column: x, type: date, fallback: x} #!", "x", "another column than the cursor"),
    ("table: public.a\ncursor:\n  column: x\n  type: timestamp\n  zone: UTC #!", "UTC", "carries its zone"),
    ("table: public.a\ncursor:\n  column: x\n  type: integer\n  zone: UTC #!", "UTC", "has no time"),
    (
        "table: public.a\ncursor:\n  column: x\n  type: datetime\n  zone: Europe/Pari #!",
        "Europe/Pari",
        "did you mean `Europe/Paris`?",
    ),
    ("table: public.a\ncursor:\n  column: x\n  type: date\n  zone: Europe #!", "Europe", "there is no such zone"),
    (
        "table: public.a\ncursor:\n  column: x\n  type: date\n  zone: ../../etc/passwd #!",
        "../../etc/passwd",
        "there is no such zone",
    ),
    ("table: public.a\nstart: yesterday #!\n" + CURSOR, "yesterday", "is not a timestamp such as 2024-01-31T10:00:00Z"),
    (
        "table: public.a\nstart: 2024-01-01T10:00:00 #!\ncursor: {column: x, type: date}",
        "2024-01-01T10:00:00",
        "has a time of day",
    ),
    ("table: public.a\nstart: 2024-01-01 #!\ncursor: {column: x, type: integer}", "2024-01-01", "not a whole number"),
    ("table: public.a\nstart: -infinity #!\n" + CURSOR, "-infinity", "write a finite value"),
    ("table: public.a\nstart: 0000-01-01 #!\n" + CURSOR, "0000-01-01", "has the year 0, which does not exist"),
    (
        "table: public.a\nstart: 0001-01-01T00:00:00+14:00 #!\n" + CURSOR,
        "0001-01-01T00:00:00+14:00",
        "must be written in UTC",
    ),
    (
        "table: public.a\nstart: 2024-01-01T00:00:00+99:99 #!\n" + CURSOR,
        "2024-01-01T00:00:00+99:99",
        "'+99:99' is not an offset from UTC",
    ),
    (
        "public.a:at:timestamp@2024-01-01T00:00:00-15:60 #!",
        "public.a:at:timestamp@2024-01-01T00:00:00-15:60",
        "'-15:60' is not an offset from UTC",
    ),
    ("public.a:at:date@0000-02-29 BC #!", "public.a:at:date@0000-02-29 BC", "has the year 0"),
    ('table: "public.a\\0b" #!\n' + CURSOR, "public.a\0b", "a NUL, or half of a character, is not text"),
    ("table: public.a\npartitions: {size: 1000} #!\n" + CURSOR, "partitions", "`size` is for integer cursors"),
    (
        "table: public.a\npartitions: {every: day} #!\ncursor: {column: x, type: integer}",
        "partitions",
        "`every` is for time cursors",
    ),
    (
        "table: public.a\npartitions: {every: hour, from: 2024-01-01} #!\ncursor: {column: x, type: date}",
        "partitions",
        "a date cursor has no hours",
    ),
    ("table: public.a\npartitions:\n  size: 0 #!\ncursor: {column: x, type: integer}", "0", "write 1 or more"),
    (
        "table: public.a\npartitions: {every: hour, from: 2000-01-01} #!\n" + CURSOR,
        "partitions",
        "partitions are more than 25,000; begin with `from: 2021-",
    ),
    (
        "table: public.a\npartitions:\n  every: day\n  from: 2031-01-01 #!\n" + CURSOR,
        "2031-01-01",
        "begins in the future",
    ),
    (
        "table: public.a\npartitions:\n  every: day\n  from: 20240101 #!\n" + CURSOR,
        "20240101",
        "write a day like 2024-01-31",
    ),
    ("table: public.a\npartitions:\n  every: days #!\n" + CURSOR, "days", "did you mean `day`?"),
    ("table: public.a\nfreshness: {warn: 2h, fail: 1h} #!", "freshness", "`warn` comes before `fail`"),
    ("table: public.a\nfuture: later #!\n" + CURSOR, "later", "choose one of: land, quarantine, wait"),
    ("table: public.a\nschema_changes: frieze #!", "frieze", "did you mean `freeze`?"),
    ("table: public.a\nowners: [sales] #!", "sales", "an owner is an e-mail address or `team:name`"),
    ("table: public.a\ntags:\n  a b: c #!", "a b", "letters, digits, _, - or ."),
    ("table: public.a\nreconciliation: {severity: fatal} #!", "fatal", "choose one of: warn, error"),
    ("table: public.a\nmaintenance: {compact: daily} #!", "daily", "choose one of: auto, never"),
    ('"public.a:x:timestmp" #!', "public.a:x:timestmp", "did you mean `timestamp`?"),
    ('"public.a:_sync_at:timestamp" #!', "public.a:_sync_at:timestamp", "columns that begin with `_sync_`"),
    ('"public.a:x:date@2024-02-30" #!', "public.a:x:date@2024-02-30", "out of range"),
    ("[public.a] #!", "", "write keys and values here"),
]

SOURCE_MISTAKES = [
    ("tls: disable", "host: localhost", "host: db.example.com", "disable", "a host that is not loopback needs TLS"),
    ("tls: on", "", "", "on", "choose one of: verify-full, verify-ca, require, disable"),
    ("password: hunter2", "", "", "password: …", "a secret is never written in this file; write {env: NAME}"),
    ("options: {ssl: off}", "", "", "ssl", "the keys are connect_timeout, socket_timeout, statement_timeout"),
    ("options: {connect_timeout: 0s}", "", "", "0s", "longer than nothing"),
    ("options: {connect_timeout: 10}", "", "", "10", "write a duration with its unit"),
    ("parallel: {tables: 0}", "", "", "0", "write 1 or more"),
    ("parallel: 4", "", "", "4", "write keys and values here"),
    ("fetch_size: many", "", "", "many", "write a whole number"),
    ("port: 70000", "", "", "70000", "write 65535 or less"),
    ("port: {env: 5432}", "", "", "5432", "the name of an environment variable"),
    ("port: {evn: PORT}", "", "", "evn", "did you mean `env`?"),
    ("schemas: []", "", "", "schemas", "write at least one"),
    ("schemas: [a, a]", "", "", "schemas", "may appear once in the list"),
    ("unlisted: skip", "", "", "skip", "choose one of: full_refresh, ignore"),
    ("every: 0s", "", "", "0s", "longer than nothing"),
    ("refresh_every: daily", "", "", "daily", "write a duration"),
    ("check_at: noon", "", "", "noon", 'write a time of day like "03:00"'),
    ("check_at: 24:00", "", "", "24:00", 'write a time of day like "03:00"'),
    ("backfill: {windows: 0}", "", "", "0", "write 1 or more"),
    ("backfill: {pause: long}", "", "", "long", "write a duration"),
    ("partitions: {every: hour}", "", "", "partitions", "more than 25,000"),
    ("partitions: {size: 10}", "", "", "partitions", "at the tables with an integer cursor"),
    ("defaults: {history: scd2}", "", "", "history", "there is no such key here"),
    ("defaults: {columns: {include: [x]}}", "", "", "include", "did you mean `exclude`?"),
    ("defaults: {freshness: {warn: 1d, fail: 1h}}", "", "", "freshness", "`warn` comes before `fail`"),
    ("defaults: {deletes: {every: 1h}}", "", "", "1h", "`every` belongs to `diff`, and this is `mode: ignore`"),
    ("defaults: {strategy: upsert}", "", "", "strategy", "there is no such key here"),
    ("tables: public.a", "", "", "public.a", "write a list of tables"),
    ("hots: x", "", "", "hots", "did you mean `host`?"),
]

FILE_MISTAKES = [
    ("lake: ./lake", "lake: s3://bucket #!", "s3://bucket", "Spark writes s3:// as s3a://"),
    ("lake: ./lake", "lake: #!", "lake", "write a value"),
    ("lake: ./lake", "lake: s3a://key:s3cr3t@bucket #!", "s3a://key:…@bucket", "an address carries no secret"),
    ("lake: ./lake", "lak: ./lake #!", "lak", "did you mean `lake`?"),
    ("sqlite:///c.db", "sqlite:// #!", "sqlite://", "write sqlite:///path/to/checkpoints.db"),
    ("sqlite:///c.db", "'sqlite:///:memory:' #!", "sqlite:///:memory:", "write sqlite:///path/to/checkpoints.db"),
    ("sqlite:///c.db", "mysql://u@h/d #!", "mysql://u@h/d", "or postgresql://user@host/database"),
    ("sqlite:///c.db", "postgresql://u:hun/t@r2@h/d #!", "postgresql://u:…@h/d", "~/.pgpass"),
    (
        "sqlite:///c.db",
        "postgresql://h/d?user=u&password=hunter2 #!",
        "postgresql://h/d?user=u&password=…",
        "~/.pgpass",
    ),
    ("shop:", "shop-eu: #!", "shop-eu", "letters, digits and _"),
    ("shop:", "_staging: #!", "_staging", "letters, digits and _"),
    ("postgresql", "oracle #!", "oracle", "the dialect oracle is not available yet"),
    ("postgresql", "postgres #!", "postgres", "did you mean `postgresql`?"),
    ("host: localhost", "host: #!", "host", "write a value"),
    (
        "localhost",
        "localhost:5432/shop?ssl=1 #!",
        "localhost:5432/shop?ssl=1",
        "port, database and user have keys of their own",
    ),
    ("localhost", "postgresql://u:hunter2@h #!", "…@h", "the host's name or address alone"),
    ("lake: ./lake", "lake: ./lake\nspark: {remote: yes} #!", "yes", "remote is `auto` or sc://host:port"),
    (
        "lake: ./lake",
        "lake: ./lake\nspark: {remote: sc://h:15002/;token=t0k3n} #!",
        "sc://h:15002/;token=…",
        "SPARK_CONNECT_AUTHENTICATE_TOKEN",
    ),
    ("lake: ./lake", "lake: ./lake\nspark: {master: mesos://h} #!", "mesos://h", "master is spark://"),
    ("lake: ./lake", "lake: ./lake\nspark: {remote: auto, master: yarn} #!", "yarn", "remove one of them"),
    ("lake: ./lake", "lake: ./lake\nlake: ./other #!", "lake", "this key is written twice"),
    ("lake: ./lake", "lake: !env LAKE #!", "LAKE", "tags with `!` are not used here"),
]


@pytest.mark.parametrize(("snippet", "text", "cure"), TABLE_MISTAKES)
def test_a_mistake_in_a_table_has_its_place_and_its_cure(tmp_path: Path, snippet: str, text: str, cure: str) -> None:
    problem = only_problem(tmp_path, in_table(snippet))
    assert problem.text == text
    assert cure in problem.cure


@pytest.mark.parametrize(("key", "replaced", "by", "text", "cure"), SOURCE_MISTAKES)
def test_a_mistake_in_a_source_has_its_place_and_its_cure(
    tmp_path: Path, key: str, replaced: str, by: str, text: str, cure: str
) -> None:
    problem = only_problem(
        tmp_path, in_source(f"{key} #!").replace(replaced, by) if replaced else in_source(f"{key} #!")
    )
    assert problem.text == text
    assert cure in problem.cure


@pytest.mark.parametrize(("replaced", "by", "text", "cure"), FILE_MISTAKES)
def test_a_mistake_in_the_file_has_its_place_and_its_cure(
    tmp_path: Path, replaced: str, by: str, text: str, cure: str
) -> None:
    problem = only_problem(tmp_path, (FILE + SOURCE).replace(replaced, by, 1))
    assert problem.text == text
    assert cure in problem.cure


# --- all at once ----------------------------------------------------------------------------------


def test_five_mistakes_of_five_kinds_are_five_lines(tmp_path: Path) -> None:
    text = (
        (FILE + SOURCE + "    fetch_size: many\n    tables:\n")
        .replace("lake: ./lake", "lake: s3://x")
        .replace("    user: reader\n", "")
    )
    text += '      - "public.a:x:timestmp"\n'
    text += "      - table: public.b\n        strategy: upsert\n        freshness: {warn: 1d, fail: 1h}\n"
    text += '      - "public.c:x:date"\n      - "public.c:y:date"\n'
    found = problems(tmp_path, text)
    assert [(problem.line, problem.text) for problem in found] == [
        (1, "s3://x"),
        (4, "shop"),
        (8, "many"),
        (10, "public.a:x:timestmp"),
        (12, "upsert"),
        (13, "freshness"),
        (15, "public.c:y:date"),
    ]


def test_the_error_reads_as_one_line_per_mistake(tmp_path: Path) -> None:
    (tmp_path / "sources.yaml").write_text(in_source("fetch_size: many\nport: big"))
    with pytest.raises(ConfigurationError) as caught:
        config.load(tmp_path / "sources.yaml", now=NOW)
    assert str(caught.value).splitlines() == [
        f"{tmp_path}/sources.yaml:9: 'many': write a whole number",
        f"{tmp_path}/sources.yaml:10: 'big': write a whole number",
    ]
    assert caught.value.exit_code == 2


def test_a_wrong_cursor_is_not_also_called_missing(tmp_path: Path) -> None:
    found = only_problem(
        tmp_path, in_table("table: public.a\nstrategy: upsert\ncursor: {column: x, type: timestmp} #!\nlookback: 15m")
    )
    assert found.text == "timestmp"


def test_a_bad_value_hides_no_other_mistake_of_its_table_or_source(tmp_path: Path) -> None:
    text = in_table("table: public.a\nfuture: later\nlookback: 15\ncursor: {column: x, type: timestamp, zone: UTC}")
    assert [problem.text for problem in problems(tmp_path, text)] == ["later", "15", "UTC"]
    text = in_source("fetch_size: many\ntls: disable").replace("localhost", "db.example.com")
    assert [problem.text for problem in problems(tmp_path, text)] == ["many", "disable"]


def test_an_excluded_table_is_not_held_against_the_defaults(tmp_path: Path) -> None:
    text = in_source('defaults: {lookback: 15m}\ntables: ["public.b:id:integer:e"]')
    (tmp_path / "sources.yaml").write_text(text)
    assert config.load(tmp_path / "sources.yaml", now=NOW).source("shop").tables == ()


def test_a_default_that_does_not_fit_is_reported_at_the_table_it_does_not_fit(tmp_path: Path) -> None:
    text = in_source('defaults: {lookback: 15m}\ntables:\n  - "public.a:x:timestamp"\n  - "public.b:id:integer" #!')
    assert "the source's default `lookback: 15m` does not fit here" in only_problem(tmp_path, text).cure


def test_a_table_is_listed_once(tmp_path: Path) -> None:
    text = in_source('tables:\n  - "public.a:x:timestamp:e"\n  - {table: public."a"} #!')
    assert "already listed in line 10" in only_problem(tmp_path, text).cure


def test_a_history_has_a_name_that_no_listed_table_has(tmp_path: Path) -> None:
    kept = "{table: public.e, strategy: upsert, history: scd2, cursor: {column: x, type: timestamp}}"
    text = in_source(f"tables:\n  - {kept}\n  - {{table: public.e__history}} #!")
    assert "the history of the table in line 10 has this name" in only_problem(tmp_path, text).cure


@pytest.mark.parametrize("second", ["public.Orders", "PUBLIC.orders"])
def test_names_that_differ_by_case_alone_need_a_lake_that_minds_it(
    tmp_path: Path, second: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = in_source(f'tables:\n  - "public.orders:x:timestamp"\n  - table: {second} #!')
    (tmp_path / "sources.yaml").write_text(text)
    monkeypatch.setattr(config_check, "ignores_case", lambda lake: False)
    assert len(config.load(tmp_path / "sources.yaml", now=NOW).source("shop").tables) == 2
    monkeypatch.setattr(config_check, "ignores_case", lambda lake: True)
    assert "differ by case alone" in only_problem(tmp_path, text).cure


def test_sources_that_differ_by_case_alone_need_a_lake_that_minds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(config_check, "ignores_case", lambda lake: True)
    assert "two sources" in only_problem(tmp_path, FILE + SOURCE + "  SHOP: #!\n" + SOURCE).cure


# --- no file, no YAML -----------------------------------------------------------------------------


def test_a_missing_file_is_one_problem_with_its_cure(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"nowhere.yaml:1: .*there is no such file; name it with --config"):
        config.load(tmp_path / "nowhere.yaml")


def test_a_folder_and_a_picture_are_no_configuration(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read"):
        config.load(tmp_path)
    (tmp_path / "sources.yaml").write_bytes(b"\x89PNG\xff\xfe")
    with pytest.raises(ConfigurationError, match="UTF-8"):
        config.load(tmp_path / "sources.yaml")


@pytest.mark.parametrize(
    ("text", "line", "cure"),
    [
        ("", 1, "write the keys lake, checkpoints and sources"),
        ("- a\n- b\n", 1, "write the keys lake, checkpoints and sources"),
        ("lake: [a\nsources: b\n", 2, "this is not YAML"),
        ("lake: a\n\tcheckpoints: b\n", 2, "this is not YAML"),
        ("lake: a\n---\nlake: b\n", 3, "a second document begins here"),
        ("sources: a\nlake: \x07\n", 2, "the character U+0007 in column 7"),
        ("lake: a\n\tcheckpoints: b\n", 2, "a tab, where YAML indents by spaces"),
        ("lake: @home\n", 1, "'@' that cannot start any token, in column 7"),
    ],
)
def test_what_is_not_yaml_is_placed_too(tmp_path: Path, text: str, line: int, cure: str) -> None:
    found = problems(tmp_path, text)
    assert len(found) == 1
    assert found[0].line == line
    assert cure in found[0].cure


def test_a_file_without_sources_says_how_one_looks(tmp_path: Path) -> None:
    for text in ("lake: a\ncheckpoints: sqlite:///c\n", "lake: a\ncheckpoints: sqlite:///c\nsources: {}\n"):
        assert "write at least one source" in problems(tmp_path, text)[0].cure


def test_an_alias_within_itself_is_refused(tmp_path: Path) -> None:
    found = problems(tmp_path, FILE + SOURCE + "    schemas: &loop [*loop]\n")
    assert "is inside what it refers to" in found[0].cure


def test_an_anchor_may_be_used_again(tmp_path: Path) -> None:
    (tmp_path / "sources.yaml").write_text(in_source("options: {connect_timeout: &short 5s, socket_timeout: *short}"))
    options = config.load(tmp_path / "sources.yaml", now=NOW).source("shop").options
    assert options.connect_timeout == options.socket_timeout


# --- secrets --------------------------------------------------------------------------------------

SECRET = "hunter2Zx"

LEAKS = [
    f"password: {SECRET}",
    f"pasword: {SECRET}",
    f'password: "{SECRET}',
    f"password: *{SECRET}",
    f"password: &{SECRET}",
    f"password: !{SECRET}",
    f"password: !env {SECRET}",
    f"password: {{{SECRET}}}",
    f"password: [{SECRET}]",
    f"password: {{env: '{SECRET}!'}}",
    f"password: {{env: [{SECRET}]}}",
    f"password: {{literal: {SECRET}}}",
    f"password: {{env: X, file: {SECRET}, other: {SECRET}}}",
    f"password: |\n  {SECRET}\n  {SECRET}",
    f"password: {SECRET}: x",
    f"password: {SECRET}\n  {SECRET}: y",
    f"password: {SECRET}\npassword: {SECRET}",
    f"options: {{password: {SECRET}}}",
    f"options: {{sslpassword: {{a: {SECRET}}}}}",
    f"host: postgresql://reader:{SECRET}@db/shop",
    f"host: reader:p/{SECRET}@db",
    f"database: {{env: 'shop?password={SECRET}'}}",
    f"tables: postgresql://reader:{SECRET}@db/shop",
]


@pytest.mark.parametrize("snippet", LEAKS)
def test_a_secret_in_the_file_is_refused_and_never_shown(tmp_path: Path, snippet: str) -> None:
    source = SOURCE.replace("    host: localhost\n", "") if snippet.startswith("host:") else SOURCE
    found = problems(tmp_path, FILE + source + textwrap.indent(snippet, "    ") + "\n    every: 1m\n")
    assert SECRET not in "\n".join(map(str, found))
    assert all(problem.line >= 4 for problem in found)


def test_a_long_text_is_cut(tmp_path: Path) -> None:
    assert len(only_problem(tmp_path, in_source(f"unlisted: {'x' * 500} #!")).text) == 80


@pytest.mark.parametrize(
    "host", ["a" * 64 + ".example.com", "a" * 300, "db..example.com", "\N{LATIN SMALL LETTER E WITH ACUTE}" * 63]
)
def test_a_host_that_no_driver_can_ask_for_is_refused(tmp_path: Path, host: str) -> None:
    problem = only_problem(tmp_path, in_source("tls: require").replace("host: localhost", f"host: {host} #!"))
    assert problem.cure.startswith("a host's name has up to 63 letters between two dots")


@pytest.mark.parametrize("value", [r"a\0b", r"\ud800"])
@pytest.mark.parametrize("key", ["lake", "checkpoints"])
def test_what_no_path_can_hold_is_refused_where_it_stands(tmp_path: Path, key: str, value: str) -> None:
    text = re.sub(f"^{key}: .*$", lambda _: f'{key}: "{value}" #!', in_source("every: 1m"), flags=re.MULTILINE)
    assert "a NUL, or half of a character, is not text" in str(problems(tmp_path, text)[0])
    assert problems(tmp_path, text)[0].line == 1 + (key == "checkpoints")


@pytest.mark.parametrize("deep", ["[" * 3000 + "]" * 3000, "{a: " * 3000 + "b" + "}" * 3000, "[" * 3000])
def test_what_stands_too_deep_is_one_mistake_in_its_line(tmp_path: Path, deep: str) -> None:
    (problem,) = problems(tmp_path, in_source(f"every: {deep}"))
    assert (problem.line, problem.text) == (9, "")
    assert problem.cure == "this is nested too deeply; write it with fewer brackets or indents"


def test_every_cure_is_a_sentence_and_names_no_library(tmp_path: Path) -> None:
    snippets = itertools.chain(
        (in_table(snippet) for snippet, *_ in TABLE_MISTAKES), (in_source(key) for key, *_ in SOURCE_MISTAKES[1:])
    )
    for snippet in snippets:
        for problem in problems(tmp_path, snippet):
            assert not re.search(r"pydantic|Input should|Value error|validation|str_|\bnull\b", problem.cure), problem
