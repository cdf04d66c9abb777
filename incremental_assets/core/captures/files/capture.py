"""Capture by files: closed lists of them, each of which one commit lands and enters in a ledger. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from incremental_assets.core.captures.capture import Observation, Read
from incremental_assets.core.captures.files.observation import FilesSeen, News
from incremental_assets.core.captures.files.position import FilesPosition
from incremental_assets.core.captures.files.reading import REASON, FilesReading, of_files, shown_by_files
from incremental_assets.core.captures.files.stops import check_unchanged
from incremental_assets.core.captures.landed import landed
from incremental_assets.core.errors import SelectionError
from incremental_assets.core.model.cures import reset
from incremental_assets.core.model.dropped_file import Changed, DroppedFile
from incremental_assets.core.model.duration import format_duration
from incremental_assets.core.model.guarantee import Guarantee
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import Cursor, TableSpec
from incremental_assets.core.model.window import EVERYTHING, Window
from incremental_assets.core.planning.plan import CommitIds, Mode, NothingToDo, Request, SyncPlan
from incremental_assets.core.planning.preflight import check_terms
from incremental_assets.core.planning.report import SyncReport
from incremental_assets.core.words import agreeing, counted


class FilesCapture:
    """Implements `Capture`."""

    words = "read from its files"
    gone = "no file says so"
    turn = "sync"
    is_whole = False
    finds_differing = False
    tells_changes = False

    def plan(
        self, spec: TableSpec, request: Request, state: State | None, commit_ids: CommitIds, observation: Observation
    ) -> SyncPlan | NothingToDo:
        """The files that are in no page of the ledger, or as many as one sync reads."""
        if not isinstance(observation, FilesSeen):
            raise TypeError(f"{spec.id}: nobody has looked at its files")
        anew, again = request.mode is Mode.FULL_REFRESH, request.mode.reads_again
        if not anew and not again:
            check_terms(spec, state)
        at = FilesPosition() if anew else _position(state)
        news = self._news(spec, request, at, observation)
        warnings = _warnings(news, observation)
        if state is not None and not anew and not again and not news.files:
            return NothingToDo("no file came", Guarantee.SETTLED, REASON, None, None, warnings=warnings)
        reading = FilesReading(
            files=news.files,
            replaced=() if again else tuple(each.path for each in news.changed),
            at=observation.bound.clock,
            before=at,
            begins_anew=anew or state is None,
            is_again=again and bool(at.pages),
        )
        return SyncPlan(spec, request, commit_ids, reading, state, warnings)

    def _news(self, spec: TableSpec, request: Request, at: FilesPosition, seen: FilesSeen) -> News:
        if request.mode is Mode.FULL_REFRESH:
            return News(seen.listing.everything())
        if request.mode.reads_again and at.pages:
            # What has not landed yet is the next sync's.
            return News(seen.listing.known(at))
        news = seen.listing.news(at)
        if seen.changed is Changed.FAIL:
            check_unchanged(spec, news)
        if seen.changed is Changed.IGNORE:
            return News(news.files, news.left)
        return News(_by_path((*news.files, *news.changed)), news.left, news.changed)

    def window(self, spec: TableSpec, request: Request, state: State | None, observation: Observation) -> Window:
        """Files are no cursor."""
        return EVERYTHING

    def noticed(self, plan: SyncPlan) -> State | None:
        """A folder shows again whatever it has shown."""
        return None

    def accepted(self, plan: SyncPlan, snapshot: object) -> SyncPlan:
        """Whoever has read it has seen to it that each file was the one of the list, and tells which columns files lack."""
        return replace(plan, warnings=(*plan.warnings, *shown_by_files(snapshot).warnings))

    def landed(self, plan: SyncPlan, read: Read) -> State:
        """The ledger has the files of the list as well; what was read again moves nothing."""
        reading = of_files(plan)
        if reading.is_again:
            return landed(plan, reading.before, read)
        paths = (reading.before.last, *(each.path for each in reading.files))
        at = FilesPosition(shown_by_files(read.snapshot).pages, max(paths), reading.before.overlaps)
        return landed(plan, at, read)

    def judged(self, plan: SyncPlan, report: SyncReport, state: State) -> tuple[SyncReport, State]:
        """Nothing more."""
        return report, state

    def position(self, document: Mapping[str, Any]) -> FilesPosition:
        """Its own."""
        return FilesPosition.from_json(document)

    def is_news(self, spec: TableSpec, seen: Observation, found: NothingToDo, state: State | None) -> bool:
        """A folder that stays as it is is none."""
        return False

    def moved(self, spec: TableSpec, state: State) -> State:
        """Raises SelectionError: a path of one folder is none of another's."""
        raise SelectionError(
            f"{spec.id}: its files ({state.position}) are known by their paths in one folder, and by none in another; load the table again with {reset(spec)}"
        )

    def counted_by(self, spec: TableSpec) -> Cursor | None:
        """It has no cursor."""
        return None

    def next_look(self, spec: TableSpec, state: State | None) -> datetime | None:
        """At any time."""
        return None


def _position(state: State | None) -> FilesPosition:
    # Under other terms it is only asked for where everything is read again.
    return state.position if state is not None and isinstance(state.position, FilesPosition) else FilesPosition()


def _by_path(files: tuple[DroppedFile, ...]) -> tuple[DroppedFile, ...]:
    return tuple(sorted(files, key=lambda each: each.path))


def _warnings(news: News, seen: FilesSeen) -> tuple[str, ...]:
    waiting, left = seen.listing.waiting, news.left
    found = []
    if left:
        found.append(f"{counted(left, 'file')} more {agreeing(left, 'is', 'are')} read by the next syncs")
    if waiting:
        until = f"until {agreeing(waiting, 'it stays', 'they stay')} as {agreeing(waiting, 'it is', 'they are')} for {format_duration(seen.settle)}"
        why = until if seen.settle else "for the file that says that it is complete"
        found.append(f"{counted(waiting, 'file')} {agreeing(waiting, 'waits', 'wait')} {why}")
    return tuple(found)
