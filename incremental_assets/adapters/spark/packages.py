"""What tasks import, as this environment has it: which packages, and an archive of those that the machines of a cluster lack."""

from __future__ import annotations

import hashlib
import time
import uuid
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from importlib.metadata import Distribution, PackageNotFoundError, distribution, entry_points
from importlib.util import find_spec
from pathlib import Path

from incremental_assets.adapters.permissions import scratch_folder

OURS = "incremental-assets"
_OF_THE_DRIVER = {
    "alembic",
    "click",
    "dagster",
    "dagster-pyspark",
    "delta-spark",
    "deltalake",
    "psutil",
    "pyyaml",
    "rich",
    "sqlalchemy",
}
"""Of what this package requires, what no task imports."""
_EXTRAS_OF_THE_DRIVER = {"demo", "dev", "kafka", "notify", "openlineage", "otel", "service", "ssh", "ui"}
_GROUPS = f"{OURS.replace('-', '_')}."
_LEFT_OUT = {"tests", "include", "__pycache__"}
"""Folders of packages that nothing imports, or only those who build others."""
_KEPT_FOR = 7 * 86_400
"""Seconds that an archive stays after its last use."""


@cache
def imported() -> dict[str, str]:
    """The version here of each package that a task may import, with all that these require; a plugin's too, whose source or database a task may read."""
    found: dict[str, str] = {}
    left = [(name, frozenset[str]()) for name in (OURS, *_plugins())]
    while left:
        name, extras = left.pop()
        # Wherever Spark is, its Python is.
        if name in found or name == "pyspark":
            continue
        try:
            here = distribution(name)
        except PackageNotFoundError:
            continue  # of an extra that is not installed, or for another system
        found[name] = here.version
        if name == OURS:
            extras = frozenset(here.metadata.get_all("Provides-Extra") or ()) - _EXTRAS_OF_THE_DRIVER
        required = _required(here, extras)
        left += (each for each in required if name != OURS or each[0] not in _OF_THE_DRIVER)
    return found


def lacking(wanted: Mapping[str, str]) -> Callable[[], list[str]]:
    """A function for a task on a machine that may lack them: the names of those that are not there, or where ours is not there in this version, not there in theirs."""
    ours, versions = OURS, dict(wanted)

    def look() -> list[str]:
        # Inside of it nothing of this package is named: what a worker cannot import, it is sent.
        from importlib.metadata import PackageNotFoundError, version

        there = {}
        for name in versions:
            try:
                there[name] = version(name)
            except PackageNotFoundError:
                continue
        # Where ours is installed, what it goes well with has been chosen there.
        is_image = not versions or there.get(ours) == versions[ours]
        return [name for name, mine in versions.items() if name not in there or not (is_image or there[name] == mine)]

    return look


def archive_of(names: Iterable[str]) -> Path:
    """A zip of these packages with what says their versions, of which `PYTHONPATH` may name the unpacked folder; made once for each set of them."""
    files = sorted({place: path for name in names for place, path in _files(distribution(name))}.items())
    told = "\n".join(f"{place} {path.stat().st_size} {path.stat().st_mtime_ns}" for place, path in files)
    found = scratch_folder() / f"packages-{hashlib.sha256(told.encode()).hexdigest()[:24]}.zip"
    if not found.is_file():
        fresh = found.with_name(f".{found.name}.{uuid.uuid4().hex}")
        # The least of compression: the best takes ten times as long, and spares a fifth.
        with zipfile.ZipFile(fresh, "w", zipfile.ZIP_DEFLATED, compresslevel=1, strict_timestamps=False) as archive:
            for place, path in files:
                archive.write(path, place)
        fresh.replace(found)
    found.touch()
    for old in scratch_folder().glob("packages-*.zip"):
        if old.stat().st_mtime < time.time() - _KEPT_FOR:
            old.unlink(missing_ok=True)
    return found


def _plugins() -> set[str]:
    from packaging.utils import canonicalize_name

    offered = entry_points()
    groups = [group for group in offered.groups if group.startswith(_GROUPS)]
    names = {each.dist.name for group in groups for each in offered.select(group=group) if each.dist}
    return set(map(canonicalize_name, names))


def _required(here: Distribution, extras: frozenset[str]) -> Iterator[tuple[str, frozenset[str]]]:
    """What it requires on this system by itself and by some of its extras: names, each with the extras that are asked of it."""
    # Here, as workers import this module, and ask for none of it.
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    for required in map(Requirement, here.requires or ()):
        marker = required.marker
        if marker is None or any(marker.evaluate({"extra": each}) for each in ("", *extras)):
            yield canonicalize_name(required.name), frozenset(required.extras)


def _files(here: Distribution) -> Iterator[tuple[str, Path]]:
    """With their places below a folder of modules."""
    of_checkout = False
    for file in here.files or ():
        path = Path(str(file.locate()))
        of_checkout |= file.suffix == ".pth"
        if ".." not in file.parts and file.suffix != ".pth" and not _LEFT_OUT & {*file.parts} and path.is_file():
            yield str(file), path
    if of_checkout:
        for package in (here.read_text("top_level.txt") or "").split():
            yield from _of_checkout(package)


def _of_checkout(package: str) -> Iterator[tuple[str, Path]]:
    """An editable installation has its files elsewhere."""
    spec = find_spec(package)
    for folder in (spec and spec.submodule_search_locations) or ():
        for path in _below(Path(folder)):
            yield str(Path(package) / path.relative_to(folder)), path


def _below(folder: Path) -> Iterator[Path]:
    for each in folder.iterdir():
        if each.name not in _LEFT_OUT:
            # Also of a folder that is a link.
            yield from _below(each) if each.is_dir() else [each]
