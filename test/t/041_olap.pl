# 041_olap.pl: the Star Schema Benchmark's 13 queries, TPC-H's 22, ClickBench's 43, those of data mining, 201 of
# analysts over a table of all common types and 162 over TPC-H's tables and a small star (test/olap) answer
# over gpucol tables what they answer over heap tables: without and with primary keys, in
# several threads, in little memory, and after some rows were deleted, changed and added.
#
# What of PostgreSQL's nodes is left in their plans is printed.  GPUCOL_OLAP names some of the six.
use strict;
use warnings;
use utf8;
use FindBin;
use lib $FindBin::Bin;
use Gpucol;
use PostgreSQL::Test::Utils;
use Test::More;

my %SCALE = (ssb => $ENV{GPUCOL_SSB_SCALE} || 0.02, tpch => $ENV{GPUCOL_TPCH_SCALE} || 0.01,
	hits => $ENV{GPUCOL_HITS_SCALE} || 0.01, mining => $ENV{GPUCOL_MINING_SCALE} || 0.005, analyst => $ENV{GPUCOL_ANALYST_SCALE} || 0.006, adhoc => $ENV{GPUCOL_ADHOC_SCALE} || 0.002);

# How many queries at least are gpucol's alone, whose small tables may be read by others.
my %WHOLE = (ssb => 13, tpch => 10, hits => 42, mining => 15, analyst => 180, adhoc => 120);

# Whose tables a benchmark reads beside its own.
my %BESIDE = (adhoc => ['tpch']);
my $node = new_server('olap', "datestyle = 'ISO'", 'shared_buffers = 256MB', 'max_wal_size = 2GB',
	'autovacuum = off', 'jit = off', 'work_mem = 64MB');

# A file of test/olap with its variables replaced.
sub file
{
	my ($name, $scale) = @_;
	my $text = slurp_file("$FindBin::Bin/../olap/$name.sql");

	$text =~ s/:scale/$scale/g;
	$text =~ s/:skew/40/g;
	$text =~ s/:rows/3000000 * $SCALE{hits}/ge;
	$text =~ s/:many/3000 * $SCALE{hits}/ge;
	return $text;
}

# Run SQL in a schema of one access method's tables.
sub in_schema
{
	my ($method, $benchmark, $sql) = @_;

	return $node->safe_psql('postgres', "SET search_path = ${method}_$benchmark, public;\n"
		  . "SET default_table_access_method = $method;\nSET client_min_messages = warning;\n$sql");
}

