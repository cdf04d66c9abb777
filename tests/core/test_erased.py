"""The list of erased keys: what it tells of a key, who can read it, and that it knows a key however it is written."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from incremental_assets.core.config.load import load
from incremental_assets.core.errors import LakeRefused, SelectionError
from incremental_assets.core.model.column import Column, Fidelity
from incremental_assets.core.model.erased import ErasedKeys, ErasureKey, erased_from, typed_text
from incremental_assets.core.model.subject import Subject, pattern, subjects_in
from tests.core.stories import UPSERT

KEY = ErasureKey("a key of erasures that nobody can try all values of")
OTHER = ErasureKey(KEY.secret[::-1])
NONE = ErasedKeys(KEY, frozenset())


def test_a_list_tells_a_key_and_nothing_else_by_the_secret_alone() -> None:
    kept = NONE.with_keys([("42",), ("ann@example.com",)])
    text = kept.to_json()
    found = erased_from(text, "place", KEY)
    assert found.holds(["42"])
    assert found.holds(["ann@example.com"])
    assert not found.holds(["43"])
    assert "42" not in text.replace(KEY.id, "").split('"digests"')[0]
    assert "ann@example.com" not in text
    assert KEY.secret not in repr(found)


def test_keys_of_several_columns_are_not_those_whose_texts_run_together() -> None:
    assert not NONE.with_keys([("1", "23")]).holds(["12", "3"])


def test_a_key_of_several_columns_is_known_in_whichever_order_the_table_has_them() -> None:
    by_two = replace(UPSERT, key=("id", "customer"))
    kept = erased_from(replace(NONE, columns=("customer", "id")).with_keys([("ada", "7")]).to_json(), "place", KEY)
    key = ("7", "ada")
    assert kept.holds([key[place] for place in kept.places(by_two)])
    assert NONE.places(by_two) == (0, 1)
    with pytest.raises(LakeRefused, match="its keys were erased by customer, id, and its key is id now"):
        kept.places(UPSERT)


@pytest.mark.parametrize(
    ("text", "key", "says"),
    [
        (NONE.to_json(), None, "write `erasure_key: {env: …}` again"),
        (NONE.to_json(), OTHER, "was written with another key"),
        ("{}", KEY, "is no list of erased keys"),
        (NONE.to_json()[:20], KEY, "is no list of erased keys"),
        ('{"version": 2, "key": "", "digests": []}', KEY, "was written by a later release"),
    ],
)
def test_a_list_that_cannot_be_read_stops_whoever_asks(text: str, key: ErasureKey | None, says: str) -> None:
    with pytest.raises(LakeRefused, match=says):
        erased_from(text, "lake/_erased/s/sc/t.json", key)


@pytest.mark.parametrize(
    ("kind", "one", "other"),
    [
        ("int", "007", "7"),
        ("decimal(10,2)", "1.50", "1.5"),
        ("timestamp", "2024-01-31T10:00:00Z", "2024-01-31 10:00:00"),
        ("timestamp_ntz", "2024-01-31 10:00:00.500000", "2024-01-31 10:00:00.5"),
        ("binary", "0a0b", "0A0B"),
        ("string", "1.50", "1.50"),
        ("date", "1987-06-05", "1987-06-05"),
    ],
)
def test_a_value_has_one_text_however_it_is_written(kind: str, one: str, other: str) -> None:
    assert typed_text(kind, one) == typed_text(kind, other)


def columns(names: list[str], kind: str = "int", source: str = "") -> list[Column]:
    return [Column(name, source or kind, kind, Fidelity.EXACT) for name in names]


@pytest.mark.parametrize(
    ("kind", "source", "written", "text"),
    [
        ("int", "", "+007", "7"),
        ("bigint", "", "-0", "0"),
        ("decimal(10,2)", "", "1.50", "1.5"),
        ("decimal(10,2)", "", "1e2", "100"),
        ("decimal(10,2)", "", "-0.00", "0"),
        ("boolean", "", "TRUE", "true"),
        ("date", "", "1987-06-05", "1987-06-05"),
        ("timestamp", "", "2024-01-31T10:00:00+02:00", "2024-01-31 08:00:00"),
        ("timestamp", "", "2024-01-31 10:00:00.5", "2024-01-31 10:00:00.500000"),
        ("timestamp_ntz", "", "2024-01-31T10:00:00Z", "2024-01-31 10:00:00"),
        ("binary", "bytea", r"\x0a0b", "0A0B"),
        ("string", "uuid", "A0EE", "a0ee"),
        ("string", "character(5)", "ann", "ann  "),
        ("string", "text", "a\u2028b\x85c", "a\u2028b\x85c"),
    ],
)
def test_a_key_of_a_file_is_as_its_column_has_it(kind: str, source: str, written: str, text: str) -> None:
    (found,) = subjects_in(f"{written}\r\n", columns(["id"], kind, source), "keys.txt")
    assert found.key == (("id", text),)


@pytest.mark.parametrize(
    ("kind", "written"),
    [
        ("int", "secret"),
        ("int", "1.0"),
        ("decimal(10,2)", "NaN"),
        ("boolean", "secret"),
        ("date", "05.06.1987"),
        ("timestamp", "secret"),
        ("timestamp_ntz", "2024-01-31T10:00:00+02:00"),
        ("binary", "secret"),
    ],
)
def test_a_key_that_its_column_does_not_have_is_named_by_its_line(kind: str, written: str) -> None:
    with pytest.raises(SelectionError) as found:
        subjects_in(f"\n{written}\n", columns(["id"], kind), "keys.txt")
    assert f"keys.txt:2: the value of 'id' is no {kind}, so that no row has it" in str(found.value)
    assert written not in str(found.value)


def test_a_file_of_keys_has_one_in_each_line() -> None:
    found = subjects_in('42\n\n{"id": 7, "email": "ann@example.com", "gone": null}\n42\n', columns(["id"]), "keys.txt")
    assert found == (Subject((("id", "42"),)), Subject((("id", "7"),), (("email", "ann@example.com"),)))


@pytest.mark.parametrize(
    ("text", "key", "says"),
    [
        ("\n", ["id"], "keys.txt: no key is in it; write one key in each line"),
        (
            "7\n",
            ["tenant", "id"],
            r'keys.txt:1: the key of the table has 2 columns; write an object such as {"tenant": …, "id": …}',
        ),
        ('7\n{"email": "secret"}\n', ["id"], "keys.txt:2: the column 'id' of the key is missing"),
        ('{"id": secret\n', ["id"], "keys.txt:1: this line begins like a JSON object and is none"),
    ],
)
def test_a_mistake_in_a_file_of_keys_is_named_by_its_line_and_quotes_no_value(
    text: str, key: list[str], says: str
) -> None:
    with pytest.raises(SelectionError) as found:
        subjects_in(text, columns(key), "keys.txt")
    assert says in str(found.value)
    assert "secret" not in str(found.value)


@pytest.mark.parametrize(
    ("text", "key", "found"),
    [
        ("mail\nann@example.com\n", ["mail"], [[("mail", "ann@example.com")]]),
        ('\n"Mail"\r\n"ann@example.com"\r\n', ["mail"], [[("mail", "ann@example.com")]]),
        ("id;tenant\n7;blue\n8;red\n", ["tenant", "id"], [[("tenant", "blue"), ("id", "7")], [("tenant", "red"), ("id", "8")]]),
        ("my mail,\nann@example.com\n", ["mail"], [[("mail", "my mail,")], [("mail", "ann@example.com")]]),
    ],
)  # fmt: skip
def test_a_first_line_that_names_the_columns_of_the_key_is_a_header_and_no_key(
    text: str, key: list[str], found: list[list[tuple[str, str]]]
) -> None:
    subjects = subjects_in(text, columns(key, "string"), "keys.csv")
    assert [list(each.key) for each in subjects] == found


def test_what_a_csv_file_has_of_other_columns_is_looked_for_in_texts() -> None:
    (found,) = subjects_in('id,mail,name\n7,"ann,@example.com",\n', columns(["id"]), "keys.csv")
    assert (found.key, found.others) == ((("id", "7"),), (("mail", "ann,@example.com"),))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("id,mail\n7\n", "keys.csv:2: the header has 2 columns and this line another number of values"),
        ('id,mail\n7,"secret\n', "keys.csv:2: the header has 2 columns and this line another number of values, or quotes that do not end"),
        ("id,mail\n,secret\n", "keys.csv:2: the column 'id' of the key is missing; write it into this line"),
        ("id\n\n", "keys.csv: no key is in it behind its header; write one key in each line"),
    ],
)  # fmt: skip
def test_a_line_that_does_not_fit_its_header_is_named_and_quotes_no_value(text: str, says: str) -> None:
    with pytest.raises(SelectionError) as found:
        subjects_in(text, columns(["id"]), "keys.csv")
    assert says in str(found.value)
    assert "secret" not in str(found.value)


def test_a_number_is_looked_for_between_other_signs_and_a_short_text_nowhere() -> None:
    wanted = pattern([Subject((("id", "900001"),), (("name", "Ann"),))], numbers=True)
    assert wanted.search(b"the key 900001 is there twice")
    assert not wanted.search(b"1900001 9000012 5.900001 Ann")


def test_the_key_of_erasures_is_a_reference(tmp_path: Path) -> None:
    file = tmp_path / "sources.yaml"
    file.write_text(
        "lake: ./lake\ncheckpoints: sqlite:///c.db\nerasure_key: {env: ERASURE_KEY}\n"
        "sources: {shop: {dialect: postgresql, host: h, database: d, user: u, password: {env: P}}}\n"
    )
    found = load(file)
    assert str(found.erasure.key) == "{env: ERASURE_KEY}"
    assert found.erasure.line == 3
    assert "ERASURE_KEY" in found.secrets
