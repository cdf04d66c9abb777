"""`doctor --fix`: what was found and is for the configuration to say is written into its file, and shown as a difference."""

from __future__ import annotations

import difflib
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from incremental_assets.cli.answer import DONE, FAILED, Answer, Note, Shown
from incremental_assets.cli.findings.finding import Finding, Health
from incremental_assets.core.config.edits import NotWritten, edited
from incremental_assets.core.config.load import load
from incremental_assets.core.errors import ConfigurationError, SelectionError
from incremental_assets.core.words import counted


def fixed(path: Path, findings: Sequence[Finding]) -> Answer:
    """Write what can be; nothing is written where nothing changes, or where the file would no longer load."""
    path = path.resolve()
    before = _read(path)
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
        _replace(path, before, after)
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


def _read(path: Path) -> str:
    """With the ends that its lines have."""
    with path.open(encoding="utf-8", newline="") as file:
        return file.read()


def _replace(path: Path, before: str, after: str) -> None:
    """Whole or not at all, with the mode that it has; not where somebody has written to it meanwhile."""
    try:
        with tempfile.NamedTemporaryFile(
            "w", dir=path.parent, prefix=".sources-", suffix=".yaml", encoding="utf-8", newline="", delete=False
        ) as file:
            file.write(after)
    except OSError as error:
        raise SelectionError(f"{path} cannot be written ({error.strerror}); change its owner or its folder's") from None
    draft = Path(file.name)
    try:
        load(draft)
        if _read(path) != before:
            raise SelectionError(f"{path} has changed meanwhile and was left as it is; run doctor --fix again")
        draft.chmod(path.stat().st_mode & 0o7777)
        os.replace(draft, path)  # noqa: PTH105 - a name takes another one's place
    except ConfigurationError as error:
        cures = "; ".join(dict.fromkeys(problem.cure for problem in error.problems))
        raise SelectionError(
            f"{path} was left as it is, as it would no longer load with what is proposed: {cures}"
        ) from None
    finally:
        draft.unlink(missing_ok=True)
