# 026_row_locks.pl: sessions that lock and change the same packed rows wait for each other,
# answer and fail as over heap tables (Schedules.pm).
#
# GPUCOL_SEED names another run, GPUCOL_SCRIPTS lengthens it, GPUCOL_STEPS says how many
# statements a transaction has at most.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Gpucol;
use Schedules;
use Test::More;

my $seed = seed_random(26);
my $schedules = $ENV{GPUCOL_SCRIPTS} || 80;
my $most = $ENV{GPUCOL_STEPS} || 2;
my $node = new_server('row_locks', 'deadlock_timeout = 5ms', 'autovacuum = off');
my $runs = prepare_schedules($node->host, $node->port, scalar getpwuid($<));
my %count;

foreach my $number (1 .. $schedules)
{
	srand($seed + $number);
	my $schedule = (sub { random_schedule($most) }, sub { triple_schedule(between(0, triple_count() - 1)) },
		sub { merged_schedule(between(0, merged_count() - 1)) })[ between(0, 2) ]->();
	my $result = compare_schedule($runs, $schedule);

	$count{ $result =~ /^\w+$/ ? "differ as they may ($result)" : $result eq '' ? 'are equal' : 'differ' }++;
	next if $result =~ /^\w*$/;
	fail("schedule $number") || diag("GPUCOL_SEED=" . ($seed + $number - 1) . " GPUCOL_SCRIPTS=1, " . describe_schedule($schedule) . "\n$result");
}
ok(!$count{differ}, "$schedules schedules: " . join(', ', map { "$count{$_} $_" } sort keys %count));
$node->stop;
done_testing();
