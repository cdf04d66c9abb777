"""What the pure tests begin with."""

from pathlib import Path

import pytest

from incremental_assets.core.differences import differing as bisecting


@pytest.fixture(params=[5_000, 0], ids=["windows first", "keys at once"])
def few(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small table is counted by its windows, a large one by its keys; both have the same result."""
    monkeypatch.setattr(bisecting, "FEW", request.param)


NAME = "rowstore"
_ENTRIES = f"""[incremental_assets.dialects]
{NAME} = rowstore_of_a_package:DIALECT
[incremental_assets.dialect_facts]
{NAME} = rowstore_of_a_package:FACTS
"""
_MODULE = """from incremental_assets.core.config.dialects import DialectFacts

FACTS = DialectFacts(port=1521, schema_is_user=True, numbering="rowversion", compares=False, schemes=("rows",), kind="db2")
"""


@pytest.fixture
def rowstore(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> str:
    """Its name. A schema of it is what a user owns, and its tables have row versions and are not compared."""
    folder: Path = tmp_path_factory.mktemp("package")
    (folder / "rowstore_of_a_package.py").write_text(_MODULE)
    metadata = folder / "rowstore_of_a_package-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: rowstore-of-a-package\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(_ENTRIES)
    monkeypatch.syspath_prepend(folder)
    return NAME
