#!/usr/bin/env python3
"""upkeep.py: how a table keeps itself while it is written to all the time.

	test/bench/upkeep.py [MINUTES [ROWS [RATE]]]		60, 10000000, 200 unless told

A private cluster with the library preloaded, everything at its defaults but what GPUCOL_BENCH_SETTINGS
has, as lines of postgresql.conf.  pgbench writes to a
gpucol table and to its heap twin at once, RATE transactions a second each: single inserts (40 %),
updates of a few rows again and again (40 %), deletes (20 %), and one in a thousand loads 5,000 rows.
Meanwhile sessions that are new ask for a count, a sum under a condition and groups, of the table and of one that
was loaded at the beginning and nobody writes to.  Processor time of one thread, which other work on the machine
changes little; rows come and go, so times and sizes are compared by row.  At the end: what writers waited, by kind of statement.

Prints a table, and writes it to build/bench-upkeep.md with a plot, build/bench-upkeep.svg.
"""
import glob
import os
import re
import subprocess
import sys
import tempfile
import time

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
COLUMNS = "(id bigint PRIMARY KEY, k int, d date, v bigint, n numeric(12,2), t text)"
VALUES = "i, i % 1000, date '2020-01-01' + (i % 2000)::int, i * 7 % 1000003, i % 100000 / 100.0, 'text ' || i % 5000"
SCRIPTS = {
	"insert": (400, "INSERT INTO {t} SELECT {values} FROM nextval('{t}_id') i;"),
	"update": (400, "\\set id random_zipfian(1, {rows}, 1.05)\nUPDATE {t} SET v = v + 1, n = n + 1 WHERE id = :id;"),
	"delete": (199, "\\set id random(1, {rows})\nDELETE FROM {t} WHERE id = :id;"),
	"load": (1, "INSERT INTO {t} SELECT {values} FROM (SELECT nextval('{t}_id') i FROM generate_series(1, 5000)) x;"),
}
QUERIES = {
	"count": "SELECT count(*) FROM {t}",
	"sum": "SELECT sum(v), avg(n) FROM {t} WHERE d < '2023-01-01'",
	"groups": "SELECT k, count(*), sum(v) FROM {t} GROUP BY k ORDER BY 2 DESC, 1 LIMIT 5",
}
REPEATS = 8						# of a query in a session; the first by itself


def cluster(*arguments):
	return subprocess.run([os.path.join(ROOT, "tools", "cluster.sh"), "upkeep", *arguments], check=True,
						  stdout=subprocess.PIPE, text=True).stdout.strip()


def psql(*statements):
	"""What a new session prints, unaligned."""
	return subprocess.run(["psql", "-X", "-q", "-At", "-v", "ON_ERROR_STOP=1"], check=True, text=True,
						  input="".join(s + "\n" for s in statements), stdout=subprocess.PIPE).stdout


def fill(rows):
	for table, method in (("g", "gpucol"), ("fresh", "gpucol"), ("h", "heap")):
		psql(f"CREATE TABLE {table} {COLUMNS} USING {method};",
			 f"INSERT INTO {table} SELECT {VALUES} FROM generate_series(1, {rows}) i;",
			 f"CREATE SEQUENCE {table}_id START {rows + 1} CACHE 100; VACUUM ANALYZE {table};")


