# 002_oracle.pl: the same random work on a gpucol table and on a heap table,
# compared after every step.
#
# A run is one psql script: every statement is written twice, for `packed` and
# for `plain`, inside the same random transactions and savepoints; both must
# give the same rows, or the same SQLSTATE.  Queries run on `plain`, and on
# `packed` with pushdown forbidden and required; required, a query may be refused
# as not pushed down, which is counted.
# GPUCOL_SEED repeats a run, GPUCOL_STEPS lengthens it.
use strict;
use warnings;
use utf8;
use FindBin;
use lib $FindBin::Bin;
use Gpucol;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $STEPS = $ENV{GPUCOL_STEPS} || 300;

seed_random();
my $node = new_server('oracle', 'autovacuum_naptime = 1s', "datestyle = 'ISO'",
	'extra_float_digits = -3');
my $has_merge = $node->safe_psql('postgres',
	"SELECT count(*) FROM pg_proc WHERE pronamespace = 'gpucol'::regnamespace AND proname = 'merge'");

$node->safe_psql('postgres', <<'SQL');
CREATE TABLE packed (
	id int, k int, small smallint, big bigint, n numeric(12,3), m numeric,
	f float8, r real, flag bool, t text, word text, d date, at timestamp,
	tz timestamptz, u uuid, b bytea, j jsonb, a int[]
) USING gpucol;
CREATE TABLE plain (LIKE packed) USING heap;
CREATE INDEX ON packed (id);
CREATE INDEX ON plain (id);
SQL

my ($next_id, $depth, $step, $script) = (1, 0, 0, '');

# Columns of a generated row as expressions of i, with nulls, repeats, extremes.
sub row_expressions
{
	my $null = between(2, 9);
	my $span = pick(3, 50, 1000, 100_000);

	return join ', ', 'i', "(i * 7919 + $span) % $span",
	  pick('i % 100', 'NULL', '(i % 65536 - 32768)'),
	  pick('i::bigint * 1000003', '9223372036854775807 - i', "CASE WHEN i % $null = 0 THEN NULL ELSE -i END"),
	  pick('i / 8.0', '(i % 20) * 1.5', '-99999.999 + i % 3', 'NULL'),
	  pick("i / 3.0", "CASE i % $null WHEN 0 THEN 'NaN'::numeric ELSE i * 1e20 END", 'i % 10'),
	  pick('i / 4.0', "CASE i % 5 WHEN 0 THEN float8 'NaN' WHEN 1 THEN '-Infinity' WHEN 2 THEN '-0' ELSE i END", 'i * 1e-300'),
	  pick('i / 8.0', 'NULL', 'i % 3'),
	  pick('i % 2 = 0', "CASE WHEN i % $null = 0 THEN NULL ELSE i % 3 = 0 END", 'true'),
	  pick("'row ' || i", "repeat('x', i % 40)", "'constant'", "CASE WHEN i % $null = 0 THEN '' END", "repeat(md5(i::text), " . between(1, 90) . ')'),
	  "(array['ant', 'bee', 'cat', 'dog', 'Äsche', NULL])[1 + i % " . between(1, 6) . ']',
	  pick("date '2020-01-01' + i % 1000", "CASE WHEN i % $null = 0 THEN date 'infinity' ELSE date '1999-12-31' END"),
	  pick("timestamp '2020-01-01' + i * interval '1 minute'", "timestamp '-infinity'"),
	  pick("timestamptz '2020-01-01 UTC' + (i % 100) * interval '1 day'", 'NULL'),
	  pick('md5(i::text)::uuid', 'NULL'),
	  pick("decode(md5(i::text), 'hex')", "'\\x00'::bytea"),
	  pick("jsonb_build_object('i', i % 10)", 'NULL', "'null'"),
	  pick('array[i, i % 7]', "'{}'", 'NULL');
}

