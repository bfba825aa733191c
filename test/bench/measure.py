"""measure.py TREE [queries|load|pgbench|key ...]: the measurements of `make bench`.

Expects a running private cluster named by PGHOST, psql and pgbench on PATH.
Prints Markdown tables and keeps them in build/bench.md.  Every figure is the
median of warm runs; all systems run the same query over the same rows with the
same number of threads, one after the other in one run.
"""

import importlib.util
import os
import re
import statistics
import subprocess
import sys
import time

from report import Report, machine, psql

TREE = sys.argv[1]
PARTS = sys.argv[2:] or ["queries", "load", "pgbench"]
ROWS = int(os.environ.get("GPUCOL_BENCH_ROWS", 30_000_000))
THREADS = [int(n) for n in os.environ.get("GPUCOL_BENCH_THREADS", "1 2").split()]
SECONDS = int(os.environ.get("GPUCOL_BENCH_SECONDS", 10))
say = Report(f"{TREE}/build/bench.md")

# Columns: a of 30,000 values, b of 1,000, c of 10, d of 100,000, e of 1,000,000.
TABLE = "(a int, b int, c int, d int, e bigint)"
FILL = f"""SELECT (random() * 29999)::int, (random() * 999)::int, (random() * 9)::int,
    (random() * 99999)::int, (random() * 999999)::bigint FROM generate_series(1, {ROWS})"""

# Name, query, columns that it must read, least ratio to heap that is expected.
QUERIES = [
    ("filter, count", "SELECT count(*) FROM {} WHERE a < 3000", "a", 100),
    ("filter, sum of another", "SELECT sum(b) FROM {} WHERE a < 3000", "ab", 60),
    ("GROUP BY 10 groups",
     "SELECT c, count(*), sum(b), avg(e) FROM {} GROUP BY c ORDER BY c", "bce", 40),
    ("GROUP BY 100,000 groups",
     "SELECT d, count(*), sum(b), avg(e) FROM {} GROUP BY d ORDER BY d", "bde", 20),
]


def timed(statements, settings="", runs=5):
    """Median milliseconds of a statement after one unmeasured run."""
    out = psql(f"{settings};\n{statements};\n\\timing on\n\\o /dev/null\n" + f"{statements};\n" * runs)
    times = [float(t) for t in re.findall(r"^Time: ([0-9.]+) ms", out, re.M)]
    return statistics.median(times)


def bandwidth(threads):
    """GB/s that this many threads read from memory."""
    return float(subprocess.check_output([f"{TREE}/build/bandwidth", str(threads)], text=True))


def packed_bytes(table, columns):
    """Bytes of the packed chunks of some columns."""
    names = ", ".join(f"'{c}'" for c in columns)
    return int(psql(f"SELECT sum(bytes) FROM gpucol.columns('{table}') WHERE column_name IN ({names})"))


class Duck:
    """The same rows in DuckDB, or nothing where python3 cannot import it."""

    def __init__(self):
        self.connection = None
        if importlib.util.find_spec("duckdb") is None:
            say("DuckDB: python3 cannot import duckdb, its column stays empty")
            return
        import duckdb
        self.connection = duckdb.connect()
        path = f"{os.environ['PGHOST']}/../rows.csv"
        psql(f"COPY heap_rows TO '{os.path.abspath(path)}' (FORMAT csv)")
        self.connection.execute(
            f"CREATE TABLE rows AS SELECT * FROM read_csv('{path}', header = false, columns = "
            "{'a': 'INTEGER', 'b': 'INTEGER', 'c': 'INTEGER', 'd': 'INTEGER', 'e': 'BIGINT'})")
        os.unlink(path)
        say(f"DuckDB {duckdb.__version__}, in memory")

    def milliseconds(self, query, threads, runs=5):
        """Median of a query, results fetched, after one unmeasured run."""
        if self.connection is None:
            return None
        self.connection.execute(f"SET threads = {threads}")
        times = []
        for _ in range(runs + 1):
            start = time.perf_counter()
            self.connection.execute(query.format("rows")).fetchall()
            times.append((time.perf_counter() - start) * 1000)
        return statistics.median(times[1:])


def measure_queries():
    """Heap, gpucol and DuckDB on the same rows, for each number of threads."""
    psql(f"""SET synchronous_commit = off;
        CREATE TABLE heap_rows {TABLE} USING heap; INSERT INTO heap_rows {FILL};
        CREATE TABLE gpucol_rows {TABLE} USING gpucol; INSERT INTO gpucol_rows SELECT * FROM heap_rows;
        VACUUM ANALYZE heap_rows; VACUUM ANALYZE gpucol_rows;
        CREATE EXTENSION pg_prewarm;
        SELECT pg_prewarm('heap_rows'); SELECT pg_prewarm('gpucol_rows');""")
    duck = Duck()
    sizes = psql("SELECT pg_total_relation_size('heap_rows'), pg_total_relation_size('gpucol_rows')")
    heap_size, gpucol_size = (int(n) for n in sizes.split("|"))
    say(f"{ROWS:,} rows: heap {heap_size / 1e6:,.0f} MB, gpucol {gpucol_size / 1e6:,.0f} MB")
    for threads in THREADS:
        say()
        say(f"{threads} thread{'s' if threads > 1 else ''} each; "
            f"memory read bandwidth {bandwidth(threads)} GB/s; milliseconds, warm medians")
        say()
        say("| query | heap | gpucol | ratio | expected | share of floor | duckdb | gpucol against duckdb |")
        say("|---|--:|--:|--:|--:|--:|--:|--:|")
        for query in QUERIES:
            say(query_row(query, threads, duck))


