# 034_transfers.pl: transfers between accounts at READ COMMITTED, beside merges in a loop: no
# transaction fails, and no sum changes.  Says how many there were, of heap's.
#
# GPUCOL_SECONDS lengthens it.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Gpucol;
use PostgreSQL::Test::Utils;
use Test::More;

my $SECONDS = $ENV{GPUCOL_SECONDS} || 4;
my $ACCOUNTS = 10000;
my $node = new_server('transfers', 'deadlock_timeout = 100ms', 'autovacuum_naptime = 1s');
my %rate;

# Two accounts in the order of their numbers, so that nobody waits in a circle.
my $DRAW = <<'SQL';
\set low random_zipfian(1, 5000, 1.1)
\set high random(5001, 10000)
\set amount random(-100, 100)
SQL
my %SCRIPTS = (
	transfer => $DRAW . <<'SQL',
BEGIN;
UPDATE NAME SET balance = balance - :amount::int WHERE id = :low;
UPDATE NAME SET balance = balance + :amount::int WHERE id = :high;
INSERT INTO NAME_log VALUES (:low, :amount);
COMMIT;
SQL
	locked => $DRAW . <<'SQL',
BEGIN;
SELECT balance FROM NAME WHERE id IN (:low, :high) ORDER BY id FOR UPDATE;
UPDATE NAME SET balance = balance + CASE WHEN id = :low THEN -:amount::int ELSE :amount::int END WHERE id IN (:low, :high);
COMMIT;
SQL
	upsert => $DRAW . <<'SQL',
BEGIN;
INSERT INTO NAME VALUES (:low, 0) ON CONFLICT (id) DO UPDATE SET balance = NAME.balance - :amount::int;
MERGE INTO NAME USING (VALUES (:high::int)) s (id) ON NAME.id = s.id WHEN MATCHED THEN UPDATE SET balance = balance + :amount::int;
COMMIT;
SQL
	key => $DRAW . <<'SQL');
BEGIN;
UPDATE NAME SET id = -id WHERE id = :low;
UPDATE NAME SET id = -id, balance = balance + 0 WHERE id = -:low::int;
INSERT INTO NAME_child VALUES (:high);
COMMIT;
SQL

# Run the scripts with 6 clients; returns what pgbench printed, and its status.
sub transfers
{
	my ($name) = @_;
	my @files;

	foreach my $script (sort keys %SCRIPTS)
	{
		my $file = $node->basedir . "/$name-$script.sql";

		append_to_file($file, $SCRIPTS{$script} =~ s/NAME/$name/gr);
		push @files, '-f', $file . ($script eq 'transfer' ? '@5' : $script eq 'key' ? '@1' : '@3');
	}
	my ($out, $err) = ('', '');
	my $ended = IPC::Run::run([ 'pgbench', '-n', '-c', 6, '-T', $SECONDS, '-M', 'prepared', '-h', $node->host, '-p', $node->port, @files, 'postgres' ],
		'>', \$out, '2>', \$err);

	($rate{$name}) = $out =~ /tps = ([\d.]+)/;
	is($err =~ /ERROR[^\n]*/ ? $& : '', '', "$name: no statement fails");
	ok($ended, "$name: pgbench ends well") || diag($out . $err);
	return;
}

foreach my $method ('heap', 'gpucol')
{
	my $name = "account_$method";

	$node->safe_psql('postgres', <<"SQL");
CREATE TABLE $name (id int PRIMARY KEY, balance bigint) USING $method;
CREATE TABLE ${name}_log (id int, amount int) USING $method;
INSERT INTO $name SELECT i, 1000 FROM generate_series(1, $ACCOUNTS) i;
CREATE TABLE ${name}_child (id int REFERENCES $name ON UPDATE CASCADE) USING $method;
INSERT INTO ${name}_child SELECT i FROM generate_series(1, $ACCOUNTS, 10) i;
SQL
	my $merges = '';
	my $merger;

	if ($method eq 'gpucol')
	{
		my $file = $node->basedir . '/merge.sql';

		append_to_file($file, "SELECT gpucol.merge('$name');\nSELECT gpucol.merge('${name}_log');\n\\sleep 20 ms\n");
		$merger = IPC::Run::start([ 'pgbench', '-n', '-c', 1, '-T', $SECONDS, '-h', $node->host, '-p', $node->port, '-f', $file, 'postgres' ],
			'>', \$merges, '2>&1');
	}
	transfers($name);
	if (defined $merger)
	{
		$merger->finish;
		my ($times) = $merges =~ /actually processed: (\d+)/;

		ok(($times // 0) > 0, 'while tables are merged') || diag($merges);
		diag("$times merges; $rate{account_gpucol} transactions a second, heap $rate{account_heap}");
	}
	is($node->safe_psql('postgres', "SELECT count(*), count(DISTINCT id), sum(balance) FROM $name"),
		join('|', $ACCOUNTS, $ACCOUNTS, 1000 * $ACCOUNTS), "$name: no account and no sum is lost");
}
is($node->safe_psql('postgres', "SELECT count(*) FROM gpucol.verify('account_gpucol')"), 0, 'segments and indexes are sound');
$node->stop;
done_testing();
