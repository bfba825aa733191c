# 040_joins.pl: random joins over two to six tables (Joins.pm): what heap tables answer
# is what gpucol tables must answer, with pushdown allowed, required and forbidden, or
# the same SQLSTATE.
#
# Every round makes its tables and runs its queries in one session of each kind.  A query
# that takes heap long, or shows more rows than are worth comparing, and most of those with
# no rows are left out; what must be pushed down may be refused.  GPUCOL_SEED repeats a
# run, GPUCOL_ROUNDS (times GPUCOL_STEPS queries) lengthens it: 500 times 200 is a hunt.
# GPUCOL_KEEP names a folder that keeps the scripts and what they printed.
use strict;
use warnings;
use utf8;
use FindBin;
use lib $FindBin::Bin;
use Gpucol;
use IPC::Run;
use Joins;
use PostgreSQL::Test::Utils;
use Test::More;

my $ROUNDS = $ENV{GPUCOL_ROUNDS} || 3;
my $STEPS = $ENV{GPUCOL_STEPS} || 100;
my $MOST_ROWS = 3000;
my $keep = $ENV{GPUCOL_KEEP} || PostgreSQL::Test::Utils::tempdir();
my $seed = seed_random(40);
my $node = new_server('joins', "datestyle = 'ISO'", 'extra_float_digits = -4', "lc_messages = 'C'", 'shared_buffers = 256MB',
	'max_wal_size = 2GB', 'autovacuum = off', 'jit = off');
my %count = map { $_ => 0 } qw(compared wrong left_out refused errors excused joined joinable slow empty);
my %states;

# What a script prints by marker.
sub results
{
	my ($script, $name) = @_;
	my ($file, $output, %found) = ("$keep/$name.sql", '');

	open my $out, '>', $file or die "$file: $!";
	print $out "\\set VERBOSITY sqlstate\nSET client_min_messages = error;\n$script\\echo finished\n";
	close $out;
	IPC::Run::run([ 'psql', '-X', '-q', '-A', '-t', '-f', $file, '-d', $node->connstr('postgres') ], '>', \$output, '2>&1');
	append_to_file("$keep/$name.out", $output) if $ENV{GPUCOL_KEEP};
	ok($output =~ /^finished$/m, "$name ran to its end") || diag(substr($output, -1500));
	$found{$1} = $2 while $output =~ /^<<< (\S+)\n(.*?)^>>>$/msg;
	return %found;
}

sub framed { my ($marker, $sql) = @_; return "\\echo <<< $marker\n$sql;\n\\echo >>>\n"; }

# Rows as they are compared: numbers without what equal ones need not share, in the
# order in which they came if the query asks for one.
sub plain
{
	my ($text, $query) = @_;
	my @rows = split /\n/, $text, -1;

	pop @rows;	# after the last end of line
	return $1 if $text =~ /^(?:psql:\S+: )?(ERROR:  \w+)/m;
	for (@rows)
	{
		s/(?<![\w.])(-?\d+)\.0+(?![\d\w.])/$1/g;
		s/(?<![\w.])(-?\d+\.\d*?[1-9])0+(?![\d\w.])/$1/g;
		s/(?<![\w.])-0(?![\d\w.])/0/g;
	}
	@rows = sort @rows unless $query =~ /ORDER BY [\d, A-Z]+(?:LIMIT [\d A-Z]+)?$/;
	return join "\n", @rows;
}

