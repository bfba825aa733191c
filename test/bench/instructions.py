"""instructions.py PGBIN PGDATA [TRANSACTIONS]: processor instructions of pgbench's default
script on heap and on gpucol, and of a DELETE and an UPDATE of many rows.

A machine's other work does not change them, as it does times.  Needs valgrind and a
stopped cluster whose databases bench_heap and bench_gpucol `pgbench -i -s 20` has filled
under default_table_access_method heap and gpucol; run it as the cluster's owner.  The
statements go to a single-user backend; what start and caches cost is subtracted by a
second, short run.  The kernel's work and waiting for memory do not count.  Statements of many rows are
rolled back, each has rows of its own; a VACUUM removes what they leave.
"""

import random
import re
import subprocess
import sys

PGBIN, PGDATA = sys.argv[1:3]
TRANSACTIONS = int(sys.argv[3]) if len(sys.argv) > 3 else 300
WARM = 20
SCALE = 20
ROWS = 5000
STATEMENTS = {"DELETE": "DELETE FROM pgbench_accounts",
              "UPDATE": "UPDATE pgbench_accounts SET abalance = abalance + 1"}


def transactions(n, seed):
    """The default script, n times."""
    dice = random.Random(seed)
    lines = []
    for _ in range(n):
        aid, bid = dice.randint(1, 100000 * SCALE), dice.randint(1, SCALE)
        tid, delta = dice.randint(1, 10 * SCALE), dice.randint(-5000, 5000)
        lines += [
            "BEGIN;",
            f"UPDATE pgbench_accounts SET abalance = abalance + {delta} WHERE aid = {aid};",
            f"SELECT abalance FROM pgbench_accounts WHERE aid = {aid};",
            f"UPDATE pgbench_tellers SET tbalance = tbalance + {delta} WHERE tid = {tid};",
            f"UPDATE pgbench_branches SET bbalance = bbalance + {delta} WHERE bid = {bid};",
            "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) "
            f"VALUES ({tid}, {bid}, {aid}, {delta}, CURRENT_TIMESTAMP);",
            "END;"]
    return "\n".join(lines) + "\n"


def instructions(database, script):
    """Instructions of a single-user backend that runs a script."""
    done = subprocess.run(
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
         f"{PGBIN}/postgres", "--single", "-D", PGDATA, database],
        input=script, capture_output=True, text=True, check=True)
    return int(re.search(r"Collected : (\d+)", done.stderr).group(1))


def row(database, statement, first):
    """Instructions for each row of a statement that changes rows behind a key."""
    def script(begin, n):
        return f"BEGIN;\n{statement} WHERE aid > {begin} AND aid <= {begin + n};\nROLLBACK;\n"

    few = instructions(database, script(first, WARM))
    many = instructions(database, script(first + 10000, WARM + ROWS))
    return (many - few) / ROWS


def main():
    """Print both and their ratio."""
    each = {}
    for method in ("heap", "gpucol"):
        few = instructions(f"bench_{method}", transactions(WARM, 1))
        many = instructions(f"bench_{method}", transactions(WARM + TRANSACTIONS, 2))
        each[method] = (many - few) / TRANSACTIONS
    print(f"pgbench, default script: heap {each['heap']:,.0f}, gpucol {each['gpucol']:,.0f} "
          f"instructions a transaction, ratio {each['heap'] / each['gpucol']:.2f}")
    for place, (name, statement) in enumerate(STATEMENTS.items()):
        each = {method: row(f"bench_{method}", statement, place * 20000) for method in ("heap", "gpucol")}
        print(f"{name} of {ROWS:,} rows: heap {each['heap']:,.0f}, gpucol {each['gpucol']:,.0f} "
              f"instructions a row, ratio {each['gpucol'] / each['heap']:.2f}")


main()
