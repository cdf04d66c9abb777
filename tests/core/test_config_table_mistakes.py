"""Has each mistake in a table its line, the offending text and the cure?"""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from incremental_assets import load
from incremental_assets.core.config.database_settings import database_of
from incremental_assets.core.config.rules import grid_mistakes
from incremental_assets.core.config.table_document import TimePartitions
from tests.core.mistakes import FILE, in_table, only_problem

CURSOR = "cursor: {column: updated_at, type: timestamp}"
XMIN = "table: public.a\ncursor: {type: xmin}\nstrategy: upsert"
COMPARED = "table: public.a\nstrategy: upsert\ncompare: {every: 1h}\n"

LOGGED = "table: public.a\ncapture: log\n"

TABLE_MISTAKES = [
    ("table: public.a\ncapture: binlog #!", "binlog", "did you mean `log`?"),
    (
        LOGGED + "strategy: full_refresh #!",
        "full_refresh",
        "by the log a copy has one row per key or one per change, and this is `full_refresh`; write upsert or append",
    ),
    (LOGGED + CURSOR + " #!", "cursor", "`capture: log` finds every change, and `cursor` does so in another way"),
    (LOGGED + "compare: {every: 1h} #!", "compare", "`compare` does so in another way; remove one of the two"),
    (LOGGED + "lookback: 15m #!", "15m", "`lookback` is for tables with a cursor, this one is read from the log"),
    (LOGGED + "partitions: {every: day} #!", "partitions", "`partitions` is for tables with a cursor"),
    (
        LOGGED + "history: scd2\ncontract: {id: {ge: 1}} #!",
        "contract",
        "by the log a contract is kept of a copy with one row per key and without a history so far, and this one has `history: scd2`",
    ),
    (
        LOGGED + "strategy: append\ncontract: {id: {ge: 1}} #!",
        "contract",
        "and this one has `strategy: append`; remove one of the two",
    ),
    (LOGGED + "deletes: {mode: diff} #!", "deletes", "the log tells each row that is gone, which leaves the copy"),
    (LOGGED + "refresh_every: 1h #!", "1h", "this table is read from the log with each sync"),
    (LOGGED + 'schedule: "0 6 * * *" #!', "0 6 * * *", "the source keeps its log until it was read"),
    (
        COMPARED.replace("1h}", "1h} #!") + 'schedule: "0 6 * * *"',
        "1h",
        "`schedule` says when this table is compared; write `compare: {every: 0s}`",
    ),
    (
        'table: public.a\nschedule: "0 6 * * *"\nrefresh_every: 1d #!',
        "1d",
        "`schedule` says when this table is due, and `refresh_every` says so in another way; remove one of the two",
    ),
    ('table: public.a\nschedule: "0 25 * * *" #!', "0 25 * * *", "'25' is no hour, which is from 0 to 23"),
    (LOGGED + "schema_changes: widen #!", "widen", "a table whose columns change is loaded again, by a person"),
    (LOGGED + 'where: "id = 7" #!', "id = 7", "the log has the changes of every row, whichever rows are meant"),
    (
        'table: public.a\nwhere: "1=1) OR (1=1" #!',
        "1=1) OR (1=1",
        "'1=1) OR (1=1' cannot stand there; compare columns with constants by",
    ),
    ('table: public.a\nwhere: "id = 7 -- ours" #!', "id = 7 -- ours", "'-- ours' cannot stand there"),
    ('table: public.a\nwhere: "id = 7 AND" #!', "id = 7 AND", "it ends too early"),
    (LOGGED + "rename: {a: b} #!", "rename", "a table whose columns change is loaded again, by a person"),
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
    (
        "table: public.a\ncursor: {column: id, type: integer, lookback: 10} #!",
        "lookback",
        "write `lookback` beside `cursor`, not in it",
    ),
    (
        "table: public.a\ncursor: {column: id, type: integer, primary_key: [id]} #!",
        "primary_key",
        "write `primary_key` beside `cursor`, not in it",
    ),
    (
        "table: public.a\ncursor: {column: at, type: timestamp, stamped: {by: application, witin: 1m}} #!",
        "witin",
        "did you mean `within`?",
    ),
    ("table: public.a\n<<: {strategy: upsert} #!", "<<", "keys are not merged here; write them out"),
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
    ("table: public.a\nstrategy: upsert\ncompare: {evry: 1h} #!", "evry", "did you mean `every`?"),
    ("table: public.a\nmaintenance: {compct: auto} #!", "compct", "did you mean `compact`?"),
    ("table: public.a\ncopies: {reader: any} #!", "reader", "did you mean `readers`?"),
    ("table: public.a\ncopies: {readers: all} #!", "all", "choose one of: vectors, any"),
    (
        "table: public.a\ncopies: {readers: any}\nschema_changes: widen #!",
        "widen",
        "asks readers for Delta's type widening",
    ),
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
    ("table: public.a\nrename: {note: remark, memo: remark} #!", "rename", "each column has one old name and one new"),
    ("table: public.a\nrename: {a: b, b: a} #!", "rename", "each column has one old name and one new"),
    ("table: public.a\nrename:\n  note: _sync_id #!", "_sync_id", "columns that begin with `_sync_`"),
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
        "table: public.a\npartitions: {every: week, from: 0001-01-01} #!\n" + CURSOR,
        "0001-01-01",
        "write 1000-01-01 or a later day",
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
    ("table: public.a\nretention: {files: 0d} #!", "0d", "write a duration longer than nothing"),
    (
        "table: public.a\nretention: {history: 400d} #!",
        "400d",
        "only versions of `history: scd2` say when they ended",
    ),
    ("table: public.a\nretention: {file: 7d} #!", "file", "did you mean `files`?"),
    ("table: public.a\nmaintenance: {compact: daily} #!", "daily", "choose one of: auto, never"),
    ('"public.a:x:timestmp" #!', "public.a:x:timestmp", "did you mean `timestamp`?"),
    ('"public.a:_sync_at:timestamp" #!', "public.a:_sync_at:timestamp", "columns that begin with `_sync_`"),
    ('"public.a:x:date@2024-02-30" #!', "public.a:x:date@2024-02-30", "out of range"),
    ("[public.a] #!", "", "write keys and values here"),
    ("table: public.a\ncursor: {type: integer} #!", "cursor", "the key `column` is missing; add it"),
    (XMIN.replace("xmin}", "xmn} #!"), "xmn", "did you mean `xmin`?"),
    (XMIN.replace("xmin}", "xmin, column: id} #!"), "id", "no column of the table's own; remove `column`"),
    (XMIN.replace("xmin}", "xmin, nulls: skip} #!"), "skip", "no column of the table's own; remove `nulls`"),
    (XMIN.replace("upsert", "append #!"), "append", "old rows are read again now and then"),
    (XMIN + "\npartitions: {every: day} #!", "partitions", "write `partitions: {size: 100000000}`"),
    (XMIN + "\nholdback: 5 #!", "5", "remove `holdback`"),
    (XMIN + "\nlookback: 15m #!", "15m", "a whole number of transactions"),
]