sub load
{
	my ($benchmark) = @_;

	$node->safe_psql('postgres', "CREATE SCHEMA heap_$benchmark; CREATE SCHEMA gpucol_$benchmark");
	for (@{ $BESIDE{$benchmark} // [] }, $benchmark)
	{
		in_schema('heap', $benchmark, file("${_}_tables") . file("${_}_rows", $SCALE{$_}));
		in_schema('gpucol', $benchmark, file("${_}_tables"));
	}
	my @tables = split /\n/, $node->safe_psql('postgres',
		"SELECT relname FROM pg_class WHERE relnamespace = 'gpucol_$benchmark'::regnamespace AND relkind = 'r'");
	in_schema('gpucol', $benchmark, join '', map { "INSERT INTO $_ SELECT * FROM heap_$benchmark.$_;\n" } @tables);
	in_schema($_, $benchmark, 'VACUUM ANALYZE') for qw(heap gpucol);
	return;
}

# Queries by name, in the order of the file.
sub queries
{
	my ($benchmark) = @_;
	my $fraction = 0.0001 / $SCALE{$benchmark};

	return map { [ $_->[0], $_->[0] eq '11' ? $_->[1] =~ s/0\.0001/$fraction/r : $_->[1] ] }
	  map { [ /^(\S+)\n(.*?);\n/s ] } grep { /^\S+\n/ } split /^-- /m, file("${benchmark}_queries", '');
}

sub answer { my ($method, $benchmark, $sql) = @_; return join "\n", sort split /\n/, in_schema($method, $benchmark, $sql), -1; }

# How many of PostgreSQL's nodes a plan has that gpucol has as well.
sub left_in_plan
{
	my ($benchmark, $name, $sql) = @_;
	my $plan = in_schema('gpucol', $benchmark, "EXPLAIN (COSTS OFF) $sql");
	my $joins = () = $plan =~ /(?:Hash|Merge)(?: \w+){0,2} Join|Nested Loop/g;
	my $aggregates = () = $plan =~ /(?:^|-> +)(?:Partial |Finalize )?(?:Group|Hash|Mixed)?Aggregate/mg;
	my $scans = () = $plan =~ /Seq Scan/g;
	my $custom = () = $plan =~ /Custom Scan \(Gpucol/g;

	note("$benchmark $name: $joins joins, $aggregates aggregations, $scans sequential scans of PostgreSQL, $custom nodes of gpucol");
	return $joins + $aggregates + $scans;
}

# Compare all answers; heap's are kept until rows change.
sub compare
{
	my ($benchmark, $heap, $what, $settings) = @_;

	for (queries($benchmark))
	{
		my ($name, $sql) = @$_;

		$sql =~ s{/\*(.*?)\*/}{$1}sg;	# what settles the order of rows that tie
		$heap->{$name} //= answer('heap', $benchmark, $sql);
		my $packed = answer('gpucol', $benchmark, "$settings$sql");
		ok($packed eq $heap->{$name}, "$benchmark $name, $what: " . (1 + $heap->{$name} =~ tr/\n//) . ' rows')
		  || diag("heap:\n" . substr($heap->{$name}, 0, 1000) . "\ngpucol:\n" . substr($packed, 0, 1000) . "\n"
			  . in_schema('gpucol', $benchmark, "${settings}EXPLAIN (COSTS OFF) $sql"));
		diag("$benchmark $name, $what: no rows") if $heap->{$name} eq '' && $what eq 'as loaded';
	}
	return;
}

my %changes = (
	ssb => 'DELETE FROM lineorder WHERE lo_orderkey % 97 = 3; DELETE FROM part WHERE p_partkey % 50 = 1; UPDATE customer SET c_nation = NULL '
	  . 'WHERE c_custkey % 30 = 2; UPDATE lineorder SET lo_linenumber = lo_linenumber + 4, lo_discount = 2 WHERE lo_orderkey < 12; DELETE FROM supplier WHERE s_suppkey = 3',
	tpch => 'DELETE FROM lineitem WHERE l_orderkey % 97 = 3; DELETE FROM orders WHERE o_orderkey % 89 = 4; UPDATE customer SET c_acctbal = c_acctbal + 1 '
	  . "WHERE c_custkey % 30 = 2; INSERT INTO orders SELECT o_orderkey + 1000000, o_custkey, o_orderstatus, o_totalprice, o_orderdate, o_orderpriority, o_clerk, 0, 'added' "
	  . 'FROM orders WHERE o_orderkey < 40; UPDATE lineitem SET l_orderkey = l_orderkey + 1000000 WHERE l_orderkey < 20; DELETE FROM partsupp WHERE ps_availqty < 50',
	hits => "DELETE FROM hits WHERE UserID % 50 = 7; UPDATE hits SET SearchPhrase = 'google ' || RegionID, URL = '' WHERE ClientIP % 90 = 3; "
	  . "INSERT INTO hits SELECT * FROM hits WHERE CounterID = 62; UPDATE hits SET Title = 'Google' WHERE RegionID = 2",
	mining => 'DELETE FROM points WHERE id % 90 = 4; UPDATE points SET x = y, class = 2 WHERE id % 70 = 3; DELETE FROM centres WHERE k = 7; '
	  . "UPDATE documents SET tags = tags || 'added'::text, phrase = body WHERE id % 60 = 5; DELETE FROM documents WHERE id % 60 = 6; "
	  . 'INSERT INTO views SELECT * FROM views WHERE visitor < 50; UPDATE readings SET v = NULL WHERE sensor = 3; DELETE FROM baskets WHERE basket % 30 = 2',
	analyst => "DELETE FROM events WHERE id % 50 = 7; UPDATE events SET q = q * 1.5, n = -n, t = NULL, i = i + 1 WHERE id % 60 = 3; "
	  . "INSERT INTO events SELECT id + 1000000, s, i, b, p, n + 0.0001, q, r, f, bo, d, ts, tz, tm, iv, u, t, v, c, g, ip, j, a, ta, e, y, m FROM events WHERE id < 50",
	adhoc => "DELETE FROM sale WHERE sale % 60 = 7; UPDATE sale SET amount = amount + 1, store = 'S001' WHERE sale % 70 = 3; UPDATE item SET category = NULL WHERE sku LIKE '%7'; "
	  . 'INSERT INTO sale_before SELECT * FROM sale WHERE sale % 100 = 1; DELETE FROM client WHERE client % 40 = 2; DELETE FROM refund WHERE sale % 9 = 4; DELETE FROM lineitem WHERE l_orderkey % 97 = 3');

$node->safe_psql('postgres', file('draw') . file('nations') . file('hits_words'));
my %keys = (analyst => 'CREATE INDEX ON events (id);', hits => 'CREATE INDEX ON hits (CounterID, EventDate);', mining => 'CREATE INDEX ON points (id); CREATE INDEX ON readings (sensor, t);',
	adhoc => file('tpch_keys') . join('', map { "CREATE INDEX ON $_;" } 'sale (sale)', 'sale (store, channel)', 'sale (sku)', 'sale (client)',
		'sale_before (store, channel)', 'sale_before (sku)', 'sale_before (client)', 'client (client)', 'item (sku)', 'refund (sale)', 'orders (o_custkey)'));
for my $benchmark (split / /, $ENV{GPUCOL_OLAP} // 'ssb tpch hits mining analyst adhoc')
{
	my $heap = {};
	my $keys = $keys{$benchmark} // file("${benchmark}_keys");
	my $indexes = $benchmark =~ /^(?:tpch|adhoc)$/ ? 'CREATE INDEX ON lineitem (l_partkey, l_suppkey);' : '';

	load($benchmark);
	in_schema('heap', $benchmark, $keys . $indexes);	# so that the oracle is quick
	my $whole = grep { left_in_plan($benchmark, @$_) == 0 } queries($benchmark);
	cmp_ok($whole, '>=', $WHOLE{$benchmark}, "$benchmark: gpucol runs $whole queries whole");
	compare($benchmark, $heap, 'as loaded', '');
	compare($benchmark, $heap, 'three threads, little memory', "SET gpucol.cpu_threads = 3; SET work_mem = '64kB';\n");
	in_schema('gpucol', $benchmark, $keys . $indexes . 'ANALYZE');
	compare($benchmark, $heap, 'with primary keys', '');
	in_schema($_, $benchmark, $changes{$benchmark}) for qw(heap gpucol);
	compare($benchmark, {}, 'after changes', '');
}
$node->stop;
done_testing();
