"""The jars by which plain Spark reads a topic of Kafka: its own package, by its own resolver, once, and nothing that it has already."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from bench.measuring import Failed, last_words

PACKAGE = "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0"
JARS: Mapping[str, str] = {
    "org.apache.commons_commons-pool2-2.13.1.jar": "f77a5060d6936a9144023584232f9de3f2248f1abfe156e9d31795f18770674f",
    "org.apache.kafka_kafka-clients-3.9.2.jar": "014b4ef36884478a932641818b080c36a8f8e2e92dc771e800c9d2694f4f83d8",
    "org.apache.spark_spark-sql-kafka-0-10_2.13-4.2.0.jar": "64539c45e5d39f7ddb747312c239f38f5208d08c1a0ddf7d70beb2fbd9373705",
    "org.apache.spark_spark-token-provider-kafka-0-10_2.13-4.2.0.jar": "641c7947afc8aa1189e433b7c2d305293993c8691bc1c2062d6d4f513b12518c",
}
"""What they must be, by SHA-256."""
_BROUGHT_BY_SPARK = "org.apache.hadoop:*,org.scala-lang:*,org.scala-lang.modules:*,org.slf4j:*,org.xerial.snappy:*,at.yawk.lz4:*,com.google.code.findbugs:*"


def kafka_jars(folder: Path) -> tuple[Path, ...]:
    """Their paths. Raises Failed where they are not to be had."""
    found = tuple(folder / "jars" / name for name in JARS)
    if not all(path.exists() for path in found):
        _resolve(folder)
    for path in found:
        if not path.exists() or hashlib.sha256(path.read_bytes()).hexdigest() != JARS[path.name]:
            raise Failed(f"{PACKAGE} has not brought the {path.name} that is expected")
    return found


def _resolve(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "empty.py"
    program.touch()
    spark = find_spec("pyspark")
    assert spark is not None
    assert spark.origin is not None
    done = subprocess.run(
        [
            Path(spark.origin).parent / "bin" / "spark-submit", "--packages", PACKAGE, "--exclude-packages", _BROUGHT_BY_SPARK,
            "--conf", f"spark.jars.ivy={folder}", program,
        ],
        env={name: value for name, value in os.environ.items() if name not in ("SPARK_HOME", "SPARK_CONF_DIR")},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise Failed(f"{PACKAGE} is not to be had ({last_words('', done.stderr, done.returncode)})")
