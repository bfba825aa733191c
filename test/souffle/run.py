#!/usr/bin/env python3
"""Run the evaluation and example programs of a Souffle source tree through gpucol.datalog_into.

	test/souffle/run.py SOURCE DSN [PATTERN]

SOURCE is a checkout of Souffle, of which only tests/evaluation and tests/example are read;
DSN a connection string of a database that has the extension.  A program runs in a schema
of its own: its facts become tables, its outputs are compared with the files beside it.
Lines 'NAME pass|wrong|refused|slow|crash DETAIL' are printed, and the counts at the end; the
file known beside this one says what to expect.  Needs psycopg 3 (Debian: python3-psycopg).
"""
import csv
import os
import re
import subprocess
import sys

import psycopg

SECONDS = int(os.environ.get("SECONDS_EACH", "60"))
COLUMN = {'number': 'bigint', 'unsigned': 'numeric', 'float': 'double precision', 'symbol': 'text'}


def preprocessed(path):
	"""The program as C's preprocessor leaves it, where it has lines for it."""
	text = open(path, encoding='utf-8', errors='surrogateescape').read()
	if not re.search(r'^\s*#\s*(define|include|if|undef)', text, re.M):
		return text
	return subprocess.run(['cpp', '-P', '-traditional-cpp', '-undef', path], capture_output=True, text=True,
						  cwd=os.path.dirname(path)).stdout


def bare(text):
	"""The program without comments."""
	text = re.sub(r'/\*.*?\*/', ' ', text, flags=re.S)
	return re.sub(r'//[^\n]*', ' ', text)


def primitive(types, name):
	"""The primitive type behind a name; None: nothing declares it (a component's parameter)."""
	seen = set()
	while name in types and name not in seen:
		seen.add(name)
		name = types[name]
	return name if name in COLUMN else None


def declared(text):
	"""(name -> columns' SQL types) and the names of inputs with their parameters."""
	types, tables, inputs = {}, {}, {}
	for m in re.finditer(r'\.type\s+([\w.?]+)\s*(?:<:|=)\s*([\w.?]+)', text):
		types[m[1]] = m[2]
	for kind, name in re.findall(r'\.(number|symbol)_type\s+([\w?]+)', text):
		types[name] = kind
	for m in re.finditer(r'\.decl\s+([\w?]+(?:\s*,\s*[\w?]+)*)\s*\(([^)]*)\)((?:\s+[a-z_]+)*)', text):
		columns = [c.split(':')[1].strip() for c in m[2].split(',') if ':' in c]
		for name in re.split(r'\s*,\s*', m[1]):
			if None in tables.get(name, [None]):
				tables[name] = [COLUMN.get(primitive(types, c)) for c in columns]
			if re.search(r'\binput\b', m[3]):
				inputs[name] = ''
	for names, parameters in re.findall(r'\.input\s+([\w?.]+(?:\s*,\s*[\w?.]+)*)\s*(\([^)]*\))?', text):
		for name in re.split(r'\s*,\s*', names):
			inputs[name] = parameters
	return tables, inputs


def rows_of(path, delimiter='\t'):
	with open(path, encoding='utf-8', errors='surrogateescape') as f:
		return [line.rstrip('\n').split(delimiter) for line in f]


def facts(folder, name, parameters):
	"""The rows of an input."""
	parameter = dict(re.findall(r'(\w+)\s*=\s*"((?:[^"\\]|\\.)*)"', parameters or ''))
	delimiter = parameter.get('delimiter', '\t').replace('\\t', '\t')
	given = parameter.get('filename', name + '.facts')
	for place in (os.path.join(folder, 'facts', given), os.path.join(folder, given)):
		if os.path.exists(place):
			return rows_of(place, delimiter)
	return []


def column_of(known, values):
	"""The type of a column: as declared, or (a component's parameter) as its values look."""
	if known:
		return known
	for type, pattern in (('bigint', r'-?\d+'), ('double precision', r'-?\d+(\.\d+)?')):
		if values and all(re.fullmatch(pattern, v) for v in values):
			return type
	return 'text'


