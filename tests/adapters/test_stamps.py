"""What PostgreSQL's catalogue shows of who stamps a column: defaults, domains, generated columns, triggers and whether they run, in every part of a table."""

from __future__ import annotations

import psycopg
import pytest

from incremental_assets.adapters.databases.postgresql.catalogue import read_catalogue
from incremental_assets.core.captures.database.updates import updates_not_copied
from incremental_assets.core.discovery.traits import Inserts
from incremental_assets.core.errors import SourceRefused
from incremental_assets.core.model.cursor import CursorType
from incremental_assets.core.model.guarantee import Guarantee
from incremental_assets.core.model.stamping import Proof, Unproven
from incremental_assets.core.model.table import Cursor, Strategy
from tests.adapters.source import Source, planned

MAKE = (
    "CREATE FUNCTION stamp() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN NEW.at := now(); RETURN NEW; END$$",
    "CREATE FUNCTION stamp_if_it_differs() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN IF row(NEW.*) IS DISTINCT FROM row(OLD.*) THEN NEW.at := now(); END IF; RETURN NEW; END$$",
    "CREATE FUNCTION stamp_in_tokyo() RETURNS trigger LANGUAGE plpgsql SET timezone TO 'Asia/Tokyo' AS $$BEGIN NEW.at := now(); RETURN NEW; END$$",
    "CREATE FUNCTION other() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN NEW.v := 1; RETURN NEW; END$$",
    "CREATE FUNCTION whatever() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN NEW := NEW #= 'x'; RETURN NEW; END$$",
    "CREATE DOMAIN born AS timestamptz DEFAULT now()",
    "CREATE TABLE by_domain (at born)",
    "CREATE TABLE whole_seconds (at timestamptz(0) DEFAULT now())",
    "CREATE TABLE generated (made timestamp DEFAULT localtimestamp, at timestamp GENERATED ALWAYS AS (date_trunc('hour', made)) STORED)",
    "CREATE TABLE triggered (at timestamptz, v int)",
    "CREATE TRIGGER s BEFORE INSERT OR UPDATE ON triggered FOR EACH ROW EXECUTE FUNCTION stamp()",
    "CREATE TABLE after_it (at timestamptz, v int)",
    "CREATE TRIGGER s AFTER INSERT OR UPDATE ON after_it FOR EACH ROW EXECUTE FUNCTION stamp()",
    "CREATE TABLE switched_off (LIKE triggered)",
    "CREATE TRIGGER s BEFORE INSERT OR UPDATE ON switched_off FOR EACH ROW EXECUTE FUNCTION stamp()",
    "ALTER TABLE switched_off DISABLE TRIGGER s",
    "CREATE TABLE of_replicas (LIKE triggered)",
    "CREATE TRIGGER s BEFORE INSERT OR UPDATE ON of_replicas FOR EACH ROW EXECUTE FUNCTION stamp()",
    "ALTER TABLE of_replicas ENABLE REPLICA TRIGGER s",
    "CREATE TABLE always (LIKE triggered)",
    "CREATE TRIGGER s BEFORE INSERT OR UPDATE ON always FOR EACH ROW EXECUTE FUNCTION stamp()",
    "ALTER TABLE always ENABLE ALWAYS TRIGGER s",
    "CREATE TABLE conditional (at timestamptz DEFAULT now(), v int)",
    "CREATE TRIGGER s BEFORE UPDATE ON conditional FOR EACH ROW WHEN (OLD.v IS DISTINCT FROM NEW.v) EXECUTE FUNCTION stamp()",
    "CREATE TABLE if_it_differs (at timestamptz DEFAULT now(), v int)",
    "CREATE TRIGGER s BEFORE UPDATE ON if_it_differs FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION stamp()",
    "CREATE DOMAIN ratio AS numeric",
    "CREATE DOMAIN price AS numeric(10, 2)",
    "CREATE TYPE mood AS ENUM ('ok')",
    "CREATE TABLE if_rows_differ (at timestamptz DEFAULT now(), a int, b text, c price, d char(3)[], e mood, f numeric(5), g bytea)",
    "CREATE TRIGGER s BEFORE UPDATE ON if_rows_differ FOR EACH ROW EXECUTE FUNCTION stamp_if_it_differs()",
    "CREATE TABLE if_equal_is_alike (at timestamptz DEFAULT now(), r ratio[])",
    "CREATE TRIGGER s BEFORE UPDATE ON if_equal_is_alike FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION stamp()",
    "CREATE TABLE if_rows_are_alike (at timestamptz DEFAULT now(), span interval)",
    "CREATE TRIGGER s BEFORE UPDATE ON if_rows_are_alike FOR EACH ROW EXECUTE FUNCTION stamp_if_it_differs()",
    "CREATE TABLE if_bytes_differ (at timestamptz DEFAULT now(), r float8)",
    "CREATE TRIGGER s BEFORE UPDATE ON if_bytes_differ FOR EACH ROW WHEN (OLD.* *<> NEW.*) EXECUTE FUNCTION stamp()",
    "CREATE TABLE if_it_brings_none (at timestamptz DEFAULT now(), v int)",
    "CREATE TRIGGER s BEFORE UPDATE ON if_it_brings_none FOR EACH ROW WHEN (OLD.at = NEW.at) EXECUTE FUNCTION stamp()",
    "CREATE TABLE if_filled_it_brings_none (at timestamptz NOT NULL DEFAULT now(), v int)",
    "CREATE TRIGGER s BEFORE UPDATE ON if_filled_it_brings_none FOR EACH ROW WHEN (OLD.at = NEW.at) EXECUTE FUNCTION stamp()",
    "CREATE TABLE of_columns (at timestamptz DEFAULT now(), v int)",
    "CREATE TRIGGER s BEFORE UPDATE OF v ON of_columns FOR EACH ROW EXECUTE FUNCTION stamp()",
    "CREATE TABLE in_tokyo (at timestamp DEFAULT now())",
    "CREATE TRIGGER s BEFORE UPDATE ON in_tokyo FOR EACH ROW EXECUTE FUNCTION stamp_in_tokyo()",
    "CREATE TABLE with_others (LIKE triggered)",
    "CREATE TRIGGER a BEFORE INSERT OR UPDATE ON with_others FOR EACH ROW EXECUTE FUNCTION whatever()",
    "CREATE TRIGGER s BEFORE INSERT OR UPDATE ON with_others FOR EACH ROW EXECUTE FUNCTION stamp()",
    "CREATE TRIGGER z BEFORE INSERT OR UPDATE ON with_others FOR EACH ROW EXECUTE FUNCTION other()",
    "CREATE TABLE overridden (LIKE triggered)",
    "CREATE TRIGGER s BEFORE INSERT OR UPDATE ON overridden FOR EACH ROW EXECUTE FUNCTION stamp()",
    "CREATE TRIGGER z BEFORE INSERT OR UPDATE ON overridden FOR EACH ROW EXECUTE FUNCTION whatever()",
    "CREATE TABLE parted (id int, at timestamptz DEFAULT now()) PARTITION BY RANGE (id)",
    "CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (10)",
    "CREATE TABLE parted_2 (id int, at timestamptz)",
    "ALTER TABLE parted ATTACH PARTITION parted_2 FOR VALUES FROM (10) TO (20)",
    "CREATE TRIGGER s BEFORE UPDATE ON parted FOR EACH ROW EXECUTE FUNCTION stamp()",
    "CREATE TABLE off_in_a_part (LIKE parted INCLUDING DEFAULTS) PARTITION BY RANGE (id)",
    "CREATE TABLE off_in_a_part_1 PARTITION OF off_in_a_part FOR VALUES FROM (0) TO (10)",
    "CREATE TRIGGER s BEFORE UPDATE ON off_in_a_part FOR EACH ROW EXECUTE FUNCTION stamp()",
    "ALTER TABLE off_in_a_part_1 DISABLE TRIGGER s",
    "CREATE TABLE inherited (at timestamptz DEFAULT now())",
    "CREATE TABLE inherited_1 () INHERITS (inherited)",
    "ALTER TABLE inherited_1 ALTER at DROP DEFAULT",
)  # fmt: skip

