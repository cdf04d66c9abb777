"""The same as a Dagster component: the content of `sources.yaml` is written under `attributes` of a project's own `defs.yaml`.

Our own parser reads the file, so that all mistakes are reported at once, each with its line. A project may have several components: each
binds its runtime under its own key.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dagster import Component, ComponentLoadContext, ComponentTypeSpec, Definitions
from dagster.components.core.defs_module import ComponentPath, find_defs_or_component_yaml
from dagster.components.scaffold.scaffold import scaffold_with
from pydantic import BaseModel, ConfigDict

from incremental_assets.adapters.fork_server.runs import begin_as_forks
from incremental_assets.core.config.json_schema import inlined
from incremental_assets.core.config.load import load
from incremental_assets.core.config.settings import Configuration
from incremental_assets.core.errors import ConfigurationError, SetupError
from incremental_assets.definitions import catalogues
from incremental_assets.defs.build import build
from incremental_assets.defs.names import plain
from incremental_assets.defs.scaffold import ConfigurationScaffolder
from incremental_assets.defs.translation import Translation
from incremental_assets.resources.runtime import Runtime

if TYPE_CHECKING:
    from dagster import CodeReference
    from pydantic import GetJsonSchemaHandler
    from pydantic_core import CoreSchema


class Misconfigured(ConfigurationError):
    """The mistakes alone: Dagster prints the traceback of what it catches, and no line of Python says more about a file than they do."""

    @property
    def __traceback__(self) -> None:
        """Nothing to print."""

    @__traceback__.setter
    def __traceback__(self, _: object) -> None:
        """The traceback may be assigned and is ignored."""


class Attributes(BaseModel):
    """The schema of the attributes for `dg`. It accepts everything, since our parser reads the file itself and reports more."""

    model_config = ConfigDict(extra="allow")

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """The one of `incremental-assets schema`."""
        return inlined()


@scaffold_with(ConfigurationScaffolder)
class IncrementalSource(Component):
    """Copies tables of a database into Delta Lake as partitioned assets that read only what changed.

    No row is lost and none is there twice; checks prove that each copy is complete, and a sensor keeps it fresh.
    """

    def __init__(self, configuration: Configuration, translation: Translation | None = None) -> None:
        self.configuration, self._translation = configuration, translation

    @classmethod
    def get_model_cls(cls) -> type[BaseModel]:
        """The model for `dg check yaml`, `dg list components` and editors."""
        return Attributes

    @classmethod
    def get_spec(cls) -> ComponentTypeSpec:
        """The assets, checks, sensors and jobs."""
        return ComponentTypeSpec(produces=["asset", "asset_check", "job", "sensor", "schedule", "resource"])

    @classmethod
    def load(cls, attributes: BaseModel | None, context: ComponentLoadContext) -> IncrementalSource:
        """Read again from the file that Dagster is loading, as Dagster's own attributes have lost their lines; `translation` is filled in with what its project gives."""
        loc = context.component_loc
        file = find_defs_or_component_yaml(loc.file_path) if isinstance(loc, ComponentPath) else None
        if file is None or not isinstance(loc, ComponentPath):
            raise SetupError("an IncrementalSource is configured in a defs.yaml, and there is none; write one")
        try:
            configuration = load(file, number=int(loc.instance_key or 0))
            # As Dagster has read it: numbers are numbers.
            written = (attributes.model_extra or {}).get("translation") if attributes else None
            if written is None:
                return cls(configuration)
            return cls(configuration, Translation(written, configuration, context.resolution_context))
        except ConfigurationError as error:
            raise Misconfigured(error.problems) from None

    def build_defs(self, context: ComponentLoadContext) -> Definitions:
        """Asks no source, starts no JVM, and needs no secret."""
        begin_as_forks()
        runtime, key = Runtime(self.configuration), resource_key(context)
        try:
            return build(self.configuration, catalogues(runtime), {key: runtime}, key, self._translation)
        except ConfigurationError as error:
            raise Misconfigured(error.problems) from None

    @classmethod
    def get_code_references_for_yaml(cls, *_: object, **__: object) -> Sequence[CodeReference]:
        """No references: everything here says by itself on which line it is configured, and Dagster's own would say the head of the file."""
        return ()


def resource_key(context: ComponentLoadContext) -> str:
    """One that no other component of the project has: its place below the folder of definitions."""
    path = context.component_path
    number = (str(path.instance_key),) if path.instance_key else ()
    where = Path(path.file_path).relative_to(context.defs_module_path)
    return plain("incremental_assets", *where.parts, *number)
