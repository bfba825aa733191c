#!/usr/bin/env python3
"""recursion.py DATA [check|compare|fill ...]: recursion on real graphs.

Runs against the server that PGHOST, PGUSER and PGDATABASE name (a superuser,
with gpucol installed and in session_preload_libraries or
shared_preload_libraries).  DATA is a folder with truth.tsv and graphs/, cspa/,
weighted/, galen/ beside it.

check    transitive closure and same generation of every graph whose result is
         below GPUCOL_BENCH_ROWS rows (default 2e9 and 2e8), components,
         shortest paths, CSPA and GALEN: counts and checksums against the truth
compare  closure and same generation by GpucolRecursive and by PostgreSQL's
         RecursiveUnion in one run: seconds and peak memory of the backend
fill     a closure into new and existing tables, in batches and row by row
"""
import csv
import gzip
import os
import subprocess
import sys
import time

DATA = sys.argv[1]
TC_ROWS = float(os.environ.get("GPUCOL_BENCH_ROWS", 2e9))
SG_ROWS = float(os.environ.get("GPUCOL_BENCH_ROWS", 2e8))
failures = 0


def psql(script, timeout=1200):
    """Run a script in a session of its own; its unaligned output."""
    done = subprocess.run(["psql", "-XAtq", "-v", "ON_ERROR_STOP=1"], input=script,
                          capture_output=True, text=True, timeout=timeout)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    return done.stdout.strip()


def load(table, columns, path, separator="\t"):
    """A table from a compressed text file."""
    with gzip.open(path, "rt") as file:
        rows = file.read()
    psql(f'DROP TABLE IF EXISTS "{table}"; CREATE TABLE "{table}" ({columns});\n'
         f"COPY \"{table}\" FROM STDIN (FORMAT csv, DELIMITER E'{separator}');\n{rows}\\.\nANALYZE \"{table}\";\n")


def report(name, got, wanted, seconds):
    """One line of check."""
    global failures
    right = got == wanted
    failures += not right
    print(f"{name:28} {seconds:8.3f} s  {'right' if right else f'WRONG: {got}, not {wanted}'}", flush=True)


def timed(script):
    start = time.perf_counter()
    result = psql(script)
    return result, time.perf_counter() - start


def tc(table, what):
    return (f'WITH RECURSIVE r(x, y) AS (SELECT src, dst FROM "{table}" UNION '
            f'SELECT r.x, e.dst FROM r JOIN "{table}" e ON e.src = r.y) SELECT {what} FROM r')


def sg(table, what):
    return (f'WITH RECURSIVE r(x, y) AS (SELECT a.dst, b.dst FROM "{table}" a JOIN "{table}" b USING (src) '
            f'WHERE a.dst <> b.dst UNION SELECT a.dst, b.dst FROM r JOIN "{table}" a ON a.src = r.x '
            f'JOIN "{table}" b ON b.src = r.y) SELECT {what} FROM r')


SUMS = "count(*), coalesce(sum(x), 0), coalesce(sum(y), 0)"

COMPONENTS = """
CREATE TEMP VIEW both_ways AS SELECT src, dst FROM "%s" UNION ALL SELECT dst, src FROM "%s";
SELECT count(DISTINCT c) FROM gpucol.datalog('
.decl both_ways(a:number, b:number)
.decl component(a:number, c:number)
component(x, x) :- both_ways(x, _).
component(y, c) :- component(x, c), both_ways(x, y).
component(x, a) <= component(x, b) :- b < a.', 'component') AS t(x int, c int);
"""

PATHS = """
CREATE TEMP VIEW arc AS SELECT src, dst, (weight * 1000000)::bigint AS w FROM "%s"
    UNION ALL SELECT dst, src, (weight * 1000000)::bigint FROM "%s" WHERE %s;
CREATE TEMP VIEW start AS SELECT min(src) FROM "%s";
SELECT count(*), max(d) / 1000000.0, sum(d) / 1000000.0 FROM gpucol.datalog('
.decl arc(a:number, b:number, w:number)
.decl start(a:number)
.decl dist(a:number, d:number)
dist(x, 0) :- start(x).
dist(y, d + w) :- dist(x, d), arc(x, y, w).
dist(x, a) <= dist(x, b) :- b < a.', 'dist') AS t(x int, d bigint);
"""

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "include", "cspa.dl")) as program:
    CSPA = program.read()

