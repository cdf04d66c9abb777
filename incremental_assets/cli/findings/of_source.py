"""The findings on one source: pure, from its facts."""

from __future__ import annotations

from collections.abc import Iterator

from incremental_assets.cli.findings.finding import SQL, TRY_IT, Finding, Health, warn
from incremental_assets.core.checks.doctor import SourceFacts
from incremental_assets.core.config.database_settings import database_of
from incremental_assets.core.config.settings import SourceConfig
from incremental_assets.core.words import counted


def of_source(source: SourceConfig, facts: SourceFacts) -> Iterator[Finding]:
    """Whether the bound may be settled, and whether the account may do more than it needs."""
    name, settings = source.name, database_of(source)
    yield Finding(name, "reachable", Health.OK, f"{facts.version}, as {facts.user}, tls {settings.tls}")
    if found := settings.unencrypted:
        yield warn(name, "tls", *found)
    if facts.is_replica:
        yield warn(
            name,
            "guarantee",
            "this is a replica: transactions that are open on the primary cannot be seen",
            "read from the primary, or set a `holdback`",
        )
    elif not facts.sees_transactions:
        yield warn(
            name,
            "guarantee",
            "other users' transactions cannot be seen, so that runs are best_effort while another session has a transaction open",
            f"{facts.cures.unseen_transactions}; {SQL}",
        )
    elif not facts.tracks_activities:
        yield warn(
            name,
            "guarantee",
            "the server does not show what its sessions do, so that runs are best_effort",
            facts.cures.untracked_sessions,
        )
    elif facts.unsettled:
        yield warn(name, "guarantee", "runs are best_effort", facts.unsettled)
    elif facts.experimental:
        yield warn(name, "guarantee", f"runs are best_effort: {facts.experimental}", TRY_IT)
    else:
        yield Finding(name, "guarantee", Health.OK, "open transactions can be seen: the bound is settled")
    if not facts.says_which:
        yield warn(
            name,
            "identity",
            "the database does not say which one it is, so that a restored or exchanged one would not be noticed",
            f"{facts.cures.no_identity}; {SQL}",
        )
    yield from _of_comparison(name, facts)
    yield from _of_room(source, facts)
    yield from _of_sessions(name, facts)
    writable = [facts_of for facts_of in facts.tables if facts_of.writable]
    if facts.is_superuser:
        yield warn(
            name,
            "privileges",
            f"{facts.user} is a superuser",
            "use a role that may read only; `incremental-assets doctor --sql` as another user prints it",
        )
    elif writable:
        yield warn(
            name,
            "privileges",
            f"{facts.user} may change {len(writable)} of {len(facts.tables)} tables, which no sync needs",
            SQL,
        )
    else:
        yield Finding(name, "privileges", Health.OK, f"{facts.user} may read and not write")


def _of_comparison(name: str, facts: SourceFacts) -> Iterator[Finding]:
    """Whether its rows can be compared with a copy."""
    if facts.not_compared:
        yield warn(name, "comparison", f"checks, and syncs that compare rows, fail: {facts.not_compared}", SQL)


def _of_room(source: SourceConfig, facts: SourceFacts) -> Iterator[Finding]:
    """Whether the server has as many sessions for this user as a sync may open."""
    allowed, room = source.parallel.connections, facts.room
    if room is None:
        return
    if room >= allowed:
        yield Finding(source.name, "connections", Health.OK, f"at most {allowed}, and the server has room for {room}")
        return
    yield warn(
        source.name,
        "connections",
        f"`parallel` allows {counted(allowed, 'connection')}, and the server has room for {room} of {facts.user} now",
        f"write `parallel: {{connections: {max(1, room)}}}`, or raise the limit of the server or the user",
    )


def _of_sessions(name: str, facts: SourceFacts) -> Iterator[Finding]:
    """In which encoding texts come, who else uses the sessions, and what is set in them."""
    if facts.encoding == "SQL_ASCII":
        yield Finding(name, "encoding", Health.OK, "SQL_ASCII: a row with a text that is not UTF-8 goes to quarantine")
    elif facts.encoding != "UTF8":
        yield Finding(name, "encoding", Health.OK, f"{facts.encoding}, converted to UTF-8 by the server")
    if facts.pooled:
        yield Finding(
            name, "pooler", Health.OK, "a pooler answers at this address: a sync leaves nothing in its connections"
        )
    if facts.shared_with:
        yield warn(
            name,
            "role",
            f"others are logged in as {facts.user}: {facts.shared_with}; a pooler gives them and the sync the same connections",
            "give the sync a role of its own, which may read only; `incremental-assets doctor --sql` as another user prints it",
        )
    if facts.put_aside:
        yield Finding(name, "settings", Health.OK, f"a sync reads by its own, and not by {', '.join(facts.put_aside)}")
