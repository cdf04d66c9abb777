"""Java for Spark: where it is and whether it is recent enough, without starting it if possible.

Run as a script by .ci/set-up.sh before anything is installed, so the standard library must suffice at import.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

OLDEST = 17
CURE = f"install a Java runtime of version {OLDEST} or later (Debian: apt-get install openjdk-17-jre-headless) or point JAVA_HOME at one"


@dataclass(frozen=True, slots=True)
class Java:
    """A Java that Spark can run on. `home` is what JAVA_HOME should be."""

    home: Path
    version: int


def require_java() -> Java:
    """The Java that Spark will use. Raises SetupError with the cure."""
    # Inside the function: the package's own imports are not installed yet when set-up runs this file.
    from incremental_assets.core.errors import SetupError

    try:
        return find_java()
    except LookupError as missing:
        raise SetupError(str(missing)) from None


def find_java() -> Java:
    """The Java that Spark will use. Raises LookupError, whose text names the cure."""
    executable = _executable()
    home = executable.resolve().parent.parent
    version = _version_of_release_file(home / "release") or _version_when_asked(executable)
    if version < OLDEST:
        raise LookupError(f"Java at {executable} is version {version} and Spark needs {OLDEST}: {CURE}.")
    return Java(home, version)


def _executable() -> Path:
    if configured := os.environ.get("JAVA_HOME"):
        executable = Path(configured) / "bin" / "java"
        if not os.access(executable, os.X_OK):
            raise LookupError(f"JAVA_HOME is {configured}, which holds no bin/java: {CURE}.")
        return executable
    found = shutil.which("java")
    if found is None:
        raise LookupError(f"Java is missing: {CURE}.")
    return Path(found)


def _version_of_release_file(release: Path) -> int | None:
    """Every JDK since 9 carries this file; reading it takes no time, asking `java -version` starts a JVM."""
    try:
        return _major(release.read_text(encoding="utf-8", errors="replace"), r'^JAVA_VERSION="([^"]+)"')
    except OSError:
        return None


def _version_when_asked(executable: Path) -> int:
    try:
        answer = subprocess.run([executable, "-version"], capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError):
        raise LookupError(f"Java at {executable} does not start: {CURE}.") from None
    version = _major(answer.stderr, r'version "([^"]+)"')
    if version is None:
        raise LookupError(f"Java at {executable} does not report its version: {CURE}.")
    return version


def _major(text: str, pattern: str) -> int | None:
    """17.0.15 is 17, and 1.8.0_392 is 8."""
    match = re.search(pattern, text, re.MULTILINE)
    if match is None or not (numbers := re.findall(r"\d+", match[1])):
        return None
    return int(numbers[1] if numbers[0] == "1" and len(numbers) > 1 else numbers[0])


if __name__ == "__main__":
    try:
        find_java()
    except LookupError as problem:
        sys.exit(f"set-up: {problem}")
