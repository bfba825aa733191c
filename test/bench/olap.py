"""olap.py TREE [ssb|tpch|tpcds|hits|mining ...]: whole queries, parts `olap` and `mining` of `make bench`.

The statements of test/olap over gpucol tables (by the CPU engine, and by the device where that
is asked for), heap tables, tables of other columnar extensions that are named (peers.py) and (where
python3 can import it) DuckDB: first every answer is compared, then they are timed in turn in one run, medians of warm ones.  Expects a running
private cluster named by PGHOST, psql on PATH.  README says which variables of the environment
set scales, systems, threads, repeats and the limit of a statement.  Exits with 1 where an answer
differs.
"""

import concurrent.futures
import glob
import importlib.util
import json
import math
import os
import re
import shutil
import statistics
import subprocess
import sys
import time

import peers
from report import Report, machine, psql

TREE = sys.argv[1]
BENCHMARKS = sys.argv[2:] or os.environ.get("GPUCOL_BENCH_OLAP", "ssb tpch hits").split()
SCALE = float(os.environ.get("GPUCOL_BENCH_SCALE", 0.1))
REPEATS = int(os.environ.get("GPUCOL_BENCH_REPEATS", 3))
LIMIT = float(os.environ.get("GPUCOL_BENCH_LIMIT", 5))
THREADS = [int(n) for n in os.environ.get("GPUCOL_BENCH_THREADS", "1 2").split()]
KEYS = os.environ.get("GPUCOL_BENCH_KEYS", "no yes").split()
ONLY = os.environ.get("GPUCOL_BENCH_QUERIES", "").split()
# Over which tables of PostgreSQL, by which engine: gpucol (the CPU's), heap, cuda; and peers.py's.
SERVERS = os.environ.get("GPUCOL_BENCH_SYSTEMS", "gpucol heap").split()
# The tables, heap's first, since the others are filled from them.
METHODS = sorted({peers.schema(name) for name in SERVERS}, key=lambda name: (name != "heap", name))
LOADERS = int(os.environ.get("GPUCOL_BENCH_LOADERS", 1))
TPCHGEN = os.environ.get("GPUCOL_BENCH_TPCHGEN", f"{TREE}/build/venv/bin/tpchgen-cli")
TABLES = {"ssb": ["dates", "customer", "supplier", "part", "lineorder"],
          "tpch": ["region", "nation", "supplier", "part", "partsupp", "customer", "orders", "lineitem"],
          "tpcds": re.findall(r"^CREATE TABLE (\w+)", open(f"{TREE}/test/olap/tpcds_tables.sql", encoding="utf-8").read(), re.M),
          "hits": ["hits"],
          "mining": ["points", "centres", "documents", "views", "samples", "matrix", "baskets", "readings",
                     "streets", "turns", "weathers", "actors"]}
LOADED = []
HITS = round(3000000 * SCALE)
DIRECTORY = f"{TREE}/build/olap"
say = Report(f"{TREE}/build/bench-{'mining' if BENCHMARKS == ['mining'] else 'olap'}.md")


