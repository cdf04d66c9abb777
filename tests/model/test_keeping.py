"""Histories, deletes, repairs and rollbacks hold whatever happens in whatever order."""

from hypothesis import settings

from tests.model.keeping import Keeping

TestKeeping = Keeping.TestCase
TestKeeping.settings = settings()
