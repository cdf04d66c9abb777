"""The catalogue of a Spark session, by SQL: a Hive metastore, or Unity Catalog. What it tells of columns it reads in the table's log."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from incremental_assets.adapters.spark.expressions import literal, quoted
from incremental_assets.core.errors import RegistrationRefused
from incremental_assets.core.model.paths import is_local
from incremental_assets.core.model.registration import Described, Place
from incremental_assets.core.model.table_id import TableId

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SESSIONS_OWN = "spark_catalog"
"""The catalogue of a name without one."""


class SparkCatalogue:
    """Asked through the session that syncs use."""

    def __init__(self, session: Callable[[], SparkSession]) -> None:
        self._session = session

    def put(self, place: Place, _table: TableId, found: Described) -> None:
        """Make the copy known there; a table of this name that lies elsewhere is left as it is."""
        session, name = self._session(), _sql_name(place)
        _refuse_in_memory(session, place)
        with explained(place):
            session.sql(f"CREATE TABLE IF NOT EXISTS {name} USING delta LOCATION {literal(found.location)}").collect()
            lies = _location(session, name)
        if _address(lies) != _address(found.location):
            what = f"which lies in {lies} and not in {found.location}" if lies else "which is no Delta table"
            raise RegistrationRefused(
                f"there is a table of this name {what}; write another `register: {{spark: …}}`, or remove it there (`DROP TABLE {place.name}`)"
            )

    def check(self, place: Place) -> None:
        """Whether it answers and has that database."""
        session = self._session()
        _refuse_in_memory(session, place)
        with explained(place):
            session.sql(f"DESCRIBE SCHEMA {_quoted(place.database)}").collect()


def _refuse_in_memory(session: SparkSession, place: Place) -> None:
    """Raises RegistrationRefused where the catalogue ends with the session: nobody else would ever find a table there."""
    catalogue = place.database.partition(".")[0] if "." in place.database else _SESSIONS_OWN
    if catalogue == _SESSIONS_OWN and session.conf.get("spark.sql.catalogImplementation", "in-memory") != "hive":
        raise RegistrationRefused(
            "the session that syncs use keeps its catalogue in memory, where nobody else finds a table; name a Connect server that has a metastore "
            "(`spark: {remote: sc://…}`), or in Dagster give `SparkResource` its settings (`conf`)"
        )


def _location(session: SparkSession, name: str) -> str:
    """Where the table lies; empty where that is no Delta table."""
    rows = session.sql(f"DESCRIBE TABLE EXTENDED {name}").collect()
    told = {str(row[0]): str(row[1]) for row in rows}
    return told.get("Location", "") if told.get("Provider", "").lower() == "delta" else ""


def _address(text: str) -> str:
    """One address for all ways in which Spark writes that of a folder."""
    path = text.removeprefix("file:")
    if path != text:
        path = "/" + path.lstrip("/")
    return path.rstrip("/") if is_local(path) else text.rstrip("/")


def _sql_name(place: Place) -> str:
    return f"{_quoted(place.database)}.{quoted(place.table)}"


def _quoted(database: str) -> str:
    return ".".join(map(quoted, database.split(".")))


@contextmanager
def explained(place: Place) -> Iterator[None]:
    """What Spark says, as one sentence with the cure."""
    from pyspark.errors import PySparkException

    try:
        yield
    except PySparkException as error:
        raise RegistrationRefused(_sentence(error, place)) from error


def _sentence(error: Any, place: Place) -> str:
    condition = error.getCondition() or ""
    if condition.startswith(("SCHEMA_NOT_FOUND", "NO_SUCH_NAMESPACE", "NO_SUCH_DATABASE")):
        return f"it has no database {place.database}; make it: `CREATE SCHEMA {place.database}`"
    if condition == "REQUIRES_SINGLE_PART_NAMESPACE" and "." in place.database:
        # Of a catalogue that it does not know, Spark takes the name for that of a database.
        catalogue = place.database.partition(".")[0]
        return f"the session has no catalogue {catalogue}; configure it where the session comes from (`spark.sql.catalog.{catalogue}`), or write the database alone"
    if "PERMISSION" in condition or "UNAUTHORIZED" in condition:
        return f"the session may not do that ({condition}); grant it USE SCHEMA and CREATE TABLE on {place.database}"
    first = next(iter(str(error).strip().splitlines()), type(error).__name__)
    return f"Spark answers: {first}"
