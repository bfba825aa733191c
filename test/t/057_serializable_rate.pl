# 057_serializable_rate.pl: how many of 1,000 serializable transfers between accounts fail, over heap and over gpucol,
# with and without merges.  Eight sessions take turns, a statement each, so that how fast one is does not count.
# A transfer reads two accounts, or the sums of two ranges of them, and then changes two.
#
# GPUCOL_TRANSFERS says how many.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Gpucol;
use Sessions;
use Test::More;

my $TRANSFERS = $ENV{GPUCOL_TRANSFERS} || 1000;
my $ACCOUNTS = 20000;
my $SESSIONS = 8;
my $MERGE_EVERY = 200;
my $seed = seed_random(57);
my $node = new_server('rate', 'autovacuum = off', 'deadlock_timeout = 100ms');
my @where = ($node->host, $node->port, scalar getpwuid($<));
my @sessions = map { Sessions->new(@where, "s$_", 'SET default_transaction_isolation = serializable') } 1 .. $SESSIONS;
my $merger = Sessions->new(@where, 'merger');

# The statements of a transfer that reads so many accounts beside each of its two; 1: eighteen others.
sub transfer
{
	my ($table, $range) = @_;
	my ($from, $to, @others) = map { between(1, $ACCOUNTS - $range) } 1 .. 2, $range == 1 ? 1 .. 18 : ();

	return [ 'BEGIN', map({ $range > 1 ? "SELECT sum(balance) FROM $table WHERE id BETWEEN $_ AND $_ + $range" : "SELECT balance FROM $table WHERE id = $_" } $from, $to, @others),
		"UPDATE $table SET balance = balance - 1 WHERE id = $from", "UPDATE $table SET balance = balance + 1 WHERE id = $to", 'COMMIT' ];
}

# Answered: count a transfer that has ended or failed.
sub take
{
	my ($session, $count) = @_;
	my $answer = join("\n", @{ $session->{answer} });

	if ($answer =~ /^ERROR (\S+ .*)/m)
	{
		die $answer if $1 !~ /^40/;
		$count->{failed}++;
		$session->{left} = ['ROLLBACK'];
	}
	elsif ($answer eq 'COMMIT') { $count->{done}++ }
	return;
}

# Run transfers; returns how many of a hundred fail.
sub failures
{
	my ($table, $range, $merge) = @_;
	my %count = (done => 0, failed => 0);
	my $steps = 0;

	srand($seed);
	$_->{left} = [] for @sessions;
	while ($count{done} + $count{failed} < $TRANSFERS)
	{
		for my $session (@sessions)
		{
			Sessions::poll(0, grep { $_->{busy} } @sessions) if grep { $_->{busy} } @sessions;
			next if $session->{busy};
			if ($session->{begun}) { take($session, \%count); $session->{begun} = 0 }
			$session->{left} = transfer($table, $range) unless @{ $session->{left} };
			$session->send(shift @{ $session->{left} });
			$session->{begun} = 1;
			Sessions::poll(0.02, $session) if $session->{busy};
			$merger->run("SELECT gpucol.merge('$table')") if $merge && ++$steps % ($MERGE_EVERY * 6) == 0;
		}
	}
	$_->wait for @sessions;
	for (@sessions) { take($_, {}) if $_->{begun}; $_->{begun} = 0 }
	$_->run('ROLLBACK') for @sessions;
	return 100 * $count{failed} / ($count{done} + $count{failed});
}

for my $range (0, 1, 100, 1000)
{
	my %percent;

	for my $kind ('heap', 'gpucol', 'merged')
	{
		my $method = $kind eq 'heap' ? 'heap' : 'gpucol';
		my $table = "${kind}_$range";

		$node->safe_psql('postgres', <<"SQL");
CREATE TABLE $table (id int PRIMARY KEY, owner int, balance int) USING $method;
INSERT INTO $table SELECT i, i / 2, 1000 FROM generate_series(1, $ACCOUNTS) i;
VACUUM ANALYZE $table;
SQL
		$percent{$kind} = failures($table, $range, $kind eq 'merged');
		is($node->safe_psql('postgres', "SELECT count(*) FROM $table"), $ACCOUNTS, "$table: no account is lost");
	}
	my $what = sprintf('of transfers that read %s %.1f %% fail over heap, %.1f %% over gpucol, %.1f %% beside merges', $range > 1 ? "two ranges of $range rows" : $range ? 'twenty rows' : 'two rows', @percent{qw(heap gpucol merged)});
	diag($what);
	cmp_ok($percent{$_}, '<=', 1.25 * $percent{heap} + 2, "$_: $what") for 'gpucol', 'merged';
}
$node->stop;
done_testing();
