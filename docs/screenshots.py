"""Takes the README's pictures: `make screenshots`, after `make demo`.

Brings up `incremental-assets dev` on a free port around what the demo left behind, and photographs the asset graph and one asset
in headless Chromium (Debian: chromium and chromium-driver).
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webdriver import WebDriver
from selenium.webdriver.support.ui import WebDriverWait

IMAGES = Path(__file__).parent / "images"
LINEAGE = "locations/incremental_assets/asset-groups/tpch/lineage"
ASSET = "assets/tpch/public/orders?view=overview"
SIZE = (1400, 1650)
PATIENCE = 120
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--force-color-profile=srgb",
)  # fmt: skip


def main() -> None:
    IMAGES.mkdir(parents=True, exist_ok=True)
    with dagster() as url, browser() as page:
        photograph(page, f"{url}/{LINEAGE}", IMAGES / "lineage.png", until="orders", clicks=("zoom_out",) * 5)
        photograph(page, f"{url}/{ASSET}", IMAGES / "asset.png", until="rows_")


def photograph(page: WebDriver, address: str, file: Path, *, until: str, clicks: Sequence[str] = ()) -> None:
    """Once the words are on the page, the icons of these names are clicked, and nothing moves any more."""
    page.get(address)
    WebDriverWait(page, PATIENCE).until(lambda _: until in page.find_element(By.TAG_NAME, "body").text)
    for icon in clicks:
        page.find_element(By.CSS_SELECTOR, f"button [aria-label={icon}]").click()
        time.sleep(1)
    previous, deadline = b"", time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        time.sleep(1.5)
        picture = page.get_screenshot_as_png()
        if picture == previous:
            break
        previous = picture
    file.write_bytes(previous)
    print(f"{file}  {len(previous):,} bytes")


@contextmanager
def browser() -> Iterator[WebDriver]:
    """Debian's own, since a browser downloaded by a test tool would be another one every week."""
    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if program is None or driver is None:
        sys.exit("Chromium is missing: apt-get install chromium chromium-driver")
    with tempfile.TemporaryDirectory(prefix="screenshots-") as profile:
        options = Options()
        options.binary_location = program
        for flag in (*FLAGS, f"--user-data-dir={profile}", f"--window-size={SIZE[0]},{SIZE[1]}"):
            options.add_argument(flag)
        page = webdriver.Chrome(options=options, service=Service(executable_path=driver))
        try:
            yield page
        finally:
            page.quit()


@contextmanager
def dagster() -> Iterator[str]:
    """The product's own `dev`, for as long as the pictures take."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [Path(sys.executable).with_name("incremental-assets"), "dev", "--port", str(port)]
    with subprocess.Popen(command, start_new_session=True) as process:
        try:
            yield wait_for(f"http://127.0.0.1:{port}", process)
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)


def wait_for(url: str, process: subprocess.Popen[bytes]) -> str:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{url}/server_info", timeout=5):
                return url
        except OSError:
            time.sleep(0.3)
    sys.exit("`incremental-assets dev` did not come up")


if __name__ == "__main__":
    main()
