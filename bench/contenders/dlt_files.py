"""dlt: Parquet files of a folder into a Delta table, as its page on the `filesystem` source describes it.

usage: dlt_files.py FOLDER LAKE TABLE

New files are known by `modification_date`, which that page gives for it, and their rows are appended, as ours are. `use_pyarrow` keeps batches in Arrow, where the default makes a
dictionary of each row. A larger `files_per_page` and larger buffers were tried, and took as long.
"""

import json
import sys
import time

import dlt
from dlt.destinations import filesystem as lake_of
from dlt.sources.filesystem import filesystem, read_parquet

folder, lake, table = sys.argv[1:]
files = filesystem(bucket_url=folder, file_glob="*.parquet", incremental=dlt.sources.incremental("modification_date"))
rows = (files | read_parquet(use_pyarrow=True)).with_name(table)
rows.apply_hints(write_disposition="append", table_format="delta")

pipeline = dlt.pipeline("bench", pipelines_dir=f"{lake}.dlt", destination=lake_of(lake), dataset_name="shop")
begun = time.perf_counter()
pipeline.run(rows)
print(json.dumps({"seconds": time.perf_counter() - begun}))
