"""pairs.py OLD NEW [DATA [GRAPH ...]]: two versions of gpucol side by side.

OLD and NEW are the socket folders of two running clusters (tools/cluster.sh), each with its
version installed; DATA is a folder of graphs as recursion.py reads it.  The same rows go to
both.  Then each statement runs in both in turn, on one thread, and what counts is the
processor time of the backend, which other work on the machine changes less than it does
times: the least of RUNS (default 7), and the median.  The answers must be equal.

A statement is marked where both are more than 5 % above the old ones.  Needs psycopg2 (PyPI)
and the clusters on this machine.
"""

import gzip
import os
import statistics
import sys

import psycopg2

HERE = os.path.dirname(os.path.abspath(__file__))
SOCKETS = {"old": sys.argv[1], "new": sys.argv[2]}
DATA = sys.argv[3] if len(sys.argv) > 3 else None
GRAPHS = sys.argv[4:]
ROWS = int(os.environ.get("GPUCOL_BENCH_ROWS", 3_000_000))
RUNS = int(os.environ.get("RUNS", 7))
ALLOWED = 1.05

SETTINGS = """SET max_parallel_workers_per_gather = 0; SET gpucol.cpu_threads = 1; SET gpucol.engine = cpu;
    SET jit = off; SET statement_timeout = '300s'; SET synchronous_commit = off"""

FILL = f"""DROP TABLE IF EXISTS r; CREATE TABLE r (a int, b int, c int, d int, e bigint) USING gpucol;
    SELECT setseed(0.5);
    INSERT INTO r SELECT (random() * 29999)::int, (random() * 999)::int, (random() * 9)::int,
        (random() * 99999)::int, (random() * 999999)::bigint FROM generate_series(1, {ROWS})"""

STATEMENTS = [
    ("filter, count", "SELECT count(*) FROM r WHERE a < 3000"),
    ("filter, sum of another", "SELECT sum(b) FROM r WHERE a < 3000"),
    ("GROUP BY 10 groups", "SELECT c, count(*), sum(b), avg(e) FROM r GROUP BY c ORDER BY c"),
    ("GROUP BY 100,000 groups", "SELECT d, count(*), sum(b), avg(e) FROM r GROUP BY d ORDER BY d"),
    ("min, max", "SELECT min(a), max(e) FROM r"),
    ("three conditions", "SELECT count(*) FROM r WHERE a BETWEEN 100 AND 20000 AND c IN (1, 3, 5) AND e < 500000"),
    ("computed condition", "SELECT count(*) FROM r WHERE a + b > 20000"),
    ("computed sum", "SELECT sum(a * b), avg(e - a) FROM r"),
    ("GROUP BY two columns", "SELECT b, c, count(*) FROM r GROUP BY b, c ORDER BY 1, 2"),
    ("count(DISTINCT)", "SELECT count(DISTINCT d) FROM r"),
    ("first rows", "SELECT a, e FROM r ORDER BY e DESC, a LIMIT 10"),
    ("rows, 0.1 %", "SELECT a, b, e FROM r WHERE d < 100 ORDER BY 1, 2, 3"),
    ("all rows", "SELECT sum(x) FROM (SELECT a + 0 AS x FROM r OFFSET 0) s"),
    ("sale: GROUP BY text", "SELECT region, count(*), sum(price) FROM sale GROUP BY region ORDER BY 1"),
    ("sale: many texts", "SELECT sku, sum(qty) FROM sale GROUP BY sku ORDER BY 2 DESC, 1 LIMIT 10"),
    ("sale: by month", "SELECT date_trunc('month', ts), sum(price * qty) FROM sale GROUP BY 1 ORDER BY 1"),
    ("sale: CASE", "SELECT CASE WHEN price < 100 THEN 'low' WHEN price < 5000 THEN 'mid' ELSE 'high' END AS k, count(*)"
     " FROM sale GROUP BY 1 ORDER BY 1"),
    ("sale: ROLLUP", "SELECT region, flag, count(*), sum(price) FROM sale GROUP BY ROLLUP (region, flag) ORDER BY 1, 2"),
    ("sale: a group for each row", "SELECT id, sum(price) FROM sale GROUP BY id ORDER BY 2 DESC, 1 LIMIT 10"),
    ("sale: LIKE", "SELECT count(*) FROM sale WHERE note LIKE '%99%'"),
    ("sale: HAVING", "SELECT cust, count(*) FROM sale GROUP BY cust HAVING count(*) > 8 ORDER BY 2 DESC, 1"),
    ("sale: floats", "SELECT count(disc), min(disc), max(disc) FROM sale"),
    ("sale: u_topk", "SELECT sum(cardinality(t)) FROM (SELECT cust % 1000, gpucol.u_topk(id, price, disc, 3) AS t"
     " FROM sale WHERE disc > 0 GROUP BY 1) s"),
]

