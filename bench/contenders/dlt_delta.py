"""dlt: tables of PostgreSQL into Delta tables, as its pages on `sql_database` and on the Delta format describe it.

usage: dlt_delta.py BACKEND LAKE SCHEMA TABLE…   with SOURCE_URL in the environment

The first load is the first run of the same incremental pipeline; `replace` was tried for it and cost the same, as did reading in a stream
(`return_type: arrow_stream`) and an open range of the cursor. Types are reflected with their precision, so that numbers stay exact.
"""

import json
import os
import sys
import time

import dlt
from dlt.destinations import filesystem
from dlt.sources.sql_database import sql_database

backend, lake, schema, *tables = sys.argv[1:]
source = sql_database(
    os.environ["SOURCE_URL"],
    schema=schema,
    table_names=tables,
    backend=backend,
    chunk_size=100_000,
    reflection_level="full_with_precision",
)
for table in source.resources.values():
    columns = table.compute_table_schema()["columns"]
    if "updated_at" in columns:
        table.apply_hints(
            incremental=dlt.sources.incremental("updated_at"),
            write_disposition={"disposition": "merge", "strategy": "upsert"},
        )
    else:
        table.apply_hints(write_disposition="replace")

pipeline = dlt.pipeline("bench", pipelines_dir=f"{lake}.dlt", destination=filesystem(lake), dataset_name=schema)
begun = time.perf_counter()
pipeline.run(source, table_format="delta")
print(json.dumps({"seconds": time.perf_counter() - begun}))
