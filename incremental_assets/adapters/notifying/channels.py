"""Sends one message by Apprise, which knows the services. The address holds a token and is in no message of ours."""

from __future__ import annotations

from typing import Any

from incremental_assets.core.errors import ChannelDown

_SECONDS = 5
"""For a connection, and for an answer."""


def check(name: str, url: str) -> None:
    """Raises ChannelDown where no service is known by the address. Nothing is sent."""
    _service(name, url)


def send(name: str, url: str, title: str, text: str) -> None:
    """Raises ChannelDown."""
    service = _service(name, url)
    service.socket_connect_timeout = service.socket_read_timeout = _SECONDS
    if not service.notify(body=text, title=title):
        raise ChannelDown(name, "it did not take the message; it is tried again in two minutes")


def _service(name: str, url: str) -> Any:
    from apprise import Apprise

    service = Apprise.instantiate(url, suppress_exceptions=True)
    if service is None:
        raise ChannelDown(name, "its address is of no service that Apprise knows; write it as its pages show")
    return service
