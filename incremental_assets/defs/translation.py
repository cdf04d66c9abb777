"""`translation`: what a project calls the assets of copies and histories, and what else it says of them, filled in as Dagster's own components do it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, cast

from dagster import AssetAttributesModel, AssetKey, AssetSpec

from incremental_assets.core.config.settings import Configuration
from incremental_assets.core.errors import ConfigurationError, Problem
from incremental_assets.core.model.table_id import TableId
from incremental_assets.defs.names import AssetKeys, usual_key

if TYPE_CHECKING:
    from dagster import ResolutionContext
    from jinja2 import Template
    from pydantic import BaseModel

_KEY, _PREFIX = "key", "key_prefix"


@dataclass(frozen=True)
class Translation:
    """As it was written, and what its templates may name: that of a component knows functions and values of its project, that of a command none."""

    written: str | Mapping[str, object]
    configuration: Configuration
    context: ResolutionContext

    @classmethod
    def of_file(cls, configuration: Configuration) -> Translation | None:
        """What a configuration says by itself; None where it says nothing."""
        if configuration.translation is None:
            return None
        from dagster import ResolutionContext

        return cls(configuration.translation.written, configuration, ResolutionContext.default())

    def key(self, table: TableId) -> AssetKey:
        """The key of a copy or a history. It is made of the table alone: commands know no more of an asset. Raises ConfigurationError."""
        usual = AssetSpec(usual_key(table), group_name=table.source)
        if isinstance(self.written, str):
            return self.spec(usual, table).key
        with self._explained(table):
            scope = {**self.context.scope, "table": table, "spec": usual}
            named, before = self._templates[_KEY], self._templates[_PREFIX]
            key = AssetKey.from_user_string(named[0].render(scope)) if named else usual.key
            return key.with_prefix([each.render(scope) for each in before]) if before else key

    def spec(self, spec: AssetSpec, table: TableId) -> AssetSpec:
        """All that is said of an asset. Raises ConfigurationError."""
        # Not exported by `dagster`; tests/defs/test_translation.py fails if it is no longer as it was.
        from dagster.components.utils.translation import TranslatorResolvingInfo

        with self._explained(table):
            info = TranslatorResolvingInfo(self._attributes, self.context, "translation")
            translated = info.get_asset_spec(spec, {"table": table, "spec": spec})
            if (translated.deps, translated.partitions_def) != (spec.deps, spec.partitions_def):
                raise ValueError("it gives other dependencies or partitions, which are the table's own")
        return translated

    @cached_property
    def _attributes(self) -> str | BaseModel:
        if isinstance(self.written, str):
            return self.written
        return AssetAttributesModel(**{key: each for key, each in self.written.items() if key not in (_KEY, _PREFIX)})

    @cached_property
    def _templates(self) -> Mapping[str, Sequence[Template]]:
        """Those of keys, compiled once: there may be thousands of tables."""
        from jinja2 import Environment, StrictUndefined

        compiled = Environment(undefined=StrictUndefined, autoescape=False).from_string  # noqa: S701 - a key is no HTML
        written = cast(Mapping[str, object], self.written)
        found = {name: written.get(name) or () for name in (_KEY, _PREFIX)}
        return {
            name: [
                compiled(str(each)) for each in ([texts] if isinstance(texts, str) else cast(Iterable[object], texts))
            ]
            for name, texts in found.items()
        }

    @contextmanager
    def _explained(self, table: TableId) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # noqa: BLE001 - whatever a template does, or a function of a project
            cure = (
                f"it cannot be filled in for {table}: {_last_line(error)}; known are `table.source`, `table.schema`, `table.name`, `spec`, "
                "and in a component what its project gives it"
            )
            raise self.mistake(cure) from None

    def mistake(self, cure: str) -> ConfigurationError:
        """What is wrong, at its line."""
        written = self.configuration.translation
        return ConfigurationError(
            (Problem(str(self.configuration.path), written.line if written else 1, "translation", cure),)
        )


def keys_of(tables: Iterable[TableId], translation: Translation | None) -> AssetKeys:
    """The keys of the assets of these tables. Raises ConfigurationError where two have one."""
    if translation is None:
        return AssetKeys()
    found: dict[AssetKey, TableId] = {}
    for table in tables:
        key = translation.key(table)
        if (other := found.setdefault(key, table)) != table:
            raise translation.mistake(
                f"it gives {other} and {table} one asset key, {key.to_user_string()}; write a `key` with `{{{{ table.source }}}}`, `{{{{ table.schema }}}}` and `{{{{ table.name }}}}` in it"
            )
    return AssetKeys({usual_key(table): key for key, table in found.items()})


def _last_line(error: Exception) -> str:
    """What it says: Dagster's own text of what a template raised is a traceback before that."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__
