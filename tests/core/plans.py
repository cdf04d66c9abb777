"""The plan of a table at noon: from a literal state, and from what was seen of the source."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from incremental_assets.core.captures.database.bound import Bound
from incremental_assets.core.captures.database.observation import DatabaseObservation
from incremental_assets.core.captures.database.position import DatabasePosition, Settling, position_of
from incremental_assets.core.captures.database.stamps import stamps_seen
from incremental_assets.core.captures.planner import plan
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.fingerprint import Fingerprint
from incremental_assets.core.model.source_identity import SourceIdentity
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import CommitIds, Mode, NothingToDo, Request, SyncPlan

NOON = datetime(2024, 1, 31, 12, tzinfo=UTC)
SHOP = SourceIdentity.of(1, 1000, system="7001", database="shop")
SYNC, REFRESH = Request("run"), Request("run", Mode.FULL_REFRESH)


def moment(text: str | None) -> CursorValue | None:
    return None if text is None else CursorValue.parse(CursorType.TIMESTAMP, f"2024-01-31T{text}Z")


def number(value: int | None) -> CursorValue | None:
    return None if value is None else CursorValue(CursorType.INTEGER, str(value))


def marks(lower: CursorValue | None, digest: str = "17") -> Fingerprint:
    return Fingerprint(lower, 1, "x", digest)


def seen(
    clock: datetime = NOON,
    *,
    oldest: datetime | None = None,
    highest: int | None = None,
    fingerprint: Fingerprint | None = None,
    identity: SourceIdentity | None = SHOP,
    prepared: str | None = None,
) -> DatabaseObservation:
    return DatabaseObservation(Bound(clock, oldest, "", prepared, "", "UTC", identity), number(highest), fingerprint)


def landed(
    spec: TableSpec,
    watermark: CursorValue | None = None,
    *,
    max_cursor_read: CursorValue | None = None,
    settling: Settling | None = None,
    **changes: object,
) -> State:
    position = DatabasePosition(watermark, max_cursor_read, settling, stamps=stamps_seen(spec, None, ""))
    kept = State("app", 3, "batch", spec.terms, position, identity=SHOP, clock=NOON - timedelta(hours=1))
    return placed(kept, **changes)


def placed(state: State, **changes: object) -> State:
    """The same, where that is another: of the state, or of its position."""
    own = {name: changes.pop(name) for name in [*changes] if name in DatabasePosition.__dataclass_fields__}
    position = replace(position_of(state), **own)  # type: ignore[arg-type]
    return replace(state, **{"position": position, **changes})  # type: ignore[arg-type]


def planned(
    spec: TableSpec, state: State | None, observation: DatabaseObservation, request: Request = SYNC
) -> SyncPlan:
    found = plan(spec, request, state, CommitIds("app", 4, "next"), observation)
    assert isinstance(found, SyncPlan)
    return found


def nothing(spec: TableSpec, state: State, observation: DatabaseObservation) -> NothingToDo:
    found = plan(spec, SYNC, state, CommitIds("app", 4, "next"), observation)
    assert isinstance(found, NothingToDo)
    return found


def backfill(lower: str, upper: str) -> Request:
    return Request("run", Mode.BACKFILL, Window(moment(lower), moment(upper)))
