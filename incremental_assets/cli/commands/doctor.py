"""`doctor`: is everything there that a sync needs? What is missing, with the cure."""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Collection, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from incremental_assets.cli.alike import alike
from incremental_assets.cli.answer import DONE, FAILED, Answer, Cell, Grid, Note, Shown
from incremental_assets.cli.commands.fix import fixed
from incremental_assets.cli.findings.finding import Finding, Health, warn
from incremental_assets.cli.findings.lateness import of_lateness
from incremental_assets.cli.findings.of_assets import of_assets
from incremental_assets.cli.findings.of_catalogues import of_catalogues
from incremental_assets.cli.findings.of_cluster import PYTHON, of_executors
from incremental_assets.cli.findings.of_log import of_log
from incremental_assets.cli.findings.of_source import of_source
from incremental_assets.cli.findings.of_table import of_other_kind, of_past, of_table, of_trouble, wanted_of
from incremental_assets.cli.globs import chosen
from incremental_assets.cli.opening import configured, opened
from incremental_assets.cli.selection import Selection, selected
from incremental_assets.core.checks.doctor import SourceFacts, Wanted
from incremental_assets.core.checks.lateness import late_rows
from incremental_assets.core.config.database_settings import is_database
from incremental_assets.core.config.resolve import resolve_all
from incremental_assets.core.config.settings import Configuration, SourceConfig
from incremental_assets.core.config.terms import terms_of
from incremental_assets.core.errors import IncrementalAssetsError, SourceRefused, SourceUnreachable
from incremental_assets.core.model.as_copied import in_source
from incremental_assets.core.model.cures import DEPLOYMENT
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.planning.events import Checkpoint, EventKind
from incremental_assets.core.planning.report import SyncReport
from incremental_assets.core.words import agreeing, counted, listed

if TYPE_CHECKING:
    from incremental_assets.adapters.databases.probe import SqlProbe
    from incremental_assets.resources.runtime import Runtime

_RECENT = 100
"""Events of a table among which late rows are looked for."""
_SHOWN = 40
"""Lines that a person reads at once; what is not ok is never left out."""
_WORST_FIRST = (Health.FAIL, Health.WARN, Health.OK)
_TONES = {Health.OK: "good", Health.WARN: "warn", Health.FAIL: "bad"}


def run(config: Path | None, patterns: Sequence[str], *, sql: bool, fix: bool = False) -> Answer:
    """Run the command."""
    configuration = configured(config)
    with opened(configuration) as runtime:
        if sql:
            return _sql(runtime, patterns)
        findings = [
            *of_machine(),
            *of_places(configuration, runtime),
            *of_assets(configuration, runtime),
            *of_cluster(configuration, runtime),
            *_of_sources(runtime, patterns),
        ]
    return fixed(configuration.path, findings) if fix else answer(findings)


def answer(findings: Sequence[Finding]) -> Answer:
    """The worst first; what is said of many tables alike is one line. Exit 1 if something is missing without which a sync fails."""
    counts = {health: sum(finding.health is health for finding in findings) for health in Health}
    document = {
        "findings": [
            {
                "subject": each.subject,
                "topic": each.topic,
                "health": str(each.health),
                "detail": each.detail,
                "cure": each.cure or None,
            }
            for each in findings
        ]
    }
    worst_first = sorted(findings, key=lambda each: _WORST_FIRST.index(each.health))
    rows = alike(((each.health, each.topic, each.detail), each.subject) for each in worst_first)
    bad = sum(health is not Health.OK for (health, *_), _ in rows)
    grid = tuple(
        (Cell(str(health), _TONES[health]), listed(subjects), topic, detail)
        for (health, topic, detail), subjects in rows[: max(bad, _SHOWN)]
    )
    shown: list[Shown] = [Grid(("", "of", "what", "found"), grid, prose=("of", "found"))]
    if more := sum(len(subjects) for _, subjects in rows[max(bad, _SHOWN) :]):
        shown.append(
            Note(f"and {more:,} more that are ok; `--json` has them all, `--select` those of a few tables", "dim")
        )
    cures = alike(((each.health, each.topic, each.cure), each.subject) for each in worst_first if each.cure)
    shown += [Note(f"{listed(subjects)} {topic}: {cure}", _TONES[health]) for (health, topic, cure), subjects in cures]
    summary = f"{counts[Health.OK]} ok, {counts[Health.WARN]} to look at, {counts[Health.FAIL]} to fix"
    return Answer(document, (*shown, Note(summary, "strong")), FAILED if counts[Health.FAIL] else DONE)


