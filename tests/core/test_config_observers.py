"""`observers`: who hears what happens, by the names that packages have registered."""

from __future__ import annotations

import json
from importlib import metadata
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import pytest

from incremental_assets.core.config.load import load
from incremental_assets.core.errors import ConfigurationError, SetupError
from incremental_assets.core.observing import registry
from incremental_assets.core.observing.datasets import Datasets
from incremental_assets.core.observing.observers import Observer
from incremental_assets.core.observing.occurrences import LeaseTaken
from incremental_assets.resources.observers import open_observers
from tests.datasets import NOWHERE
from tests.scenario import ORDERS

FILE = """\
lake: ./lake
checkpoints: sqlite:///checkpoints.db
observers: {}
sources:
  shop: {{dialect: sqlite, database: ./shop.db, tables: ["main.orders:id:integer"]}}
"""


class Heard(Observer):
    """Of another package."""

    def __init__(self, datasets: Datasets) -> None:
        self.datasets = datasets


def breaks(_: Datasets) -> Observer:
    raise ConnectionError("no route to the broker")


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two observers that another package has brought."""
    ours = [
        EntryPoint(name, f"{__name__}:{value}", registry.GROUP)
        for name, value in (("heard", "Heard"), ("away", "breaks"))
    ]

    def found(**wanted: str) -> EntryPoints:
        return EntryPoints(ours).select(**wanted)

    monkeypatch.setattr(registry, "entry_points", found)
    for name in ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)


def written(folder: Path, observers: str) -> Path:
    path = folder / "sources.yaml"
    path.write_text(FILE.format(observers))
    return path


def test_one_that_is_named_is_opened(tmp_path: Path) -> None:
    configuration = load(written(tmp_path, "[heard]"))
    assert configuration.observers == ("heard",)
    told = open_observers(configuration)
    assert [type(each) for each in told.members] == [Heard]


def test_none_is_opened_that_nobody_has_named(tmp_path: Path) -> None:
    assert open_observers(load(written(tmp_path, "[]"))).members == ()


def test_one_that_no_package_brings_is_a_mistake_at_its_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as met:
        load(written(tmp_path, "[datadog]"))
    (problem,) = met.value.problems
    assert problem.line == 3
    assert "no installed package brings an observer 'datadog'" in problem.cure
    assert "use away, heard, or install the package that brings it" in problem.cure


def test_one_that_cannot_be_opened_stops_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(SetupError) as met:
        open_observers(load(written(tmp_path, "[away]")))
    assert "the observer 'away'" in str(met.value)
    assert "ConnectionError: no route to the broker; correct what it needs, or remove it from `observers`" in str(
        met.value
    )


def test_a_variable_that_may_mean_other_programs_stops_nothing_where_the_client_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318")
    monkeypatch.setattr("incremental_assets.core.extras.find_spec", lambda _: None)
    assert open_observers(load(written(tmp_path, "[]"))).members == ()
    (record,) = caplog.records
    assert "pip install 'incremental-assets[otel]'" in record.getMessage()


def test_ours_writes_a_line_in_json_for_each_thing_that_happens(capsys: pytest.CaptureFixture[str]) -> None:
    (entry,) = metadata.entry_points(group=registry.GROUP, name="log")
    entry.load()(NOWHERE).notify(LeaseTaken(ORDERS, "run", 0.5))
    line = json.loads(capsys.readouterr().err)
    assert (line["event"], line["table"], line["run_id"]) == ("lease_taken", "shop.public.orders", "run")
