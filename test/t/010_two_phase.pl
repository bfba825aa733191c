# 010_two_phase.pl: prepared transactions over segment rows: loads, deletes,
# updates and row locks keep their effect over a restart and a crash, until they
# are committed or rolled back.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Gpucol;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('two_phase', 'autovacuum = off', 'max_prepared_transactions = 10');

$node->safe_psql('postgres', <<'SQL');
CREATE TABLE packed (id int PRIMARY KEY, v int) USING gpucol;
INSERT INTO packed SELECT i, 0 FROM generate_series(1, 20000) i;
CREATE TABLE child (id int REFERENCES packed) USING gpucol;
SQL

sub all { return $node->safe_psql('postgres', 'SELECT count(*), sum(v), sum(id) FROM packed'); }
sub by_index { return $node->safe_psql('postgres', "SET enable_seqscan = off; SET gpucol.pushdown = forbid; SELECT count(*), sum(v), sum(id) FROM packed WHERE id > 0"); }

# A statement that has to wait for a prepared transaction.
sub waits
{
	my ($what, $sql) = @_;
	my ($status, $out, $error) = $node->psql('postgres', "SET lock_timeout = '300ms'; $sql");

	like($error, qr/lock timeout/, $what);
	return;
}

sub prepare
{
	my ($name, $sql) = @_;

	$node->safe_psql('postgres', "BEGIN; $sql; PREPARE TRANSACTION '$name'");
	return;
}

sub prepare_all
{
	my ($round) = @_;
	my $first = 100_000 * $round;

	prepare('load', "INSERT INTO packed SELECT i, 1 FROM generate_series($first + 1, $first + 3000) i");
	prepare('delete', 'DELETE FROM packed WHERE id BETWEEN 11 AND 20');
	prepare('update', 'UPDATE packed SET v = v + 1 WHERE id BETWEEN 2001 AND 2010');
	prepare('lock', 'SELECT 1 FROM packed WHERE id IN (15001, 15002) FOR UPDATE');
	prepare('share', 'SELECT 1 FROM packed WHERE id = 15003 FOR SHARE');
	prepare('key', 'INSERT INTO child VALUES (15004)');
	return;
}

# What holds while everything is prepared.
sub check_prepared
{
	my ($when, $before, $round) = @_;
	my $first = 100_000 * $round;

	is(all(), $before, "$when: nothing is visible");
	is(by_index(), $before, "$when: nor by index");
	waits("$when: a loaded key is taken", "INSERT INTO packed VALUES ($first + 5, 0)");
	waits("$when: a deleted row is taken", 'UPDATE packed SET v = 9 WHERE id = 15');
	waits("$when: an updated row is taken", 'DELETE FROM packed WHERE id = 2005');
	waits("$when: a locked row is", 'UPDATE packed SET v = 9 WHERE id = 15001');
	waits("$when: also for FOR KEY SHARE", 'SELECT 1 FROM packed WHERE id = 15002 FOR KEY SHARE');
	waits("$when: a row locked FOR SHARE is", 'UPDATE packed SET v = 9 WHERE id = 15003');
	is($node->safe_psql('postgres', 'SELECT v FROM packed WHERE id = 15003 FOR SHARE'), '0', "$when: but not for FOR SHARE");
	waits("$when: a referenced row cannot go", 'DELETE FROM packed WHERE id = 15004');
	is($node->safe_psql('postgres', 'SELECT v FROM packed WHERE id = 12000 FOR UPDATE'), '0', "$when: other rows are free");
	return;
}

sub finish
{
	my ($how) = @_;

	$node->safe_psql('postgres', join ';', map { "$how PREPARED '$_'" } qw(load delete update lock share key));
	return;
}

# round 1: over a restart, rolled back; round 2: over a crash, committed
my $before = all();
prepare_all(1);
check_prepared('prepared', $before, 1);
$node->restart;
check_prepared('after a restart', $before, 1);
finish('ROLLBACK');
is(all(), $before, 'rolled back: as before');
is(by_index(), $before, 'by index too');
$node->safe_psql('postgres', 'UPDATE packed SET v = v WHERE id IN (15, 2005, 15001, 15002, 15003, 15004)');

prepare_all(2);
$node->safe_psql('postgres', 'VACUUM packed');
kill_server($node);
$node->start;
check_prepared('after a crash', $before, 2);
finish('COMMIT');
my $after = $node->safe_psql('postgres', 'SELECT 20000 + 3000 - 10, 3000 + 10, (20000 * 20001 / 2) - 155 + 3000 * 200000::bigint + 3000 * 3001 / 2');
is(all(), $after =~ s/\s+$//r, 'committed: all of it');
is(by_index(), all(), 'by index too');
$node->safe_psql('postgres', "VACUUM packed; SELECT gpucol.merge('packed')");
is(by_index(), all(), 'and after VACUUM and a merge');
my ($status, $out, $error) = $node->psql('postgres', 'DELETE FROM packed WHERE id = 15004');
like($error, qr/violates foreign key/, 'the foreign key holds');

# Every way to hold a row against every way to ask for it: as heap has it.
my %take = (
	(map { $_ => "SELECT 1 FROM %s WHERE id = 7 FOR $_" } 'KEY SHARE', 'SHARE', 'NO KEY UPDATE', 'UPDATE'),
	'update' => 'UPDATE %s SET v = v + 1 WHERE id = 7',
	'key update' => 'UPDATE %s SET id = 7007 WHERE id = 7',
	'delete' => 'DELETE FROM %s WHERE id = 7',
);

sub matrix
{
	my ($am) = @_;
	my @lines;

	$node->safe_psql('postgres', "CREATE TABLE m_$am (id int PRIMARY KEY, v int) USING $am; INSERT INTO m_$am SELECT i, 0 FROM generate_series(1, 5000) i");
	# the row is one of a segment, not of the delta
	$node->safe_psql('postgres', "SELECT gpucol.merge('m_$am')") if $am eq 'gpucol';
	for my $held (sort keys %take)
	{
		prepare('held', sprintf $take{$held}, "m_$am");
		for my $wanted (sort keys %take)
		{
			my ($status, $out, $error) = $node->psql('postgres',
				"SET lock_timeout = '50ms'; BEGIN; " . sprintf($take{$wanted}, "m_$am") . '; ROLLBACK');

			push @lines, "$held | $wanted: " . ($error =~ /lock timeout/ ? 'waits' : $error || 'passes');
		}
		$node->safe_psql('postgres', "ROLLBACK PREPARED 'held'");
	}
	return join "\n", @lines;
}

is(matrix('gpucol'), matrix('heap'), 'row locks conflict as those of heap');
$node->stop;
done_testing();
