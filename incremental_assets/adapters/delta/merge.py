"""The one commit of an upsert that also takes rows away: of keys whose row in the source can no longer land, and lies in quarantine.

`replaceOn` deletes no row without putting one in its place; a MERGE does. It costs more, so that only such a batch lands by one.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from incremental_assets.adapters.delta.commit import Write, conflicts_explained
from incremental_assets.adapters.spark.expressions import column, quoted
from incremental_assets.adapters.spark.own_names import BATCH, LATE, TARGET, key_part, own
from incremental_assets.core.model.table import TableSpec

_LANDS = own("lands")


def late(rows: DataFrame) -> int:
    """Rows to be written that a sync before should have seen: counted beforehand, as a MERGE reads what it writes more than once."""
    return rows.where(column(LATE)).count()


def merge(session: SparkSession, spec: TableSpec, rows: DataFrame, withdrawn: DataFrame, to: Write) -> None:
    """Put `rows` in the place of those with their keys, and take those away that have a key of `withdrawn`, in one commit.

    `session` is one of its own, see `session.beside`: a MERGE takes the names of its commit from settings. Both frames belong to it.
    """
    keys = [key_part(place) for place in range(len(spec.key))]
    # Each key that loses its rows, and each row that is put in: of a key that the target holds twice, both go.
    gone = rows.select(*(column(name).alias(key) for name, key in zip(spec.key, keys, strict=True)))
    gone = gone.unionByName(withdrawn).distinct().withColumn(_LANDS, sf.lit("false").cast("boolean"))
    landing = rows.withColumn(_LANDS, sf.lit("true").cast("boolean"))
    landing.unionByName(gone, allowMissingColumns=True).createOrReplaceTempView(BATCH)
    # `${env:NAME}` is replaced by what that variable holds, in settings and in statements, and a column may be called anything.
    settings = {
        "spark.databricks.delta.commitInfo.userMetadata": to.note.to_json().replace("$", "\\u0024"),
        "spark.databricks.delta.write.txnAppId": to.note.app_id,
        "spark.databricks.delta.write.txnVersion": str(to.note.seq),
        "spark.sql.variable.substitute": "false",
    }
    for name, value in settings.items():
        session.conf.set(name, value)
    with conflicts_explained(to):
        session.sql(_statement(spec, rows.columns, to)).collect()


def _statement(spec: TableSpec, columns: list[str], to: Write) -> str:
    matches = [f"{TARGET}.{quoted(name)} <=> {BATCH}.{key_part(place)}" for place, name in enumerate(spec.key)]
    listed = ", ".join(quoted(name) for name in columns)
    values = ", ".join(f"{BATCH}.{quoted(name)}" for name in columns)
    return " ".join(
        (
            "MERGE WITH SCHEMA EVOLUTION INTO" if to.evolves else "MERGE INTO",
            f"delta.{quoted(to.path)} AS {TARGET} USING {BATCH} ON {' AND '.join(matches)} AND NOT {BATCH}.{_LANDS}",
            "WHEN MATCHED THEN DELETE",
            f"WHEN NOT MATCHED AND {BATCH}.{_LANDS} THEN INSERT ({listed}) VALUES ({values})",  # noqa: S608 - names are quoted
        )
    )