BY_EQUALS = "compares by `=`, which takes different values of '{}' for the same: have it compare rows by `*<>`"
FOUND = {
    "by_domain": ("now", ""),
    "whole_seconds": ("now", ""),
    "generated": ("hour", ""),
    "triggered": ("now", "now"),
    "after_it": ("", ""),
    "switched_off": ("the trigger s, which stamps 'at', is switched off",) * 2,
    "of_replicas": ("the trigger s, which stamps 'at', runs in sessions of a replica alone",) * 2,
    "always": ("now", "now"),
    "conditional": ("now", "the trigger s, which stamps 'at', runs on a condition"),
    "if_it_differs": ("now", "now"),
    "if_rows_differ": ("now", "now"),
    "if_equal_is_alike": ("now", f"the trigger s, which stamps 'at', {BY_EQUALS.format('r')}"),
    "if_rows_are_alike": ("now", f"the trigger s, which stamps 'at', {BY_EQUALS.format('span')}"),
    "if_bytes_differ": ("now", "now"),
    "if_it_brings_none": ("now", "the trigger s, which stamps 'at', runs on a condition"),
    "if_filled_it_brings_none": ("now", "now"),
    "of_columns": ("now", "the trigger s, which stamps 'at', runs only where certain columns are written"),
    "in_tokyo": ("now", "the trigger s may give 'at' another value than the database's own time"),
    "with_others": ("now", "now"),
    "overridden": ("the trigger z may give 'at' another value than the database's own time",) * 2,
    "parted": ("now", "now"),
    "off_in_a_part": ("now", "the trigger s, which stamps 'at', is switched off"),
    "inherited": ("", ""),
}
"""Of each table what is proven of inserts and of updates, or why nothing is."""


