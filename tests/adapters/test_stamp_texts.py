"""What is concluded from the text of a default or a trigger: little, and nothing where it is not exactly one that is known."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from incremental_assets.adapters.databases.mysql.stamps import expression as mysql
from incremental_assets.adapters.databases.mysql.stamps import trigger as mysql_trigger
from incremental_assets.adapters.databases.postgresql.stamps import expression as postgresql
from incremental_assets.adapters.databases.postgresql.stamps import plpgsql
from incremental_assets.adapters.databases.sqlite.stamps import expression as sqlite
from incremental_assets.adapters.databases.sqlite.stamps import trigger as sqlite_trigger
from incremental_assets.adapters.databases.stamps.brought import brings
from incremental_assets.adapters.databases.stamps.formats import unit_of
from incremental_assets.adapters.databases.stamps.reading import Reading
from incremental_assets.adapters.databases.stamps.steps import DROPPED, KEPT, UNKNOWN, Outcome
from incremental_assets.adapters.databases.stamps.tokens import NotRead, Token, Words, tokens
from incremental_assets.core.model.stamping import Stamp

NOT_READ = "not read"


def stamp(found: Stamp | None) -> str:
    """`hour`, `hour elsewhere`, `UTC: day`, `now`."""
    if found is None:
        return "another time"
    cuts = ", ".join(f"{cut.unit}{'' if cut.aligned else ' elsewhere'}" for cut in found.cuts) or "now"
    return f"{found.zone}: {cuts}" if found.zone else cuts


def of(read: object, text: str, *, as_moment: bool) -> str:
    try:
        found = read(text)  # type: ignore[operator]
    except NotRead:
        return NOT_READ
    return stamp(found.stored(as_moment=as_moment))


@pytest.mark.parametrize(
    ("text", "in_timestamptz", "in_timestamp"),
    [
        ("now()", "now", "now"),
        ('"now"()', "now", "now"),
        ("pg_catalog.now()", "now", "now"),
        ("CURRENT_TIMESTAMP", "now", "now"),
        ("CURRENT_TIMESTAMP(3)", "second", "second"),
        ("clock_timestamp()", "now", "now"),
        ("statement_timestamp()", "now", "now"),
        ("LOCALTIMESTAMP", "now", "now"),
        ("(now())::timestamp(0) without time zone", "second", "second"),
        ("(now())::timestamp(0) with time zone", "second", "second"),
        ("(now())::timestamp(6) with time zone", "now", "now"),
        ("CURRENT_DATE", "day elsewhere", "day"),
        ("(now())::date", "day elsewhere", "day"),
        ("date(now())", "day elsewhere", "day"),
        ("date_trunc('hour'::text, now())", "hour elsewhere", "hour"),
        ('"date_trunc"(\'hour\'::"text", "now"())', "hour elsewhere", "hour"),
        ("date_trunc('second', now())", "second", "second"),
        ("date_trunc('milliseconds', now())", "second", "second"),
        ("date_trunc('microseconds', now())", "now", "now"),
        ("date_trunc('day'::text, now(), 'UTC'::text)", "day elsewhere", "day elsewhere"),
        (
            "date_trunc('week'::text, (CURRENT_DATE)::timestamp with time zone)",
            "day elsewhere, week elsewhere",
            "day, week",
        ),
        ("(now() AT TIME ZONE 'utc'::text)", "another time", "UTC: now"),
        ("timezone('utc'::text, now())", "another time", "UTC: now"),
        ("((now() AT TIME ZONE 'utc'::text))::date", "another time", "UTC: day"),
        (
            "(date_trunc('hour'::text, (now() AT TIME ZONE 'utc'::text)) AT TIME ZONE 'utc'::text)",
            "hour elsewhere",
            "hour elsewhere",
        ),
        ("((now() AT TIME ZONE 'utc'::text) AT TIME ZONE 'Europe/Paris'::text)", NOT_READ, NOT_READ),
        ("((now() AT TIME ZONE 'utc'::text))::timestamp with time zone", NOT_READ, NOT_READ),
        ("(now() - '01:00:00'::interval)", NOT_READ, NOT_READ),
        ("(now() + '00:00:00'::interval)", NOT_READ, NOT_READ),
        ("'2020-01-01 00:00:00+00'::timestamp with time zone", NOT_READ, NOT_READ),
        ("('now'::text)::timestamp without time zone", NOT_READ, NOT_READ),
        ("COALESCE(NULL::timestamp with time zone, now())", NOT_READ, NOT_READ),
        ("to_timestamp((floor(EXTRACT(epoch FROM now())))::double precision)", NOT_READ, NOT_READ),
        (
            "date_bin('00:15:00'::interval, now(), '2000-01-01 00:00:00+00'::timestamp with time zone)",
            NOT_READ,
            NOT_READ,
        ),
        ("date_trunc('decade'::text, now())", NOT_READ, NOT_READ),
        ("app.now()", NOT_READ, NOT_READ),
        ("now(1)", NOT_READ, NOT_READ),
        ("now() now()", NOT_READ, NOT_READ),
        ("created_at", NOT_READ, NOT_READ),
        ("", NOT_READ, NOT_READ),
        ("E'\\'", NOT_READ, NOT_READ),
    ],
)
def test_expressions_of_postgresql(text: str, in_timestamptz: str, in_timestamp: str) -> None:
    found = of(postgresql.read_all, text, as_moment=True), of(postgresql.read_all, text, as_moment=False)
    assert found == (in_timestamptz, in_timestamp)


@pytest.mark.parametrize(
    ("text", "in_datetime"),
    [
        ("current_timestamp(6)", "now"),
        ("current_timestamp()", "second"),
        ("CURRENT_TIMESTAMP", "second"),
        ("now(6)", "now"),
        ("sysdate(6)", "now"),
        ("localtime(3)", "second"),
        ("curdate()", "day"),
        ("CURRENT_DATE", "day"),
        ("utc_timestamp(6)", "UTC: now"),
        ("utc_date()", "UTC: day"),
        ("cast(current_timestamp() as date)", "day, second"),
        ("cast(current_timestamp(6) as datetime(6))", "now"),
        ("cast(curdate() as datetime)", "day, second"),
        ("convert(now(6), date)", "day"),
        ("date_format(current_timestamp(),'%Y-%m-%d %H:00:00')", "hour, second"),
        ("date_format(now(6),_utf8mb4\\'%Y-%m-%d\\')", "day"),
        ("date_format(now(6),'%Y-%m-%d %T')", "second"),
        ("date_format(now(6),'%Y-%m-%d %H:%i:%s.%f')", "second"),
        ("date_format(now(6),'%d.%m.%Y')", NOT_READ),
        ("date_format(now(6),'%H:%i')", NOT_READ),
        ("(current_timestamp(6) - interval 1 hour)", NOT_READ),
        ("from_unixtime(floor(unix_timestamp() / 3600) * 3600)", NOT_READ),
        ("'2020-01-01 00:00:00.000000'", NOT_READ),
        ("2020-01-01 00:00:00", NOT_READ),
        ("NULL", NOT_READ),
    ],
)
def test_expressions_of_mariadb_and_mysql(text: str, in_datetime: str) -> None:
    assert of(mysql.read_all, text, as_moment=False) == in_datetime


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("CURRENT_TIMESTAMP", "UTC: second"),
        ("(CURRENT_TIMESTAMP)", "UTC: second"),
        ("CURRENT_DATE", "UTC: day, second"),
        ("datetime('now')", "UTC: second"),
        ("datetime()", "UTC: second"),
        ("datetime('now', 'subsec')", "UTC: second"),
        ("date('now')", "UTC: day, second"),
        ("datetime('now', 'start of month')", "UTC: month, second"),
        ("strftime('%Y-%m-%d %H:%M:%f', 'now')", "UTC: second"),
        ("strftime('%Y-%m-%dT%H:%M:%fZ')", "UTC: second"),
        ("strftime('%Y-%m-%d %H:00:00', 'now')", "UTC: hour"),
        ("strftime('%Y-%m-%d %H:%M', 'now')", "UTC: minute"),
        ("strftime('%F %T', 'now')", "UTC: second"),
        ("strftime('%s', 'now')", NOT_READ),
        ("unixepoch()", NOT_READ),
        ("datetime('now', 'localtime')", NOT_READ),
        ("datetime('now', '-1 hour')", NOT_READ),
        ("datetime('2020-01-01')", NOT_READ),
        ("'2020-01-01'", NOT_READ),
    ],
)
def test_expressions_of_sqlite(text: str, found: str) -> None:
    assert of(sqlite.read_all, text, as_moment=False) == found


@pytest.mark.parametrize("text", ["Y-m-d", "%Y-%m-%d %H:00:%S", "%Y", "%d-%m-%Y", "%Y-%m-%d at %H"])
def test_a_format_that_is_no_moment_down_to_one_field_is_not_read(text: str) -> None:
    with pytest.raises(NotRead):
        unit_of(text, {"%Y": "Y", "%m": "m", "%d": "d", "%H": "H", "%M": "M", "%S": "S"})


def said(outcome: Outcome) -> str:
    if isinstance(outcome, Reading):
        return stamp(outcome.stored(as_moment=False))
    return {KEPT: "kept", DROPPED: "dropped", UNKNOWN: "unknown"}[outcome]


@pytest.mark.parametrize(
    ("body", "at_insert", "at_update"),
    [
        ("BEGIN NEW.at := now(); RETURN NEW; END;", "now", "now"),
        ('\nBEGIN\n  -- when\n  NEW."at" = CURRENT_TIMESTAMP; /* now */\n  RETURN NEW;\nEND', "now", "now"),
        ("BEGIN NEW.at := date_trunc('hour', now()); RETURN NEW; END", "hour", "hour"),
        ("BEGIN IF TG_OP = 'INSERT' THEN NEW.born := now(); END IF; NEW.at := now(); RETURN NEW; END", "now", "now"),
        ("BEGIN IF (TG_OP = 'UPDATE') THEN NEW.at := now(); END IF; RETURN NEW; END", "kept", "now"),
        ("BEGIN IF TG_OP IN ('INSERT', 'UPDATE') THEN NEW.at := now(); END IF; RETURN NEW; END", "now", "now"),
        (
            "BEGIN IF row(NEW.*) IS DISTINCT FROM row(OLD.*) THEN NEW.at = now(); RETURN NEW; ELSE RETURN OLD; END IF; END",
            "now",
            "now",
        ),
        ("BEGIN IF NEW IS DISTINCT FROM OLD THEN NEW.at = now(); END IF; RETURN NEW; END", "unknown", "now"),
        ("BEGIN IF NEW.at IS NOT DISTINCT FROM OLD.at THEN NEW.at := now(); END IF; RETURN NEW; END", "unknown", "now"),
        ("BEGIN NEW.at := coalesce(NEW.at, now()); RETURN NEW; END", "now", "unknown"),
        ("BEGIN IF NEW.at IS NULL THEN NEW.at := now(); END IF; RETURN NEW; END", "now", "unknown"),
        ('DECLARE _new record; BEGIN _new := NEW; _new."at" = NOW(); RETURN _new; END;', "now", "now"),
        ("BEGIN IF NEW.skip THEN RETURN NULL; END IF; NEW.at := now(); RETURN NEW; END", "now", "now"),
        ("BEGIN PERFORM pg_notify('x', NEW.id::text); NEW.at := now(); RETURN NEW; END", "now", "now"),
        ("BEGIN IF NEW.skip THEN RETURN NEW; END IF; NEW.at := now(); RETURN NEW; END", "unknown", "unknown"),
        ("BEGIN IF NEW.status <> OLD.status THEN NEW.at := now(); END IF; RETURN NEW; END", "unknown", "unknown"),
        ("BEGIN NEW.at := now() - interval '1 hour'; RETURN NEW; END", "unknown", "unknown"),
        ("BEGIN NEW.at := now(); NEW.at := NEW.sent; RETURN NEW; END", "unknown", "unknown"),
        ("BEGIN NEW.at := app.now(); RETURN NEW; END", "unknown", "unknown"),
        ("BEGIN SELECT now() INTO NEW.at; RETURN NEW; END", "unknown", "unknown"),
        ("BEGIN NEW := jsonb_populate_record(NEW, '{}'); RETURN NEW; END", "unknown", "unknown"),
        ("BEGIN EXECUTE 'SELECT 1' INTO NEW; RETURN NEW; END", "unknown", "unknown"),
        ("BEGIN RETURN other(NEW); END", "unknown", "unknown"),
        ("BEGIN NEW.tsv := to_tsvector(NEW.body); RETURN NEW; END", "kept", "kept"),
        ("BEGIN INSERT INTO audit VALUES (NEW.id, NEW.at); RETURN NEW; END", "kept", "kept"),
        ("BEGIN RAISE EXCEPTION 'no %', NEW.id; RETURN NULL; END", "dropped", "dropped"),
        ("BEGIN FOR x IN 1..3 LOOP NEW.n := x; END LOOP; RETURN NEW; END", "kept", "kept"),
        ("BEGIN FOR x IN 1..3 LOOP NEW.at := now(); END LOOP; RETURN NEW; END", "unknown", "unknown"),
        ("BEGIN NEW.n := $x$ quoted $x$; RETURN NEW; END", "unknown", "unknown"),
        ("DECLARE r record; BEGIN r := NEW; r.at := now(); RETURN NEW; END", "kept", "kept"),
        ("DECLARE r record; BEGIN NEW.at := now(); r := NEW; RETURN r; END", "unknown", "unknown"),
        ("DECLARE r record; BEGIN r := NEW; r.at := now(); r := OLD; RETURN r; END", "unknown", "unknown"),
        ("DECLARE r ALIAS FOR NEW; BEGIN r.at := OLD.at; RETURN NEW; END", "unknown", "unknown"),
        ("BEGIN CALL back(NEW.at); RETURN NEW; END", "unknown", "unknown"),
        ("BEGIN FOR NEW IN SELECT * FROM old_rows LOOP END LOOP; RETURN NEW; END", "unknown", "unknown"),
        ("BEGIN GET DIAGNOSTICS new.at = ROW_COUNT; RETURN NEW; END", "unknown", "unknown"),
        (
            "BEGIN IF TG_WHEN = 'BEFORE' THEN stamp.new.at = now() - interval '1 h'; END IF; RETURN NEW; END",
            "unknown",
            "unknown",
        ),
        (
            "BEGIN PERFORM set_config('TimeZone', 'Asia/Tokyo', true); NEW.at := now(); RETURN NEW; END",
            "unknown",
            "unknown",
        ),
        ("BEGIN PERFORM pg_notify('a', 'b'); NEW.at := now(); RETURN NEW; END", "now", "now"),
        ('BEGIN "new".at := OLD.at; PERFORM 1 LIMIT 1; RETURN NEW; END', "unknown", "unknown"),
        ("BEGIN /* /* */ NEW.at := now(); -- */\n RETURN NEW; END", "unknown", "unknown"),
        ("BEGIN /* of http://x */ NEW.at := now(); RETURN NEW; END", "now", "now"),
        ("BEGIN IF NEW *<> OLD THEN NEW.at := now(); END IF; RETURN NEW; END", "unknown", "now"),
    ],
)
def test_trigger_functions_of_postgresql(body: str, at_insert: str, at_update: str) -> None:
    assert (said(plpgsql.outcome_of(body, "at", "insert")), said(plpgsql.outcome_of(body, "at", "update"))) == (
        at_insert,
        at_update,
    )


@pytest.mark.parametrize(
    ("condition", "found"), [("NEW IS DISTINCT FROM OLD", "unknown"), ("NEW.* *<> OLD.*", "now"), ("true", "unknown")]
)
def test_where_equal_rows_may_show_something_else_only_their_bytes_tell_that_nothing_changes(
    condition: str, found: str
) -> None:
    body = f"BEGIN IF {condition} THEN NEW.at := now(); END IF; RETURN NEW; END"
    assert said(plpgsql.outcome_of(body, "at", "update", exact=False)) == found


@pytest.mark.parametrize(
    ("condition", "filled", "found"),
    [
        ("NEW.at = OLD.at", True, "now"),
        ("NEW.at = OLD.at", False, "unknown"),
        ("OLD.at = NEW.at", False, "unknown"),
        ("NEW.at IS NOT DISTINCT FROM OLD.at", False, "now"),
    ],
)
def test_of_a_column_that_may_be_null_equals_does_not_tell_that_a_row_brings_no_stamp(
    condition: str, found: str, *, filled: bool
) -> None:
    body = f"BEGIN IF {condition} THEN NEW.at := now(); END IF; RETURN NEW; END"
    assert said(plpgsql.outcome_of(body, "at", "update", filled=filled)) == found


def test_a_function_with_more_branches_than_can_be_followed_proves_nothing() -> None:
    branches = "IF NEW.a THEN NEW.b := 1; END IF; " * 9
    assert said(plpgsql.outcome_of(f"BEGIN {branches} NEW.at := now(); RETURN NEW; END", "at", "update")) == "unknown"


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("SET NEW.at = NOW(6)", "now"),
        ("set new.`at` = current_timestamp()", "second"),
        ("BEGIN SET NEW.note = 'x'; SET NEW.n = 1, NEW.AT = NOW(6); END", "now"),
        ("BEGIN IF NEW.at <=> OLD.at THEN SET NEW.at = NOW(6); END IF; END", "now"),
        ("BEGIN IF NEW.n > 3 THEN SET NEW.at = NOW(6); END IF; END", "unknown"),
        ("SET NEW.at = NOW(6) - INTERVAL 1 HOUR", "unknown"),
        ("SET NEW.at = @stamp", "unknown"),
        ("BEGIN SET NEW.at = NOW(6); /*!50000 SET NEW.at = OLD.at; */ END", "unknown"),
        ("BEGIN SET NEW.at = NOW(6); /*M! SET NEW.at = OLD.at; */ END", "unknown"),
        ("SET NEW.at = NOW(6)--1", "unknown"),
        ("SET NEW.at = NOW(6) -- now", "now"),
        ("SET NEW.note = UPPER(NEW.note)", "kept"),
        ("INSERT INTO audit VALUES (NEW.id)", "kept"),
        ("INSERT INTO audit VALUES (NEW.at)", "unknown"),
    ],
)
def test_triggers_of_mariadb_and_mysql(body: str, found: str) -> None:
    assert said(mysql_trigger.outcome_of(body, "at", "UPDATE")) == found


@pytest.mark.parametrize(
    ("condition", "nullable", "found"),
    [
        ("NEW.at = OLD.at", False, "now"),
        ("OLD.at = NEW.at", False, "now"),
        ("NEW.at = OLD.at", True, "unknown"),
        ("OLD.at <=> NEW.at", True, "now"),
    ],
)
def test_in_mariadb_and_mysql_two_nulls_are_the_same_by_one_sign_alone(
    condition: str, found: str, *, nullable: bool
) -> None:
    body = f"IF {condition} THEN SET NEW.at = NOW(6); END IF"
    assert said(mysql_trigger.outcome_of(f"BEGIN {body}; END", "at", "UPDATE", nullable)) == found


HEAD = "CREATE TRIGGER t AFTER UPDATE ON things"


@pytest.mark.parametrize(
    ("sql", "found", "condition"),
    [
        (f"{HEAD} BEGIN UPDATE things SET at = datetime('now') WHERE id = NEW.id; END", "UTC: second", ""),
        (f"{HEAD} FOR EACH ROW BEGIN UPDATE things SET n = 1, at = datetime('now') WHERE rowid = NEW.rowid; END", "UTC: second", ""),
        (f"{HEAD} WHEN NEW.at = OLD.at BEGIN UPDATE things SET at = datetime('now') WHERE id = NEW.id; END", "UTC: second", ""),
        (f"{HEAD} WHEN (OLD.at IS NEW.at) BEGIN UPDATE things SET at = datetime('now') WHERE things.id = NEW.id; END", "UTC: second", ""),
        (f"{HEAD} WHEN NEW.n > 3 BEGIN UPDATE things SET at = datetime('now') WHERE id = NEW.id; END", "UTC: second", "runs on a condition"),
        (f"{HEAD} BEGIN UPDATE things SET at = datetime('now') WHERE id = OLD.id; END", "unknown", ""),
        (f"{HEAD} BEGIN UPDATE things SET at = datetime('now'); END", "unknown", ""),
        (f"{HEAD} BEGIN UPDATE things SET at = datetime('now', '-1 hour') WHERE id = NEW.id; END", "unknown", ""),
        (f"{HEAD} BEGIN INSERT INTO audit VALUES (NEW.id); END", "kept", ""),
        (f"{HEAD} BEGIN REPLACE INTO things (id, at) VALUES (NEW.id, 1); END", "unknown", ""),
        ("CREATE TRIGGER t AFTER UPDATE OF n ON things BEGIN UPDATE things SET at = datetime('now') WHERE id = NEW.id; END", "UTC: second", "runs only where certain columns are written"),
        ("CREATE TRIGGER t BEFORE UPDATE ON things BEGIN UPDATE things SET at = datetime('now') WHERE id = NEW.id; END", "unknown", ""),
        ("CREATE TRIGGER t AFTER DELETE ON things BEGIN UPDATE things SET at = datetime('now') WHERE id = OLD.id; END", "kept", ""),
    ],
)  # fmt: skip
def test_triggers_of_sqlite(sql: str, found: str, condition: str) -> None:
    effect = sqlite_trigger.effect_of(sql, sqlite_trigger.Table("things", ("id",)), "at", "update")
    assert (said(effect.outcome), effect.condition) == (found, condition)


@pytest.mark.parametrize(
    ("sign", "condition"), [("=", "runs on a condition"), ("==", "runs on a condition"), ("IS", "")]
)
def test_in_sqlite_two_nulls_are_the_same_by_is_alone(sign: str, condition: str) -> None:
    sql = f"{HEAD} WHEN NEW.at {sign} OLD.at BEGIN UPDATE things SET at = datetime('now') WHERE id = NEW.id; END"
    table = sqlite_trigger.Table("things", ("id",), ("at",))
    assert sqlite_trigger.effect_of(sql, table, "at", "update").condition == condition


def test_a_row_with_several_columns_in_its_key_is_found_by_all_of_them() -> None:
    both, one = (
        f"{HEAD} BEGIN UPDATE things SET at = datetime('now') WHERE {found}; END"
        for found in ("b = NEW.b AND a = NEW.a", "a = NEW.a")
    )
    table = sqlite_trigger.Table("things", ("a", "b"))
    assert said(sqlite_trigger.effect_of(both, table, "at", "update").outcome) == "UTC: second"
    assert said(sqlite_trigger.effect_of(one, table, "at", "update").outcome) == "unknown"


@pytest.mark.parametrize("text", ["'it''s'", '"a ""b"""', "`a``b`", "-- x\n/* y */ z", "a<=>b::c"])
def test_whatever_is_quoted_stays_one_word(text: str) -> None:
    assert tokens(text)
    with pytest.raises(NotRead):
        tokens("'never ends")


