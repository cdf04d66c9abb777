"""Tasks or Spark: chosen in one place, and with the reason."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from incremental_assets.adapters.delta import plane
from incremental_assets.adapters.lake_store.opened import store_of
from incremental_assets.adapters.spark.not_by_tasks import NotByTasks
from incremental_assets.adapters.spark.tasks import TasksUnavailable
from incremental_assets.core.errors import LakeRefused, TargetChanged

DELTA = Path(plane.__file__).parent
BY_NAME = {
    "copied_rows.py": "the table stops: its log has been read on, and nothing else has the rows",
    "damaged_files.py": "of what is not known here, nothing is said",
    "errors.py": "passed on",
    "forgetting.py": "not known without Spark",
    "lake_retention.py": "that part is left, and it is said why",
    "log/conserved.py": "not known: the maintenance of another writer is taken for what it says",
    "log/idle_look.py": "a session is begun, which looks",
    "log/transaction_log.py": "delta-rs reads the log",
    "quarantine/held.py": "not known without Spark",
    "quarantine/unfit.py": "not known without Spark",
    "renaming.py": "Spark renames nothing: the table stops",
}
"""What else is done about it, by the modules that ask."""


def tasks_refuse() -> str:
    raise NotByTasks("the table is partitioned")


def workers_lack() -> str:
    raise TasksUnavailable("its workers lack this package")


def never() -> str:
    raise AssertionError("Spark was asked for what tasks did")


def test_what_tasks_do_spark_is_not_asked_for() -> None:
    for choose in (plane.read, lambda *asked: plane.commit("/lake/orders", *asked)):
        assert choose("orders: written", lambda: "by tasks", never) == plane.Made("by tasks")


@pytest.mark.parametrize(
    ("by_tasks", "why"), [(tasks_refuse, "the table is partitioned"), (workers_lack, "its workers lack this package")]
)
def test_what_tasks_leave_spark_does_and_the_reason_is_kept(
    by_tasks: object, why: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    for choose in (plane.read, lambda *asked: plane.commit(str(tmp_path), *asked)):
        assert choose("orders: written", by_tasks, lambda: "by Spark") == plane.Made("by Spark", why)
    assert f"orders: written by Spark, as {why}" in caplog.messages


def test_an_error_of_tasks_is_not_covered_by_spark(tmp_path: Path) -> None:
    def stopped() -> str:
        raise TargetChanged("somebody else has written")

    for choose in (plane.read, lambda *asked: plane.commit(str(tmp_path), *asked)):
        with pytest.raises(TargetChanged, match="somebody else"):
            choose("orders: written", stopped, never)


def test_where_spark_may_not_commit_it_is_refused_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    store = store_of(str(tmp_path))
    assert store is not None
    assert plane.spark_commits(str(tmp_path))
    monkeypatch.setattr(plane, "spark_commits", lambda _: False)
    with pytest.raises(LakeRefused, match="the table is partitioned"):
        plane.commit(str(tmp_path), "orders: written", tasks_refuse, never)
    assert plane.read("orders: counted", tasks_refuse, lambda: "by Spark").result == "by Spark"


def test_what_only_spark_could_tell_is_not_known() -> None:
    assert plane.known(lambda: 0) == 0
    assert plane.known(tasks_refuse) is None


def test_nobody_else_chooses() -> None:
    catching = {
        path.relative_to(DELTA).as_posix()
        for path in DELTA.rglob("*.py")
        if any(catches(node) for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    }
    assert catching == {"plane.py", *BY_NAME}


def catches(node: ast.AST) -> bool:
    """Whether it is a handler of NotByTasks, or suppresses it."""
    if isinstance(node, ast.ExceptHandler):
        found: ast.AST | None = node.type
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "suppress":
        found = ast.Tuple(node.args)
    else:
        return False
    return found is not None and any(isinstance(each, ast.Name) and each.id == "NotByTasks" for each in ast.walk(found))
