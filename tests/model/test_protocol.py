"""The protocol holds whatever happens in whatever order.

What is asserted are the invariants of `protocol.Protocol` and its end; `test_mutants` has known-bad variants of the product fail here.
"""

from hypothesis import settings

from tests.model.protocol import Protocol

TestProtocol = Protocol.TestCase
TestProtocol.settings = settings()