def said(proof: Proof) -> str:
    if isinstance(proof, Unproven):
        return proof.why
    return ", ".join(str(cut) for cut in proof.cuts) or "now"


def shown(source: Source, *settings: str) -> dict[str, tuple[str, str]]:
    with source.connect() as connection:
        for setting in settings:
            connection.execute(setting.encode())
        shapes = read_catalogue(psycopg.RawCursor(connection), "shop", ["public"])
    stamps = {shape.id.name: column.stamps for shape in shapes for column in shape.columns if column.name == "at"}
    return {name: (said(each.insert), said(each.update)) for name, each in stamps.items() if each and name in FOUND}


def test_who_stamps_a_column_is_read_from_its_default_and_its_triggers_whatever_the_session_prints(
    source: Source,
) -> None:
    source.execute(*MAKE)
    assert shown(source) == FOUND
    assert shown(source, "SET quote_all_identifiers = on", "SET DateStyle = 'German'") == FOUND


@pytest.mark.parametrize(
    "replicates",
    [
        "ALTER ROLE {} SET session_replication_role = replica",
        "ALTER DATABASE {} SET session_replication_role = replica",
    ],
)
def test_sessions_that_begin_as_a_replicas_run_no_ordinary_trigger(source: Source, replicates: str) -> None:
    role = f"{source.database}_loader"
    name = role if "ROLE" in replicates else source.database
    source.execute(
        *MAKE, f"CREATE ROLE {role} LOGIN", f"GRANT INSERT ON triggered, always TO {role}", replicates.format(name)
    )
    found = shown(source)
    source.execute(f"DROP OWNED BY {role}", f"DROP ROLE {role}")
    assert "begin with session_replication_role = replica" in found["triggered"][0]
    assert (role if "ROLE" in replicates else "every role") in found["triggered"][0]
    assert found["always"] == ("now", "now")
    assert found["by_domain"][0] == "now", "a default is evaluated in every session"


