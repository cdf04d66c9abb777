"""A runbook as it is written: its parts, and the commands of each."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "docs" / "runbooks"
_BLOCK = re.compile(r"```bash\n(.*?)```", re.DOTALL)


@dataclass(frozen=True)
class Runbook:
    """`blocks`: of each part its blocks of commands, in their order."""

    name: str
    title: str
    blocks: dict[str, list[list[str]]]

    @classmethod
    def of(cls, name: str) -> Runbook:
        """By its name in `docs/runbooks`."""
        text = (FOLDER / f"{name}.md").read_text(encoding="utf-8")
        head, *parts = re.split(r"^## ", text, flags=re.MULTILINE)
        title = head.splitlines()[0].removeprefix("# ")
        blocks = {
            part.splitlines()[0]: [block.strip().splitlines() for block in _BLOCK.findall(part)] for part in parts
        }
        return cls(name, title, blocks)

    @property
    def commands(self) -> list[str]:
        """All of them."""
        return [line for part in self.blocks.values() for block in part for line in block]
