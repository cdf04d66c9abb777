"""What travels to the machines of a cluster that lack it: the packages that tasks import, with what says their versions."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from incremental_assets.adapters.spark import packages
from incremental_assets.adapters.spark.packages import OURS, archive_of, imported, lacking

HERE = imported()
IMPORT_ALL = """
import importlib, pathlib, sys
import incremental_assets
from importlib.metadata import packages_distributions
root = pathlib.Path(incremental_assets.__file__).parent
for path in sorted((root / "adapters").rglob("*.py")):
    text = path.read_text()
    if "\\ndef apply(" in text or "def batches(self" in text:
        importlib.import_module(".".join(("incremental_assets", *path.relative_to(root).with_suffix("").parts)))
found = packages_distributions()
print(*sorted({name for module in sys.modules for name in found.get(module.partition(".")[0], ())}))
"""
"""Import each module that a task begins with, or reads a source by, and print whose modules are there then."""


def test_all_that_tasks_import_is_among_what_travels() -> None:
    done = subprocess.run([sys.executable, "-c", IMPORT_ALL], capture_output=True, text=True, check=True)
    there = {name.lower().replace("_", "-").replace(".", "-") for name in done.stdout.split()}
    # Spark's own are there wherever it is, and of the others nothing is needed that others have found here.
    assert there - {*HERE} <= {"pyspark", "py4j", "setuptools", "distlib", "backports-tarfile", "bcrypt"}


def test_what_is_unpacked_is_this_package_in_this_version(tmp_path: Path) -> None:
    with zipfile.ZipFile(archive_of([OURS])) as archive:
        archive.extractall(tmp_path)
    ask = (
        "from importlib.metadata import version; import incremental_assets.core.errors as found; "
        "print(version('incremental-assets'), found.__file__)"
    )
    told = subprocess.run(
        [Path(sys.base_prefix) / "bin" / "python3", "-P", "-c", ask],
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.split() == [HERE[OURS], str(tmp_path / "incremental_assets/core/errors/__init__.py")]


def test_an_archive_that_was_made_is_taken_again() -> None:
    once = archive_of([OURS])
    made = once.stat().st_ino
    assert (archive_of([OURS]), once.stat().st_ino) == (once, made)


def test_a_machine_that_has_all_of_it_lacks_nothing() -> None:
    assert lacking(HERE)() == []
    assert lacking({})() == []


def test_what_is_missing_is_named_and_an_image_with_ours_may_have_others_in_other_versions() -> None:
    assert lacking(HERE | {"pyarrow": "1.0", "unheard-of": "1.0"})() == ["unheard-of"]


def test_where_ours_is_another_version_all_that_differ_are_sent() -> None:
    assert lacking({OURS: "0.0.1", "numpy": HERE["numpy"], "pyarrow": "1.0"})() == [OURS, "pyarrow"]


def test_what_nobody_has_used_for_a_week_goes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(packages, "scratch_folder", lambda: tmp_path)
    old, fresh = tmp_path / "packages-old.zip", tmp_path / "packages-fresh.zip"
    for each in (old, fresh):
        each.touch()
    os.utime(old, (0, 0))
    made = archive_of([OURS])
    assert sorted(tmp_path.iterdir()) == sorted([made, fresh])
