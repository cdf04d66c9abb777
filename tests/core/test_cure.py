"""What to do about a check that has not passed."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from incremental_assets.cli.commands.check import Options, answer
from incremental_assets.core.checks.cure import with_cure
from incremental_assets.core.checks.verdict import nothing_landed, schema, unanswered
from incremental_assets.core.model.column import Column, Fidelity
from incremental_assets.core.model.schema_drift import Difference, Retyped, TargetColumn
from incremental_assets.core.model.table import Strategy, TableSpec
from incremental_assets.core.model.verdict import Check, Severity, Verdict
from incremental_assets.defs.metadata import of_verdict
from tests.scenario import ORDERS, orders

SPEC = orders()
WIDER, NARROWER = Retyped("total", "int", "bigint"), Retyped("total", "bigint", "int")


def failed(check: Check, measured: float | None = 2, detail: str = "two rows differ") -> Verdict:
    return Verdict(ORDERS, check, passed=False, severity=Severity.ERROR, detail=detail, measured=measured)


@pytest.mark.parametrize("check", [each for each in Check if each is not Check.SCHEMA])
def test_each_check_that_fails_says_what_to_do(check: Check) -> None:
    verdict = with_cure(failed(check), SPEC)
    assert verdict.cure
    assert verdict.detail == "two rows differ"


@pytest.mark.parametrize(
    ("check", "spec", "command"),
    [
        (Check.FRESHNESS, SPEC, "sync --select shop.public.orders"),
        (Check.DUPLICATES, SPEC, "sync --select shop.public.orders --full-refresh"),
        (Check.RECONCILIATION, SPEC, "repair --select shop.public.orders"),
        (Check.RECONCILIATION, orders(Strategy.APPEND), "reset --select shop.public.orders --yes"),
        (Check.RECONCILIATION, replace(SPEC, cursor=None), "sync --select shop.public.orders --full-refresh"),
        (Check.CONTRACT, SPEC, "replay --select shop.public.orders"),
    ],
)
def test_its_command_is_that_of_the_table(check: Check, spec: TableSpec, command: str) -> None:
    assert f"`incremental-assets {command}`" in with_cure(failed(check), spec).cure


def test_of_a_key_that_the_source_does_not_enforce_it_says_what_no_repair_can_mend() -> None:
    cure = with_cure(failed(Check.RECONCILIATION), replace(SPEC, key_enforced=False)).cure
    assert "`incremental-assets repair --select shop.public.orders`" in cure
    assert cure.endswith(
        "declare a `primary_key` that is unique, and leave such a column out by `columns: {exclude: […]}`"
    )
    assert "primary_key" not in with_cure(failed(Check.RECONCILIATION), replace(SPEC, key_enforced=True)).cure


def test_a_check_that_passes_or_names_its_command_has_none() -> None:
    passed = replace(failed(Check.RECONCILIATION), passed=True)
    named = failed(
        Check.RECONCILIATION, detail="rows are gone; `incremental-assets reset --select a.b --yes` reads them"
    )
    assert [with_cure(each, SPEC).cure for each in (passed, named, nothing_landed(ORDERS, Check.SCHEMA))] == [
        "",
        "",
        "",
    ]


@pytest.mark.parametrize("check", list(Check))
def test_of_a_check_that_could_not_run_the_error_alone_says_what_to_do(check: Check) -> None:
    verdict = unanswered(ORDERS, check, "shop cannot be reached; check host and port")
    assert with_cure(verdict, SPEC) == verdict


def test_a_watermark_that_is_held_back_is_no_matter_of_another_sync() -> None:
    assert "`incremental-assets doctor`" in with_cure(failed(Check.FRESHNESS, 0.0), SPEC).cure


@pytest.mark.parametrize(
    ("spec", "found", "words"),
    [
        (
            SPEC,
            Difference(added=(Column("b", "text", "string", Fidelity.EXACT),)),
            "sync --select shop.public.orders` follows",
        ),
        (SPEC, Difference(retyped=(WIDER,)), "`schema_changes: widen`"),
        (SPEC, Difference(retyped=(NARROWER,)), "put the type back"),
        (replace(SPEC, widens=True), Difference(retyped=(WIDER,)), "sync --select shop.public.orders` follows"),
        (replace(SPEC, evolve=False), Difference(dropped=(TargetColumn("b", "string"),)), "`schema_changes: evolve`"),
    ],
)
def test_columns_that_differ_are_followed_widened_or_put_back(spec: TableSpec, found: Difference, words: str) -> None:
    assert words in schema(spec, found).cure


def test_dagster_shows_what_to_do_first_and_plots_what_is_counted() -> None:
    shown = of_verdict(with_cure(failed(Check.RECONCILIATION), SPEC))
    assert next(iter(shown)) == "what_to_do"
    assert "`incremental-assets repair --select shop.public.orders`" in str(shown["what_to_do"].value)
    assert shown["rows_differing"] == 2
    assert set(of_verdict(failed(Check.SCHEMA, 1))) == set(), "that one column differs is no number to plot"


def test_the_command_line_prints_ten_cures_and_counts_the_rest() -> None:
    tables = [replace(ORDERS, name=f"t{number:02}") for number in range(12)]
    broken = [replace(with_cure(failed(Check.RECONCILIATION), SPEC), table=table) for table in tables]
    notes = [each.text for each in answer(broken, Options()).shown if hasattr(each, "text")]
    assert sum("repair --select" in note for note in notes) == 10
    assert any(re.match("2 more can be put right", note) for note in notes)