def write(table, rows, minutes, rate, folder):
	"""Start the writers of a table."""
	files = []
	for name, (weight, sql) in SCRIPTS.items():
		path = os.path.join(folder, f"{table}-{name}.sql")
		with open(path, "w", encoding="utf-8") as file:
			file.write(sql.format(t=table, rows=rows, values=VALUES) + "\n")
		files += ["-f", f"{path}@{weight}"]
	return subprocess.Popen(["pgbench", "-n", "-M", "prepared", "-c", "4", "-T", str(minutes * 60), "-R", str(rate),
							 "-l", "--log-prefix", os.path.join(folder, f"log-{table}"), *files],
							stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def ask():
	"""Ratios of processor time by row, written to over not: of the best and of the first; rows, size, delta rows of g."""
	clock = "SELECT split_part(pg_read_file('/proc/self/schedstat'), ' ', 1);"
	statements = ["SET gpucol.cpu_threads = 1;", "SET max_parallel_workers_per_gather = 0;"]
	tables = ("g", "fresh")
	for query in QUERIES.values():
		for _ in range(REPEATS):
			for table in tables:
				statements += [clock, query.format(t=table) + " \\g /dev/null", clock]
	clocks = [int(x) for x in psql(*statements).split()]
	times = [(stop - start) / 1e6 for start, stop in zip(clocks[0::2], clocks[1::2])]
	facts = psql("SELECT count(*) FROM g;", "SELECT count(*) FROM fresh;", "SELECT pg_total_relation_size('g');",
				 "SELECT pg_total_relation_size('fresh');",
				 "SELECT coalesce(sum(rows), 0) FROM gpucol.waiting('g') WHERE work LIKE 'rows%';").split()
	g_rows, fresh_rows, g_bytes, fresh_bytes, delta = map(int, facts)
	result = {"rows": g_rows, "delta": delta,
			  "size": (g_bytes / g_rows) / (fresh_bytes / fresh_rows)}
	for i, name in enumerate(QUERIES):
		part = times[i * REPEATS * 2:(i + 1) * REPEATS * 2]
		g, fresh = part[0::2], part[1::2]
		scale = fresh_rows / g_rows
		result[name] = min(g[1:]) / min(fresh[1:]) * scale
		result[name + ", first"] = g[0] / fresh[0] * scale
	return result


def percentiles(table, folder):
	"""Milliseconds that 50 and 99 of a hundred statements took at most, by kind."""
	waited = {name: [] for name in SCRIPTS}
	names = list(SCRIPTS)
	for path in glob.glob(os.path.join(folder, f"log-{table}.*")):
		with open(path, encoding="utf-8") as file:
			for line in file:
				cells = line.split()
				waited[names[int(cells[3])]].append((int(cells[2]) - int(cells[6])) / 1000)
	return {name: (sorted(all_)[len(all_) // 2], sorted(all_)[len(all_) * 99 // 100], len(all_))
			for name, all_ in waited.items() if all_}


def plot(samples, path):
	"""Lines of the ratios over time."""
	names = ["size", *QUERIES]
	colors = ["#888888", "#2a78b5", "#c8553d", "#3d9a50"]
	width, height = 640, 260
	most = max(2.0, max(s[n] for _, s in samples for n in names))
	end = samples[-1][0] or 1

	def place(at, ratio):
		return f"{40 + at / end * (width - 160):.1f},{height - 30 - ratio / most * (height - 60):.1f}"

	out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}">',
		   "<style>svg { font: 11px sans-serif; background: #ffffff; }</style>",
		   '<text x="8" y="16">written to all the time, over freshly loaded (by row)</text>']
	for ratio in (0, 1, 1.5, most):
		begin, stop = place(0, ratio).split(","), place(end, ratio).split(",")
		out.append(f'<line x1="{begin[0]}" y1="{begin[1]}" x2="{stop[0]}" y2="{stop[1]}" stroke="#cccccc"/>')
		out.append(f'<text x="8" y="{begin[1]}">{ratio:.3g}</text>')
	for i, (name, color) in enumerate(zip(names, colors)):
		points = " ".join(place(at, s[name]) for at, s in samples)
		out.append(f'<polyline fill="none" stroke="{color}" stroke-width="1.5" points="{points}"/>')
		out.append(f'<text x="{width - 110}" y="{40 + 16 * i}" fill="{color}">{name}</text>')
	out.append(f'<text x="{width - 150}" y="{height - 12}" text-anchor="end">{end / 60:.0f} min</text></svg>')
	with open(path, "w", encoding="utf-8") as file:
		file.write("\n".join(out) + "\n")


def table_of(samples, waited):
	names = ["size", *(x for q in QUERIES for x in (q, q + ", first"))]
	out = ["| minute | rows | delta rows | " + " | ".join(names) + " |", "|---" * (3 + len(names)) + "|"]
	for at, s in samples:
		out.append(f"| {at / 60:.1f} | {s['rows']} | {s['delta']} | " + " | ".join(f"{s[n]:.2f}" for n in names) + " |")
	out += ["", "| statement | heap: median, 99 % (ms) | gpucol | gpucol / heap |", "|---|---|---|---|"]
	for name, (half, most, n) in waited["g"].items():
		if name not in waited["h"]:
			continue
		h = waited["h"][name]
		out.append(f"| {name} ({n}) | {h[0]:.2f}, {h[1]:.2f} | {half:.2f}, {most:.2f} | {half / h[0]:.2f}, {most / h[1]:.2f} |")
	return "\n".join(out)


def main():
	bindir = subprocess.run(["pg_config", "--bindir"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
	os.environ["PATH"] = bindir + ":" + os.environ["PATH"]
	minutes, rows, rate = (int(x) for x in (sys.argv[1:] + ["60", "10000000", "200"][len(sys.argv) - 1:]))
	cluster("init", "shared_preload_libraries = 'gpucol'", "max_wal_size = 16GB",
			*os.environ.get("GPUCOL_BENCH_SETTINGS", "").splitlines())
	try:
		cluster("start")
		os.environ.update(PGHOST=cluster("socket"), PGUSER="postgres", PGDATABASE="postgres")
		psql("CREATE EXTENSION gpucol;")
		fill(rows)
		with tempfile.TemporaryDirectory() as folder:
			begin = time.time()
			writers = [write(t, rows, minutes, rate, folder) for t in ("g", "h")]
			samples = []
			while any(w.poll() is None for w in writers):
				samples.append((time.time() - begin, ask()))
				print(f"{samples[-1][0] / 60:5.1f} min: " +
					  ", ".join(f"{k} {v:.2f}" if isinstance(v, float) else f"{k} {v}" for k, v in samples[-1][1].items()), flush=True)
				time.sleep(max(5, minutes))
			waited = {t: percentiles(t, folder) for t in ("g", "h")}
		text = table_of(samples, waited)
		plot(samples, os.path.join(ROOT, "build", "bench-upkeep.svg"))
		with open(os.path.join(ROOT, "build", "bench-upkeep.md"), "w", encoding="utf-8") as file:
			file.write(text + "\n")
		print(text)
	finally:
		cluster("destroy")


if __name__ == "__main__":
	main()
