"""What a change of the source's columns means under the table's policy."""

from __future__ import annotations

from dataclasses import replace

import pytest

from incremental_assets.core.errors import NameRefused, SchemaChanged
from incremental_assets.core.model.column import Column, Fidelity
from incremental_assets.core.model.readers import Readers
from incremental_assets.core.model.schema_drift import (
    Difference,
    Retyped,
    TargetColumn,
    check_columns,
    check_names,
    difference,
)
from incremental_assets.core.model.table import Strategy, TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.table_shape import TableShape


def column(name: str, spark_type: str = "string") -> Column:
    return Column(name, "text", spark_type, Fidelity.EXACT)


def spec(*columns: Column, evolve: bool = True, strategy: Strategy = Strategy.APPEND) -> TableSpec:
    return TableSpec(TableShape(TableId("shop", "public", "orders"), columns), strategy, evolve=evolve)


ID, NOTE = column("id", "bigint"), column("note")
LANDED = (TargetColumn("id", "long"), TargetColumn("note", "string"), TargetColumn("_sync_seq", "long"))


def test_the_same_columns_differ_in_nothing() -> None:
    assert not difference((ID, NOTE), LANDED)


def test_two_spellings_of_one_type_are_the_same() -> None:
    columns = (column("a", "int"), column("b", "smallint"), column("c", "decimal(15, 2)"), column("d", "float"))
    target = (
        TargetColumn("a", "integer"),
        TargetColumn("b", "short"),
        TargetColumn("c", "decimal(15,2)"),
        TargetColumn("d", "float"),
    )
    assert not difference(columns, target)


def test_a_name_that_changed_its_case_is_the_same_column() -> None:
    assert not difference((column("ID", "bigint"), NOTE), LANDED)


def test_added_dropped_and_retyped_are_told_apart() -> None:
    new = column("new", "date")
    found = difference((column("id", "string"), new), LANDED)
    assert found == Difference((new,), (TargetColumn("note", "string"),), (Retyped("id", "bigint", "string"),))


def test_evolve_takes_new_columns_and_keeps_dropped_ones() -> None:
    check_columns(spec(ID), Difference(added=(NOTE,), dropped=(TargetColumn("x", "string"),)), overwrites=False)


def test_a_retyped_column_is_refused_with_the_two_ways_on() -> None:
    found = Difference(retyped=(Retyped("id", "int", "bigint"),))
    with pytest.raises(SchemaChanged, match=r"id was int and is bigint.*--full-refresh --yes`, put the type back, or"):
        check_columns(spec(ID), found, overwrites=False)


def test_a_table_that_is_read_whole_follows_its_types() -> None:
    check_columns(spec(ID), Difference(retyped=(Retyped("id", "int", "bigint"),)), overwrites=True)


@pytest.mark.parametrize("overwrites", [True, False])
@pytest.mark.parametrize(
    "found",
    [
        Difference(added=(NOTE,)),
        Difference(dropped=(TargetColumn("x", "string"),)),
        Difference(retyped=(Retyped("id", "int", "bigint"),)),
    ],
)
def test_freeze_refuses_any_difference(found: Difference, overwrites: bool) -> None:
    with pytest.raises(SchemaChanged, match="schema_changes: freeze"):
        check_columns(spec(ID, evolve=False), found, overwrites=overwrites)


def test_a_column_that_the_configuration_leaves_out_is_no_change_that_freeze_refuses() -> None:
    frozen = spec(ID, evolve=False)
    secret = Difference(dropped=(TargetColumn("secret", "string"),))
    check_columns(replace(frozen, shape=replace(frozen.shape, left_out=("secret",))), secret, overwrites=False)
    with pytest.raises(SchemaChanged, match="secret is gone"):
        check_columns(frozen, secret, overwrites=False)


@pytest.mark.parametrize("overwrites", [True, False])
def test_discard_refuses_another_type_and_takes_a_dropped_column_as_evolve_does(overwrites: bool) -> None:
    discards = replace(spec(ID), discards=True)
    check_columns(discards, Difference(dropped=(TargetColumn("x", "string"),)), overwrites=overwrites)
    with pytest.raises(SchemaChanged, match=r"id was int and is bigint.*`schema_changes: discard` does not follow"):
        check_columns(discards, Difference(retyped=(Retyped("id", "int", "bigint"),)), overwrites=overwrites)


def test_names_that_a_delta_table_cannot_hold_are_refused_by_name() -> None:
    check_names(spec(ID, NOTE))
    with pytest.raises(NameRefused, match="'Note' and 'note' differ by case alone"):
        check_names(spec(column("Note"), NOTE))
    with pytest.raises(NameRefused, match="'_SYNC_x' begins with `_sync_`"):
        check_names(spec(column("_SYNC_x")))


def test_the_name_that_delta_replaces_rows_by_is_refused_for_an_upsert() -> None:
    with pytest.raises(NameRefused, match="'_Metadata' has the name under which Delta"):
        check_names(spec(ID, column("_Metadata"), strategy=Strategy.UPSERT))
    check_names(spec(ID, column("_Metadata"), strategy=Strategy.APPEND))


@pytest.mark.parametrize("name", ["unit price", "a,b", "a;b", "{a}", "a=b", "a\tb"])
def test_a_name_that_needs_a_mapping_is_refused_where_any_reader_is_to_read_the_copy(name: str) -> None:
    named = spec(ID, column(name))
    check_names(named)
    with pytest.raises(NameRefused, match=r"`copies: \{readers: any\}` rules out"):
        check_names(replace(named, readers=Readers.ANY))
    check_names(replace(spec(ID, NOTE), readers=Readers.ANY))


def test_the_stop_at_a_wider_type_offers_the_full_refresh_first_and_says_which_readers_widen_needs() -> None:
    wider = Difference(retyped=(Retyped("qty", "int", "bigint"),))
    with pytest.raises(SchemaChanged) as stopped:
        check_columns(spec(ID), wider, overwrites=False)
    assert str(stopped.value) == (
        "shop.public.orders: columns changed their type (qty was int and is bigint), which rows that have landed cannot follow: "
        "read everything again with `incremental-assets sync --select shop.public.orders --full-refresh --yes`, put the type back, "
        "or set `schema_changes: widen` for this table, if all that read the copy know Delta's type widening (Spark 4 does, delta-rs and DuckDB do not)"
    )


def test_a_type_that_no_column_can_be_widened_to_is_offered_no_widening() -> None:
    with pytest.raises(SchemaChanged, match=r"full-refresh --yes`, or put the type back$"):
        check_columns(spec(ID), Difference(retyped=(Retyped("qty", "string", "bigint"),)), overwrites=False)


def test_discard_offers_the_full_refresh_first_as_well() -> None:
    discarding = replace(spec(ID), discards=True)
    with pytest.raises(
        SchemaChanged,
        match=r"put the type back, or set `schema_changes: evolve` and read everything again .*, or set `widen`, if all",
    ):
        check_columns(discarding, Difference(retyped=(Retyped("qty", "int", "bigint"),)), overwrites=False)
