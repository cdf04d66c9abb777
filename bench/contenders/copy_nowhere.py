"""The floor below everybody: PostgreSQL writes the table, and nobody keeps it.

usage: copy_nowhere.py TABLE   with SOURCE_URL in the environment
"""

import json
import os
import sys
import time

import psycopg

(table,) = sys.argv[1:]
with psycopg.connect(os.environ["SOURCE_URL"]) as connection:
    begun = time.perf_counter()
    with connection.cursor().copy(f"COPY (SELECT * FROM {table}) TO STDOUT (FORMAT binary)") as copy:
        received = sum(len(part) for part in copy)
print(json.dumps({"seconds": time.perf_counter() - begun, "bytes": received}))
