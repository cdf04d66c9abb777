"""SQL for who may write rows of a table, by whatever way, among the roles with settings of their own: what their sessions begin with stamps those rows, or leaves them unstamped."""

from __future__ import annotations

# The query begins WITH RECURSIVE and has `settings` before, with the number of each role as `setrole`; `$1` has the tables.
#
# A role acts as itself, as each that it may SET ROLE to, which need not inherit anything, and in a function that runs as its owner. It comes to a table
# also by one of its parts, by what it is a part of, by a view or a rule, and by a row to which others refer: the server then changes these itself.
WRITERS = """
becoming AS (
    SELECT r.oid AS setrole, m.oid AS acts
    FROM pg_roles AS r JOIN pg_roles AS m ON m.oid = r.oid OR (NOT r.rolsuper AND pg_has_role(r.oid, m.oid, 'MEMBER'))
    WHERE r.rolcanlogin AND r.oid IN (SELECT setrole FROM settings)
), acting AS (
    SELECT setrole, acts FROM becoming
    UNION
    SELECT b.setrole, p.proowner FROM becoming AS b JOIN pg_proc AS p ON p.prosecdef AND p.proowner <> b.acts AND (
        p.prorettype <> 'trigger'::regtype AND has_function_privilege(b.acts, p.oid, 'EXECUTE')
        OR EXISTS (SELECT FROM pg_trigger AS t WHERE t.tgfoid = p.oid AND (has_any_column_privilege(b.acts, t.tgrelid, 'INSERT, UPDATE') OR has_table_privilege(b.acts, t.tgrelid, 'DELETE')))
    )
), ways (root, relid, is_part) AS (
    SELECT o, o, TRUE FROM unnest($1::oid[]) AS o WHERE EXISTS (SELECT FROM settings)
    UNION SELECT o, a, FALSE FROM unnest($1::oid[]) AS o CROSS JOIN pg_partition_ancestors(o) AS a WHERE a <> o AND EXISTS (SELECT FROM settings)
    UNION SELECT w.root, n.relid, n.is_part FROM ways AS w CROSS JOIN LATERAL (
        SELECT h.inhrelid AS relid, TRUE AS is_part FROM pg_inherits AS h WHERE w.is_part AND h.inhparent = w.relid
        UNION ALL SELECT r.ev_class, FALSE FROM pg_depend AS d JOIN pg_rewrite AS r ON r.oid = d.objid
        WHERE d.classid = 'pg_rewrite'::regclass AND d.refclassid = 'pg_class'::regclass AND d.refobjid = w.relid AND pg_relation_is_updatable(r.ev_class, TRUE) & 12 <> 0
        UNION ALL SELECT c.confrelid, FALSE FROM pg_constraint AS c
        WHERE c.contype = 'f' AND c.conrelid = w.relid AND (c.confupdtype IN ('c', 'n', 'd') OR c.confdeltype IN ('n', 'd'))
    ) AS n
), written AS MATERIALIZED (
    SELECT DISTINCT w.root, a.acts FROM (SELECT DISTINCT acts FROM acting) AS a CROSS JOIN ways AS w
    WHERE has_any_column_privilege(a.acts, w.relid, 'INSERT, UPDATE') OR (w.relid <> w.root AND has_table_privilege(a.acts, w.relid, 'DELETE'))
), writers AS (
    SELECT w.root, a.setrole FROM acting AS a JOIN written AS w ON w.acts = a.acts
)
"""
