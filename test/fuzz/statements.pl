# statements.pl SECONDS SEED FOLDER: random scripts over heap tables and again over
# gpucol tables; every statement must tell the same.
#
# Most scripts are those of Attack.pm, run by an unprivileged role under row-level
# security.  They run a third time over gpucol tables in which the hidden and the
# deleted rows hold other values: what the role sees must not change by that.  The
# other scripts are the ones of the tests 012, 014, 015 and 025 (test/t).
use strict;
use warnings;
use utf8;
use FindBin;
use lib "$FindBin::Bin/../t", $FindBin::Bin;
use Attack;
use Fuzz;
use Gpucol;
use Statements;
use Surroundings;
use Twins;

start_part('statements', @ARGV);
my $node = twin_server('fuzz_statements', server_lines('autovacuum_naptime = 1s', 'max_wal_size = 2GB', 'log_min_messages = log'));
$node->safe_psql('postgres', surroundings());
$node->safe_psql('postgres', attackers());

my @makers = (([ attack => \&attack_script ]) x 8, [ surrounded => \&surrounded_script ], [ ordered => \&ordered_script ], [ random => \&random_script ], [ sessions => \&sessions_script ]);
my $keep = keep('scripts');
mkdir $keep;

# Compare what two runs of a script printed; those statements differ.  Behind a change that only
# one of them had the time for, nothing is to be compared, nor is a cursor that lacked it; nor
# behind one that $allowed lets one of them refuse ('end').
sub compare
{
	my ($what, $script, $one, $two, $allowed) = @_;
	my $cut = 0;

	for my $step (1 .. $#$one)
	{
		my ($first, $second) = map { $_ // 'nothing' } $one->[$step], $two->[$step];

		next if $first eq $second && !$cut;
		my $statement = Twins::statement($script, $step);
		my $late = $first =~ /^ERROR:  57014/m != $second =~ /^ERROR:  57014/m;
		return if $late && $statement !~ /^(?:SELECT|WITH|DECLARE|FETCH|MOVE|EXPLAIN)\b(?!.*\bdisturb\()/;
		$cut = $late if $statement =~ /^DECLARE\b/ || ($late && $statement =~ /^(?:FETCH|MOVE)\b/);
		next if $first eq $second || ($cut && $statement =~ /^(?:FETCH|MOVE)\b/);
		my $may = $allowed->($statement, $first, $second, $step);
		return if ($may // '') eq 'end';
		next if $may;
		return "$what, step $step:\n$statement\n\nthe first says: " . substr($first, 0, 2000) . "\nthe second says: " . substr($second, 0, 2000);
	}
	return;
}

my $number = 0;
while (going(5))
{
	my $seed = round_seed();
	my ($name, $maker) = @{ pick(@makers) };
	my $steps = $ENV{GPUCOL_STEPS} || 300;
	my $script = $maker->($steps);
	my @settings = Twins::random_settings();
	my %file = map { $_ => "$keep/$_" } qw(heap gpucol other);
	unlink map { ($_, "$_.out", "$_.elsewhere") } values %file;
	my @runs = ([ 'heap', 'heap', 1 ], [ 'gpucol', 'gpucol', 1, @settings ]);

	$number++;
	push @runs, [ 'other', 'gpucol', 2, @settings ] if $name eq 'attack';
	my (%found, %hidden);
	for my $run (@runs)
	{
		my ($of, $method, $hidden, @set) = @$run;
		my ($ran, $output, @told) = Twins::results($node, $script =~ s/\@hidden\@/$hidden/gr, $method, $file{$of}, @set);

		counted(scalar @told);
		$found{$of} = [ map { defined ? told($_) : undef } @told ];
		$hidden{$of} = [ hidden_in_errors($output) ] if $name eq 'attack';
		next if $ran;
		finding("script $name of seed $seed did not end over $of", substr $output, -3000);
		wait_for_server($node);
	}
	my $with = 'settings: ' . join('; ', @settings);
	my $difference = compare("$name of seed $seed, heap and gpucol ($with)", $script, $found{heap}, $found{gpucol}, \&allowed_of_twins);
	$difference //= compare("$name of seed $seed, two sets of hidden rows ($with)", $script, $found{gpucol}, $found{other}, sub { ($_[3] && ($found{heap}[ $_[3] ] // '') =~ /^ERROR/) || "$_[1]\n$_[2]" =~ /^ERROR:  57014/m }) if $found{other};
	for my $of (grep { $_ ne 'heap' } sort keys %hidden) { $difference //= compare("$name of seed $seed, values of hidden rows in errors ($with)", $script, $hidden{heap}, $hidden{$of}, sub { $_[2] eq '' }); }
	finding("$name of seed $seed differs", $difference) if $difference;
	if ($difference)
	{
		for my $of (grep { $found{$_} } keys %file) { system "cp '$file{$of}' '" . keep("$seed-$of.sql") . "'; cp '$file{$of}.out' '" . keep("$seed-$of.out") . "'"; }
	}
	watch_log($node, '(?!)');
}
say_now("$number scripts");
$node->stop;
end_part();
