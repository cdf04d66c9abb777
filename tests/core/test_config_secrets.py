"""Is a secret in the file refused, and never shown?"""

import textwrap
from pathlib import Path

import pytest

from tests.core.mistakes import FILE, SOURCE, problems

SECRET = "hunter2Zx"

LEAKS = [
    f"password: {SECRET}",
    f"pasword: {SECRET}",
    f'password: "{SECRET}',
    f"password: *{SECRET}",
    f"password: &{SECRET}",
    f"password: !{SECRET}",
    f"password: !env {SECRET}",
    f"password: {{{SECRET}}}",
    f"password: [{SECRET}]",
    f"password: {{env: '{SECRET}!'}}",
    f"password: {{env: [{SECRET}]}}",
    f"password: {{literal: {SECRET}}}",
    f"password: {{env: X, file: {SECRET}, other: {SECRET}}}",
    f"password: |\n  {SECRET}\n  {SECRET}",
    f"password: {SECRET}: x",
    f"password: {SECRET}\n  {SECRET}: y",
    f"password: {SECRET}\npassword: {SECRET}",
    f"options: {{password: {SECRET}}}",
    f"options: {{sslpassword: {{a: {SECRET}}}}}",
    f"host: postgresql://reader:{SECRET}@db/shop",
    f"host: reader:p/{SECRET}@db",
    f"database: {{env: 'shop?password={SECRET}'}}",
    f"tables: postgresql://reader:{SECRET}@db/shop",
]


@pytest.mark.parametrize("snippet", LEAKS)
def test_a_secret_in_the_file_is_refused_and_never_shown(tmp_path: Path, snippet: str) -> None:
    source = SOURCE.replace("    host: localhost\n", "") if snippet.startswith("host:") else SOURCE
    found = problems(tmp_path, FILE + source + textwrap.indent(snippet, "    ") + "\n    every: 1m\n")
    assert SECRET not in "\n".join(map(str, found))
    assert all(problem.line >= 4 for problem in found)
