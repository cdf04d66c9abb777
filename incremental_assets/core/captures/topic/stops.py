"""What stops a table that is read from a topic: offsets that mean something else than when they were read, or are gone. Pure."""

from __future__ import annotations

from incremental_assets.core.captures.topic.observation import TopicSeen
from incremental_assets.core.captures.topic.position import TopicPosition
from incremental_assets.core.errors import SourceExchanged, SourceRefused
from incremental_assets.core.model.cures import full_refresh
from incremental_assets.core.model.table import TableSpec


def check_readable(spec: TableSpec, seen: TopicSeen) -> None:
    """Raises SourceRefused for a topic that is not there."""
    if not seen.partitions:
        raise SourceRefused(
            f"{spec.id}: the cluster has no topic {seen.topic!r} that this user may read; create it, grant Describe and Read on it, or correct `topic`"
        )


def check_same(spec: TableSpec, at: TopicPosition, seen: TopicSeen) -> None:
    """Raises SourceExchanged where it is not the topic that was read, or no longer has what comes next; after a reset as well, as the copy has what came before."""
    read = at.next or at.reached
    anew = f"load the table again with {full_refresh(spec)}"
    if at.cluster and seen.cluster and at.cluster != seen.cluster:
        raise SourceExchanged(
            f"{spec.id}: another cluster answers than the one that was read ({seen.cluster}, before {at.cluster}), whose offsets mean other records; correct `bootstrap_servers`, or {anew}"
        )
    if at.topic and seen.id and at.topic != seen.id:
        raise SourceExchanged(
            f"{spec.id}: the topic {seen.topic!r} was made anew since it was read ({seen.id}, before {at.topic}), and its offsets mean other records; {anew}"
        )
    if len(seen.partitions) < len(read):
        raise SourceExchanged(
            f"{spec.id}: the topic {seen.topic!r} has {len(seen.partitions)} partitions where {len(read)} were read, as one that was made anew; {anew}"
        )
    # Before anything was read, what the topic no longer has is not missed.
    begins = (*read, *(0 for _ in seen.partitions[len(read) :])) if read else [each.low for each in seen.partitions]
    for number, (begin, ends) in enumerate(zip(begins, seen.partitions, strict=True)):
        if ends.high < begin:
            raise SourceExchanged(
                f"{spec.id}: partition {number} of {seen.topic!r} ends at offset {ends.high}, before {begin} that was read to, as after records were lost with their broker; {anew}"
            )
        if begin < ends.low:
            raise SourceExchanged(
                f"{spec.id}: partition {number} of {seen.topic!r} begins at offset {ends.low}, and {begin} comes next: retention has removed records that were never read; "
                f"have the topic emptied and filled again (`kafka-delete-records`, then a snapshot of its connector), keep its records for longer, and {anew}"
            )
