"""Every name that our code gives to a frame or an extra column: none of them can be a column of a source.

`core.model.schema_drift.check_names` refuses a source's column that begins as they do, whatever its database allows, so that an alias never means
one of the source's columns. A bare `s` did: of `s.id`, Delta takes a column `s` before the frame that is called so.
"""

from __future__ import annotations

from incremental_assets.core.model.schema_drift import OWN_PREFIX


def own(word: str) -> str:
    """The name of ours for a column or a frame, from its word."""
    return f"{OWN_PREFIX}{word}"


# --- frames -------------------------------------------------------------------------------------------

BATCH = own("batch")
"""What is about to land."""
TARGET = own("target")
"""What it is compared with."""

# --- columns that stay --------------------------------------------------------------------------------

RUN_ID = own("run_id")
"""Of a target: which run wrote the row."""
SEQ = own("seq")
"""Of a target: in which sequence."""
AT = own("at")
"""Of a target: when."""
DELETED_AT = own("deleted_at")
"""Of a target whose deletes are marked: when a row was found gone from the source; NULL while it is there."""
REJECT_COLUMN = own("column")
"""Of a read and of the quarantine: the first source column whose value Spark cannot hold, or NULL."""
REJECT_REASON = own("reason")
"""Of a read and of the quarantine: why that row cannot land, or NULL."""
HELD = own("held")
"""Of the quarantine: true where the row breaks its contract, so that the copy keeps what landed of its key before."""
STALE = own("stale")
"""Of the quarantine: whether the copy showed a version of a row that is held, an earlier one or the same, when it was held."""
CONTENT = own("content")
"""Of the quarantine: a hash of all that a row that is held shows, by which it is found again; NULL in others."""
RESOLVED_AT = own("resolved_at")
"""Of the quarantine: since when a row that was held is held no more; NULL while it is."""
RESOLUTION = own("resolution")
"""Of the quarantine: how that came, see `core.model.quarantine.Resolution`."""

# --- columns on the way -------------------------------------------------------------------------------

RAW = own("raw")
"""Of a read: the whole row as a JSON object of texts where it is rejected, else NULL."""
OPERATION = own("op")
"""Of a staged batch, and of a read that knows it: `put`, `gone` or `held`, see `core.model.batch.Operation`."""
BREACH, BREACH_COLUMN = own("breach"), own("breach_column")
"""Of a read whose contract was looked at: what of it the row breaks, and the first column of that; NULL in a row that breaks none of it."""
LATE = own("late")
"""Of a read: true where the cursor lies below the plan's `late_below`."""
READ_FLAGS = (REJECT_COLUMN, REJECT_REASON, RAW, LATE)
"""Of a read, after the source's columns."""
BLOCK = own("ctid")
"""Of a read in parts: where a row lies; only the predicates of the parts name it."""
COPY = own("copy")
"""Numbers equal rows from 1, so that as many are dropped as are present."""
TIMES = own("times")
"""How often a row or a key is there."""
KEY = own("key")
"""Of a row-by-row comparison: the key by which rows are told apart, as text, or the row's hash where there is no key."""
WRITTEN = own("written")
"""Of a row-by-row comparison: the key as it is written, for people, where rows are told apart by a collation key."""
HASH = own("hash")
"""Of a row-by-row comparison: the row's hash."""
ROW = own("row")
"""Of a search for values that differ: the canonical text of the whole row."""
CURSOR = own("cursor")
"""Of a measure: the row's cursor."""

SINCE = own("since")
"""Of a version: when it began."""
IS_GONE = own("gone")
"""Of a version: whether its row was gone then."""
PLACE = own("place")
"""Of a version: its place among those that come with it."""


def key_part(place: int) -> str:
    """The key's column at a place, next to columns that may have the same name."""
    return own(f"key_{place}")
