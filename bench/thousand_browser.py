"""The asset graph of them all in a browser: `incremental-assets dev`, and headless Chromium (Debian: chromium and chromium-driver)."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webdriver import WebDriver
from selenium.webdriver.support.ui import WebDriverWait

from docs.screenshots import browser, wait_for

LINEAGE = "locations/incremental_assets/asset-groups/shop/lineage"
PICTURE = Path(__file__).parents[1] / "docs" / "images" / "thousand.png"
PATIENCE = 300


def seconds_to_lineage(environment: Mapping[str, str]) -> list[float]:
    """From the address to the drawn graph, twice: the first visit also loads the UI. Keeps a picture of it."""
    with _dev(environment) as url, browser() as page:
        seconds = [_opened(page, f"{url}/{LINEAGE}") for _ in range(2)]
        time.sleep(20)  # for the picture only: the nodes fill themselves one by one
        PICTURE.write_bytes(page.get_screenshot_as_png())
    return seconds


def _opened(page: WebDriver, address: str) -> float:
    page.get("about:blank")
    begun = time.perf_counter()
    page.get(address)
    WebDriverWait(page, PATIENCE, poll_frequency=0.1).until(_is_drawn)
    return time.perf_counter() - begun


def _is_drawn(page: WebDriver) -> bool:
    """The graph is laid out, and names of tables stand in it; what each of them last did may still be loading."""
    body = page.find_element(By.TAG_NAME, "body").text
    return "table_0" in body and "Loading assets" not in body and bool(page.find_elements(By.TAG_NAME, "foreignObject"))


@contextmanager
def _dev(environment: Mapping[str, str]) -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    # A shell that started this in the background has it ignore Ctrl-C, and what is ignored is inherited.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    command = [str(Path(sys.executable).with_name("incremental-assets")), "dev", "--port", str(port)]
    with subprocess.Popen(command, env=dict(environment), start_new_session=True) as process:
        try:
            yield wait_for(f"http://127.0.0.1:{port}", process)
        finally:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
