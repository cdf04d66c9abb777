"""`alerts`: rules for Prometheus, by the objectives of the configuration."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incremental_assets.cli.answer import Answer, Note
from incremental_assets.cli.lines import say
from incremental_assets.cli.opening import configured
from incremental_assets.cli.selection import remembered
from incremental_assets.core.config.settings import SourceConfig, TableConfig
from incremental_assets.core.config.terms import terms_of
from incremental_assets.core.errors import ConfigurationError
from incremental_assets.core.model.duration import format_duration
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.operations.objectives import mistakes, notes
from incremental_assets.core.operations.rules import Alert, Recorded, alerts, recorded

if TYPE_CHECKING:
    from incremental_assets.resources.runtime import Runtime

_EVERY = timedelta(minutes=1)
_INHIBITION = """\
# For Alertmanager: an alert of a source silences those that follow from it.
# inhibit_rules:
#   - source_matchers: [alertname = IncrementalAssetsSourceDown]
#     target_matchers: [alertname =~ "IncrementalAssets(FreshnessBudgetBurns|SuccessBudgetBurns|TableFailing|NobodyLooks)"]
#     equal: [source]
#   - source_matchers: [alertname = IncrementalAssetsNobodyLooks]
#     target_matchers: [alertname =~ "IncrementalAssets(FreshnessBudgetBurns|RunInterrupted|NotVerified)"]
#     equal: [source]
#   - source_matchers: [alertname =~ "IncrementalAssets(Freshness|Success)BudgetBurns", severity = page]
#     target_matchers: [alertname =~ "IncrementalAssets(Freshness|Success)BudgetBurns", severity = ticket]
#     equal: [alertname, source, table]
"""


def run(config: Path | None, runbooks: str) -> Answer:
    """The command. Raises ConfigurationError for objectives that can never alert, or always would."""
    from incremental_assets.resources.runtime import Runtime

    with closing(Runtime(configured(config), writes=False)) as runtime:
        terms = [*_terms(runtime)]
    wrong = dict.fromkeys(problem for _, source, each in terms for problem in mistakes(source, each))
    if wrong:
        raise ConfigurationError(tuple(wrong))
    for note in [note for table, _, each in terms for note in notes(table, each)]:
        say(note)
    document = rules(runbooks)
    return Answer(document, (Note(_text(document), wrap=False),))


def _terms(runtime: Runtime) -> Iterator[tuple[TableId, SourceConfig, TableConfig]]:
    for table in sorted(remembered(runtime, ()).tables):
        source = runtime.configuration.source(table.source)
        yield table, source, terms_of(source, table)


def rules(runbooks: str) -> dict[str, Any]:
    """A file of rules."""
    kept: Sequence[dict[str, Any]] = [_recording(each) for each in recorded()]
    told: Sequence[dict[str, Any]] = [_alerting(each, runbooks.rstrip("/")) for each in alerts()]
    every = format_duration(_EVERY)
    return {
        "groups": [
            {"name": "incremental-assets-objectives", "interval": every, "rules": kept},
            {"name": "incremental-assets-alerts", "interval": every, "rules": told},
        ]
    }


def _recording(rule: Recorded) -> dict[str, Any]:
    return {"record": rule.name, "expr": rule.expression} | ({"labels": dict(rule.labels)} if rule.labels else {})


def _alerting(alert: Alert, runbooks: str) -> dict[str, Any]:
    return {
        "alert": f"IncrementalAssets{alert.name}",
        "expr": alert.expression,
        **({"for": format_duration(alert.lasts)} if alert.lasts else {}),
        "labels": {"severity": str(alert.urgency)},
        "annotations": {
            "summary": alert.summary,
            "description": alert.description,
            "runbook_url": f"{runbooks}/{alert.runbook}.md",
        },
    }


def _text(document: dict[str, Any]) -> str:
    import yaml

    return _INHIBITION + yaml.safe_dump(document, sort_keys=False, width=1_000_000, allow_unicode=True).rstrip("\n")
