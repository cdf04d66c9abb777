"""What goes wrong between SQL Server and a sync: each time one sentence with its cure."""

from __future__ import annotations

import inspect
import socket
import sys
import threading
from dataclasses import replace
from datetime import timedelta

import pytds
import pytest

from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.adapters.databases.probe import SqlProbe
from incremental_assets.core.errors import SetupError, SourceRefused, SourceUnreachable, TableMissing
from incremental_assets.core.model.table_id import TableId
from incremental_assets_experimental.sqlserver import connect
from incremental_assets_experimental.sqlserver.errors import explain

ADDRESS = Address("sqlserver", "127.0.0.1", 1433, "shop", "reader", "hunter2", schemas=("dbo",))


def test_a_driver_that_is_not_installed_is_one_sentence_that_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pytds", None)
    with pytest.raises(SetupError, match=r"pip install 'incremental-assets\[sqlserver\]'"):
        SqlProbe(ADDRESS, "shop").bound()


def test_a_closed_port_is_one_sentence() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    with pytest.raises(SourceUnreachable, match="does not answer") as refused:
        SqlProbe(replace(ADDRESS, port=port), "shop").bound()
    assert "hunter2" not in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_server_that_hangs_up_is_one_sentence() -> None:
    """The driver itself meets a line that ends within its greeting."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = replace(ADDRESS, port=listener.getsockname()[1], connect_timeout=timedelta(seconds=1), tls="disable")
        listener.settimeout(5)

        def hang_up() -> None:
            listener.accept()[0].close()

        threading.Thread(target=hang_up, daemon=True).start()
        with pytest.raises(SourceUnreachable) as refused:
            SqlProbe(address, "shop").bound()
    assert "\n" not in str(refused.value)


def test_a_server_that_says_nothing_is_waited_for_as_long_as_was_said() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = replace(ADDRESS, port=silent.getsockname()[1], connect_timeout=timedelta(seconds=1), tls="disable")
        with pytest.raises(
            SourceUnreachable, match=r"no answer in time .*, or raise `options: \{connect_timeout: …\}`"
        ):
            SqlProbe(address, "shop").bound()


def test_the_driver_knows_every_setting_that_it_is_given() -> None:
    known = inspect.signature(pytds.connect).parameters
    assert {"sock", "autocommit", "appname", "login_timeout", "timeout", "disable_connect_retry", "port"} <= set(known)
    assert set(connect.tls(replace(ADDRESS, tls="verify-full"))) <= set(known)


def test_tls_checks_the_certificate_and_no_weaker_one_is_pretended() -> None:
    assert connect.tls(replace(ADDRESS, tls="verify-full"))["validate_host"] is True
    assert connect.tls(replace(ADDRESS, tls="verify-ca"))["validate_host"] is False
    with pytest.raises(SourceRefused, match="verify-ca"):
        connect.tls(replace(ADDRESS, tls="require"))


@pytest.mark.parametrize(
    ("number", "kind", "said"),
    [
        (18456, SourceUnreachable, "check `user`"),
        (4060, SourceUnreachable, "check `database`"),
        (208, TableMissing, "dbo.orders"),
        (207, SourceRefused, "a column disappeared"),
        (229, SourceRefused, "GRANT SELECT ON [dbo].[orders]"),
        (3961, SourceRefused, "was altered"),
        (1222, SourceRefused, "holds a lock on it for longer than 1m ("),
        (1205, SourceRefused, "waited for each other, and the server ended this one"),
        (1, SourceRefused, "refused the query"),
    ],
)
def test_a_refusal_of_the_server_is_a_sentence_with_its_cure(number: int, kind: type[Exception], said: str) -> None:
    error = pytds.tds_base.OperationalError("Invalid object name 'dbo.orders'.")
    error.msg_no = number
    found = explain(error, ADDRESS, TableId("shop", "dbo", "orders"))
    assert isinstance(found, kind)
    assert said in str(found)


@pytest.mark.parametrize("name", ["certificates", "encryption_keys"])
def test_a_table_may_be_called_as_what_a_line_is_secured_by(name: str) -> None:
    error = pytds.tds_base.OperationalError(f"Invalid object name 'dbo.{name}'.")
    error.msg_no = 208
    assert isinstance(explain(error, ADDRESS, TableId("shop", "dbo", name)), TableMissing)


def test_an_error_that_is_not_the_drivers_stays_what_it_is() -> None:
    assert explain(ValueError("ours"), ADDRESS, None) is None
