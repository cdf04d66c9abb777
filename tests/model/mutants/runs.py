"""Runs that die, sleep or are overtaken: intent, sequence, fence, and a lost checkpoint table."""

from __future__ import annotations

from incremental_assets.core.errors import CommitMissing
from incremental_assets.core.maintenance import compact as maintain
from incremental_assets.core.model.batch import Batch
from incremental_assets.core.model.state import State
from incremental_assets.core.planning.plan import SyncPlan
from incremental_assets.core.planning.report import RowCounts
from incremental_assets.core.planning.target import Commit
from incremental_assets.core.syncing import decide, sync
from incremental_assets.core.syncing import recovery as recover
from tests.fakes import lake, stage
from tests.model.mutants.variant import Mutant, instead, together, without_the_thought

_apply = lake.FakeLake.apply


def _unconfirmed(self: lake.FakeLake, decision: SyncPlan, batch: Batch, state: State) -> Commit:
    try:
        return _apply(self, decision, batch, state)
    except CommitMissing:
        table = self.tables[decision.spec.id]
        return Commit(table.table_id, table.version, RowCounts(), state)


MUTANTS = [
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
            ("    lease.record(replace(intent, state=capture_of(spec).noticed(plan)))\n", ""),
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
        without_the_thought(maintain, "as_last_left", (" or knows_less(position, target)", "")),
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
            ("ports.stage.discard(spec.id, commit_ids.batch_id)\n    report", "()\n    report"),
            (
                '    phases.enter("landed")',
                '    ports.stage.discard(spec.id, commit_ids.batch_id)\n    phases.enter("landed")',
            ),
        ),
    ),
]
