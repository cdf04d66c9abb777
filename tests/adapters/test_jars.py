"""A session loads the locked bytes or nothing."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from incremental_assets.adapters.spark import jars
from incremental_assets.core.errors import SetupError


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the verified jars that a test may spoil."""
    for path in jars.verified_jars():
        shutil.copy(path, tmp_path)
    monkeypatch.setenv(jars.FOLDER_VARIABLE, str(tmp_path))
    return tmp_path


def test_every_locked_jar_is_there_in_the_lock_s_order(folder: Path) -> None:
    assert [path.name for path in jars.verified_jars()] == [jar.file for jar in jars.locked_jars()]
    assert {path.parent for path in jars.verified_jars()} == {folder}


def test_the_lock_holds_delta_and_the_jdbc_driver_but_nothing_that_spark_brings() -> None:
    names = " ".join(jar.file for jar in jars.locked_jars())
    assert "io.delta_delta-spark_4.2_2.13-4.4.0.jar" in names
    assert "org.postgresql_postgresql-42.7." in names
    assert "hadoop-client" not in names
    assert "jackson-core" not in names


def test_one_flipped_byte_is_refused_by_name(folder: Path) -> None:
    victim = folder / jars.locked_jars()[0].file
    content = bytearray(victim.read_bytes())
    content[len(content) // 2] ^= 1
    victim.write_bytes(content)
    with pytest.raises(SetupError, match=f"{victim.name} is not the locked one"):
        jars.verified_jars()


def test_a_cut_off_download_is_refused(folder: Path) -> None:
    victim = folder / jars.locked_jars()[-1].file
    victim.write_bytes(victim.read_bytes()[:-1])
    with pytest.raises(SetupError, match="is not the locked one"):
        jars.verified_jars()


def test_a_missing_jar_names_itself_and_the_cure(folder: Path) -> None:
    victim = folder / jars.locked_jars()[0].file
    victim.unlink()
    with pytest.raises(SetupError, match=rf"{victim.name} is missing: run `incremental-assets setup` once"):
        jars.verified_jars()


def test_resolving_again_asks_nobody_when_all_are_there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(folder))  # the resolver could not even start
    assert jars.resolve() == jars.verified_jars()


def test_the_folder_is_the_checkout_s_own_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(jars.FOLDER_VARIABLE, raising=False)
    assert jars.jar_folder() == Path(__file__).parents[2] / ".jars"


def test_a_project_of_others_among_the_installed_packages_is_no_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # `create-dagster` has a project install its own pyproject.toml there.
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "my_project"\n')
    monkeypatch.delenv(jars.FOLDER_VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(jars, "__file__", str(tmp_path / "incremental_assets" / "adapters" / "spark" / "jars.py"))
    assert jars.jar_folder() == tmp_path / "cache" / "incremental-assets" / "jars"