def query_row(query, threads, duck):
    """One line of the table of queries; stops where the answers differ."""
    name, sql, columns, expected = query
    heap_settings = f"SET max_parallel_workers_per_gather = {threads - 1}"
    gpucol_settings = f"{heap_settings}; SET gpucol.cpu_threads = {threads}; SET gpucol.pushdown = require; SET gpucol.engine = cpu"
    answers = [psql(f"{s};{sql.format(t)}") for s, t in
               [(heap_settings, "heap_rows"), (gpucol_settings, "gpucol_rows")]]
    if answers[0] != answers[1]:
        sys.exit(f"the answers differ: {sql}")
    heap = timed(sql.format("heap_rows"), heap_settings, runs=3)
    gpucol = timed(sql.format("gpucol_rows"), gpucol_settings, runs=9)
    floor = packed_bytes("gpucol_rows", columns) / bandwidth(threads) / 1e6
    other = duck.milliseconds(sql, threads)
    return (f"| {name} | {heap:,.0f} | {gpucol:.1f} | {heap / gpucol:.0f} | {expected} | {floor / gpucol:.0%} | "
            + (f"{other:.1f} | {other / gpucol:.1f} |" if other else " | |"))


def sessions(server):
    """How many processes of sessions the server's first process still has; one that has ended has no title."""
    found = 0
    with open(f"/proc/{server}/task/{server}/children", encoding="utf-8") as file:
        for child in file.read().split():
            try:
                with open(f"/proc/{child}/cmdline", encoding="utf-8") as title:
                    text = title.read()
                    found += text == "" or "[local]" in text
            except OSError:     # it is gone
                pass
    return found


def processor_ms(run):
    """Milliseconds of processor time of the sessions that a function opens and closes, by what the server's first process knows."""
    def spent():
        while sessions(server) > 0:
            time.sleep(0.02)
        with open(f"/proc/{server}/stat", encoding="utf-8") as file:
            return sum(int(n) for n in file.read().rsplit(")", 1)[1].split()[13:15])

    server = psql("SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1)").strip()
    before = spent()
    run()
    return (spent() - before) * 1000 / os.sysconf("SC_CLK_TCK")


def measure_load():
    """COPY, INSERT ... SELECT and size of the flights table."""
    directory = os.path.dirname(os.environ["PGHOST"])
    path = f"{directory}/flights.tsv"
    with open(f"{TREE}/test/bench/sql/flights.sql", encoding="utf-8") as file:
        create = file.read()
    source = subprocess.run(["xz", "-dc", f"{TREE}/test/bench/data/flights.csv.xz"],
                            capture_output=True, check=True).stdout.decode()
    psql(create, name="flights", am="heap")
    lines = source.split("\n", 1)[1]
    subprocess.run(["psql", "-X", "-q", "-c", "COPY flights FROM STDIN (FORMAT csv, NULL 'NA')"],
                   input=lines.encode(), check=True)
    psql(f"COPY (SELECT f.* FROM generate_series(1, 10), flights f) TO '{path}'")
    times = {}
    for _ in range(5):
        for method in ("heap", "gpucol"):
            for what, statement in (("COPY FROM, text", f"COPY target FROM '{path}'"),
                                    ("INSERT ... SELECT", "INSERT INTO target SELECT * FROM source")):
                psql("DROP TABLE IF EXISTS target; DROP TABLE IF EXISTS source;"
                     "CREATE TABLE source AS SELECT f.* FROM generate_series(1, 10), flights f; CHECKPOINT;")
                psql(create, name="target", am=method)
                out = []
                busy = processor_ms(lambda: out.append(psql(f"\\timing on\n{statement};")))
                times.setdefault((what, method), []).append(float(re.search(r"Time: ([0-9.]+)", out[0]).group(1)))
                times.setdefault((what + ", processor time", method), []).append(busy)
    psql(create, name="packed", am="gpucol")
    psql("INSERT INTO packed SELECT * FROM flights; VACUUM flights; VACUUM packed")
    say()
    say(f"Loading 3,367,760 rows of flights (ten times the table), milliseconds, medians of five, logged tables")
    say()
    say("| | heap | gpucol | heap/gpucol |")
    say("|---|--:|--:|--:|")
    for what in ("COPY FROM, text", "INSERT ... SELECT", "COPY FROM, text, processor time", "INSERT ... SELECT, processor time"):
        heap, gpucol = (statistics.median(times[(what, m)]) for m in ("heap", "gpucol"))
        say(f"| {what} | {heap:,.0f} | {gpucol:,.0f} | {heap / gpucol:.2f} |")
    sizes = psql("SELECT pg_total_relation_size('flights'), pg_total_relation_size('packed')")
    heap, gpucol = (int(n) for n in sizes.split("|"))
    say(f"| size of 336,776 flights, bytes | {heap:,} | {gpucol:,} | {heap / gpucol:.2f} |")


