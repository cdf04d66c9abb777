"""The asset graph of them all in a browser: `incremental-assets dev`, and headless Chromium (Debian: chromium and chromium-driver)."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webdriver import WebDriver
from selenium.webdriver.support.ui import WebDriverWait

from tools.screenshots.camera import camera
from tools.screenshots.stage import dagster

LINEAGE = "locations/incremental_assets/asset-groups/shop/lineage"
IMAGES = Path(__file__).parents[1] / "docs" / "images"
PATIENCE = 300


def seconds_to_lineage(environment: Mapping[str, str]) -> list[float]:
    """From the address to the drawn graph, twice: the first visit also loads the UI. Keeps a picture of it."""
    with dagster(environment) as url, camera(url, IMAGES) as window:
        seconds = [_opened(window.page, f"{url}/{LINEAGE}") for _ in range(2)]
        window.take("thousand")
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
