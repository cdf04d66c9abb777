"""Metrics as a process of their own: served, scraped, and ended by Ctrl-C."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

from tests.cli.conftest import CONFIG
from tests.prometheus import read


def test_it_serves_until_it_is_interrupted_and_needs_neither_source_nor_spark(tmp_path: Path) -> None:
    (tmp_path / "sources.yaml").write_text(CONFIG)
    process = subprocess.Popen(
        [Path(sys.executable).with_name("incremental-assets"), "metrics", "--port", "0"],
        cwd=tmp_path,
        env=os.environ | {"SHOP_PASSWORD": "x", "JAVA_HOME": "/nowhere"},
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        told = ""
        while "served at" not in told:
            told = process.stderr.readline()
            assert told, "it ended"
        found = re.search(r"http://127\.0\.0\.1:\d+/metrics", told)
        assert found, told
        with urllib.request.urlopen(found[0], timeout=30) as answer:
            samples = read(answer.read().decode())
        assert samples['incremental_assets_table_info{source="shop",table="public.orders",strategy="upsert"}'] == 1
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 0
    finally:
        process.kill()
        process.communicate()
