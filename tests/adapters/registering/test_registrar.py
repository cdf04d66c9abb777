"""The data catalogues of a configuration: opened when they are needed, with the keys that are meant for them, and left alone while they are silent."""

from __future__ import annotations

from pathlib import Path

import pytest

from incremental_assets.adapters.registering import registrar as module
from incremental_assets.adapters.registering.registrar import Registrar
from incremental_assets.core.config.load import load
from incremental_assets.core.errors import CatalogueUnreachable, SetupError
from incremental_assets.core.extras import GLUE, Extra
from incremental_assets.core.model.registration import Catalogue, Described, Place
from incremental_assets.core.model.table_id import TableId
from incremental_assets.resources import registering
from incremental_assets.resources.registering import _options, open_registrar

ORDERS = TableId("shop", "public", "orders")
PLACE = Place(Catalogue.GLUE, "lake", "orders", "eu-central-1")
FILE = """\
lake: s3://bucket/lake
checkpoints: sqlite:///c.db
stores:
  bucket: {{{store}region: eu-west-1, access_key_id: {{env: LAKE_KEY}}, secret_access_key: {{env: LAKE_SECRET}}}}
sources:
  shop: {{dialect: sqlite, database: shop.db, {register}tables: ["main.orders:id:integer"]}}
"""


class Silent:
    """A catalogue that does not answer."""

    asked = 0

    def put(self, place: Place, table: TableId, found: Described) -> None:
        self.asked += 1
        raise CatalogueUnreachable("it did not answer")

    def check(self, place: Place) -> None:
        self.asked += 1


def no_session() -> None:
    raise AssertionError("nobody needs one")


def test_a_silent_catalogue_is_left_alone_for_a_minute_and_another_region_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    silent, clock = Silent(), [1000.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: clock[0])
    registrar = Registrar("s3a://bucket/lake", {Catalogue.GLUE: lambda: silent})

    def asked(place: Place = PLACE) -> int:
        with pytest.raises(CatalogueUnreachable, match="it did not answer"):
            registrar.register(place, ORDERS, Described("s3a://bucket/lake/x", ()))
        return silent.asked

    assert [asked(), asked(), asked(Place(Catalogue.GLUE, "lake", "orders", "eu-west-1"))] == [1, 1, 2]
    clock[0] += 61
    assert asked() == 3
    # Who asks whether it answers is told the truth.
    registrar.check(PLACE)
    assert silent.asked == 4


def configured(folder: Path, monkeypatch: pytest.MonkeyPatch, store: str = "", register: str = "") -> Path:
    monkeypatch.setenv("LAKE_KEY", "key")
    monkeypatch.setenv("LAKE_SECRET", "s3cret")
    (folder / "sources.yaml").write_text(FILE.format(store=store, register=register))
    return folder / "sources.yaml"


KEYS = {"region": "eu-west-1", "access_key_id": "key", "secret_access_key": "s3cret"}


@pytest.mark.parametrize(
    ("store", "given"),
    [
        ("", KEYS),
        ('endpoint: "https://s3.eu-west-1.amazonaws.com", ', KEYS),
        ('endpoint: "https://minio.example.com:9000", ', {"region": "eu-west-1"}),
        ('endpoint: "https://amazonaws.com.example.org", ', {"region": "eu-west-1"}),
    ],
)
def test_keys_of_a_store_are_for_aws_where_the_store_is_awss(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, store: str, given: dict[str, str]
) -> None:
    assert _options(load(configured(tmp_path, monkeypatch, store))) == given


def test_without_register_there_is_no_registrar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert open_registrar(load(configured(tmp_path, monkeypatch)), no_session) is None  # type: ignore[arg-type]


def test_without_the_extra_the_sentence_has_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = configured(tmp_path, monkeypatch, register="register: {glue: {database: lake}}, ")
    registrar = open_registrar(load(file), no_session)  # type: ignore[arg-type]
    assert registrar is not None
    monkeypatch.setattr(registering, "GLUE", Extra(GLUE.name, GLUE.missing, ("no_such_client",)))
    with pytest.raises(SetupError, match=r"install it by `pip install 'incremental-assets\[glue\]'`"):
        registrar.register(PLACE, ORDERS, Described("s3a://bucket/lake/x", ()))
