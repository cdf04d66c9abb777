"""`translation`: what a project calls the assets of copies and histories, and what else it says of them, filled in as Dagster's own components do it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from dagster import AssetAttributesModel, AssetKey, AssetSpec

from incremental_assets.core.config.settings import Configuration
from incremental_assets.core.errors import ConfigurationError, Problem, SetupError
from incremental_assets.core.model.table_id import TableId
from incremental_assets.defs.names import AssetKeys, usual_key

if TYPE_CHECKING:
    from dagster import ResolutionContext

Translate = Callable[[AssetSpec, TableId], AssetSpec]

_NAMES = frozenset({"key", "key_prefix"})


def untranslated(spec: AssetSpec, _: TableId) -> AssetSpec:
    """As it is."""
    return spec


def names_of(configuration: Configuration) -> Translate:
    """What a configuration says of the names of assets, for commands, which know neither functions nor values of a project."""
    found = configuration.translation
    if found is None:
        return untranslated
    from dagster import ResolutionContext

    written = found.written
    if not isinstance(written, str):
        written = {key: value for key, value in written.items() if key in _NAMES}
    return translation_of(written, configuration, ResolutionContext.default()) if written else untranslated


def keys_of(tables: Iterable[TableId], translate: Translate) -> AssetKeys:
    """The keys of the assets of these tables. A key is made of the table alone: commands know no more of an asset. Raises SetupError where two have one."""
    if translate is untranslated:
        return AssetKeys()
    found: dict[AssetKey, TableId] = {}
    for table in tables:
        key = translate(AssetSpec(usual_key(table), group_name=table.source), table).key
        if (other := found.setdefault(key, table)) != table:
            raise SetupError(
                f"`translation` gives {other} and {table} one asset key, {key.to_user_string()}; write a `key` with `{{{{ table.schema }}}}` and `{{{{ table.name }}}}` in it"
            )
    return AssetKeys({usual_key(table): key for key, table in found.items()})


def translation_of(
    written: str | Mapping[str, object], configuration: Configuration, context: ResolutionContext
) -> Translate:
    """The whole of it, as a component of a project sees it."""
    # Not exported by `dagster`; tests/defs/test_translation.py fails if it is no longer as it was.
    from dagster.components.utils.translation import TranslatorResolvingInfo

    model = written if isinstance(written, str) else AssetAttributesModel(**written)
    info = TranslatorResolvingInfo(model, context, "translation")

    def translate(spec: AssetSpec, table: TableId) -> AssetSpec:
        try:
            translated = info.get_asset_spec(spec, {"table": table, "spec": spec})
        except Exception as error:  # noqa: BLE001 - whatever a template does, or a function of a project
            raise _problem(configuration, table, _last_line(error)) from None
        if (translated.deps, translated.partitions_def) != (spec.deps, spec.partitions_def):
            raise _problem(configuration, table, "it gives other dependencies or partitions, which are the table's own")
        return translated

    return translate


def _last_line(error: Exception) -> str:
    """What it says: Dagster's own text of what a template raised is a traceback before that."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__


def _problem(configuration: Configuration, table: TableId, why: str) -> ConfigurationError:
    line = configuration.translation.line if configuration.translation else 1
    cure = f"it cannot be filled in for {table}: {why}; known are `table.source`, `table.schema`, `table.name`, `spec`, and in a component what its project gives it"
    return ConfigurationError((Problem(str(configuration.path), line, "translation", cure),))
