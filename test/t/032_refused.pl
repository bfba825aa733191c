# 032_refused.pl: servers that have little: few buffers, and backends that the system
# refuses memory and threads.  Answers are those of heap, or there is an error that says
# what is missing; no backend crashes, and the server goes on.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Gpucol;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my @lines = ('jit = off', 'max_connections = 20', 'max_parallel_workers_per_gather = 0', 'statement_timeout = 120s');

# Errors that a backend may end a statement in that gets no memory.
my $LACKS = qr/out of memory|more memory than it may use|could not (?:map|resize|pack)|Cannot allocate memory|could not fork/;

#
# The fewest buffers, and a table of 200 columns
#
my $node = new_server('few_buffers', @lines, 'shared_buffers = 128kB', 'gpucol.segment_rows = 20000');
my $columns = join ', ', map { $_ % 4 == 3 ? "c$_ text" : "c$_ int8" } 0 .. 199;
my $values = join ', ', map { $_ % 4 == 3 ? "repeat('x', i % 7) || i % ($_ + 5)" : "i * $_ % 10007" } 0 .. 199;

$node->safe_psql('postgres', <<SQL);
CREATE TABLE h ($columns);
INSERT INTO h SELECT $values FROM generate_series(1, 3000) i;
CREATE TABLE g ($columns) USING gpucol;
COPY h TO '${\$node->basedir}/rows';
COPY g FROM '${\$node->basedir}/rows';
INSERT INTO g SELECT * FROM h;
INSERT INTO h SELECT * FROM h;
UPDATE h SET c1 = c1 + 1 WHERE c2 % 10 = 3;
UPDATE g SET c1 = c1 + 1 WHERE c2 % 10 = 3;
DELETE FROM h WHERE c5 % 9 = 2;
DELETE FROM g WHERE c5 % 9 = 2;
SELECT gpucol.merge('g');
VACUUM g;
SQL
same_rows($node, 'g', 'h', 'loaded, changed and merged in 16 buffers');
my $sums = join ', ', map { $_ % 4 == 3 ? "max(c$_)" : "sum(c$_)" } 0 .. 199;
for my $query ("SELECT $sums FROM T", 'SELECT c7, c9 % 5, count(*), sum(c199::text::name::text = c3) FROM T GROUP BY 1, 2' =~ s/sum\(.*?= c3\)/min(c199)/r,
	'SELECT c0, c1, c3, c199 FROM T WHERE c3 LIKE \'%1%\' AND c198 > 5000', 'SELECT c5, c6, c7 FROM T ORDER BY c5 DESC, c6, c7 LIMIT 20')
{
	my ($ours, $theirs) = map { my $q = $query =~ s/\bT\b/$_/r; $node->safe_psql('postgres', $q . ($q =~ /ORDER/ ? '' : $q =~ /GROUP|WHERE/ ? ' ORDER BY 1, 2, 3, 4' : '')) } 'g', 'h';

	ok($ours eq $theirs && length $ours > 0, 'in 16 buffers: ' . substr($query, 0, 60));
}
$node->stop;

#
# Refused memory and threads: what the postmaster may have, its backends inherit.
#

# Start the server under limits of the shell; false where it does not start at all.
sub start_under
{
	my ($server, $limits) = @_;

	return system('bash', '-c', "$limits; exec pg_ctl -w -t 60 -s -D '${\$server->data_dir}' -l '${\$server->logfile}' start") == 0;
}

sub stop_under
{
	my ($server) = @_;

	return system('pg_ctl', '-s', '-w', '-D', $server->data_dir, '-m', 'fast', 'stop') == 0;
}

my $poor = new_server('poor', @lines, 'shared_buffers = 16MB', 'restart_after_crash = off', 'gpucol.cpu_threads = 4', 'gpucol.max_cpu_threads = 8');

