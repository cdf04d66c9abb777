"""Settings on which an answer depends, and which a server, a user or a proxy may have set: a session sets each itself, reads it back, and asks nothing where it differs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from incremental_assets.core.errors import SourceRefused


@dataclass(frozen=True, slots=True)
class Setting:
    """One of them, with the value that every session of ours has."""

    name: str
    value: str
    """As the database prints it."""
    why: str
    """What another value does to an answer, as half a sentence."""
    former: str = ""
    """The name that it has in other versions."""
    everywhere: bool = True
    """Whether every supported version has it."""

    def name_in(self, found: Mapping[str, str]) -> str | None:
        """The name under which a database tells it; None where it does not tell it."""
        return next((name for name in (self.name, self.former) if name in found), None)


def check_settings(
    place: str, settings: Iterable[Setting], found: Mapping[str, str], refused: Mapping[str, str] | None = None
) -> None:
    """Each has the value that the session has set. Raises SourceRefused, which names the first that has not.

    `found`: what the database tells of the session; `refused`: what it said of those that it did not let the session set.
    """
    for setting in settings:
        name = setting.name_in(found)
        if name is None:
            if setting.everywhere:
                raise SourceRefused(
                    f"{place}: the server does not tell whether the session's `{setting.name}` is {setting.value!r}, which it must be, as otherwise {setting.why}; "
                    "read the server itself, past the proxy that answers for it"
                )
            continue
        if found[name] != setting.value:
            words = (refused or {}).get(setting.name)
            said = f" (the server says: {words})" if words else ""
            raise SourceRefused(
                f"{place}: the session's `{name}` is {found[name]!r} although the session sets it to {setting.value!r}{said}, and so {setting.why}; "
                "allow this user to set it, and have no proxy or trigger set it back"
            )
