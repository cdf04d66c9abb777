"""A process with a Hive metastore, which no other session of these tests has: `with_metastore.py own|connect|thrift FOLDER` prints what it has seen as JSON.

With `own` and `connect` Derby is embedded in the session; with `thrift` the metastore is Hive's server, whose classes come with Spark.
"""

from __future__ import annotations

import json
import os
import socket
import sqlite3
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from incremental_assets.adapters.registering.spark_catalogue import SparkCatalogue
from incremental_assets.core.config.load import load
from incremental_assets.core.errors import IncrementalAssetsError
from incremental_assets.core.model.registration import Catalogue, Described, Place
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.planning.plan import Request
from incremental_assets.core.syncing.sync_many import sync_many

ORDERS = TableId("shop", "main", "orders")
SOURCES = """\
lake: ./the lake
checkpoints: sqlite:///checkpoints.db
sources:
  shop:
    dialect: sqlite
    database: ./shop.db
    unlisted: ignore
    register: {spark: {database: lake}}
    tables:
    - {table: main.orders, strategy: full_refresh, refresh_every: 0s}
"""


def metastore(folder: Path) -> dict[str, str]:
    return {
        "spark.sql.catalogImplementation": "hive",
        "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={folder}/metastore;create=true",
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
    }


def refused(ask: Callable[[], object]) -> str:
    try:
        ask()
    except IncrementalAssetsError as error:
        return str(error)
    return "nothing was refused"


def own(folder: Path, settings: dict[str, str] | None = None) -> dict[str, Any]:
    """Syncs in a session whose settings somebody gives in Dagster: before the database is there, when it is, and after a column has come."""
    from incremental_assets.resources.runtime import Runtime
    from incremental_assets.resources.spark import SparkResource

    (folder / "sources.yaml").write_text(SOURCES)
    with sqlite3.connect(folder / "shop.db") as source:
        source.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, note TEXT)")
        source.execute("INSERT INTO orders VALUES (1, 'first')")
    runtime = Runtime(load(folder / "sources.yaml"), SparkResource(conf=settings or metastore(folder)))

    def sync(run: str) -> list[str]:
        (report,) = sync_many(runtime.specs("shop").specs, lambda _: Request(run), runtime.ports("shop"), 1)
        return [str(report.status), *report.warnings]

    seen: dict[str, Any] = {"before": sync("one")}
    session = runtime.spark.session()
    session.sql("CREATE SCHEMA lake").collect()
    seen["made"] = sync("two")
    with sqlite3.connect(folder / "shop.db") as source:
        source.execute("ALTER TABLE orders ADD COLUMN qty INTEGER")
        source.execute("INSERT INTO orders VALUES (2, 'second', 7)")
    seen["changed"] = sync("three")
    seen["rows"] = [
        list(row) for row in session.sql("SELECT id, note, qty FROM lake.main_orders ORDER BY id").collect()
    ]
    runtime.close()
    return seen


SITE = """\
<configuration>
<property><name>javax.jdo.option.ConnectionURL</name><value>jdbc:derby:;databaseName={folder}/metastore;create=true</value></property>
<property><name>javax.jdo.option.ConnectionDriverName</name><value>org.apache.derby.jdbc.EmbeddedDriver</value></property>
<property><name>datanucleus.schema.autoCreateAll</name><value>true</value></property>
<property><name>hive.metastore.schema.verification</name><value>false</value></property>
<property><name>hive.metastore.warehouse.dir</name><value>{folder}/warehouse</value></property>
<property><name>hive.async.log.enabled</name><value>false</value></property>
</configuration>
"""
PORT = 9083


def thrift(folder: Path) -> dict[str, Any]:
    """The same syncs, with a metastore that is another process. It listens at every address, so this is for a network of its own."""
    import pyspark

    from incremental_assets.adapters.spark.java import require_java

    (folder / "conf").mkdir()
    (folder / "conf" / "hive-site.xml").write_text(SITE.format(folder=folder))
    classes = f"{folder}/conf:{Path(pyspark.__file__).parent}/jars/*"
    server = "org.apache.hadoop.hive.metastore.HiveMetaStore"
    command = [f"{require_java().home}/bin/java", "-cp", classes, server, "-p", str(PORT)]
    with (folder / "server.log").open("w") as log, subprocess.Popen(command, stdout=log, stderr=log) as running:
        try:
            answering(("127.0.0.1", PORT))
            uri = f"thrift://127.0.0.1:{PORT}"
            return own(folder, {"spark.sql.catalogImplementation": "hive", "spark.hadoop.hive.metastore.uris": uri})
        finally:
            running.kill()


def answering(address: tuple[str, int]) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            socket.create_connection(address).close()
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)
        else:
            return


def connect(folder: Path) -> dict[str, Any]:
    """The statements themselves, through a Connect server that has the metastore."""
    from pyspark.sql import SparkSession

    from incremental_assets.adapters.spark.session import SparkSettings, this_machine

    warnings.simplefilter("ignore")
    here = this_machine(SparkSettings(conf=tuple(metastore(folder).items())))
    os.environ.update(here.environment)
    settings = {name: value for name, value in here.conf.items() if name != "spark.authenticate"}
    session = SparkSession.builder.remote("local[2]").config(map=settings).getOrCreate()
    session.sql("CREATE SCHEMA lake").collect()
    copy, other = f"{folder}/the lake/orders", f"{folder}/the lake/others"
    for path in (copy, other):
        session.sql(
            f"CREATE TABLE delta.`{path}` (id BIGINT COMMENT 'its number') USING delta COMMENT 'ordered'"
        ).collect()
    catalogue, place = SparkCatalogue(lambda: session), Place(Catalogue.SPARK, "lake", "orders")

    def put(path: str, **at: str) -> None:
        catalogue.put(replace(place, **at), ORDERS, Described(path, ()))

    put(copy)
    put(copy)
    versions = len([*Path(copy, "_delta_log").glob("*.json")])
    session.sql(f"INSERT INTO delta.`{copy}` VALUES (1)").collect()
    session.sql("CREATE TABLE lake.files (a INT) USING parquet").collect()
    catalogue.check(place)
    seen = {
        "columns": [list(row)[:3] for row in session.sql("DESCRIBE lake.orders").collect()],
        "rows": [list(row) for row in session.sql("SELECT * FROM lake.orders").collect()],
        "versions": versions,
        "elsewhere": refused(lambda: put(other)),
        "no_delta": refused(lambda: put(copy, table="files")),
        "no_database": refused(lambda: put(copy, database="nowhere")),
        "no_catalogue": refused(lambda: put(copy, database="main.lake")),
        "unchecked": refused(lambda: catalogue.check(replace(place, database="nowhere"))),
    }
    seen["still"] = [list(row) for row in session.sql("SELECT * FROM lake.orders").collect()]
    session.stop()
    return seen


if __name__ == "__main__":
    how, where = sys.argv[1:]
    print(json.dumps({"own": own, "connect": connect, "thrift": thrift}[how](Path(where))))  # noqa: T201 - to whoever has started it
