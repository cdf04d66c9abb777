"""Whether there are any credentials for a bucket: where nobody has said them, the machine itself is asked, which answers at once or not at all."""

from __future__ import annotations

import os
import time
import urllib.request
from collections.abc import Mapping
from threading import Lock

from incremental_assets.core.errors import LakeRefused

_SAID = (
    "AWS_ACCESS_KEY_ID",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_SKIP_SIGNATURE",
)
"""What names them, or says that none are needed."""
_MACHINE = "http://169.254.169.254"
_SECONDS = 2.0
"""A machine that has some answers within milliseconds. The client of stores would ask for as long as it asks a store that is busy."""
_TRIES = 2
_REMEMBERED_SECONDS = 60.0
"""How long it is believed that there are none: each table would wait for the answer."""
_lock = Lock()
_none_at: dict[str, tuple[float, str]] = {}


def check(root: str, options: Mapping[str, str]) -> None:
    """Raises LakeRefused for a bucket of S3 of which neither the configuration, the environment nor the machine has credentials."""
    if not root.startswith("s3") or options.get("aws_access_key_id") or any(os.environ.get(name) for name in _SAID):
        return
    machine = os.environ.get("AWS_METADATA_ENDPOINT", _MACHINE).rstrip("/")
    with _lock:
        before, why = _none_at.get(machine, (0.0, ""))
        if not why or time.monotonic() - before > _REMEMBERED_SECONDS:
            why = _refusal(machine)
            _none_at[machine] = time.monotonic(), why
    if why:
        raise LakeRefused(
            f"{root}: nobody has credentials for it: not `stores`, not the environment ({', '.join(_SAID[:4])}), and not the machine ({machine}: {why}); "
            "write `access_key_id` and `secret_access_key` in `stores`, or give this process a role; profiles in ~/.aws are not read, "
            "and `aws configure export-credentials --format env` prints the keys of one"
        )


def _refusal(machine: str) -> str:
    token = {"X-aws-ec2-metadata-token-ttl-seconds": "60"}
    asked = urllib.request.Request(f"{machine}/latest/api/token", method="PUT", headers=token)  # noqa: S310 - of the environment
    why = ""
    for _ in range(_TRIES):
        try:
            # By a proxy, if there is one, as the client of stores does.
            urllib.request.urlopen(asked, timeout=_SECONDS).close()  # noqa: S310
        except OSError as error:
            why = str(getattr(error, "reason", None) or error)
        else:
            return ""
    return f"{why}, asked by a proxy, which NO_PROXY has to keep out" if _has_proxy(machine) else why


def _has_proxy(machine: str) -> bool:
    host = machine.partition("://")[2]
    return "http" in urllib.request.getproxies() and not urllib.request.proxy_bypass(host)
