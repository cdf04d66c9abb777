"""A store of objects keeps the contract, whatever it answers: after all but success the key is read before anything is concluded."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from incremental_assets.adapters.lake_store import objects
from incremental_assets.adapters.lake_store.objects import _RETRY as PATIENCE
from incremental_assets.adapters.lake_store.objects import _TRIES, ObjectStore
from incremental_assets.core.errors import LakeRefused, StoreUnreachable
from tests.adapters.lake_store.bucket import QUICKLY, Relay, new_bucket, opened, options
from tests.adapters.lake_store.contract import *  # noqa: F403
from tests.adapters.lake_store.contract import Place


@pytest.fixture
def place(object_server: str) -> Place:
    root = new_bucket(object_server)
    return Place(opened(object_server, root), f"{root}/lake")


@pytest.fixture
def relayed(relay: Relay) -> Place:
    """The same, through the relay; that it minds conditions is known already."""
    root = new_bucket(relay.server)
    place = Place(opened(relay.address, root), f"{root}/lake")
    place.put("known")
    relay.asked.clear()
    return place


def test_a_folder_in_which_nothing_is_has_no_names(place: Place) -> None:
    assert place.store.list_from(f"{place.root}/none") == {}


@pytest.mark.parametrize(
    "ask",
    [
        lambda store, folder: store.list_from(folder),
        lambda store, folder: store.put_if_absent(f"{folder}/1.json", b"first"),
        lambda store, folder: store.put(f"{folder}/1.json", b"first"),
        lambda store, folder: store.read(f"{folder}/1.json"),
        lambda store, folder: store.delete(f"{folder}/1.json"),
        lambda store, folder: store.delete_prefix(folder),
    ],
)
def test_a_bucket_that_is_not_there_is_named(object_server: str, ask: Callable[[ObjectStore, str], object]) -> None:
    root = "s3://nobody-made-this"
    with pytest.raises(LakeRefused, match=r"^s3://nobody-made-this: there is no such bucket; make it"):
        ask(opened(object_server, root), f"{root}/lake")


@pytest.mark.parametrize(
    "faults",
    [
        ["500 after"],
        ["cut after"],
        ["500 after", "500 after"],
        ["409"],
        ["409", "409", "409"],
        ["cut", "cut", "cut"],
        ["503", "503", "503"],
        ["503", "cut after", "409"],
    ],
    ids=" ".join,
)
def test_what_has_landed_or_can_land_is_ours_whatever_the_store_says(
    relay: Relay, relayed: Place, faults: list[str]
) -> None:
    relay.faults["PUT"] = faults
    assert relayed.store.put_if_absent(f"{relayed.root}/1.json", b"ours")
    assert relayed.store.read(f"{relayed.root}/1.json") == b"ours"


@pytest.mark.parametrize("faults", [["409"], ["503"], ["cut"], ["500 after"], ["cut after", "503"]], ids=" ".join)
def test_what_is_anothers_stays_so_whatever_the_store_says(relay: Relay, relayed: Place, faults: list[str]) -> None:
    key = relayed.put("1.json", b"another's")
    relay.faults["PUT"] = faults
    assert not relayed.store.put_if_absent(key, b"ours")
    assert relayed.store.read(key) == b"another's"


EACH_KIND = pytest.mark.parametrize(
    ("method", "ask"),
    [
        ("GET", lambda store, folder: store.list_from(folder)),
        ("GET", lambda store, folder: store.read(f"{folder}/1.json")),
        ("PUT", lambda store, folder: store.put(f"{folder}/1.json", b"first")),
        ("PUT", lambda store, folder: store.put_if_absent(f"{folder}/2.json", b"second")),
        ("POST", lambda store, folder: store.delete(f"{folder}/1.json")),
    ],
)
"""What is asked of a store: by its method of HTTP, and as we ask."""


@pytest.mark.parametrize("status", ["401", "403"])
@EACH_KIND
def test_what_is_denied_is_said_to_be_and_not_that_the_store_is_silent(
    relay: Relay, relayed: Place, method: str, ask: Callable[[ObjectStore, str], object], status: str
) -> None:
    relayed.put("1.json", b"there")
    relay.faults = {method: [status] * 9}
    with pytest.raises(LakeRefused, match=r"the store denies it .*; check its credentials"):
        ask(relayed.store, relayed.root)


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (
            "400 ExpiredToken",
            r"400 Bad Request, ExpiredToken: As it was told to\.\); its credentials have expired: renew them where",
        ),
        (
            "400 AuthorizationHeaderMalformed",
            r"Malformed: As it was told to\.\); the bucket is in another region: write it",
        ),
        ("301 PermanentRedirect", r"redirect without LOCATION.*\); the bucket is in another region: write it"),
        (
            "403 RequestTimeTooSkewed",
            r"RequestTimeTooSkewed: As it was told to\.\); this machine's clock and the store's",
        ),
        ("403 SignatureDoesNotMatch", r"SignatureDoesNotMatch: As it was told to\.\); check the key and its secret"),
        (
            "403 AccessDenied",
            r"AccessDenied: As it was told to\.\); check its credentials and the rights that they have",
        ),
    ],
)
@EACH_KIND
def test_what_a_store_will_not_do_is_one_sentence_with_its_cure_and_nothing_else_of_its_answer(
    relay: Relay, relayed: Place, method: str, ask: Callable[[ObjectStore, str], object], fault: str, told: str
) -> None:
    relayed.put("1.json", b"there")
    relay.faults = {method: [fault] * 9}
    with pytest.raises(LakeRefused, match=rf"the store denies it \(.*{told}") as error:
        ask(relayed.store, relayed.root)
    assert "t0ken" not in str(error.value)
    assert "<" not in str(error.value)


def test_a_look_with_a_token_that_has_expired_has_an_answer_without_words(relay: Relay, relayed: Place) -> None:
    relay.faults = {"HEAD": ["400 ExpiredToken"]}
    with pytest.raises(LakeRefused, match=r"400 Bad Request\); its credentials may have expired"):
        relayed.store.head(f"{relayed.root}/known")


def test_where_nobody_can_tell_as_a_token_has_expired_the_cure_is_said(relay: Relay, relayed: Place) -> None:
    relay.faults = {"PUT": ["400 ExpiredToken"] * 9, "GET": ["400 ExpiredToken"] * 9}
    with pytest.raises(
        StoreUnreachable,
        match=r"did not tell .*ExpiredToken.* looks at what is there: its credentials have expired: renew them",
    ):
        relayed.store.put_if_absent(f"{relayed.root}/1.json", b"ours")


def test_files_that_may_not_be_removed_are_not_listed_one_by_one(relay: Relay, relayed: Place) -> None:
    for name in ("1.json", "2.json"):
        relayed.put(f"batch/{name}", b"there")
    relay.faults = {"POST": ["403 AccessDenied"]}
    with pytest.raises(LakeRefused, match=r"/batch: the store denies it \(Error performing POST") as error:
        relayed.store.delete_prefix(f"{relayed.root}/batch")
    assert "1.json" not in str(error.value)


def test_a_file_that_an_object_lock_keeps_is_denied_though_the_answer_is_good(relay: Relay, relayed: Place) -> None:
    """As it is where a role may not remove: an answer to the removal of several files says so of each."""
    key = relayed.put("1.json")
    relay.faults = {"POST": ["locked"]}
    with pytest.raises(
        LakeRefused, match=r"1\.json: the store denies it \(.*protected by object lock.*\); check its cred"
    ):
        relayed.store.delete(key)


def test_a_session_token_of_the_environment_is_of_another_key_and_goes_to_no_store_with_keys_of_its_own(
    relay: Relay, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SESSION_TOKEN", "of another key")
    root = new_bucket(relay.server)
    Place(opened(relay.address, root), f"{root}/lake").put("1.json")
    assert relay.tokens == {None}
    relay.tokens.clear()
    own = ObjectStore(root, options(relay.address) | {"aws_session_token": "its own"})
    assert own.read(f"{root}/lake/1.json") == b"text"
    assert relay.tokens == {"its own"}


@pytest.fixture
def patient(relay: Relay, monkeypatch: pytest.MonkeyPatch) -> Place:
    """As in life, but for the length of its pauses."""
    monkeypatch.setattr(objects, "_RETRY", {**PATIENCE, "backoff": QUICKLY["backoff"]})
    root = new_bucket(relay.server)
    place = Place(opened(relay.address, root), f"{root}/lake")
    place.put("known")
    relay.asked.clear()
    return place


def test_a_store_that_is_busy_for_a_while_costs_no_load(relay: Relay, patient: Place) -> None:
    relay.faults = {method: ["503 SlowDown"] * 15 for method in ("GET", "PUT", "POST")}
    assert patient.store.read(f"{patient.root}/known") == b"text"
    with patient.store.new(f"{patient.root}/part-0.parquet") as file:
        file.write(b"rows")
    patient.store.delete(f"{patient.root}/known")
    assert dict(relay.faults) == {"GET": [], "PUT": [], "POST": []}


def test_where_one_request_has_waited_in_vain_the_next_ones_do_not_wait_as_long_until_one_is_answered(
    relay: Relay, patient: Place
) -> None:
    asked = []
    for faults in (50, 50, 0, 50):
        relay.faults = {"GET": ["503 SlowDown"] * faults}
        relay.asked.clear()
        try:
            patient.store.read(f"{patient.root}/known")
        except StoreUnreachable:
            asked.append(len(relay.asked))
    assert asked == [21, 3, 21]


def test_a_read_that_fails_behind_a_put_concludes_nothing(relay: Relay, relayed: Place) -> None:
    relay.faults = {"PUT": ["cut after", "409"], "GET": ["cut", "503", "503"]}
    assert relayed.store.put_if_absent(f"{relayed.root}/1.json", b"ours")


def test_where_nobody_can_tell_nothing_is_concluded(relay: Relay, relayed: Place) -> None:
    relay.faults = {"PUT": ["cut after", *["503"] * 50], "GET": ["503"] * 50}
    with pytest.raises(StoreUnreachable, match=r"1\.json: the store did not tell whether it has this file \(.*503"):
        relayed.store.put_if_absent(f"{relayed.root}/1.json", b"ours")
    relay.faults = {}
    assert relayed.store.read(f"{relayed.root}/1.json") == b"ours"


def test_a_file_is_put_so_often_and_no_more(relay: Relay, relayed: Place) -> None:
    relay.faults = {"PUT": ["409"] * 50}
    with pytest.raises(StoreUnreachable, match="did not tell"):
        relayed.store.put_if_absent(f"{relayed.root}/1.json", b"ours")
    assert sum(each.startswith("PUT") for each in relay.asked) == _TRIES


def test_a_put_that_is_answered_is_one_request(relay: Relay, relayed: Place) -> None:
    assert relayed.store.put_if_absent(f"{relayed.root}/1.json", b"ours")
    assert [each.split()[0] for each in relay.asked] == ["PUT"]


def test_a_store_that_does_not_mind_the_condition_is_refused_before_it_has_a_file(relay: Relay) -> None:
    root = new_bucket(relay.server)
    relay.faults["PUT"] = ["unconditional"]
    store = opened(relay.address, root)
    for _ in range(2):
        with pytest.raises(LakeRefused, match=rf"{root}: this store does not mind the condition"):
            store.put_if_absent(f"{root}/lake/1.json", b"ours")
    assert store.list_from(f"{root}/lake") == {}


def test_a_store_that_denies_is_named_with_what_it_says(relay: Relay, relayed: Place) -> None:
    relay.faults = {"PUT": ["403"], "GET": ["403"]}
    with pytest.raises(LakeRefused, match=r"known: the store denies it \(.*403"):
        relayed.store.read(f"{relayed.root}/known")
    with pytest.raises(LakeRefused, match=r"1\.json: the store denies it"):
        relayed.store.put_if_absent(f"{relayed.root}/1.json", b"ours")


def test_a_store_that_does_not_answer_is_named(relay: Relay, relayed: Place) -> None:
    relay.faults = {"GET": ["500"] * 10}
    for ask in (relayed.store.read, relayed.store.list_from):
        with pytest.raises(StoreUnreachable, match="the store did not answer"):
            ask(f"{relayed.root}/known")


def test_a_listing_begins_behind_what_is_known(relay: Relay, relayed: Place) -> None:
    for number in range(5):
        relayed.put(f"log/{number:020d}.json")
    relay.asked.clear()
    assert len(relayed.store.list_from(f"{relayed.root}/log", f"{3:020d}")) == 2
    assert len(relay.asked) == 1


def test_a_large_file_is_sent_in_parts_and_is_there_with_the_last_of_them(
    relayed: Place, relay: Relay, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(objects, "_PART_BYTES", 5 * 2**20)
    key, piece = f"{relayed.root}/large.bin", bytes(range(256)) * 2**12
    with relayed.store.new(key) as file:
        for _ in range(12):
            file.write(piece)
        assert relayed.store.head(key) is None
    assert relayed.store.read(key) == piece * 12
    assert relay.asked.count(f"POST /{key.removeprefix('s3://')}") == 2, "one begins it, and one ends it"


def test_a_file_that_the_store_does_not_take_is_named(relayed: Place, relay: Relay) -> None:
    key = f"{relayed.root}/part-0.parquet"
    relay.faults["PUT"] = ["403"] * 9
    with pytest.raises(LakeRefused, match=f"{key}: the store denies it"), relayed.store.new(key) as file:
        file.write(b"text")
    relay.faults.clear()
    assert relayed.store.head(key) is None


def test_an_answer_that_was_lost_leaves_the_file_as_it_was_written(relayed: Place, relay: Relay) -> None:
    key = f"{relayed.root}/part-0.parquet"
    relay.faults["PUT"] = ["500 after"]
    with relayed.store.new(key) as file:
        file.write(b"text")
    assert relayed.store.read(key) == b"text"
