"""What a lake refuses, in one sentence."""

from __future__ import annotations

import pytest

from incremental_assets.adapters.delta.errors import explain, explained
from incremental_assets.core.errors import LakeRefused, LeaseLost
from incremental_assets.core.model.table_id import TableId

ORDERS = TableId("shop", "public", "orders")
BATCH = "/lake/_staging/shop/public/orders/5e1f"
FULL = """An error occurred while calling o1.save.
: org.apache.spark.SparkException: [TASK_WRITE_FAILED] Task failed while writing rows to file:/lake/shop/public/orders.
\tat org.apache.spark.sql.errors.QueryExecutionErrors$.taskFailedWhileWritingRowsError(QueryExecutionErrors.scala:843)
Caused by: java.io.IOException: No space left on device
"""


def test_a_full_disk_is_told_with_its_place_and_its_cure() -> None:
    with pytest.raises(LakeRefused) as told, explained(ORDERS, "/lake"):
        raise RuntimeError(FULL)
    assert str(told.value) == (
        "shop.public.orders: the lake at /lake could not be written: its disk is full; make room there; "
        "the next sync goes on from what has landed"
    )


@pytest.mark.parametrize(
    "words",
    [
        "Permission denied",
        "[Errno 20] Not a directory: '/lake/_staging'",
        "Read-only file system",
        "Status Code: 403, AccessDenied",
    ],
)
def test_what_may_not_be_written_is_told(words: str) -> None:
    assert isinstance(explain(f"java.io.IOException: {words}", ORDERS, "/lake", BATCH), LakeRefused)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            '[DELTA_UNSUPPORTED_FEATURES_FOR_WRITE] It requires features that are unsupported by Delta Lake "4.4.0": fooWriter, barWriter.',
            "DELTA_UNSUPPORTED_FEATURES_FOR_WRITE: fooWriter, barWriter",
        ),
        ("[DELTA_METADATA_MISMATCH] A metadata mismatch was detected when writing", "DELTA_METADATA_MISMATCH"),
    ],
)
def test_a_copy_that_delta_takes_no_more_is_told_with_its_condition_and_a_cure(words: str, told: str) -> None:
    assert str(explain(f"(org.apache.spark.sql.delta.DeltaException) {words}", ORDERS, "/lake", "")) == (
        f"shop.public.orders: Delta refuses the copy at /lake/shop/public/orders ({told}), as another writer has altered its features, properties or "
        "columns; undo that, or move /lake/shop/public/orders away and read everything again with "
        "`incremental-assets sync --select shop.public.orders --full-refresh --yes`"
    )


def test_a_spark_without_a_connector_for_the_store_is_told() -> None:
    words = "java.lang.RuntimeException: java.lang.ClassNotFoundException: Class org.apache.hadoop.fs.s3a.S3AFileSystem not found"
    assert str(explain(words, ORDERS, "s3a://bucket/lake", "")) == (
        "shop.public.orders: only Spark reads what is asked for here, and it has no connector for the lake at s3a://bucket/lake; "
        "put `hadoop-aws` for Hadoop 3.5 on its class path"
    )


@pytest.mark.parametrize("made", ["/proc/none", "/proc/none/lake", "/proc/none/lake/_staging"])
def test_a_place_that_takes_no_folders_is_told(made: str) -> None:
    words = f"[Errno 2] No such file or directory: '{made}'"
    assert str(explain(words, ORDERS, "/proc/none/lake", "")) == (
        "shop.public.orders: there can be no lake at /proc/none/lake, as no folder can be made there; choose another folder"
    )
    refused = explain("[Errno 1] Operation not permitted: '/sys/lake'", ORDERS, "/sys/lake", "")
    assert "its file system takes no folders" in str(refused)


def test_a_batch_that_is_gone_was_taken_by_the_run_that_took_over() -> None:
    gone = f"[PATH_NOT_FOUND] Path does not exist: file:{BATCH}. SQLSTATE: 42K03"
    assert isinstance(explain(gone, ORDERS, "/lake", BATCH), LeaseLost)
    assert explain(gone, ORDERS, "/lake", "/lake/_staging/shop/public/orders/another") is None


@pytest.mark.parametrize(
    "words",
    [
        "[Errno 2] Failed to open local file '{}/part-0.parquet'. Detail: [errno 2] No such file or directory",
        "[Errno 2] No such file or directory: '{}/part-0.parquet'",
    ],
)
def test_a_file_of_a_batch_that_is_gone_does_not_blame_the_place_of_the_lake(words: str) -> None:
    assert isinstance(explain(words.format(BATCH), ORDERS, "/lake", BATCH), LeaseLost)


@pytest.mark.parametrize(
    "words",
    [
        "[FAILED_READ_FILE.FILE_NOT_EXIST] Encountered error while reading file file:{}/part-0.parquet. File does not exist.",
        "FileNotFoundError: [Errno 2] Failed to open local file '{}/part-0.parquet'. Detail: [errno 2] No such file or directory",
    ],
)
def test_a_file_that_somebody_has_removed_is_told_with_what_brings_its_rows_back(words: str) -> None:
    def told(folder: str) -> str:
        found = explain(words.format(folder.replace(" ", "%20")), ORDERS, "/the lake", BATCH)
        return f"{type(found).__name__} {found}"

    assert told("/the lake/shop/public/orders") == (
        "TargetChanged shop.public.orders: a file of the copy at /the lake/shop/public/orders is missing, and its rows with it; "
        "restore it, or read everything again with `incremental-assets sync --select shop.public.orders --full-refresh --yes`"
    )
    assert told("/the lake/shop/public/orders__history") == (
        "TargetChanged shop.public.orders: a file of the history at /the lake/shop/public/orders__history is missing, and its versions with it; "
        "restore it, or move the history away: a new one begins with the copy as it is"
    )
    assert told("/the lake/shop/public/customers") == "NoneType None"


def test_a_full_disk_of_the_source_is_not_the_lakes() -> None:
    words = "Caused by: org.postgresql.util.PSQLException: ERROR: could not write block 7: No space left on device"
    assert explain(words, ORDERS, "/lake", BATCH) is None


@pytest.mark.parametrize(
    ("refusal", "cure"),
    [
        ("[DELTA_CANNOT_MODIFY_APPEND_ONLY] This table is configured to only allow appends.", "`delta.appendOnly`"),
        (
            "[DELTA_VIOLATE_CONSTRAINT_WITH_VALUES] CHECK constraint small violated by row with values: secret",
            "contract",
        ),
        ("[DELTA_REPLACE_ON_OR_USING_TABLE_CONSTRAINT_VIOLATION] Written data violates a constraint", "contract"),
    ],
)
def test_what_another_writer_has_forbidden_is_told_without_a_value(refusal: str, cure: str) -> None:
    told = str(explain(f"pyspark.errors.AnalysisException: {refusal}", ORDERS, "/lake", BATCH))
    assert told.startswith(
        "shop.public.orders: nothing was written to the copy at /lake/shop/public/orders, as another"
    )
    assert cure in told
    assert "secret" not in told


def test_an_error_that_nobody_knows_stays_what_it_is() -> None:
    with pytest.raises(ZeroDivisionError), explained(ORDERS, "/lake"):
        raise ZeroDivisionError
