"""Known-bad variants of the protocol. Each has lost or doubled rows somewhere; the suite must notice every one of them.

Most are the code itself with one thought left out: a piece of its source is replaced, and a piece that is no longer there fails loudly.
"""

from __future__ import annotations

import contextlib
import inspect
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from types import ModuleType
from typing import Any
from unittest import mock

from incremental_assets.core.checks import reconcile
from incremental_assets.core.errors import CommitMissing
from incremental_assets.core.model import key_parts, verified
from incremental_assets.core.model.batch import Batch
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning import clock_steps as clocks
from incremental_assets.core.planning import landed_state, last_read, plan, planner, preflight, settled_bound
from incremental_assets.core.planning.plan import SyncPlan
from incremental_assets.core.planning.report import RowCounts
from incremental_assets.core.planning.target import Commit
from incremental_assets.core.syncing import compact as maintain
from incremental_assets.core.syncing import decide, differing, gone, reading, reset, rollback, sync
from incremental_assets.core.syncing import recovery as recover
from tests.core import stories
from tests.fakes import database, lake, rows, source, stage, world
from tests.fakes.keys import FakeKeys

Variant = Callable[[], AbstractContextManager[object]]


@dataclass(frozen=True)
class Mutant:
    """One variant, and what it is known to do."""

    name: str
    harm: str
    variant: Variant


def without_the_thought(module: ModuleType, function: str, *changes: tuple[str, str]) -> Variant:
    """The function with pieces of its source replaced; `A.b` names a method."""

    @contextmanager
    def changed() -> Iterator[None]:
        owner: Any = module
        *path, name = function.split(".")
        for part in path:
            owner = getattr(owner, part)
        text = textwrap.dedent(inspect.getsource(getattr(owner, name)))
        for old, new in changes:
            assert old in text, f"{module.__name__}.{function} no longer says {old!r}: write its mutant again"
            text = text.replace(old, new)
        made: dict[str, Any] = {}
        code = compile("from __future__ import annotations\n" + text, f"<mutant of {function}>", "exec")
        exec(code, sys.modules[module.__name__].__dict__, made)
        with mock.patch.object(owner, name, made[name]):
            yield

    return changed


def together(*variants: Variant) -> Variant:
    """Several at once."""

    @contextmanager
    def changed() -> Iterator[None]:
        with contextlib.ExitStack() as stack:
            for variant in variants:
                stack.enter_context(variant())
            yield

    return changed


def instead(owner: object, name: str, value: object) -> Variant:
    """One attribute replaced."""
    return lambda: mock.patch.object(owner, name, value)


# --- variants that need more than a piece of source --------------------------------------------------------


def _ends_below(window: Window, value: Any) -> bool:
    return (window.lower is None or window.lower < value) and (window.upper is None or value < window.upper)


_landed = landed_state.landed_state


def _kept_watermark(_spec: Any, _bound: Any, state: State | None) -> Any:
    return state.position.watermark if state else None


def _watermark_of_the_rows_seen(decision: SyncPlan, shown: landed_state.Shown) -> State:
    state = _landed(decision, shown)
    seen = [value for value in (decision.previous_watermark, shown.highest) if value is not None]
    return replace(state, position=replace(state.position, watermark=max(seen, default=None)))


_apply = lake.FakeLake.apply


def _unconfirmed(self: lake.FakeLake, decision: SyncPlan, batch: Batch, state: State) -> Commit:
    try:
        return _apply(self, decision, batch, state)
    except CommitMissing:
        table = self.tables[decision.spec.id]
        return Commit(table.table_id, table.version, RowCounts(), state)


def _unlike_as_it_is_now(*arguments: Any) -> Any:
    return key_parts.unlike(*arguments)


def _differing_as_it_is_now(*asked: Any) -> key_parts.KeyParts:
    return key_parts.differing(*asked)


def _keys_of_the_window(spec: TableSpec, world: database.SimulatedDatabase) -> FakeKeys:
    read = [row for row in world.rows(spec.id) if str(row["updated_at"]) >= "2024-01-29T09:05:00Z"]
    return FakeKeys.of(spec, read)


