"""Another user attacks an engine until it is ended: `python -m tests.conformance.soak.attack PID`. A line of JSON per attack says what gave way."""

from __future__ import annotations

import json
import sys
import time

from tests.conformance.attacker import Messages, attack, ports

EVERY = 20.0
"""Seconds between two attacks."""


def main(pid: int) -> None:
    """Until the end of its process."""
    messages = Messages.of_a_jvm()
    while True:
        sys.stdout.write(json.dumps(attack(ports(pid), messages)) + "\n")
        sys.stdout.flush()
        time.sleep(EVERY)


if __name__ == "__main__":
    main(int(sys.argv[1]))
