#!/usr/bin/env python3
"""recursion_statements.py EDGES.tsv.gz [NAME ...]: recursions as people write them.

Runs against the server that PGHOST, PGUSER and PGDATABASE name (a superuser, with
gpucol installed).  EDGES is a compressed file of two columns of integers, a graph; the
other tables are made (sql/recursions.sql, which replaces the schemas h and g).  Each
statement of sql/recursions.txt, or each that is named, runs three times after one, in turn
by PostgreSQL over heap, by gpucol over heap and by gpucol over its own tables; the
medians in ms are printed, PostgreSQL's divided by the others', and whether all rows are
alike, those of gpucol's tables with all of gpucol off among them.

Where python3 can import duckdb, DuckDB takes its turn over the same tables in memory, with as
many threads as gpucol, its rows fetched; its time is divided by that of gpucol over its own tables.
A statement that it does not know, does not end in 60 seconds, or answers with another number of
rows has "-".
"""
import gzip
import importlib.util
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sql")
OFF = "SET gpucol.enable_recursive = off; SET gpucol.pushdown = forbid;"
ON = "SET gpucol.enable_recursive = on; SET gpucol.pushdown = allow;"
WAYS = [("h", OFF), ("h", ON), ("g", ON), ("g", OFF)]
SETTINGS = """LOAD 'gpucol'; SET client_min_messages = error; SET statement_timeout = '60s'; SET work_mem = '64MB';
SET jit = off; SET max_parallel_workers_per_gather = 0;
"""
PREPARE = """PREPARE sub(int) AS WITH RECURSIVE o AS (SELECT id, 1 AS lvl FROM emp WHERE id = $1
UNION ALL SELECT e.id, lvl + 1 FROM emp e JOIN o ON e.boss = o.id) SELECT lvl, count(*) FROM o GROUP BY lvl ORDER BY lvl;
"""
BEFORE = {"insert_select": "TRUNCATE sink;\n", "ctas": "DROP TABLE IF EXISTS made;\n",
          "prepared": "DEALLOCATE ALL;\n" + PREPARE}
AFTER = {"insert_select": "SELECT * FROM sink;\n", "ctas": "SELECT * FROM made;\n"}


def psql(script):
    """Output and errors of a script in a session of its own."""
    done = subprocess.run(["psql", "-XAtq"], input=script, capture_output=True, text=True)
    return done.stdout, done.stderr


def make_tables(edges):
    with gzip.open(edges, "rt") as file:
        rows = file.read()
    with open(os.path.join(FOLDER, "recursions.sql")) as file:
        text = file.read()
    begin = "SET client_min_messages = error; DROP SCHEMA IF EXISTS h CASCADE; DROP SCHEMA IF EXISTS g CASCADE;\n" \
        "CREATE SCHEMA h; CREATE SCHEMA g; CREATE TABLE h.edge (src int, dst int);\n"
    _, errors = psql("\\set ON_ERROR_STOP 1\n" + begin + f"COPY h.edge FROM STDIN;\n{rows}\\.\n" + text)
    if errors:
        sys.exit(errors)


def rows_of(name, statement, way):
    """The rows of a statement in an order of their own, and its error."""
    out, errors = psql(SETTINGS + f"SET search_path = {way[0]}; {way[1]}\n" + BEFORE.get(name, "") +
                       statement + ";\n" + AFTER.get(name, ""))
    return sorted(out.split("\n")), re.sub(r"LINE \d+:.*", "", errors)


def medians(name, statement):
    ways = WAYS[:3]
    script = SETTINGS
    for _ in range(4):
        for way in ways:
            script += f"SET search_path = {way[0]}; {way[1]}\n" + BEFORE.get(name, "") + \
                f"\\o /dev/null\n\\timing on\n{statement};\n\\timing off\n\\o\n"
    times = [float(x) for x in re.findall(r"Time: ([0-9.]+) ms", psql(script)[0])][3:]
    return [statistics.median(times[i::3]) if times[i::3] else float("nan") for i in range(3)]


def duck_tables():
    """A connection of DuckDB with the tables of schema h, None without DuckDB."""
    if not importlib.util.find_spec("duckdb"):
        return None
    import duckdb
    connection = duckdb.connect()
    threads = int(psql("LOAD 'gpucol'; SHOW gpucol.cpu_threads")[0])    # 0 stands for all
    connection.execute(f"SET threads = {threads or os.cpu_count()}")
    tables = psql("SELECT relname, string_agg(format('%I %s', attname, CASE atttypid WHEN 'jsonb'::regtype THEN 'text' ELSE "
                  "format_type(atttypid, atttypmod) END), ', ' ORDER BY attnum) FROM pg_class JOIN pg_attribute ON attrelid = "
                  "pg_class.oid AND attnum > 0 WHERE relnamespace = 'h'::regnamespace AND relkind = 'r' GROUP BY 1")[0]
    with tempfile.TemporaryDirectory() as folder:
        for name, columns in (line.split("|", 1) for line in tables.splitlines()):
            _, errors = psql(f"\\copy h.{name} TO '{folder}/{name}.csv' (FORMAT csv, HEADER)")
            if errors:
                sys.exit(errors)
            connection.execute(f"CREATE TABLE {name} ({columns}); COPY {name} FROM '{folder}/{name}.csv' (FORMAT csv, HEADER)")
    return connection


def duck_median(connection, statement, rows):
    """Milliseconds of DuckDB for a statement of so many rows, None where it has no such answer."""
    import duckdb
    times = []
    for _ in range(4):
        watch = threading.Timer(60, connection.interrupt)
        watch.start()
        begin = time.perf_counter()
        try:
            found = len(connection.execute(statement).fetchall())
        except duckdb.Error:
            return None
        finally:
            watch.cancel()
        if found != rows:
            return None
        times.append(1000 * (time.perf_counter() - begin))
    return statistics.median(times[1:])


def main():
    make_tables(sys.argv[1])
    duck = duck_tables()
    print(f"{'statement':20} {'PostgreSQL':>10} {'heap':>9} {'gpucol':>9} {'':>7} {'':>7} {'DuckDB':>9} {'':>7}  rows")
    for line in open(os.path.join(FOLDER, "recursions.txt")):
        name, statement = line.rstrip("\n").split("\t")
        if sys.argv[2:] and name not in sys.argv[2:]:
            continue
        rows = [rows_of(name, statement, way) for way in WAYS]
        alike = all(r == rows[0] for r in rows)
        base, heap, own = medians(name, statement)
        count = len(rows[0][0]) - 1
        taken = duck_median(duck, statement, count) if duck and alike and statement.startswith(("WITH", "SELECT")) else None
        beside = f"{taken:9.1f} {taken / own:7.2f}" if taken else f"{'-':>9} {'-':>7}"
        print(f"{name:20} {base:10.1f} {heap:9.1f} {own:9.1f} {base / heap:7.2f} {base / own:7.2f} {beside}  "
              f"{count if alike else 'DIFFERENT'}", flush=True)


if __name__ == "__main__":
    main()
