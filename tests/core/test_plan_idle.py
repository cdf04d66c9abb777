"""When does a plan say that there is nothing to do, and what does it keep then?"""

from datetime import timedelta

from incremental_assets.core.captures.database.landed_state import landed_state
from incremental_assets.core.captures.database.position import Settling
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.table import Strategy
from incremental_assets.core.model.window import Window
from tests.core.plans import NOON, landed, marks, moment, nothing, number, planned, seen
from tests.scenario import orders
from tests.snapshots import as_read


def test_an_equal_fingerprint_means_nothing_to_do_and_the_watermark_moves_to_the_bound() -> None:
    spec, mark = orders(), marks(moment("11:00:00"))
    found = nothing(spec, landed(spec, moment("11:00:00"), fingerprint=mark), seen(fingerprint=mark))
    assert found.state is not None
    assert found.state.position.watermark == moment("11:59:58")


def test_what_settled_while_nothing_moved_is_covered_without_a_gap() -> None:
    spec, mark = orders(), marks(moment("11:00:00"))
    state = landed(spec, moment("11:00:00"), fingerprint=mark, coverage=(Window(None, moment("11:00:00")),))
    found = nothing(spec, state, seen(fingerprint=mark))
    assert found.state is not None
    assert found.state.position.coverage == (Window(None, moment("11:59:58")),)
    following = planned(spec, found.state, seen(NOON + timedelta(hours=1)))
    assert landed_state(following, as_read(1, None, None)).position.coverage == (Window(None, moment("12:59:58")),)


def test_nothing_is_recorded_while_even_the_bound_stands_still() -> None:
    spec, mark = orders(), marks(moment("11:00:00"))
    state = landed(spec, moment("11:00:00"), fingerprint=mark)
    assert nothing(spec, state, seen(oldest=NOON - timedelta(hours=5), fingerprint=mark)).state is None


def test_another_fingerprint_means_that_something_moved() -> None:
    spec = orders()
    state = landed(spec, moment("11:00:00"), fingerprint=marks(moment("11:00:00"), "17"))
    assert planned(spec, state, seen(fingerprint=marks(moment("11:00:00"), "18"))).reading.window.lower == moment(
        "11:00:00"
    )


def test_without_a_kept_fingerprint_everything_may_have_moved() -> None:
    assert planned(orders(), landed(orders(), moment("11:00:00")), seen()).reading.window.lower == moment("11:00:00")


def test_a_fingerprint_that_does_not_reach_down_to_what_would_be_read_says_nothing() -> None:
    """The lookback was raised since: rows below the old reach may have come late."""
    spec, mark = orders(lookback=timedelta(hours=2)), marks(moment("10:45:00"))
    state = landed(spec, moment("11:00:00"), fingerprint=mark)
    assert planned(spec, state, seen(fingerprint=mark)).reading.window.lower == moment("09:00:00")


def test_numbers_that_settle_while_nothing_moves_are_kept_as_settled() -> None:
    spec, mark = orders(Strategy.APPEND, cursor="id"), marks(number(31))
    waiting = Settling(CursorValue(CursorType.INTEGER, "40"), NOON - timedelta(hours=1))
    found = nothing(
        spec, landed(spec, number(31), fingerprint=mark, settling=waiting), seen(highest=40, fingerprint=mark)
    )
    assert found.state is not None
    assert (found.state.position.watermark, found.state.position.settling) == (number(41), None)
