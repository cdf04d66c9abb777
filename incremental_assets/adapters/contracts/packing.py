"""A table's contract as the value that tasks are given."""

from __future__ import annotations

import pickle
from functools import lru_cache
from threading import Lock

from pyspark import cloudpickle

from incremental_assets.adapters.contracts.fits import misfits
from incremental_assets.adapters.contracts.judge import Judge
from incremental_assets.adapters.contracts.schemas import mistake, module_of, schema_of
from incremental_assets.core.errors import ContractBroken
from incremental_assets.core.model.contract import Contract
from incremental_assets.core.model.table import TableSpec


def judge_of(spec: TableSpec) -> Judge | None:
    """The judge of a table; None without a contract. Raises ConfigurationError for a mistake in the contract, ContractBroken where the table's columns are not those that it names."""
    contract = spec.contract
    if contract is None:
        return None
    if found := "; ".join(misfits(schema_of(contract), spec.source_columns)):
        raise ContractBroken(
            f"{spec.id}: the table is not what its contract says: {found}; nothing landed: fix the source, or the contract ({contract.file}:{contract.line})"
        )
    return Judge(str(spec.id), _packed(contract), tuple(column.name for column in spec.source_columns))


_packing = Lock()
"""A package is registered for one at a time: another thread that packs a contract of it would take it out again."""


@lru_cache(maxsize=256)
def _packed(contract: Contract) -> bytes:
    """The contract pickled with the user's own code in it: a worker need not have it, and one that is used again has no older one. Raises ConfigurationError."""
    schema, module = schema_of(contract), module_of(contract)
    with _packing:
        if module is not None:
            cloudpickle.register_pickle_by_value(module)
        try:
            return bytes(cloudpickle.dumps(schema))
        except (pickle.PicklingError, TypeError, AttributeError) as error:
            raise mistake(contract, f"its checks use what cannot be carried to Spark's tasks ({error})") from None
        finally:
            if module is not None:
                cloudpickle.unregister_pickle_by_value(module)
