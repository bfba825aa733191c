#!/usr/bin/env python3
"""datalog.py DATA [NAME ...]: Datalog programs beside the same recursions in SQL.

Runs against the server that PGHOST, PGUSER and PGDATABASE name (a superuser, with gpucol
installed), as a user who may read /proc of its backends.  DATA is a folder with graphs/
and weighted/ beside truth.tsv.  Each pair of sql/datalog.txt runs in sessions of its own with
one thread, three times after one, in turn; printed are the rows, the medians of the backends'
processor time in ms, Datalog's divided by SQL's, and the most memory that the backends held, in
MB.  The answers are compared first.  Tables: sql/datalog.sql, in the schema pairs.
"""
import gzip
import os
import re
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
GRAPHS = ["cti", "wiki-Vote", "OL.cedge", "cal.cedge", "SF.cedge", "p2p-Gnutella04", "ego-Facebook", "grid_250"]
BEGIN = """LOAD 'gpucol'; SET search_path = pairs; SET client_min_messages = error; SET gpucol.cpu_threads = 1;
SET jit = off; SET max_parallel_workers_per_gather = 0; SET statement_timeout = '120s';
"""
CLOCK = "\\! cat /proc/$BACKEND/schedstat\n"
REPEATS = 3


def psql(script):
    """Output of a script in a session of its own, or its error."""
    done = subprocess.run(["psql", "-XAtq", "-v", "ON_ERROR_STOP=1"], input=script, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    return done.stdout


def table(name, columns, path):
    with gzip.open(path, "rt") as file:
        rows = file.read()
    psql(f"SET search_path = pairs; CREATE TABLE \"{name}\" ({columns});\nCOPY \"{name}\" FROM STDIN;\n{rows}\\.\n")


def make_tables(data):
    psql("SET client_min_messages = error; DROP SCHEMA IF EXISTS pairs CASCADE; CREATE SCHEMA pairs;")
    for graph in GRAPHS:
        table(graph, "src int, dst int", f"{data}/graphs/{graph}.tsv.gz")
    table("road", "src int, dst int, cost float8", f"{data}/weighted/cal.cedge.tsv.gz")
    with open(f"{HERE}/sql/datalog.sql") as file:
        psql("SET search_path = pairs;\n" + file.read() + "\nVACUUM ANALYZE;")


def pairs():
    """Name, SQL and Datalog's SQL of each pair."""
    with open(f"{HERE}/sql/datalog.txt") as file:
        for block in re.sub(r"^#.*\n", "", file.read(), flags=re.M).strip().split("\n\n"):
            name, sql, above, program = re.fullmatch(r"(\S+)\n(.*)\n(SELECT.*)\n((?s:.*))", block).groups()
            output = re.search(r"DATALOG\((\S+)\)", above)
            yield name, sql, above.replace(output[0], f"gpucol.datalog($${program}$$, '{output[1]}')")


def measured(statement):
    """Milliseconds of the backend for each run, and MB."""
    script = BEGIN + "SELECT pg_backend_pid() AS pid \\gset\n\\setenv BACKEND :pid\n"
    for _ in range(REPEATS + 1):
        script += CLOCK + f"\\o /dev/null\n{statement};\n\\o\n" + CLOCK
    out = psql(script + "\\! grep VmHWM /proc/$BACKEND/status\n")
    clocks = [int(line.split()[0]) for line in out.splitlines() if re.fullmatch(r"\d+ \d+ \d+", line)]
    return [(clocks[i + 1] - clocks[i]) / 1e6 for i in range(2, len(clocks), 2)], int(re.search(r"VmHWM:\s*(\d+)", out)[1]) / 1024


def main():
    if "keep" not in sys.argv[2:]:
        make_tables(sys.argv[1])
    wanted = [name for name in sys.argv[2:] if name != "keep"]
    worst = 0
    print(f"{'pair':22} {'rows':>9} {'SQL ms':>9} {'Datalog ms':>10} {'ratio':>6} {'SQL MB':>7} {'Datalog MB':>10}")
    for name, sql, datalog in pairs():
        if wanted and name not in wanted:
            continue
        answers = [psql(BEGIN + f"SELECT md5(string_agg(t::text, ',' ORDER BY t::text)) || ' ' || count(*) FROM ({s}) AS t")
                   for s in (sql, datalog)]
        first = measured(sql)
        second = measured(datalog)
        third = measured(sql)
        fourth = measured(datalog)
        a, b = statistics.median(first[0] + third[0]), statistics.median(second[0] + fourth[0])
        worst = max(worst, b / a)
        print(f"{name:22} {answers[0].split()[1] if answers[0] == answers[1] else 'DIFFERENT':>9} {a:9.2f} {b:10.2f} "
              f"{b / a:6.2f} {max(first[1], third[1]):7.0f} {max(second[1], fourth[1]):10.0f}", flush=True)
    print(f"the worst ratio: {worst:.2f}")


if __name__ == "__main__":
    main()
