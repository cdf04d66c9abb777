"""`alerts`: each rule fires on a history made up for it and not on one beside it, by Prometheus' own tool; what could never fire is refused."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from incremental_assets.cli.commands.alerts import rules
from incremental_assets.core.operations.exposition import PREFIX
from incremental_assets.core.operations.known import Known
from incremental_assets.core.operations.metrics import families
from incremental_assets.core.operations.rules import alerts, recorded
from tests.cli.conftest import CONFIG, Call
from tests.prometheus import promtool

ROOT = Path(__file__).parents[2]
RUNBOOKS = ROOT / "docs" / "runbooks"
OF = 'source="shop",table="public.orders"'
NAMES = {alert.name for alert in alerts()}
LONG = 600
"""Minutes."""


def series(name: str, values: str, more: str = "", of: str = OF) -> dict[str, str]:
    return {"series": f'{PREFIX}{name}{{{of}{more},job="i",instance="a"}}', "values": values}


SLO = [
    series("slo_objective_ratio", f"0.95x{LONG}", ',slo="freshness"'),
    series("slo_objective_ratio", f"0.999x{LONG}", ',slo="success"'),
    series("slo_freshness_seconds", f"300x{LONG}"),
]
UP = {"series": 'incremental_assets_build_info{version="1"}', "values": f"1x{LONG}"}
IN_STEP = series("in_step_timestamp_seconds", f"0+60x{LONG}")


def of_source(name: str, values: str) -> dict[str, str]:
    return series(name, values, of='source="shop"')


def syncs(result: str, values: str) -> dict[str, str]:
    return series("syncs_total", values, f',result="{result}"')


@dataclass(frozen=True)
class Case:
    """A history, a sample a minute, and what fires in it. `urgency`: of what fires; empty where nothing does."""

    alert: str
    history: list[dict[str, str]]
    at: str
    urgency: str = ""
    told: str = OF


FIRES = [
    Case("FreshnessBudgetBurns", [*SLO, series("in_step_timestamp_seconds", "60x120")], "75m", "page"),
    # Never in step, or put back: there is no such moment.
    Case("FreshnessBudgetBurns", SLO, "75m", "page"),
    # In every ten minutes it is late for two: a fifth, four times the budget, in which no page comes.
    Case(
        "FreshnessBudgetBurns",
        [
            *SLO,
            series("in_step_timestamp_seconds", " ".join(f"{60 * (m if m % 10 < 8 else m - 10)}" for m in range(LONG))),
        ],
        "5h",
        "ticket",
    ),
    Case("SuccessBudgetBurns", [*SLO, syncs("landed", "0+1x120"), syncs("failed", "0x60 1+1x10")], "66m", "page"),
    Case("ExporterDown", [], "10m", "page", ""),
    Case("SourceDown", [of_source("source_up", "1x5 0x20")], "15m", "page", 'source="shop"'),
    Case(
        "NobodyLooks",
        [of_source("source_up", "1x60"), of_source("look_timestamp_seconds", "60x60")],
        "45m",
        "page",
        'source="shop"',
    ),
    Case(
        "NobodyLooks",
        [
            of_source("source_up", "1x60"),
            of_source("look_timestamp_seconds", "60x60"),
            of_source("source_quiet", "0x60"),
        ],
        "45m",
        "page",
        'source="shop"',
    ),
    Case("TableFailing", [series("health", "1x60", ',health="error"')], "20m", "ticket"),
    Case("RunInterrupted", [series("interrupted", "1x60")], "35m", "ticket"),
    Case("Drift", [series("drift_rows", "7x60")], "20m", "ticket"),
    Case("NotVerified", [series("verified_timestamp_seconds", f"{-3 * 86_400}x{LONG}")], "70m", "ticket"),
    Case("RowsQuarantined", [series("quarantined_rows_total", "0x10 3x20")], "15m", "ticket"),
    Case("HeldBack", [of_source("oldest_transaction_timestamp_seconds", "60x120")], "90m", "ticket", 'source="shop"'),
    Case("LogKept", [of_source("log_kept_bytes", f"{6 * 2**30}x60")], "20m", "page", 'source="shop"'),
]
PAUSED = series("paused", f"1x{LONG}")
OF_MONDAY = series("paused_timestamp_seconds", f"{-86_400}x{LONG}")
OF_ANOTHER = series("paused", f"0x{LONG}", of='source="shop",table="public.b"')
MEANT = [
    Case(each.alert, [*each.history, PAUSED], each.at)
    for each in FIRES
    if each.alert not in ("ExporterDown", "RowsQuarantined", "LogKept", "SuccessBudgetBurns")
]
"""The same causes where a person has paused the table, which is all that the source has."""
FIRES += [
    Case("PausedForLong", [PAUSED, OF_MONDAY], "20m", "ticket"),
    # One table of two: the source is looked at for the other one.
    Case("SourceDown", [of_source("source_up", "0x60"), PAUSED, OF_ANOTHER], "15m", "page", 'source="shop"'),
]
STAYS_QUIET = [
    *MEANT,
    Case("PausedForLong", [PAUSED, series("paused_timestamp_seconds", f"0x{LONG}")], "20m"),
    # Late for two minutes behind a pause, which is no tenth of an hour.
    Case(
        "FreshnessBudgetBurns",
        [*SLO, series("in_step_timestamp_seconds", "60x100"), series("paused", "0x1 1x89 0x100")],
        "94m",
    ),
    Case("FreshnessBudgetBurns", [*SLO, IN_STEP], "75m"),
    # Late for three minutes of an hour.
    Case(
        "FreshnessBudgetBurns",
        [*SLO, series("in_step_timestamp_seconds", "0+60x60 3600x8 4140+60x60")],
        "70m",
    ),
    Case("FreshnessBudgetBurns", [series("in_step_timestamp_seconds", "60x120")], "75m"),
    # One failure of sixty: sixteen times what 99.9 % allows, and no outage.
    Case("SuccessBudgetBurns", [*SLO, syncs("landed", "0+1x120"), syncs("failed", "0x60 1x20")], "64m"),
    Case("SuccessBudgetBurns", [syncs("landed", "0+1x120"), syncs("failed", "0x60 1+1x10")], "66m"),
    Case("ExporterDown", [UP], "10m"),
    Case("SourceDown", [of_source("source_up", "1x5 0x2 1x20")], "15m"),
    Case("NobodyLooks", [of_source("source_up", "0x60"), of_source("look_timestamp_seconds", "60x60")], "45m"),
    Case("NobodyLooks", [of_source("source_up", "1x60"), of_source("look_timestamp_seconds", "0+60x60")], "45m"),
    Case(
        "NobodyLooks",
        [
            of_source("source_up", "1x60"),
            of_source("look_timestamp_seconds", "60x60"),
            of_source("source_quiet", "1x60"),
        ],
        "45m",
    ),
    Case("TableFailing", [series("health", "1x10 0x50", ',health="error"')], "20m"),
    Case("RunInterrupted", [series("interrupted", "0x60")], "35m"),
    Case("Drift", [series("drift_rows", "7x5 0x60")], "20m"),
    Case("NotVerified", [series("verified_timestamp_seconds", f"{-86_400}x{LONG}")], "70m"),
    Case("RowsQuarantined", [series("quarantined_rows_total", "5x60")], "15m"),
    Case("HeldBack", [of_source("oldest_transaction_timestamp_seconds", "0+60x120")], "90m"),
    Case("LogKept", [of_source("log_kept_bytes", "1024x60")], "20m"),
]


def played(cases: list[Case]) -> list[dict[str, Any]]:
    return [
        {
            "interval": "1m",
            "input_series": case.history,
            "promql_expr_test": [
                {
                    "expr": f'ALERTS{{alertname="IncrementalAssets{case.alert}",alertstate="firing",severity=~"{case.urgency or ".+"}"}}',
                    "eval_time": case.at,
                    "exp_samples": _samples(case),
                }
            ],
        }
        for case in cases
    ]


def _samples(case: Case) -> list[dict[str, Any]]:
    if not case.urgency:
        return []
    told = f",{case.told}" if case.told else ""
    labels = f'ALERTS{{alertname="IncrementalAssets{case.alert}",alertstate="firing",severity="{case.urgency}"{told}}}'
    return [{"labels": labels, "value": 1}]


def unmet(tests: list[dict[str, Any]], folder: Path) -> str:
    """What promtool has to say against it."""
    (folder / "rules.yaml").write_text(yaml.safe_dump(rules("docs/runbooks"), sort_keys=False))
    document = {"rule_files": ["rules.yaml"], "evaluation_interval": "1m", "tests": tests}
    (folder / "tests.yaml").write_text(yaml.safe_dump(document, sort_keys=False))
    done = subprocess.run(
        [promtool(), "test", "rules", "tests.yaml"], cwd=folder, capture_output=True, text=True, check=False
    )
    return "" if done.returncode == 0 else done.stdout + done.stderr


def test_an_alert_fires_where_its_cause_is(tmp_path: Path) -> None:
    assert unmet(played(FIRES), tmp_path) == ""


def test_an_alert_stays_quiet_beside_its_cause(tmp_path: Path) -> None:
    assert unmet(played(STAYS_QUIET), tmp_path) == ""


def test_every_alert_is_played_with_and_without_its_cause() -> None:
    assert {case.alert for case in FIRES} == {case.alert for case in STAYS_QUIET} == NAMES


def test_what_is_told_names_the_table_and_the_number(tmp_path: Path) -> None:
    told = {
        "exp_labels": {"severity": "ticket", "source": "shop", "table": "public.orders"},
        "exp_annotations": {
            "summary": "shop public.orders differs from its source",
            "description": "7 rows of shop public.orders differ from the source, by the last check and what was read again since.",
            "runbook_url": "docs/runbooks/drift.md",
        },
    }
    found = unmet(
        [
            {
                "interval": "1m",
                "input_series": [series("drift_rows", "7x60")],
                "alert_rule_test": [{"eval_time": "20m", "alertname": "IncrementalAssetsDrift", "exp_alerts": [told]}],
            }
        ],
        tmp_path,
    )
    assert found == ""


def test_every_metric_that_a_rule_asks_for_is_exported() -> None:
    exported = {family.name for family in families(Known(), (), "1")}
    expressions = [*(each.expression for each in recorded()), *(each.expression for each in alerts())]
    asked = {name for each in expressions for name in re.findall(rf"{PREFIX}(\w+)", each)}

    assert asked <= exported


# --- the command ----------------------------------------------------------------------------------


def with_slo(config: Path, slo: str, more: str = "") -> None:
    config.write_text(CONFIG + f"        slo: {slo}\n" + more)


def test_the_file_is_one_that_prometheus_takes(call: Call, config: Path, tmp_path: Path) -> None:
    with_slo(config, "{freshness: 95% within 5m, success: 99.9%}")
    said = call("alerts", "--runbooks", "https://wiki/runbooks/")
    assert (said.code, said.err) == (0, "")

    (tmp_path / "written.yaml").write_text(said.out)
    checked = subprocess.run(
        [promtool(), "check", "rules", str(tmp_path / "written.yaml")], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
    told = [rule for group in yaml.safe_load(said.out)["groups"] for rule in group["rules"] if "alert" in rule]
    links = {rule["annotations"]["runbook_url"] for rule in told}
    assert links == {f"https://wiki/runbooks/{alert.runbook}.md" for alert in alerts()}
    assert yaml.safe_load(said.out) == call("alerts", "--json", "--runbooks", "https://wiki/runbooks").document


@pytest.mark.parametrize(
    ("slo", "told"),
    [
        (
            "{success: 80%}",
            "a budget of 20% burns at most 5 times as fast as it may, and a page needs more than 6 times; write a share above 83.34%, or remove it",
        ),
        ("{freshness: 83% within 5m}", "burns at most 5.88 times as fast as it may"),
        (
            "{freshness: 95% within 30s}",
            "the table is looked at every 1m, so that this would be missed in between; write a longer age, or have it looked at more often",
        ),
    ],
)
def test_an_objective_that_never_alerts_or_always_would_is_refused_with_its_place(
    slo: str, told: str, call: Call, config: Path
) -> None:
    with_slo(config, slo)
    said = call("alerts")

    assert (said.code, said.out) == (2, "")
    assert told in said.err
    assert f"{config}:11:" in said.err


def test_a_table_that_is_read_once_a_week_is_not_promised_within_minutes(call: Call, config: Path) -> None:
    with_slo(
        config,
        "{success: 99%}",
        "      - {table: public.countries, strategy: full_refresh, refresh_every: 7d, slo: {freshness: 95% within 1d}}\n",
    )
    assert "the table is read or compared every 7d, so that this would be missed in between" in call("alerts").err


def test_a_table_with_a_schedule_is_not_promised_within_minutes_nor_is_one_of_a_source_that_rests(
    call: Call, config: Path
) -> None:
    with_slo(
        config,
        "{freshness: 95% within 1h}",
        '      - {table: public.countries, schedule: "0 6 * * 1-5", slo: {freshness: 95% within 1d}}\n',
    )
    written = config.read_text().replace(
        "    tables:\n", "    quiet: 22:00-06:00\n    check_at: never\n    tables:\n", 1
    )
    config.write_text(written)
    said = call("alerts").err
    assert "the table is read or compared every 3d, so that this would be missed in between" in said
    assert "the table is looked at every 8h, so that this would be missed in between" in said


def test_of_an_objective_that_some_window_can_alert_for_it_is_told_which_never_does(call: Call, config: Path) -> None:
    with_slo(config, "{freshness: 90% within 5m}")
    said = call("alerts")

    assert said.code == 0
    assert said.err == (
        "shop.public.orders: 90% within 5m: its budget burns at most 10 times as fast as it may, so that the page of 1h, "
        "which needs more than 14.4 times, never comes; the others do\n"
    )


def test_objectives_are_metrics_so_that_one_set_of_rules_does_for_all_tables(call: Call, config: Path) -> None:
    before = call("alerts", "--json").document
    with_slo(config, "{freshness: 95% within 5m, success: 99.9%}")

    assert call("alerts", "--json").document == before
    metrics = call("metrics", "--json").document["metrics"]
    assert metrics[f'{PREFIX}slo_objective_ratio{{{OF},slo="freshness"}}'] == 0.95
    assert metrics[f'{PREFIX}slo_objective_ratio{{{OF},slo="success"}}'] == 0.999
    assert metrics[f"{PREFIX}slo_freshness_seconds{{{OF}}}"] == 300
