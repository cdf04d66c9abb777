"""What holds for every command: one document, one sentence, the right exit status, and no traceback."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from incremental_assets.cli import opening
from incremental_assets.core.errors import SourceRefused, SourceUnreachable
from tests.cli.conftest import CONFIG, Call, Outside


@pytest.mark.parametrize(
    "arguments",
    [
        ("sync", "--frobnicate"),
        ("sync", "--select"),
        ("frobnicate",),
        ("backfill", "--select", "public.orders"),
        ("demo", "--scale", "lots"),
        ("demo", "--source", "dbase"),
        ("demo", "--source", "sqlite", "--config", "sources.yaml"),
        ("status", "--select", "nothing.like.it"),
        ("rollback", "--yes"),
        ("engine",),
        ("engine", "strt"),
        ("sync", "public.orders"),
    ],
)
def test_a_wrong_command_line_is_2_in_one_document_and_one_sentence(call: Call, arguments: tuple[str, ...]) -> None:
    said = call(*arguments, "--json")

    assert said.code == 2
    assert said.document["error"]["exit_code"] == 2
    assert said.document["error"]["message"] in said.err
    assert len(said.err.splitlines()) == 1


def test_a_table_that_is_written_as_an_argument_is_told_how_tables_are_named(call: Call) -> None:
    assert call("sync", "public.orders").err == (
        "Got unexpected extra argument (public.orders): name tables by --select source.schema.table (see `incremental-assets sync --help`)\n"
    )
    assert "--select" not in call("schema", "public.orders").err


def test_every_mistake_of_the_configuration_has_its_line_in_the_document(call: Call, config: Path) -> None:
    config.write_text(CONFIG.replace("upsert", "upsrt").replace("dialect: postgresql", "dialect: postgres"))

    said = call("sync", "--json")

    assert said.code == 2
    lines = config.read_text().splitlines()
    assert {lines[problem["line"] - 1].split()[-1] for problem in said.document["error"]["problems"]} == {
        "upsrt",
        "postgres",
    }
    assert said.err.count(str(config)) == 2


def test_a_configuration_that_is_not_there_is_2(call: Call, tmp_path: Path) -> None:
    said = call("status", "--config", str(tmp_path / "absent.yaml"))

    assert said.code == 2
    assert "absent.yaml" in said.err
    assert "--config" in said.err


def test_an_unexpected_error_is_one_sentence_and_its_traceback_is_in_a_file(call: Call, outside: Outside) -> None:
    outside.broken = ZeroDivisionError("of all things")

    said = call("sync", "--json")

    assert said.code == 1
    assert "Traceback" not in said.err
    assert len(said.err.splitlines()) == 1
    log = Path(said.err.rstrip().rpartition(" ")[2])
    assert "ZeroDivisionError: of all things" in log.read_text()
    assert log.stat().st_mode & 0o777 == 0o600
    assert said.document["error"]["kind"] == "ZeroDivisionError"
    log.unlink()


_STOPPED_AT_AN_IMPORT = """
import sys

class Stop:
    def find_spec(self, name, *_):
        if name == "incremental_assets.cli.main":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Stop())
sys.argv = ["incremental-assets", "engine", "status"]
from incremental_assets.cli.start import start
start()
"""


def test_ctrl_c_before_a_command_has_begun_is_a_sentence_too() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _STOPPED_AT_AN_IMPORT], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "interrupted; what had landed stays landed, the next call resumes from there\n"


def test_an_interrupted_command_is_130(call: Call, outside: Outside) -> None:
    outside.broken = KeyboardInterrupt()

    said = call("sync", "--json")

    assert said.code == 130
    assert "interrupted" in said.document["error"]["message"]
    assert "Traceback" not in said.err


def test_doctor_tells_of_a_source_that_does_not_answer_and_goes_on(call: Call, outside: Outside) -> None:
    outside.broken = SourceUnreachable("shop: localhost:5432 does not answer")

    said = call("doctor", "--json")

    findings = {(each["subject"], each["topic"]): each for each in said.document["findings"]}
    assert said.code == 1
    assert findings["shop", "reachable"]["health"] == "fail"
    assert findings["configuration", "file"]["health"] == "ok"


def test_doctor_says_what_it_found_without_the_checkpoint_table(call: Call, tmp_path: Path) -> None:
    (tmp_path / "checkpoints.db").mkdir()

    said = call("doctor", "--json")

    findings = {(each["subject"], each["topic"]): each for each in said.document["findings"]}
    assert said.code == 1
    assert findings["checkpoints", "reachable"]["health"] == "fail"
    assert findings["lake", "place"]["health"] == "ok"
    assert findings["shop", "tables"]["health"] == "warn"


def test_doctor_says_why_the_sql_is_that_of_a_new_role(
    call: Call, outside: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", "secret")
    asked = call("doctor", "--sql")
    outside.broken = SourceRefused("shop: the password of 'reader' is wrong")
    refused = call("doctor", "--sql")

    assert "CREATE ROLE" not in asked.out
    assert refused.out.startswith(
        "-- shop could not be queried: shop: the password of 'reader' is wrong\n-- All that a new role needs:\nCREATE ROLE"
    )


def test_doctor_writes_no_sql_for_a_pattern_that_matches_nothing(call: Call) -> None:
    said = call("doctor", "--sql", "--select", "public.oders", "--json")

    assert said.code == 2
    assert "matches no table; did you mean shop.public.orders?" in said.document["error"]["message"]


def test_schema_is_the_json_schema_with_and_without_json(call: Call) -> None:
    plain, document = call("schema"), call("schema", "--json")

    assert json.loads(plain.out) == document.document
    assert document.document["properties"].keys() >= {"lake", "sources"}


def test_the_demo_touches_no_configuration_but_its_own(call: Call, tmp_path: Path) -> None:
    before = sorted(tmp_path.iterdir())

    said = call("demo", "--json")

    assert said.code == 2
    assert "does not describe the demo" in said.document["error"]["message"]
    assert sorted(tmp_path.iterdir()) == before


def test_doctor_counts_one_source_and_one_table(call: Call, outside: Outside) -> None:
    outside.broken = SourceUnreachable("shop: localhost:5432 does not answer")

    findings = {(each["subject"], each["topic"]): each for each in call("doctor", "--json").document["findings"]}

    assert findings["configuration", "file"]["detail"].endswith(": 1 source, 1 listed table")


@pytest.fixture
def shipped(call: Call, config: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """This test's configuration in the place of the demo's, and none named."""
    monkeypatch.setattr(opening, "SHIPPED", config)
    monkeypatch.delenv("INCREMENTAL_ASSETS_CONFIG")
    return config


def test_where_no_file_is_found_the_demos_is_taken_and_said_in_one_line(
    call: Call, shipped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")

    assert call("status", "--json").err == (
        f"there is no sources.yaml in this folder, so the configuration of the demo is used: {shipped}; "
        "name yours with --config, or write one with `incremental-assets init URL`\n"
    )


def test_the_demo_itself_and_the_folder_that_it_comes_in_are_told_nothing(
    call: Call, shipped: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(Path(opening.__file__).parents[2])
    assert call("status", "--json").err == ""
    monkeypatch.delenv("INCREMENTAL_ASSETS_CONFIG")
    monkeypatch.chdir(shipped.parent.parent)
    opening.configured_or_demo(None)
    assert capsys.readouterr().err == ""
