# 001_crash.pl: SIGKILL of the whole server during COPY, right after a commit,
# during merges, deletes and updates, VACUUM and CLUSTER; every committed row is there
# afterwards and no other.
#
# The same transaction always writes a gpucol table and its heap twin, so the
# twin tells which transactions were committed; a batch whose commit psql saw
# must be in both.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Gpucol;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $ROUNDS = $ENV{GPUCOL_ROUNDS} || 4;
my $ROWS = 25_000;

seed_random();
my $node = new_server('crash', 'checkpoint_timeout = 30s', 'max_wal_size = 1GB',
	'autovacuum_naptime = 1s', "shared_preload_libraries = 'gpucol'", 'gpucol.automerge_naptime = 1s',
	'gpucol.automerge_threshold = 500', 'gpucol.automerge_scale_factor = 0');

$node->safe_psql('postgres', <<'SQL');
CREATE TABLE packed (batch int, id int, n numeric(12,2), label text, at timestamp) USING gpucol;
CREATE TABLE twin (LIKE packed) USING heap;
SQL

# A batch as a COPY file.
sub write_batch
{
	my ($batch) = @_;
	my $file = PostgreSQL::Test::Utils::tempdir_short() . "/batch$batch";

	open my $out, '>', $file or die "$file: $!";
	for my $id (1 .. $ROWS)
	{
		my $label = $id % 7 ? 'label ' . ($id % 50) : '\N';
		printf $out "%d\t%d\t%.2f\t%s\t2024-01-01 00:00:00\n", $batch, $id, $id / 7, $label;
	}
	close $out;
	return $file;
}

sub check
{
	my ($what) = @_;

	same_rows($node, 'packed', 'twin', "$what: the rows of the heap twin");
	return;
}

# Batches that psql saw committed, and that must be complete.
sub check_acknowledged
{
	my ($what, $output) = @_;

	for my $batch ($output =~ /^committed (\d+)$/mg)
	{
		is($node->safe_psql('postgres', "SELECT count(*) FROM packed WHERE batch = $batch"),
			$ROWS, "$what: batch $batch, seen committed, is there");
	}
	return;
}

my $batch = 0;

# Script that loads some batches, each in one transaction.
sub load_script
{
	my ($count) = @_;
	my $sql = '';

	for (1 .. $count)
	{
		$batch++;
		my $file = write_batch($batch);
		$sql .= "BEGIN;\n\\copy packed FROM '$file'\n\\copy twin FROM '$file'\nCOMMIT;\n\\echo committed $batch\n";
	}
	return $sql;
}

for my $round (1 .. $ROUNDS)
{
	my $output = kill_during($node, load_script(10), 0.5);
	check("round $round, killed during COPY");
	check_acknowledged("round $round, killed during COPY", $output);
}

for my $round (1 .. $ROUNDS)
{
	my $output = kill_during($node, load_script(1), 0, qr/committed/);
	check("round $round, killed right after commit");
	check_acknowledged("round $round, killed right after commit", $output);
}

# Rows that lie in the delta are packed by a merge that does not end.
for my $round (1 .. $ROUNDS)
{
	$batch++;
	$node->safe_psql('postgres', <<~SQL);
		DO \$\$ BEGIN
			FOR part IN 0 .. 49 LOOP
				INSERT INTO twin SELECT $batch, i, i, 'delta ' || i, '2024-01-02'
				FROM generate_series(part * 500 + 1, part * 500 + 500) i;
				INSERT INTO packed SELECT * FROM twin
				WHERE batch = $batch AND id BETWEEN part * 500 + 1 AND part * 500 + 500;
			END LOOP;
		END \$\$;
		SQL
	kill_during($node, "SELECT gpucol.merge('packed');\n", 0.15);
	check("round $round, killed during a merge");
	$node->safe_psql('postgres', "SELECT gpucol.merge('packed')");
	check("round $round, merged again");
}

for my $round (1 .. $ROUNDS)
{
	my $sql = '';
	for (1 .. 40)
	{
		my $where = 'id % 97 = ' . between(0, 96) . ' AND batch % 3 = ' . between(0, 2);
		for my $change ('DELETE FROM %s WHERE ' . $where, 'UPDATE %s SET n = n + 1, label = NULL WHERE ' . $where)
		{
			$sql .= "BEGIN;\n" . join('', map { sprintf("$change;\n", $_) } qw(packed twin)) . "COMMIT;\n";
		}
	}
	kill_during($node, $sql, 1.5);
	check("round $round, killed during deletes and updates");
}

# VACUUM folds tombstones, removes segments, packs others together and gives their pages to new ones; an
# index tells whether its entries go with the right rows. Then CLUSTER.
$node->safe_psql('postgres', 'CREATE INDEX packed_id ON packed (id); CREATE INDEX twin_id ON twin (id)');

sub check_index
{
	my ($what) = @_;
	my ($one, $two) = map {
		$node->safe_psql('postgres', "SET enable_seqscan = off; SET gpucol.pushdown = forbid; SELECT count(*), sum(batch), sum(n) FROM $_ WHERE id BETWEEN 1 AND 2000")
	} qw(packed twin);

	is($one, $two, "$what: by index");
	return;
}

for my $round (1 .. $ROUNDS)
{
	# segments of a table that keeps an order are not packed together
	my $sql = "ALTER TABLE packed SET WITHOUT CLUSTER;\n";
	for my $step (1 .. 6)
	{
		my $where = $step % 3 == 0 ? 'batch = ' . between(1, $batch) : 'id % 13 = ' . between(0, 12);

		$sql .= "BEGIN;\n" . join('', map { "DELETE FROM $_ WHERE $where;\n" } qw(packed twin)) . "COMMIT;\n";
		$sql .= "VACUUM (INDEX_CLEANUP ON) packed;\nVACUUM (INDEX_CLEANUP ON) packed;\n" . load_script(1);
	}
	kill_during($node, $sql, 2);
	check("round $round, killed during VACUUM and loads into freed pages");
	check_index("round $round, killed during VACUUM");
	kill_during($node, "CLUSTER packed USING packed_id;\n", 0.5);
	check("round $round, killed during CLUSTER");
	check_index("round $round, killed during CLUSTER");
}

is($node->safe_psql('postgres', "SELECT count(*) FROM gpucol.verify('packed')"), '0',
	'gpucol.verify finds nothing wrong');
$node->stop;
done_testing();