def pgbench_rate(database):
    """Transactions a second of pgbench's default script, two clients, and milliseconds of processor time of each."""
    out = []
    busy = processor_ms(lambda: out.append(subprocess.run(["pgbench", "-n", "-c", "2", "-T", str(SECONDS), database],
                                                          capture_output=True, text=True, check=True).stdout))
    return (float(re.search(r"tps = ([0-9.]+)", out[0]).group(1)),
            busy / int(re.search(r"actually processed: ([0-9]+)", out[0]).group(1)))


def measure_pgbench():
    """Rates on heap and on gpucol in turn, six times; the ratio of medians."""
    rates = {"heap": [], "gpucol": []}
    for method in rates:
        psql(f"CREATE DATABASE bench_{method}; ALTER DATABASE bench_{method} SET synchronous_commit = off")
        environment = dict(os.environ, PGDATABASE=f"bench_{method}")
        subprocess.run(["psql", "-X", "-q", "-c", "CREATE EXTENSION gpucol"], env=environment, check=True)
        environment["PGOPTIONS"] = f"-c default_table_access_method={method}"
        subprocess.run(["pgbench", "-i", "-q", "-s", "20"], env=environment, check=True, capture_output=True)
    for _ in range(6):
        for method in rates:
            rates[method].append(pgbench_rate(f"bench_{method}"))
    heap, gpucol = (statistics.median(rate for rate, _ in rates[m]) for m in ("heap", "gpucol"))
    heap_busy, gpucol_busy = (statistics.median(busy for _, busy in rates[m]) for m in ("heap", "gpucol"))
    say()
    say(f"pgbench, default script, scale 20, 2 clients, synchronous_commit off, {SECONDS} s runs in turn: "
        f"heap {heap:,.0f}, gpucol {gpucol:,.0f} transactions/s, ratio {gpucol / heap:.2f} (expected 0.90); "
        f"processor time of a transaction: heap {heap_busy:.3f}, gpucol {gpucol_busy:.3f} ms, ratio {heap_busy / gpucol_busy:.2f}")


def measure_key():
    """Rows by their key, a prepared statement each, in random order: microseconds of processor time, heap's and gpucol's in turn."""
    columns = ("i AS id, i % 7 AS a, 'n' || i AS third, (i / 7.0)::numeric(10, 2) AS n, i / 3.0::float8 AS f, date '2000-01-01' + i % 999 AS d,"
               " md5(i::text) AS h, timestamp '2000-01-01' + i * interval '1 min' AS t, i % 3 = 0 AS b, i % 50 AS k, 'w' || i % 40 AS w,"
               " 'last' || i AS last")
    number = 20000
    for method in ("heap", "gpucol"):
        psql(f"CREATE TABLE key_{method} USING {method} AS SELECT {columns} FROM generate_series(1, 100000) i ORDER BY md5(i::text);"
             f"ALTER TABLE key_{method} ADD PRIMARY KEY (id); VACUUM ANALYZE key_{method}")
    say()
    say("Rows by their key, 100,000 rows of 12 columns, microseconds of processor time of an EXECUTE, medians of five")
    say()
    say("| | heap | gpucol | heap/gpucol |")
    say("|---|--:|--:|--:|")
    for what, column in (("third column", "third"), ("last column", "last"), ("all columns", "*")):
        times = {"heap": [], "gpucol": []}
        for _ in range(5):
            for method in times:
                text = (f"SET plan_cache_mode = force_generic_plan; PREPARE row_of(int) AS SELECT {column} FROM key_{method} WHERE id = $1;"
                        + "".join(f"EXECUTE row_of({1 + i * 7919 % 100000});" for i in range(number)))
                times[method].append(processor_ms(lambda: psql(text)) * 1000 / number)
        heap, gpucol = (statistics.median(times[m]) for m in ("heap", "gpucol"))
        say(f"| {what} | {heap:.1f} | {gpucol:.1f} | {heap / gpucol:.2f} |")


psql("CREATE EXTENSION IF NOT EXISTS gpucol")
say(machine(TREE))
for part in PARTS:
    {"queries": measure_queries, "load": measure_load, "pgbench": measure_pgbench, "key": measure_key}[part]()