def _read(value: Sequence[Token]) -> Reading:
    words = Words(value)
    found = postgresql.read_expression(words)
    words.end()
    return found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("BEGIN UPDATE things SET at = now() WHERE id = NEW.id; RETURN NEW; END", False),
        ("BEGIN UPDATE ONLY public.things AS t SET n = 1, at = NEW.at WHERE t.at < now(); RETURN NEW; END", True),
        ("BEGIN UPDATE things SET n = (SELECT max(at) FROM things) WHERE at = NEW.at; END", False),
        ("BEGIN UPDATE things SET at = date_trunc('day', now()); END", True),
        ("BEGIN UPDATE things SET at = date_trunc('second', now()); END", False),
        ("BEGIN UPDATE things SET (n, at) = (1, now()); END", True),
        ("BEGIN UPDATE others SET at = NEW.at; END", False),
        ("BEGIN INSERT INTO things (id, n) VALUES (NEW.id, 1); END", False),
        ("BEGIN INSERT INTO things (id, at) VALUES (NEW.id, now()), (2, '2001-01-01'); END", True),
        ("BEGIN INSERT INTO things (id, at) VALUES (NEW.id, now()), (2, DEFAULT); END", False),
        ("BEGIN INSERT INTO things VALUES (NEW.id, now()); END", True),
        ("BEGIN INSERT INTO things DEFAULT VALUES; END", False),
        ("BEGIN INSERT INTO things SELECT * FROM old_rows; END", True),
        ("BEGIN INSERT INTO things (id) SELECT id FROM old_rows; END", False),
        ("BEGIN INSERT INTO things (id, at) SELECT id, at FROM old_rows; END", True),
        ("BEGIN INSERT INTO things (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET at = EXCLUDED.at; END", True),
        ("BEGIN INSERT INTO things (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET n = 1, at = now(); END", False),
        ("BEGIN INSERT INTO things (id) VALUES (1) ON DUPLICATE KEY UPDATE at = '2001-01-01'; END", True),
        ("BEGIN INSERT INTO things (id) VALUES (1) ON DUPLICATE KEY UPDATE at = now(); END", False),
        ("BEGIN INSERT INTO things SET id = 1, at = '2001-01-01'; END", True),
        ("BEGIN INSERT INTO things SET id = 1; END", False),
        ("BEGIN INSERT OR REPLACE INTO main.things (id, at) VALUES (1, NEW.x); END", True),
        ("BEGIN MERGE INTO things USING x ON true WHEN MATCHED THEN UPDATE SET at = x.at; END", True),
        ("CREATE TRIGGER t AFTER UPDATE OF at ON things BEGIN UPDATE o SET x = 1; END", False),
        (
            "CREATE RULE r AS ON INSERT TO things DO UPDATE things SET at = '2001-01-01'::timestamptz WHERE things.id = new.id",
            True,
        ),
        ("CREATE RULE r AS ON INSERT TO things DO INSERT INTO audit (id, at) VALUES (new.id, new.at)", False),
        ("SELECT * FROM things FOR UPDATE", False),
    ],
)
def test_statements_that_bring_a_stamp_are_told_from_those_that_take_the_time(text: str, *, found: bool) -> None:
    assert brings(tokens(text), "things", "at", _read) is found
