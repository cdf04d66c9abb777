"""The page of the games, from what their run has recorded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from incremental_assets.core.model.duration import format_duration
from incremental_assets.core.operations.rules import alerts
from tests.gameday.hurried import TIMES
from tests.gameday.runbook import Runbook

Games = Mapping[str, Mapping[str, Any]]
_LINES = 14
"""Of an answer, from its end."""
_HEAD = f"""\
# Game days

Written by `make gameday`: a deployment runs as [the page](deployment.md) describes it, with a PostgreSQL behind TLS, a lake on a disk, an engine, code location, daemon and exporter, and a real Prometheus has the rules of
`incremental-assets alerts`. It is broken, the alert is waited for, and the commands of its runbook are run as the page has them. A game has passed when the copies are equal to their source again, read by another reader than ours, and no alert is left.

**The rules were in a hurry**: what is a minute in them was a second (`for`, windows and ages divided by {TIMES}; limits of bytes in MB in place of GB), and Prometheus scraped every second. So *noticed* is how long it took until the rule's
expression held, by the clock of the game, and *fired* includes the rule's own wait, which the next column has as it is shipped. The rules with their real minutes and days are played on made-up history by Prometheus' own tool (`tests/cli/test_alerts.py`). A ticket of a budget that burns slowly is left
out here: its windows are days. `NobodyLooks`, `FreshnessBudgetBurns` and `HeldBack` may fire in any game, as a run that takes half a minute is one of half an hour to such rules. The machine was shared with other work, so that seconds are no benchmark.
"""


def page(games: Games) -> str:
    """All of it."""
    held = sum(not each["failed"] for each in games.values())
    lines = [_HEAD, f"**{held} of {len(games)} games were healed as their runbooks say.**", "", *_table(games)]
    if left := sorted(there() - games.keys()):
        names = ", ".join(f"`{name.rpartition('test_')[2].replace('_', ' ')}`" for name in left)
        lines += ["", f"There, and not played to their end yet: {names}."]
    for each in games.values():
        lines += _game(each)
    return "\n".join(lines) + "\n"


def there() -> set[str]:
    """The games that tests have, by their ids."""
    return {
        f"tests/gameday/{file.name}::{line.removeprefix('def ').partition('(')[0]}"
        for file in Path(__file__).parent.glob("test_*.py")
        for line in file.read_text(encoding="utf-8").splitlines()
        if line.startswith("def test_") and "game: Game" in line
    }


def _table(games: Games) -> Iterator[str]:
    yield "| game | what was done | alert | noticed | fired | the rule waits | runbook | healed, from the first fix | last alert over |"
    yield "|---|---|---|---:|---:|---:|---|---:|---:|"
    for each in games.values():
        if "title" not in each:
            continue
        first = (each["fired"] or [None])[0]
        told = (
            (f"`{first['alert']}`, {first['severity']}", f"{first['noticed']} s", f"{first['fired']} s", _waits(first))
            if first
            else ("none, and none is needed", "", "", "")
        )
        healed = f"by itself, after {each['alone']:.0f} s" if each["alone"] else f"{each['healed']:.0f} s"
        over = "" if each["alone"] else f"{each['over']:.0f} s"
        cells = (f"[{each['title']}](#{_anchor(each['title'])})", each["fault"], *told, _runbooks(each), healed, over)
        yield "| " + " | ".join(("**not healed**: " if each["failed"] and n == 0 else "") + str(cell) for n, cell in enumerate(cells)) + " |"  # fmt: skip


def _game(each: Mapping[str, Any]) -> Iterator[str]:
    if "title" not in each:
        return
    yield f"\n## {each['title']}\n\nDone: {each['fault']}. Played {each['played']}."
    if also := each["fired"][1:]:
        yield "Fired besides: " + ", ".join(f"`{one['alert']}` of {one['of'] or 'all'}" for one in also) + "."
    for step in each["steps"]:
        if step["status"] is None:
            yield f"\n*By hand*: {step['line']}."
            continue
        said = step["said"].splitlines()
        shown = ["…", *said[-_LINES:]] if len(said) > _LINES else said
        end = "" if step["status"] == 0 else f", exit status {step['status']}"
        part, _, runbook = step["part"].partition(", ")
        yield f"\n{part}, [{runbook}](runbooks/{runbook}.md){end}:\n"
        yield "```console\n" + "\n".join((f"$ {step['line']}", *(line.rstrip() for line in shown))) + "\n```"


def _waits(fired: Mapping[str, Any]) -> str:
    of = (each for each in alerts() if (each.name, str(each.urgency)) == (fired["alert"], fired["severity"]))
    return format_duration(next(of).lasts)


def _runbooks(each: Mapping[str, Any]) -> str:
    return ", ".join(f"[{Runbook.of(name).title}](runbooks/{name}.md)" for name in dict.fromkeys(each["runbooks"]))


def _anchor(title: str) -> str:
    return title.lower().replace(",", "").replace("'", "").replace(" ", "-")
