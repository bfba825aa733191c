# 009_disk_full.pl: no room left during a load, a merge or a change: an error, and
# nothing else. Works as a plain user without a file system of its own: the server
# runs under a limit of the size of a file (ulimit -f), which makes an extension
# of a table fail as a full disk does (EFBIG in place of ENOSPC).
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Gpucol;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $LIMIT_MB = 24;	# more than a WAL file, which has to be written whole

my $node = new_server('disk_full', 'autovacuum = off');
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE packed (id int PRIMARY KEY, label text) USING gpucol;
CREATE TABLE twin (LIKE packed) USING heap;
INSERT INTO packed SELECT i, md5(i::text) FROM generate_series(1, 100000) i;
INSERT INTO twin SELECT i, md5(i::text) FROM generate_series(1, 100000) i;
SQL
$node->stop;

# Start the server under the limit; children inherit it.
sub start_limited
{
	my $command = 'ulimit -f ' . ($LIMIT_MB * 1024) . '; exec pg_ctl -w -D "$0" -l "$1" -o "--cluster-name=disk_full" start >/dev/null';

	PostgreSQL::Test::Utils::system_or_bail('bash', '-c', $command, $node->data_dir, $node->logfile);
	$node->_update_pid(1);
	return;
}

start_limited();

# The load fails half-way; everything is as before.
sub fails
{
	my ($what, $sql) = @_;
	my ($status, $out, $error) = $node->psql('postgres', $sql);

	like($error, qr/could not (extend|write).*(File too large|No space left)/, "$what: fails for want of room");
	same_rows($node, 'packed', 'twin', "$what: no row too many, none too few");
	is($node->safe_psql('postgres', "SELECT count(*) FROM gpucol.verify('packed')"), '0', "$what: sound segments");
	return;
}

fails('INSERT ... SELECT', "INSERT INTO packed SELECT i, md5(i::text) || md5((i + 1)::text) FROM generate_series(200001, 900000) i");
fails('COPY', q{COPY packed FROM PROGRAM 'seq 200001 900000 | sed "s/.*/&\\t& is a line that fills many pages &&&&&/"'});
fails('a load in a subtransaction', "DO \$\$ BEGIN INSERT INTO packed SELECT i, md5(i::text) || md5((i + 1)::text) FROM generate_series(200001, 900000) i; END \$\$");

# caught by an exception handler: the transaction goes on and can commit
$node->safe_psql('postgres', 'VACUUM packed');
my $caught = $node->safe_psql('postgres', <<'SQL');
DO $$ BEGIN
	INSERT INTO packed VALUES (-1, 'before'), (-2, 'goes');
	BEGIN
		INSERT INTO packed SELECT i, md5(i::text) || md5((i + 1)::text) FROM generate_series(200001, 900000) i;
	EXCEPTION WHEN OTHERS THEN
		NULL;
	END;
	DELETE FROM packed WHERE id = -2;
END $$;
INSERT INTO twin VALUES (-1, 'before');
SQL
same_rows($node, 'packed', 'twin', 'an exception handler keeps what came before and after');

# the failed loads' room is used by a later one, after VACUUM
my $size = $node->safe_psql('postgres', "VACUUM packed; SELECT pg_relation_size('packed')");
for my $table (qw(packed twin))
{
	$node->safe_psql('postgres', "INSERT INTO $table SELECT i, md5(i::text) FROM generate_series(1000001, 1060000) i");
}
same_rows($node, 'packed', 'twin', 'a load that fits, after VACUUM');
cmp_ok($node->safe_psql('postgres', "SELECT pg_relation_size('packed')"), '<=', $size + 64 * 8192, 'it took the room of the failed ones');

# the server is well after a restart without the limit
$node->restart;
$node->safe_psql('postgres', "INSERT INTO $_ SELECT i, md5(i::text) || md5((i + 1)::text) FROM generate_series(2000001, 2400000) i")
  for qw(packed twin);
same_rows($node, 'packed', 'twin', 'the same load without the limit');
is($node->safe_psql('postgres', "SELECT count(*) FROM gpucol.verify('packed')"), '0', 'sound segments');
$node->stop;
done_testing();
