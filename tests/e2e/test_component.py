"""A project that `create-dagster` makes, outside this repository, in an environment where this package is installed as a wheel.

The document's own commands are run, in its order. Everything but this package comes from the environment of the tests, by links, so that
nothing is fetched and neither this checkout nor its editable installation is in reach.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(900)]

ROOT = Path(__file__).parents[2]
SNIPPETS = dict(
    # Of each language the first.
    reversed(re.findall(r"```(\w+)\n(.*?)```", (ROOT / "docs" / "component.md").read_text(encoding="utf-8"), re.DOTALL))
)
OURS = ("incremental_assets", "resources", "pyproject.toml", "README.md", "LICENSE")
COMMANDS = {"pip": "pip._internal.cli.main", "dg": "dagster_dg_cli.cli", "create-dagster": "create_dagster.cli"}


@dataclass(frozen=True)
class Team:
    """A team's folder: its environment, a copy of this repository, and the project once it is made."""

    folder: Path

    @property
    def project(self) -> Path:
        return self.folder / "my-project"

    @property
    def definitions(self) -> Path:
        return self.project / "src" / "my_project" / "defs"

    @property
    def environment(self) -> dict[str, str]:
        inherited = {key: value for key, value in os.environ.items() if not key.startswith(("DAGSTER_", "PYTHON"))}
        return inherited | {
            "PATH": f"{self.folder / 'environment' / 'bin'}:{os.environ['PATH']}",
            "VIRTUAL_ENV": str(self.folder / "environment"),
            "PYTHONPATH": str(self.project / "src"),  # where a team has `uv sync` or `pip install -e .`
            "PYTHONWARNINGS": "ignore",
            "PIP_NO_INDEX": "1",
            "PIP_NO_BUILD_ISOLATION": "0",  # pip's way to say: without
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "INCREMENTAL_ASSETS_JARS": os.environ.get("INCREMENTAL_ASSETS_JARS", str(ROOT / ".jars")),
            "DAGSTER_DG_UPDATE_CHECK_ENABLED": "0",
            "DAGSTER_DISABLE_TELEMETRY": "1",
            "COLUMNS": "300",
        }

    def run(self, *command: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run to its end, in the project unless told otherwise; both streams are in `stdout`."""
        return subprocess.run(
            command,
            cwd=folder or self.project,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=600,
            check=False,
        )

    def listed(self) -> dict[str, Any]:
        """What `dg list defs --json` shows."""
        done = self.run("dg", "list", "defs", "--json")
        assert done.returncode == 0, done.stdout
        found: dict[str, Any] = json.loads(done.stdout[done.stdout.index("{\n") :])
        return found


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Team:
    """An environment with pip, Dagster and its tools, and without this package."""
    team = Team(tmp_path_factory.mktemp("team"))
    environment = team.folder / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    (site,) = environment.glob("lib/*/site-packages")
    # Dagster tells its own frames in a traceback by the folder's name.
    dependencies = team.folder / "dependencies" / "site-packages"
    dependencies.mkdir(parents=True)
    (theirs,) = (path for path in map(Path, sys.path) if path.name == "site-packages")
    for each in theirs.iterdir():
        if not each.name.startswith(("incremental_assets", "__pycache__")) and each.suffix != ".pth":
            (dependencies / each.name).symlink_to(each)
    (site / "dependencies.pth").write_text(f"{dependencies}\n")
    for name, module in COMMANDS.items():
        script = environment / "bin" / name
        script.write_text(f"#!{environment / 'bin' / 'python'}\nfrom {module} import main\nmain()\n")
        script.chmod(0o755)
    copy = team.folder / "incremental-assets"
    copy.mkdir()
    for name in OURS:
        copied = shutil.copytree if (ROOT / name).is_dir() else shutil.copy2
        copied(ROOT / name, copy / name)
    return team


@pytest.fixture(scope="module")
def typed(team: Team) -> str:
    """What a team sees that types the document's commands."""
    done = team.run("bash", "-euxc", SNIPPETS["bash"], folder=team.folder)
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_the_documents_commands_make_a_project_and_show_what_the_component_does(team: Team, typed: str) -> None:
    assert re.search(r"incremental_assets\.IncrementalSource +│ Copies tables of a database into Delta Lake", typed)
    assert "All component YAML validated successfully." in typed
    assert "All definitions loaded successfully." in typed
    installed = team.run("python", "-c", "import incremental_assets; print(incremental_assets.__file__)").stdout
    assert Path(installed).is_relative_to(team.folder / "environment")


@pytest.mark.usefixtures("typed")
def test_two_components_and_an_asset_downstream_live_together_each_at_its_line(team: Team) -> None:
    scaffolded = (team.definitions / "shop" / "defs.yaml").read_text()
    (team.definitions / "web").mkdir()
    (team.definitions / "web" / "defs.yaml").write_text(scaffolded.replace("shop:", "web: "))
    (team.definitions / "shop" / "defs.yaml").write_text(SNIPPETS["yaml"])
    (team.definitions / "reports.py").write_text(SNIPPETS["python"])
    found = team.listed()

    assets = {each["asset_key"]: each for each in found["assets"]}
    assert {key for key in assets if "/source/" not in key} == {
        "shop/public/orders",
        "shop/public/orders__history",
        "shop/public/events",
        "web/public/orders",
        "orders_by_status",
    }
    assert assets["shop/public/orders"]["source"] == "src/my_project/defs/shop/defs.yaml:16"
    assert assets["shop/public/events"]["source"] == "src/my_project/defs/shop/defs.yaml:17"
    assert assets["web/public/orders"]["source"] == "src/my_project/defs/web/defs.yaml:16"
    assert assets["orders_by_status"]["dependency_keys"] == ["shop/public/orders"]
    assert {"sync__shop__sensor", "sync__web__sensor"} <= {each["name"] for each in found["sensors"]}
    assert "shop/public/events:freshness" in {each["key"] for each in found["asset_checks"]}
    assert not list(team.project.rglob(".lake"))


@pytest.mark.usefixtures("typed")
def test_mistakes_are_told_with_their_file_and_line_and_without_a_traceback_of_ours(team: Team) -> None:
    file = team.definitions / "wrong" / "defs.yaml"
    file.parent.mkdir()
    table = "- {table: public.orders, cursor: {column: updated_at, type: timestamp}, strategy: upsert, history: scd2}"
    assert table in SNIPPETS["yaml"]
    wrong = SNIPPETS["yaml"].replace("shop:", "wrong:").replace(table, f"{table}\n        {table}")
    try:
        file.write_text(wrong)
        ours = team.run("dg", "check", "defs")
        file.write_text(wrong.replace("user:", "usr:"))
        schemas = team.run("dg", "check", "yaml", str(file.parent))
        unread = team.run("incremental-assets", "status", "--config", str(file))
    finally:
        shutil.rmtree(file.parent)

    assert ours.returncode == 1
    assert re.search(rf"{file}:17: .*this table is already listed in line 16", ours.stdout)
    assert "site-packages/incremental_assets" not in ours.stdout
    assert schemas.returncode == 1
    assert re.search(rf"{file}:12 .*'usr' was unexpected", schemas.stdout)
    assert unread.returncode == 2
    assert "'usr': there is no such key here; did you mean `user`?" in unread.stdout.replace("\n", " ")
