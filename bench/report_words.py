"""What the document says beside the figures."""

QUICK = """\
> This is the quick look: smaller tables and fewer rounds, in which fixed costs weigh more. The verdicts below are for these sizes; the
> targets were set for the full ones."""

ONCE = """\
Contenders that no target depends on were measured once."""

HOW = """\
## How it was measured

* **Same work for all.** One PostgreSQL on this machine. A *tick* on this page is one sync after a small change. Before each round of a tick, rows are changed once, and every contender updates its own
  copy, in rotating order. The load average is given for each workload; only ratios within one workload are meaningful.
* **No time without proof.** DuckDB counts and hashes the copy and the output of PostgreSQL's `COPY`, as the source's types and without
  regard to order: after each round of a tick, and after the last round of a first load and of growth, whose earlier rounds count only
  then. A contender whose copy differs has failed. The proof is not timed. Two spellings count as equal: a timestamp without a zone
  that is UTC, and a `char(n)` without its trailing blanks.
* **Whole process** is from start to end; **inside** is what the tool's own clock reports for its work: the report's seconds of one
  table (ours), `pipeline.run` (dlt), read and write (the scripts). Memory is the most that all its processes held together, a running engine included, looked
  at every 0.6 seconds: the sum of Linux's proportional set sizes (PSS), in which a page that several processes share counts once, divided among them (what was
  measured before 2026-11-25 12:50 UTC counts it in each of them); *new in the lake* is the size of the files that appeared there; *written in all* is everything that its
  processes wrote to the file system.
* **Ours** is `incremental-assets sync --json` as a user would type it, with Dagster's instance, lease, checkpoints, one exported snapshot, and the
  source's own count compared with what was read. *Engine running* is the same command while `incremental-assets engine` runs; *in a session* is one
  long-lived process without Dagster.
* **dlt** runs `sql_database` with reflected keys, an `incremental` cursor and `merge` with the strategy `upsert` into the `delta` format on a local
  `filesystem`; the first load is the first run of the same pipeline. `bench/contenders/dlt_delta.py` gives the reason for each setting.
* **Spark JDBC** reads with one connection per core, split by the key, and 10,000 rows per fetch; **Spark MERGE** is the script that you would write yourself, with Spark's default settings. Both get
  their jars by path, so that no download is timed. **sling** is the newest release whose program comes with its package.
* **COPY** is the floor: what PostgreSQL itself needs to output the rows, to nowhere and, through DuckDB, into one Parquet file.
* PostgreSQL has `fsync` off and no autovacuum, so that it does no background work during a measurement; its files and the
  others' are in the page cache. Ticks start two and a half seconds after the changes, when they have settled (the row of ticks of G does not wait: each
  reads some of the rows of the previous one again). A long-lived process has done 32 small ticks
  before the first that counts: the first few take twice as long. The engine, and our session, are the same for every workload.
* **DB** is `incremental-assets sync --json` from PostgreSQL and from a MariaDB with the same rows, alternating; *to ours* is to PostgreSQL's. Before each round of its
  tick the same rows change in both. Each copy is compared with the count and the sums of its source. MariaDB holds 1 GiB of pages in memory and waits for no
  disk at a commit (`innodb_flush_log_at_trx_commit=2`).
* **K** begins without an engine before every round. *Leaves an engine* is the run that starts one and ends without it; *1 after that* and *5 after that* are the
  runs that come so many runs later and find it. The runs between load small tables, are not timed, and the last of them is given the time to start the
  fork server, as a minute between two runs would.
* **Q** is `incremental-assets dev` with one table of 10,000 rows, `every: 1s`, and the `dagster.yaml` of this project. A row is committed at a random moment, up to six seconds after the one before was seen, and
  another process looks for it in the files of the Delta table's newest version, fifty times a second. The first rows, until Spark is warm, do not count.
* **T** is a topic of four partitions in a broker of its own (one node, without compression), whose records have the form of Debezium 3.6.1's, some 600 octets each, and a tombstone behind each
  delete. The snapshot is loaded first and not timed. Ours syncs in the benchmark's own process, without Dagster, until nothing is left. **Spark structured streaming** is one query with `availableNow` for each
  backlog, in a session that stays: `foreachBatch` keeps the last change of each key by its offset, and a MERGE updates, inserts and deletes. It does not ask whether a connector repeats itself;
  `bench/contenders/spark_stream.py` gives the reason for each setting. Both copies are counted and hashed beside the rows that the events come to.
* **X** makes its files by a rule, without chance, packed with zstd, so that all ten thousand fit into one sync of ours. dlt's `filesystem` source reads them by Arrow, knows new ones by `modification_date`, and appends
  (`bench/contenders/dlt_files.py`); ours is `sync --json` with `strategy: append`. The million files of a look are empty, and most of them hard links of each other, which a look does not know.
* **Y** has a PostgreSQL of its own, and syncs fifty tables from it in the benchmark's own process, without Dagster, into three lakes. Before each round as many rows change in each table that the tick syncs. The port through which the third lake is reached holds each request
  back before it hands it on, and runs in the benchmark's process, whose time it takes as well.
* **C**, **D** and **L** have a PostgreSQL of their own with one generated table, and sync it in the benchmark's own process, without Dagster. Processor seconds are
  those of that process, of what it started, and of the source. After each sync of C and of L the copy is compared with the count and the sums of the source. *Lines to be compared* are the
  counts, hashes and keys that the source sends before rows are read; *sent by the source* are all its bytes in a round of their own, through a port that counts
  them, whose time does not count."""

