# 008_interrupt.pl: cancel and statement_timeout stop loads, merges and pushed-down
# queries soon, leave no row behind, and the session goes on.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Gpucol;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my $node = new_server('interrupt', 'autovacuum = off');

$node->safe_psql('postgres', <<'SQL');
CREATE TABLE packed (id int, k int) USING gpucol;
INSERT INTO packed SELECT i, i % 1000 FROM generate_series(1, 2000000) i;
CREATE TABLE target (LIKE packed) USING gpucol;
CREATE INDEX ON target (id);
CREATE TABLE delta (id int, label text) USING gpucol;
SQL
$node->safe_psql('postgres', "INSERT INTO delta SELECT i, 'x' FROM generate_series(1, 900) i") for 1 .. 20;

# One run of the engine that lasts long, and one of many runs.
my $sums = join ', ', map { "sum((k * $_ + id) % 1000 * 2 + k)" } 1 .. 400;
my %work = (
	'INSERT ... SELECT' => 'INSERT INTO target SELECT i, i % 100 FROM generate_series(1, 100000000) i',
	'COPY' => "COPY target (id) FROM PROGRAM 'seq 1 100000000'",
	'CREATE TABLE AS' => 'CREATE TABLE made USING gpucol AS SELECT i AS id FROM generate_series(1, 100000000) i',
	'an aggregate' => "SET gpucol.pushdown = require; SET gpucol.engine = cpu; SELECT $sums FROM packed",
	'aggregates' => 'SELECT sum(c.n) FROM generate_series(1, 1000000) g, LATERAL (SELECT sum(k * 3 + id) AS n FROM packed WHERE k <> g) c',
	'a scan by rows' => 'SET gpucol.pushdown = forbid; SELECT count(*) FROM packed a, generate_series(1, 1000000) g WHERE a.k = g % 7',
);

# Rows of every table, to see that nothing was left behind.
sub state
{
	return $node->safe_psql('postgres', "SELECT (SELECT count(*) FROM packed), (SELECT count(*) FROM target), (SELECT count(*) FROM delta), to_regclass('made') IS NULL");
}

my $before = state();

for my $what (sort keys %work)
{
	# statement_timeout, with the time from then to the error
	my $start = time;
	my ($status, $out, $error) = $node->psql('postgres',
		"SET statement_timeout = '300ms'; $work{$what}");
	my $took = time - $start;

	like($error, qr/canceling statement due to statement timeout/, "$what: statement_timeout");
	note(sprintf '%s: ended after %.2f s', $what, $took);

	# pg_cancel_backend, while the statement runs
	my ($output, $errors) = ('', '');
	my $victim = IPC::Run::start(
		[ 'psql', '-X', '-q', '-A', '-t', '-d', $node->connstr('postgres'), '-c', "SET application_name = 'victim'",
			map { ('-c', $_) } split(/; /, $work{$what}), "SELECT 'goes on'" ],
		'<', \undef, '>', \$output, '2>', \$errors);
	$node->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_stat_activity WHERE application_name = 'victim' AND state = 'active'")
	  or die "$what did not start";
	sleep 0.2;
	$start = time;
	$node->safe_psql('postgres', "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE application_name = 'victim'");
	$victim->finish;
	note(sprintf '%s: cancelled after %.2f s', $what, time - $start);
	like($errors, qr/canceling statement due to user request/, "$what: cancelled");
	like($output, qr/goes on/, "$what: the session goes on");
	is(state(), $before, "$what: no row was left behind");
}

# a merge that is cancelled moves nothing
my ($status, $out, $error) = $node->psql('postgres', "SET statement_timeout = 1; SELECT gpucol.merge('delta')");
like($error, qr/statement timeout/, 'merge: statement_timeout');
is(state(), $before, 'merge: no row was lost');

# what was cancelled does not keep the next load from working
$node->safe_psql('postgres', "INSERT INTO target SELECT * FROM packed; VACUUM target");
is($node->safe_psql('postgres', 'SELECT count(*) FROM target'), '2000000', 'a load after cancelled ones');
is($node->safe_psql('postgres', "SELECT count(*) FROM gpucol.verify('target')"), '0', 'with sound segments');
$node->stop;
done_testing();
