"""`init`: from the address of a database to a commented sources.yaml, which is right for a first sync."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from incremental_assets.cli.answer import Answer, Note, Shown
from incremental_assets.cli.discovering import entry, proposals, shown
from incremental_assets.cli.globs import chosen
from incremental_assets.cli.opening import HERE, config_option
from incremental_assets.core.config.addresses import absolute
from incremental_assets.core.config.dialects import facts_of
from incremental_assets.core.config.load import CONFIG_VARIABLE, load
from incremental_assets.core.config.settings import SourceConfig
from incremental_assets.core.discovery.proposal import Proposal
from incremental_assets.core.discovery.source_url import SourceUrl, parse_url
from incremental_assets.core.discovery.written import entries, scalar
from incremental_assets.core.errors import ConfigurationError, SelectionError, SourceRefused, SourceUnreachable
from incremental_assets.core.words import counted

_HEAD = """\
# Proposed by `init` from the catalogue. Read what it says of each table, change what you know better.
# Every key: `incremental-assets schema`. Then: `incremental-assets doctor`, `incremental-assets plan`, `incremental-assets sync`.
lake: ./lake                                    # where the copies lie
checkpoints: sqlite:///lake/checkpoints.db      # what has landed; a postgresql:// URL where more than one machine syncs
sources:
"""
_WIDER = (
    "# A column that becomes wider (int to bigint) stops its table until a full refresh. With the next line its copy follows, if all that",
    "# read the copies know Delta's type widening (Spark 4 does, delta-rs and DuckDB do not).",
    "# defaults: {schema_changes: widen}",
)


def run(config: Path | None, address: str, patterns: Sequence[str]) -> Answer:
    """Run the command. `patterns`: the tables that are meant, all of them without one."""
    url, path = parse_url(address), config or HERE
    if path.exists():
        raise SelectionError(
            f"{path} is there already and was left as it is; name another file with --config, or have tables of its sources added to it: "
            "`incremental-assets init --tables 'schema.*'`"
        )
    url = _anchored(url, path)
    schemas, every = _asked(url, path)
    wanted = chosen(patterns, [each.shape.id for each in every], option="--tables")
    found = [each for each in every if each.shape.id in wanted]
    text = _text(url, schemas, found)
    # What is written is what loads.
    source = _drafted(text, path)
    _create(path, text)
    return _answer(path, source, found)


def _anchored(url: SourceUrl, path: Path) -> SourceUrl:
    """A file's path is relative to where one stands, and in the configuration to the configuration."""
    if not facts_of(url.dialect).is_file or path.absolute().parent == Path.cwd():
        return url
    return replace(url, database=str(absolute(url.database, Path.cwd())))


def _asked(url: SourceUrl, path: Path) -> tuple[tuple[str, ...], tuple[Proposal, ...]]:
    """The schemas of the database, and a proposal for each of their tables. Raises SourceRefused, SourceUnreachable."""
    from incremental_assets.resources.database import open_probe

    probe = open_probe(_drafted(_text(url, (), ()), path), path)
    try:
        schemas = probe.schemas()
    except (SourceRefused, SourceUnreachable) as error:
        if _has_password(url) or facts_of(url.dialect).is_file:
            raise
        raise type(error)(
            f"the environment variable {url.variable} is not set, in which `init` looks for a password: `export {url.variable}=…`; without one: {error}"
        ) from None
    finally:
        probe.close()
    probe = open_probe(_drafted(_text(url, schemas, ()), path), path)
    try:
        return schemas, proposals(probe, probe.catalogue())
    finally:
        probe.close()


def _text(url: SourceUrl, schemas: Sequence[str], found: Sequence[Proposal]) -> str:
    lines = url.keys(has_password=_has_password(url))
    lines += [f"schemas: [{', '.join(map(scalar, schemas))}]"] if schemas and not facts_of(url.dialect).is_file else []
    lines += ["unlisted: ignore   # full_refresh also copies every table that is not listed here, whole, once a day"]
    lines += _WIDER
    tables = [each for each in found if each.terms is not None]
    lines.append("tables:" if tables else "tables: []")
    body = "".join(f"    {line}\n" for line in lines)
    return f"{_HEAD}  {url.name}:\n{body}{entries(found, '      ')}\n"


def _has_password(url: SourceUrl) -> bool:
    return bool(os.environ.get(url.variable))


def _drafted(text: str, path: Path) -> SourceConfig:
    """The source of a text as it would be loaded from beside `path`."""
    try:
        with tempfile.NamedTemporaryFile(
            "w", dir=path.absolute().parent, prefix=".sources-", suffix=".yaml", encoding="utf-8"
        ) as file:
            file.write(text)
            file.flush()
            try:
                (source,) = load(Path(file.name)).sources
            except ConfigurationError as error:
                raise SelectionError("; ".join(dict.fromkeys(problem.cure for problem in error.problems))) from None
            return source
    except OSError as error:
        raise _unwritable(path, error) from None


def _create(path: Path, text: str) -> None:
    """Create the file, whole or not at all, and never over another one, not even one that has come meanwhile."""
    try:
        with path.open("x", encoding="utf-8") as file:
            try:
                file.write(text)
                file.flush()
            except BaseException:
                path.unlink(missing_ok=True)
                raise
    except OSError as error:
        raise _unwritable(path, error) from None


def _unwritable(path: Path, error: OSError) -> SelectionError:
    return SelectionError(f"{path} cannot be written ({error.strerror}); change to a folder that you may write to")


def _answer(path: Path, source: SourceConfig, found: Sequence[Proposal]) -> Answer:
    listed = sum(each.terms is not None for each in found)
    option = config_option(path, HERE)
    next_steps = [f"incremental-assets {command}{option}" for command in ("doctor", "plan", "sync")]
    output: list[Shown] = shown(found)
    if exposed := source.settings.unencrypted:
        output.append(Note("; ".join(exposed), "warn"))
    other = os.environ.get(CONFIG_VARIABLE)
    if other and not option and Path(other).absolute() != path.absolute():
        output.append(Note(f"{CONFIG_VARIABLE} names {other}, which every command reads instead: unset it", "warn"))
    output.append(
        Note(
            f"wrote {path}: {counted(listed, 'table')} of the source {source.name!r}, {len(found) - listed} left out; next: {', '.join(next_steps)}",
            "strong",
        )
    )
    return Answer(
        {"file": str(path), "source": source.name, "tables": [entry(each) for each in found], "next": next_steps},
        output,
    )
