"""duck.py THREADS REPEATS FOLDER TABLES.sql STATEMENT.sql...: statements in DuckDB, for test/gpu/mining.sh.

FOLDER has the rows of each table as TABLE.csv or TABLE.NUMBER.csv, arrays in brackets. Prints a line for each statement:
its name, and the least milliseconds of so many executions after one; then the size of the file with all tables.
"""

import glob
import os
import re
import sys
import time

import duckdb

THREADS, REPEATS, FOLDER, TABLES = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
PATH = f"{FOLDER}/all.duckdb"

if os.path.exists(PATH):
    os.remove(PATH)
with duckdb.connect(PATH) as connection:
    with open(TABLES, encoding="utf-8") as source:
        script = source.read()
    connection.execute(script)
    for table in re.findall(r"^create table (\w+)", script, re.M | re.I):
        for path in glob.glob(f"{FOLDER}/{table}.csv") + glob.glob(f"{FOLDER}/{table}.[0-9]*.csv"):
            connection.execute(f"COPY {table} FROM '{path}' (FORMAT csv, HEADER, allow_quoted_nulls false)")

with duckdb.connect(PATH, read_only=True) as connection:
    connection.execute(f"SET threads = {THREADS}; SET enable_progress_bar = false")
    for path in sys.argv[5:]:
        with open(path, encoding="utf-8") as source:
            sql = source.read()
        found = []
        for _ in range(REPEATS + 1):
            begin = time.perf_counter()
            try:
                connection.execute(sql).fetchall()
            except duckdb.Error as error:
                print(f"{path}: {error}", file=sys.stderr)
                break
            found.append((time.perf_counter() - begin) * 1000)
        name = os.path.basename(path).removesuffix(".sql")
        print(name, f"{min(found[1:]):.1f}" if len(found) > 1 else "failed")
print("bytes", os.path.getsize(PATH))