GALEN = """
.decl isMainClass(a:symbol) .decl isSubClass(a:symbol) .decl subClassOf(a:symbol, b:symbol)
.decl conj(a:symbol, b:symbol, c:symbol) .decl exists(a:symbol, b:symbol, c:symbol) .decl subProp(a:symbol, b:symbol)
.decl init(c:symbol) .decl sub(a:symbol, b:symbol) .decl ex(a:symbol, b:symbol, c:symbol) .decl mainSub(a:symbol, b:symbol)
.output init, sub, ex, mainSub
init(C) :- isMainClass(C).
init(C) :- ex(_, _, C).
sub(C, C) :- init(C).
sub(C, "http://www.w3.org/2002/07/owl#Thing") :- isMainClass(C).
sub(C, D1) :- sub(C, Y), conj(Y, D1, _).
sub(C, D2) :- sub(C, Y), conj(Y, _, D2).
sub(C, I) :- sub(C, D1), sub(C, D2), conj(I, D1, D2), isSubClass(I).
ex(E, R, C) :- sub(E, Y), exists(Y, R, C).
sub(E, Y) :- ex(E, R, C), sub(C, D), subProp(R, S), exists(Y, S, D), isSubClass(Y).
sub(C, E) :- sub(C, D), subClassOf(D, E).
sub(E, "http://www.w3.org/2002/07/owl#Nothing") :- ex(E, _, C), sub(C, "http://www.w3.org/2002/07/owl#Nothing").
mainSub(A, B) :- sub(A, B), isMainClass(A), isMainClass(B).
"""


def truth():
    with open(f"{DATA}/truth.tsv") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def check_graphs():
    for row in truth():
        name = row["dataset"]
        load(name, "src int, dst int", f"{DATA}/graphs/{name}.tsv.gz")
        if float(row["tc_count"]) < TC_ROWS:
            got, seconds = timed(tc(name, SUMS))
            report(f"tc {name}", got, "|".join([row["tc_count"], row["tc_sum_x"], row["tc_sum_y"]]), seconds)
        if float(row["sg_count"]) < SG_ROWS:
            got, seconds = timed(sg(name, SUMS))
            report(f"sg {name}", got, "|".join([row["sg_count"], *[row["sg_sum_x(=sum_y)"]] * 2]), seconds)
        if row["wcc_count"]:
            got, seconds = timed(COMPONENTS % (name, name))
            report(f"components {name}", got, row["wcc_count"], seconds)
        psql(f'DROP TABLE "{name}"')


def check_paths():
    answers = {("OL.cedge", "false"): (327, 4725.954229, 961839.927893),
               ("cal.cedge", "false"): (6, 0.039753, 0.092759),
               ("OL.cedge", "true"): (6105, 11163.251440, 38741040.391031),
               ("cal.cedge", "true"): (21048, 14.836895, 154519.021320)}
    for (name, both), wanted in answers.items():
        load("w" + name, "src int, dst int, weight numeric", f"{DATA}/weighted/{name}.tsv.gz")
        got, seconds = timed(PATHS % ("w" + name, "w" + name, both, "w" + name))
        got = tuple(round(float(x), 6) for x in got.split("|"))
        report(f"paths {name}{' both ways' if both == 'true' else ''}", got, wanted, seconds)


def into(program, name):
    got, seconds = timed(f"CREATE SCHEMA recursion_out; SELECT row_count FROM gpucol.datalog_into($${program}$$, 'recursion_out'); "
                         "SET client_min_messages = warning; DROP SCHEMA recursion_out CASCADE;")
    return got.split("\n"), seconds


def check_programs():
    for name, wanted in (("wc", "293 468 121"), ("bzip2", "841 1853 248"), ("gzip", "3807 10066 1390")):
        for table in "assign", "dereference":
            load(table, "a int, b int", f"{DATA}/cspa/{name}.{table}.tsv.gz")
        got, seconds = into(CSPA, name)
        report(f"CSPA {name}", got, wanted.split(), seconds)
    for table, n in (("isMainClass", 1), ("isSubClass", 1), ("subClassOf", 2), ("conj", 3), ("exists", 3), ("subProp", 2)):
        load(table, ", ".join(f"c{i} text" for i in range(n)), f"{DATA}/galen/{table}.csv.gz", ",")
    got, seconds = into(GALEN, "galen")
    report("GALEN", got, "25963 1091144 309713 455126".split(), seconds)


