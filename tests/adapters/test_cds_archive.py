"""An archive of classes serves the very Java and jars that it was made from, or nobody: a start never depends on it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from incremental_assets.adapters import training
from incremental_assets.adapters.spark import cds_archive as archive
from incremental_assets.adapters.spark import jars, session
from incremental_assets.adapters.spark.java import Java, require_java
from incremental_assets.adapters.spark.session import SparkSettings, Work, open_session
from incremental_assets.core.errors import SetupError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Machine:
    """A Java, a Spark and a folder of jars that a test may exchange."""

    def __init__(self, folder: Path) -> None:
        self.java, self.spark, self.jars = Java(folder / "java", 17), folder / "spark", folder / "jars"
        self.write(self.java.home / "release", 'JAVA_RUNTIME_VERSION="17.0.15+6"')
        self.write(self.java.home / "lib" / "modules", "modules")
        for name in ("spark-core.jar", "spark-sql.jar"):
            self.write(self.spark / "jars" / name, name)
        for jar in jars.locked_jars():
            self.write(self.jars / jar.file, jar.file)

    @staticmethod
    def write(path: Path, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    @property
    def folder(self) -> Path:
        """Where the archive of this machine as it is now lies."""
        return archive.archive_folder(self.java)

    @property
    def found(self) -> archive.Archive:
        """What a session of this machine would use."""
        return archive.find_archive(self.java)

    def lay(self, folder: Path, content: str = "classes") -> None:
        """An archive as a training run leaves it."""
        for name in (archive.DRIVER, archive.LAUNCHER):
            self.write(folder / f"{name}-{len(content)}.jsa", content)


NOTHING = archive.Archive(None, None)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    machine = Machine(tmp_path)
    monkeypatch.setenv("SPARK_HOME", str(machine.spark))
    monkeypatch.setenv(jars.FOLDER_VARIABLE, str(machine.jars))
    monkeypatch.setattr(archive, "require_java", lambda: machine.java)
    return machine


# --- what it is tied to -----------------------------------------------------------------------------


def test_an_archive_is_found_whole_beside_the_jars(machine: Machine) -> None:
    assert machine.found == NOTHING
    machine.lay(machine.folder)
    assert machine.found == archive.Archive(machine.folder / "driver-7.jsa", machine.folder / "launcher-7.jsa")
    assert machine.folder.parent == machine.jars


@pytest.mark.parametrize(
    "change",
    [
        lambda it: it.write(it.java.home / "release", 'JAVA_RUNTIME_VERSION="17.0.16+8"'),
        lambda it: os.utime(it.java.home / "lib" / "modules", (1, 1)),
        lambda it: it.write(it.spark / "jars" / "spark-sql.jar", "an upgrade"),
        lambda it: it.write(it.spark / "jars" / "one-more.jar", ""),
        lambda it: os.utime(it.spark / "jars" / "spark-sql.jar", (1, 1)),
        lambda it: os.utime(it.jars / jars.locked_jars()[0].file, (1, 1)),
        lambda it: (it.jars / jars.locked_jars()[0].file).unlink(),
    ],
    ids=["java", "modules", "spark", "more", "touched", "jar", "gone"],
)
def test_one_of_another_java_or_of_other_jars_is_not_used(machine: Machine, change: Callable[[Machine], None]) -> None:
    machine.lay(machine.folder)
    change(machine)
    assert machine.found == NOTHING


def test_new_hashes_in_the_lock_ask_for_a_new_archive(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.lay(machine.folder)
    lock = jars.LOCK.read_text(encoding="utf-8")
    machine.write(tmp_path / "jars.lock", lock.replace('sha256 = "', 'sha256 = "0', 1))
    monkeypatch.setattr(archive, "LOCK", tmp_path / "jars.lock")
    assert machine.found == NOTHING


def test_one_that_was_cut_off_is_not_used_as_it_would_end_the_jvm(machine: Machine) -> None:
    machine.lay(machine.folder)
    machine.write(machine.folder / "driver-7.jsa", "clas")
    assert machine.found == archive.Archive(None, machine.folder / "launcher-7.jsa")


def test_no_spark_is_no_archive_and_no_error(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_HOME", str(machine.spark / "elsewhere"))
    assert machine.found == NOTHING


def test_a_folder_with_a_space_is_quoted_for_spark_and_not_told_to_the_shell() -> None:
    found = archive.Archive(Path("/my jars/driver-7.jsa"), Path("/my jars/launcher-7.jsa"))
    assert found.driver_options.endswith('"-XX:SharedArchiveFile=/my jars/driver-7.jsa"')
    assert found.launcher_options == ""


# --- making it ----------------------------------------------------------------------------------------


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The folders that a training run was asked to fill, which this one does at once."""
    folders: list[Path] = []

    def train(folder: Path) -> None:
        folders.append(folder)
        for name in (archive.DRIVER, archive.LAUNCHER):
            (folder / f"{name}.jsa").write_text("fresh")

    monkeypatch.setattr(archive, "_train", train)
    return folders


