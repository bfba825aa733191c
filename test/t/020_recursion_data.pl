# 020_recursion_data.pl: recursion over real graphs gives the published counts
# and checksums, by every strategy.
#
# The data is not part of the tree: GPUCOL_DATA names its folder, else a folder
# shared/data of a parent directory is taken, else the test is skipped.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Gpucol;
use IO::Uncompress::Gunzip qw(gunzip $GunzipError);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# The folder with truth.tsv.
sub find_data
{
	my ($up) = ($FindBin::Bin);

	return $ENV{GPUCOL_DATA} if $ENV{GPUCOL_DATA};
	for (1 .. 10)
	{
		return "$up/shared/data" if -r "$up/shared/data/truth.tsv";
		$up .= '/..';
	}
	return undef;
}

my $data = find_data();
plan skip_all => 'no graphs: GPUCOL_DATA names no folder and no parent has shared/data'
  unless defined $data && -r "$data/truth.tsv";

my $node = new_server('recursion', 'shared_preload_libraries = gpucol');

# A gpucol table from a compressed file.
sub load_table
{
	my ($table, $columns, $file, $delimiter) = @_;
	my $rows;

	gunzip("$data/$file" => \$rows) or die "$file: $GunzipError";
	$node->safe_psql('postgres', qq{DROP TABLE IF EXISTS "$table"; CREATE TABLE "$table" ($columns) USING gpucol;\n}
		. qq{COPY "$table" FROM STDIN (FORMAT csv, DELIMITER E'$delimiter');\n$rows\\.\n});
	return;
}

# The row of truth.tsv of a graph, by column name.
sub truth_of
{
	my ($graph) = @_;

	open my $in, '<', "$data/truth.tsv" or die "truth.tsv: $!";
	chomp(my $head = <$in>);
	while (my $line = <$in>)
	{
		my %row;

		chomp $line;
		@row{ split /\t/, $head } = split /\t/, $line, -1;
		return \%row if $row{dataset} eq $graph;
	}
	die "no truth about $graph";
}

# Check a query for some strategies, and that it ran as GpucolRecursive.
sub check_query
{
	my ($what, $query, $wanted, @strategies) = @_;

	like($node->safe_psql('postgres', "EXPLAIN $query"), qr/GpucolRecursive/, "$what: plan");
	for my $strategy (@strategies)
	{
		is($node->safe_psql('postgres', "SET gpucol.recursive_strategy = $strategy; $query"),
			$wanted, "$what: $strategy");
	}
	return;
}

sub closure
{
	my ($graph, @strategies) = @_;
	my $truth = truth_of($graph);
	my $query = qq{WITH RECURSIVE r(x, y) AS (SELECT src, dst FROM "$graph" UNION
		SELECT r.x, e.dst FROM r JOIN "$graph" e ON e.src = r.y)
		SELECT count(*), sum(x), sum(y) FROM r};

	load_table($graph, 'src int, dst int', "graphs/$graph.tsv.gz", '\t');
	check_query("closure of $graph", $query, join('|', @$truth{qw(tc_count tc_sum_x tc_sum_y)}), @strategies);
	return;
}

sub same_generation
{
	my ($graph, @strategies) = @_;
	my $truth = truth_of($graph);
	my $query = qq{WITH RECURSIVE r(x, y) AS (
		SELECT a.dst, b.dst FROM "$graph" a JOIN "$graph" b USING (src) WHERE a.dst <> b.dst UNION
		SELECT a.dst, b.dst FROM r JOIN "$graph" a ON a.src = r.x JOIN "$graph" b ON b.src = r.y)
		SELECT count(*), sum(x), sum(x::numeric * y) FROM r};

	check_query("same generation of $graph", $query,
		join('|', @$truth{ 'sg_count', 'sg_sum_x(=sum_y)', 'sg_sum_xy' }), @strategies);
	return;
}

my $CSPA = slurp_file("$FindBin::Bin/../include/cspa.dl");

# Alias analysis of a C program.
sub alias_analysis
{
	my ($program, @counts) = @_;

	load_table($_, 'a int, b int', "cspa/$program.$_.tsv.gz", '\t') for qw(assign dereference);
	for my $strategy (qw(auto hisa bitmap))
	{
		is($node->safe_psql('postgres', "SET gpucol.recursive_strategy = $strategy; SET client_min_messages = warning;
			DROP SCHEMA IF EXISTS aliases CASCADE; CREATE SCHEMA aliases;
			SELECT row_count FROM gpucol.datalog_into('$CSPA', 'aliases');"),
			join("\n", @counts), "aliases of $program: $strategy");
	}
	return;
}

closure($_, qw(auto hisa bitmap)) for qw(small_22 OL.cedge cal.cedge TG.cedge);
closure($_, 'auto') for qw(cti CA-HepTh p2p-Gnutella09 wiki-Vote luxembourg_osm);
same_generation($_, qw(auto hisa bitmap)) for qw(OL.cedge cal.cedge);
alias_analysis('wc', 293, 468, 121);
alias_analysis('bzip2', 841, 1853, 248);
alias_analysis('gzip', 3807, 10066, 1390);
$node->stop;
done_testing();