TRIED = """\
## What was tried

Tried by hand while making a tick faster, each against the same code without the change, on two cores. What did not help was removed; what helped is
under *Kept*. All of it was tried on the older path, on which Spark itself reads, matches and writes; that path is still used where a commit of our own is not possible.

* **Starting Spark in a thread while Dagster is imported**: no difference. Both need the processor, and there are two.
* **Interpreted projections** (`codegen.factoryMode=NO_CODEGEN`): half as long again in a warm engine; no difference in a cold JVM.
* **No adaptive execution, short plans in the log, no checksum files, no whole-stage compilation**: no difference above noise.
* **Reading a source twice instead of materializing it** (`insertReplaceOnOrUsing.materializeSource=none`): no difference.
* **Rewriting a small target** with each batch (200,000 rows, 1,000 changed): 5.0 s for the commit in place of 3.3 s; with 10,000 rows, 100
  changed: no difference. If a batch is half of its target or more it pays, and is done: 11.9 s in place of 18.6 s (1,000,000 of 1,500,000 rows,
  alternating in one warm session).
* **No histograms of a table's files and deleted rows in Delta** (`fileSizeHistogram`, `deletedRecordCountsHistogram`, `checksumDVMetrics`): no difference.
* **Keeping Delta's materialized batch in memory** instead of on disk (`merge.materializeSource.rddStorageLevel`), for a big delta: no difference, in one round each.
* **What Spark's own clock shows** for the commit of a tick in a warm session: 13 queries in 14 jobs, whatever the number of rows. About 1.0 s of 2.6 s
  rebuilds the table's state from its log and computes its checksum, which Delta does for each version even if nothing asks for it; 0.6 s find the
  rows that the batch replaces, 0.3 s mark them, 0.2 s write the new ones; the rest is planning in between.
* **The C2 compiler at the JVM's default thresholds**, and C1 alone, in a long-lived session: 3.5 s and 4.7 s for the 41st to the 50th tick, where the
  thresholds in use take 2.6 s. The three ran one after the other, on a machine whose speed varies.
* **What a flight recorder shows** for ticks in a warm JVM is no single cause: query analysis, code generation, closure cleaning
  and copies of Hadoop's configuration each take about a tenth; the rest is spread over everything that Spark does for a query.
* Kept, because they helped: a class-data archive, the C1 compiler alone for small work, deletion vectors and `replaceOn` in place of
  `MERGE`, one pass over the staged rows for every count, reading the log without Spark, no statistics for texts and decimals (a sixth
  of a first load), no final garbage collection when a command ends, a cache of a thousand generated classes where Spark keeps a hundred (six tables of
  different shapes, warm: 24 classes compiled per tick in place of 180, and 2.1 s for each table in place of 2.5 s, one process after the other), and
  passing the range of a batch's keys to Spark, which skips row groups (six million rows, recent keys: 2.7 s for the commit in place of 3.9 s,
  alternating in one session).
* **Finding duplicates by a 64-bit hash of the key, or by shuffling rows before counting them**: no difference (8.1 s, 7.5 s and 8.4 s in place of 7.4 s
  for six million rows of `lineitem`, each in a cold JVM after its first query, which alone takes 10 s).
* **Where R spends its time**, in a run of 74 s: 4 s open the session, 20 s look for duplicates, half of them the JVM's first query, and 48 s count both
  sides at once. Alone, PostgreSQL hashes these rows in 27 s on one core and Spark in 16 s on two. Since then duplicates are looked for while the rows are
  counted: 69 s and 77 s in place of 76 s and 88 s, alternating. No core is idle any more.
* Kept for checks: a binary search among 24 windows in place of 24 ranges, for which Spark generates code too long for the JVM to compile (15,000 rows:
  2.3 s in place of 5.1 s), and the JVM's full compiler from 85 MB on (600,000 rows of `lineitem`, hashed for the third time: 2.9 s in
  place of 8.4 s with C1 alone). `check` of the demo's eight tables, up to the sixth: 98 s before both, 82 s with the first, 61 s with both.
* **What a tick of spread keys writes in addition in a larger table** (10,000 rows: 64.5 kB in 1.5 million, 71.6 kB in 24 million): 2.9 kB are the vectors, in which
  each block of 65,536 rows that loses a row has a part of its own; the rest is log, 1.2 kB for each further file: the line that removes it, and the one that adds it again
  with its statistics. Files of 512 MiB of the source in place of 256 took 1.18x to 1.11x; still larger ones would meet the target, and leave a batch of
  few keys to one task."""
