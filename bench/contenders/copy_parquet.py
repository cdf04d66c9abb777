"""The floor below whoever writes files: PostgreSQL's COPY, and DuckDB that makes Parquet of it as it comes.

usage: copy_parquet.py TABLE FILE   with SOURCE_URL, and COLUMNS (JSON: DuckDB's type of each) in the environment
"""

import json
import os
import sys
import threading
import time

import duckdb
import psycopg

table, file = sys.argv[1:]
columns = json.loads(os.environ["COLUMNS"])
begun = time.perf_counter()
reading, writing = os.pipe()


def send() -> None:
    with psycopg.connect(os.environ["SOURCE_URL"]) as connection, os.fdopen(writing, "wb") as pipe:
        with connection.cursor().copy(f"COPY (SELECT * FROM {table}) TO STDOUT (FORMAT csv)") as copy:
            pipe.writelines(copy)


sender = threading.Thread(target=send)
sender.start()
duckdb.sql(f"""
    COPY (SELECT * FROM read_csv('/dev/fd/{reading}', header = false, auto_detect = false, columns = {columns}))
    TO '{file}' (FORMAT parquet)
""")
sender.join()
print(json.dumps({"seconds": time.perf_counter() - begun}))