# A predicate that some rows satisfy.
sub predicate
{
	my $x = between(0, 60);

	return pick(
		"k < $x", "k BETWEEN $x AND $x + 20", "id % 11 = " . $x % 11, "id > " . int($next_id * rand),
		"id < " . int($next_id * rand), "flag", "NOT flag", "flag IS NULL", "word = 'bee'",
		"word LIKE '%a%'", "word IN ('cat', 'Äsche')", "word IS NULL", "t LIKE 'row 1%'",
		"n > $x", "n IS NULL", "f > $x", "f = 'NaN'", "f <= -0.0", "d < '2021-06-01'", "d = 'infinity'",
		"at >= '2020-01-03'", "small = $x", "big < 0", "m > 1000", "k = $x OR word = 'dog'",
		"NOT (k > $x AND flag)", "k + small > $x", "coalesce(small, 0) = $x", "length(t) > $x", "id IN (1, 5, $x)",
		"id = $x", "tz IS NOT NULL AND k <> $x", "r > 0.5", "u IS NULL", "true");
}

sub change
{
	my $where = predicate();

	return pick(
		"UPDATE %s SET k = k + 1, n = n + 0.5 WHERE $where AND id % 5 = " . between(0, 4),
		"UPDATE %s SET word = 'new', t = NULL WHERE $where AND id % 7 = " . between(0, 6),
		"UPDATE %s SET flag = NOT flag, big = -big WHERE $where AND id % 3 = " . between(0, 2),
		"UPDATE %s SET small = (small + 1000)::smallint WHERE $where",
		"DELETE FROM %s WHERE $where AND id % 4 = " . between(0, 3),
		"DELETE FROM %s WHERE id BETWEEN " . int($next_id * rand) . ' AND ' . int($next_id * rand),
		"DELETE FROM %s WHERE $where AND k % 13 = " . between(0, 12));
}

sub insertion
{
	my $rows = pick(1, 1, 2, 5, 30, 200, 1500, 4000);
	my $from = $next_id;

	$next_id += $rows;
	my $to = $next_id - 1;
	return "INSERT INTO %s SELECT " . row_expressions() . " FROM generate_series($from, $to) i";
}

sub query
{
	my $where = predicate();
	my $group = pick('k', 'word', 'flag', 'd', 'small', 'word, flag', 'k % 3', 'date_trunc(\'month\', at)');

	return pick(
		"SELECT count(*) FROM %s WHERE $where",
		"SELECT count(*), count(small), sum(k), min(id), max(big), avg(n) FROM %s WHERE $where",
		"SELECT sum(big), avg(k), sum(n), min(d), max(at), bool_and(flag) FROM %s WHERE $where",
		"SELECT min(f), max(f), min(word), max(t), stddev(k), variance(n) FROM %s WHERE $where",
		"SELECT $group AS g, count(*), sum(k), avg(n), min(t) FROM %s WHERE $where GROUP BY $group",
		"SELECT $group AS g, count(DISTINCT word), max(id) FROM %s GROUP BY $group HAVING count(*) > 2",
		"SELECT count(*) FILTER (WHERE flag), sum(k) FILTER (WHERE word = 'bee') FROM %s WHERE $where",
		"SELECT id, k, n, f, t, word, d FROM %s WHERE $where",
		"SELECT * FROM %s WHERE $where AND id % 50 = 0",
		"SELECT id FROM %s WHERE id = " . between(1, $next_id),
		"SELECT x.id, y.k FROM %1\$s x JOIN %1\$s y ON x.id = y.id + 1 WHERE x.k < 5",
		"SELECT k + 1, n * 2, upper(word), id::float8 / 3 FROM %s WHERE $where");
}

# Write a statement for one table; markers frame what it prints.
sub emit
{
	my ($variant, $sql) = @_;

	$script .= "\\echo <<< $step $variant\n$sql;\n\\echo >>>\n";
	return;
}

# %s (or %1$s) in the statement is the table.
sub both
{
	my ($sql) = @_;

	(my $pattern = $sql) =~ s/%(?!s|1\$s)/%%/g;
	emit('plain', sprintf($pattern, 'plain'));
	emit('packed', sprintf($pattern, 'packed'));
	return;
}

sub ask
{
	my ($sql) = @_;

	(my $pattern = "SELECT x::text FROM ($sql) x ORDER BY 1") =~ s/%(?!s|1\$s)/%%/g;
	emit('plain', sprintf($pattern, 'plain'));
	for my $pushdown (qw(forbid require))
	{
		$script .= "SET gpucol.pushdown = $pushdown;\n";
		emit("packed, $pushdown", sprintf($pattern, 'packed'));
	}
	$script .= "RESET gpucol.pushdown;\n";
	return;
}

