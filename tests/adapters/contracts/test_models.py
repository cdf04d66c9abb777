"""Contracts in the user's own code: which models are taken, and what every mistake in one says."""

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from threading import Barrier, BrokenBarrierError
from typing import Any

import pyarrow as pa
import pytest
from pyspark import cloudpickle

from incremental_assets.adapters.contracts.judge import breaches, reasons
from incremental_assets.adapters.contracts.packing import judge_of
from incremental_assets.core.config.resolve import Resolved
from incremental_assets.core.errors import ConfigurationError, ContractBroken
from incremental_assets.core.model.column import Column, Fidelity
from incremental_assets.core.model.contract import Contract
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.table_shape import TableShape
from incremental_assets.core.strategies import Strategy
from incremental_assets.resources.contracts import with_sound_contracts

HEAD = "import pandera.pandas as pa\n"


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Path]:
    """A folder with a configuration, whose modules are forgotten at the end."""
    before, path = set(sys.modules), list(sys.path)
    (tmp_path / "contracts").mkdir()
    (tmp_path / "contracts" / "__init__.py").touch()
    yield tmp_path
    sys.path[:] = path
    for name in set(sys.modules) - before:
        if name.partition(".")[0] in ("contracts", "shop_rules"):
            del sys.modules[name]


def spec(project: Path, model: str = "contracts.shop:Orders", **types: str) -> TableSpec:
    kinds = types or {"id": "bigint", "email": "string"}
    columns = tuple(Column(name, kind, kind, Fidelity.EXACT) for name, kind in kinds.items())
    shape = TableShape(TableId("shop", "public", "orders"), columns)
    return TableSpec(
        shape, Strategy.FULL_REFRESH, contract=Contract(model, file=str(project / "sources.yaml"), line=11)
    )


def write(project: Path, text: str) -> Path:
    file = project / "contracts" / "shop.py"
    file.write_text(text, encoding="utf-8")
    return file


def mistake(of: TableSpec) -> str:
    with pytest.raises(ConfigurationError) as caught:
        judge_of(of)
    (problem,) = caught.value.problems
    assert problem.line == 11
    return str(problem)


def test_a_model_is_found_beside_the_configuration_and_played_with_its_own_code(project: Path) -> None:
    (project / "contracts" / "words.py").write_text("BAD = 'odd'\n", encoding="utf-8")
    write(
        project,
        HEAD
        + "from contracts.words import BAD\n"
        + "class Orders(pa.DataFrameModel):\n"
        + "    id: int = pa.Field(ge=0)\n"
        + "    email: str = pa.Field(nullable=True)\n"
        + "    @pa.check('email')\n"
        + "    def is_not_odd(cls, values):\n"
        + "        return values != BAD\n",
    )
    judge = judge_of(spec(project))
    assert judge is not None
    # A worker has none of it.
    for name in [name for name in sys.modules if name.startswith("contracts")]:
        del sys.modules[name]
    sys.path[:] = [each for each in sys.path if each != str(project)]
    rows = pa.table({"c0": pa.array([1, -1, None]), "c1": pa.array(["a", "odd", None])})
    assert reasons(breaches(judge, rows), 3)[1].to_pylist() == [
        None,
        "id: ge 0; email: is_not_odd",
        "id: is NULL",
    ]


def test_a_missing_module_names_the_folder_and_the_cure(project: Path) -> None:
    assert mistake(spec(project, "shop_rules:Orders")).endswith(
        f"there is no module 'shop_rules' in {project}, nor among the installed ones: move it there, or install it"
    )


def test_a_missing_class_is_guessed(project: Path) -> None:
    file = write(project, HEAD + "class Order(pa.DataFrameModel):\n    id: int\n")
    assert f"'contracts.shop:Orders': {file} has no 'Orders'; did you mean 'Order'?" in mistake(spec(project))


def test_an_error_in_the_module_is_told_with_its_file_and_line(project: Path) -> None:
    file = write(project, HEAD + "\nclass Orders(pa.DataFrameModel):\n    id: int = pa.Field(ge=LOWEST)\n")
    assert f"{file}:4: NameError: name 'LOWEST' is not defined" in mistake(spec(project))


def test_a_module_that_ends_the_process_is_a_mistake_as_well(project: Path) -> None:
    file = write(project, "import sys\n\nsys.exit('only for scripts')\n")
    assert f"{file}:3: SystemExit: only for scripts" in mistake(spec(project))


def test_a_class_that_ends_the_process_is_a_mistake_as_well(project: Path) -> None:
    body = "class Orders(pa.DataFrameModel):\n    id: int\n\n    @classmethod\n    def to_schema(cls):\n        raise SystemExit('no')\n"
    file = write(project, HEAD + body)
    assert f"{file}:2: SystemExit: no" in mistake(spec(project))


def test_what_python_cannot_read_is_told_with_its_file_and_line(project: Path) -> None:
    file = write(project, HEAD + "class Orders(pa.DataFrameModel)\n    id: int\n")
    assert f"{file}:2: SyntaxError: expected ':'" in mistake(spec(project))


def test_a_missing_library_is_told_where_it_is_imported(project: Path) -> None:
    file = write(project, "\nimport no_such_library\n")
    assert f"{file}:2: No module named 'no_such_library'; install it" in mistake(spec(project))