def test_it_is_made_once_and_leaves_nothing_else(machine: Machine, trained: list[Path]) -> None:
    archive.make()
    archive.make()
    assert len(trained) == 1
    assert machine.found == archive.Archive(machine.folder / "driver-5.jsa", machine.folder / "launcher-5.jsa")
    assert {path.name for path in machine.jars.iterdir()} == {
        machine.folder.name,
        *(jar.file for jar in jars.locked_jars()),
    }


def test_a_broken_one_is_made_again(machine: Machine, trained: list[Path]) -> None:
    machine.lay(machine.folder)
    machine.write(machine.folder / "driver-7.jsa", "clas")
    archive.make()
    assert {path.name for path in machine.folder.iterdir()} == {"driver-5.jsa", "launcher-5.jsa"}


def test_the_one_before_is_removed_and_that_of_another_environment_stays(
    machine: Machine, trained: list[Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SPARK_HOME", str(tmp_path / "other"))
    machine.write(tmp_path / "other" / "jars" / "spark-core.jar", "")
    machine.lay(others := machine.folder)
    monkeypatch.setenv("SPARK_HOME", str(machine.spark))
    machine.lay(before := machine.folder)
    machine.write(machine.spark / "jars" / "spark-sql.jar", "an upgrade")
    archive.make()
    assert (others.is_dir(), before.is_dir(), machine.folder.is_dir()) == (True, False, True)


def test_a_training_run_that_fails_leaves_what_was_there(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(folder: Path) -> None:
        (folder / "driver.jsa").write_text("half")
        raise SetupError("no")

    machine.lay(before := machine.folder)
    machine.write(machine.spark / "jars" / "spark-sql.jar", "an upgrade")
    monkeypatch.setattr(archive, "_train", fail)
    with pytest.raises(SetupError):
        archive.make()
    assert machine.found == NOTHING
    assert [path for path in machine.jars.iterdir() if path.is_dir()] == [before]


@pytest.mark.acceptance
def test_set_up_is_told_in_one_line_why_there_is_none(tmp_path: Path) -> None:
    java = tmp_path / "java"
    Machine.write(java / "bin" / "java", "#!/bin/sh\nexit 1\n")
    (java / "bin" / "java").chmod(0o755)
    Machine.write(java / "release", 'JAVA_VERSION="17.0.15"')
    (tmp_path / "jars").mkdir()
    for path in jars.verified_jars():
        (tmp_path / "jars" / path.name).symlink_to(path)
    environment = os.environ | {"JAVA_HOME": str(java), jars.FOLDER_VARIABLE: str(tmp_path / "jars")}
    done = subprocess.run(
        [sys.executable, "-m", archive.__name__], env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("class-data archive: the training run made no archive (")
    assert done.stderr.count("\n") == 1


@pytest.mark.acceptance
def test_the_training_run_goes_all_its_way(spark: SparkSession, tmp_path: Path) -> None:
    training.train(spark, str(tmp_path))
    assert spark.read.format("delta").load(str(tmp_path / "training/public/orders")).count() == 2


# --- a session that uses it ---------------------------------------------------------------------------


@pytest.fixture
def opened(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., dict[str, str]]]:
    """What Spark would be told; `ours` are all jars, unread."""

    def told(settings: SparkSettings) -> dict[str, str]:
        conf: dict[str, str] = {}
        monkeypatch.setattr(session, "_open", lambda found, **where: conf.update(found))
        open_session(settings)
        return conf

    before = dict(os.environ)
    os.environ.pop(archive.LAUNCHER_VARIABLE, None)
    monkeypatch.setattr(session, "require_java", lambda: machine.java)
    monkeypatch.setattr(session, "verified_jars", lambda: (Path("/jars/delta.jar"), Path("/jars/driver.jar")))
    yield told
    os.environ.clear()
    os.environ.update(before)


def test_options_name_an_archive_only_where_there_is_one(
    machine: Machine, opened: Callable[[SparkSettings], dict[str, str]]
) -> None:
    assert archive.DRIVER_OPTIONS not in opened(SparkSettings())
    assert "SharedArchiveFile" not in os.environ.pop(archive.LAUNCHER_VARIABLE)
    machine.lay(machine.folder)
    for work in Work:
        assert str(machine.folder / "driver-7.jsa") in opened(SparkSettings(work=work))[archive.DRIVER_OPTIONS]
        assert str(machine.folder / "launcher-7.jsa") in os.environ[archive.LAUNCHER_VARIABLE]


def test_options_of_one_s_own_go_before_ours_but_for_the_beginning_of_the_class_path(
    opened: Callable[[SparkSettings], dict[str, str]],
) -> None:
    theirs = (("spark.driver.extraClassPath", "/mine/*"), ("spark.sql.shuffle.partitions", "7"))
    conf = opened(SparkSettings(conf=theirs))
    assert conf["spark.sql.shuffle.partitions"] == "7"
    assert conf["spark.driver.extraClassPath"] == "/jars/delta.jar:/jars/driver.jar:/mine/*"
    assert conf["spark.executor.extraClassPath"] == "/jars/delta.jar:/jars/driver.jar"
    assert "spark.jars" not in conf


def test_a_cluster_is_sent_the_jars_and_a_server_nothing(
    machine: Machine, opened: Callable[[SparkSettings], dict[str, str]]
) -> None:
    machine.lay(machine.folder)
    cluster, server = opened(SparkSettings(master="spark://host:7077")), opened(SparkSettings(remote="sc://host"))
    assert cluster["spark.jars"] == "/jars/delta.jar,/jars/driver.jar"
    for side in ("driver", "executor"):
        assert "-Duser.timezone=UTC" in cluster[f"spark.{side}.defaultJavaOptions"]
    for conf in (cluster, server):
        assert not [name for name in conf if "ClassPath" in name or "extraJavaOptions" in name]
    assert "spark.jars" not in server
    assert archive.LAUNCHER_VARIABLE not in os.environ


def test_a_session_here_answers_nobody_else_and_one_elsewhere_is_as_its_cluster_says(
    opened: Callable[[SparkSettings], dict[str, str]],
) -> None:
    for work in Work:
        conf = opened(SparkSettings(work=work))
        assert (conf["spark.authenticate"], conf["spark.ui.enabled"]) == ("true", "false")
        assert conf["spark.hadoop.fs.permissions.umask-mode"] == "027"
        assert f'"-Djava.io.tmpdir={conf["spark.local.dir"]}"' in conf["spark.driver.extraJavaOptions"]
    for elsewhere in (SparkSettings(master="spark://host:7077"), SparkSettings(remote="sc://host")):
        assert "spark.authenticate" not in opened(elsewhere)


def test_ticks_start_soon_and_loads_run_fast(opened: Callable[[SparkSettings], dict[str, str]]) -> None:
    options = {work: opened(SparkSettings(work=work))["spark.driver.extraJavaOptions"] for work in Work}
    assert "-XX:TieredStopAtLevel=1" in options[Work.TICK]
    assert "-XX:+UseSerialGC" in options[Work.TICK]
    assert "TieredStopAtLevel" not in options[Work.LOAD]
    assert "-XX:+UseParallelGC" in options[Work.LOAD]


PROGRAM = """
import sys
from incremental_assets.adapters.spark.session import SparkSettings, open_session
session = open_session(SparkSettings(conf=(("spark.driver.extraJavaOptions", f"-Xlog:class+load:file={sys.argv[1]}"),)))
session.sql("SELECT 1")  # a session begins SQL when it is asked for
session.stop()
"""


@pytest.mark.spark
def test_the_jvm_takes_its_classes_from_it_and_says_nothing(tmp_path: Path) -> None:
    if archive.find_archive(require_java()).driver is None:
        pytest.skip("this checkout has no archive; .ci/set-up.sh makes one")
    if " " in str(jars.jar_folder()):
        pytest.skip(
            "Java loads the classes of jars itself whose path has a space: a start is as slow as without an archive"
        )
    log = tmp_path / "classes.log"
    done = subprocess.run([sys.executable, "-c", PROGRAM, log], capture_output=True, text=True, check=True)
    assert done.stdout == ""
    assert not [line for line in done.stderr.splitlines() if "[cds" in line or "shared" in line.lower()]
    found = {
        name: "shared objects file (top)" in line
        for line in log.read_text().splitlines()
        for name in ("org.apache.spark.SparkContext ", "io.delta.sql.DeltaSparkSessionExtension ")
        if f"] {name}source" in line
    }
    assert set(found.values()) == {True}
    assert len(found) == 2