def test_a_trigger_that_is_switched_off_between_the_look_and_the_read_stops_the_table(source: Source) -> None:
    source.execute(MAKE[0], "CREATE TABLE things (at timestamptz NOT NULL)")
    source.execute("CREATE TRIGGER s BEFORE INSERT ON things FOR EACH ROW EXECUTE FUNCTION stamp()")
    probe = source.open()
    decision = planned(probe, source.spec("things", Cursor("at", CursorType.TIMESTAMP)))
    assert decision.reading.settled.guarantee is Guarantee.SETTLED
    source.execute("ALTER TABLE things DISABLE TRIGGER s")
    with pytest.raises(SourceRefused, match="columns at"), probe.snapshot(decision):
        pass


def test_what_has_been_altered_has_another_mark_though_it_is_as_it_was(source: Source) -> None:
    source.execute(*MAKE)

    def marks() -> str:
        return next(column.stamps.marks for column in source.shape("triggered").columns if column.stamps)

    before = marks()
    assert marks() == before
    source.execute(
        "CREATE TRIGGER z BEFORE UPDATE ON triggered FOR EACH ROW EXECUTE FUNCTION other()", "VACUUM FREEZE pg_trigger"
    )
    assert marks() == before, "a trigger that does not stamp is nothing to it"
    with source.connect() as connection:
        connection.execute("ALTER TABLE triggered DISABLE TRIGGER s")
        connection.execute("ALTER TABLE triggered ENABLE TRIGGER s")
    assert marks() != before


def test_what_was_altered_in_a_part_alone_has_another_mark_and_a_part_that_comes_or_goes_has_none(
    source: Source,
) -> None:
    source.execute(*MAKE)

    def mark() -> str:
        (column,) = (
            each for each in source.spec("parted", Cursor("at", CursorType.TIMESTAMP)).columns if each.name == "at"
        )
        assert column.stamps is not None
        return column.stamps.marks

    first = mark()
    source.execute("CREATE TABLE parted_3 PARTITION OF parted FOR VALUES FROM (20) TO (30)", "DROP TABLE parted_2")
    assert mark() == first
    source.execute("ALTER TABLE parted_1 DISABLE TRIGGER s", "ALTER TABLE parted_1 ENABLE TRIGGER s")
    assert mark() != first


def test_a_default_that_was_altered_and_is_again_what_it_was_has_another_mark_of_a_domain_and_of_a_part_too(
    source: Source,
) -> None:
    source.execute(*MAKE)

    def mark(table: str) -> str:
        return next(each.stamps.marks for each in source.shape(table).columns if each.stamps)

    before = {table: mark(table) for table in ("by_domain", "parted")}
    source.execute(
        "ALTER DOMAIN born SET DEFAULT '2001-01-01'",
        "ALTER DOMAIN born SET DEFAULT now()",
        "ALTER TABLE parted_1 ALTER at SET DEFAULT '2001-01-01'",
        "ALTER TABLE parted_1 ALTER at SET DEFAULT now()",
    )
    after = {table: mark(table) for table in before}
    assert before["by_domain"] != after["by_domain"]
    assert before["parted"] != after["parted"]
    assert after == {table: mark(table) for table in before}


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (("CREATE RULE brings AS ON INSERT TO by_domain DO ALSO UPDATE by_domain SET at = '2001-01-01'",), "the rule brings, which writes rows of the table"),
        (("CREATE RULE keeps AS ON INSERT TO by_domain DO ALSO INSERT INTO in_tokyo VALUES (NEW.at)",), ""),
        (("CREATE VIEW seen AS SELECT * FROM by_domain", "ALTER VIEW seen ALTER at SET DEFAULT '2001-01-01'"), "the view seen, in which rows are inserted by a default of its own"),
        (("CREATE VIEW seen AS SELECT * FROM by_domain", "ALTER VIEW seen ALTER at SET DEFAULT now()"), ""),
        (
            (
                "CREATE VIEW seen AS SELECT * FROM by_domain",
                "CREATE FUNCTION instead() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN INSERT INTO public.by_domain (at) VALUES (NEW.at); RETURN NEW; END$$",
                "CREATE TRIGGER writes INSTEAD OF INSERT ON seen FOR EACH ROW EXECUTE FUNCTION instead()",
            ),
            "the trigger writes, which writes rows of the table",
        ),
    ],
)  # fmt: skip
def test_rules_and_views_that_write_a_table_may_bring_stamps(source: Source, made: tuple[str, ...], why: str) -> None:
    source.execute(*MAKE, *made)
    (found, _) = shown(source)["by_domain"]
    assert found.startswith(why or "now")
    assert why or found == "now"


