"""A JVM that a command starts says nothing of its own at a start, and is heard where something is wrong."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEARD = """
import threading
for thread in threading.enumerate():
    if thread.name == "background":
        thread.join(60)
"""
SAYS = """
import os, subprocess
from incremental_assets.adapters.spark.jvm_errors import passed_on
with passed_on() as stderr:
    said = "WARNING: Using incubator modules: jdk.incubator.vector\\nWARNING: something else\\nno end of line"
    subprocess.run(["printf", said], stdout=stderr, check=True)
# Where they go is what stderr was when the process began, whatever it is by now.
os.close(2)
"""
BEGINS = """
from incremental_assets.adapters.spark.session import open_session
session = open_session()
process = session.sparkContext._gateway.proc
session.sparkContext._jvm.java.lang.System.err.println("from the JVM")
print(session.sparkContext.parallelize([1, 2]).count())
session.stop()
process.stdin.close()  # at the end of which it ends
"""


def _said(program: str) -> tuple[str, str]:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120)
    return done.stdout, done.stderr


def test_every_line_but_that_of_the_module_is_passed_on() -> None:
    assert _said(SAYS + HEARD) == ("", "WARNING: something else\nno end of line")


@pytest.mark.acceptance
def test_a_session_begins_without_a_word_and_its_jvm_is_heard() -> None:
    said, heard = _said(BEGINS + HEARD)
    assert said == "2\n"
    # What comes behind it is Python's own: PySpark's server of counters may tell that the JVM, which this program ends, has hung up.
    assert heard.startswith("from the JVM\n")
    assert "incubator" not in heard