@pytest.mark.parametrize(
    ("dialect", "kind", "cure"),
    [
        (
            "mariadb",
            "xmin",
            "a word of postgresql, and this source is mariadb; write a cursor of another type, or `strategy: upsert` with `compare: {every: 1h}`",
        ),
        ("mysql", "rowversion", "a word of rowstore, and this source is mysql"),
        ("postgresql", "rowversion", "write `type: xmin`, a cursor of another type, or `strategy: upsert` with"),
        ("postgresql", "ora_rowscn", "a word of another database"),
        ("rowstore", "xmin", "write `type: rowversion`, a cursor of another type, or `strategy: full_refresh`"),
    ],
)
@pytest.mark.usefixtures("rowstore")
def test_a_database_has_its_own_word_for_the_transaction_that_wrote_a_row(
    tmp_path: Path, dialect: str, kind: str, cure: str
) -> None:
    text = in_table(XMIN.replace("xmin}", f"{kind}}} #!"))
    problem = only_problem(tmp_path, text.replace("dialect: postgresql", f"dialect: {dialect}"))
    assert problem.text == kind
    assert cure in problem.cure


def test_a_file_has_no_such_word(tmp_path: Path) -> None:
    text = (
        FILE
        + "    dialect: sqlite\n    database: shop.db\n    tables:\n      - table: main.a\n        cursor: {type: xmin} #!\n        strategy: upsert\n"
    )
    assert "this source is sqlite" in only_problem(tmp_path, text).cure


@pytest.mark.usefixtures("rowstore")
@pytest.mark.parametrize(
    ("more", "cure"), [(", column: v", "is found by its type"), (", nulls: skip", "is never NULL; remove `nulls`")]
)
def test_the_row_version_of_a_table_is_not_named(tmp_path: Path, more: str, cure: str) -> None:
    text = in_table(f"table: dbo.a\ncursor: {{type: rowversion{more}}} #!").replace(
        "dialect: postgresql", "dialect: rowstore"
    )
    assert cure in only_problem(tmp_path, text).cure


