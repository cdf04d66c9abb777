"""Whether a binlog may be read, and a table's changes by it: each reason why not is named with its cure."""

from __future__ import annotations

from collections.abc import Collection

from incremental_assets.adapters.logs.mysql.gtids import Domains, Gtids, Intervals
from incremental_assets.adapters.logs.mysql.look import Described, Look
from incremental_assets.adapters.logs.mysql.place import Place
from incremental_assets.adapters.logs.mysql.row_values import READ_CHARSETS
from incremental_assets.adapters.logs.segments.manifest import Standing
from incremental_assets.core.errors import SourceExchanged, SourceRefused
from incremental_assets.core.model.cures import GO_ON_ELSEWHERE, LOAD_AGAIN

_AGAIN = f"load the tables again with {LOAD_AGAIN}, as what changed in between is in no log"
WANTED = (
    ("binlog_format", "ROW", "by statements, which do not tell what became of rows"),
    ("binlog_row_image", "FULL", "without all columns of a row"),
    ("binlog_row_metadata", "FULL", "without the names of columns"),
)
"""Of settings how they must be, and how the log is written where they are not."""
IN_PARTS = "binlog_row_value_options"
"""Which must be empty."""
PACKED = ("binlog_transaction_compression", "log_bin_compress")
"""Which must be off."""
TYPES = frozenset(
    (
        *(
            "tinyint",
            "smallint",
            "mediumint",
            "int",
            "bigint",
            "decimal",
            "float",
            "double",
            "bit",
            "year",
            "date",
            "datetime",
            "timestamp",
            "time",
        ),
        *(
            "char",
            "varchar",
            "tinytext",
            "text",
            "mediumtext",
            "longtext",
            "binary",
            "varbinary",
            "tinyblob",
            "blob",
            "mediumblob",
            "longblob",
            "enum",
            "set",
        ),
        *(
            "geometry",
            "point",
            "linestring",
            "polygon",
            "multipoint",
            "multilinestring",
            "multipolygon",
            "geometrycollection",
            "geomcollection",
            "json",
        ),
    )
)
"""Those whose values are read."""


def check_settings(found: Look) -> None:
    """Raises SourceRefused where changes would be missing in the log, or not be read."""
    _check_rows(found)
    _check_events(found)
    _check_missing(found)


def _check_rows(found: Look) -> None:
    if not found.is_on("log_bin"):
        raise SourceRefused("the server writes no binlog; write `log_bin` into its configuration, and restart it")
    for name, wanted, told in WANTED:
        value = found.settings.get(name)
        if value is None:
            raise SourceRefused(
                f"this version of the server has no `{name}`, without which its binlog does not tell which columns it has; write a cursor in place of `capture`"
            )
        if value.upper() != wanted:
            raise SourceRefused(
                f"the server writes its binlog {told} (`{name} = {value}`); SET GLOBAL {name} = {wanted}, and in its configuration, and have sessions connect anew"
            )


def _check_events(found: Look) -> None:
    for name in PACKED:
        if found.is_on(name):
            raise SourceRefused(
                f"`{name}` is on, by which the server packs events so that they are not read here; SET GLOBAL {name} = OFF, and see that no session sets it"
            )
    if found.settings.get(IN_PARTS):
        raise SourceRefused(
            f"`{IN_PARTS} = PARTIAL_JSON` is set, by which the log has parts of values; SET GLOBAL {IN_PARTS} = ''"
        )
    if not found.is_mariadb and found.settings.get("gtid_mode", "").upper() != "ON":
        raise SourceRefused(
            "transactions have no global numbers (`gtid_mode` is not ON), by which the log is known again; set it by the steps of the server's manual"
        )


