"""The registry of schemas, by the API of Confluent's, which others speak too. A schema never changes, so that each is asked for once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol
from urllib.parse import quote

import requests

from incremental_assets.core.errors import SourceRefused, SourceUnreachable

_SECONDS = (10.0, 30.0)
"""For a connection, and for an answer."""
_ACCEPT = "application/vnd.schemaregistry.v1+json, application/json"
_UNKNOWN = frozenset({40401, 40402, 40403})
"""That it has no such subject, version or schema; any other answer of this kind is of a server that is no registry."""
_REFUSED = (401, 403)
_LATER = (408, 429)


class UnknownSchema(LookupError):
    """The registry has no schema of this number, or one that is none of Avro; the text says which."""


class Registry(Protocol):
    """Where schemas are. Raises SourceUnreachable, SourceRefused."""

    def schema(self, number: int) -> tuple[str, ...]:
        """Its text, and before it those that it refers to. Raises UnknownSchema."""


class HttpRegistry:
    """Implements `Registry`. Connects with the first question."""

    def __init__(self, source: str, url: str, ca: str = "", access: tuple[str, str] | None = None) -> None:
        self._source, self._url, self._ca = source, url, ca
        self._session = requests.Session()
        self._session.auth = access
        self._session.headers["Accept"] = _ACCEPT
        self._known: dict[int, tuple[str, ...]] = {}

    def schema(self, number: int) -> tuple[str, ...]:
        """A number that is not there is asked for again: it may be registered by then."""
        if number not in self._known:
            found: dict[str, str] = {}
            self._gather(self._asked(f"/schemas/ids/{number}", "it"), "", found)
            self._known[number] = tuple(found.values())
        return self._known[number]

    def _gather(self, answer: Mapping[str, Any], name: str, found: dict[str, str]) -> None:
        """The text of an answer, behind those that it refers to by their names."""
        kind = answer.get("schemaType", "AVRO")
        if kind != "AVRO":
            raise UnknownSchema(f"that is one of {kind}, and none of Avro")
        for each in answer.get("references") or ():
            if each["name"] not in found:
                where = f"/subjects/{quote(each['subject'], safe='')}/versions/{each['version']}"
                self._gather(self._asked(where, f"{each['name']}, to which it refers"), each["name"], found)
        found[name] = answer["schema"]

    def _asked(self, path: str, what: str) -> Mapping[str, Any]:
        try:
            # Of a session, REQUESTS_CA_BUNDLE would count for more.
            answer = self._session.get(self._url + path, timeout=_SECONDS, verify=self._ca or True)
        except requests.exceptions.SSLError as error:
            raise SourceRefused(
                f"{self._source}: the certificate of the schema registry at {self._url} is not the one that is expected ({_reason(error)}); correct `ca` of `schema_registry`, or its `url`"
            ) from None
        except requests.RequestException as error:
            raise SourceUnreachable(
                f"{self._source}: the schema registry at {self._url} does not answer ({_reason(error)}); check `url` of `schema_registry` and the network, and try again"
            ) from None
        if answer.status_code in _REFUSED:
            raise SourceRefused(
                f"{self._source}: the schema registry at {self._url} refuses this user ({answer.status_code}); correct `user` and `password` of `schema_registry`, or let it read schemas"
            )
        if answer.status_code in _LATER or answer.status_code >= 500:
            raise SourceUnreachable(
                f"{self._source}: the schema registry at {self._url} cannot answer now ({answer.status_code}); try again"
            )
        said = _document(answer)
        if answer.status_code == 404 and said.get("error_code") in _UNKNOWN:
            raise UnknownSchema(f"the registry does not have {what}")
        if answer.status_code != 200 or not _is_schema(said):
            raise SourceRefused(
                f"{self._source}: what answers at {self._url} is no schema registry ({answer.status_code}); correct `url` of `schema_registry`"
            )
        return said


def _is_schema(said: Mapping[str, Any]) -> bool:
    referred = said.get("references") or []
    named = {"name", "subject", "version"}
    return isinstance(said.get("schema"), str) and all(
        isinstance(each, dict) and named <= each.keys() for each in referred
    )


def _document(answer: requests.Response) -> Mapping[str, Any]:
    try:
        found = answer.json()
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _reason(error: Exception) -> str:
    """The last of the causes, which says what happened; those around it repeat the address."""
    inner = error.args[0] if error.args else error
    while (
        isinstance(inner := getattr(inner, "reason", inner), Exception)
        and inner.args
        and isinstance(inner.args[-1], Exception)
    ):
        inner = inner.args[-1]
    return str(inner).partition(": ")[2] or str(inner)
