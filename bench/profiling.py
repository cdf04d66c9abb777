"""One more tick with clocks around its parts, in a process of its own."""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path

from bench.contender import Job, ours
from bench.figures import Span
from bench.measuring import timed
from bench.ours import Ours
from bench.timeline import BEGUN, SPANS


def profile(contender: Ours, job: Job) -> tuple[Span, ...]:
    """The parts in the order in which they were entered; what the process takes to end comes last. Raises Failed."""
    with tempfile.TemporaryDirectory() as folder:
        file, begun = Path(folder) / "spans.json", time.monotonic()
        environment = {**contender.environment(job), BEGUN: repr(begun), SPANS: str(file)}
        _, *words = contender.command(job)
        _, cost = timed([ours("python"), "-m", "bench.timeline", *words], environment, resident=contender.resident())
        spans = [Span(label, seconds) for label, seconds in json.loads(file.read_text(encoding="utf-8")).items()]
    return (*spans, Span("Python ends", max(0.0, cost.wall - sum(span.seconds for span in spans))))