def of_machine() -> Iterator[Finding]:
    """The requirements of Spark on this machine."""
    from incremental_assets.adapters.spark.jars import verified_jars
    from incremental_assets.adapters.spark.java import require_java

    try:
        java = require_java()
        yield Finding("machine", "java", Health.OK, f"version {java.version} in {java.home}")
    except IncrementalAssetsError as error:
        yield Finding("machine", "java", Health.FAIL, str(error))
    try:
        yield Finding("machine", "jars", Health.OK, f"{len(verified_jars())} files, all as locked")
    except IncrementalAssetsError as error:
        yield Finding("machine", "jars", Health.FAIL, str(error))
    yield _engine()


def _engine() -> Finding:
    """Nothing is wrong with having none."""
    from incremental_assets.adapters.spark.connect_server import look
    from incremental_assets.cli.commands.engine import end_of
    from incremental_assets.resources.home import engine_folder

    try:
        found = look(engine_folder())
    except IncrementalAssetsError as error:
        return Finding("machine", "engine", Health.WARN, str(error))
    if found is None:
        return Finding("machine", "engine", Health.OK, "none is running, so each run starts Spark itself")
    if found.unusable:
        return Finding("machine", "engine", Health.WARN, found.unusable)
    kept = f"; a run has left it behind, and {end_of(found)}" if found.engine.idle else ""
    return Finding("machine", "engine", Health.OK, f"pid {found.engine.process.pid} at {found.engine.address}{kept}")


def of_places(configuration: Configuration, runtime: Runtime) -> Iterator[Finding]:
    """The findings on the configuration file, Dagster's home, the lake and the checkpoint table."""
    from incremental_assets.resources.home import HOME_VARIABLE, home_folder

    tables, globs = (
        sum(map(len, each)) for each in zip(*((s.tables, s.matches) for s in configuration.sources), strict=True)
    )
    beside = f", {counted(globs, 'glob')}" if globs else ""
    yield Finding(
        "configuration",
        "file",
        Health.OK,
        f"{configuration.path}: {counted(len(configuration.sources), 'source')}, {counted(tables, 'listed table')}{beside}",
    )
    yield from of_channels(configuration)
    yield of_folder("dagster", "home", home_folder(), f"name another folder by {HOME_VARIABLE}")
    yield from of_lake(configuration.lake)
    yield from read_by_others(configuration.lake)
    try:
        count = len(runtime.checkpoints.positions())
        yield Finding(
            "checkpoints", "reachable", Health.OK, f"{counted(count, 'table')} {agreeing(count, 'has', 'have')} synced"
        )
    except IncrementalAssetsError as error:
        yield Finding("checkpoints", "reachable", Health.FAIL, str(error))


def of_cluster(configuration: Configuration, runtime: Runtime) -> Iterator[Finding]:
    """What the executors of a cluster say, where one is configured; it takes a session of it."""
    master = configuration.spark.master
    if master is None or master.startswith("local"):
        return
    from incremental_assets.resources.cluster import WithoutPython, ask_executors

    try:
        found, lake = ask_executors(runtime)
    except WithoutPython as error:
        yield warn("cluster", "python", str(error), PYTHON)
    except IncrementalAssetsError as error:
        yield Finding("cluster", "executors", Health.FAIL, str(error))
    else:
        yield from of_executors(found, version("incremental-assets"), lake)


def of_channels(configuration: Configuration) -> Iterator[Finding]:
    """Whether what notifies each channel is there. Nothing is sent."""
    from incremental_assets.resources.notifying import check

    for channel in configuration.notify:
        try:
            check(channel, configuration)
        except IncrementalAssetsError as error:
            yield Finding("notify", channel.name, Health.FAIL, str(error))
        else:
            yield Finding(
                "notify", channel.name, Health.OK, "its address is of a service that is known; nothing was sent"
            )


