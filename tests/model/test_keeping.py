"""Histories, deletes, repairs and rollbacks hold whatever happens in whatever order.

What is asserted are the invariants of `keeping.Keeping` and its end; `test_mutants` has known-bad variants of the product fail here.
"""

from hypothesis import settings

from tests.model.keeping import Keeping

TestKeeping = Keeping.TestCase
TestKeeping.settings = settings()
