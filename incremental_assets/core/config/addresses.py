"""Addresses in sources.yaml: the form of each, and what a relative one is relative to. None contains a secret."""

from __future__ import annotations

import re
from pathlib import Path

_SCHEME = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<authority>[^/?]*)")
_S3 = ("s3", "s3a")
"""One store: the second name is that of Hadoop, by which Spark knows it and a lake is called everywhere."""
_LAKES = (*_S3, "abfss", "gs", "hdfs")
_BUCKETS = (*_S3, "gs")
"""Of these the address begins with a bucket, and not with a server."""
_ALMOST = re.compile(rf"\s*({'|'.join(_LAKES)}):/")
_CARRIES_NONE = "an address carries no secret; `stores` has its keys, as references: {access_key_id: {env: NAME}, secret_access_key: {env: NAME}}"
_SQLITE = re.compile(r"sqlite(?:\+pysqlite)?:///(?P<path>[^?]+)(?P<query>\?.*)?")
_POSTGRESQL = re.compile(r"postgresql(?:\+psycopg)?://(?P<rest>[^?]+(?P<query>\?.*)?)")

_BREAKS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
"""What would begin another line of a message, or move a terminal's cursor."""
_LONGEST = 4_096


def checked_host(name: str) -> str:
    """A host's name or address, and nothing that could smuggle more into a connection string."""
    # With one colon it is host:port; an IPv6 address has two or more.
    if not re.fullmatch(r"[\w.:%-]+", name) or name.count(":") == 1:
        raise ValueError("write the host's name or address alone; port, database and user have keys of their own")
    try:
        # As the drivers will ask for it.
        name.encode("idna")
    except UnicodeError:
        raise ValueError(
            "a host's name has up to 63 letters between two dots; write the name as the network resolves it"
        ) from None
    return name


def checked_name(name: str) -> str:
    """The name of a database or a user, or the path of a file. ValueError where it is too long for either, or would break a message into lines."""
    if len(name) > _LONGEST or _BREAKS.search(name):
        raise ValueError(f"write one line of up to {_LONGEST:,} letters")
    return name


def checked_lake(text: str) -> str:
    """A local path, or a URI of a store that Spark can reach."""
    match = _SCHEME.match(text)
    is_almost_one = bool(_ALMOST.match(text)) if match is None else text != text.rstrip()
    if is_almost_one:
        raise ValueError("write the address of a store as s3://bucket/lake, with two slashes and no blank around it")
    if match is None:
        return text
    if match["scheme"] not in _LAKES:
        known = ", ".join(f"{scheme}://" for scheme in _LAKES)
        raise ValueError(f"the lake is a local path or one of {known}")
    if ":" in match["authority"].partition("@")[0] and "@" in match["authority"]:
        raise ValueError(_CARRIES_NONE)
    if re.search(r"[#?%]", text):
        raise ValueError(
            "in a store, write it without `#`, `?` and `%`: what reads Delta tables takes the address for a URL, in which these are no part of a name"
        )
    return checked_name(checked_key(text))


def checked_key(address: str) -> str:
    """An address in a store, whose keys have no folders as a disk has them: one without a name, or that leads back, is none."""
    match = _SCHEME.match(address)
    if match is not None and match["scheme"] in _BUCKETS:
        _check_bucket(match["authority"], match["scheme"])
    path = address[match.end() :].removeprefix("/").rstrip("/") if match else ""
    if path and {"", ".", ".."} & set(path.split("/")):
        raise ValueError(
            "in a store each folder has a name; write it without `//`, `.` and `..`, as in s3://bucket/lake"
        )
    return address


def _check_bucket(name: str, scheme: str) -> None:
    if "@" in name:
        raise ValueError(_CARRIES_NONE)
    if not name:
        raise ValueError("write the name of the bucket, as in s3://bucket/lake")
    if not re.fullmatch(r"[\w.-]+", name):
        known = name.partition(":")[0]
        bucket = known if re.fullmatch(r"[\w.-]+", known) else "BUCKET"
        server = f"; its server is `stores: {{{bucket}: {{endpoint: https://…}}}}`" if scheme in _S3 else ""
        raise ValueError(f"write the name of the bucket alone{server}")