def read_by_others(lake: str) -> Iterator[Finding]:
    """Folders of ours that every user of the machine may enter: Dagster's history tells what was read and what failed, the lake has the rows."""
    from incremental_assets.resources.home import home_folder

    places = {"dagster": home_folder()} | ({} if "://" in lake else {"lake": Path(lake)})
    for subject, folder in places.items():
        if folder.is_dir() and _is_open(folder):
            yield warn(
                subject,
                "permissions",
                f"every user of this machine may enter {folder} (mode {stat.S_IMODE(folder.stat().st_mode):04o})",
                f"chmod o-rwx {shlex.quote(str(folder))}",
            )


def _is_open(folder: Path) -> bool:
    """Whether others get there: each folder above has to let them through, too."""
    return all(each.stat().st_mode & stat.S_IXOTH for each in (folder.resolve(), *folder.resolve().parents))


def of_lake(lake: str) -> Iterator[Finding]:
    """Whether it may be written, and what its place cannot do."""
    if "://" in lake:
        yield from _in_store(lake)
    else:
        yield of_folder("lake", "place", Path(lake), "name another `lake`")


def _in_store(lake: str) -> Iterator[Finding]:
    from incremental_assets.adapters.lake_store.opened import store_of
    from incremental_assets.adapters.lake_store.trial import tried

    try:
        store = store_of(lake)
        if store is None:
            yield Finding("lake", "place", Health.OK, f"{lake}, which only Spark can reach: the first sync will show")
            return
        found = tried(store, lake)
    except IncrementalAssetsError as error:
        yield Finding("lake", "place", Health.FAIL, str(error))
        return
    yield Finding("lake", "place", Health.OK, f"{lake} may be written, and takes a file only where there is none")
    if found.keeps_versions:
        yield warn(
            "lake",
            "versions",
            "the bucket keeps versions, so that nothing that is removed is gone: of each sync what it staged, and every file that was replaced, stays and is paid for, "
            "with a mark for each removal that makes listings slower; nobody is erased from it",
            "have a lifecycle rule remove them (`NoncurrentVersionExpiration`, `ExpiredObjectDeleteMarker`) after as many days as a mistake may take to be seen",
        )
    if found.kept:
        yield warn(
            "lake",
            "removal",
            f"nothing may be removed from it: syncs land and leave behind what they staged, and `prune` and `erase` fail ({found.kept})",
            f"give the role that writes it `s3:DeleteObject` below the lake: {DEPLOYMENT} has all its rights",
        )
    if not store.promises.locks:
        yield warn(
            "lake",
            "locks",
            "a store has no locks: this program puts a version only where none is, and a writer that does not, such as Spark in S3, could put another in its place",
            f"let no other program write to this lake, and have the bucket demand the condition of every writer: {DEPLOYMENT} has the policy",
        )


def of_folder(subject: str, what: str, folder: Path, otherwise: str) -> Finding:
    """Whether this user may write there, or make the folder."""
    existing = next(each for each in (folder, *folder.parents) if each.exists())
    if os.access(existing, os.W_OK | os.X_OK) and existing.is_dir():
        return Finding(subject, what, Health.OK, f"{folder} may be written")
    return Finding(
        subject, what, Health.FAIL, f"{existing} may not be written by this user", f"change its owner, or {otherwise}"
    )


def _of_sources(runtime: Runtime, patterns: Sequence[str]) -> Iterator[Finding]:
    try:
        positions = runtime.checkpoints.positions()
    except IncrementalAssetsError:
        yield from (_not_looked_at(source.name) for source in runtime.configuration.sources)
        return
    found = selected(runtime, patterns)
    yield from of_catalogues(runtime, found.specs)
    for source in runtime.configuration.sources:
        if source.name in found.unreachable:
            yield Finding(source.name, "reachable", Health.FAIL, str(found.unreachable[source.name]))
            continue
        yield from (
            Finding(source.name, "schemas", Health.FAIL, each.sentence)
            for each in found.problems
            if each.source == source.name
        )
        yield from _of_source(runtime, source, found, positions)


def _not_looked_at(source: str) -> Finding:
    why = "not looked at, as the checkpoint table cannot be used"
    return Finding(source, "tables", Health.WARN, why, "run doctor again once it can be")


def _of_source(
    runtime: Runtime, source: SourceConfig, found: Selection, positions: dict[TableId, Checkpoint]
) -> Iterator[Finding]:
    specs, database = found.of(source.name), runtime.database(source.name)
    if database is None:
        yield from of_other_kind(source, specs)
    else:
        yield from _of_database(runtime, source, database, specs, positions)
    yield from (of_trouble(trouble) for trouble in found.troubles if trouble.table.source == source.name)


