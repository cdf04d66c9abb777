"""What a mask makes of a value, which columns it takes, and what another mask or key means for rows that landed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from incremental_assets.core.captures.database.position import UNREAD
from incremental_assets.core.captures.documents import state_of
from incremental_assets.core.config import mask_rules
from incremental_assets.core.config.masks import with_masks
from incremental_assets.core.config.resolve import Resolved
from incremental_assets.core.config.table_document import TableDocument
from incremental_assets.core.errors import SourceRefused, TermsChanged
from incremental_assets.core.maintenance.reset import reset_table
from incremental_assets.core.model.column import Column, Fidelity
from incremental_assets.core.model.mask import Mask, MaskKey, text_mask
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.planning.preflight import check_terms, rows_can_stay
from incremental_assets.core.preview.preview_terms import terms_shown
from tests.core.mistakes import in_source, only_problem
from tests.fakes import World
from tests.scenario import orders, shop

KEY = MaskKey("a key of tokens that nobody can try all values of")
OTHER = MaskKey(KEY.secret[::-1])
CURSOR = "cursor: {column: at, type: timestamp}"


def masked(**masks: str) -> TableSpec:
    return replace(with_masks(orders(), tuple((name, Mask(mask)) for name, mask in masks.items())), mask_key=KEY)


def landed(spec: TableSpec) -> State:
    return State("app", 0, "batch", spec.terms, UNREAD)


@pytest.mark.parametrize(
    ("mask", "text", "lands"),
    [
        # What OpenSSL says: printf %s x | openssl dgst -sha256 -hmac KEY.
        ("hmac", "x", "8759226e4a53ee2cc1ee09208edf8ac026b77fb7de453fdddefc48836f57854c"),
        ("last4", "+49 170 5550123", "****0123"),
        ("last4", "12345678", "****5678"),
        ("last4", "1234567", "****"),
        ("last4", "", "****"),
        ("last4", "       1", "****"),
        ("last4", "1234\u200b\u200b\u200b\u200b", "****"),
        ("last4", "4111 1111   ", "****1111"),
        ("redact", "anything", "(masked)"),
        ("redact", "", "(masked)"),
    ],
)
def test_a_value_becomes_what_its_mask_says(mask: str, text: str, lands: str) -> None:
    assert text_mask(Mask(mask), KEY)(text) == lands


def test_a_value_has_one_token_by_a_key_and_another_one_by_another_key() -> None:
    assert text_mask(Mask.HMAC, KEY)("x") == text_mask(Mask.HMAC, MaskKey(KEY.secret))("x")
    assert text_mask(Mask.HMAC, KEY)("x") != text_mask(Mask.HMAC, OTHER)("x")


def test_a_token_is_never_made_without_a_key_and_no_text_of_a_key_tells_it() -> None:
    with pytest.raises(ValueError, match="no key"):
        text_mask(Mask.HMAC, None)
    assert KEY.secret not in repr(masked(status="hmac"))
    assert len(KEY.id) == 12
    assert KEY.id != OTHER.id


@pytest.mark.parametrize(
    ("mask", "fits"),
    [
        ("hmac", {"string", "date", "tinyint", "smallint", "int", "bigint"}),
        ("last4", {"string", "tinyint", "smallint", "int", "bigint"}),
        ("redact", {"string", "date", "tinyint", "smallint", "int", "bigint", "decimal(9,2)", "double", "timestamp", "timestamp_ntz", "boolean", "binary"}),
        ("year", {"date", "timestamp", "timestamp_ntz"}),
    ],
)  # fmt: skip
def test_a_mask_takes_columns_of_some_types(mask: str, fits: set[str]) -> None:
    kinds = [
        "string",
        "date",
        "tinyint",
        "smallint",
        "int",
        "bigint",
        "decimal(9,2)",
        "double",
        "timestamp",
        "timestamp_ntz",
        "boolean",
        "binary",
    ]
    assert {kind for kind in kinds if Mask(mask).lands_as(kind) is not None} == fits
    assert Mask.YEAR.lands_as("date") == "date"


def test_a_mask_that_does_not_fit_its_column_is_refused_with_another_one() -> None:
    with pytest.raises(SourceRefused, match=r"mask: \{status: year\}\}` is for a date or a timestamp, and 'status' is"):
        masked(status="year")


@pytest.mark.parametrize(("name", "role"), [("id", "a column of the key"), ("updated_at", "the cursor")])
def test_what_rows_are_found_and_told_apart_by_lands_as_it_is(name: str, role: str) -> None:
    with pytest.raises(SourceRefused, match=f"masks '{name}', which is {role}"):
        masked(**{name: "redact"})


def test_a_table_is_read_as_it_is_lands_masked_and_is_compared_without() -> None:
    spec = masked(status="hmac")
    spec = replace(
        spec,
        shape=spec.shape.replacing({"status": replace(spec.masks[0].lands, spark_type="string")}),
        masks=(replace(spec.masks[0], read=Column("status", "integer", "int", Fidelity.EXACT)),),
    )
    kinds = {column.name: column.spark_type for column in spec.columns}

    assert kinds["status"] == "string"
    assert {column.name: column.spark_type for column in spec.as_read.columns} == {**kinds, "status": "int"}
    assert spec.as_read.landed_types == spec.landed_types == tuple(kinds.values())
    assert set(spec.shape.names) - set(spec.without_masked.shape.names) == {"status"}
    assert "status" in {column.name for column in spec.without_masked.read_columns}
    assert spec.without_masked.terms == spec.terms == spec.as_read.terms
    assert spec.masks[0].lands.comment.endswith("masked: hmac")


@pytest.mark.parametrize(
    "other",
    [masked(), masked(status="redact"), masked(status="hmac", customer="last4"), replace(masked(status="hmac"), mask_key=OTHER)],
)  # fmt: skip
def test_other_masks_and_another_key_are_other_terms_by_which_no_row_can_stay(other: TableSpec) -> None:
    spec = masked(status="hmac")
    check_terms(spec, landed(spec))

    assert not rows_can_stay(spec.terms, other.terms)
    with pytest.raises(TermsChanged, match=f"masks status: hmac by the key {KEY.id} -> ") as refused:
        check_terms(other, landed(spec))
    assert "start over with" not in str(refused.value)
    assert "--full-refresh" in str(refused.value)
    assert "its history and its quarantine keep what they hold, until they are removed" in str(refused.value)


def test_a_reset_on_other_masks_is_refused() -> None:
    world = World(shop())
    world.sync(masked(status="redact"))

    with pytest.raises(TermsChanged, match="the masks of its columns are others"):
        reset_table(spec=orders(), to=None, run_id="r", checkpoints=world.checkpoints)


def test_masks_are_kept_in_the_state_and_a_state_without_any_is_written_as_before() -> None:
    with_them, bare = landed(masked(status="hmac")), landed(orders())

    assert state_of(with_them.to_json()) == with_them
    assert json.loads(with_them.to_json())["version"] == 7
    assert KEY.secret not in with_them.to_json()
    assert json.loads(bare.to_json())["version"] < 5
    assert "masks" not in bare.to_json()


def test_the_key_comes_to_tables_that_are_masked() -> None:
    bare = replace(masked(status="hmac"), mask_key=None)
    found = Resolved((bare, orders()), ()).with_key(KEY).specs
    assert [each.mask_key for each in found] == [KEY, None]


def test_a_plan_says_what_lands() -> None:
    assert terms_shown(masked(status="last4")).sentences[0] == "masks: status: the last four characters of each value"


WITH_KEY = "mask_key: {env: MASK_KEY}\n"
_MASKED = "tables:\n  - table: public.a\n    %s\n    columns: {%s} #!"


@pytest.mark.parametrize(
    ("source", "keys", "columns", "cure"),
    [
        ("", CURSOR, "mask: {email: hmac}", "tokens need a key, and the source has none; write `mask_key: {env: …}`"),
        (WITH_KEY, CURSOR, "mask: {at: redact}", "the table is synced by 'at' (`cursor`), whose values must land as they are"),
        (WITH_KEY, "primary_key: [id]", "mask: {id: hmac}", "the table is synced by 'id' (`primary_key`)"),
        (WITH_KEY, "contract: {email: {nullable: false}}", "mask: {email: hmac}", "the table is synced by 'email' (`contract`)"),
        (WITH_KEY, CURSOR, "exclude: [email], mask: {email: hmac}", "'email' is not read, so that there is nothing to mask"),
        (WITH_KEY, CURSOR, "include: [id, at], mask: {email: hmac}", "'email' is not read"),
        (WITH_KEY, "capture: log", "mask: {email: hmac}", "what is read of the log is kept on disk as it came"),
        (WITH_KEY, "{strategy: upsert, compare: {every: 1h}}", "mask: {email: hmac}", "rows are compared by hashes of what the source has"),
        (WITH_KEY, "contract: shop:Customers", "mask: {email: hmac}", "a model judges whole rows"),
        (WITH_KEY, CURSOR, "mask: {email: sha}", "hmac"),
    ],
)  # fmt: skip
def test_what_would_leave_a_value_as_it_is_is_refused_with_its_line(
    source: str, keys: str, columns: str, cure: str, tmp_path: Path
) -> None:
    keys = keys.strip("{}") if keys.startswith("{") else keys
    keys = keys.replace("strategy: upsert, compare", "strategy: upsert\n    compare") + (
        "}" if "compare" in keys else ""
    )
    found = only_problem(tmp_path, in_source(source + _MASKED % (keys, columns)))
    assert cure in found.cure


def test_a_source_of_which_nobody_masks_columns_is_refused_by_name() -> None:
    table = TableDocument.model_validate({"table": "shop.orders", "columns": {"mask": {"email": "redact"}}})
    ((place, cure),) = mask_rules.mistakes(table, "kafka", has_key=False)

    assert place == ("columns", "mask")
    assert cure.startswith("columns are masked of postgresql, sqlite, mariadb, mysql, and this source is kafka")


def test_a_literal_key_is_refused_as_a_password_is(tmp_path: Path) -> None:
    found = only_problem(tmp_path, in_source("mask_key: written-here #!"))
    assert "a secret is never written in this file" in found.cure