$poor->safe_psql('postgres', <<SQL);
CREATE TABLE h AS SELECT i AS k, i * 7919 % 100003 AS v, md5((i % 5000)::text) AS s, (i % 1000) / 1000.0::float8 AS p FROM generate_series(1, 200000) i;
CREATE TABLE g (LIKE h) USING gpucol;
INSERT INTO g SELECT * FROM h;
CREATE TABLE edges AS SELECT i AS a, i / 3 AS b FROM generate_series(1, 20000) i;
ANALYZE;
SQL
my %queries = (
	'groups' => 'SELECT v % 7, count(*), sum(k), max(s) FROM T GROUP BY 1 ORDER BY 1',
	'many groups' => 'SELECT count(*), sum(c), sum(v) FROM (SELECT v, count(*) AS c FROM T GROUP BY v) x',
	'texts' => 'SELECT count(*), max(c) FROM (SELECT s, count(*) AS c FROM T GROUP BY s) x',
	'distinct' => 'SELECT count(DISTINCT s), count(DISTINCT v) FROM T',
	'filter' => q{SELECT count(*), sum(v) FROM T WHERE s LIKE '%abc%' AND v > 100},
	'first rows' => 'SELECT v, k FROM T ORDER BY v DESC, k LIMIT 10',
	'ranking' => 'SELECT v % 50, gpucol.global_topk(k, v, p * 0.01, 3) FROM T GROUP BY 1 ORDER BY 1',
	'recursion' => 'WITH RECURSIVE r(x, y) AS (SELECT a, b FROM edges UNION SELECT r.x, e.b FROM r JOIN edges e ON r.y = e.a) SELECT count(*), sum(y) FROM r',
	'datalog' => q{SELECT count(*), sum(b) FROM gpucol.datalog('.decl edges(a:number, b:number) .decl p(a:number, b:number) .output p
		p(x, y) :- edges(x, y). p(x, z) :- p(x, y), edges(y, z).', 'p') AS t(a int, b int)},
	'load' => 'CREATE TEMP TABLE t USING gpucol AS TABLE T; SELECT count(*), sum(v) FROM t',
);
my %answers = map { $_ => $poor->safe_psql('postgres', $queries{$_} =~ s/\bT\b/h/gr) } keys %queries;
$poor->stop;

# Do statements end in their answers, or in errors of what is refused?
sub check_queries
{
	my ($limits) = @_;
	my ($answered, $refused) = (0, 0);

	for my $name (sort keys %queries)
	{
		my ($status, $out, $error) = $poor->psql('postgres', $queries{$name} =~ s/\bT\b/g/gr);

		$answered++ if $status == 0;
		$refused++ if $status != 0;
		ok($status == 0 ? $out eq $answers{$name} : $error =~ $LACKS, "$limits: $name") or diag("$out\n$error");
	}
	note("$limits: $answered answered, $refused refused");
	return $answered;
}

for my $more (0, 4, 16, 48, 128)
{
	# what a server takes before it does anything, and so many MB
	my $megabytes = 130 + $more;
	my $limits = "ulimit -v $megabytes" . '000';

	SKIP:
	{
		skip "no server starts under $limits", scalar keys %queries if !start_under($poor, $limits);
		check_queries($limits);
		stop_under($poor);
	}
}
SKIP:
{
	my $name = getpwuid($<);
	my $tasks = () = glob '/proc/[0-9]*/task/[0-9]*';

	skip 'root may have any number of threads', 1 if $< == 0;
	# the server's own processes and a backend, but hardly a thread; 18 has three that read and write
	my $own = $poor->pg_version >= 18 ? 12 : 9;

	skip 'no server starts', 1 if !start_under($poor, 'ulimit -u $(( $(ps -L -o pid= -u ' . $name . " | wc -l) + $own ))");
	cmp_ok(check_queries('without threads'), '>', 5, 'statements have answers without threads');
	stop_under($poor);
}
ok(start_under($poor, 'true'), 'starts again');
is(check_queries('with all'), scalar keys %queries, 'every statement has its answer');

# A backend whose stack may grow by less than what must be left of it for tests of texts
{
	my $psql = $poor->background_psql('postgres', on_error_stop => 0);
	my $ask = q{SELECT count(*) FROM stacked WHERE md5(s) > '8'};
	my $pid = $psql->query('SELECT pg_backend_pid()');

	$psql->query('CREATE TABLE stacked USING gpucol AS SELECT md5(i::text) AS s FROM generate_series(1, 3000) i');
	$psql->query("SET max_stack_depth = '128kB'");
	my $count = $psql->query($ask);
	$psql->query("SET max_stack_depth = '4MB'");
	my ($size) = slurp_file("/proc/$pid/status") =~ /VmSize:\s+(\d+) kB/;
	system_or_bail('prlimit', "--pid=$pid", '--as=' . ($size + 300) * 1024 . ':');
	$psql->query($ask);
	is($psql->query($ask), $count, 'little stack: the backend lives, and PostgreSQL answers');
	$psql->quit;
}
my $log = slurp_file($poor->logfile);
unlike($log, qr/terminated by signal|PANIC|TRAP/, 'no backend has crashed');
stop_under($poor);

done_testing();
