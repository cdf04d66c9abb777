"""The findings on the cursor of one table: pure, from its facts."""

from __future__ import annotations

from collections.abc import Iterator

from incremental_assets.cli.findings.finding import SQL, Finding, Health, warn
from incremental_assets.core.captures.database.doubts import (
    numbered_apart,
    of_arrival,
    of_guessed_zone,
    of_key,
    of_logins,
    of_numbers,
    of_roles,
    of_unseen_sequence,
)
from incremental_assets.core.captures.database.stamps import (
    cure_of_stamps,
    declared,
    of_stamps,
    units_cut,
    zone_of_stamps,
)
from incremental_assets.core.checks.doctor import SourceFacts, TableFacts
from incremental_assets.core.config.edits import Edit
from incremental_assets.core.model.cures import NO_TEXTS, NO_TEXTS_CURE
from incremental_assets.core.model.duration import format_duration
from incremental_assets.core.model.guarantee import Guarantee
from incremental_assets.core.model.table import Cursor, NullPolicy, TableSpec
from incremental_assets.core.model.time_zones import time_zone, to_write
from incremental_assets.core.words import with_article


def of_cursor(spec: TableSpec, cursor: Cursor, facts: TableFacts, source: SourceFacts) -> Iterator[Finding]:
    """Whether its runs can be `settled`, an index serves it, and its values are such that no row is missed."""
    name = str(spec.id)
    found = (
        *_doubts(spec, cursor, source),
        *_of_index(spec, cursor, facts),
        *_of_kind(spec, cursor, facts),
        *_of_values(spec, cursor, source),
        *_of_zone(name, spec, cursor, source),
    )
    yield from found
    if all(each.health is Health.OK for each in found):
        indexed = "with few rows" if facts.unindexed else "indexed"
        never = "" if _may_be_null(spec, cursor) else " and never NULL"
        yield Finding(name, "cursor", Health.OK, f"{cursor.column} is {with_article(cursor.type)}, {indexed}{never}")


def _of_index(spec: TableSpec, cursor: Cursor, facts: TableFacts) -> Iterator[Finding]:
    if cursor.is_hidden:
        yield warn(
            str(spec.id),
            "index",
            f"no index serves {cursor.column}: every look reads the whole table, unless nothing was written in the whole server since the last sync",
            "leave it where the table is small or has no better cursor; else take a column that an index begins with",
        )
    if facts.worth_an_index:
        detail = f"no index begins with {', '.join(facts.worth_an_index)}: every look reads the whole table"
        yield warn(str(spec.id), "index", detail, SQL)


def _of_kind(spec: TableSpec, cursor: Cursor, facts: TableFacts) -> Iterator[Finding]:
    if cursor.type.is_time and cursor.column in facts.numbers:
        cure = NO_TEXTS_CURE.format(cursor.column)
        yield Finding(str(spec.id), "values", Health.FAIL, NO_TEXTS.format(cursor.column), cure)


def _of_values(spec: TableSpec, cursor: Cursor, source: SourceFacts) -> Iterator[Finding]:
    name = str(spec.id)
    if apart := numbered_apart(spec):
        yield warn(name, "numbers", f"{apart}: such a row may be missed", source.cures.numbers_apart)
    if _may_be_null(spec, cursor) and cursor.nulls is NullPolicy.FAIL:
        cure = "add NOT NULL in the source, or choose `nulls: always`, `nulls: skip` or a `fallback`"
        yield warn(name, "nulls", f"{cursor.column} may be NULL, and the first row without it stops the sync", cure)
    yield from _of_stamps(name, spec, cursor)
    if spec.key and not spec.key_enforced:
        yield warn(
            name,
            "key",
            f"the source does not enforce the key ({', '.join(spec.named_key)})",
            "add a unique constraint; until then repeated keys are reported",
        )


def _of_stamps(name: str, spec: TableSpec, cursor: Cursor) -> Iterator[Finding]:
    """Who stamps the rows, where the database does not do so to its full precision."""
    within = declared(spec)
    if within is not None:
        detail = (
            f"an application stamps {cursor.column}, as `stamped` declares, at most {format_duration(within)} before its transaction: "
            "the watermark stays that far behind"
        )
        yield Finding(name, "stamps", Health.OK, detail)
    if units := units_cut(spec):
        detail = f"{cursor.column} is cut to the {' or the '.join(units)}: the watermark stays at its beginning, and all of it is read again"
        yield Finding(name, "stamps", Health.OK, detail)


def _of_zone(name: str, spec: TableSpec, cursor: Cursor, source: SourceFacts) -> Iterator[Finding]:
    zone = cursor.zone or source.zone
    unsure = of_roles(spec, zone, source.clock) or of_guessed_zone(spec, is_guess=source.zone_is_guess)
    if not cursor.is_zoneless or unsure:
        # Of the latter it is said below.
        return
    if time_zone(zone) is None:
        cure = f"name the zone in which it is stamped at this table: {to_write(zone)}"
        detail = f"{cursor.column} is read in {zone}, which is not in the IANA database"
        yield Finding(name, "zone", Health.FAIL, detail, cure)
    else:
        detail = f"{cursor.column} is read in {zone}: no session that writes may set another time zone"
        yield Finding(name, "zone", Health.OK, detail)


def _doubts(spec: TableSpec, cursor: Cursor, source: SourceFacts) -> Iterator[Finding]:
    """The reasons why no run of this table can be `settled`."""
    zone = cursor.zone or source.zone
    found = (
        (
            "arrival",
            of_arrival(spec),
            "read it where its rows are written, or by `full_refresh`, or set a `lookback` as wide as they may lag",
        ),
        (
            "login",
            of_logins(spec, source.login_trigger),
            source.cures.login_trigger,
        ),
        (
            "numbers",
            of_numbers(spec),
            source.cures.numbers,
        ),
        (
            "sequence",
            "" if of_numbers(spec) else of_unseen_sequence(spec),
            SQL,
        ),
        (
            "stamps",
            "" if source.experimental else of_stamps(spec, zone, source.clock),
            cure_of_stamps(spec, source.cures.stamps),
        ),
        (
            "zone",
            of_roles(spec, zone, source.clock),
            source.cures.role_zones,
        ),
        (
            "zone",
            "" if of_roles(spec, zone, source.clock) else of_guessed_zone(spec, is_guess=source.zone_is_guess),
            source.cures.guessed_zone,
        ),
        (
            "key",
            of_key(spec),
            "one full refresh; until then syncs go on, and a key that is written in another way stands beside the old one",
        ),
    )
    guarantee = Guarantee.HOLDBACK if spec.holdback else Guarantee.BEST_EFFORT
    other = "" if source.experimental else zone_of_stamps(spec, zone, source.clock)
    edits = {"stamps": Edit(spec.id, ("cursor", "zone"), other)} if other else {}
    return (
        warn(str(spec.id), topic, f"{finding}; its runs are {guarantee}", cure, edits.get(topic))
        for topic, finding, cure in found
        if finding
    )


def _may_be_null(spec: TableSpec, cursor: Cursor) -> bool:
    nullable = {column.name: column.nullable for column in spec.columns}
    return all(nullable.get(name, True) for name in cursor.columns)