def _of_database(
    runtime: Runtime,
    source: SourceConfig,
    database: SqlProbe,
    specs: Sequence[TableSpec],
    positions: dict[TableId, Checkpoint],
) -> Iterator[Finding]:
    try:
        facts = database.facts([wanted_of(spec.id, terms_of(source, spec.id)) for spec in specs])
        measured = database.lateness(specs)
        logs = database.logs(specs)
    except IncrementalAssetsError as error:
        yield Finding(source.name, "reachable", Health.FAIL, str(error))
        return
    yield from of_source(source, facts)
    yield from of_log(specs, logs)
    for spec, each, lateness in zip(map(in_source, specs), facts.tables, measured, strict=True):
        state = positions.get(spec.id, Checkpoint()).state
        yield from of_table(spec, each, facts, landed=state is not None)
        yield from of_past(spec, state)
        late = late_rows(_reports(runtime, spec.id) if state is not None and spec.read_by is not None else ())
        yield from of_lateness(spec, facts, lateness, late)


def _reports(runtime: Runtime, table: TableId) -> Iterator[SyncReport]:
    """The reports of the syncs that landed, among the last events of the table."""
    for kept in runtime.checkpoints.history(table, _RECENT):
        if kept.event.kind is EventKind.LANDED and kept.event.report is not None:
            yield kept.event.report


# --- --sql ------------------------------------------------------------------------------------------


def _sql(runtime: Runtime, patterns: Sequence[str]) -> Answer:
    """The SQL for an administrator, by database. One that rejects the connection gets everything that a new role needs."""
    from incremental_assets.adapters.databases.registry import dialect_of
    from incremental_assets.resources.database import address

    sources = [each for each in runtime.configuration.sources if is_database(each)]
    tables = {source.name: _tables(runtime, source) for source in sources}
    kept = chosen(patterns, [table for found in tables.values() for table in found])
    statements: dict[str, str] = {}
    shown: list[Shown] = []
    for source in sources:
        wanted = tuple(wanted_of(table, terms_of(source, table)) for table in tables[source.name] if table in kept)
        where = address(source, runtime.configuration.path)
        facts, why = _facts(runtime, source, wanted)
        statements[source.name] = dialect_of(where.dialect).missing_sql(where, wanted, facts, _whole(source))
        if source.reads_log and facts is not None:
            statements[source.name] = "\n".join(
                filter(None, (statements[source.name], _log_sql(runtime, source, kept)))
            )
        summary = f"-- {source.name}" + (f" could not be queried: {why}\n-- All that a new role needs:" if why else "")
        shown.append(Note(f"{summary}\n{statements[source.name] or '-- nothing is missing'}", wrap=False))
    return Answer({"sql": statements}, shown)


def _log_sql(runtime: Runtime, source: SourceConfig, kept: Collection[TableId]) -> str:
    database = runtime.database(source.name)
    specs = resolve_all(source, runtime.probe(source.name).catalogue()).specs
    return database.log_sql([spec for spec in specs if spec.id in kept]) if database else ""


def _whole(source: SourceConfig) -> tuple[str, ...]:
    """The schemas of which the tables that are not listed are wanted, too."""
    return source.schemas if source.unlisted == "full_refresh" else ()


def _tables(runtime: Runtime, source: SourceConfig) -> tuple[TableId, ...]:
    """The listed tables, which the database may not have, and the others that it has, readable or not."""
    listed = [terms.id(source.name) for terms in source.tables]
    try:
        resolved = resolve_all(source, runtime.probe(source.name).catalogue())
        seen = [*(spec.id for spec in resolved.specs), *(problem.table for problem in resolved.problems)]
    except (SourceUnreachable, SourceRefused):
        seen = []
    return tuple(dict.fromkeys([*listed, *seen]))


def _facts(runtime: Runtime, source: SourceConfig, wanted: Sequence[Wanted]) -> tuple[SourceFacts | None, str]:
    """The facts, or None and why: the source does not answer, or rejects this user."""
    try:
        database = runtime.database(source.name)
        return database.facts(wanted) if database else None, ""
    except (SourceUnreachable, SourceRefused) as error:
        # One line, for a comment of SQL.
        return None, " ".join(str(error).split())