def measure(settings, query):
    """Seconds of a query in a warm session, and peak memory of its backend beyond an idle one's."""
    memory = "SELECT substring(pg_read_file('/proc/self/status') from 'VmHWM:\\s+(\\d+)')"
    out = psql(f"{settings}; SELECT count(*) FROM pg_class; {memory};\n\\timing on\n{query};\n\\timing off\n{memory};\n", 3600)
    lines = out.split("\n")
    before, after = int(lines[1]), int(lines[-1])
    seconds = float(next(line for line in lines if line.startswith("Time:")).split()[1]) / 1000
    return lines[2], seconds, (after - before) / 1024


def compare():
    jobs = [("tc", tc, "p2p-Gnutella09"), ("tc", tc, "cti"), ("tc", tc, "wiki-Vote"), ("sg", sg, "cti")]
    print(f"{'':22} {'RecursiveUnion':>24} {'GpucolRecursive':>24} {'HISA alone':>24}   ratio  memory")
    for kind, query, name in jobs:
        load(name, "src int, dst int", f"{DATA}/graphs/{name}.tsv.gz")
        text = query(name, SUMS)
        theirs = measure("SET work_mem = '1GB'; SET gpucol.pushdown = forbid; SET statement_timeout = '20min'", text)
        ours = sorted((measure("SET gpucol.recursive_strategy = auto", text) for _ in range(3)), key=lambda m: m[1])[1]
        hisa = measure("SET gpucol.recursive_strategy = hisa", text)
        if not theirs[0] == ours[0] == hisa[0]:
            raise RuntimeError(f"{kind} {name}: {theirs[0]}, {ours[0]}, {hisa[0]}")
        print(f"{kind + ' ' + name:22}" + "".join(f" {s:11.3f} s {m:7.0f} MB" for _, s, m in (theirs, ours, hisa)) +
              f" {theirs[1] / ours[1]:7.0f} {theirs[2] / max(ours[2], 0.1):7.0f}", flush=True)


def fill():
    """A closure into a table, in batches of the engine and row by row, in turn; medians of three."""
    name = "p2p-Gnutella09"
    load(name, "src int, dst int", f"{DATA}/graphs/{name}.tsv.gz")
    query = tc(name, "*")
    jobs = [("CREATE TABLE USING gpucol AS", "", f"CREATE TABLE filled USING gpucol AS {query}"),
            ("INSERT into a gpucol table", "CREATE TABLE filled (x int, y int) USING gpucol", f"INSERT INTO filled {query}"),
            ("CREATE TABLE AS (heap)", "", f"CREATE TABLE filled USING heap AS {query}"),
            ("INSERT into a heap table", "CREATE TABLE filled (x int, y int) USING heap", f"INSERT INTO filled {query}")]
    print(f"{'':30} {'in batches':>12} {'row by row':>12}   times")
    for what, before, statement in jobs:
        seconds = {"on": [], "off": []}
        for _ in range(3):
            for way in seconds:
                psql(f"DROP TABLE IF EXISTS filled; {before}")
                seconds[way].append(timed(f"SET gpucol.enable_into = {way}; {statement}")[1])
        ours, theirs = sorted(seconds["on"])[1], sorted(seconds["off"])[1]
        print(f"{what:30} {ours:10.2f} s {theirs:10.2f} s {theirs / ours:7.1f}", flush=True)
    psql("DROP TABLE filled")


def main():
    psql("CREATE EXTENSION IF NOT EXISTS gpucol")
    for job in sys.argv[2:] or ["check", "compare"]:
        if job == "check":
            check_programs()
            check_paths()
            check_graphs()
        elif job == "fill":
            fill()
        else:
            compare()
    sys.exit(failures > 0)


if __name__ == "__main__":
    if not os.path.exists(f"{DATA}/truth.tsv"):
        print(f"skipped: no data in {DATA}")
        sys.exit(0)
    main()
