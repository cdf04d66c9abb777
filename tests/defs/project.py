"""A project's folder of definitions, and what its components say."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest
from dagster.components.testing.utils import DefsFolderSandbox

ORDERS_KEY = dg.AssetKey(["shop", "public", "orders"])
TYPE = "incremental_assets.IncrementalSource"


def component(source: str, table: str = "public.orders:updated_at:timestamp!upsert", port: str = "5432") -> str:
    return f"""\
type: {TYPE}
attributes:
  lake: ./.lake
  checkpoints: sqlite:///.lake/checkpoints.db
  sources:
    {source}:
      dialect: postgresql
      host: db.example.com
      port: {port}
      database: {source}
      user: reader
      password: {{env: NEVER_SET}}
      tables:
        - "{table}"
"""


class Project:
    """A folder of definitions."""

    def __init__(self, sandbox: DefsFolderSandbox) -> None:
        self.sandbox, self.folder = sandbox, sandbox.defs_folder_path

    def write(self, place: str, text: str) -> Path:
        file = self.folder / place
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    def load(self) -> dg.Definitions:
        with self.sandbox.build_all_defs() as found:
            return found

    def refused(self) -> BaseException:
        """What lies behind Dagster's own exception."""
        with pytest.raises(Exception, match=r"Error while (loading component|building definitions)") as found:
            self.load()
        assert found.value.__cause__ is not None
        return found.value.__cause__


def lines(metadata: object) -> list[tuple[str, int]]:
    references = metadata["dagster/code_references"].code_references  # type: ignore[index]
    return [(reference.file_path, reference.line_number) for reference in references]
