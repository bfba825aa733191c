# sqlsmith.pl SECONDS SEED FOLDER: sqlsmith's random queries, by an unprivileged role
# under row-level security, over gpucol tables.
#
# A crash is a finding, and so is an internal error (XX...) that PostgreSQL does not
# raise for the same statement in a database with the same tables of heap.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../t", $FindBin::Bin;
use Fuzz;
use Gpucol;
use Statements;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;

start_part('sqlsmith', @ARGV);
if (!grep { -x "$_/sqlsmith" } split /:/, $ENV{PATH})
{
	say_now('left out, sqlsmith is not installed');
	end_part();
	exit;
}

my $node = new_server('fuzz_sqlsmith', server_lines('log_error_verbosity = verbose', "log_line_prefix = '%m [%p] %d '", 'max_parallel_workers = 2'));
my %method = (smith => 'gpucol', smith_heap => 'heap');

# Tables of many types: packed, in the delta, partitioned, with deleted rows; views.
my $tables = <<'SQL';
CREATE TABLE facts (id int PRIMARY KEY, i2 int2, i8 bigint, n numeric(12,2), free numeric, f float8, r real, b bool, s text, v varchar(12), c char(5), d date, ts timestamp, tz timestamptz, tm time, iv interval, u uuid, e mood, j jsonb, a int[], p pair, dom small, ip inet, by bytea, r4 int4range, m money, bits bit(5), nm name, o oid);
INSERT INTO facts SELECT i, i % 200 - 100, i * 1000000007::int8, i / 7.0, CASE i % 9 WHEN 0 THEN 'NaN' WHEN 1 THEN 1e30 ELSE i / 3.0 END, CASE i % 7 WHEN 0 THEN 'NaN' WHEN 1 THEN '-Infinity' ELSE i / 8.0 END, i % 11, i % 3 = 0, 'word ' || i % 40, left(md5(i::text), 10), 'c' || i % 5,
	date '2020-01-01' + i % 900, timestamp '2020-01-01' + i * interval '7 minutes', timestamptz '2020-01-01Z' + i * interval '77 minutes', time '00:00' + i % 1440 * interval '1 minute', i * interval '1 hour', md5((i % 300)::text)::uuid, (ARRAY['sad', 'ok', 'happy']::mood[])[1 + i % 3], jsonb_build_object('k', i % 4), ARRAY[i % 5, NULL], ROW(i % 4, 'b')::pair, i % 1000, inet '10.0.0.0' + i % 200, decode(md5(i::text), 'hex'), int4range(i % 9, 10 + i % 9), i::money, (i % 32)::bit(5), ('n' || i % 20)::name, i % 3000
	FROM generate_series(1, 2500) i;
INSERT INTO facts (id, s) SELECT i, 'few' FROM generate_series(3001, 3040) i;
CREATE TABLE other (id int, k int, s text COLLATE "C", x numeric, at timestamptz);
INSERT INTO other SELECT i, i % 30, nullif('k' || i % 25, 'k3'), i % 100 / 4.0, timestamptz '2021-01-01Z' + i * interval '1 day' FROM generate_series(1, 1500) i;
CREATE TABLE edges (a int, b int);
INSERT INTO edges SELECT i % 100, (i * 7) % 100 FROM generate_series(1, 1200) i;
CREATE TABLE parts (id int, k int, v text, w float8) PARTITION BY RANGE (id);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (MINVALUE) TO (1000);
CREATE TABLE parts_2 PARTITION OF parts DEFAULT;
INSERT INTO parts SELECT i, i % 13, 'v' || i % 7, i / 4.0 FROM generate_series(1, 2400) i;
CREATE TABLE nothing (id int, t text);
SELECT settle(t) FROM unnest('{facts,other,edges,parts_1}'::text[]) t;
DELETE FROM facts WHERE id % 10 = 3;
UPDATE other SET k = k + 1 WHERE id % 20 = 1;
CREATE VIEW barrier WITH (security_barrier) AS SELECT id, s, n, d FROM facts WHERE i2 > 0;
CREATE VIEW grouped AS SELECT s, count(*) AS n, sum(n) AS total FROM facts GROUP BY s;
CREATE VIEW reach AS WITH RECURSIVE r(a, b) AS (SELECT a, b FROM edges UNION SELECT r.a, e.b FROM r JOIN edges e ON r.b = e.a) SELECT * FROM r;
CREATE INDEX ON facts (s);
CREATE INDEX ON other (k, id);
ANALYZE;
GRANT ALL ON ALL TABLES IN SCHEMA public TO reader;
GRANT USAGE ON SCHEMA gpucol TO reader;
ALTER TABLE facts ENABLE ROW LEVEL SECURITY;
CREATE POLICY p ON facts USING (id % 4 <> 1);
ALTER TABLE other ENABLE ROW LEVEL SECURITY;
CREATE POLICY p ON other USING (s IS NOT NULL AND k < 28);
SQL

