"""A table that keeps every change has columns for it, which no other table has and no database is asked for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from incremental_assets.core.config.resolve import resolve
from incremental_assets.core.config.settings import LOG, TableConfig
from incremental_assets.core.errors import NameRefused, SourceRefused
from incremental_assets.core.landing.overlap import Overlap, overlap
from incremental_assets.core.model.batch import Batch
from incremental_assets.core.model.change_columns import as_in_source, version_columns
from incremental_assets.core.model.column import Column, Fidelity
from incremental_assets.core.model.history import History
from incremental_assets.core.model.table import Strategy, TableSpec
from incremental_assets.core.model.table_shape import TableShape
from tests.core.test_log_capture import SHAPE, loaded, to_read

OWN = ("_op", "_commit_lsn", "_change_number", "_commit_at")


def resolved(shape: TableShape = SHAPE, strategy: Strategy = Strategy.APPEND) -> TableSpec:
    return resolve(TableConfig("public", "orders", strategy, capture=LOG), shape)


def test_its_columns_come_behind_those_of_the_source() -> None:
    spec = resolved()
    assert spec.shape.names == ("id", "note", *OWN)
    assert [column.name for column in spec.source_columns] == ["id", "note"]
    assert as_in_source(spec).shape == SHAPE


def test_a_copy_with_one_row_per_key_has_none_of_them() -> None:
    assert resolved(strategy=Strategy.UPSERT).shape == SHAPE


@pytest.mark.parametrize("name", ["_op", "_OP", "_commit_at"])
def test_a_source_that_has_such_a_column_is_refused_by_name(name: str) -> None:
    column = Column(name, "text", "string", Fidelity.EXACT)
    with pytest.raises(NameRefused, match=f"the column '{name}' has the name of one"):
        resolved(replace(SHAPE, columns=(*SHAPE.columns, column)))


def test_a_history_tells_places_in_the_log_where_nothing_else_tells_its_order() -> None:
    assert [column for column in version_columns(History.APPEND, LOG) if column in OWN] == list(OWN[1:])
    for kind, capture in ((History.SCD2, LOG), (History.APPEND, ""), (History.NONE, LOG)):
        assert not set(version_columns(kind, capture)) & set(OWN)
    column = Column("_Commit_LSN", "bigint", "bigint", Fidelity.EXACT)
    config = TableConfig("public", "orders", Strategy.UPSERT, capture=LOG, history=History.APPEND)
    with pytest.raises(NameRefused, match="'_Commit_LSN' has the name of one that `history: append` adds"):
        resolve(config, replace(SHAPE, columns=(*SHAPE.columns, column)))
    resolve(replace(config, history=History.SCD2), replace(SHAPE, columns=(*SHAPE.columns, column)))


def test_a_table_without_a_key_keeps_its_changes_and_no_row_of_each_key() -> None:
    shape = replace(SHAPE, primary_key=(), unique_keys=())
    assert resolved(shape).key == ()
    with pytest.raises(Exception, match="key"):
        resolved(shape, Strategy.UPSERT)


def test_a_key_that_only_the_configuration_declares_is_none_of_a_log() -> None:
    config = TableConfig("public", "orders", Strategy.APPEND, capture=LOG, primary_key=("note",))
    with pytest.raises(SourceRefused, match="the source enforces none on \\(note\\)"):
        resolve(config, SHAPE)


def test_changes_are_not_looked_for_among_those_of_the_copy() -> None:
    spec, batch = resolved(), Batch("batch", 3, "digest", None)
    assert overlap(to_read(loaded(spec=spec), spec=spec), batch, landed=True) is None
    upsert = to_read(loaded())
    assert overlap(upsert, batch, landed=True) == Overlap(None)
