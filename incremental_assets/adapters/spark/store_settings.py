"""How Spark reads what is in the lake's bucket, where something of it is left to Spark: by Hadoop's connector for S3, as this process reaches the bucket."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from incremental_assets.adapters.lake_store.opened import options_of
from incremental_assets.adapters.spark.session import is_remote

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NAMES = {
    "aws_endpoint": "endpoint",
    "aws_region": "endpoint.region",
    "aws_access_key_id": "access.key",
    "aws_secret_access_key": "secret.key",
    "aws_session_token": "session.token",
}


def let_spark_reach(session: SparkSession, lake: str) -> None:
    """Set it in the session's JVM, once that has begun: given with its start, secrets would be in the list of processes. A server elsewhere has its own."""
    options = options_of(lake)
    if not options or is_remote(session):
        return
    context: Any = session.sparkContext
    hadoop = context._jsc.hadoopConfiguration()
    for name, value in settings_of_bucket(lake, options).items():
        hadoop.set(name, value)


def settings_of_bucket(lake: str, options: Mapping[str, str]) -> dict[str, str]:
    """Hadoop's settings of that bucket alone. Pure."""
    of_bucket = f"fs.s3a.bucket.{lake.partition('://')[2].partition('/')[0]}"
    found = {f"{of_bucket}.{_NAMES[name]}": value for name, value in options.items() if name in _NAMES}
    # Another store than AWS's own has seldom a name for each bucket.
    return found | ({f"{of_bucket}.path.style.access": "true"} if "aws_endpoint" in options else {})
