"""What goes wrong between Oracle and a sync: each time one sentence with its cure."""

from __future__ import annotations

import inspect
import socket
import ssl
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import oracledb
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from oracledb.errors import _Error

from incremental_assets.adapters.databases.probe import SqlProbe
from incremental_assets.core.errors import SetupError, SourceRefused, SourceUnreachable, TableMissing
from incremental_assets_experimental.oracle import connect
from incremental_assets_experimental.oracle.errors import explain
from plugins.experimental.tests.oracle_recorded import ADDRESS, ORDERS, refusal


def test_a_driver_that_is_not_installed_is_one_sentence_that_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "oracledb", None)
    with pytest.raises(SetupError, match=r"pip install 'incremental-assets\[oracle\]'"):
        SqlProbe(ADDRESS, "shop").bound()


def test_a_closed_port_is_one_sentence() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    with pytest.raises(SourceUnreachable, match="does not answer") as found:
        SqlProbe(replace(ADDRESS, port=port), "shop").bound()
    assert "hunter2" not in str(found.value)
    assert "CONNECTION_ID" not in str(found.value)
    assert "\n" not in str(found.value)


def test_a_host_that_is_not_known_is_one_sentence() -> None:
    with pytest.raises(SourceUnreachable, match=r"the host 'nowhere\.invalid' is not known; check `host`"):
        SqlProbe(replace(ADDRESS, host="nowhere.invalid"), "shop").bound()


def test_a_server_that_says_nothing_is_waited_for_as_long_as_was_said() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = replace(ADDRESS, port=silent.getsockname()[1], connect_timeout=timedelta(seconds=0.3))
        began = time.monotonic()
        with pytest.raises(
            SourceUnreachable, match=r"no answer in time .*, or raise `options: \{connect_timeout: …\}`"
        ):
            SqlProbe(address, "shop").bound()
        assert time.monotonic() - began < 10


def test_the_driver_knows_every_setting_that_it_is_given() -> None:
    known = inspect.signature(oracledb.connect).parameters
    assert set(connect.terms(replace(ADDRESS, tls="verify-full"))) <= set(known)
    assert {"fetch_lobs", "fetch_decimals"} <= set(inspect.signature(oracledb.Cursor.execute).parameters)
    assert {"size", "arraysize", "encoding_errors"} <= set(inspect.signature(oracledb.Cursor.var).parameters)
    assert {"type_code", "internal_size"} <= set(dir(oracledb.FetchInfo))


def test_tls_checks_what_its_mode_says() -> None:
    full, authority, any_one = (
        connect.tls(replace(ADDRESS, tls=mode)) for mode in ("verify-full", "verify-ca", "require")
    )
    assert (full["ssl_server_dn_match"], full["ssl_context"].check_hostname) == (True, True)
    assert (authority["ssl_server_dn_match"], authority["ssl_context"].check_hostname) == (False, False)
    assert [each["ssl_context"].verify_mode.name for each in (full, authority, any_one)] == [
        "CERT_REQUIRED",
        "CERT_REQUIRED",
        "CERT_NONE",
    ]
    assert connect.tls(ADDRESS) == {"protocol": "tcp"}


@pytest.fixture(scope="module")
def certified(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, Path]]:
    """A port where TLS begins under a certificate of `localhost`, and the line ends after it; and the certificate."""
    folder = tmp_path_factory.mktemp("tls")
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    private = ec.generate_private_key(ec.SECP256R1())
    name, now = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")]), datetime.now(UTC)
    signed = x509.CertificateBuilder(name, name, private.public_key(), 1, now, now + timedelta(hours=1))
    signed = signed.add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    certificate.write_bytes(signed.sign(private, hashes.SHA256()).public_bytes(pem))
    key.write_bytes(private.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)

    def serve(listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                line, _ = listener.accept()
                with suppress(OSError), context.wrap_socket(line, server_side=True) as secured:
                    secured.recv(1)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, args=(listener,), daemon=True).start()
        yield listener.getsockname()[1], certificate