$node->safe_psql('postgres', 'CREATE ROLE reader LOGIN');
for my $database (sort keys %method)
{
	$node->safe_psql('postgres', "CREATE DATABASE $database");
	my $preparations = preparations() =~ s/^CREATE ROLE.*$//mr;
	$node->safe_psql($database, "CREATE EXTENSION gpucol; $preparations");
	$node->safe_psql($database, "SET default_table_access_method = $method{$database}; SET timezone = 'UTC'; $tables");
}

# Statements of the log since an offset that ended with an internal error.
sub internal_errors
{
	my ($offset) = @_;
	my $log = slurp_file($node->logfile, $offset);
	my @found;

	while ($log =~ /\[(\d+)\] smith ERROR:  (XX\w+): ([^\n]*)\n(?:.*?)\[\1\] smith STATEMENT:  (.*?)\n(?=\d{4}-\d\d-\d\d )/sg)
	{
		push @found, [ $2, $3, $4 =~ s/\n\t/\n/gr ];
	}
	return @found;
}

# What heap says to a statement: the code of its error.
sub of_heap
{
	my ($statement) = @_;
	my ($status, $out, $error) = $node->psql('smith_heap', "SET statement_timeout = '20s'; $statement", extra_params => [ '-U', 'reader', '-v', 'VERBOSITY=verbose' ], timeout => 60);

	return $error =~ /ERROR:  (\w{5})/ ? $1 : '';
}

my %known;
my @ways = ('-c gpucol.pushdown=allow', '-c gpucol.segment_rows=1024 -c work_mem=64kB', '-c parallel_setup_cost=0 -c parallel_tuple_cost=0 -c min_parallel_table_scan_size=0', '-c enable_hashjoin=off -c enable_nestloop=off', '-c enable_hashagg=off -c gpucol.cpu_threads=3', '-c plan_cache_mode=force_generic_plan -c jit=off');

while (going(5))
{
	my $seed = round_seed();
	my $offset = -s $node->logfile;
	my ($said, $way) = ('', pick(@ways));
	my $target = 'host=' . $node->host . ' port=' . $node->port . " dbname=smith user=reader options='$way'";
	my @command = ('sqlsmith', "--target=$target", "--seed=$seed", '--max-queries=1500', (chance_of_catalog() ? () : '--exclude-catalog'));

	eval { IPC::Run::run(\@command, '>', \$said, '2>&1', IPC::Run::timeout(seconds_left() < 90 ? seconds_left() : 90)); };
	for my $error (internal_errors($offset))
	{
		my ($code, $message, $statement) = @$error;
		my $alike = $message =~ s/\d+/n/gr;

		next if $known{$alike}++ || of_heap($statement) =~ /^XX/;
		finding("internal error $code: $message", "seed $seed, options $way\n\n$statement");
	}
	watch_log($node, '(?!)') && wait_for_server($node);
	counted_by($node, 'smith');
}

sub chance_of_catalog { return rand() < 0.15; }

for my $table (qw(facts other edges parts_1 parts_2))
{
	my ($one, $two) = map { $node->safe_psql($_, "SELECT count(*) FROM $table") } qw(smith smith_heap);
	say_now("$table has $one rows, heap's $two (sqlsmith changes rows, so they may differ)") if $one ne $two;
}
$node->stop;
end_part();
