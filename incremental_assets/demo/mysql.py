"""An embedded MySQL, from the programs that `.ci/mysql.sh` brings; it lives as MariaDB does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from incremental_assets.core.errors import SetupError
from incremental_assets.demo.mariadb import EmbeddedMariaDB

PROGRAMS = Path(__file__).parents[2] / ".mysql"


class EmbeddedMySQL(EmbeddedMariaDB):
    """One server per folder. Its users have passwords as MySQL 8 keeps them by default."""

    title = "MySQL"

    def __init__(self, folder: str | Path, **options: Any) -> None:
        super().__init__(folder, **options)
        self._settings = {**self._settings, "mysqlx": "0"}

    def _maker(self, data: Path) -> list[str]:
        return [*self._program(), "--initialize-insecure", f"--datadir={data}", "--innodb-log-file-size=64M"]

    def _server(self) -> list[str]:
        return self._program()

    def _accounts(self, who: str) -> tuple[str, ...]:
        return (
            f"CREATE USER IF NOT EXISTS {who} IDENTIFIED BY '{self.password}'",
            f"GRANT ALL ON *.* TO {who} WITH GRANT OPTION",
            "DROP USER IF EXISTS root@localhost",
        )

    def _program(self) -> list[str]:
        places = {
            "basedir": PROGRAMS,
            "lc-messages-dir": PROGRAMS / "share",
            "character-sets-dir": PROGRAMS / "share" / "charsets",
        }
        server = PROGRAMS / "bin" / "mysqld"
        if not server.is_file():
            raise SetupError(
                f"MySQL's program mysqld is not in {server.parent}; `.ci/mysql.sh` in a clone of this project brings it."
            )
        return [
            str(server),
            "--no-defaults",
            *(f"--{name}={path}" for name, path in places.items()),
        ]
