"""What MySQL and MariaDB do not share. Which of the two a server is, it says itself."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Flavour:
    """The words of one of them, in SQL."""

    limit: str
    """The setting of a session that ends a statement which takes too long."""
    limit_unit: int
    """The unit of that setting, in milliseconds."""
    elapsed: str
    """Microseconds since a statement of `processlist` began; rather too many than too few."""
    server: str
    """Which server it is."""
    positions: str
    """What tells how far InnoDB's log is written, and how far it is on disk."""
    files: str
    """Where InnoDB lists its tables and partitions."""
    foreign_keys: str
    """A part of the list of tables: foreign keys by which the server itself changes rows, for whoever may see them."""
    checks: str
    """Another part, where checks may be those of periods; `{}` stands for schemas."""
    weighs_levels: bool
    """Whether the weights of one level of a collation can be asked for."""


MARIADB = Flavour(
    limit="max_statement_time",
    limit_unit=1000,
    elapsed="CAST(time_ms * 1000 AS SIGNED)",
    server="@@global.server_id",
    positions="SHOW GLOBAL STATUS WHERE Variable_name IN ('Innodb_lsn_current', 'Innodb_lsn_flushed')",
    files="INNODB_SYS_TABLES",
    # Shown with PROCESS, as the standard's list is hidden from whoever only reads. Bits: 2 and 8 set NULL, 4 passes a new value on.
    foreign_keys="UNION ALL SELECT '', for_name, 'FOREIGN KEY', id, '', '', '', '' FROM information_schema.INNODB_SYS_FOREIGN WHERE type & 14 <> 0",
    checks="UNION ALL SELECT constraint_schema, table_name, 'CHECK', constraint_name, check_clause, '', '', '' FROM information_schema.check_constraints "
    "WHERE constraint_schema IN ({})",
    weighs_levels=True,
)
MYSQL = Flavour(
    limit="max_execution_time",
    limit_unit=1,
    # In whole seconds, which are rounded.
    elapsed="(time + 1) * 1000000",
    server="@@global.server_uuid",
    positions="SHOW ENGINE INNODB STATUS",
    files="INNODB_TABLES",
    foreign_keys="UNION ALL SELECT constraint_schema, table_name, 'FOREIGN KEY', constraint_name, '', '', '', '' FROM information_schema.referential_constraints "
    "WHERE update_rule IN ('CASCADE', 'SET NULL') OR delete_rule = 'SET NULL'",
    checks="",
    weighs_levels=False,
)


def flavour_of(version: str) -> Flavour:
    """The flavour, by what a server says of its version before anybody has logged in."""
    return MARIADB if "mariadb" in version.lower() else MYSQL
