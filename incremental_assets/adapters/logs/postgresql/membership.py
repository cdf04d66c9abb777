"""What became of the publication between two looks: no event of the log tells that a table was not in it for a while, and its changes are lost then."""

from __future__ import annotations

from incremental_assets.adapters.logs.postgresql.look import Publication
from incremental_assets.adapters.logs.segments.manifest import Membership
from incremental_assets.core.model.cures import LOAD_AGAIN

_AGAIN = f"so that its changes of that time are in no log; load it again with {LOAD_AGAIN}"


def membership_of(found: Publication) -> Membership:
    """As a look has found it."""
    return Membership(found.joined, {member.oid: member.joined for member in found.members})


def gaps(before: Membership | None, now: Membership) -> dict[int, str]:
    """Of tables by their number, why changes of them may be missing between two looks. A table that came meanwhile is none: it is loaded from then on."""
    if before is None:
        return {}
    if before.publication != now.publication:
        why = f"the publication was altered or made again between two looks, {_AGAIN}"
        return dict.fromkeys(before.tables, why)
    found = {}
    for oid, joined in before.tables.items():
        if oid not in now.tables:
            found[oid] = f"it was removed from the publication, {_AGAIN}"
        elif now.tables[oid] != joined:
            found[oid] = (
                f"it was removed from the publication for a while, or may have been, as a partition or in another schema, {_AGAIN}"
            )
    return found