def bucket_of(address: str) -> str:
    """The bucket of an address in S3; empty for one elsewhere."""
    match = _SCHEME.match(address)
    return match["authority"] if match is not None and match["scheme"] in _S3 else ""


def checked_endpoint(text: str) -> str:
    """The address of a store's server, without a path."""
    if not re.fullmatch(r"https?://[^/@\s]+/?", text):
        raise ValueError("write https://host or https://host:port; the bucket is in the address of the lake")
    return text.rstrip("/")


def checked_checkpoints(url: str) -> str:
    """A SQLAlchemy URL of SQLite in a file or of PostgreSQL through psycopg."""
    postgresql = _POSTGRESQL.fullmatch(url)
    if (postgresql is None and _SQLITE.fullmatch(url) is None) or ":memory:" in url:
        raise ValueError(
            "write sqlite:///path/to/checkpoints.db, or postgresql://user@host/database when more than one machine writes"
        )
    if postgresql is not None and _has_password(postgresql["rest"]):
        raise ValueError(
            "an address carries no secret; leave the password out, the driver finds it in ~/.pgpass or PGPASSFILE"
        )
    return url


def checked_remote(text: str) -> str:
    """`auto`, or the address of a Spark Connect server."""
    if text != "auto" and not re.fullmatch(r"sc://[^/;\s]+(/(;\S*)?)?", text):
        raise ValueError("remote is `auto` or sc://host:port")
    if re.search(r";\s*token=", text, re.IGNORECASE):
        raise ValueError(
            "an address carries no secret; put the token into the environment as SPARK_CONNECT_AUTHENTICATE_TOKEN"
        )
    return text


def checked_master(text: str) -> str:
    """The master of a cluster, or `local[…]` for a session on this machine."""
    if not re.fullmatch(r"(spark|k8s)://\S+|yarn|local(\[(\*|[1-9]\d*)(,[1-9]\d*)?\])?", text):
        raise ValueError("master is spark://…, k8s://…, yarn or local[*]")
    return text


def resolved_place(text: str, folder: Path) -> str:
    """An absolute path, or the URI without a slash at its end; one of S3 as Hadoop writes it, so that a table has one address."""
    if _SCHEME.match(text) is None:
        return str(absolute(text, folder))
    scheme, _, rest = text.rstrip("/").partition("://")
    return f"{'s3a' if scheme in _S3 else scheme}://{rest}"


def resolved_checkpoints(url: str, folder: Path) -> str:
    """The URL with its driver named and, for SQLite, an absolute path."""
    sqlite = _SQLITE.fullmatch(url)
    if sqlite is not None:
        return f"sqlite:///{absolute(sqlite['path'], folder)}{sqlite['query'] or ''}"
    return f"postgresql+psycopg://{url.partition('://')[2]}"


def absolute(text: str, folder: Path) -> Path:
    """A path of the file, which is relative to the file's own folder."""
    return Path(folder, Path(text).expanduser()).resolve()


def ignores_case(lake: str) -> bool:
    """Whether two names that differ by case alone would be one folder of the lake; the stores of URIs tell them apart."""
    if _SCHEME.match(lake):
        return False
    existing = next(folder for folder in (Path(lake), *Path(lake).parents) if folder.exists())
    # The root has no name, and what lies in it has.
    named = existing if existing.name else next(existing.iterdir())
    swapped = named.with_name(named.name.swapcase())
    return swapped.name != named.name and swapped.exists() and swapped.samefile(named)


def _has_password(rest: str) -> bool:
    user, at, _ = rest.rpartition("@")
    return bool(at and ":" in user) or re.search(r"[?&]password=", rest) is not None
