"""Merge (upsert with deletes): rows replace those with their keys, and rows are deleted whose key is gone or whose new version is quarantined.

`replaceOn` cannot delete a row without replacing it; a MERGE can. It costs more, so only such a batch uses it.
"""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from incremental_assets.adapters.delta import commit, dedup
from incremental_assets.adapters.delta.writers.landing import Landing, Written
from incremental_assets.adapters.spark.expressions import column, quoted
from incremental_assets.adapters.spark.own_names import BATCH, LATE, TARGET, key_part, own
from incremental_assets.adapters.spark.session import second_session
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.words import agreeing, counted

_LANDS = own("lands")


def write(landing: Landing) -> Written:
    """Runs the MERGE in a session of its own, as it takes metadata, app id and sequence of its commit from the session's settings."""
    plan, changes, gone = landing.plan, landing.changes, landing.found.leaving
    note = replace(landing.note(), withdrawn=gone)
    with second_session(landing.session) as session:
        rows = dedup.changed_rows(session, plan, landing.rows(session), landing.present)
        # Counted beforehand, as a MERGE reads what it writes more than once.
        late = rows.where(column(LATE)).count()
        shaped = landing.shaped(session, rows)
        unfit = plan.spec.deletes.marks
        leaving = dedup.leaving(session, plan, landing.staged, landing.path, unfit=unfit)
        _merge(session, plan.spec, shaped, leaving, commit.Write(landing.path, note, evolves=bool(changes)))
    return Written(note, late=lambda: late, warnings=(*landing.warnings(), *withdrawn(landing.found.unfit)))


def _merge(session: SparkSession, spec: TableSpec, rows: DataFrame, leaving: DataFrame, to: commit.Write) -> None:
    """Put `rows` in the place of those with their keys, and take those away that have a key of `leaving`, in one commit."""
    keys = [key_part(place) for place in range(len(spec.key))]
    # Each key that loses its rows, and each row that is put in: of a key that the target holds twice, both go.
    gone = rows.select(*(column(name).alias(key) for name, key in zip(spec.key, keys, strict=True)))
    gone = gone.unionByName(leaving).distinct().withColumn(_LANDS, sf.lit("false").cast("boolean"))
    landing = rows.withColumn(_LANDS, sf.lit("true").cast("boolean"))
    landing.unionByName(gone, allowMissingColumns=True).createOrReplaceTempView(BATCH)
    settings = {
        **to.note.as_setting(),
        "spark.databricks.delta.write.txnAppId": to.note.app_id,
        "spark.databricks.delta.write.txnVersion": str(to.note.seq),
        # As in settings, in statements.
        "spark.sql.variable.substitute": "false",
    }
    for name, value in settings.items():
        session.conf.set(name, value)
    with commit.conflicts_explained(to):
        session.sql(_statement(spec, rows.columns, to)).collect()


def _statement(spec: TableSpec, columns: list[str], to: commit.Write) -> str:
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


def withdrawn(rows: int) -> tuple[str, ...]:
    """A warning of rows that left though their source has them still, where there are any."""
    was, them, are = agreeing(rows, "was", "were"), agreeing(rows, "it", "them"), agreeing(rows, "it is", "they are")
    sentence = f"{counted(rows, 'row')} {was} taken out of the copy: the source has changed {them} to what cannot land, and {are} in quarantine alone"
    return (sentence,) if rows else ()