def load(cursor, folder, text):
	tables, inputs = declared(bare(text))
	for name, parameters in inputs.items():
		declaration = name.split('.')[-1]
		if declaration not in tables:
			continue
		rows = facts(folder, name, parameters)
		columns = [column_of(c, [r[i] for r in rows if i < len(r)]) for i, c in enumerate(tables[declaration])]
		cursor.execute('CREATE TABLE "%s" (%s)' % (name, ', '.join('c%d %s' % c for c in enumerate(columns))))
		for row in rows:
			row = row[:len(columns)]
			cursor.execute('INSERT INTO "%s" %s' % (name, 'VALUES (%s)' % ', '.join(['%s'] * len(row))
													if columns else 'DEFAULT VALUES'), row)


def same(mine, theirs):
	try:
		a, b = float(mine), float(theirs)
		return a == b or a != a and b != b or abs(a - b) <= 1e-4 * max(abs(a), abs(b))
	except ValueError:
		return mine == theirs


def key(row):
	out = []
	for v in row:
		try:
			out.append((0, float(v), ''))
		except ValueError:
			out.append((1, 0.0, v))
	return out


def compare(cursor, folder, name, schema):
	"""An empty string, or how the output differs from its file."""
	path = os.path.join(folder, name + '.csv')
	if not os.path.exists(path):
		return ''
	expected = [[] if r == ['()'] else r for r in rows_of(path)]
	cursor.execute('SELECT * FROM "%s"."%s"' % (schema, name))
	got = [['' if v is None else str(v) for v in row] for row in cursor.fetchall()]
	if any('\n' in v for row in got for v in row):
		got = [line.split('\t') for row in got for line in '\t'.join(row).split('\n')]
	if not (cursor.description or ()):
		return '' if len(got) == len(expected) else '%s: %d rows for %d' % (name, len(got), len(expected))
	if len(got) != len(expected):
		return '%s: %d rows for %d' % (name, len(got), len(expected))
	for a, b in zip(sorted(got, key=key), sorted(expected, key=key)):
		if len(a) != len(b) or not all(map(same, a, b)):
			return '%s: %r for %r' % (name, a, b)
	return ''


def program(connection, folder):
	name = os.path.basename(folder)
	path = os.path.join(folder, name + '.dl')
	text = preprocessed(path)
	with connection.cursor() as cursor:
		cursor.execute('DROP SCHEMA IF EXISTS souffle CASCADE; DROP SCHEMA IF EXISTS souffle_out CASCADE;'
					   'CREATE SCHEMA souffle; CREATE SCHEMA souffle_out; SET search_path = souffle;'
					   "SET statement_timeout = '%ds'" % SECONDS)
		try:
			load(cursor, folder, text)
			cursor.execute('SELECT gpucol.datalog_into(%s, %s)', (text, 'souffle_out'))
			cursor.execute("SELECT relname FROM pg_class WHERE relnamespace = 'souffle_out'::regnamespace AND relkind = 'r'")
			for (output,) in cursor.fetchall():
				difference = compare(cursor, folder, output, 'souffle_out')
				if difference:
					return 'wrong', difference
		except psycopg.errors.QueryCanceled:
			return 'slow', ''
		except psycopg.OperationalError as error:
			return 'crash', str(error).splitlines()[0]
		except psycopg.Error as error:
			context = error.diag.context or ''
			return 'refused', '%s %s | %s' % (error.sqlstate, str(error).splitlines()[0], context.splitlines()[0] if context else '')
	return 'pass', ''


def main():
	source, dsn = sys.argv[1:3]
	pattern = sys.argv[3] if len(sys.argv) > 3 else ''
	counts = {}
	for part in ('evaluation', 'example'):
		top = os.path.join(source, 'tests', part)
		for name in sorted(os.listdir(top)):
			if not os.path.exists(os.path.join(top, name, name + '.dl')) or not re.search(pattern, part + '/' + name):
				continue
			with psycopg.connect(dsn, autocommit=True) as connection:
				kind, detail = program(connection, os.path.join(top, name))
			counts[kind] = counts.get(kind, 0) + 1
			print('%s/%s %s %s' % (part, name, kind, detail), flush=True)
	print(', '.join('%d %s' % (n, k) for k, n in sorted(counts.items())))


if __name__ == '__main__':
	main()