def _check_missing(found: Look) -> None:
    if found.is_replica and not (found.is_on("log_slave_updates") or found.is_on("log_replica_updates")):
        raise SourceRefused(
            "the server is a replica and does not log what it gets (`log_replica_updates` is OFF, or as older versions call it `log_slave_updates`); switch it on in its configuration, and restart it, or name the primary as `host`"
        )
    if found.filters:
        raise SourceRefused(
            f"the server leaves databases out of its binlog (`binlog_do_db`, `binlog_ignore_db`: {', '.join(found.filters)}); remove these from its configuration, and restart it"
        )


def check_standing(found: Look, standing: Standing) -> None:
    """Whether the log goes on from where it was read to. Raises SourceExchanged."""
    if standing.server.system != found.server:
        who = f"another server answers ({found.server}, before {standing.server.system})"
        if has_taken_over(found, standing):
            raise SourceExchanged(
                f"{who}, whose log has all that was read; where it has taken over go on with {GO_ON_ELSEWHERE}, else name the server of before"
            )
        raise SourceExchanged(
            f"{who}, whose log lacks transactions that were read, or some that came after, so that what landed last may be missing in the source; name the server of before, or {_AGAIN}"
        )
    place = Place.of(standing.position)
    if place.file not in found.files and place.file < min(found.files, default=0):
        raise SourceExchanged(
            f"the server has purged its binlog from where it was read to, file {place.file}, on; have it keep more (`binlog_expire_logs_seconds`), and {_AGAIN}"
        )
    if place.offset > found.files.get(place.file, 0) or not gtids(found, numbers_of(found)).covers(standing.gtids):
        raise SourceExchanged(
            "the binlog does not have what was read of it any more, as after RESET MASTER, a restored backup or a crash of the server's machine, and what landed last may be missing "
            f"in the source; {_AGAIN}"
        )


def has_taken_over(found: Look, standing: Standing) -> bool:
    """Whether another server answers, whose log has all that was read, and lacks none of what came after, as far as a look shows."""
    if standing.server.system == found.server or not standing.gtids:
        return False
    read = gtids(found, standing.gtids)
    return gtids(found, numbers_of(found)).covers(standing.gtids) and read.covers(
        found.settings.get("gtid_purged", "") if not found.is_mariadb else ""
    )


def check_left(found: Look, standing: Standing | None) -> None:
    """Whether the log can be read, and gone on with from where it was left, if it was. Raises SourceRefused, SourceExchanged."""
    check_settings(found)
    if standing is not None:
        check_standing(found, standing)


def numbers_of(found: Look) -> str:
    """Which transactions the log has had, as the server writes it."""
    return found.settings.get("gtid_binlog_state", "") if found.is_mariadb else found.executed


def gtids(found: Look, text: str) -> Gtids:
    """In the server's own way. Raises SourceRefused for numbers that are not read here."""
    try:
        return Domains.parse(text) if found.is_mariadb else Intervals.parse(text)
    except ValueError:
        raise SourceRefused(
            "transactions of the server have numbers with tags, which are not read here; write a cursor in place of `capture`"
        ) from None


def check_table(found: Described | None, columns: Collection[str]) -> str:
    """Why a table's changes cannot be read, with the cure; empty where they can. `columns`: those that its copy has."""
    if found is None:
        return "the server does not show its columns to this user; GRANT SELECT on the table"
    if found.cascades:
        return "a foreign key of it deletes or changes its rows with those of another table (ON DELETE, ON UPDATE), and the binlog does not have that; write `compare: {every: 1h}` in place of `capture`"
    for name, kind, declared, charset in found.columns:
        # Of all columns: to be passed over, a value must be read.
        if kind not in TYPES:
            return f"its column {name!r} is {declared}, which is not read of the binlog; give it another type, or write a cursor in place of `capture`"
        if charset and charset not in READ_CHARSETS:
            return f"its column {name!r} has the charset {charset}, which is not read of the binlog; ALTER it to utf8mb4, or write a cursor in place of `capture`"
    missing = set(columns) - {name for name, *_ in found.columns}
    return f"it has no column {min(missing)!r} any more; try again" if missing else ""
