"""T23: a source that shows less than before."""

from __future__ import annotations

from incremental_assets.core.planning.report import Status
from tests.conformance.conftest import OpenStand
from tests.conformance.meddling import assert_told, before_the_read
from tests.conformance.scenario import scenario
from tests.conformance.stand import Stand

COLUMNS = "id int PRIMARY KEY, note text, at timestamptz NOT NULL DEFAULT now()"


@scenario(
    "T23",
    "A table that is read whole is emptied in the source, while another one has a new row",
    holds="the emptied one is refused in one sentence and its copy stays, the other lands; once it is allowed the copy is empty, too",
)
def test_a_whole_table_shrinks_to_nothing(stand: OpenStand) -> None:
    desk = stand(
        "- {table: public.countries, strategy: full_refresh}\n- {table: public.rates, strategy: full_refresh}",
        "CREATE TABLE countries (code text PRIMARY KEY)",
        "CREATE TABLE rates (code text PRIMARY KEY)",
        "INSERT INTO countries VALUES ('FR'), ('DE'), ('GB')",
        "INSERT INTO rates VALUES ('EUR')",
        options="refresh_every: 0s\n",
    )
    desk.land()
    before, versions = desk.copy("countries"), desk.versions("countries")
    desk.execute("DELETE FROM countries", "INSERT INTO rates VALUES ('GBP')", "SELECT pg_sleep(1)")
    reports = desk.sync()
    assert_told(reports["countries"], "shows 0 rows", "had 3", "--allow-shrink", status=Status.REFUSED)
    assert (desk.copy("countries"), desk.versions("countries")) == (before, versions)
    desk.assert_equal("rates")

    desk.execute("SELECT pg_sleep(1)")
    desk.land("countries", allow_shrink=True)
    assert desk.copy("countries") == []
    desk.assert_tidy("countries", "rates")


@scenario(
    "T23",
    "Row-level security is enabled with a policy that has no condition: to the sync's role it shows no row at all",
    holds="the table fails by name instead of standing still under `settled`, and what was hidden lands once it may be seen",
)
def test_a_policy_without_a_condition_shows_nothing(stand: OpenStand) -> None:
    desk = stand(
        '- "public.orders:at:timestamp!upsert"', f"CREATE TABLE orders ({COLUMNS})", "INSERT INTO orders VALUES (1)"
    )
    desk.land()
    desk.execute(
        "ALTER TABLE orders ENABLE ROW LEVEL SECURITY",
        "CREATE POLICY writers ON orders FOR ALL WITH CHECK (true)",
        "INSERT INTO orders VALUES (2)",
    )
    with desk.runtime() as runtime:
        (problem,) = runtime.specs("shop").problems
    assert "row-level security hides rows" in str(problem.error)
    desk.execute("ALTER TABLE orders DISABLE ROW LEVEL SECURITY")
    desk.land()
    desk.assert_equal("orders")


@scenario(
    "T23",
    "Tables are dropped in the source and made anew with other rows: one with a stamp as its cursor, one with numbers that begin at 1 again",
    holds="the rows of the new table land beside those that had landed, and so do those that get numbers below the old watermark later; the run says that the table was altered, "
    "and that its numbers have fallen",
)
def test_a_source_table_is_dropped_and_made_anew(stand: OpenStand) -> None:
    events = "CREATE TABLE events (id bigint PRIMARY KEY, what text)"
    desk = stand(
        '- "public.orders:at:timestamp!upsert"\n- "public.events:id:integer!append"',
        f"CREATE TABLE orders ({COLUMNS})",
        events,
        "INSERT INTO orders VALUES (1, 'old', '2024-01-10Z'), (2, 'old', '2024-01-10Z')",
        "INSERT INTO events SELECT n, 'old' FROM generate_series(1, 100) AS n",
    )
    desk.land()
    desk.execute("SELECT pg_sleep(2.1)")
    desk.land()
    desk.execute("DROP TABLE orders", "DROP TABLE events", f"CREATE TABLE orders ({COLUMNS})", events)
    desk.execute("INSERT INTO orders VALUES (1, 'new'), (3, 'new')", "INSERT INTO events VALUES (1, 'new'), (2, 'new')")
    reports = desk.land()

    assert desk.copy("orders", "id", "note") == [(1, "new"), (2, "old"), (3, "new")]
    told = " ".join(reports["events"].warnings)
    assert "2" in told
    assert "100" in told
    assert "reset" in told
    assert "was altered in the source" in told
    desk.execute("INSERT INTO events VALUES (50, 'later')")
    desk.land()
    assert [
        row for row in desk.source("SELECT id, what FROM events") if row not in desk.copy("events", "id", "what")
    ] == []


@scenario(
    "T23",
    "In the middle of a sync the right to read one table is revoked and another gets row-level security that hides its rows; later both are put right",
    holds="each stops with one sentence that says what to grant, its watermark stays, the others land; put right, every row lands",
)
def test_privileges_go_in_the_middle_of_a_sync(stand: OpenStand) -> None:
    names = ("orders", "secrets", "guarded")
    desk = stand(
        "\n".join(f'- "public.{name}:at:timestamp!upsert"' for name in names),
        *(f"CREATE TABLE {name} ({COLUMNS})" for name in names),
        *(f"INSERT INTO {name} VALUES (1, 'a')" for name in names),
    )
    desk.land()
    desk.execute(*(f"INSERT INTO {name} VALUES (2, 'b')" for name in names))
    harm = {
        "secrets": lambda: desk.execute("REVOKE SELECT ON secrets FROM reader"),
        "guarded": lambda: desk.execute("ALTER TABLE guarded ENABLE ROW LEVEL SECURITY"),
    }
    during = desk.sync(through=before_the_read(harm))
    assert_told(during["secrets"], "may not read", "GRANT SELECT ON")
    assert_told(during["guarded"], "row-level security", "BYPASSRLS")
    desk.assert_equal("orders")
    desk.execute(*(f"INSERT INTO {name} VALUES (3, 'c')" for name in names), "SELECT pg_sleep(2.1)")
    assert set(desk.sync()) == {"orders"}
    told = _problems(desk)
    assert [text for text in told if "secrets" in text and "grant it" in text] != [], told
    assert [text for text in told if "guarded" in text and "BYPASSRLS" in text] != [], told

    desk.execute("GRANT SELECT ON secrets TO reader", "CREATE POLICY everything ON guarded FOR SELECT USING (true)")
    desk.land()
    for name in names:
        desk.assert_equal(name)
    desk.assert_tidy(*names)


def _problems(desk: Stand) -> list[str]:
    """Of tables that cannot be synced at all, which every command reports by name."""
    with desk.runtime() as runtime:
        return [str(problem.error) for problem in runtime.specs("shop").problems]
