"""The files that a look has found, some thousands at a time, in columns: a million of them are then little to hold and quick to compare."""

from __future__ import annotations

import pyarrow as pa

from incremental_assets.adapters.files.ledger import PATH, SIZE, TAG

TOUCHED, MARKED = "touched", "marked"
SCHEMA = pa.schema([(PATH, pa.string()), (SIZE, pa.int64()), (TAG, pa.string()), (TOUCHED, pa.int64())])
"""With when anything of it was, in nanoseconds."""
FOUND = SCHEMA.append(pa.field(MARKED, pa.bool_()))
"""With whether another file says that it is complete, where one has to."""
AT_ONCE = 10_000
