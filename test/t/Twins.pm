# Twins.pm: runs a random script (Statements.pm) over heap tables and again over
# gpucol tables, and compares what every statement prints, errors included; or random
# queries, whose rows are compared in the server.
package Twins;

use strict;
use warnings;
use Exporter 'import';
use Gpucol;
use Statements;
use IPC::Run;
use List::Util qw(min);
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

our @EXPORT = qw(twin_server compare_twins compare_queries);

# Ways in which a session over gpucol tables may be set up.
my @WAYS = (
	"SET gpucol.pushdown = allow", "SET gpucol.pushdown = forbid",
	"SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET gpucol.cpu_threads = 1",
	"SET gpucol.segment_rows = 1024", "SET enable_hashjoin = off; SET enable_nestloop = off; SET enable_mergejoin = off",
	"SET enable_hashjoin = off; SET enable_nestloop = off", "SET enable_mergejoin = off; SET enable_hashagg = off",
	"SET enable_indexscan = off; SET enable_indexonlyscan = off", "SET enable_bitmapscan = off; SET enable_seqscan = off", "SET work_mem = '64kB'",
	"SET enable_partitionwise_aggregate = on; SET enable_partitionwise_join = on", "SET gpucol.cpu_threads = 3",
	"SELECT set_config(name, 'on', false) FROM pg_settings WHERE name IN ('debug_parallel_query', 'force_parallel_mode')", "SET jit_above_cost = 0; SET jit_inline_above_cost = 0", "SET plan_cache_mode = force_generic_plan");

# Some of those ways.
sub random_settings { return map { pick(@WAYS) } 1 .. between(0, 3); }

# A server for scripts; further arguments are lines of postgresql.conf.
sub twin_server
{
	my ($name, @lines) = @_;
	my $node = new_server($name, 'max_prepared_transactions = 5', 'max_parallel_workers = 4',
		"datestyle = 'ISO'", 'extra_float_digits = -4', "lc_messages = 'C'", @lines);

	$node->safe_psql('postgres', preparations());
	return $node;
}