@pytest.mark.parametrize(
    ("tls", "host", "known", "said"),
    [
        ("verify-full", "localhost", False, "no connection under `tls: verify-full`"),
        ("verify-ca", "localhost", False, "no connection under `tls: verify-ca`"),
        ("verify-full", "127.0.0.1", True, "no connection under `tls: verify-full`"),
        ("verify-full", "localhost", True, "does not answer"),
        ("verify-ca", "127.0.0.1", True, "does not answer"),
        ("require", "127.0.0.1", False, "does not answer"),
    ],
)
def test_the_driver_itself_refuses_a_certificate_that_the_mode_does_not_trust(
    certified: tuple[int, Path], monkeypatch: pytest.MonkeyPatch, tls: str, host: str, said: str, *, known: bool
) -> None:
    port, certificate = certified
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate)) if known else monkeypatch.delenv("SSL_CERT_FILE", False)
    with pytest.raises(SourceUnreachable, match=said):
        SqlProbe(replace(ADDRESS, host=host, port=port, tls=tls), "shop").bound()


@pytest.mark.parametrize(
    ("error", "kind", "said"),
    [
        (refusal(1017), SourceUnreachable, "check `user`"),
        (refusal(20), SourceUnreachable, "no connection left"),
        (refusal(3113), SourceUnreachable, "does not answer"),
        (refusal(942), TableMissing, "SHOP.ORDERS"),
        (refusal(904), SourceRefused, "a column disappeared"),
        (refusal(1031), SourceRefused, 'GRANT SELECT ON "SHOP"."ORDERS"'),
        (refusal(1466), SourceRefused, "was altered"),
        (refusal(1555), SourceRefused, "UNDO_RETENTION"),
        (refusal(54), SourceRefused, "holds a lock on it (ORA-00054"),
        (refusal(1), SourceRefused, "refused the query"),
        (refusal(904, '"LOSSLESS": invalid identifier'), SourceRefused, "a column disappeared"),
        (refusal(942, 'table or view "SHOP"."CERTIFICATES" does not exist'), TableMissing, "SHOP.ORDERS"),
    ],
)
def test_a_refusal_of_the_server_is_a_sentence_with_its_cure(
    error: Exception, kind: type[Exception], said: str
) -> None:
    found = explain(error, ADDRESS, ORDERS)
    assert isinstance(found, kind)
    assert said in str(found)
    assert "http" not in str(found)
    assert "\n" not in str(found)


def test_a_service_that_the_listener_does_not_know_is_a_sentence() -> None:
    text = 'DPY-6005: cannot connect to database (CONNECTION_ID=ab+/c==).\nDPY-6001: Service "shop" is not registered with the listener at host "h" port 1521. (Similar to ORA-12514)'
    found = explain(oracledb.OperationalError(_Error(message=text)), ADDRESS, None)
    assert "check `database`" in str(found)
    full = "DPY-6000: Listener refused connection. (Similar to ORA-12516)"
    assert "no connection left" in str(explain(oracledb.OperationalError(_Error(message=full)), ADDRESS, None))


def test_a_connection_that_the_driver_gives_up_names_the_deadline_of_connections_and_a_query_its_own() -> None:
    text = "DPY-6005: cannot connect to database (CONNECTION_ID=ab+/c==).\ntimed out"
    found = str(explain(oracledb.OperationalError(_Error(message=text)), ADDRESS, None))
    assert "no answer in time (timed out)" in found
    assert "raise `options: {connect_timeout: …}`" in found
    text = "DPY-4024: call timeout of 30000 ms exceeded"
    found = str(explain(oracledb.OperationalError(_Error(message=text)), ADDRESS, None))
    assert "raise `options: {statement_timeout: …}`" in found


def test_an_error_that_is_not_the_drivers_stays_what_it_is() -> None:
    assert explain(ValueError("ours"), ADDRESS, None) is None
