#!/usr/bin/env python3
"""plot.py: the plots of docs/comparison.md, of the tables in results/.

	test/bench/plot.py [FOLDER]

Each plot is a bar a row: how many times longer another system takes than gpucol, on a
logarithmic scale.  Bars that go left of the line of 1 are rows where gpucol loses; they come
first.  One SVG serves light and dark pages.  Needs Python alone; writes to docs/ unless told.
"""
import html
import math
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
RESULTS = os.path.join(HERE, "results")
DOCS = os.path.join(HERE, "..", "..", "docs")

# name of the plot, file, heading of the table's section, column, title
PLOTS = [
	("comparison-ssb", "2026-11-25-peers.txt", "## ssb", "duckdb / gpucol", "SSB: DuckDB's time over gpucol's"),
	("comparison-tpch", "2026-11-25-peers.txt", "## tpch", "duckdb / gpucol", "TPC-H: DuckDB's time over gpucol's"),
	("comparison-tpch-heap", "2026-11-25-peers.txt", "## tpch", "heap / gpucol", "TPC-H: heap's time over gpucol's"),
	("comparison-hits", "2026-11-25-hits.txt", "", "after",
	 "Stand-in of ClickBench: DuckDB's time over gpucol's"),
	("comparison-tpch-h200", "2026-11-28-d1ee1699.txt", "## tpch", "duckdb / cuda", "TPC-H, scale 10, H200: DuckDB's time over gpucol's"),
	("comparison-citus", "2026-11-25-peers.txt", "## tpch", "citus / gpucol", "TPC-H: Citus columnar's time over gpucol's"),
	("comparison-pgcolumnar", "2026-11-25-peers.txt", "## tpch", "pgcolumnar / gpucol", "TPC-H: pgColumnar's time over gpucol's"),
	("comparison-timescaledb", "2026-11-28-timescaledb.txt", "## tpch", "timescaledb / gpucol", "TPC-H: TimescaleDB's time over gpucol's"),
	("comparison-recursion-duckdb", "2026-11-30-bfbf18a2.txt", "", "DuckDB / gpucol",
	 "WITH RECURSIVE: DuckDB's time over gpucol's"),
	("comparison-recursion", "2026-11-30-bfbf18a2.txt", "", "PostgreSQL / gpucol over heap",
	 "WITH RECURSIVE: PostgreSQL's time over gpucol's"),
]

BAR = 14						# height of a row, in pixels
LABELS = 250					# width of the names
WIDTH = 430						# width of the scale
STYLE = """
svg { font: 11px sans-serif; background: #ffffff; }
text { fill: #222222; } .title { font-size: 13px; font-weight: bold; }
.won { fill: #2a78b5; } .lost { fill: #c8553d; } line { stroke: #999999; }
@media (prefers-color-scheme: dark) {
	svg { background: #16191d; } text { fill: #dddddd; }
	.won { fill: #5aa9e6; } .lost { fill: #ef8a6f; } line { stroke: #666666; }
}
"""


def cells(line):
	"""The cells of a row of a table, without markup."""
	return [c.replace("`", "").replace("\\|", "|").strip() for c in re.split(r"(?<!\\)\|", line)[1:-1]]


def read_table(name, heading, column):
	"""(name, ratio) of each row of the first table with the column behind a heading; a ratio that has none is made of two."""
	rows = []
	at = None
	with open(os.path.join(RESULTS, name), encoding="utf-8") as file:
		lines = file.read().splitlines()
	begin = next(i for i, line in enumerate(lines) if line.startswith(heading))
	for line in lines[begin:]:
		if not line.startswith("|"):
			if rows:
				break
			continue
		row = cells(line)
		if at is None:
			parts = [column] if column in row else column.split(" / ")
			at = [row.index(part) for part in parts] if all(part in row for part in parts) else None
		elif not row[0].startswith(("--", "geometric", "below")) and all(re.fullmatch(r"[0-9.,]+", row[i]) for i in at):
			values = [float(row[i].replace(",", "")) for i in at]
			rows.append((row[0], values[0] if len(values) == 1 else values[0] / values[1]))
	return sorted(rows, key=lambda row: row[1])


def draw(title, rows):
	"""The text of a plot."""
	low = min(math.log10(min(r for _, r in rows)), -0.1)
	high = max(math.log10(max(r for _, r in rows)), 0.1)
	height = (len(rows) + 3) * BAR + 24

	def place(ratio):
		return LABELS + (math.log10(ratio) - low) / (high - low) * WIDTH

	out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{LABELS + WIDTH + 60}" height="{height}">',
		   f"<style>{STYLE}</style>", f'<text class="title" x="8" y="18">{html.escape(title)}</text>']
	for power in range(math.ceil(low), math.floor(high) + 1):
		x = place(10 ** power)
		out.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="26" y2="{height - 2 * BAR}"'
				   f' stroke-width="{2 if power == 0 else 0.5}"/>')
		out.append(f'<text x="{x:.1f}" y="{height - BAR}" text-anchor="middle">{10 ** power:g}</text>')
	for i, (name, ratio) in enumerate(rows):
		y = 30 + i * BAR
		x = sorted((place(1), place(ratio)))
		name = name if len(name) <= 38 else name[:36] + "…"
		out.append(f'<text x="{LABELS - 6}" y="{y + BAR - 4}" text-anchor="end">{html.escape(name)}</text>')
		out.append(f'<rect class="{"won" if ratio >= 1 else "lost"}" x="{x[0]:.1f}" y="{y}"'
				   f' width="{max(x[1] - x[0], 1):.1f}" height="{BAR - 3}"/>')
		out.append(f'<text x="{x[1] + 4:.1f}" y="{y + BAR - 4}">{ratio:.3g}</text>')
	return "\n".join(out + ["</svg>", ""])


def main():
	folder = sys.argv[1] if len(sys.argv) > 1 else DOCS
	os.makedirs(folder, exist_ok=True)
	for name, file, heading, column, title in PLOTS:
		with open(os.path.join(folder, name + ".svg"), "w", encoding="utf-8") as out:
			out.write(draw(title, read_table(file, heading, column)))


if __name__ == "__main__":
	main()
