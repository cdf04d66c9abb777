"""Has each mistake in a source, or in the file around the sources, its line, the offending text and the cure?"""

import re
from pathlib import Path

import pytest

from incremental_assets.core.config import load as config
from tests.core.mistakes import FILE, SOURCE, in_source, only_problem, problems

SOURCE_MISTAKES = [
    ("tls: on", "", "", "on", "choose one of: verify-full, verify-ca, require, disable"),
    ("password: hunter2", "", "", "password: …", "a secret is never written in this file; write {env: NAME}"),
    ("options: {ssl: off}", "", "", "ssl", "the keys are connect_timeout, socket_timeout, statement_timeout"),
    ("options: {connect_timeout: 0s}", "", "", "0s", "longer than nothing"),
    ("options: {connect_timeout: 10}", "", "", "10", "write a duration with its unit"),
    ("parallel: {tables: 0}", "", "", "0", "write 1 or more"),
    ("parallel: 4", "", "", "4", "write keys and values here"),
    ("fetch_size: many", "", "", "many", "write a whole number"),
    ("port: 70000", "", "", "70000", "write 65535 or less"),
    ("port: {env: 5432}", "", "", "5432", "the name of an environment variable"),
    ("port: {evn: PORT}", "", "", "evn", "did you mean `env`?"),
    ("schemas: []", "", "", "schemas", "write at least one"),
    ("schemas: [a, a]", "", "", "schemas", "may appear once in the list"),
    ("unlisted: skip", "", "", "skip", "choose one of: full_refresh, ignore"),
    ("every: 0s", "", "", "0s", "longer than nothing"),
    ("refresh_every: daily", "", "", "daily", "write a duration"),
    ("check_at: noon", "", "", "noon", 'write a time of day like "03:00"'),
    ("check_at: 24:00", "", "", "24:00", 'write a time of day like "03:00"'),
    ('schedule: "0 6 * *"', "", "", "0 6 * *", "write five fields (minute, hour, day, month, weekday)"),
    (
        'schedule: "0 6 * * 1-5"\nevery: 1m',
        "",
        "",
        "1m",
        "`schedule` says when the tables of this source are due",
    ),
    (
        'schedule: "0 6 * * *"\nrefresh_every: 1d',
        "",
        "",
        "1d",
        "and `refresh_every` says so in another way",
    ),
    ('schedule: {cron: "0 6 * * *"}', "", "", "schedule", 'write a single value here, in quotes, like "0 6 * * 1-5'),
    ('cron: "0 6 * * *"', "", "", "cron", "did you mean `schedule`?"),
    ("target: {table}", "", "", "target", 'in quotes, like "raw/{table}"'),
    ("quiet: at night", "", "", "at night", "write two times of day like"),
    ("quiet: 02:00-04:00", "", "", "02:00-04:00", "everything is checked at 03:00 unless `check_at` says otherwise"),
    (
        'quiet: 22:00-06:00\ncheck_at: "05:00"',
        "",
        "",
        "05:00",
        "which is in the quiet time 22:00-06:00; write another `check_at`, in UTC",
    ),
    ("backfill: {windows: 0}", "", "", "0", "write 1 or more"),
    ("backfill: {pause: long}", "", "", "long", "write a duration"),
    ("partitions: {every: hour}", "", "", "partitions", "more than 25,000"),
    ("partitions: {size: 10}", "", "", "partitions", "at the tables with an integer cursor"),
    ("backfill: {window: 3}", "", "", "window", "did you mean `windows`?"),
    ("defaults: {history: scd2}", "", "", "history", "there is no such key here"),
    ("defaults: {columns: {include: [x]}}", "", "", "include", "did you mean `exclude`?"),
    ("defaults: {freshness: {warn: 1d, fail: 1h}}", "", "", "freshness", "`warn` comes before `fail`"),
    ("defaults: {deletes: {every: 1h}}", "", "", "1h", "`every` belongs to `diff`, and this is `mode: ignore`"),
    ("options: {every: 1m}", "", "", "every", "write `every` beside `options`, not in it"),
    ("defaults: {strategy: upsert}", "", "", "strategy", "there is no such key here"),
    ("tables: public.a", "", "", "public.a", "write a list of tables"),
    ("hots: x", "", "", "hots", "did you mean `host`?"),
]