@pytest.mark.usefixtures("rowstore")
def test_the_log_is_read_of_some_databases(tmp_path: Path) -> None:
    text = in_table("table: public.a\ncapture: log #!")
    problem = only_problem(tmp_path, text.replace("postgresql", "rowstore"))
    assert (problem.text, problem.cure) == (
        "log",
        "the log is read of postgresql, mariadb, mysql, and this source is rowstore; remove `capture`, and write a cursor or `compare: {every: 1h}`",
    )


def test_what_was_read_of_a_log_needs_a_folder_where_the_lake_is_in_a_store(tmp_path: Path) -> None:
    text = in_table("table: public.a\ncapture: log").replace("lake: ./lake", "lake: s3a://bucket/lake")
    problem = only_problem(tmp_path, text.replace("  shop:", "  shop: #!"))
    assert problem.cure.endswith("write `log: {folder: /a/path/that/stays}`")
    problem = only_problem(tmp_path, text.replace("    tables:", "    log: {folder: s3://bucket/log} #!\n    tables:"))
    assert problem.cure == "write the path of a folder on a disk of this machine that stays from run to run"
    file = tmp_path / "sources.yaml"
    file.write_text(text.replace("    tables:", "    log: {folder: ./kept}\n    tables:"), encoding="utf-8")
    assert database_of(load(file).source("shop")).log.folder == str(tmp_path / "kept")


@pytest.mark.parametrize("dialect", ["mariadb", "mysql"])
def test_a_log_that_is_kept_for_nobody_has_no_terms(tmp_path: Path, dialect: str) -> None:
    text = in_table("table: public.a\ncapture: log").replace("postgresql", dialect)
    file = tmp_path / "sources.yaml"
    file.write_text(text, encoding="utf-8")
    assert load(file).source("shop").reads_log
    problem = only_problem(tmp_path, text.replace("    tables:", "    log: {max_slot_lag: 1GiB} #!\n    tables:"))
    assert problem.cure == (
        f"a {dialect} keeps its log for nobody, so that there is nothing to say of it; remove `max_slot_lag`"
    )
    file.write_text(text.replace("    tables:", "    log: {folder: ./kept}\n    tables:"), encoding="utf-8")
    assert database_of(load(file).source("shop")).log.folder == str(tmp_path / "kept")


@pytest.mark.usefixtures("rowstore")
def test_a_database_that_is_not_asked_for_some_rows_is_not_read_by_a_condition(tmp_path: Path) -> None:
    text = in_table('table: dbo.a\nwhere: "id = 7" #!').replace("dialect: postgresql", "dialect: rowstore")
    problem = only_problem(tmp_path, text)
    assert problem.cure == (
        "some rows of a table are read of postgresql, sqlite, mariadb, mysql, and this source is rowstore; remove `where`, and list a view that shows these rows"
    )


A_LOG = """\
    dialect: postgresql
    host: db.example.com
    database: {0}
    user: reader
    log: {{slot: {1}}}
    tables: [{{table: public.a, capture: log}}]
"""


def test_two_sources_do_not_share_a_slot(tmp_path: Path) -> None:
    text = FILE + A_LOG.format("shop", "both") + "  stock: #!\n" + A_LOG.format("stock", "both")
    problem = only_problem(tmp_path, text)
    assert problem.text == "stock"
    assert problem.cure.startswith("the replication slot both is that of shop already")


def test_slots_of_their_own_are_no_mistake(tmp_path: Path) -> None:
    text = FILE + A_LOG.format("shop", "one") + "  stock:\n" + A_LOG.format("stock", "two")
    (tmp_path / "sources.yaml").write_text(text)
    assert [database_of(source).log.slot for source in load(tmp_path / "sources.yaml").sources] == ["one", "two"]


@pytest.mark.parametrize(("snippet", "text", "cure"), TABLE_MISTAKES)
def test_a_mistake_in_a_table_has_its_place_and_its_cure(tmp_path: Path, snippet: str, text: str, cure: str) -> None:
    problem = only_problem(tmp_path, in_table(snippet))
    assert problem.text == text
    assert cure in problem.cure


def test_more_months_than_dagster_can_show_are_told_a_day_to_begin_with_too() -> None:
    months = TimePartitions.model_validate({"every": "month", "from": "1000-01-01"})
    ((path, cure),) = grid_mistakes(months, datetime(3200, 1, 1, tzinfo=UTC))
    assert (path, "begin with `from: 1082-" in cure) == (("partitions",), True), cure