# A difference that is no mistake: what was refused, and an error of the data, which
# excluding a row by another condition first, or joining in another order, avoids.
sub excused
{
	my ($heap, $packed, $variant, $query) = @_;

	if ($variant eq 'require' && $packed =~ /^ERROR:  0A000/) { $count{refused}++; return 1; }
	if ($packed =~ /^ERROR:  57014/) { $count{slow}++ < 5 && note("slow, $variant: $query"); return 1; }
	return 0 unless $heap =~ /^ERROR:  22/ || ($packed =~ /^ERROR:  220(?:03|12)/ && $query =~ m{ / \(| [*] 2 = | [+] 1 = | - 1\b|abs\(});
	return ++$count{excused};
}

# True where a plan joins in gpucol.
sub is_joined
{
	my ($plan) = @_;

	return $plan =~ /Custom Scan \(GpucolJoin\)/ || $plan =~ /Custom Scan \(GpucolAgg\)[^\n]*\n(?:(?! *->)[^\n]*\n)*? +(?:Join|Lookup|Probe|Built?)[^\n]*:/;
}

# A line on one of two answers, and some rows that the other one lacks.
sub difference
{
	my ($whose, $one, $two) = @_;
	my (%rows, @differ);

	$rows{$_}++ for split /\n/, $one;
	$rows{$_}-- for split /\n/, $two;
	@differ = grep { $rows{$_} > 0 } sort keys %rows;
	splice @differ, 5 if @differ > 5;
	return ("$whose: " . (1 + $one =~ tr/\n//) . ' rows; that differ:', @differ);
}

# Compare one query's answers.
sub compare
{
	my ($round, $step, $query, $answers, $settings) = @_;
	my $heap = plain($answers->{"$step.heap"}, $query);

	$count{errors}++ if $heap =~ /^ERROR/;
	$states{$1}++ if $heap =~ /^ERROR:  (\w+)/;
	$count{empty}++ if $heap =~ /^[|0]*$/;
	$count{joined}++ if is_joined($answers->{"$step.plan"} // '');
	for my $variant (qw(allow require forbid))
	{
		my $text = $answers->{"$step.$variant"} // next;
		my $packed = plain($text, $query);

		$count{compared}++;
		next if $packed eq $heap || excused($heap, $packed, $variant, $query) || ++$count{wrong} > 5;
		fail("round $round, query $step, $variant");
		diag(join "\n", "GPUCOL_SEED=$seed, round $round, query $step, pushdown $variant; " . join('; ', @$settings), $query,
			difference('heap', $heap, $packed), difference('gpucol', $packed, $heap), $answers->{"$step.plan"} // '');
	}
	return;
}

# True for an answer to compare: it came soon enough, is not too long, and says something,
# as one of nothing seldom does.
sub is_worth
{
	my ($heap) = @_;

	return 0 if !defined $heap || $heap =~ /ERROR:  57014/ || $heap =~ tr/\n// > $MOST_ROWS;
	return $heap !~ /^[|0\n]*$/ || chance(0.3);
}

# Tables, queries over heap, and those that heap answers over gpucol.
sub run_round
{
	my ($round) = @_;

	srand($seed * 100_003 + $round);
	$node->safe_psql('postgres', join_tables($seed + $round));
	my @settings = join_settings();
	my @queries = map { join_query() } 1 .. 1.7 * $STEPS;
	my %heap = results("SET search_path = plain, public;\nSET statement_timeout = '1s';\n"
		  . join('', map { framed("$_.heap", $queries[$_]) } 0 .. $#queries), "heap$round");
	my @asked = grep { is_worth($heap{"$_.heap"}) } 0 .. $#queries;
	@asked = @asked[ 0 .. $STEPS - 1 ] if @asked > $STEPS;
	my $script = "SET search_path = packed, public;\nSET statement_timeout = '20s';\n" . join('', map { "$_;\n" } @settings);

	$count{left_out} += $STEPS - @asked;
	$count{joinable} += @asked unless grep { /enable_join/ } @settings;
	for my $step (@asked)
	{
		my $other = pick('require', 'require', 'require', 'forbid');
		my $prepared = chance(0.1);

		$script .= framed("$step.plan", "EXPLAIN (COSTS OFF) $queries[$step]");
		$script .= "PREPARE p AS $queries[$step];\n" if $prepared;
		$script .= framed("$step.allow", $prepared ? 'EXECUTE p' : $queries[$step]);
		$script .= "DEALLOCATE p;\n" if $prepared;
		$script .= "SET gpucol.pushdown = $other;\n" . framed("$step.$other", $queries[$step]) . "RESET gpucol.pushdown;\n";
	}
	my %packed = results($script, "packed$round");
	my $before = $count{wrong};
	compare($round, $_, $queries[$_], { %heap, %packed }, \@settings) for @asked;
	is($count{wrong}, $before, "round $round: " . @asked . ' queries equal with ' . (join('; ', @settings) || 'no settings'));
	return;
}

sub chance { return rand() < $_[0]; }

run_round($_) for 1 .. $ROUNDS;

my $queries = $ROUNDS * $STEPS - $count{left_out};
note(join ', ', map { "$_ $count{$_}" } sort keys %count);
note('errors by SQLSTATE: ' . join(', ', map { "$_ $states{$_}" } sort keys %states));
note(sprintf '%d of %d queries (%.0f %%) joined in gpucol', $count{joined}, $queries, 100 * $count{joined} / ($queries || 1));
cmp_ok($count{joined}, '>=', 0.3 * $count{joinable}, 'gpucol joins in three of ten queries or more');
cmp_ok($queries, '>', $ROUNDS * $STEPS / 2, 'most queries are compared');
is(join(' ', grep { /^42/ } sort keys %states), '', 'no query is wrong SQL');
cmp_ok($count{empty}, '<', $queries / 2, 'most have answers');
cmp_ok($count{errors}, '<', $queries / 5, 'few of them raise an error');
$node->stop;
done_testing();
