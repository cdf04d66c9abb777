"""What `dg scaffold defs` writes: a valid configuration, with comments on what to change."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import click
from dagster.components.scaffold.scaffold import Scaffolder, ScaffoldRequest
from pydantic import BaseModel, Field

from incremental_assets.core.config.dialects import facts_of
from incremental_assets.core.discovery.source_url import SourceUrl, parse_url
from incremental_assets.core.errors import SelectionError

_IGNORED = ".lake/\n"
_ATTRIBUTES = """\
lake: ./.lake                                  # where Delta tables live: a folder, relative to this file, or s3a://, abfss://, gs://, hdfs://
checkpoints: sqlite:///.lake/checkpoints.db    # what has landed; postgresql://user@host/database when more than one machine writes
sources:
  {source}:{blank} # a name of your own, once per project: the first part of every asset's key
    dialect: postgresql
    host: localhost                            # any of host, port, database, user may be {{env: NAME}} or {{file: path}}
    port: 5432
    database: {source}
    user: sync_reader
    password: {{env: {variable}}}{pad} # a secret is always a reference, and is read when it is needed
    tables:
      # One line: schema.table:column:type[@start][!strategy]. Types: timestamp, datetime, date, integer.
      - "public.orders:updated_at:timestamp!upsert"
      # In full, when a table needs more than one line can say:
      # - table: public.customers
      #   cursor: {{column: updated_at, type: timestamp}}
      #   strategy: upsert                     # append | upsert | full_refresh
      #   freshness: {{warn: 15m, fail: 1h}}     # the age of the oldest row that has not landed
    unlisted: ignore                           # tables that are not listed; full_refresh reads them whole, once a day
"""
_BY_URL = """\
lake: ./.lake                                  # where Delta tables live: a folder, relative to this file, or s3a://, abfss://, gs://, hdfs://
checkpoints: sqlite:///.lake/checkpoints.db    # what has landed; postgresql://user@host/database when more than one machine writes
sources:
  {source}:{blank} # a name of your own, once per project: the first part of every asset's key
    {keys}
    # schemas: [public, sales]                 # default: [public]
    tables: []                                 # incremental-assets init --tables 'public.*' --config defs.yaml adds them, each with its reasons
    unlisted: ignore                           # tables that are not listed; full_refresh reads them whole, once a day
"""
_YAML = """\
# Its keys, all of them: incremental-assets schema. What is missing in the database: incremental-assets doctor --config defs.yaml
type: {type}
attributes:
{attributes}"""
_PYTHON = """\
import dagster as dg
from incremental_assets import IncrementalSource, load


@dg.component_instance
def source(context: dg.ComponentLoadContext) -> IncrementalSource:
    return IncrementalSource(load(context.path.with_name("sources.yaml")))
"""


class Address(BaseModel):
    """What can be said when a component is scaffolded."""

    url: str = Field(default="", description="postgresql://user@host:port/database, as of `incremental-assets init`")


class ConfigurationScaffolder(Scaffolder[Address]):
    """Scaffolds `dg scaffold defs incremental_assets.IncrementalSource NAME`: one source, called as the folder is."""

    @classmethod
    def get_scaffold_params(cls) -> type[Address]:
        """The options of the command."""
        return Address

    def scaffold(self, request: ScaffoldRequest[Address]) -> None:
        """Write, or append to, `defs.yaml`; with `--format python` a `component.py` and the `sources.yaml` that it loads."""
        folder = request.target_path.parent if request.append else request.target_path
        url = _parsed(request.params.url, folder) if request.params and request.params.url else None
        file = folder / "sources.yaml"
        if request.scaffold_format == "python":
            (folder / "component.py").write_text(_PYTHON, encoding="utf-8")
            file.write_text(_attributes(folder, 0, url), encoding="utf-8")
        else:
            text = _YAML.format(type=request.type_name, attributes=_attributes(folder, 2, url))
            file = request.target_path if request.append else folder / "defs.yaml"
            before = f"{file.read_text(encoding='utf-8')}---\n" if request.append else ""
            file.write_text(before + text, encoding="utf-8")
        if not (folder / ".gitignore").exists():
            (folder / ".gitignore").write_text(_IGNORED, encoding="utf-8")
        if url is not None and not request.append and _may_connect(url):
            _add_tables(file)


def _may_connect(url: SourceUrl) -> bool:
    """Whether the database can be asked now: it is a file, or its password is there."""
    return facts_of(url.dialect).is_file or url.variable in os.environ


def _add_tables(file: Path) -> None:
    """What `init` proposes, in a process of its own, which says what it found on the terminal. Where the database does not answer, the file stays as it is and says how to go on."""
    command = [
        sys.executable,
        "-P",
        "-m",
        "incremental_assets.cli.start",
        "init",
        "--tables",
        "*.*",
        "--config",
        str(file),
    ]
    subprocess.run(command, check=False, stdout=sys.stderr)


def _parsed(text: str, folder: Path) -> SourceUrl:
    try:
        url = parse_url(text)
    except SelectionError as error:
        raise click.ClickException(str(error)) from None
    # The file speaks of its own folder, and whoever types the address of the one that they are in.
    return replace(url, database=os.path.relpath(url.database, folder)) if facts_of(url.dialect).is_file else url


def _attributes(folder: Path, indent: int, url: SourceUrl | None) -> str:
    source = re.sub(r"[^A-Za-z0-9_]", "_", folder.name)
    source = source if source[:1].isalpha() else f"source_{source}"
    variable = f"{source.upper()}_PASSWORD"
    blank = " " * max(0, 43 - len(source))
    if url is None:
        pad = " " * max(0, 25 - len(variable))
        text = _ATTRIBUTES.format(source=source, blank=blank, variable=variable, pad=pad)
    else:
        keys = "\n    ".join(url.keys(has_password=True))
        text = _BY_URL.format(source=source, blank=blank, keys=keys)
    return "".join(f"{' ' * indent}{line}" for line in text.splitlines(keepends=True))
