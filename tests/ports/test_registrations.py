"""How tables were made known to data catalogues is kept in the checkpoint database, one row for each table and kind of catalogue."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from incremental_assets.adapters.checkpoints.store import SqlCheckpoints
from incremental_assets.core.model.registration import Catalogue, Registered
from tests.ports.stories import DOTTED, ORDERS


def test_the_last_registration_of_each_table_in_each_catalogue_is_known_with_its_time(
    checkpoints: SqlCheckpoints,
) -> None:
    assert checkpoints.registrations() == {}
    in_glue = Registered(ORDERS, Catalogue.GLUE, "AWS Glue as lake.orders", problem="it's silent")
    in_spark = Registered(ORDERS, Catalogue.SPARK, "Spark's catalogue as lake.orders", "of its columns")
    other = Registered(DOTTED, Catalogue.GLUE, "AWS Glue as lake.dotted", "of its columns")
    for each in (in_glue, in_spark, other):
        checkpoints.record_registration(each)
    found = checkpoints.registrations()
    assert {key: replace(each, at=None) for key, each in found.items()} == {
        (ORDERS, Catalogue.GLUE): in_glue,
        (ORDERS, Catalogue.SPARK): in_spark,
        (DOTTED, Catalogue.GLUE): other,
    }
    right = replace(in_glue, problem="", fingerprint="now")
    checkpoints.record_registration(right)
    now = checkpoints.registrations()[ORDERS, Catalogue.GLUE]
    assert (now.fingerprint, now.problem) == ("now", "")
    assert now.at is not None
    assert abs(now.at - datetime.now(UTC)) < timedelta(hours=1)
