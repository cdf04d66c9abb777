"""A lake in a store of objects. Its answer is not the truth: a request that has landed may be answered by an error, and one that has not by "it is there"."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import timedelta
from functools import cached_property
from itertools import count, islice
from threading import Lock
from typing import Any, TypeVar

import obstore
import pyarrow as pa
from obstore.exceptions import BaseError

from incremental_assets.adapters.lake_store import credentials, patience
from incremental_assets.adapters.lake_store.explained import (
    THROTTLED,
    cure,
    explained,
    is_denied,
    is_throttled,
    lacks_bucket,
    no_bucket,
    refused,
    told,
)
from incremental_assets.adapters.lake_store.ranges import Ranges
from incremental_assets.adapters.lake_store.sink import Sink
from incremental_assets.adapters.lake_store.store import Head, NotOffered, Promises
from incremental_assets.core.errors import IncrementalAssetsError, LakeRefused, StoreUnreachable

Answer = TypeVar("Answer")

_TRIES = 5
"""How often a file is put whose fate a store did not tell, unless that is because it throttles."""
_FIRST_PAUSE_SECONDS = 0.1
"""Before the second time; twice as long before each that follows."""
_PART_BYTES = 16 * 2**20
"""A file of up to so many bytes is one request; of a larger one, these are the parts."""
_REMOVED_AT_ONCE = 1000
"""Files that one request removes, at the most."""
_PARTS_AT_ONCE = 2
"""How many parts are on their way while the next one is written: so many a task holds."""
_RETRY_SECONDS = 30.0
_RETRY = {
    "max_retries": 20,
    "retry_timeout": timedelta(seconds=_RETRY_SECONDS),
    "backoff": {"init_backoff": timedelta(milliseconds=200), "max_backoff": timedelta(seconds=5), "base": 3},
}
"""A store that is busy says so (503) for seconds, which must not cost a load of hours. One that throttles is asked again for longer, see `patience`: one that is not there is not."""
_HASTY = {"max_retries": 2, "retry_timeout": timedelta(seconds=5)}
"""For a while after a request that waited in vain: others would wait as long, one after the other."""
_SILENT_SECONDS = 60.0
_CLIENT = {"timeout": timedelta(seconds=30), "connect_timeout": timedelta(seconds=10)}
_KEYS = ("aws_access_key_id", "aws_secret_access_key", "aws_session_token")
_RIGHTS = {"list": "s3:ListBucket", "get": "s3:GetObject", "put": "s3:PutObject", "remove": "s3:DeleteObject"}
"""What S3 calls the rights that a role may lack, by what is asked."""
_UNKNOWN = "501 Not Implemented"
"""What a store says that knows no condition of a put."""


def client(root: str, options: Mapping[str, str], retry: Mapping[str, Any] | None = None) -> Any:
    """The client of a bucket, with deadlines and retries of ours. Raises LakeRefused where nobody has credentials for it."""
    credentials.check(root, options)
    plain = {"allow_http": True} if options.get("aws_endpoint", "").startswith("http://") else {}
    from_url: Any = obstore.store.from_url
    config = {name: value for name, value in options.items() if name not in _KEYS}
    keys = {"credential_provider": _Keys(options)} if options.get(_KEYS[0]) else {}
    return from_url(root, config=config, client_options={**_CLIENT, **plain}, retry_config=retry or _RETRY, **keys)


def patient() -> Mapping[str, Any]:
    """Retries for as long as this process has patience now, whatever goes wrong."""
    return {**_RETRY, "max_retries": 60, "retry_timeout": timedelta(seconds=patience.seconds())}


class _Keys:
    """Those of the configuration and nothing beside them: by itself the client adds a session token of the environment, which is of another key, and no secret of this store."""

    def __init__(self, options: Mapping[str, str]) -> None:
        names = zip(("access_key_id", "secret_access_key", "token"), _KEYS, strict=True)
        self._found = {**{name: options.get(key) or None for name, key in names}, "expires_at": None}

    def __call__(self) -> Mapping[str, Any]:
        return self._found


class ObjectStore:
    """Implements `LakeStore` by one bucket. `root`: its address, which begins every key."""

    def __init__(self, root: str, options: Mapping[str, str]) -> None:
        self._root, self._options = root, options
        self._rights = _RIGHTS if root.startswith("s3") else {}
        # Of S3, no log store that Delta has released asks whether a version is there.
        self.promises = Promises(whole=True, paged=True, locks=False, spark_commits=not root.startswith("s3"))
        self._patient, self._hasty = client(root, options), client(root, options, _HASTY)
        self._silent_until = 0.0
        self._lock = Lock()
        self._is_conditional = False

    def list_from(self, folder: str, after: str = "") -> Mapping[str, str]:
        """The names, in pages of which the first begins after `after`; of a folder within without a tag."""
        found: dict[str, str] = {}
        for path, each in self._listed(folder, after):
            name, *within = path.split("/", 1)
            found[name] = "" if within else _tag(each)
        return found

    def files_in(self, folder: str) -> Iterator[tuple[str, Head]]:
        """In pages, as they are asked for."""
        yield from ((path, _head(each)) for path, each in self._listed(folder))

    def read(self, key: str, begin: int = 0, stop: int | None = None) -> bytes:
        """The object's bytes, or some of them."""
        if stop is None and not begin:
            asked: Any = {}
        else:
            asked = {"range": {"offset": begin} if stop is None else (begin, stop)}
        return self._ask(key, "get", lambda: bytes(obstore.get(self._store, self._path(key), options=asked).bytes()))

    def end(self, key: str, count: int) -> tuple[int, bytes]:
        """The object's size, and the last of its bytes."""

        def asked() -> tuple[int, bytes]:
            found = obstore.get(self._store, self._path(key), options={"range": {"suffix": count}})
            return found.meta["size"], bytes(found.bytes())

        return self._ask(key, "get", asked)

    def check(self, key: str) -> None:
        """Nothing but objects is in a store."""

    def head(self, key: str) -> Head | None:
        """The tag is the store's own."""
        try:
            return _head(self._ask(key, "get", lambda: obstore.head(self._store, self._path(key))))
        except FileNotFoundError:
            return None

    def size(self, key: str) -> int | None:
        """As `head` says it."""
        found = self.head(key)
        return None if found is None else found.bytes

    def for_arrow(self, key: str) -> Any:
        """A file that asks the store for the parts."""
        return pa.PythonFile(
            Ranges(lambda count: self.end(key, count), lambda begin, stop: self.read(key, begin, stop)), mode="r"
        )

    def settle(self, folder: str) -> None:
        """A store answers once an object is safe."""

    def put(self, key: str, data: bytes) -> None:
        """Whole, or not at all."""
        self._ask(key, "put", lambda: obstore.put(self._store, self._path(key), data))

    def replace(self, key: str, data: bytes) -> None:
        """As `put`, whose answer comes when the object is safe."""
        self.put(key, data)

    def put_if_absent(self, key: str, data: bytes) -> bool:
        """Put on the condition that nothing is there. A store that does not mind it is refused, before the first file is put by it."""
        with self._lock:
            if not self._is_conditional:
                self._check_conditional(key.rpartition("/")[0])
                self._is_conditional = True
        return self._put_if_absent(key, data)

    @contextmanager
    def new(self, key: str) -> Iterator[Sink]:
        """In parts, as it grows; the object is there once the last of them is, and not at all where the block fails."""
        writer: Any = obstore.open_writer(
            self._writing, self._path(key), buffer_size=_PART_BYTES, max_concurrency=_PARTS_AT_ONCE
        )
        try:
            yield Sink(writer, key)
        except BaseException as error:
            with suppress(BaseError, OSError):
                writer.__exit__(type(error), error, error.__traceback__)
            raise
        with self._noticing(), explained(key, self._rights.get("put", "")):
            writer.close()

    def passing(self, key: str) -> AbstractContextManager[Sink]:
        """As `new`."""
        return self.new(key)

    def unfinished(self, key: str) -> str:
        """The same, as an object is there as a whole."""
        return key

    def finish(self, key: str) -> None:
        """It has its key."""

    def make_folder(self, folder: str) -> None:
        """There are none."""

    def own_folder(self, folder: str) -> None:
        """There are none."""

    def touch(self, key: str) -> None:
        """Nothing: it would be a request with each sync, for no other reason."""

    def adopt(self, key: str) -> None:
        """An object has no mode."""

    def delete(self, key: str) -> None:
        """Remove the object."""
        self._remove(key, [self._path(key)])

    def delete_prefix(self, folder: str) -> None:
        """Remove all objects whose keys begin with the folder's."""
        begin = self._begin(folder)
        paths = (f"{begin}{path}" for path, _ in self._listed(folder))
        while found := list(islice(paths, _REMOVED_AT_ONCE)):
            self._remove(folder, found)

    @property
    def _store(self) -> Any:
        return self._hasty if self._is_silent else self._patient

    @property
    def _is_silent(self) -> bool:
        return time.monotonic() < self._silent_until

    @property
    def _writing(self) -> Any:
        """A file that grows cannot be begun again, so that the client itself has to have all the patience."""
        return self._at_work if self._store is self._patient and patience.is_at_work() else self._store

    @cached_property
    def _at_work(self) -> Any:
        return client(self._root, self._options, patient())

    def _ask(self, key: str, what: str, work: Callable[[], Answer]) -> Answer:
        """As `explained`; of a store that throttles again, for as long as this process has patience."""
        until = time.monotonic() + (0.0 if self._is_silent else patience.seconds())
        with self._noticing(), explained(key, self._rights.get(what, "")):
            while True:
                try:
                    return work()
                except (BaseError, OSError) as error:
                    if time.monotonic() > until or not is_throttled(error):
                        raise

    @contextmanager
    def _noticing(self) -> Iterator[None]:
        """Remembers whether the store has answered."""
        try:
            yield
            self._silent_until = 0.0
        except StoreUnreachable:
            self._silent_until = time.monotonic() + _SILENT_SECONDS
            raise

    def _listed(self, folder: str, after: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Every path below a folder, behind one, with what a listing says of it: page by page, so that one which is listed again begins where it was."""
        begin = self._begin(folder)
        last = f"{begin}{after}" if after else None
        pages: Any = None

        def page() -> Sequence[Mapping[str, Any]]:
            nonlocal pages
            try:
                pages = pages or iter(obstore.list(self._store, begin, offset=last))
                return next(pages, ())
            except BaseException:
                pages = None
                raise

        while found := self._ask(folder, "list", page):
            for each in found:
                yield each["path"].removeprefix(begin), each
            last = found[-1]["path"]

    def _remove(self, key: str, paths: Sequence[str]) -> None:
        self._ask(key, "remove", lambda: obstore.delete(self._store, list(paths)))

    def _put_if_absent(self, key: str, data: bytes) -> bool:
        """Whatever it says but success, the key is read before anything is concluded: absent is put again, ours has landed, and another's was first."""
        path, said = self._path(key), ""
        denied: BaseException | None = None
        begun = time.monotonic()
        for number in count():
            if number and _is_enough(number, time.monotonic() - begun, said):
                break
            time.sleep(_pause(number))
            try:
                obstore.put(self._store, path, data, mode="create", use_multipart=False)
            except (BaseError, OSError) as error:
                if lacks_bucket(error):
                    raise no_bucket(key) from None
                said, denied = told(error), error if is_denied(error) else None
            else:
                return True
            try:
                return bytes(obstore.get(self._store, path).bytes()) == data
            except FileNotFoundError:
                if _UNKNOWN in said:
                    raise NotOffered("its store knows no put on a condition") from None
                if denied is not None:
                    raise refused(key, denied, self._rights.get("put", "")) from None
            except (BaseError, OSError) as error:
                said = f"{said}; then {told(error)}"
        self._silent_until = time.monotonic() + _SILENT_SECONDS
        raise StoreUnreachable(
            f"{key}: the store did not tell whether it has this file ({said}); nothing was removed, and the next sync looks at what is there"
            + (f": {cure(denied)}" if denied else f": {THROTTLED}" if is_throttled(said) else "")
        )

    def _check_conditional(self, folder: str) -> None:
        """Raises LakeRefused for a store that lets a second writer have its way."""
        probe = f"{folder}/.{uuid.uuid4()}.probe"
        try:
            first, second = (self._put_if_absent(probe, text) for text in (b"first", b"second"))
        finally:
            # What stopped the puts, stops this as well, and they say it.
            with suppress(IncrementalAssetsError):
                self.delete(probe)
        if not first or second:
            raise LakeRefused(
                f"{self._root}: this store does not mind the condition that a file is put only where there is none (`If-None-Match`), so that of two "
                "writers both would have committed one version, and nothing was written; use a store that does"
            )

    def _begin(self, folder: str) -> str:
        """What the paths in a folder begin with; nothing where it is the bucket."""
        return f"{path}/" if (path := self._path(folder)) else ""

    def _path(self, key: str) -> str:
        return key.removeprefix(self._root).lstrip("/")


def _is_enough(number: int, seconds: float, said: str) -> bool:
    """Whether a file was put often enough, and for long enough, whose fate a store did not tell."""
    goes_on = number < _TRIES or (is_throttled(said) and seconds < patience.seconds())
    return not goes_on or seconds > max(patience.seconds(), _RETRY_SECONDS)


def _pause(number: int) -> float:
    """Seconds before a try of that number; none before the first."""
    return _FIRST_PAUSE_SECONDS * 2 ** min(number - 1, _TRIES) if number else 0.0


def _head(found: Mapping[str, Any]) -> Head:
    return Head(found["size"], _tag(found), found["last_modified"], found.get("version") or "")


def _tag(found: Mapping[str, Any]) -> str:
    return str(found["e_tag"] or f"{found['last_modified']} {found['size']}")
