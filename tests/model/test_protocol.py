"""The protocol holds whatever happens in whatever order."""

from hypothesis import settings

from tests.model.protocol import Protocol

TestProtocol = Protocol.TestCase
TestProtocol.settings = settings(settings(), stateful_step_count=40)
