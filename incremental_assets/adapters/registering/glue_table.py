"""A Delta table as AWS Glue describes it: for Athena, Trino, Redshift and Spark, which take where it lies from here, and all else from its log. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from incremental_assets.core.model.registration import Described, DescribedColumn, Place
from incremental_assets.core.model.table_id import TableId

MARK = "incremental_assets.table"
"""The parameter that says whose copy a table is: what lacks it was made by somebody else."""
_LONGEST_COMMENT, _LONGEST_DESCRIPTION = 255, 2048
_DELTA = {
    "EXTERNAL": "TRUE",
    "classification": "delta",
    # By these Athena, Redshift and crawlers, and Spark and Trino, know a Delta table.
    "table_type": "delta",
    "spark.sql.sources.provider": "delta",
}
_KEPT = ("Owner", "Retention", "PartitionKeys", "ViewOriginalText", "ViewExpandedText", "TargetTable")
"""What a table in Glue has besides, which an update would remove that does not repeat it."""


def location_of(path: str) -> str:
    """The address as AWS writes it; `s3a` is Hadoop's."""
    return f"s3://{path.removeprefix('s3a://')}" if path.startswith("s3a://") else path


def table_input(place: Place, table: TableId, found: Described) -> dict[str, Any]:
    """What `CreateTable` is given."""
    location = location_of(found.location)
    made: dict[str, Any] = {
        "Name": place.table,
        "TableType": "EXTERNAL_TABLE",
        "Parameters": {**_DELTA, MARK: str(table)},
        "StorageDescriptor": {
            "Location": location,
            "Columns": [_column(each) for each in found.columns],
            # As Spark has it for a table whose files nobody reads but by Delta's log.
            "InputFormat": "org.apache.hadoop.mapred.SequenceFileInputFormat",
            "OutputFormat": "org.apache.hadoop.hive.ql.io.HiveSequenceFileOutputFormat",
            "SerdeInfo": {
                "SerializationLibrary": "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe",
                # Where Trino and Spark look for the table.
                "Parameters": {"path": location, "serialization.format": "1"},
            },
        },
    }
    if found.comment:
        made["Description"] = found.comment[:_LONGEST_DESCRIPTION]
    return made


def with_ours(there: Mapping[str, Any], ours: Mapping[str, Any]) -> dict[str, Any] | None:
    """The table that is there with what this program says of it; None where it says that already. What others have added to it stays."""
    described = there.get("StorageDescriptor") or {}
    said = {each["Name"]: each["Comment"] for each in described.get("Columns") or () if each.get("Comment")}
    columns = [
        {**each, "Comment": each.get("Comment") or said[each["Name"]]}
        if each.get("Comment") or each["Name"] in said
        else each
        for each in ours["StorageDescriptor"]["Columns"]
    ]
    wanted = {name: there[name] for name in _KEPT if there.get(name) is not None}
    wanted |= dict(ours)
    wanted["Parameters"] = {**(there.get("Parameters") or {}), **ours["Parameters"]}
    wanted["StorageDescriptor"] = {**described, **ours["StorageDescriptor"], "Columns": columns}
    if there.get("Description") and "Description" not in ours:
        wanted["Description"] = there["Description"]
    now = {name: there.get(name) for name in wanted}
    return None if _plain(now) == _plain(wanted) else wanted


def _plain(described: Mapping[str, Any]) -> dict[str, Any]:
    """Without what is empty, which some answers have and some leave out."""
    return {
        name: _plain(value) if isinstance(value, Mapping) else value
        for name, value in described.items()
        if value not in (None, "", [], {})
    }


def _column(column: DescribedColumn) -> dict[str, str]:
    """Glue's names are in small letters, and its comments are one line."""
    comment = " ".join(column.comment.split())[:_LONGEST_COMMENT]
    return {"Name": column.name.lower(), "Type": column.type} | ({"Comment": comment} if comment else {})
