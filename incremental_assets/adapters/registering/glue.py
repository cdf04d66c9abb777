"""AWS Glue, by botocore: the client that AWS makes from its own description of the service, with its chain of credentials."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import botocore.session
from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    NoCredentialsError,
    NoRegionError,
    PartialCredentialsError,
)

from incremental_assets.adapters.registering.glue_table import MARK, location_of, table_input, with_ours
from incremental_assets.core.errors import CatalogueUnreachable, IncrementalAssetsError, RegistrationRefused
from incremental_assets.core.model.registration import Described, Place
from incremental_assets.core.model.table_id import TableId

if TYPE_CHECKING:
    from collections.abc import Iterator

Options = Callable[[], Mapping[str, str]]
"""How AWS is reached, beside what the environment says: `region`, `access_key_id`, `secret_access_key`, `session_token`. Asked each time, as keys are rotated."""

_PATIENCE = {"connect_timeout": 5, "read_timeout": 10, "retries": {"mode": "standard", "total_max_attempts": 2}}
"""Seconds: a sync waits for it, and the next one tries again."""
_ATTEMPTS = 3
"""How often a table is read again that somebody else has changed meanwhile."""
_MEANWHILE = ("AlreadyExistsException", "ConcurrentModificationException", "VersionMismatchException")
_REJECTED = (
    "AccessDenied",
    "UnrecognizedClient",
    "InvalidSignature",
    "ExpiredToken",
    "InvalidClientToken",
    "MissingAuthentication",
)
"""How the codes begin by which AWS rejects whoever asks."""


class Glue:
    """One data catalogue: that of the account whose keys are used."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._clients: dict[tuple[tuple[str, str], ...], Any] = {}
        self._lock = threading.Lock()

    def put(self, place: Place, table: TableId, found: Described) -> None:
        """Make the copy known there, or bring what is known of it up to date; another table is left as it is."""
        place = self._in_region(place)
        with explained(place):
            for left in reversed(range(_ATTEMPTS)):
                try:
                    self._put(self._client(place), place, table, found)
                except ClientError as error:
                    if not left or _code(error) not in _MEANWHILE:
                        raise
                else:
                    return

    def check(self, place: Place) -> None:
        """Whether it answers and has that database."""
        place = self._in_region(place)
        with explained(place):
            self._client(place).get_database(Name=place.database)

    def _put(self, client: Any, place: Place, table: TableId, found: Described) -> None:
        ours = table_input(place, table, found)
        there = _table(client, place)
        if there is None:
            client.create_table(DatabaseName=place.database, TableInput=ours)
            return
        _refuse_others(there, place, table, found)
        wanted = with_ours(there, ours)
        if wanted is not None:
            # By its version: what somebody has changed since it was read is read again, and not lost.
            version = {"VersionId": there["VersionId"]} if there.get("VersionId") else {}
            client.update_table(DatabaseName=place.database, TableInput=wanted, **version)

    def _in_region(self, place: Place) -> Place:
        """The region of the lake's store, where the catalogue names none; empty where only the environment says it, which is then that of whoever follows a cure."""
        return place if place.region else replace(place, region=self._options().get("region", ""))

    def _client(self, place: Place) -> Any:
        given = {**self._options(), "region": place.region}
        key = tuple(sorted(given.items()))
        with self._lock:
            if key not in self._clients:
                self._clients = {key: _opened(given)}
            return self._clients[key]


def _opened(given: Mapping[str, str]) -> Any:
    return botocore.session.get_session().create_client(
        "glue",
        region_name=given.get("region") or None,
        aws_access_key_id=given.get("access_key_id"),
        aws_secret_access_key=given.get("secret_access_key"),
        aws_session_token=given.get("session_token"),
        config=Config(**_PATIENCE),
    )


def _table(client: Any, place: Place) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = client.get_table(DatabaseName=place.database, Name=place.table)["Table"]
    except ClientError as error:
        if _code(error) != "EntityNotFoundException":
            raise
        # Of a table, and of its database, which `create_table` then names.
        return None
    return found


def _refuse_others(there: Mapping[str, Any], place: Place, table: TableId, found: Described) -> None:
    """Raises RegistrationRefused for a table that is not the one that was made known here."""
    marked = (there.get("Parameters") or {}).get(MARK)
    location = ((there.get("StorageDescriptor") or {}).get("Location") or "").rstrip("/")
    what = ""
    if marked is None:
        what = "that this program has not made"
    elif marked != str(table):
        what = f"which is the copy of {marked}"
    elif location != location_of(found.location):
        what = f"which lies in {location or 'no place'} and not in {location_of(found.location)}"
    if what:
        raise RegistrationRefused(
            f"there is a table of this name {what}; write another `register: {{glue: …}}`, or remove that table: "
            f"`aws glue delete-table --database-name {place.database} --name {place.table}{_region(place)}`"
        )


@contextmanager
def explained(place: Place) -> Iterator[None]:
    """What AWS and its client say, as one sentence with the cure."""
    try:
        yield
    except ClientError as error:
        raise _explained(error, place) from error
    except NoRegionError as error:
        raise RegistrationRefused(
            "no region is known; write `register: {glue: {region: …}}`, or set AWS_DEFAULT_REGION"
        ) from error
    except (NoCredentialsError, PartialCredentialsError) as error:
        raise CatalogueUnreachable(
            "no credentials of AWS were found; give this process some by its environment, a profile or its machine, or name keys at `stores`"
        ) from error
    except BotoCoreError as error:
        first = next(iter(str(error).splitlines()), type(error).__name__)
        raise CatalogueUnreachable(f"it did not answer ({first}); check network, region and proxy") from error


def _explained(error: ClientError, place: Place) -> IncrementalAssetsError:
    code, said = _code(error), str(error.response.get("Error", {}).get("Message", ""))
    first = next(iter(said.splitlines()), "") or code
    if code == "EntityNotFoundException":
        return RegistrationRefused(
            f"it has no database {place.database}; make it: `aws glue create-database --database-input Name={place.database}{_region(place)}`"
        )
    if code.startswith(_REJECTED):
        return CatalogueUnreachable(
            f"AWS rejects these credentials ({first}); they need glue:GetDatabase, glue:GetTable, glue:CreateTable and glue:UpdateTable, and in Lake Formation the right to create tables in {place.database}"
        )
    if error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 400) >= 500 or "Throttl" in code:
        return CatalogueUnreachable(f"it answers with {code} ({first})")
    return RegistrationRefused(f"AWS refuses it with {code} ({first})")


def _region(place: Place) -> str:
    return f" --region {place.region}" if place.region else ""


def _code(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))
