"""`ssh` in the configuration: secrets are references, and what no tunnel leads to is refused with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from incremental_assets.core.config.database_settings import SshTerms, database_of
from incremental_assets.core.config.load import load
from incremental_assets.core.config.settings import Reference
from tests.core.mistakes import FILE, in_source, only_problem

WAY = "ssh: {host: bastion, user: tunnel, key: {file: tunnel_key}}"


def test_the_way_to_a_database_is_read_with_its_secrets_as_references(tmp_path: Path) -> None:
    file = tmp_path / "sources.yaml"
    way = "ssh: {host: bastion, port: 2222, user: tunnel, key: {file: tunnel_key}, passphrase: {env: PHRASE}, known_hosts: known}"
    file.write_text(in_source(way))
    configuration = load(file)
    found = database_of(configuration.sources[0])

    assert found.ssh == SshTerms("bastion", 2222, "tunnel", str(tmp_path / "known"))
    assert found.ssh_key == Reference("file", str(tmp_path / "tunnel_key"))
    assert configuration.secrets == ("PHRASE",)


@pytest.mark.parametrize(
    ("text", "cure"),
    [
        (in_source("ssh: {host: bastion, user: tunnel, key: tunnel_key}  #!"), "a secret is never written in this file"),
        (in_source("database: [eu, us]  #!").replace("    database: shop\n", ""), "or several as `databases: [first, second]`"),
        (in_source("ssh: {host: bastion, user: tunnel}  #!"), "`key` is missing"),
        (in_source(WAY.replace("}}", "}, known: a}  #!")), "did you mean `known_hosts`?"),
        (in_source(WAY.replace("}}", "}, password: {env: P}}  #!")), "there is no such key here; a server of SSH is entered by a key: write `key: {file: …}`"),
        (FILE + f"    dialect: sqlite\n    database: a.db\n    {WAY}  #!\n", "a file has no ssh"),
        (in_source(f"{WAY}  #!") + "\nspark: {master: 'spark://host:7077'}\n", "Spark's tasks reach a tunnel on this machine alone"),
    ],
)  # fmt: skip
def test_a_mistake_in_it_has_its_line_and_its_cure(tmp_path: Path, text: str, cure: str) -> None:
    assert cure in only_problem(tmp_path, text).cure


def test_a_key_that_is_written_out_is_not_quoted(tmp_path: Path) -> None:
    text = in_source("ssh: {host: bastion, user: tunnel, key: 'PRIVATE b3BlbnNzaC1rZXk'}  #!")
    assert "b3Blbn" not in str(only_problem(tmp_path, text))
