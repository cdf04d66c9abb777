"""The jars that Spark needs besides its own: resolved once at set-up, loaded only if their hashes match the lock.

`python -m incremental_assets.adapters.spark.jars` resolves what is missing; `--relock` also accepts new hashes (`make jars`).
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from incremental_assets.adapters.spark.java import require_java
from incremental_assets.core.errors import IncrementalAssetsError, SetupError

LOCK = Path(__file__).with_name("jars.lock")
FOLDER_VARIABLE = "INCREMENTAL_ASSETS_JARS"
CURE = "run `incremental-assets setup` once, with a network"
ANSWER = "# --- the resolver's answer ---\n"


@dataclass(frozen=True, slots=True)
class Jar:
    """One locked file: its name as the resolver writes it, and what its bytes must be."""

    file: str
    size: int
    sha256: str


def verified_jars() -> tuple[Path, ...]:
    """The paths for Spark, every byte checked (15 MB: 15 ms). Raises SetupError naming the file and the cure."""
    folder = jar_folder()
    return tuple(_verified(folder / jar.file, jar) for jar in locked_jars())


def jar_folder() -> Path:
    """$INCREMENTAL_ASSETS_JARS, else `.jars` of the checkout, else the user's cache when installed as a package."""
    if configured := os.environ.get(FOLDER_VARIABLE):
        return Path(configured).absolute()
    root = Path(__file__).resolve().parents[3]
    if _is_checkout(root):
        return root / ".jars"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "incremental-assets" / "jars"


def _is_checkout(root: Path) -> bool:
    """Whether it is ours: a project that `create-dagster` has made puts its own `pyproject.toml` among the installed packages."""
    project = root / "pyproject.toml"
    return project.is_file() and '\nname = "incremental-assets"\n' in project.read_text(encoding="utf-8")


def locked_jars() -> tuple[Jar, ...]:
    return tuple(Jar(**jar) for jar in _lock().get("jar", ()))


def resolve(*, relock: bool = False) -> tuple[Path, ...]:
    """Fetches what is missing or wrong with Spark's own resolver, which knows the repository and its mirrors."""
    if not relock:
        try:
            return verified_jars()
        except SetupError:
            pass  # this is what resolving is for
    folder = jar_folder()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".resolving-") as ivy:
        _ask_spark(Path(ivy))
        fetched = Path(ivy) / "jars"
        if relock:
            _write_lock(fetched)
        for jar in locked_jars():
            _verified(fetched / jar.file, jar).replace(folder / jar.file)
    return verified_jars()


def _lock() -> dict:
    return tomllib.loads(LOCK.read_text(encoding="utf-8"))


def _verified(path: Path, jar: Jar) -> Path:
    try:
        with path.open("rb") as content:
            found = hashlib.file_digest(content, "sha256").hexdigest()
            size = content.tell()
    except OSError:
        raise SetupError(f"The jar {path} is missing: {CURE}.") from None
    if (size, found) != (jar.size, jar.sha256):
        raise SetupError(f"The jar {path} is not the locked one ({size} bytes of {jar.size}, SHA-256 {found}): {CURE}.")
    return path


def _ask_spark(ivy: Path) -> None:
    """An empty program whose `--packages` make spark-submit resolve and copy; its folder, not the home, takes it all."""
    lock = _lock()
    program = ivy / "empty.py"
    program.touch()
    spark = find_spec("pyspark")
    if spark is None or spark.origin is None:
        raise SetupError(
            "pyspark is not installed in this environment: run `make setup` or reinstall incremental-assets."
        )
    question = ["--packages", ",".join(lock["packages"]), "--exclude-packages", ",".join(lock["exclude"])]
    # Another Spark on this machine must not answer in the place of the pinned one.
    environment = {name: value for name, value in os.environ.items() if name not in ("SPARK_HOME", "SPARK_CONF_DIR")}
    environment |= {"JAVA_HOME": str(require_java().home), "PYSPARK_PYTHON": sys.executable}
    answer = subprocess.run(
        [Path(spark.origin).parent / "bin" / "spark-submit", *question, "--conf", f"spark.jars.ivy={ivy}", program],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    if answer.returncode != 0:
        unresolved = [
            line.strip(" :\t") for line in answer.stderr.splitlines() if "not found" in line or "unresolved" in line
        ]
        raise SetupError(
            "Spark could not fetch its jars; check the network, or name your mirror in DEFAULT_ARTIFACT_REPOSITORY and run it again"
            f" (it reported: {'; '.join(unresolved[:3]) or answer.stderr[-300:]})."
        )


def _write_lock(fetched: Path) -> None:
    question = LOCK.read_text(encoding="utf-8").partition(ANSWER)[0]
    entries = (
        f'[[jar]]\nfile = "{path.name}"\nsize = {path.stat().st_size}\nsha256 = "{hashlib.sha256(path.read_bytes()).hexdigest()}"\n'
        for path in sorted(fetched.glob("*.jar"))
    )
    LOCK.write_text(question + ANSWER + "\n".join(entries), encoding="utf-8")


if __name__ == "__main__":
    try:
        resolve(relock="--relock" in sys.argv[1:])
    except IncrementalAssetsError as problem:
        sys.exit(f"jars: {problem}")
