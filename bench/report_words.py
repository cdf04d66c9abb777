"""What the document says beside the figures."""

QUICK = """\
> This is the quick look: smaller tables and fewer rounds, on which fixed costs weigh more. The verdicts below are of these sizes, the
> targets were set for the full ones."""

ONCE = """\
Those on whom no target rests were played once."""

HOW = """\
## How it was measured

* **Same work for all.** One PostgreSQL on this machine. Before each round of a tick rows are changed once, and everybody brings a copy
  of its own up to date, in an order that rotates. The load average stands beside each workload; only ratios within one workload count.
* **No time before the proof.** DuckDB counts and hashes the copy and what PostgreSQL's `COPY` says, as the source's types and without
  regard to order: after each round of a tick, and after the last round of a first load and of growth, whose rounds before count only
  then. A contender whose copy differs has failed. The proof is not timed. Two spellings count as equal: a time stamp without its zone
  that is UTC, and a `char(n)` without its blanks.
* **Whole process** is from its start to its end; **inside** is what the tool's own clock says of its work: the report's seconds of one
  table (ours), `pipeline.run` (dlt), read and write (the scripts). Memory is the largest sum of resident memory of all its processes, looked at five
  times a second, a running engine included; *new in the lake* are the sizes of files that appeared there, *written in all* is whatever its
  processes gave to the file system.
* **Ours** is `incremental-assets sync --json` as anybody types it, with Dagster's instance, lease, checkpoints, one exported snapshot and the
  source's own count held against what was read. *Engine running* is the same command while `incremental-assets engine` runs; *in a session* is one
  process that stays, without Dagster.
* **dlt** runs `sql_database` with reflected keys, an `incremental` cursor and `merge` with the strategy `upsert` into the `delta` format on a local
  `filesystem`; the first load is the first run of the same pipeline. `bench/contenders/dlt_delta.py` says why each setting stands there.
* **Spark JDBC** reads with one connection per core, split by the key, and 10,000 rows per fetch; **Spark MERGE** is the script that one writes oneself, with Spark's default settings; both get their jars by path, so that
  nobody waits for a registry. **sling** is the newest release whose program comes with its package.
* **COPY** is the floor: what PostgreSQL itself needs to write the rows, to nobody and, through DuckDB, into one Parquet file.
* PostgreSQL has `fsync` off and no autovacuum, so that it does nothing on its own while somebody is timed; its files and the
  others' are in the page cache. Ticks begin two and a half seconds after the changes, when they are settled (the row of ticks of G does not wait: each reads
  some of the rows of the one before again). Where a process stays, it has done 32 small ticks
  before the first that counts: the first few take twice as long. The engine, and our session, are the same ones for every workload."""

TRIED = """\
## What was tried, and is not there

Tried by hand while a tick was made shorter, each against the same code without it, on two cores. What did not help was taken out again.

* **Spark started in a thread, beside the import of Dagster**: as long either way. Both want the processor, and there are two.
* **Projections interpreted and not compiled** (`codegen.factoryMode=NO_CODEGEN`): half as long again in a warm engine; no difference in a cold JVM.
* **No adaptive execution, short plans in the log, no checksum files, no whole-stage compilation**: nothing that could be told from noise.
* **A source that is read twice and not kept between** (`insertReplaceOnOrUsing.materializeSource=none`): as long.
* **A small target written anew** with each batch (200,000 rows, 1,000 changed): 5.0 s for the commit in place of 3.3 s; of 10,000 rows, 100
  changed: as long. Where a batch is half of its target or more it pays, and is done: 11.9 s in place of 18.6 s (1,000,000 of 1,500,000 rows,
  alternating in one warm session).
* **Delta's histograms of a table's files and marked rows** not kept (`fileSizeHistogram`, `deletedRecordCountsHistogram`, `checksumDVMetrics`): as long.
* **Delta's kept batch in memory** and not on disk (`merge.materializeSource.rddStorageLevel`), for a big delta: as long, by one round each.
* **What Spark's own clock says** of the commit of a tick in a warm session: 13 queries in 14 jobs, whatever the number of rows. About 1.0 s of 2.6 s
  makes the table's state anew of its log and sums it up, which Delta does for each version even where nothing asks for the sum; 0.6 s find the
  rows that the batch replaces, 0.3 s mark them, 0.2 s write the new ones; the rest is planned in between.
* **The C2 compiler at the JVM's own thresholds**, and C1 alone, in a session that stays: 3.5 s and 4.7 s for the 41st to the 50th tick, where the
  thresholds that are set take 2.6 s. The three ran one after the other, on a machine whose speed moves.
* **What a flight recorder shows** of ticks in a warm JVM is no single cause: analysis of queries, generation of code, cleaning of closures,
  and copies of Hadoop's configuration each take about a tenth, the rest is spread over everything that Spark does for a query.
* Kept, because they did help: a class-data archive, the C1 compiler alone for small work, deletion vectors and `replaceOn` in place of
  `MERGE`, one pass over the staged rows for every count, the log read without Spark, statistics of no texts and decimals (a sixth
  of a first load), no last garbage collection when a command ends, a thousand generated classes kept where Spark keeps a hundred (six tables of
  different shapes, warm: 24 classes compiled by a tick in place of 180, and 2.1 s for each table in place of 2.5 s, one process after the other), and
  the range of a batch's keys told to Spark, which leaves out row groups (six million rows, recent keys: 2.7 s for the commit in place of 3.9 s,
  alternating in one session).
* **Duplicates by a 64-bit hash of the key, or by rows that are shuffled before they are counted**: as long (8.1 s, 7.5 s and 8.4 s in place of 7.4 s
  for six million rows of `lineitem`, each in a cold JVM after its first query, which alone takes 10 s).
* **Where R's time goes**, in a run of 74 s: 4 s open the session, 20 s look for duplicates, half of them the JVM's first query, and 48 s count both
  sides at once. Alone, PostgreSQL hashes these rows in 27 s on one core and Spark in 16 s on two. Since then duplicates are looked for while the rows are
  counted: 69 s and 77 s in place of 76 s and 88 s, alternating. No core is idle any more.
* Kept for checks: a binary search among 24 windows in place of 24 ranges, of which Spark makes code too long for the JVM to compile (15,000 rows:
  2.3 s in place of 5.1 s), and the JVM's whole compiler from 85 MB on (600,000 rows of `lineitem`, hashed for the third time: 2.9 s in
  place of 8.4 s with C1 alone). `check` of the demo's eight tables, up to the sixth: 98 s before both, 82 s with the first, 61 s with both."""
