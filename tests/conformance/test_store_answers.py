"""T90: what a store answers is not the truth; rows and positions land once, or not at all."""

from __future__ import annotations

from urllib.request import Request, urlopen

import pytest

from tests.adapters.lake_store.bucket import Relay, serving
from tests.adapters.lake_store.shop_in_store import StoreStand
from tests.conformance.scenario import of_store
from tests.conformance.store_tables import CHANGES, assert_landed

COMMITS = "public/orders/_delta_log/0"
"""Of a table that is not read whole: that would be made good by the next read, whatever was lost."""


@of_store(
    "T90",
    "The puts of an upsert's commits are answered by 500 or a cut connection after they landed, by 409 and 503, and by a cut connection before they did, up to three times each",
    holds="every row lands once, and each version of it; nothing that landed is removed",
)
@pytest.mark.parametrize(
    "faults", [["500 after"], ["cut after"], ["409"] * 3, ["503"] * 3, ["cut"] * 3, ["503", "500 after"]]
)
def test_whatever_a_commit_is_answered(stored: StoreStand, relay: Relay, faults: list[str]) -> None:
    stored.land()
    stored.execute(*CHANGES)
    relay.within, relay.faults = COMMITS, {"PUT": [*faults]}
    stored.land()
    assert relay.faults["PUT"] == [], "no commit met them"
    assert_landed(stored)


@of_store(
    "T90",
    "The same of every file of a first load, and of every read of a sync",
    holds="every row lands once",
)
@pytest.mark.parametrize(
    "faults", [{"PUT": ["500 after", "503"] * 3}, {"GET": ["503", "cut"] * 3}, {"HEAD": ["503"], "DELETE": ["503"]}]
)
def test_whatever_any_request_is_answered(stored: StoreStand, relay: Relay, faults: dict[str, list[str]]) -> None:
    relay.faults = {method: [*those] for method, those in faults.items()}
    stored.sync()
    relay.faults = {}
    stored.land()
    stored.execute(*CHANGES)
    relay.faults = {method: [*those] for method, those in faults.items()}
    stored.sync()
    relay.faults = {}
    assert_landed(stored)


@of_store(
    "T90",
    "The store lets a second writer have its way (it does not mind the condition of a put)",
    holds="it is refused by name before anything is committed",
)
def test_a_store_that_minds_no_condition(stored: StoreStand, relay: Relay) -> None:
    with serving() as careless:
        # Its requests are not signed: without the condition, a signature would be of another one.
        relay.server, relay.faults = careless, {"PUT": ["unconditional"]}
        made = Request(f"http://{careless}/{stored.shop.root.removeprefix('s3://')}", method="PUT")
        urlopen(made).close()
        said = stored.sync("events")["events"].error or ""
        there = stored.versions("events")
    assert "does not mind the condition" in said
    assert there == []


@of_store(
    "T90",
    "The store denies everything in the middle of a sync, as when a token has expired, and takes it again later",
    holds="the sync fails by the name of the file and of the cure, and the next one lands all, each row once",
)
@pytest.mark.parametrize("within", ["/_staging/", COMMITS, ".parquet"])
def test_a_token_that_expires(stored: StoreStand, relay: Relay, within: str) -> None:
    stored.land()
    stored.execute(*CHANGES)
    relay.within, relay.faults = within, {method: ["403"] * 200 for method in ("PUT", "GET", "HEAD", "POST", "DELETE")}
    told = stored.sync()
    assert any("denies it" in (report.error or "") for report in told.values()), told
    relay.faults = {}
    assert_landed(stored)
