"""Topics of the configuration, opened."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incremental_assets.core.config.kafka_document import checked_registry, checked_servers
from incremental_assets.core.config.kafka_settings import Format, KafkaSettings, Records, Topic
from incremental_assets.core.config.settings import SourceConfig, TableConfig
from incremental_assets.core.errors import ConfigurationError, Problem
from incremental_assets.core.extras import AVRO, KAFKA
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.strategies import Strategy, traits_of
from incremental_assets.resources.references import looked_up

if TYPE_CHECKING:
    from incremental_assets.adapters.topics.avro.registry import Registry
    from incremental_assets.adapters.topics.events import ReadDocument
    from incremental_assets.adapters.topics.probe import TopicProbe
    from incremental_assets.adapters.topics.record import Broker
    from incremental_assets.core.ports import Source


class OpenTopics:
    """Implements `core.ports.OpenSource`. Connects with the first question."""

    def __init__(self, source: SourceConfig, file: Path, lake: str) -> None:
        self._config, self._lake = source, lake
        self._settings = _settings(source, file)

    @cached_property
    def probe(self) -> TopicProbe:
        """Light questions to it."""
        from incremental_assets.adapters.topics.probe import TopicProbe

        return TopicProbe(self._broker, self._config.name, self._topics, self._documents)

    @cached_property
    def source(self) -> Source:
        """What reads it."""
        from incremental_assets.adapters.delta.copied_rows import copied_rows
        from incremental_assets.adapters.topics.source import TopicSource

        topics = {table: topic for table, (topic, _) in self._topics.items()}
        return TopicSource(self._broker, topics, partial(copied_rows, self._lake), self._lake, self._documents)

    def close(self) -> None:
        """Close what was opened."""
        if "_broker" in vars(self):
            self._broker.close()

    @cached_property
    def _broker(self) -> Broker:
        KAFKA.require()
        from incremental_assets.adapters.topics.client import client_settings
        from incremental_assets.adapters.topics.kafka import KafkaBroker

        return KafkaBroker(self._config.name, client_settings(self._settings))

    def _documents(self, form: Format) -> ReadDocument:
        if not form.is_avro:
            from incremental_assets.adapters.topics.events import in_json

            return in_json(form)
        AVRO.require()
        from incremental_assets.adapters.topics.avro.documents import AvroDocuments

        return AvroDocuments(self._registry, by_logical=form.records is Records.EVENTS)

    @cached_property
    def _registry(self) -> Registry:
        from incremental_assets.adapters.topics.avro.registry import HttpRegistry

        settings = self._settings
        access = (str(settings.registry_user), str(settings.registry_password)) if settings.registry_user else None
        return HttpRegistry(self._config.name, str(settings.registry_url), settings.registry_ca, access)

    @property
    def _topics(self) -> dict[TableId, tuple[Topic, Strategy]]:
        strategies = {table.id(self._config.name): table.strategy for table in self._config.tables}
        named = ((TableId(self._config.name, *topic.schema_and_name), topic) for topic in self._settings.topics)
        return {table: (topic, strategies[table]) for table, topic in named}


def _settings(source: SourceConfig, file: Path) -> KafkaSettings:
    """Raises ConfigurationError for references without a usable value, and for topics and tables that do not fit together."""
    settings: Any = source.settings
    values, problems = looked_up(source, file)
    for name, checked in (("bootstrap_servers", checked_servers), ("registry_url", checked_registry)):
        try:
            if name in values:
                values[name] = checked(values[name])
        except ValueError as error:
            shown = str(getattr(settings, name))
            problems.append(Problem(str(file), source.line_of(name), shown, f"the value is none: {error}"))
    problems += _misfits(source, settings, file)
    if problems:
        raise ConfigurationError(tuple(problems))
    return replace(settings, **values)


def _misfits(source: SourceConfig, settings: KafkaSettings, file: Path) -> list[Problem]:
    listed = {(table.schema, table.name): table for table in source.tables}
    found = []
    for topic in settings.topics:
        table = listed.get(topic.schema_and_name)
        if table is None:
            cure = f"no table is made of it; add `- {{table: {topic.table}}}` to `tables`, or remove it"
            found.append(Problem(str(file), source.line_of("topics"), topic.table, cure))
        elif cure := _misfit(table, topic):
            found.append(Problem(str(file), table.line, topic.table, cure))
    return found


def _misfit(table: TableConfig, topic: Topic) -> str:
    if topic.format.records is Records.EVENTS and traits_of(table.strategy).one_row_per_key:
        return f"each event of `format: {topic.format}` is a row of its own; write `strategy: append`"
    if table.primary_key is not None:
        return "rows of a topic are known by the key of its records; remove `primary_key`"
    return ""
