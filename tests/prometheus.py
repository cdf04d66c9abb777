"""Prometheus' own tool, and its text format read strictly."""

from __future__ import annotations

import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[1]
_NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
_LABELS = r'\{(?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*",?)*\}'
_SAMPLE = re.compile(rf"({_NAME})({_LABELS})? (-?[0-9.]+(?:e[+-]?[0-9]+)?)")
_COMMENT = re.compile(rf"# (HELP|TYPE) ({_NAME}) (.+)")
KINDS = ("counter", "gauge", "histogram")


@cache
def promtool() -> str:
    """Where it is; the test is skipped where it cannot be had."""
    fetched = subprocess.run([_ROOT / ".ci" / "prometheus.sh"], capture_output=True, text=True, check=False)
    found = shutil.which("promtool") or _ROOT / ".prometheus" / "promtool"
    if not Path(found).exists():
        pytest.skip(f"no promtool: {fetched.stderr.strip()}")
    return str(found)


def read(text: str) -> dict[str, float]:
    """Every sample by name and labels. What is not of the format, told twice, or without a type before it, fails the test."""
    samples: dict[str, float] = {}
    kinds: dict[str, str] = {}
    helped: set[str] = set()
    assert text.endswith("\n")
    for line in text.splitlines():
        if comment := _COMMENT.fullmatch(line):
            word, name, rest = comment.groups()
            if word == "HELP":
                assert name not in helped, line
                helped.add(name)
            else:
                assert name in helped, line
                assert name not in kinds, line
                assert rest in KINDS, line
                kinds[name] = rest
            last = name
            continue
        sample = _SAMPLE.fullmatch(line)
        assert sample, line
        name, labels, value = sample.groups()
        family = name if name in kinds else re.sub(r"_(bucket|sum|count)$", "", name)
        assert family == last, f"not below its own type: {line}"
        assert (kinds[family] == "counter") == name.endswith("_total"), line
        assert f"{name}{labels or ''}" not in samples, line
        samples[f"{name}{labels or ''}"] = float(value)
    return samples
