"""A password that a program prints is rotated while a process lives: a code location, or `dev`."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from incremental_assets import load
from incremental_assets.core.errors import SourceUnreachable
from incremental_assets.demo.postgres import EmbeddedPostgres
from incremental_assets.resources import printed
from incremental_assets.resources.runtime import Runtime
from tests.shop import Shop

ROLE = "rotated"


def let_in(postgres: EmbeddedPostgres, database: str, password: str) -> None:
    """The role has this password from now on, and no session."""
    with psycopg.connect(postgres.dsn(database), autocommit=True) as admin:
        admin.execute(sql.SQL("ALTER ROLE {} PASSWORD {}").format(sql.Identifier(ROLE), sql.Literal(password)))
        admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s", (ROLE,))


def test_a_process_that_lives_on_connects_by_the_new_one(
    postgres: EmbeddedPostgres, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(printed, "_known", {})
    monkeypatch.setattr(printed, "_FRESH_SECONDS", 0.0)
    shop = Shop.open(postgres, database, tmp_path, "[]")
    secret = tmp_path / "secret"
    with psycopg.connect(postgres.dsn(database), autocommit=True) as admin:
        admin.execute(f"CREATE ROLE {ROLE} LOGIN IN ROLE pg_read_all_data, pg_read_all_stats")
    text = shop.config.read_text().replace("user: reader", f"user: {ROLE}")
    shop.config.write_text(text.replace("password: {env: SHOP_PASSWORD}", "password: {command: [cat, SECRET]}"))
    shop.config.write_text(shop.config.read_text().replace("SECRET", str(secret)))
    runtime = Runtime(load(shop.config))
    try:
        secret.write_text("first\n")
        let_in(postgres, database, "first")
        assert runtime.probe("shop").catalogue() == ()
        let_in(postgres, database, "second")
        with pytest.raises(SourceUnreachable, match="the password of rotated is refused"):
            runtime.probe("shop").catalogue()
        secret.write_text("second\n")
        assert runtime.probe("shop").catalogue() == ()
    finally:
        runtime.close()
        with psycopg.connect(postgres.dsn(database), autocommit=True) as admin:
            admin.execute(f"DROP ROLE {ROLE}")
