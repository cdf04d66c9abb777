"""`engine`: the local Spark Connect server that runs share, and the fork server of which commands are forks."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incremental_assets.cli.answer import DONE, FAILED, Answer, Note, Shown
from incremental_assets.cli.opening import configured_or_demo, dagster_home
from incremental_assets.core.config.settings import Configuration
from incremental_assets.core.model.duration import format_duration

if TYPE_CHECKING:
    from incremental_assets.adapters.spark.connect_server import Health
    from incremental_assets.adapters.spark.server_record import Announced

_MEGABYTE = 2**20


def run(config: Path | None, action: str) -> Answer:
    """Run the command."""
    configuration = configured_or_demo(config)
    dagster_home()
    return {"start": _start, "stop": _stop, "status": _status}[action](configuration)


def _start(configuration: Configuration) -> Answer:
    from incremental_assets.adapters.fork_server import control
    from incremental_assets.adapters.permissions import own_folder
    from incremental_assets.adapters.spark import connect_server as server
    from incremental_assets.resources.home import engine_folder

    folder = own_folder(engine_folder())
    starting = control.start(folder, configuration.secrets)
    try:
        engine, started = server.start(folder, without=configuration.secrets)
    except BaseException:
        if starting:
            starting.give_up()
        raise
    complaint = starting.finish() if starting else ""
    summary = "started" if started else "was running already"
    shown: list[Shown] = [
        Note(f"the engine {summary}: pid {engine.process.pid} at {engine.address}, log {engine.log}", "good")
    ]
    if not configuration.shares_engine:
        shown.append(
            Note(
                f"no run of {configuration.path} will use it: `spark` or `lake` there name a Spark, or a store, elsewhere",
                "warn",
            )
        )
    if complaint:
        shown.append(Note(complaint, "warn"))
    return Answer({"running": True, "started": started, **_document(engine)}, shown)


def _stop(_: Configuration) -> Answer:
    from incremental_assets.adapters.fork_server import control
    from incremental_assets.adapters.spark import connect_server as server
    from incremental_assets.resources.home import engine_folder

    control.stop(engine_folder())
    ended = server.stop(engine_folder())
    summary = f"the engine (pid {ended.process.pid}) has ended" if ended else "no engine was running"
    return Answer({"running": False, "stopped": ended is not None}, (Note(summary, "good"),))


def _status(_: Configuration) -> Answer:
    from incremental_assets.adapters.fork_server import control
    from incremental_assets.adapters.spark import connect_server as server
    from incremental_assets.resources.home import engine_folder

    forks = control.running(engine_folder())
    found = server.look(engine_folder())
    if found is None:
        return Answer(
            {"running": False}, (Note("no engine is running; each run opens its own session", "dim"),), FAILED
        )
    engine = found.engine
    document = {
        "running": True,
        "usable": not found.unusable,
        "reason": found.unusable or None,
        **_document(engine),
        "resident_bytes": found.resident,
        "fork_server": forks,
        "kept_seconds": engine.idle or None,
        "ends": found.ends.isoformat() if found.ends else None,
    }
    minutes = (datetime.now(UTC) - engine.since).total_seconds() / 60
    shown = [
        Note(f"the engine is running: pid {engine.process.pid} at {engine.address}", "good"),
        Note(
            f"since {engine.since:%Y-%m-%d %H:%M:%S} UTC, {minutes:,.0f} minutes; Spark {engine.spark}, log {engine.log}"
        ),
        Note(f"memory {found.resident // _MEGABYTE:,} MB, of which Spark may have {engine.memory} for its data"),
    ]
    if engine.idle:
        shown.append(Note(f"a run has left it behind, and {end_of(found)}"))
    if forks is not None:
        shown.append(Note(f"commands and runs begin as forks of pid {forks}, which has imported what they need"))
    if found.unusable:
        shown.append(Note(found.unusable, "bad"))
    return Answer(document, shown, FAILED if found.unusable else DONE)


def end_of(found: Health) -> str:
    """When a kept engine ends, as the rest of a sentence."""
    if found.ends is None:
        return f"it is used now; it ends {format_duration(found.engine.patience)} after that"
    return f"it ends at {found.ends:%H:%M:%S} UTC if nobody uses it before"


def _document(engine: Announced) -> dict[str, Any]:
    """The engine in `--json`, without its token."""
    return {
        "address": engine.address,
        "pid": engine.process.pid,
        "since": engine.since.isoformat(),
        "spark": engine.spark,
        "memory": engine.memory,
        "log": engine.log,
    }
