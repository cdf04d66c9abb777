"""sources.yaml as written: one model per mapping, before defaults are merged and tables are compared with each other."""

from __future__ import annotations

from datetime import time, timedelta
from typing import Annotated

from pydantic import AfterValidator, Field

from incremental_assets.core.config.dialects import checked_dialect
from incremental_assets.core.config.register_document import Register
from incremental_assets.core.config.scalars import (
    CheckpointsUrl,
    Endpoint,
    Kept,
    Lake,
    ObserverName,
    PositiveDuration,
    QuietText,
    ScheduleText,
    Secret,
    SourceName,
    SparkMaster,
    SparkRemote,
    Strict,
    TargetText,
    Text,
    TimeOfDay,
)
from incremental_assets.core.config.settings import Parallel
from incremental_assets.core.config.table_document import DefaultsDocument, TableEntry
from incremental_assets.core.config.translation_document import Translated
from incremental_assets.core.model.incident import DEFAULT_ABOUT, About

# --- a source -------------------------------------------------------------------------------------


Dialect = Annotated[str, AfterValidator(checked_dialect)]


_PARALLEL = Parallel()


class ParallelDocument(Strict):
    """Tables at once, and connections to this source in all."""

    tables: Annotated[int, Field(ge=1, le=64)] = _PARALLEL.tables
    connections: Annotated[int, Field(ge=1, le=64)] = _PARALLEL.connections


class SourceDocument(Strict):
    """What every source has; each kind of them derives its own from this, with the keys that it has besides."""

    dialect: Dialect
    parallel: ParallelDocument = ParallelDocument()
    every: Annotated[PositiveDuration, Field(description="How often the sensor looks.")] = timedelta(minutes=1)
    schedule: Annotated[
        ScheduleText | None,
        Field(description="When its tables are due, by cron, in place of `every`; what stands at a table wins."),
    ] = None
    quiet: Annotated[
        QuietText | None, Field(description="From one time of day to another: when the sensor begins no work.")
    ] = None
    target: Annotated[
        TargetText | None,
        Field(description="Where copies lie below the lake, of all its tables; {source}/{schema}/{table} when absent."),
    ] = None
    register_: Annotated[
        Register | None,
        Field(alias="register", description="Data catalogues to which the copies of all its tables are made known."),
    ] = None
    check_at: Annotated[TimeOfDay, Field(description="When everything is checked, daily in UTC; or never.")] = time(3)
    defaults: DefaultsDocument = DefaultsDocument()
    tables: tuple[TableEntry, ...] = ()


# --- the file -------------------------------------------------------------------------------------


class SparkDocument(Strict):
    """Where sessions come from; with neither `remote` nor `master`, the engine where one runs, else a session of the run's own."""

    remote: Annotated[SparkRemote | None, Field(examples=["auto", "sc://spark.example.com:15002"])] = None
    master: Annotated[SparkMaster | None, Field(examples=["spark://host:7077", "k8s://https://host:6443", "yarn"])] = (
        None
    )
    keep: Annotated[
        PositiveDuration | None,
        Field(
            description="A run that finds no engine starts one, which ends when it was not used for as long; when absent, the run has a session of its own.",
            examples=["10m"],
        ),
    ] = None


class StoreDocument(Strict):
    """How a bucket is reached; without a key, as the environment and the machine say it (`AWS_*`, web identity, instance)."""

    endpoint: Annotated[
        Endpoint | None, Field(description="Of a store other than AWS's own.", examples=["https://s3.example.com"])
    ] = None
    region: Text | None = None
    access_key_id: Secret | None = None
    secret_access_key: Secret | None = None
    session_token: Annotated[Secret | None, Field(description="Of keys that are temporary.")] = None


class ChannelDocument(Strict):
    """Who is notified, and of what: once when it begins, and once when it is over."""

    url: Annotated[Secret, Field(description="Of the service, as Apprise writes it; a reference, as it holds a token.")]
    about: Annotated[tuple[About, ...], Field(min_length=1, description="Everything when absent.")] = DEFAULT_ABOUT
    stalled: Annotated[
        PositiveDuration | None, Field(description="Also that nothing of a table has landed for as long.")
    ] = None


def _at_least_a_month(kept: timedelta | None) -> timedelta | None:
    if kept is not None and kept < SHORTEST_LEDGER:
        raise ValueError("write at least 40d: objectives are kept by the events of a month")
    return kept


SHORTEST_LEDGER = timedelta(days=40)


class KeptDocument(Strict):
    """How long what belongs to no table is kept."""

    ledger: Annotated[
        Kept,
        AfterValidator(_at_least_a_month),
        Field(
            description="Events of syncs; what a position, an objective or the audit depends on stays, and so do counts."
        ),
    ] = None
    logs: Annotated[
        Kept,
        Field(description="What runs have printed, and tracebacks of what no command expects."),
    ] = None


class SettingsDocument(Strict):
    """The file without its sources."""

    lake: Annotated[Lake, Field(description="Where Delta tables live.", examples=["./.lake", "s3a://bucket/lake"])]
    checkpoints: Annotated[
        CheckpointsUrl, Field(description="A SQLAlchemy URL.", examples=["sqlite:///.lake/checkpoints.db"])
    ]
    spark: SparkDocument = SparkDocument()
    observers: Annotated[
        tuple[ObserverName, ...],
        Field(
            description="Observers of what happens, beside Dagster and the terminal: entry points of packages, by name.",
            examples=[["opentelemetry"]],
        ),
    ] = ()
    stores: Annotated[
        dict[Text, StoreDocument],
        Field(description="Buckets by their names: how this process reaches them. Spark has settings of its own."),
    ] = Field(default_factory=dict)

    retention: KeptDocument = KeptDocument()
    erasure_key: Annotated[
        Secret | None,
        Field(
            description="The key by which erased keys are kept out; a reference to at least 32 characters that stay the same."
        ),
    ] = None
    translation: Translated | None = None
    notify: Annotated[
        dict[SourceName, ChannelDocument],
        Field(description="Channels by their names: Slack, e-mail, a pager, a webhook."),
    ] = Field(default_factory=dict)


class ConfigurationDocument(SettingsDocument):
    """What to sync, from where, into which lake."""

    sources: Annotated[dict[SourceName, SourceDocument], Field(min_length=1)]