class _BoundInsideTheSnapshot(world.World):
    """REPEATABLE READ from its first statement on: the rows are as they were before the bound was asked."""

    def ports(self, process: Any = None) -> Any:
        process = process or self.process()
        ports = super().ports(process)
        probe, read = source.FakeProbe(self.database), source.FakeSource(self.database)
        shown: dict[Any, Any] = {}
        asked = probe.observe

        def observe(looks: Any) -> Any:
            for look in looks:
                shown[look.spec.id] = dict(self.database.tables[look.spec.id].rows), self.database.visible()
            process.meet("in the snapshot")
            return asked(looks)

        @contextmanager
        def snapshot(decision: SyncPlan) -> Iterator[source.FakeSnapshot]:
            yield read.take(decision, *shown[decision.spec.id])

        probe.observe = observe  # type: ignore[method-assign]
        read.snapshot = snapshot  # type: ignore[method-assign, assignment]
        return replace(ports, probe=world.Watched(probe, process), source=world.Watched(read, process))


# --- all of them ---------------------------------------------------------------------------------------------

MUTANTS = [
    Mutant(
        "a window that begins above its lower bound",
        "loses the row exactly at the watermark",
        instead(Window, "contains", _ends_below),
    ),
    Mutant(
        "the watermark is the largest cursor of the rows seen",
        "loses what commits late",
        instead(reading, "landed_state", _watermark_of_the_rows_seen),
    ),
    Mutant(
        "the watermark is the clock",
        "loses what commits late",
        without_the_thought(settled_bound, "_settle_time", ("bound.reached - GUARD", "bound.clock")),
    ),
    Mutant("no guard", "loses a transaction that was not shown yet", instead(settled_bound, "GUARD", timedelta(0))),
    Mutant(
        "only open transactions hold the bound, and not the statements that open them",
        "loses what a procedure stamps as of its CALL, and the later transactions of one message",
        without_the_thought(database, "SimulatedDatabase.bound", ("for each in self.statements]", "for each in ()]")),
    ),
    Mutant(
        "a session that stands still before it shows its stamp holds nothing",
        "loses what it commits",
        without_the_thought(database, "SimulatedDatabase.bound", ("if each.idle_since)", "if False)")),
    ),
    Mutant(
        "a transaction without a start is passed over",
        "loses what it commits, in runs that say that they are settled",
        without_the_thought(database, "SimulatedDatabase.bound", ("len(seen) < len(sessions)", "False")),
    ),
    Mutant(
        "prepared transactions are not asked for",
        "loses them: no session holds them any more",
        together(
            without_the_thought(settled_bound, "_settle_time", ("bound.prepared is not None", "False")),
            without_the_thought(settled_bound, "_settle_integer", ("bound.prepared is not None", "False")),
        ),
    ),
    Mutant(
        "the bound is asked inside the snapshot",
        "loses what commits between the two",
        instead(stories, "World", _BoundInsideTheSnapshot),
    ),
    Mutant(
        "numbers are settled by who has a transaction id",
        "loses a number that was drawn and not written yet",
        without_the_thought(
            database,
            "SimulatedDatabase.bound",
            ("if not each.prepared and each.shown", "if not each.prepared and each.xid"),
        ),
    ),
    Mutant(
        "a transaction that was under way at the last read counts as read",
        "loses its rows above the watermark",
        without_the_thought(source, "first_unread", ("if each and each not in open_now", "if False")),
    ),
    Mutant(
        "what was read before the server crashed is believed after it",
        "loses rows of transactions whose numbers were given out a second time",
        without_the_thought(
            last_read,
            "read_already",
            (
                "(kept.started, kept.shape) != (plan.bound.started, _shape(plan))",
                "kept.shape != _shape(plan)",
            ),
        ),
    ),
    Mutant(
        "of a table without an enforced key what was read is not read again",
        "loses one of two equal rows, of which the other was read before",
        without_the_thought(last_read, "_tells_rows_apart", ("and spec.key_enforced", ""), ("bool(spec.key)", "True")),
    ),
    Mutant(
        "the highest number is settled when it is seen",
        "loses lower numbers that commit later",
        without_the_thought(
            settled_bound, "_settle_integer", ("(bound.oldest is None or bound.oldest > pair.clock + GUARD)", "True")
        ),
    ),
    Mutant(
        "a number settles before its row is on disk",
        "loses the row that gets the number after a crash of the source",
        instead(settled_bound, "_on_disk", lambda *_: True),
    ),
    Mutant(
        "a number that was not on disk outlives a crash",
        "loses the row that gets the number next",
        without_the_thought(settled_bound, "_outlived", ("bound.started > earlier.clock", "False")),
    ),
    Mutant(
        "nobody looks whether the clock was put back",
        "loses what is stamped while it comes to the watermark again",
        together(instead(settled_bound, "put_back", lambda *_: None), instead(planner, "put_back", lambda *_: None)),
    ),
    Mutant(
        "only the source's own clock tells that it was put back",
        "loses what was stamped before it had caught up",
        without_the_thought(
            clocks, "_fallen", ("at_most = fell + longest", "at_most = fell"), ("fell + shortest", "fell")
        ),
    ),
    Mutant(
        "the watermark stays where it was when the clock is put back",
        "loses what is stamped below it",
        together(*(instead(module, "still_settled", _kept_watermark) for module in (settled_bound, plan, planner))),
    ),
    Mutant(
        "a run that comes to nothing does not keep that the clock was put back",
        "loses what was stamped meanwhile, if the clock is put forward again before the next look",
        instead(SyncPlan, "noticed", None),
    ),
    Mutant(
        "that the clock was put back matters to one run",
        "loses what a transaction stamps that was open meanwhile",
        instead(clocks, "_still_repeated", lambda *_: None),
    ),
    Mutant(
        "a transaction that began later than now is like any other",
        "loses what it has stamped since the clock was put back, if no earlier run knew the clock",
        instead(clocks, "_ahead", lambda *_: None),
    ),
    Mutant(
        "numbers are settled by the clock of the look alone",
        "loses the number of a transaction that began before the clock was put back",
        without_the_thought(
            settled_bound, "_settle_integer", ("max(bound.clock, bound.newest or bound.clock)", "bound.clock")
        ),
    ),
    Mutant(
        "the cursor is recorded before the data",
        "loses the batch of a run that is killed in between",
        without_the_thought(
            sync,
            "_land",
            (
                'phases.enter("apply")',
                'lease.record(replace(intent, kind=EventKind.LANDED, state=state)); phases.enter("apply")',
            ),
        ),
    ),
    Mutant(
        "no intent",
        "leaves batches behind that nobody knows of",
        without_the_thought(
            sync,
            "_land",
            ("    lease.record(replace(intent, state=plan.noticed))\n", ""),
        ),
    ),
    Mutant(
        "no fence at takeover",
        "lands the sleeper's batch beside its successor's",
        without_the_thought(recover, "_fence", ("ports.writer.fence(spec, fence, None)", "None")),
    ),
    Mutant(
        "a fence that a dead run's last commit overtakes is not written again",
        "needs a second sync after a kill -9 under the engine",
        without_the_thought(recover, "_fence", ("except Overtaken:", "except ZeroDivisionError:")),
    ),
    Mutant(
        "the fence carries the state from before",
        "rebuilds a lost checkpoint table from the wrong position",
        without_the_thought(
            recover,
            "_fence",
            ("ports.writer.fence(spec, fence, None)", "ports.writer.fence(spec, fence, position.state)"),
        ),
    ),
    Mutant(
        "a sequence is read again under its own number, and the commit is not confirmed",
        "loses what lay between the two snapshots",
        together(
            without_the_thought(
                decide,
                "_ticket",
                ("1 + max(position.last_seq, target.seq if target else -1)", "max(0, position.last_seq)"),
            ),
            instead(lake.FakeLake, "apply", _unconfirmed),
        ),
    ),
    Mutant(
        "a commit that raised nothing has landed",
        "loses a batch that was skipped without a word",
        together(
            without_the_thought(
                decide, "_ticket", ("1 + max(position.last_seq, target.seq if target else -1)", "1 + position.last_seq")
            ),
            without_the_thought(recover, "knows_less", ("target.seq > position.last_seq", "False")),
            instead(lake.FakeLake, "apply", _unconfirmed),
        ),
    ),
    Mutant(
        "append without a look at the overlap",
        "doubles what is read twice",
        instead(lake.FakeLake, "unseen", lambda *given: given[-1]),
    ),
    Mutant(
        "a checkpoint table is believed, however old",
        "doubles what landed since in an append",
        without_the_thought(
            recover,
            "knows_less",
            ("return target.seq > position.last_seq or (target.state is not None and", "return (False and"),
        ),
    ),
    Mutant(
        "maintenance writes down what an older checkpoint table believes",
        "doubles what landed since in an append, once that is all that is left to rebuild from",
        without_the_thought(maintain, "compact_table", (" or knows_less(position, target)", "")),
    ),
    Mutant(
        "a lost checkpoint table is rebuilt without a fence",
        "lands the batch of a sleeper that nobody remembers beside the next one's",
        instead(recover, "_fenced", lambda spec, position, target, ports: target),
    ),
    Mutant(
        "a staged batch is not verified",
        "loses what was lost on the way",
        instead(stage.FakeStage, "verify", lambda *_: None),
    ),
    Mutant(
        "a staged batch is discarded after its sequence was closed",
        "leaves it behind when killed in between",
        without_the_thought(
            sync,
            "_land",
            ("ports.stage.discard(spec.id, commit_ids.batch_id)\n    landed", "landed"),
            (
                '    phases.enter("landed")',
                '    ports.stage.discard(spec.id, commit_ids.batch_id)\n    phases.enter("landed")',
            ),
        ),
    ),
    Mutant(
        "the rows of a first load are committed without a sequence",
        "replaces what landed while their run was asleep",
        without_the_thought(lake, "FakeLake.load", ("commit_ids=under", "commit_ids=None")),
    ),
    Mutant(
        "the rows of a first load are not counted before they get a position",
        "loses what was lost on the way",
        without_the_thought(lake, "FakeLake.load", ("len(rows) != snapshot.rows", "False")),
    ),
    Mutant(
        "a first load is one that nobody remembers",
        "replaces what has landed when the checkpoint table is lost beside a cleaned log",
        instead(decide, "loads_directly", lambda spec, request, state, target: state is None and spec.shape.bytes > 0),
    ),
    Mutant(
        "a staged batch is added to the rows of a load that died",
        "lands them twice",
        without_the_thought(lake, "FakeLake.written", (" or not (table.landed or table.cleaned)", "")),
    ),
    Mutant(
        "a number that repeats settles above itself",
        "loses a row that gets the highest number after that has settled",
        without_the_thought(settled_bound, "_after", ("holdback if spec.repeats else holdback - 1", "holdback - 1")),
    ),
    Mutant(
        "a partition that joins is read from the watermark on",
        "loses its rows that were stamped before",
        instead(planner, "reaching", lambda lower, *_: lower),
    ),
    Mutant(
        "a fingerprint outlives a reset",
        "never reads what the reset asked for",
        without_the_thought(planner, "_differs", ("return kept.lower is not None and", "return False and")),
    ),
    Mutant(
        "what is held back has a fingerprint too",
        "never reads it, since nothing moves when its time comes",
        together(
            without_the_thought(source, "FakeProbe._kept", (".clamp_upper(upper)", "")),
            without_the_thought(
                source, "FakeSource.take", ("Window(lower, upper), table", "Window(lower, None), table")
            ),
        ),
    ),
    Mutant(
        "keys are compared with =",
        "lands a row without a key again on every sync",
        together(
            instead(rows, "rejected", lambda *_: ""),
            instead(stage, "rejected", lambda *_: ""),
            instead(lake, "rejected", lambda *_: ""),
            instead(
                lake,
                "key_of",
                lambda spec, row: tuple(object() if row[name] is None else row[name] for name in spec.key),
            ),
        ),
    ),
    Mutant(
        "columns are known by their names alone",
        "mixes the values of two columns that exchanged their names",
        instead(preflight, "check_columns_kept", lambda *_: None),
    ),
    Mutant(
        "what goes to quarantine leaves the copy as it is",
        "shows a version that the source no longer has",
        instead(lake.FakeLake, "withdrawn", lambda *_: set()),
    ),
    Mutant(
        "a reset forgets the sync that died before it",
        "is undone when that one turns out to have landed",
        without_the_thought(reset, "reset_state", ("return rewound if", "return rewound if True or")),
    ),
    Mutant(
        "counts alone tell which keys differ",
        "keeps a row that was deleted beside one that came",
        together(
            instead(gone, "differing", _differing_as_it_is_now),
            without_the_thought(
                key_parts, "differing", ("source.get(part) != held", "_rows(source.get(part)) != held.rows")
            ),
        ),
    ),
    Mutant(
        "what the copy alone has in a part is not looked for again",
        "deletes a row that the source has, by one slip in the arithmetic of parts",
        without_the_thought(
            gone, "gone_keys", ("missing - source.present(missing) if missing else missing", "missing")
        ),
    ),
    Mutant(
        "a source may be empty where its fraction allows it",
        "deletes the whole copy",
        without_the_thought(gone, "check_fraction", (" and gone < rows", "")),
    ),
    Mutant(
        "a table that was truncated is like any other",
        "deletes rows that are just being filled in again",
        without_the_thought(gone, "check_storage", ("not before.rewritten(source.storage)", "True")),
    ),
    Mutant(
        "keys are those of the rows that a sync reads",
        "deletes what lies outside of its window",
        instead(source, "keys_of", _keys_of_the_window),
    ),
    Mutant(
        "keys that are gone are not staged",
        "keeps what was deleted, and takes its comparison for done",
        instead(stage, "_gone", lambda *_: []),
    ),
    Mutant(
        "a backfill compares keys, too",
        "gives the turn of a sync away and deletes where rows were only to be read again",
        without_the_thought(planner, "_compares_keys", ("request.mode is not Mode.SYNC", "False")),
    ),
    Mutant(
        "a replica is compared with wherever it stands",
        "deletes rows that it has not received yet",
        without_the_thought(planner, "_compares_keys", ("(bound.replica and bound.identity is None)", "False")),
    ),
    Mutant(
        "a row that is marked as gone equals one that comes back",
        "keeps it dead",
        without_the_thought(lake, "FakeLake.written", (" if is_live(there)", "")),
    ),
    Mutant(
        "a repair has read all of its window",
        "takes a hole that no sync has read for covered",
        without_the_thought(landed_state, "_covered", (" or plan.request.mode is Mode.REPAIR", "")),
    ),
    Mutant(
        "counts alone tell which rows differ",
        "mends nothing where as many rows are there",
        together(
            instead(differing, "unlike", _unlike_as_it_is_now),
            without_the_thought(
                key_parts,
                "unlike",
                ("one.get(part) != other.get(part)", "_rows(one.get(part)) != _rows(other.get(part))"),
            ),
        ),
    ),
    Mutant(
        "what only the copy has is not read by a repair",
        "keeps a row that the source has changed to one that cannot land",
        without_the_thought(differing, "_sought", ("else missing + extra", "else missing")),
    ),
    Mutant(
        "a repair follows no deletes",
        "keeps what is gone, and the drift with it",
        without_the_thought(planner, "_compares_keys", ("request.mode is Mode.REPAIR", "False")),
    ),
    Mutant(
        "the lowest drift is where verification ends",
        "verifies what no sync has read",
        instead(reconcile, "_lower", lambda drifted, _: drifted),
    ),
    Mutant(
        "a rollback that died behind its commit has taken the quarantine back",
        "keeps rows in quarantine that the copy has never met",
        without_the_thought(recover, "_take_over", ("commit.rolled_back_to is not None", "False")),
    ),
    Mutant(
        "a run that died behind its commit has said what became of held rows",
        "holds rows for ever that were mended long ago",
        without_the_thought(recover, "_take_over", ("spec.contract is not None", "False")),
    ),
    Mutant(
        "a rollback keeps the sequence of then",
        "is committed under a sequence that has landed, and never lands",
        without_the_thought(rollback, "rolled_back", ("seq=seq", "seq=past.seq")),
    ),
    Mutant(
        "what was read again is verified",
        "passes over a window that nobody has compared",
        without_the_thought(verified, "Verified.read_again", ("if left == known.drifted else None", "")),
    ),
]
