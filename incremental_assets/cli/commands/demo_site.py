"""Where the demo works: its database, lake and checkpoints, as the configuration names them."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from incremental_assets.adapters.permissions import own_file, own_folder
from incremental_assets.core.config.database_settings import DatabaseSettings, database_of
from incremental_assets.core.config.dialects import BUILT_IN, facts_of
from incremental_assets.core.config.files_settings import FilesSettings
from incremental_assets.core.config.settings import Configuration, Reference, SourceConfig, SourceSettings, StoreConfig
from incremental_assets.core.errors import Busy, IncrementalAssetsError, Refused, SelectionError
from incremental_assets.demo.places import BUCKET, INCOMING, LAKES, PLACES, shop_in
from incremental_assets.demo.shop import Shop, shop_of

MARK = ".made-by-demo"
_PORT, _PASSWORD, _DAYS = "port", "reader.password", "days.json"
_CHECKPOINTS = "sqlite:///"
_LAKE_IN_STORE = f"s3a://{BUCKET}/lake"


class DemoBusy(Busy):
    """Another demo works in this folder."""

    def __init__(self, folder: Path) -> None:
        IncrementalAssetsError.__init__(
            self, f"{folder}: another demo is running in this folder; run `make demo` again when it has ended"
        )


@dataclass(frozen=True, slots=True)
class Site:
    """The demo's places. `lake` is a folder: of a lake in a store that of the checkpoints, which stay here."""

    source: SourceConfig
    folder: Path
    lake: Path
    checkpoints: Path
    in_store: bool = False

    @classmethod
    def of(cls, configuration: Configuration) -> Site:
        """Raises SelectionError for a configuration that does not describe the demo."""
        found = cls.find(configuration)
        if found is None:
            raise SelectionError(
                f"{configuration.path} does not describe the demo: its database is the source that is read from a folder "
                f"`{PLACES['postgresql']}`, {', '.join(f'`{PLACES[name]}` ({name})' for name in PLACES if name != 'postgresql')}, with `lake` and `checkpoints` on this disk; run the demo with the shipped configuration, without --config and "
                "INCREMENTAL_ASSETS_CONFIG"
            )
        return found

    @classmethod
    def find(cls, configuration: Configuration) -> Site | None:
        """The demo, if the configuration describes it."""
        for source in configuration.sources:
            folder = _folder_of(source)
            if folder is None or not configuration.checkpoints.startswith(_CHECKPOINTS):
                continue
            checkpoints = Path(configuration.checkpoints.removeprefix(_CHECKPOINTS))
            if shop_in(folder, source.dialect) in LAKES:
                if configuration.lake == _LAKE_IN_STORE and _is_of(configuration.store, folder):
                    return cls(source, folder, checkpoints.parent, checkpoints, in_store=True)
            elif "://" not in configuration.lake:
                return cls(source, folder, Path(configuration.lake), checkpoints)
        return None

    @property
    def drops_files(self) -> bool:
        """Whether its source is a folder of files."""
        return isinstance(self.source.settings, FilesSettings)

    @property
    def _name(self) -> str:
        return shop_in(self.folder, self.source.dialect) or self.source.dialect

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other demos from working here until the end of the block; the lock ends with the process. Raises DemoBusy."""
        # Beside the folder, which a demo that starts from scratch removes.
        own_folder(self.folder.parent)
        file = self.folder.parent / f".demo-{self._name}.lock"
        # A user who may read a file can lock it.
        own_file(file)
        with file.open("a", encoding="utf-8") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise DemoBusy(self.folder) from None
            yield

    def shop(self) -> Shop:
        """Its database, running or not."""
        return shop_of(self._name, self.folder)

    def start(self, shop: Shop) -> str:
        """Its database, up, with what the configuration reads where it reads it. Where it is, for people."""
        place = shop.start()
        for name, text in shop.access().items():
            _write(self.folder / name, f"{text}\n")
        return place

    def clear(self) -> None:
        """Remove database, lake and checkpoints. Raises Refused for a lake that holds anything that the demo has not made."""
        self._refuse_foreign()
        self.shop().remove()
        if self.lake.is_dir():
            shutil.rmtree(self.lake)
        for file in self.checkpoints.parent.glob(f"{self.checkpoints.name}*"):
            file.unlink()
        self.claim()

    def claim(self) -> None:
        """Mark a lake without tables as the demo's."""
        own_folder(self.lake)
        if not self._found():
            words = "incremental-assets demo removes this folder when it starts from scratch\n"
            (self.lake / MARK).write_text(words, encoding="utf-8")

    def days(self) -> int:
        """The simulated days so far."""
        try:
            return int(json.loads((self.folder / _DAYS).read_text(encoding="utf-8"))["count"])
        except FileNotFoundError:
            return 0

    def remember(self, days: int) -> None:
        """Write the number of simulated days to a file, for the next `--keep`."""
        _write(self.folder / _DAYS, json.dumps({"count": days}))

    def _refuse_foreign(self) -> None:
        found = self._found()
        foreign = found - {MARK, self.source.name} if MARK in found else found
        if foreign:
            raise Refused(
                f"{self.lake} contains something that the demo did not create ({', '.join(sorted(foreign)[:5])}), and the demo begins by removing its lake: "
                "nothing was changed; name another `lake` in the configuration, or move those tables away"
            )

    def _found(self) -> set[str]:
        """The content of the lake, except its own folders, which begin with `_`, and the checkpoints, which any look creates."""
        entries = self.lake.iterdir() if self.lake.is_dir() else ()
        return {entry.name for entry in entries if not entry.name.startswith((self.checkpoints.name, "_"))}


def _is_of(store: StoreConfig | None, folder: Path) -> bool:
    """Whether it is the store beside the demo's database, which the demo removes."""
    endpoint = store.endpoint if store else None
    return isinstance(endpoint, Reference) and (endpoint.kind, endpoint.name) == ("file", str(folder / "endpoint"))


def _folder_of(source: SourceConfig) -> Path | None:
    folder = _of_dropped(source.settings) if source.dialect not in BUILT_IN else _of_database(source)
    return folder if folder is not None and shop_in(folder, source.dialect) else None


def _of_dropped(source: SourceSettings | None) -> Path | None:
    if not isinstance(source, FilesSettings) or Path(source.folder).name != INCOMING:
        return None
    return Path(source.folder).parent


def _of_database(source: SourceConfig) -> Path | None:
    settings = database_of(source)
    return _of_file(settings) if facts_of(source.dialect).is_file else _of_references(settings)


def _of_file(source: DatabaseSettings) -> Path | None:
    return Path(source.database).parent if isinstance(source.database, str) else None


def _of_references(source: DatabaseSettings) -> Path | None:
    if not (
        isinstance(source.port, Reference)
        and isinstance(source.password, Reference)
        and source.port.kind == source.password.kind == "file"
    ):
        return None
    port, password = Path(source.port.name), Path(source.password.name)
    is_ours = (port.name, password.name) == (_PORT, _PASSWORD) and port.parent == password.parent
    return port.parent if is_ours else None


def _write(path: Path, text: str) -> None:
    """Whole or not at all, and for its owner alone."""
    unfinished = path.with_suffix(".unfinished")
    unfinished.unlink(missing_ok=True)
    with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    unfinished.replace(path)
