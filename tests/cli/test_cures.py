"""Every command that a message offers is one that the command line takes, with the consent that it needs."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import click
import pytest

import incremental_assets
from incremental_assets.cli.main import commands
from incremental_assets.core.model.cures import (
    accept_source,
    allow_shrink,
    check,
    full_refresh,
    full_refresh_of,
    read_again,
    reset,
)
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.table import Strategy
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.window import Window
from tests.scenario import orders

PACKAGE = Path(incremental_assets.__file__).parent
FILLED = "\0"
_VALUES = {"--select": "shop.public.orders", "--from": "2024-01-01", "--to": "2024-02-01"}


def texts(tree: ast.AST) -> Iterator[str]:
    """Every text of a module, docstrings too; `FILLED` where a value stands when it is printed."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else FILLED for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def offered() -> list[str]:
    """The commands of all modules between backticks, without this program's name."""
    found = {
        command
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.name != "cures.py"  # asked itself, below
        if "`incremental-assets " in (source := path.read_text())  # to parse a module takes long
        for text in texts(ast.parse(source))
        for command in re.findall(r"`incremental-assets ([a-z][^`|]*)`", text)
    }
    return sorted(found)


def parsed(command: str) -> tuple[str, dict[str, object]]:
    """The name and its options, read by the command line itself; raises for what it refuses."""
    name, *words = shlex.split(command)
    for place, word in enumerate(words):
        if word == FILLED:
            words[place] = _VALUES.get(words[place - 1], "1")
    found = commands.commands[name]
    assert isinstance(found, click.Command)
    return name, dict(found.make_context(name, words).params)


def consented(name: str, options: dict[str, object]) -> bool:
    """Whether a command that is refused without `--yes` has it."""
    needs = name == "reset" or options.get("allow_shrink") or options.get("reset_watermarks")
    return bool(options.get("yes")) or not needs


def test_there_are_cures_to_look_at() -> None:
    assert {command.split()[0] for command in offered()} >= {"check", "doctor", "engine", "status"}


def test_a_command_of_a_table_is_made_in_one_place_where_the_name_is_quoted() -> None:
    by_hand = {
        path.name
        for path in PACKAGE.rglob("*.py")
        if "`incremental-assets " in (source := path.read_text())
        for text in texts(ast.parse(source))
        if re.search(r"`incremental-assets [^`]*--select ", text)
    }
    assert by_hand == {"cures.py"}


@pytest.mark.parametrize("command", offered())
def test_a_printed_cure_is_a_command(command: str) -> None:
    assert "…" not in command, "a person would have to fill it in"
    assert consented(*parsed(command)), command


@pytest.mark.parametrize("strategy", [Strategy.APPEND, Strategy.UPSERT])
def test_a_cure_of_a_table_is_a_command_under_each_strategy(strategy: Strategy) -> None:
    spec = orders(strategy)
    spec = replace(spec, shape=replace(spec.shape, id=TableId("shop", "public", "order lines")))
    again, over, *named = (
        parsed(cure.strip("`").removeprefix("incremental-assets "))
        for cure in (
            full_refresh(spec),
            reset(spec),
            *(cure(spec.id) for cure in (full_refresh_of, allow_shrink, accept_source, check)),
        )
    )

    assert {options["select"] for _, options in (again, over, *named)} == {("shop.public.order lines",)}
    assert again[1]["yes"] is (strategy is Strategy.APPEND), "of an append it is refused without"
    assert all(consented(*command) for command in (over, *named))


def test_a_gap_is_read_by_a_backfill_of_it_and_by_a_reset_where_it_has_no_beginning() -> None:
    lower, upper = (CursorValue.parse(CursorType.DATETIME, text) for text in ("2024-01-01 10:00", "2024-02-01"))
    table = TableId("shop", "public", "orders")
    bounded, open_ended, first = (
        parsed(read_again(table, window).strip("`").removeprefix("incremental-assets "))
        for window in (Window(lower, upper), Window(lower, None), Window(None, upper))
    )

    assert (bounded[1]["lower"], bounded[1]["upper"]) == (lower.text, upper.text)
    assert (open_ended[1]["lower"], open_ended[1]["upper"]) == (lower.text, None)
    assert first[0] == "reset"
