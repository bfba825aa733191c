"""instructions.py PGBIN PGDATA [TRANSACTIONS]: processor instructions of pgbench's default
script on heap and on gpucol.

A machine's other work does not change them, as it does times.  Needs valgrind and a
stopped cluster whose databases bench_heap and bench_gpucol `pgbench -i -s 20` has filled
under default_table_access_method heap and gpucol; run it as the cluster's owner.  The
statements go to a single-user backend; what start and caches cost is subtracted by a
second, short run.  The kernel's work and waiting for memory do not count.
"""

import random
import re
import subprocess
import sys

PGBIN, PGDATA = sys.argv[1:3]
TRANSACTIONS = int(sys.argv[3]) if len(sys.argv) > 3 else 300
WARM = 20
SCALE = 20


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


def instructions(database, n, seed):
    """Instructions of a single-user backend that runs n transactions."""
    done = subprocess.run(
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
         f"{PGBIN}/postgres", "--single", "-D", PGDATA, database],
        input=transactions(n, seed), capture_output=True, text=True, check=True)
    return int(re.search(r"Collected : (\d+)", done.stderr).group(1))


def main():
    """Print both and their ratio."""
    each = {}
    for method in ("heap", "gpucol"):
        few = instructions(f"bench_{method}", WARM, 1)
        many = instructions(f"bench_{method}", WARM + TRANSACTIONS, 2)
        each[method] = (many - few) / TRANSACTIONS
    print(f"pgbench, default script: heap {each['heap']:,.0f}, gpucol {each['gpucol']:,.0f} "
          f"instructions a transaction, ratio {each['heap'] / each['gpucol']:.2f}")


main()