def test_a_check_of_a_column_that_the_model_lacks_is_a_mistake_at_the_class(project: Path) -> None:
    file = write(
        project,
        HEAD
        + "class Orders(pa.DataFrameModel):\n    id: int\n    @pa.check('total')\n    def even(cls, s):\n        return s % 2 == 0\n",
    )
    assert f"{file}:2: SchemaInitError: " in mistake(spec(project))


def test_a_model_of_pyspark_is_refused_with_the_cure(project: Path) -> None:
    file = write(project, "import pandera.pyspark as pa\nclass Orders(pa.DataFrameModel):\n    id: int\n")
    told = mistake(spec(project))
    assert f"{file}:2 is no pandera.pandas.DataFrameModel; only such a model names each row that breaks it" in told


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("    @pa.parser('email')\n    def lower(cls, s):\n        return s.str.lower()\n", "a parser changes them"),
        ("    class Config:\n        strict = 'filter'\n", "`strict: filter` changes them"),
        ("    class Config:\n        drop_invalid_rows = True\n", "`drop_invalid_rows` changes them"),
        ("    class Config:\n        ordered = True\n", "`ordered` says nothing of a row"),
        (
            "    @pa.check('id', groupby='email')\n    def some(cls, g):\n        return True\n",
            "'some' judges groups of rows",
        ),
        ("    @pa.check('id', raise_warning=True)\n    def some(cls, s):\n        return s > 0\n", "'some' only warns"),
        ("    other: str = pa.Field(str_matches='(?=a)b')\n", "no look-around and no back-references"),
    ],
)
def test_what_a_contract_cannot_be_is_refused(project: Path, body: str, why: str) -> None:
    write(project, HEAD + "class Orders(pa.DataFrameModel):\n    id: int\n    email: str\n" + body)
    assert why in mistake(spec(project))


def test_columns_that_are_missing_or_of_another_type_stop_the_table(project: Path) -> None:
    write(project, HEAD + "class Orders(pa.DataFrameModel):\n    id: pa.Int32\n    email: str\n    total: float\n")
    with pytest.raises(ContractBroken) as caught:
        judge_of(spec(project, id="bigint", email="int"))
    assert (
        "the column 'id' is bigint, and not int32; the column 'email' is int, and not str; the column 'total' is missing"
        in str(caught.value)
    )


def test_a_strict_model_knows_every_column(project: Path) -> None:
    write(project, HEAD + "class Orders(pa.DataFrameModel):\n    id: int\n    class Config:\n        strict = True\n")
    with pytest.raises(ContractBroken, match="the column 'email' is not in the model, which is strict"):
        judge_of(spec(project))


@pytest.mark.parametrize(
    ("annotation", "kind"),
    [
        ("int", "bigint"),
        ("int", "smallint"),
        ("pa.Int8", "tinyint"),
        ("float", "double"),
        ("float", "float"),
        ("str", "string"),
        ("bool", "boolean"),
        ("pa.Timestamp", "timestamp"),
        ("pa.DateTime", "timestamp_ntz"),
        ("pa.Date", "date"),
        ("pa.Decimal", "decimal(15,2)"),
        ("object", "binary"),
    ],
)
def test_the_types_of_a_model_are_those_of_the_column(project: Path, annotation: str, kind: str) -> None:
    write(project, HEAD + f"class Orders(pa.DataFrameModel):\n    x: {annotation}\n")
    assert judge_of(spec(project, x=kind)) is not None


def test_values_that_may_come_once_are_known_alone_and_together(project: Path) -> None:
    write(
        project,
        HEAD
        + "class Orders(pa.DataFrameModel):\n    id: int\n    email: str = pa.Field(unique=True)\n"
        + "    class Config:\n        unique = ['id', 'email']\n",
    )
    judge = judge_of(spec(project))
    assert judge is not None
    assert judge.unique == (("email",), ("id", "email"))


def test_a_table_with_a_broken_model_is_a_problem_of_its_own(project: Path) -> None:
    write(project, HEAD + "class Orders(pa.DataFrameModel):\n    id: int\n")
    good, broken = spec(project), spec(project, "contracts.shop:Customers")
    other = replace(broken, shape=replace(broken.shape, id=TableId("shop", "public", "customers")))
    found = with_sound_contracts(Resolved((good, other), ()))
    assert found.specs == (good,)
    ((table, error),) = [(problem.table, str(problem.error)) for problem in found.problems]
    assert table.name == "customers"
    assert "sources.yaml:11: 'contracts.shop:Customers'" in error
    assert with_sound_contracts(Resolved((good,), ())) == Resolved((good,), ())


def test_a_module_of_the_current_folder_is_not_imported(
    project: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "shop_rules.py").write_text("raise SystemExit('played')", encoding="utf-8")
    monkeypatch.chdir(elsewhere)
    assert "there is no module 'shop_rules'" in mistake(spec(project, "shop_rules:Orders"))


def test_two_contracts_of_one_package_are_packed_at_the_same_time(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fields = "(pa.DataFrameModel):\n    id: int\n    email: str\n"
    write(project, HEAD + f"class Orders{fields}class Lines{fields}")
    dumps: Any = cloudpickle.dumps
    both = Barrier(2)

    def together(schema: object) -> bytes:
        with suppress(BrokenBarrierError):
            both.wait(1)
        packed: bytes = dumps(schema)
        return packed

    monkeypatch.setattr(cloudpickle, "dumps", together)
    with ThreadPoolExecutor(2) as threads:
        found = list(threads.map(judge_of, [spec(project, f"contracts.shop:{name}") for name in ("Orders", "Lines")]))
    assert [each is not None for each in found] == [True, True]
