"""The demo's MariaDB and MySQL beside other servers of their kind on one machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from incremental_assets.core.errors import SetupError
from incremental_assets.demo.mariadb import EmbeddedMariaDB


@pytest.mark.parametrize(
    "database",
    [pytest.param("mariadb", marks=pytest.mark.mariadb), pytest.param("mysql", marks=pytest.mark.mysql)],
)
def test_a_server_keeps_its_temporary_tables_where_no_other_one_deletes_them(
    database: str, request: pytest.FixtureRequest
) -> None:
    server: EmbeddedMariaDB = request.getfixturevalue(database)
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SELECT @@tmpdir")
        assert cursor.fetchone() == (str(server.data.with_name("mariadb-tmp")),)


def test_a_server_that_cannot_be_made_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Path] = []

    def maker(_: EmbeddedMariaDB, data: Path) -> list[str]:
        made.append(data)
        return ["/bin/sh", "-c", "echo no space left >&2; exit 1"]

    monkeypatch.setattr(EmbeddedMariaDB, "_maker", maker)
    with pytest.raises(SetupError, match=r"The demo's MariaDB could not be created in .*: no space left\."):
        EmbeddedMariaDB(tmp_path / "server").start()

    (data,) = made
    assert not list(data.parent.glob("*"))
    assert not data.parent.exists() or data.parent == tmp_path / "server"