# Statement, and what runs before it each time.
CHANGES = [
    ("INSERT SELECT, integers", "INSERT INTO x SELECT * FROM r", "CREATE TABLE x (LIKE r) USING gpucol"),
    ("INSERT SELECT, sales", "INSERT INTO x SELECT * FROM sale_h", "CREATE TABLE x (LIKE sale) USING gpucol"),
    ("1,000 UPDATEs by key", "DO $$ BEGIN FOR i IN 1..1000 LOOP UPDATE x SET v = v + 1 WHERE k = i * 97; END LOOP; END $$",
     "CREATE TABLE x (k int PRIMARY KEY, v int) USING gpucol; INSERT INTO x SELECT i, 0 FROM generate_series(1, 100000) i"),
]


def recursions(graph):
    """Statements over a graph."""
    closure = (f'WITH RECURSIVE t(x, y) AS (SELECT src, dst FROM "{graph}" UNION SELECT t.x, e.dst FROM t '
               f'JOIN "{graph}" e ON e.src = t.y) SELECT count(*), sum(x) FROM t')
    generation = (f'WITH RECURSIVE t(x, y) AS (SELECT a.dst, b.dst FROM "{graph}" a JOIN "{graph}" b USING (src) '
                  f'WHERE a.dst <> b.dst UNION SELECT a.dst, b.dst FROM t JOIN "{graph}" a ON a.src = t.x '
                  f'JOIN "{graph}" b ON b.src = t.y) SELECT count(*), sum(x) FROM t')
    reached = (f'WITH RECURSIVE t(y) AS (SELECT dst FROM "{graph}" WHERE src = (SELECT min(src) FROM "{graph}") UNION '
               f'SELECT e.dst FROM t JOIN "{graph}" e ON e.src = t.y) SELECT count(*) FROM t')
    return [(f"closure {graph}", closure), (f"same generation {graph}", generation), (f"reached from one {graph}", reached)]


def spent(connection):
    """Milliseconds of processor time that a backend has used, with its threads."""
    tasks = f"/proc/{connection.info.backend_pid}/task"
    return sum(int(open(f"{tasks}/{t}/schedstat", encoding="ascii").read().split()[0]) for t in os.listdir(tasks)) / 1e6


def fill(connection):
    """The tables of all statements."""
    cursor = connection.cursor()
    cursor.execute("CREATE EXTENSION IF NOT EXISTS gpucol")
    cursor.execute(FILL)
    with open(f"{HERE}/sql/sale.sql", encoding="utf-8") as file:
        script = file.read().replace(":N", str(ROWS // 6))
    for statement in filter(str.strip, script.split(";")):
        cursor.execute(statement)
    for graph in GRAPHS:
        cursor.execute(f'DROP TABLE IF EXISTS "{graph}"; CREATE TABLE "{graph}" (src int, dst int) USING gpucol')
        with gzip.open(f"{DATA}/graphs/{graph}.tsv.gz", "rt") as rows:
            cursor.copy_expert(f'COPY "{graph}" FROM STDIN', rows)
        cursor.execute(f'ANALYZE "{graph}"')
    cursor.execute("VACUUM ANALYZE r")


def compare(connections, name, statement, before=None):
    """One line of the table."""
    times = {which: [] for which in connections}
    answers = {}
    for run in range(RUNS + 1):
        for which in sorted(connections, reverse=run % 2 == 1):
            cursor = connections[which].cursor()
            if before is not None:
                cursor.execute(f"DROP TABLE IF EXISTS x; {before}")
            start = spent(connections[which])
            cursor.execute(statement)
            times[which].append(spent(connections[which]) - start)
            answers[which] = cursor.fetchall() if cursor.description else None
    if answers["old"] != answers["new"]:
        sys.exit(f"the answers differ: {statement}")
    old, new = (times[which][1:] for which in ("old", "new"))
    least, median = min(new) / min(old), statistics.median(new) / statistics.median(old)
    mark = "slower" if min(least, median) > ALLOWED else ""
    print(f"{name:34} {min(old):9.2f} {min(new):9.2f} {least:6.2f} {median:6.2f} {mark}".rstrip(), flush=True)


def main():
    """Fill both, then compare."""
    connections = {which: psycopg2.connect(host=path, user="postgres", dbname="postgres") for which, path in SOCKETS.items()}
    for connection in connections.values():
        connection.autocommit = True
        connection.cursor().execute(SETTINGS)
        fill(connection)
    print(f"{'ms of processor time':34} {'old':>9} {'new':>9} {'least':>6} {'median':>6}")
    for name, statement in STATEMENTS + [r for graph in GRAPHS for r in recursions(graph)]:
        compare(connections, name, statement)
    for name, statement, before in CHANGES:
        compare(connections, name, statement, before)


main()