def file(name):
    """A file of test/olap with its variables replaced."""
    with open(f"{TREE}/test/olap/{name}.sql", encoding="utf-8") as source:
        return source.read().replace(":scale", str(SCALE)).replace(":skew", "0").replace(
            ":rows", str(HITS)).replace(":many", str(HITS // 1000))


def queries(benchmark):
    """(name, statement) of a benchmark's queries."""
    if benchmark == "tpcds":
        with open(f"{DIRECTORY}/tpcds/queries.json", encoding="utf-8") as source:
            return [(str(name), sql.strip().rstrip(";")) for name, sql in json.load(source)
                    if not ONLY or str(name) in ONLY]
    found = re.findall(r"^-- (\S+)\n((?:select|with)\b.*?);\n", file(f"{benchmark}_queries"), re.S | re.M)
    return [(name, sql.replace("0.0001", f"{0.0001 / SCALE:.10f}") if name == "11" else sql)
            for name, sql in found if not ONLY or name in ONLY]


def schema(method, benchmark):
    """Options of a session that finds the tables of a system."""
    return f"-c search_path={method}_{benchmark},public -c default_table_access_method={peers.method(method)}"


# ---- rows ----

def tpchgen():
    """Folder with the rows of TPC-H as CSV, made by tpchgen-cli in a private environment, or None."""
    environment, folder = f"{TREE}/build/venv", f"{DIRECTORY}/tpch"
    try:
        if not os.path.exists(TPCHGEN):
            subprocess.run([sys.executable, "-m", "venv", environment], check=True, capture_output=True)
            subprocess.run([f"{environment}/bin/pip", "install", "-q", "tpchgen-cli"], check=True,
                           capture_output=True)
        subprocess.run([TPCHGEN, "csv", "-s", f"{SCALE:g}", "--output-dir", folder]
                       + (["--parts", str(LOADERS)] if LOADERS > 1 else []), check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        say(f"TPC-H: skipped, tpchgen-cli of PyPI cannot be installed or run here ({error})")
        return None
    return folder


# Rows of TPC-DS as CSV and its queries, made by an extension of DuckDB that PyPI has for this version.
TPCDS = """
import json, sys, duckdb, duckdb_extension_tpcds
scale, folder = float(sys.argv[1]), sys.argv[2]
place = duckdb_extension_tpcds.__path__[0]
connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
connection.execute(f"LOAD '{place}/extensions/v{duckdb.__version__}/tpcds.duckdb_extension'")
connection.execute(f"CALL dsdgen(sf = {scale})")
for table, in connection.execute("SHOW TABLES").fetchall():
    connection.execute(f"COPY {table} TO '{folder}/{table}.csv' (FORMAT csv, HEADER)")
with open(f"{folder}/queries.json", "w") as out:
    json.dump(connection.execute("SELECT query_nr, query FROM tpcds_queries()").fetchall(), out)
"""
TPCDS_VERSION = "1.5.5"


def tpcds():
    """Folder with the rows and queries of TPC-DS, made in a private environment, or None."""
    environment, folder = f"{TREE}/build/venv-tpcds", f"{DIRECTORY}/tpcds"
    try:
        if not os.path.exists(f"{environment}/bin/python"):
            subprocess.run([sys.executable, "-m", "venv", environment], check=True, capture_output=True)
            subprocess.run([f"{environment}/bin/pip", "install", "-q", f"duckdb=={TPCDS_VERSION}",
                            f"duckdb-extension-tpcds=={TPCDS_VERSION}"], check=True, capture_output=True)
        subprocess.run([f"{environment}/bin/python", "-c", TPCDS, f"{SCALE:g}", folder], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        say(f"TPC-DS: skipped, its generator of PyPI cannot be installed or run here ({error})")
        return None
    return folder


# What makes the rows of a benchmark outside of PostgreSQL.
MAKERS = {"tpch": tpchgen, "tpcds": tpcds}

# What the rows of a benchmark are drawn with.
DRAWN = {"ssb": ["draw", "nations"], "hits": ["draw", "hits_words"], "mining": ["draw"]}


def columns(benchmark, table):
    """The columns of a table as DuckDB reads them: arrays in brackets."""
    return psql(f"""SELECT string_agg(CASE WHEN data_type = 'ARRAY' THEN format('translate(%1$I::text, ''{{}}'', ''[]'') AS %1$I', column_name)
        ELSE quote_ident(column_name) END, ', ' ORDER BY ordinal_position) FROM information_schema.columns
        WHERE table_schema = '{METHODS[0]}_{benchmark}' AND table_name = '{table}'""").strip()


def copy(benchmark, folder):
    """Fill the first access method's tables from CSV files, several at a time."""
    with concurrent.futures.ThreadPoolExecutor(LOADERS) as pool:
        done = [pool.submit(psql, f"\\copy {table} FROM '{path}' (FORMAT csv, HEADER)", schema(METHODS[0], benchmark))
                for table in TABLES[benchmark] for path in csv_files(folder, table)]
    for one in done:
        one.result()


def csv_files(folder, table):
    """The files with a table's rows."""
    return glob.glob(f"{folder}/{table}.csv") + glob.glob(f"{folder}/{table}/*.csv")


def load(benchmark):
    """Fill the tables of the access methods; the folder of CSV files or None where rows cannot be made."""
    folder = f"{DIRECTORY}/{benchmark}"
    first = METHODS[0]
    os.makedirs(folder)
    for method in METHODS:
        psql(f"CREATE SCHEMA {method}_{benchmark}")
        psql(file(f"{benchmark}_tables"), schema(method, benchmark))
        for table in TABLES[benchmark]:
            psql(peers.divide(method, table, divisor_type(method, benchmark, table)), schema(method, benchmark))
    if benchmark in MAKERS:
        if MAKERS[benchmark]() is None:
            return None
        copy(benchmark, folder)
    else:
        psql("".join(map(file, DRAWN[benchmark] + [f"{benchmark}_rows"])), schema(first, benchmark))
        for table in TABLES[benchmark]:
            psql(f"\\copy (SELECT {columns(benchmark, table)} FROM {table}) TO '{folder}/{table}.csv' (FORMAT csv, HEADER)",
                 schema(first, benchmark))
    for method in METHODS:
        fill(method, benchmark)
    return folder


def divisor_type(method, benchmark, table):
    """The type of the column that divides a table; "" where none does."""
    by = peers.divisor(method, table)
    return psql(f"SELECT format_type(atttypid, -1) FROM pg_attribute WHERE attname = '{by}' AND attrelid = "
                f"'{method}_{benchmark}.{table}'::regclass").strip() if by else ""


def fill(method, benchmark):
    """Fill a system's tables from the first one's, and say how long that took and how large they are."""
    options = schema(method, benchmark)
    begin = time.monotonic()
    for table in TABLES[benchmark]:
        if method != METHODS[0]:
            psql(f"INSERT INTO {table} SELECT * FROM {METHODS[0]}_{benchmark}.{table}", options)
        psql(peers.finish(method, table), options)
    taken = time.monotonic() - begin
    for table in TABLES[benchmark]:
        psql(f"VACUUM ANALYZE {table}", options)
    size = psql("SELECT " + " + ".join(peers.size(method, table) for table in TABLES[benchmark]), options)
    LOADED.append((method, None if method == METHODS[0] else taken, int(size) / 1e6, changed(method, benchmark)))


# A change of one row in a hundred, by benchmark.
CHANGES = {"tpch": "UPDATE orders SET o_shippriority = o_shippriority + 1 WHERE o_orderkey % 100 = 1"}


def changed(method, benchmark):
    """Milliseconds of the change, rolled back; what the system says where it refuses it."""
    if benchmark not in CHANGES:
        return ""
    server = Server(method, benchmark, 1)
    server.ask("BEGIN")
    out = server.ask(f"\\timing on\n{CHANGES[benchmark]};\n\\timing off")
    server.ask("ROLLBACK")
    server.close()
    refused = re.search(r"^ERROR:  (.*)", out, re.M)
    return f"refused: {refused.group(1)}" if refused else re.search(r"^Time: ([0-9.]+) ms", out, re.M).group(1)


def loaded(benchmark, duck):
    """Print how the systems were filled."""
    say()
    say(f"{benchmark}, scale {SCALE:g}: INSERT ... SELECT of all tables from heap's (compressing them included); "
        "their size without indexes; UPDATE of one order in a hundred")
    say()
    say("| system | load, s | MB | update, ms |")
    say("|---|--:|--:|--:|")
    for method, taken, megabytes, change in LOADED:
        say(f"| {method} | {'' if taken is None else f'{taken:.1f}'} | {megabytes:,.0f} | {change} |")
    if duck:
        say(f"| duckdb | {duck.loaded:.1f} (CSV) | {os.path.getsize(duck.path) / 1e6:,.0f} | |")
    LOADED.clear()


# ---- systems ----

class Server:
    """A psql session over the tables of one access method, by one engine."""

    def __init__(self, system, benchmark, threads):
        method = peers.schema(system)
        self.process = subprocess.Popen(
            ["psql", "-X", "-q", "-A", "-t"], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, env=dict(os.environ, PGOPTIONS=schema(method, benchmark)))
        self.system, self.failed = system, False
        self.ask(f"SET max_parallel_workers_per_gather = {threads - 1}; SET statement_timeout = '{LIMIT}s'; "
                 + (f"SET gpucol.cpu_threads = {threads}; SET gpucol.engine = {'cuda' if system == 'cuda' else 'cpu'}"
                    if method == "gpucol" else ""))

    def ask(self, script):
        """What psql prints for a script."""
        self.process.stdin.write(f"{script};\n\\echo <<end>>\n")
        self.process.stdin.flush()
        lines = []
        for line in self.process.stdout:
            if line == "<<end>>\n":
                return "".join(lines)
            lines.append(line)
        sys.exit(f"the server ended the session: {''.join(lines)}\n{script}")

    def rows(self, sql):
        """Rows of a statement, or None where it took too long or a peer raised an error, which is said."""
        out = self.ask(sql)
        if "canceling statement due to statement timeout" in out:
            return None
        if re.search("^ERROR:", out, re.M):
            if self.system not in peers.PEERS:
                sys.exit(f"{out}\n{sql}")
            self.failed = True
            say(f"{self.system}: {out.strip()}")
            return None
        return [line.split("|") for line in out.splitlines()]

    def milliseconds(self, sql):
        """Time of a statement, or None where it took too long."""
        out = self.ask(f"\\timing on\n\\o /dev/null\n{sql};\n\\o\n\\timing off")
        found = re.search(r"^Time: ([0-9.]+) ms", out, re.M)
        return float(found.group(1)) if found and "canceling statement" not in out else None

    def memory(self, sql):
        """Megabytes of its own that a fresh session held at most during a statement."""
        pid = self.ask("SELECT pg_backend_pid()").strip()
        before = status(pid, "RssAnon")
        self.ask(f"\\o /dev/null\n{sql};\n\\o")
        return (status(pid, "VmHWM") - status(pid, "RssShmem") - status(pid, "RssFile") - before) / 1024

    def close(self):
        """End the session."""
        self.process.stdin.close()
        self.process.wait()


def status(pid, field):
    """Kilobytes that /proc says of a process."""
    with open(f"/proc/{pid}/status", encoding="utf-8") as lines:
        return int(re.search(rf"^{field}:\s+(\d+)", lines.read(), re.M).group(1))


class Duck:
    """The same rows in a file of DuckDB."""

    # What a process of its own does to say how much memory a statement takes.
    MEMORY = """
import sys, duckdb
def status(field):
    return next(int(l.split()[1]) for l in open('/proc/self/status') if l.startswith(field))
c = duckdb.connect(sys.argv[1], read_only=True)
c.execute("SET threads = 1; SET enable_progress_bar = false")
before = status('VmRSS')
c.execute(sys.stdin.read()).fetchall()
print((status('VmHWM') - before) / 1024)
"""

    def __init__(self, benchmark, folder):
        import duckdb
        self.path = f"{DIRECTORY}/{benchmark}.duckdb"
        begin = time.monotonic()
        with duckdb.connect(self.path) as connection:
            connection.execute(file(f"{benchmark}_tables"))
            for table in TABLES[benchmark]:
                for path in csv_files(folder, table):
                    connection.execute(f"COPY {table} FROM '{path}' (FORMAT csv, HEADER, allow_quoted_nulls false)")
        self.loaded = time.monotonic() - begin
        self.connection = duckdb.connect(self.path, read_only=True)
        say(f"DuckDB {duckdb.__version__}, a warm file without keys; memory: of a process of its own, "
            "blocks of the file included")

    def rows(self, sql):
        """Rows of a statement as text."""
        return [["" if value is None else str(value) for value in row]
                for row in self.connection.execute(sql).fetchall()]

    def milliseconds(self, sql, threads):
        """Time of a statement, results fetched."""
        self.connection.execute(f"SET threads = {threads}")
        start = time.perf_counter()
        self.connection.execute(sql).fetchall()
        return (time.perf_counter() - start) * 1000

    def memory(self, sql):
        """Megabytes that a fresh process takes for a statement."""
        return float(subprocess.run([sys.executable, "-c", self.MEMORY, self.path], input=sql, text=True,
                                    check=True, capture_output=True).stdout)


# ---- comparison ----

def same_rows(one, two):
    """True where two lists of rows hold the same, but for rounding and trailing blanks."""
    def value(text):
        try:
            return float(f"{float(text):.9g}")
        except ValueError:
            return text.rstrip()

    def close(a, b):
        if isinstance(a, float) and isinstance(b, float):
            return math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-6)
        return a == b

    one, two = (sorted(([value(v) for v in row] for row in rows), key=str) for rows in (one, two))
    return len(one) == len(two) and all(len(a) == len(b) and all(map(close, a, b)) for a, b in zip(one, two))


def left_in_plan(server, sql):
    """What of PostgreSQL's nodes is left in the plan over gpucol tables."""
    plan = server.ask(f"EXPLAIN (COSTS OFF) {sql}")
    counts = {"join": r"(?:Hash|Merge)(?: \w+){0,2} Join|Nested Loop",
              "agg": r"(?:^|-> +)(?:Partial |Finalize )?(?:Group|Hash|Mixed)?Aggregate|-> +Group$",
              "scan": r"(?:Seq|Index|Index Only|Bitmap Heap) Scan"}
    found = {name: len(re.findall(pattern, plan, re.M)) for name, pattern in counts.items()}
    return ", ".join(f"{count} {name}" for name, count in found.items() if count) or "none"


class Query:
    """One query: its answers, then its times with each number of threads."""

    def __init__(self, benchmark, name, sql, duck):
        self.name, self.sql, self.benchmark, self.duck = name, sql, benchmark, duck
        self.wrong, self.slow, self.failed = False, set(), set()

    def compare(self):
        """Compare the answers; note who takes too long to be timed."""
        answers = {}
        # Comments hold what settles the order of rows that tie.
        sql = re.sub(r"/\*(.*?)\*/", r"\1", self.sql, flags=re.S)
        for system in SERVERS:
            server = Server(system, self.benchmark, THREADS[0])
            answers[system] = server.rows(sql)
            if answers[system] is None:
                (self.failed if server.failed else self.slow).add(system)
            if system == "gpucol":
                self.left = left_in_plan(server, self.sql)
            server.close()
        if answers["gpucol"] is None:
            return
        for system, answer in answers.items():
            if answer is None:
                continue
            if system not in peers.PEERS:
                self.wrong |= sorted(answer) != sorted(answers["gpucol"])
            elif not same_rows(answer, answers["gpucol"]):
                say(f"{system}: another answer to {self.name}, not timed")
                self.failed.add(system)
        if self.duck:
            self.wrong |= not same_rows(self.duck.rows(sql), answers["gpucol"])

    def measure(self, servers, threads):
        """Medians by system; the limit where a statement reached it."""
        times = {system: [] for system in SERVERS + ["duckdb"]}
        for repeat in range(REPEATS + 1):
            for system, found in times.items():
                if system in self.slow | self.failed or (system == "duckdb" and not self.duck):
                    continue
                # A slow one is timed once.
                if repeat > 1 and found and found[0] > 1000 * LIMIT / 5:
                    continue
                taken = (self.duck.milliseconds(self.sql, threads) if system == "duckdb"
                         else servers[system].milliseconds(self.sql))
                if taken is None:
                    self.slow.add(system)
                elif repeat:
                    found.append(taken)
        return {system: statistics.median(found) if found and system not in self.slow else None
                for system, found in times.items()}

    def memory(self, method):
        """Megabytes of a session of one thread."""
        if method in self.slow:
            return None
        if method == "duckdb":
            return self.duck.memory(self.sql) if self.duck else None
        server = Server(method, self.benchmark, 1)
        found = server.memory(self.sql)
        server.close()
        return found

    def shown(self, times, system):
        """A time as text."""
        if system in self.failed:
            return "failed"
        if system in self.slow:
            return f"> {1000 * LIMIT:,.0f}"
        return f"{times[system]:,.1f}" if times[system] is not None else ""


def ratio(query, times, other):
    """Another system's time over gpucol's; a limit reached stands for a time."""
    limit = 1000 * LIMIT
    one = None if other in query.failed else limit if other in query.slow else times[other]
    two = limit if "gpucol" in query.slow else times["gpucol"]
    return one / two if one and two else None


def mean(values):
    """Geometric mean of those that there are, as text."""
    values = [value for value in values if value]
    return f"{math.exp(statistics.fmean(map(math.log, values))):.2f}" if values else ""


def table(benchmark, found, threads, with_memory):
    """Time all queries with a number of threads, and print the table."""
    servers = {system: Server(system, benchmark, threads) for system in SERVERS}
    others = [system for system in ["duckdb"] + SERVERS if system != "gpucol"]
    shown = ["gpucol"] + [system for system in SERVERS if system != "gpucol"] + ["duckdb"]
    rows, sides = [], []
    for query in found:
        if query.wrong:
            rows.append(f"| {query.name} | WRONG ANSWER |" + " |" * (len(shown) + len(others) - 1) + f" {query.left} | | |")
            continue
        times = query.measure(servers, threads)
        ratios = [ratio(query, times, other) for other in others]
        memory = [query.memory(m) if with_memory else None for m in ("gpucol", "duckdb")]
        sides.append(ratios)
        rows.append(f"| {query.name} | " + " | ".join(
            [query.shown(times, s) for s in shown] + [f"{r:.2f}" if r else "" for r in ratios]
            + [query.left] + ["" if m is None else f"{m:,.0f}" for m in memory]) + " |")
    say()
    say(f"{benchmark}, scale {SCALE:g}, {threads} thread{'s' if threads > 1 else ''} each; milliseconds, "
        f"medians of {REPEATS}")
    say()
    say(f"| query | {' | '.join(shown)} | {' | '.join(f'{other} / gpucol' for other in others)} | left to PostgreSQL "
        "| gpucol MB | duckdb MB |")
    say("|---|" + "--:|" * (len(shown) + len(others)) + "---|--:|--:|")
    for row in rows:
        say(row)
    means = [mean(side[i] for side in sides) for i in range(len(others))]
    say("| geometric mean |" + " |" * len(shown) + f" {' | '.join(means)} | | | |")
    for server in servers.values():
        server.close()


def measure(benchmark):
    """Load a benchmark's rows, compare and measure; the number of wrong answers."""
    folder = load(benchmark)
    if folder is None:
        return 0
    duck = Duck(benchmark, folder) if importlib.util.find_spec("duckdb") else None
    if not duck:
        say("DuckDB: python3 cannot import duckdb, its columns stay empty")
    loaded(benchmark, duck)
    wrong = 0
    for keys in KEYS if benchmark == "tpch" else ["no"]:
        if keys == "yes":
            for method in METHODS:
                psql(file(f"{benchmark}_keys") + "ANALYZE", schema(method, benchmark))
        say()
        say(f"## {benchmark}, {'with' if keys == 'yes' else 'without'} primary keys")
        found = [Query(benchmark, name, sql, duck) for name, sql in queries(benchmark)]
        for query in found:
            query.compare()
        wrong += sum(query.wrong for query in found)
        for threads in THREADS:
            table(benchmark, found, threads, threads == 1)
    return wrong


shutil.rmtree(DIRECTORY, ignore_errors=True)
for extension in ["gpucol"] + [peers.PEERS[name].extension for name in SERVERS if name in peers.PEERS]:
    psql(f"CREATE EXTENSION IF NOT EXISTS {extension}")
say(machine(TREE))
WRONG = sum(measure(b) for b in BENCHMARKS)
shutil.rmtree(DIRECTORY)
sys.exit(1 if WRONG else 0)