def test_rows_that_a_restore_brought_and_rows_that_were_written_one_by_one_are_told_apart(source: Source) -> None:
    source.execute(
        "CREATE TABLE restored (id int PRIMARY KEY, at timestamptz NOT NULL DEFAULT now(), note text)",
        *(f"CREATE TABLE {name} (LIKE restored INCLUDING ALL)" for name in ("row_by_row", "grown", "beside")),
        "CREATE TABLE parted (id int, at timestamptz NOT NULL DEFAULT now(), note text) PARTITION BY HASH (id)",
        *(
            f"CREATE TABLE parted_{each} PARTITION OF parted FOR VALUES WITH (MODULUS 4, REMAINDER {each})"
            for each in range(4)
        ),
        *(
            f"INSERT INTO {name} SELECT n, now(), repeat('x', 100) FROM generate_series(1, 12000) AS n"
            for name in ("restored", "parted")
        ),
        "DO $$ BEGIN FOR n IN 1..2000 LOOP INSERT INTO row_by_row VALUES (n, now(), repeat('x', 500)); COMMIT; END LOOP; END $$",
        "DO $$ BEGIN FOR n IN 1..2000 LOOP INSERT INTO grown VALUES (n, now(), repeat('x', 500)); COMMIT; "
        "IF n % 4 = 0 THEN INSERT INTO beside VALUES (n); COMMIT; END IF; END LOOP; END $$",
        "ANALYZE",
        "SELECT pg_stat_force_next_flush()",
    )
    probe = source.open()
    shapes = [source.shape(name) for name in ("restored", "parted", "row_by_row", "grown")]
    restored, parted, row_by_row, grown = probe.describe(shapes)
    assert isinstance(restored.written, Inserts)
    assert [each.only_grows(0) for each in (restored, parted, row_by_row, grown)] == [False, False, False, True]
    assert (restored.updates, grown.updates) == (0, 0)


def test_updates_that_an_append_does_not_copy_are_counted_by_the_source(source: Source) -> None:
    source.execute(
        MAKE[0],
        "CREATE TABLE events (id int PRIMARY KEY, at timestamptz NOT NULL DEFAULT now(), what text)",
        "CREATE TABLE stamped (LIKE events INCLUDING ALL)",
        "CREATE TRIGGER s BEFORE UPDATE ON stamped FOR EACH ROW EXECUTE FUNCTION stamp()",
        *(f"INSERT INTO {name} (id) SELECT generate_series(1, 9)" for name in ("events", "stamped")),
        *(f"UPDATE {name} SET what = 'x' WHERE id < 4" for name in ("events", "stamped")),
        "SELECT pg_stat_force_next_flush()",
    )
    by_stamp = Cursor("at", CursorType.TIMESTAMP)
    events, stamped = (source.spec(name, by_stamp) for name in ("events", "stamped"))
    assert events.shape.updates == 3
    assert "3 updates of this table have been counted" in updates_not_copied(events)
    assert updates_not_copied(stamped) == "", "each update moves its stamp, and is copied as a version"
    assert updates_not_copied(source.spec("events", by_stamp, strategy=Strategy.UPSERT)) == ""
    assert any("updates of this table" in each for each in planned(source.open(), events).warnings)
