"""What the JDBC reader gives, as the columns that were agreed: one select states the whole schema."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from incremental_assets.adapters.databases.dialect import Transport
from incremental_assets.adapters.spark.staged import FLAGS


def arrived(read: DataFrame, transports: Iterable[Transport]) -> DataFrame:
    """Empty metadata: Spark keeps a char's length there, which must not reach a Delta schema."""
    columns = [sf.expr(travelled.spark).alias(travelled.name, metadata={}) for travelled in transports]
    return read.select(*columns, *(sf.col(name).alias(name, metadata={}) for name in FLAGS))
