"""First loads range by range hold whatever happens in whatever order.

What is asserted are the invariants of `ranged.Ranged` and its end.
"""

from hypothesis import settings

from tests.model.ranged import Ranged

TestRanged = Ranged.TestCase
TestRanged.settings = settings()
