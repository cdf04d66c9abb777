"""`doctor --fix`: what was found and is for the configuration to say is written into its file, and shown as a difference."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path

from incremental_assets.cli.answer import DONE, FAILED, Answer, Note, Shown
from incremental_assets.cli.findings.finding import Finding, Health
from incremental_assets.cli.written_file import read_file, replace_file
from incremental_assets.core.config.edits import edited
from incremental_assets.core.config.yaml_places import NotWritten
from incremental_assets.core.words import counted


def fixed(path: Path, findings: Sequence[Finding]) -> Answer:
    """Write what can be; nothing is written where nothing changes, or where the file would no longer load."""
    path = path.resolve()
    before = read_file(path)
    after, written, left = before, list[Finding](), list[tuple[Finding, str]]()
    for each in findings:
        if each.edit is None:
            continue
        try:
            after = edited(after, each.edit)
            written.append(each)
        except NotWritten as why:
            left.append((each, str(why)))
    difference = "".join(
        difflib.unified_diff(before.splitlines(keepends=True), after.splitlines(keepends=True), str(path), str(path))
    )
    if after != before:
        replace_file(path, before, after)
    open_still = sum(each.health is not Health.OK and each not in written for each in findings)
    shown: list[Shown] = [Note(difference.rstrip("\n"), wrap=False)] if difference else []
    shown += [
        Note(f"{each.subject}: not written, as {why}: {each.edit.told}", "warn") for each, why in left if each.edit
    ]
    more = (
        f"; {counted(open_still, 'finding')} left, which `incremental-assets doctor` shows with what to do"
        if open_still
        else ""
    )
    summary = (
        f"wrote {counted(len(written), 'change')} to {path}{more}"
        if difference
        else f"nothing to write into {path}{more}"
    )
    document = {
        "file": str(path),
        "difference": difference,
        "written": [{"subject": each.subject, "topic": each.topic} for each in written],
        "left": [{"subject": each.subject, "topic": each.topic, "why": why} for each, why in left],
    }
    fails = any(each.health is Health.FAIL and each not in written for each in findings)
    return Answer(document, (*shown, Note(summary, "strong")), FAILED if fails else DONE)
