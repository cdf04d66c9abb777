"""Rows that a contract holds, and those that cannot land, as the lake is asked for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from incremental_assets.adapters.databases.measure import placed_by_value, text_hash
from incremental_assets.adapters.delta import plane
from incremental_assets.adapters.delta.beside import is_quarantine_whole
from incremental_assets.adapters.delta.commit_metadata import Kind
from incremental_assets.adapters.delta.errors import explained
from incremental_assets.adapters.delta.lake_part import LakePart
from incremental_assets.adapters.delta.log.idle_look import last_commit
from incremental_assets.adapters.delta.log.transaction_log import open_log
from incremental_assets.adapters.delta.quarantine.held import held_rows, holds_these
from incremental_assets.adapters.delta.quarantine.names import rename_quarantine
from incremental_assets.adapters.delta.quarantine.unfit import unfit_keys, unfit_rows
from incremental_assets.adapters.delta.quarantine.unit import Came, KeyTexts
from incremental_assets.core.errors import TargetChanged
from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.paths import quarantine_path, staging_path, table_path
from incremental_assets.core.model.quarantine import HeldRows, UnfitRows
from incremental_assets.core.model.table import TableSpec


class LakeQuarantine(LakePart):
    """Implements `core.ports.LakeQuarantine`."""

    def held(self, spec: TableSpec) -> HeldRows | None:
        """Rows that the table's contract holds, without Spark; None where only a session could tell, or some are gone."""
        return held_rows(self._lake, spec) if self._is_whole(spec) else None

    def unfit(self, spec: TableSpec) -> UnfitRows | None:
        """Rows that cannot land, without Spark; None where only a session could tell, or some are gone."""
        return unfit_rows(self._lake, spec) if self._is_whole(spec) else None

    def _is_whole(self, spec: TableSpec) -> bool:
        """Whether the quarantine is as far as the copy's last commit says. Of a log that cannot be read, the table's own sync says what is wrong."""
        try:
            return is_quarantine_whole(self._lake, spec, last_commit(table_path(self._lake, spec.id)))
        except TargetChanged:
            return False

    def held_cursors(self, spec: TableSpec) -> tuple[CursorValue, ...] | None:
        """The cursors of the rows that the contract holds, each once; None where it holds none."""
        held = held_rows(self._lake, spec)
        if held is not None and not held.rows:
            return None
        session = self._session()
        from incremental_assets.adapters.delta import held_frames
        from incremental_assets.adapters.delta.quarantine import waiting

        with explained(spec.id, self._lake):
            return plane.read(
                f"{spec.id}: the cursors of what is held are read",
                lambda: waiting.cursors(self._tasks, self._lake, spec),
                lambda: held_frames.cursors(session, quarantine_path(self._lake, spec.id), spec),
            ).result

    def waiting_keys(self, spec: TableSpec) -> frozenset[str]:
        """The canonical texts of their keys, and of those of rows that cannot land."""
        with explained(spec.id, self._lake):
            return frozenset(self._keys(spec))

    def held_places(self, spec: TableSpec) -> frozenset[int]:
        """Where the keys of the rows lie that the contract holds."""
        held = held_rows(self._lake, spec)
        if held is not None and not held.rows:
            return frozenset()
        with explained(spec.id, self._lake):
            texts = self._held_keys(spec)
        return frozenset(map(int if placed_by_value(spec) else text_hash, texts))

    def settle_gone(self, spec: TableSpec, keys: AbstractSet[str]) -> None:
        """Resolve rows that wait and are gone from the source, by the canonical texts of their keys."""
        site = self._site()
        from incremental_assets.adapters.delta.quarantine import settling

        with explained(spec.id, self._lake), self._committing(spec):
            texts = self._keys(spec)
            settling.resolve_gone(site, spec, [each for text in keys for each in texts.get(text, ())])

    def _keys(self, spec: TableSpec) -> Mapping[str, Sequence[KeyTexts]]:
        """As the quarantine has them, by their canonical texts."""
        found: dict[str, list[KeyTexts]] = {}
        held = held_rows(self._lake, spec)
        told = [unfit_keys(self._lake, spec), self._held_keys(spec) if held is None or held.rows else {}]
        for each in told:
            for text, keys in each.items():
                found.setdefault(text, []).extend(keys)
        return found

    def _held_keys(self, spec: TableSpec) -> Mapping[str, Sequence[KeyTexts]]:
        session = self._session()
        from incremental_assets.adapters.delta import held_frames
        from incremental_assets.adapters.delta.quarantine import waiting

        return plane.read(
            f"{spec.id}: the keys of what is held are read",
            lambda: waiting.keys(self._tasks, self._lake, spec),
            lambda: held_frames.keys(session, quarantine_path(self._lake, spec.id), spec),
        ).result

    def settle_landed(self, spec: TableSpec, batch_id: str) -> None:
        """Resolve what a batch has overtaken whose run died between its commit and this; of one that is not staged any more, that was done. A rename is followed."""
        staged, log = staging_path(self._lake, spec.id, batch_id), open_log(table_path(self._lake, spec.id))
        ours = log.ours() if log else ()
        done = next((commit for commit in ours if commit.note and commit.note.batch_id == batch_id), None)
        landed = done.note if done else None
        if log and done and landed and landed.renames:
            with explained(spec.id, self._lake), self._committing(spec):
                rename_quarantine(self._session, self._lake, spec, log, done)
            return
        waiting = (held_rows(self._lake, spec), unfit_rows(self._lake, spec))
        if landed is None or not any(each is None or each.rows for each in waiting):
            return
        site = self._site()
        from incremental_assets.adapters.delta.quarantine import settling

        with explained(spec.id, self._lake), self._committing(spec):
            if holds_these(staged, spec):
                came = Came(spec, staged, landed.kind is Kind.OVERWRITE, landed.seq)
                settling.settle(site, came)
