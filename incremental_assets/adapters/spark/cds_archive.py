"""A class-data archive that Spark's JVM maps instead of loading classes one by one: made once by a training run, it saves a third of the first sync.

`python -m incremental_assets.adapters.spark.cds_archive` makes it where there is none. It fits one Java and one set of jars; the folder's name says which.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from incremental_assets.adapters.spark.jars import LOCK, jar_folder, locked_jars
from incremental_assets.adapters.spark.java import Java, require_java
from incremental_assets.core.errors import IncrementalAssetsError, SetupError

DRIVER, LAUNCHER = "driver", "launcher"
LAUNCHER_VARIABLE = "SPARK_LAUNCHER_OPTS"
"""Options of the launcher's JVM, as `spark-class` takes them."""
DRIVER_OPTIONS = "spark.driver.defaultJavaOptions"
"""Separate from `extraJavaOptions`, so that setting those keeps the archive."""
PATIENCE = 900
"""Seconds for a training run: it takes half a minute on an idle machine."""
QUIET = "-Xlog:cds*=off"
"""A JVM that cannot use its archive says so on stdout, where the launcher's answer is read; it starts without."""


@dataclass(frozen=True, slots=True)
class Archive:
    """One file for the JVM that is to be Spark, one for the JVM that works out its command line; None where that one is of no use."""

    driver: Path | None
    launcher: Path | None

    @property
    def driver_options(self) -> str:
        """The options as Spark splits them, in quotes, as a path may hold spaces; empty without an archive."""
        return f'-Xshare:auto {QUIET} "-XX:SharedArchiveFile={self.driver}"' if self.driver else ""

    @property
    def launcher_options(self) -> str:
        """The options as a shell splits them, without quotes; empty without an archive, and for a path with spaces."""
        usable = self.launcher is not None and _is_one_word(self.launcher)
        return f"-Xshare:auto {QUIET} -XX:SharedArchiveFile={self.launcher}" if usable else ""


def find_archive(java: Java) -> Archive:
    """What was made from this very Java and these jars, and is whole."""
    try:
        folder = archive_folder(java)
        return Archive(_whole(folder, DRIVER), _whole(folder, LAUNCHER))
    except OSError:
        return Archive(None, None)


def archive_folder(java: Java) -> Path:
    """The folder of archives, beside the jars. Its name says which Java and Spark it is for, then what it was made from."""
    return jar_folder() / f"{_family(java)}{fingerprint(java)}"


def fingerprint(java: Java) -> str:
    """A hash of this Java, this Spark and these jars, which changes with each of them."""
    return _hash(_made_from(java))


def make() -> None:
    """Make the archive unless it is there, and remove what the same Java and Spark had before. Raises SetupError."""
    java = require_java()
    folder = archive_folder(java)
    if find_archive(java).driver is None:
        with tempfile.TemporaryDirectory(dir=jar_folder(), prefix=".training-") as temporary:
            fresh = Path(temporary) / "classes"
            fresh.mkdir()
            _train(fresh)
            for name in (DRIVER, LAUNCHER):
                _seal(fresh, name)
            shutil.rmtree(folder, ignore_errors=True)
            fresh.rename(folder)
    for old in jar_folder().glob(f"{_family(java)}*"):
        if old != folder:
            shutil.rmtree(old, ignore_errors=True)


def spark_home() -> Path:
    """The Spark that pyspark starts."""
    from pyspark.find_spark_home import _find_spark_home

    return Path(_find_spark_home())


# --- what an archive is tied to ---------------------------------------------------------------------


def _family(java: Java) -> str:
    """Environments that share a folder of jars, each with its Spark, leave each other's archives alone."""
    return f"classes-{_hash((str(java.home), str(spark_home())))[:8]}-"


def _made_from(java: Java) -> Iterable[str]:
    """What a JVM compares before it maps an archive: its own build, and name, size, age and order of every jar on its class path."""
    yield _text(java.home / "release")
    yield _seen(java.home / "lib" / "modules")
    yield LOCK.read_text(encoding="utf-8")
    for jar in locked_jars():
        yield _seen(jar_folder() / jar.file)
    # Not sorted: a JVM takes `*` for the order of the folder.
    for entry in os.scandir(spark_home() / "jars"):
        yield _seen(Path(entry.path))


def _seen(path: Path) -> str:
    try:
        found = path.stat()
    except FileNotFoundError:
        return f"{path} is missing"
    return f"{path} {found.st_size} {int(found.st_mtime)}"


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""


def _hash(texts: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:24]


# --- making one ----------------------------------------------------------------------------------------


def _train(folder: Path) -> None:
    """Trains in a process of its own, as a JVM writes its archive when it ends. Raises SetupError where that fails or takes more than 15 minutes."""
    command = [sys.executable, "-m", "incremental_assets.adapters.training", str(_dumped(folder, DRIVER))]
    launcher = f"{QUIET} -XX:ArchiveClassesAtExit={_dumped(folder, LAUNCHER)}" if _is_one_word(folder) else ""
    environment = os.environ | {LAUNCHER_VARIABLE: launcher}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False, env=environment)
    except subprocess.TimeoutExpired:
        raise SetupError(f"the training run took more than {PATIENCE} s and was stopped") from None
    if done.returncode != 0 or not _dumped(folder, DRIVER).is_file():
        output = done.stderr.strip().splitlines() or ["it said nothing"]
        raise SetupError(f"the training run made no archive ({output[-1]})")


def _dumped(folder: Path, name: str) -> Path:
    return folder / f"{name}.jsa"


def _is_one_word(path: Path) -> bool:
    return len(str(path).split()) == 1


def _seal(folder: Path, name: str) -> None:
    """A JVM that maps a file which was cut off dies of it, so the size goes into the name, and the bytes to the disk before the name is given."""
    path = _dumped(folder, name)
    if not path.is_file():
        return
    with path.open("rb") as written:
        os.fsync(written.fileno())
    path.rename(folder / f"{name}-{path.stat().st_size}.jsa")


def _whole(folder: Path, name: str) -> Path | None:
    for path in folder.glob(f"{name}-*.jsa"):
        if os.access(path, os.R_OK) and path.name == f"{name}-{path.stat().st_size}.jsa":
            return path
    return None


if __name__ == "__main__":
    try:
        make()
    except (IncrementalAssetsError, OSError) as problem:
        sys.exit(f"class-data archive: {problem}")
