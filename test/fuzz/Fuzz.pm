# Fuzz.pm: what the parts of `make fuzz` share: time and seed, the count of
# statements, findings that are kept with what repeats them, and the server's log.
#
# A part is called as PART.pl SECONDS SEED FOLDER.  What it says goes to standard
# output, its findings to FOLDER/PART-SEED-N.txt; it exits with 1 where there are any.
package Fuzz;

use strict;
use warnings;
use Exporter 'import';
use Gpucol;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

our @EXPORT = qw(start_part end_part going server_lines wait_for_server seconds_left round_seed seed keep say_now finding counted counted_by watch_log script_results sound_table);

my $MANY = 20;		# findings
my ($part, $seconds, $seed, $folder, $start);
my ($statements, $findings, $round) = (0, 0, 0);

sub start_part
{
	($part, $seconds, $seed, $folder) = @_;
	$start = time;
	srand $seed;
	say_now("seed $seed, $seconds s");
	return;
}

sub seed { return $seed; }
sub keep { return "$folder/$part-$_[0]"; }
# True while there is time for a round that takes so many seconds, and before the first one: each
# part does some work, however short its share.  A part that found a lot ends early.
sub going { return ($round == 0 || seconds_left() > $_[0]) && $findings < $MANY; }

# Lines of postgresql.conf of every server that is attacked: a crash is looked into and
# does not end the part, and the log is for what counts.
sub server_lines { return ('restart_after_crash = on', 'log_statement = none', 'log_duration = off', "lc_messages = 'C'", @_); }

# Wait until a server answers again after a crash.
sub wait_for_server
{
	my ($node) = @_;

	for (1 .. 300)
	{
		return 1 if system("pg_isready -q -h '" . $node->host . "' -p " . $node->port) == 0 && ($node->psql('postgres', 'SELECT 1'))[0] == 0;
		sleep 0.2;
	}
	finding('the server does not come back', substr slurp_file($node->logfile), -4000);
	return 0;
}

sub seconds_left { return $seconds - (time - $start); }

# Every round has a seed of its own, so that one can be run alone; the first has the
# seed of the part.
sub round_seed
{
	my $of_round = $seed + $round++;

	srand $of_round;
	return $of_round;
}

# Test::More's output is the part's standard output.
sub say_now
{
	my $out = Test::More->builder->output;

	print $out "$part: $_[0]\n";
	return;
}

sub counted { $statements += $_[0]; return; }

# Count what a database's sessions ran since the last call; a crash makes the server forget.
my %counted_by;
sub counted_by
{
	my ($node, $database) = @_;
	my $now = $node->safe_psql('postgres', "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = '$database'");
	my $before = $counted_by{$database} // 0;

	counted($now < $before ? $now : $now - $before);
	$counted_by{$database} = $now;
	return;
}

# Record a finding: one line for people, and all that helps to repeat it in a file.
sub finding
{
	my ($what, $detail) = @_;
	my $file = "$folder/$part-$seed-" . ++$findings . '.txt';

	open my $out, '>', $file or die "$file: $!";
	binmode $out, ':utf8' if utf8::is_utf8("$what$detail");
	print $out "$what\n\n$detail\n";
	close $out;
	say_now("FINDING $what ($file)");
	return;
}

# What of a server's log nobody wants to see: a failed assertion, a process that crashed,
# a sanitizer's report, corrupt data where none was made; also every line that
# matches a pattern.  Only what is new since the last look is read.
my %seen;
sub watch_log
{
	my ($node, $also, $not) = @_;
	my $log = slurp_file($node->logfile, $seen{ $node->logfile } // 0);
	my @bad;

	$seen{ $node->logfile } += length $log;
	for my $line (split /\n/, $log)
	{
		push @bad, $line if $line =~ /TRAP: |PANIC:|terminated by signal (?!9\b|15\b)|AddressSanitizer|runtime error:|$also/ && !($not && $line =~ $not);
	}
	my %once;
	for my $line (grep { !$once{ s/^.*?(?=TRAP|PANIC|ERROR|runtime|terminated)//r =~ s/\d+/n/gr }++ } @bad)
	{
		my $at = index $log, $line;
		finding("the server's log: " . substr($line, 0, 200), substr($log, $at > 3000 ? $at - 3000 : 0, 9000));
	}
	return scalar @bad;
}

# Run a script of psql whose statements stand between markers (<<< N, >>>): what each
# printed, and the whole.  Undefined results: the script did not get there.
sub script_results
{
	my ($node, $script, $limit, @options) = @_;
	my $output = '';
	my @found;
	my $ran = eval {
		IPC::Run::run([ 'psql', '-X', '-q', '-A', '-t', '-v', 'VERBOSITY=verbose', @options, '-d', $node->connstr($ENV{PGDATABASE} // 'postgres') ],
			'<', \$script, '>', \$output, '2>&1', IPC::Run::timeout($limit));
		1;
	};
	$found[$1] = $2 while $output =~ /^<<< (\d+)\n(.*?)^>>>$/msg;
	return ($ran, $output, @found);
}

# True where a table is sound: gpucol.verify finds nothing, every btree index of it
# holds its rows, and the index shows the rows that a scan shows.
sub sound_table
{
	my ($node, $table, $when) = @_;
	my ($status, $out, $error) = $node->psql('postgres', <<~SQL);
		SET client_min_messages = warning;
		CREATE EXTENSION IF NOT EXISTS amcheck;
		SELECT 'verify: ' || v::text FROM gpucol.verify('$table') v LIMIT 5;
		SELECT bt_index_check(indexrelid, true) FROM pg_index JOIN pg_class i ON i.oid = indexrelid JOIN pg_am a ON a.oid = relam WHERE indrelid = '$table'::regclass AND indisvalid AND amname = 'btree';
		SQL
	my $said = join '', map { "$_\n" } grep { /\S/ } split /\n/, "$out\n$error";

	return 1 if $said eq '';
	finding("$table is not sound $when", $said);
	return 0;
}

sub end_part
{
	say_now(sprintf '%d statements, %d findings, %d s (seed %d)', $statements, $findings, time - $start, $seed);
	is($findings, 0, "$part found nothing");
	done_testing();
	return;
}

1;
