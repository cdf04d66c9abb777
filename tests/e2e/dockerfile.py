"""A Dockerfile as stages, and its steps run below a folder, where no Docker is."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

_OF_THE_SYSTEM = ("apt-get", "useradd")
"""What only root of an image does; this machine has it or not."""


@dataclass
class Stage:
    """One stage: what it begins with, and its instructions in order."""

    name: str
    base: str
    instructions: list[tuple[str, str]] = field(default_factory=list)

    def values(self, kind: str) -> list[str]:
        """The arguments of one kind of instruction."""
        return [value for name, value in self.instructions if name == kind]


def stages(text: str) -> dict[str, Stage]:
    """Every stage, by name."""
    found: dict[str, Stage] = {}
    stage: Stage | None = None
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    for line in "\n".join(lines).replace("\\\n", " ").splitlines():
        kind, _, value = line.strip().partition(" ")
        if kind == "FROM":
            base, _, name = value.partition(" AS ")
            stage = found[name] = Stage(name, base)
        elif stage is not None and kind:
            stage.instructions.append((kind, re.sub(r"\s+", " ", value)))
    return found


@dataclass
class Built:
    """The folders of an image below `root`, after the steps that were run."""

    checkout: Path
    root: Path
    environment: dict[str, str] = field(default_factory=dict)

    def run(self, stage: Stage) -> None:
        """Its own steps, without those of its base."""
        for kind, value in stage.instructions:
            if kind == "COPY":
                *sources, target = value.split()
                self._copy(sources, target)
            elif kind == "ENV":
                name, _, text = value.partition("=")
                self.environment[name] = self._inside(text)
            elif kind == "RUN" and not value.startswith(_OF_THE_SYSTEM):
                self.call(shlex.split(self._inside(value)))

    def call(self, command: list[str], **variables: str) -> str:
        """What a command in it prints; it finds the image's programs before those of this machine."""
        if command[0] == "python":
            command = [sys.executable, *command[1:]]
        home = self.root / "home"
        home.mkdir(parents=True, exist_ok=True)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("VIRTUAL_ENV", "PYTHON"))}
        path = f"{self.root}/opt/incremental-assets/bin:{os.environ['PATH']}"
        done = subprocess.run(
            command,
            cwd=self.root / "build",
            env=kept | self.environment | {"PATH": path, "HOME": str(home)} | variables,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, (command, done.stdout[-2000:], done.stderr[-2000:])
        return done.stdout

    def _inside(self, text: str) -> str:
        return re.sub(r"(?<![\w/])/(opt|build)\b", rf"{self.root}/\1", text)

    def _copy(self, sources: list[str], target: str) -> None:
        for source in sources:
            into = self.root / "build" / target
            if (self.checkout / source).is_dir():
                ignored = shutil.ignore_patterns("__pycache__", ".lake")
                shutil.copytree(self.checkout / source, into, symlinks=True, ignore=ignored)
            else:
                into = into / Path(source).name if target.endswith("/") else into
                into.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(self.checkout / source, into)