# Transaction control, the same for both tables.
sub control
{
	if ($depth == 0) { $script .= "BEGIN" . pick('', ' ISOLATION LEVEL REPEATABLE READ') . ";\n"; $depth = 1; }
	elsif ($depth < 3 && rand() < 0.4) { $depth++; $script .= "SAVEPOINT s$depth;\n"; }
	elsif ($depth > 1)
	{
		$script .= pick("ROLLBACK TO s$depth", "RELEASE s$depth") . ";\n";
		$script =~ s/(ROLLBACK TO s$depth;\n)\z/$1RELEASE s$depth;\n/;
		$depth--;
	}
	else { $script .= pick('COMMIT', 'COMMIT', 'ROLLBACK') . ";\n"; $depth = 0; }
	return;
}

sub upkeep
{
	my @work = ('ANALYZE packed');

	push @work, 'VACUUM packed', 'VACUUM (FREEZE) packed' if $depth == 0;
	push @work, ("SELECT gpucol.merge('packed') IS NULL AND false") x 6 if $has_merge && $depth == 0;
	$script .= pick(@work) . ";\n";
	return;
}

sub build_script
{
	$script = "\\set VERBOSITY sqlstate\n\\set ON_ERROR_ROLLBACK on\nSET gpucol.segment_rows = 2048;\n";
	while ($step++ < $STEPS)
	{
		my $dice = rand;

		if ($dice < 0.25) { both(insertion()); }
		elsif ($dice < 0.5) { both(change()); }
		elsif ($dice < 0.65) { control(); }
		elsif ($dice < 0.75) { upkeep(); }
		else { ask(query()); }
		ask('SELECT count(*), sum(hashtextextended(x::text, 0)) FROM %s x') if $dice < 0.75;
	}
	$script .= "ROLLBACK;\n" if $depth;
	$script .= "\\echo finished\n";
	return;
}

# Statements of the script by step and variant, with what they printed.
sub parse
{
	my ($output) = @_;
	my @results;

	push @results, [ $1, $2, $3 ] while $output =~ /^<<< (\d+) ([^\n]*)\n(.*?)^>>>$/msg;
	return @results;
}

# The statement of a step and variant, for the reader of a failure.
sub statement
{
	my ($step, $variant) = @_;

	return $script =~ /^<?\\echo <<< $step \Q$variant\E\n(.*?)\n\\echo >>>/ms ? $1 : '?';
}

build_script();
my ($file) = PostgreSQL::Test::Utils::tempdir() . '/script.sql';
open my $out, '>:utf8', $file or die "$file: $!";
print $out $script;
close $out;

my $output = '';
IPC::Run::run([ 'psql', '-X', '-q', '-A', '-t', '-f', $file, '-d', $node->connstr('postgres') ],
	'>', \$output, '2>&1');

my ($compared, $wrong, $pushed, $refused, $plain) = (0, 0, 0, 0, undef);
for my $result (parse($output))
{
	my ($number, $variant, $text) = @$result;

	$text =~ s/^psql:.*?: (?=ERROR)//mg;
	if ($variant eq 'plain') { $plain = $text; next; }
	if ($variant =~ /require/ && $plain !~ /^ERROR/)
	{
		if ($text =~ /^ERROR:  0A000/) { $refused++; next; }
		$pushed++;
	}
	$compared++;
	next if $text eq $plain;
	next if ++$wrong > 3;
	fail("step $number, $variant");
	diag(statement($number, $variant));
	diag('heap:   ', substr($plain, 0, 1500));
	diag('gpucol: ', substr($text, 0, 1500));
}
ok($output =~ /^finished$/m, 'the whole script ran');
is($wrong, 0, "$compared results equal heap's");
note("$pushed queries were pushed down, $refused refused");
same_rows($node, 'packed', 'plain', 'same rows at the end');
diag(substr($output, -2000)) unless $output =~ /^finished$/m;
$node->stop;
done_testing();