FILE_MISTAKES = [
    ("lake: ./lake", "lake: ftp://bucket #!", "ftp://bucket", "a local path or one of s3://, s3a://"),
    ("lake: ./lake", "lake: #!", "lake", "write a value"),
    ("lake: ./lake", "lake: s3://bucket/a//b #!", "s3://bucket/a//b", "in a store each folder has a name"),
    ("lake: ./lake", "lake: s3://bucket/../b #!", "s3://bucket/../b", "in a store each folder has a name"),
    ("lake: ./lake", "lake: s3a://key:s3cr3t@bucket #!", "s3a://key:…@bucket", "an address carries no secret"),
    ("lake: ./lake", "lak: ./lake #!", "lak", "did you mean `lake`?"),
    ("sqlite:///c.db", "sqlite:// #!", "sqlite://", "write sqlite:///path/to/checkpoints.db"),
    ("sqlite:///c.db", "'sqlite:///:memory:' #!", "sqlite:///:memory:", "write sqlite:///path/to/checkpoints.db"),
    ("sqlite:///c.db", "mysql://u@h/d #!", "mysql://u@h/d", "or postgresql://user@host/database"),
    ("sqlite:///c.db", "postgresql://u:hun/t@r2@h/d #!", "postgresql://u:…@h/d", "~/.pgpass"),
    (
        "sqlite:///c.db",
        "postgresql://h/d?user=u&password=hunter2 #!",
        "postgresql://h/d?user=u&password=…",
        "~/.pgpass",
    ),
    ("shop:", "shop-eu: #!", "shop-eu", "letters, digits and _"),
    ("shop:", "_staging: #!", "_staging", "letters, digits and _"),
    ("postgresql", "db2 #!", "db2", "there is no dialect 'db2'"),
    ("postgresql", "postgres #!", "postgres", "did you mean `postgresql`?"),
    ("host: localhost", "host: #!", "host", "write a value"),
    (
        "localhost",
        "localhost:5432/shop?ssl=1 #!",
        "localhost:5432/shop?ssl=1",
        "port, database and user have keys of their own",
    ),
    ("localhost", "localhost:5432 #!", "localhost:5432", "port, database and user have keys of their own"),
    ("localhost", "postgresql://u:hunter2@h #!", "…@h", "the host's name or address alone"),
    ("lake: ./lake", "lake: ./lake\nspark: {remote: yes} #!", "yes", "remote is `auto` or sc://host:port"),
    (
        "lake: ./lake",
        "lake: ./lake\nspark: {remote: sc://h:15002/;token=t0k3n} #!",
        "sc://h:15002/;token=…",
        "SPARK_CONNECT_AUTHENTICATE_TOKEN",
    ),
    ("lake: ./lake", "lake: ./lake\nspark: {master: mesos://h} #!", "mesos://h", "master is spark://"),
    ("lake: ./lake", "lake: ./lake\nspark: {master: 'local[0]'} #!", "local[0]", "master is spark://"),
    ("lake: ./lake", "lake: ./lake\nspark: {remote: auto, master: yarn} #!", "yarn", "remove one of them"),
    ("lake: ./lake", "lake: ./lake\nspark: {keep: 10} #!", "10", "a duration with its unit, like 90s, 15m"),
    ("lake: ./lake", "lake: ./lake\nspark: {keep: 0s} #!", "0s", "longer than nothing"),
    ("lake: ./lake", "lake: ./lake\nspark: {master: yarn, keep: 10m} #!", "10m", "that runs start on this machine"),
    ("lake: ./lake", "lake: ./lake\nspark: {remote: sc://h, keep: 10m} #!", "10m", "that runs start on this machine"),
    (
        "lake: ./lake",
        "lake: s3a://bucket/lake\nspark: {keep: 10m} #!",
        "10m",
        "only for a lake on a disk of this machine",
    ),
    ("lake: ./lake", "lake: ./lake\nlake: ./other #!", "lake", "this key is written twice"),
    ("lake: ./lake", "lake: !env LAKE #!", "LAKE", "tags with `!` are not used here"),
]


@pytest.mark.parametrize(("key", "replaced", "by", "text", "cure"), SOURCE_MISTAKES)
def test_a_mistake_in_a_source_has_its_place_and_its_cure(
    tmp_path: Path, key: str, replaced: str, by: str, text: str, cure: str
) -> None:
    problem = only_problem(
        tmp_path, in_source(f"{key} #!").replace(replaced, by) if replaced else in_source(f"{key} #!")
    )
    assert problem.text == text
    assert cure in problem.cure


@pytest.mark.parametrize(("replaced", "by", "text", "cure"), FILE_MISTAKES)
def test_a_mistake_in_the_file_has_its_place_and_its_cure(
    tmp_path: Path, replaced: str, by: str, text: str, cure: str
) -> None:
    problem = only_problem(tmp_path, (FILE + SOURCE).replace(replaced, by, 1))
    assert problem.text == text
    assert cure in problem.cure


@pytest.mark.parametrize(
    "host", ["a" * 64 + ".example.com", "a" * 300, "db..example.com", "\N{LATIN SMALL LETTER E WITH ACUTE}" * 63]
)
def test_a_host_that_no_driver_can_ask_for_is_refused(tmp_path: Path, host: str) -> None:
    problem = only_problem(tmp_path, in_source("tls: require").replace("host: localhost", f"host: {host} #!"))
    assert problem.cure.startswith("a host's name has up to 63 letters between two dots")


@pytest.mark.parametrize("key", ["user", "database"])
@pytest.mark.parametrize("name", [r"a\nb", r"a\x1B[2Jb", "a" * 1_000_000])
def test_a_name_that_no_sentence_could_hold_is_refused(tmp_path: Path, key: str, name: str) -> None:
    written = {"user": "user: reader", "database": "database: shop"}[key]
    problem = only_problem(tmp_path, in_source("tls: require").replace(written, f'{key}: "{name}" #!', 1))
    assert problem.cure == "write one line of up to 4,096 letters"
    assert len(problem.text) < 200


@pytest.mark.parametrize("value", [r"a\0b", r"\ud800"])
@pytest.mark.parametrize("key", ["lake", "checkpoints"])
def test_what_no_path_can_hold_is_refused_where_it_stands(tmp_path: Path, key: str, value: str) -> None:
    text = re.sub(f"^{key}: .*$", lambda _: f'{key}: "{value}" #!', in_source("every: 1m"), flags=re.MULTILINE)
    assert "a NUL, or half of a character, is not text" in str(problems(tmp_path, text)[0])
    assert problems(tmp_path, text)[0].line == 1 + (key == "checkpoints")


def test_a_source_that_is_read_from_the_log_has_two_connections(tmp_path: Path) -> None:
    table = "tables:\n  - {table: public.orders, capture: log}\n"
    problem = only_problem(tmp_path, in_source(f"parallel: {{connections: 1}}  #!\n{table}"))
    assert problem.cure.endswith("write `parallel: {connections: 2}` or more")
    (tmp_path / "sources.yaml").write_text(in_source("parallel: {connections: 1}\n"))
    assert config.load(tmp_path / "sources.yaml").sources[0].parallel.connections == 1
