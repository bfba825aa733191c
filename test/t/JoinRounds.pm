# JoinRounds.pm: one round of random joins (Joins.pm): tables, and queries that heap tables and
# gpucol tables must answer alike, with pushdown allowed, required and forbidden, or with the
# same SQLSTATE.  For 040_joins.pl and fuzz/joins.pl.
#
# A query that takes heap long, or shows more rows than are worth comparing, and most of
# those with no rows are left out; what must be pushed down may be refused.
package JoinRounds;

use strict;
use warnings;
use Exporter 'import';
use Gpucol qw(pick);
use IPC::Run;
use Joins;
use PostgreSQL::Test::Utils;

our @EXPORT = qw(join_round joins_counted);

my $MOST_ROWS = 3000;

my %count = map { $_ => 0 } qw(asked compared wrong left_out refused errors excused joined joinable slow empty);
my %states;
my ($node, $keep, @problems);

# What was asked and compared so far, and how often heap raised an error of what SQLSTATE.
sub joins_counted { return (\%count, \%states); }

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
	push @problems, [ "$name did not run to its end", substr $output, -1500 ] if $output !~ /^finished$/m;
	$found{$1} = $2 while $output =~ /^<<< (\S+)\n(.*?)^>>>$/msg;
	$count{asked} += keys %found;
	return %found;
}

sub framed { my ($marker, $sql) = @_; return "\\echo <<< $marker\n$sql;\n\\echo >>>\n"; }

# Rows as they are compared: numbers without what equal ones need not share, in the
# order in which they came if the query asks for one.
sub plain
{
	my ($text, $query) = @_;
	my @rows = split /\n/, $text =~ s/^psql:\S+: //gmr, -1;

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

# A difference that is no mistake: what was refused, and an error of the data, or of a subquery
# with several rows, which excluding a row by another condition first, or joining in another
# order, avoids; and what heap, which has sorted the rows, does not come to before it has as many
# as LIMIT asks for: a sum too large of a group, a subquery of several rows that is shown; or
# such a subquery in a join of PostgreSQL's own, over heap in another place of another order, or
# of the first row of a table, which either joins with nothing.
sub excused
{
	my ($heap, $packed, $variant, $query, $plan) = @_;

	if ($variant eq 'require' && $packed =~ /^ERROR:  0A000/) { $count{refused}++; return 1; }
	if ($packed =~ /^ERROR:  57014/) { $count{slow}++; return 1; }
	return 0 unless $heap =~ /^ERROR:  (?:22|21000)/
	  || ($packed =~ /^ERROR:  220(?:03|12)/ && $query =~ m{ / \(| [*] 2 = | [+] 1 = | - 1\b|abs\(})
	  || ($packed =~ /^ERROR:  21000/ && ($query =~ /\bORDER BY [\d, A-Z]+ LIMIT [\d A-Z]+$/
		|| $plan =~ /^ +Join Filter: .*\bSubPlan /m
		|| ($heap =~ /^[|0]*$/ && $plan =~ /Filter: .*(?:\bSubPlan |\$\d)/)))
	  || ($packed =~ /^ERROR:  22003/ && $query =~ m{\bsum\(\S+ [*+] .*\bGROUP BY .*\bLIMIT });
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
	my ($step, $query, $answers, $settings) = @_;
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
		next if $packed eq $heap || excused($heap, $packed, $variant, $query, $answers->{"$step.plan"} // '');
		$count{wrong}++;
		next if @problems >= 5;
		push @problems, [ "query $step, pushdown $variant", join "\n", join('; ', @$settings), $query,
			difference('heap', $heap, $packed), difference('gpucol', $packed, $heap), $answers->{"$step.plan"} // '' ];
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

# A query with parameters in place of the integers that something is compared with, and these.
sub parameters
{
	my ($query) = @_;
	my @values;

	$query =~ s/((?:<>|<=|>=|=|<|>) )(\d{1,6})(?=[ )]|$)/push @values, $2; $1 . '$' . @values . '::int'/ge;
	return ($query, @values);
}

# Tables, queries over heap, and those that heap answers over gpucol.  Everything is a function
# of the seed.  Options: behind, a function that makes SQL to follow the making of the tables;
# before, SQL that each session begins with.  Returns the settings, the number of queries, and what is wrong:
# pairs of a line and its details.
sub join_round
{
	my ($server, $folder, $seed, $steps, %options) = @_;

	($node, $keep, @problems) = ($server, $folder);
	srand $seed;
	$node->safe_psql('postgres', join_tables($seed) . ($options{behind} ? $options{behind}->() : ''));
	my $before = $options{before} // '';
	my @settings = join_settings();
	my @queries = map { join_query() } 1 .. 1.7 * $steps;
	my %heap = results("SET search_path = plain, public;\nSET statement_timeout = '1s';\n$before"
		  . join('', map { framed("$_.heap", $queries[$_]) } 0 .. $#queries), "heap$seed");
	my @asked = grep { is_worth($heap{"$_.heap"}) } 0 .. $#queries;
	@asked = @asked[ 0 .. $steps - 1 ] if @asked > $steps;
	my $script = "SET search_path = packed, public;\nSET statement_timeout = '20s';\n$before" . join('', map { "$_;\n" } @settings);

	$count{left_out} += $steps - @asked;
	$count{joinable} += @asked unless grep { /enable_join/ } @settings;
	for my $step (@asked)
	{
		my $other = pick('require', 'require', 'require', 'forbid');
		my $prepared = chance(0.2);
		my ($statement, @values) = parameters($queries[$step]);
		my $execute = @values ? 'EXECUTE p (' . join(', ', @values) . ')' : 'EXECUTE p';

		$script .= framed("$step.plan", "EXPLAIN (COSTS OFF) $queries[$step]");
		$script .= 'SET plan_cache_mode = ' . pick('force_generic_plan', 'auto') . ";\nPREPARE p AS $statement;\n" if $prepared;
		$script .= framed("$step.allow", $prepared ? $execute : $queries[$step]);
		$script .= "DEALLOCATE p;\nRESET plan_cache_mode;\n" if $prepared;
		$script .= "SET gpucol.pushdown = $other;\n" . framed("$step.$other", $queries[$step]) . "RESET gpucol.pushdown;\n";
	}
	my %packed = results($script, "packed$seed");
	compare($_, $queries[$_], { %heap, %packed }, \@settings) for @asked;
	return (join('; ', @settings) || 'no settings', scalar @asked, @problems);
}

sub chance { return rand() < $_[0]; }

1;
