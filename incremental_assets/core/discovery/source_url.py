"""A database's URL as the keys of a source. A password in it is refused, and no message shows any part of such a URL. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from incremental_assets.core.config.dialects import dialect_of_scheme, facts_of
from incremental_assets.core.discovery.written import scalar
from incremental_assets.core.errors import SelectionError

_FORM = "write dialect://user@host:port/database, or dialect:///path of a file"


@dataclass(frozen=True, slots=True)
class SourceUrl:
    """The address of a source and the user who connects; of a file only `dialect` and `database`. `tls` is empty where the default for the host applies."""

    dialect: str
    host: str
    port: int | None
    user: str
    database: str
    tls: str = ""

    @property
    def name(self) -> str:
        """What the source is called: its database, as a source may be named."""
        stem = self.database.rpartition("/")[2].partition(".")[0] if facts_of(self.dialect).is_file else self.database
        plain = re.sub(r"[^A-Za-z0-9]+", "_", stem).strip("_")
        return plain if re.match(r"[A-Za-z]", plain) else f"source_{plain}".rstrip("_")

    @property
    def variable(self) -> str:
        """The environment variable that a password is looked for in."""
        return f"{self.name.upper()}_PASSWORD"

    def keys(self, *, has_password: bool) -> list[str]:
        """The lines of the source that say where it is."""
        if facts_of(self.dialect).is_file:
            return [f"dialect: {self.dialect}", f"database: {scalar(self.database)}"]
        lines = [f"dialect: {self.dialect}", f"host: {scalar(self.host)}"]
        lines += [f"port: {self.port}"] if self.port else []
        lines += [f"database: {scalar(self.database)}", f"user: {scalar(self.user)}"]
        reference = f"password: {{env: {self.variable}}}"
        lines.append(reference if has_password else f"# {reference}   # it let this user in without one")
        lines += [f"tls: {self.tls}"] if self.tls else []
        return lines


def parse_url(text: str) -> SourceUrl:
    """SelectionError says what to write."""
    try:
        found = urlsplit(text)
        port = found.port
    except ValueError:
        raise SelectionError(f"that is no address of a database; {_FORM}") from None
    if not found.scheme or "://" not in text:
        raise SelectionError(f"that is no address of a database; {_FORM}")
    _refuse_password(found)
    try:
        dialect = dialect_of_scheme(found.scheme)
    except ValueError as error:
        raise SelectionError(str(error)) from None
    if facts_of(dialect).is_file:
        # As SQLAlchemy has it: three slashes before a relative path, four before an absolute one.
        path = unquote(found.path.removeprefix("/"))
        if found.netloc or not path:
            raise SelectionError(f"a file has no host and needs a path; write {dialect}:///path/to/file")
        return SourceUrl(dialect, "", None, "", path)
    user, database = unquote(found.username or ""), unquote(found.path.removeprefix("/"))
    if not (user and found.hostname and database):
        raise SelectionError(f"user, host and database are needed; write {dialect}://user@host:port/database")
    return SourceUrl(dialect, found.hostname, port, user, database, _tls(found.query))


def _refuse_password(found: SplitResult) -> None:
    if found.password is not None or "password" in {name.lower() for name, _ in parse_qsl(found.query)}:
        raise SelectionError(
            "the address holds a password, which the history of the shell and the list of processes show to others: leave it out, "
            "and put it into the environment variable <DATABASE>_PASSWORD, such as SHOP_PASSWORD for the database shop"
        )


def _tls(query: str) -> str:
    """`?sslmode=` is the one that is known, in the words of the key `tls`."""
    given = dict(parse_qsl(query, keep_blank_values=True))
    mode = given.pop("sslmode", "")
    if given or mode not in ("", "verify-full", "verify-ca", "require", "disable"):
        raise SelectionError(
            "after the `?` only sslmode=verify-full, verify-ca, require or disable is known; set everything else in the file"
        )
    return mode
