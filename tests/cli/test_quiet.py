"""`--quiet` prints what is not well and nothing else; a shell completes commands and listed tables."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from incremental_assets.core.errors import SourceUnreachable
from tests.cli.conftest import CONFIG, Call, Outside
from tests.scenario import monday


def test_where_all_is_well_nothing_is_printed(call: Call, outside: Outside) -> None:
    monday(outside.world.database)
    assert call("status").out != ""
    said = call("status", "--quiet")
    assert (said.code, said.out, said.err) == (0, "", "")


def test_a_warning_is_printed_and_a_failure_with_all_that_belongs_to_it(
    call: Call, config: Path, outside: Outside
) -> None:
    outside.broken = SourceUnreachable("shop: nobody answers")
    assert call("status", "--quiet").out.startswith(
        "shop: not queried, this is the last known state: shop: nobody answers\n"
    )
    outside.broken = None
    config.write_text(CONFIG.replace("public.orders", "public.nowhere"))
    failed, whole = call("plan", "--quiet"), call("plan")
    assert (failed.code, failed.out) == (1, whole.out)


def test_a_document_is_never_left_out(call: Call) -> None:
    said = call("status", "--quiet", "--json")
    assert said.code == 2
    assert "`--quiet` has no place beside it" in said.document["error"]["message"]


@pytest.mark.parametrize(
    ("words", "number", "expected"),
    [
        ("incremental-assets sta", 1, ["plain,status"]),
        ("incremental-assets sync --select shop.public.o", 3, ["plain,shop.public.orders"]),
        ("incremental-assets sync --select other", 3, []),
    ],
)
def test_a_shell_is_told_how_a_line_goes_on(config: Path, words: str, number: int, expected: list[str]) -> None:
    environment = {
        "PATH": "",
        "HOME": str(config.parent),
        "INCREMENTAL_ASSETS_CONFIG": str(config),
        "_INCREMENTAL_ASSETS_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(number),
    }
    command = [str(Path(sys.executable).with_name("incremental-assets"))]
    found = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert found.stdout.split() == expected


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_is_printed_as_it_is(call: Call, shell: str) -> None:
    said = call("completion", shell)
    assert said.code == 0
    assert f"_INCREMENTAL_ASSETS_COMPLETE={shell}_complete" in said.out
    assert call("completion", shell, "--json").document["script"] == said.out.rstrip("\n")