# What a script prints by statement, run in a schema over tables of an access method.
# What it gives to another session goes through a psql of its own.
sub results
{
	my ($node, $script, $method, $file, @settings) = @_;
	my $output = '';
	my @local = ('search_path = work, public', "default_table_access_method = $method");

	open my $out, '>', $file or die "$file: $!";
	print $out "\\set VERBOSITY verbose\n\\set ON_ERROR_ROLLBACK on\nSET client_min_messages = warning;\nDROP SCHEMA IF EXISTS work CASCADE;\nDROP OWNED BY reader;\nDEALLOCATE ALL;\n",
	  "CREATE SCHEMA work;\nGRANT ALL ON SCHEMA work TO reader;\n", map({ "SET $_;\n" } @local), map({ "$_;\n" } @settings), $script;
	close $out;
	local %ENV = (%ENV, PGHOST => $node->host, PGPORT => $node->port, PGDATABASE => 'postgres', GPUCOL_ELSEWHERE => "$file.elsewhere",
		PGOPTIONS => join(' ', map { '-c ' . s/ //gr } @local, 'client_min_messages = warning', 'lock_timeout = 10s'));
	unlink "$file.elsewhere";
	IPC::Run::run([ 'psql', '-X', '-q', '-A', '-t', '-f', $file, '-d', $node->connstr('postgres') ], '>', \$output, '2>&1');
	my $ran = $output =~ /^finished$/m ? 1 : 0;
	$output .= slurp_file("$file.elsewhere") if -e "$file.elsewhere";
	append_to_file("$file.out", $output);
	my @found;
	$found[$1] = plain($2) while $output =~ /^<<< (\d+)\n(.*?)^>>>$/msg;
	return ($ran, $output, @found);
}

# A statement's output without what may differ: places in files, which of several
# wrong values an error of the data (class 22 and 23) met first, and whether an
# indeterminate collation was noticed comparing or hashing (42P22).
sub plain
{
	my ($text) = @_;

	$text =~ s/^psql:\S+: //mg;
	$text =~ s/^(?:LOCATION|CONTEXT|SCHEMA NAME|TABLE NAME|CONSTRAINT NAME):.*\n//mg;
	$text =~ s/^(ERROR:  (?:2[23]...|42P22)).*/$1/ms;
	return $text;
}

sub statement
{
	my ($script, $step) = @_;

	return $script =~ /^(?:SELECT \$elsewhere\$)?\\echo <<< $step\n(.*?)\n\\echo >>>/ms ? $1 : '?';
}

# A statement with that of what it executes: a prepared statement or a function.
sub whole_statement
{
	my ($script, $statement) = @_;
	my ($name) = $statement =~ /^(?:EXECUTE|SELECT) (\w+)/;

	return $name && $script =~ /^((?:PREPARE|CREATE FUNCTION) $name\b.*?)\n\\echo >>>/ms ? "$statement $1" : $statement;
}

# True where what gpucol printed instead of heap's rows is no mistake: what must be pushed
# down may be refused; an open cursor need not use the index that it uses there; and with
# another plan another of several conditions may exclude a row before it could raise an
# error of the data (class 22), of which there must then be several, in one table or in a join.
# Where several rows are wrong, in different ways (classes 22 and 23), either may be met first.
sub allowed
{
	my ($statement, $heap, $packed) = @_;
	my @raised = map { /^ERROR:  (\w+)/ ? $1 : '' } $heap, $packed;

	return 1 if $packed =~ /^ERROR:  [^\n]*is not pushed down/;
	return 2 == grep { /^ERROR:  (?:2[23]|0A000: cannot convert )/ } $heap, $packed if $raised[0] ne '' && $raised[1] ne '';
	return 1 if "@raised" =~ /55006/ && $statement =~ /^REINDEX/;
	return 0 if "@raised" !~ /\b22/;
	return 1 if $raised[0] ne '' && $statement =~ /^(?:SELECT|EXECUTE)/;
	return $statement =~ / (?:AND|OR|JOIN|CASE|USING) |\bEXISTS \(| IN \(SELECT|\bWHERE\b.*\bWHERE\b/s;
}

# Do tables differ once only one of two has run a statement to its end?
sub changes { my ($statement) = @_; return $statement !~ /^(?:SELECT|EXECUTE|REINDEX|WITH q AS (?:MATERIALIZED )?\(SELECT)\b/; }

# Compare SCRIPTS scripts that a function makes; GPUCOL_SCRIPTS and GPUCOL_STEPS (of a
# script) say how many and how long, GPUCOL_KEEP names a folder that keeps the scripts
# and what they printed.
sub compare_twins
{
	my ($node, $seed, $make, $scripts, $steps) = @_;
	my $keep = $ENV{GPUCOL_KEEP} || PostgreSQL::Test::Utils::tempdir();
	my ($statements, $others) = (0, 0);

	for my $round (1 .. $ENV{GPUCOL_SCRIPTS} || $scripts)
	{
		srand($seed + $round);
		my $script = $make->($ENV{GPUCOL_STEPS} || $steps);
		my @settings = random_settings();
		my ($heap_ran, $heap_output, @heap) = results($node, $script, 'heap', "$keep/heap$round");
		my ($ran, $output, @packed) = results($node, $script, 'gpucol', "$keep/gpucol$round", @settings);
		my $errors = grep { defined && /^ERROR/ } @heap;
		my $wrong = 0;

		ok($heap_ran && $ran, "script $round ran to its end") || diag(substr($ran ? $heap_output : $output, -1000));
		for my $step (1 .. $#heap)
		{
			my ($one, $two) = map { $_ // 'nothing' } $heap[$step], $packed[$step];

			$statements++;
			next if $one eq $two;
			my $statement = whole_statement($script, statement($script, $step));
			if (allowed($statement, $one, $two))
			{
				$others++ if $two !~ /is not pushed down/;
				next if !changes($statement) || ($one =~ /^ERROR/ && $two =~ /^ERROR/);
				note("script $round (GPUCOL_SEED=$seed), step $step changed one table only, with which it ends: $statement");
				last;
			}
			next if ++$wrong > 3;
			diag(join("\n", "script $round (GPUCOL_SEED=$seed), step $step:", substr($statement, 0, 3000), 'heap: ' . substr($one, 0, 700), 'gpucol: ' . substr($two, 0, 700)));
		}
		is($wrong, 0, "script $round: $#heap statements, $errors errors, equal with " . (join('; ', @settings) || 'no settings'));
	}
	cmp_ok($others, '<=', 3 + $statements / 200, "$others of $statements statements raised an error here or there alone, as plans may");
	return;
}

# What compare() says of queries, run one after another in one session: for each what it returned, or the error.
# Queries behind one that ended the session have neither.
sub compared
{
	my ($node, @batch) = @_;
	my $script = '';
	my $output = '';
	my @said;

	for my $i (0 .. $#batch)
	{
		my ($query, $settings) = @{ $batch[$i] };

		$script .= "$settings\n\\echo <<< $i\nSELECT compare('" . $query =~ s/'/''/gr . "');\n\\echo >>>\nRESET ALL;\n";
	}
	local %ENV = (%ENV, PGHOST => $node->host, PGPORT => $node->port, PGDATABASE => 'postgres', PGOPTIONS => '-c client_min_messages=warning');
	IPC::Run::run([ 'psql', '-X', '-q', '-A', '-t', '-f', '-' ], '<', \$script, '>', \$output, '2>&1');
	$said[$1] = $2 while $output =~ /^<<< (\d+)\n(.*?)^>>>$/msg;
	$said[$1] //= $2 if $output =~ /^<<< (\d+)\n((?:(?!^>>>$).)*)\z/ms;
	return @said;
}

# Compare the answers of random queries that $how{query} makes: compare(query) in the database returns how many of
# heap's rows are missing, how many there are too many, and what $how{count} is called with, separated by |.
# $how{settings} may go before one, and $how{tables} makes the tables of $how{round} queries.  Returns how many
# queries there were, and how many of them were wrong.  They are $how{steps}, or GPUCOL_STEPS, or as many as there
# is time for in GPUCOL_SECONDS.  Some are run in one session, one after another.
sub compare_queries
{
	my ($node, %how) = @_;
	my $end = time + ($ENV{GPUCOL_SECONDS} || 1e9);
	my $most = $ENV{GPUCOL_STEPS} || ($ENV{GPUCOL_SECONDS} ? 1e9 : $how{steps});
	my ($steps, $wrong, $tables) = (0, 0, '');
	my @batch;

	while (time < $end && ($steps < $most || @batch) && $wrong < 5)
	{
		$node->safe_psql('postgres', $tables = $how{tables}->()) if !@batch && $how{tables} && $steps % $how{round} == 0;
		my $room = min(50, $most - $steps, $how{tables} ? $how{round} - $steps % $how{round} : 50);
		push @batch, [ $how{query}->(), $how{settings} ? $how{settings}->() : '' ] while @batch < $room;
		my @said = compared($node, @batch);

		for my $said (@said ? @said : 'no session')
		{
			my ($query, $settings) = @{ shift @batch };
			my ($missing, $extra, @counted) = split /\|/, ($said // 'nothing') =~ s/\n\z//r;

			$steps++;
			if ($missing ne '0' || ($extra // '') ne '0')
			{
				$wrong++;
				fail("$settings$query");
				diag(($said // 'nothing') . "\n$tables");
				next;
			}
			$how{count}->($query, @counted);
		}
	}
	return ($steps, $wrong);
}

1;
