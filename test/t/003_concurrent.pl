# 003_concurrent.pl: writers, readers and merges at once lose no update, show no
# half transaction and break no unique key.
#
# pgbench runs the scripts; a serialization failure or deadlock is retried, as
# the contract with the user allows.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Gpucol;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $ACCOUNTS = 2000;
my $SECONDS = $ENV{GPUCOL_SECONDS} || 8;

my $node = new_server('concurrent', 'max_connections = 50', 'autovacuum_naptime = 1s',
	'deadlock_timeout = 100ms');

$node->safe_psql('postgres', <<SQL);
CREATE TABLE account (id int PRIMARY KEY, balance bigint, changes int, note text) USING gpucol;
SET gpucol.segment_rows = 1024;
INSERT INTO account SELECT i, 1000, 0, 'note ' || i % 10 FROM generate_series(1, $ACCOUNTS) i;
CREATE TABLE journal (account int REFERENCES account, delta int);
ANALYZE account;
SQL

my %scripts = (
	# Two rows change, the sum of balances does not.
	transfer => <<'SQL',
\set a random(1, 2000)
\set b random(1, 2000)
BEGIN;
UPDATE account SET balance = balance - 7, changes = changes + 1 WHERE id = :a;
UPDATE account SET balance = balance + 7, changes = changes + 1 WHERE id = :b;
INSERT INTO journal VALUES (:a, -7), (:b, 7);
COMMIT;
SQL
	# The same account row is deleted and comes back in one transaction.
	replace => <<'SQL',
\set a random(1, 2000)
BEGIN;
SELECT balance, changes FROM account WHERE id = :a FOR UPDATE \gset
UPDATE account SET note = 'replaced' WHERE id = :a;
COMMIT;
SQL
	# The same few rows are locked in all strengths, changed and changed back.
	contend => <<'SQL',
\set a random(1, 3)
BEGIN;
SELECT balance FROM account WHERE id = :a FOR KEY SHARE;
SAVEPOINT a;
SELECT balance FROM account WHERE id = :a FOR UPDATE SKIP LOCKED;
UPDATE account SET changes = changes + 100 WHERE id = :a;
ROLLBACK TO a;
UPDATE account SET changes = changes + 1 WHERE id = :a;
UPDATE account SET note = 'contended' WHERE id = :a;
COMMIT;
SQL
	# Every snapshot sees all accounts, each once, and the same total.
	read => <<'SQL',
DO $$
DECLARE
	r record;
BEGIN
	SELECT count(*) AS n, count(DISTINCT id) AS ids, sum(balance) AS total INTO r FROM account;
	IF r.n <> 2000 OR r.ids <> 2000 OR r.total <> 2000 * 1000 THEN
		RAISE EXCEPTION 'torn snapshot: % rows, % ids, total %', r.n, r.ids, r.total;
	END IF;
END $$;
SQL
	merge => <<'SQL',
SELECT gpucol.merge('account');
\sleep 50 ms
SQL
);

# Start pgbench with one of the scripts; returns its handle, output and name.
sub start_bench
{
	my ($name, $clients) = @_;
	my $file = PostgreSQL::Test::Utils::tempdir() . "/$name.sql";
	my ($output, $error) = ('', '');

	open my $out, '>', $file or die "$file: $!";
	print $out $scripts{$name};
	close $out;
	my $handle = IPC::Run::start([ 'pgbench', '-n', '-c', $clients, '-T', $SECONDS,
			'--max-tries=1000', '-f', $file, $node->connstr('postgres') ],
		'>', \$output, '2>', \$error);
	return { name => $name, handle => $handle, output => \$output, error => \$error };
}

my @benches = (start_bench('transfer', 4), start_bench('replace', 2), start_bench('read', 2), start_bench('merge', 1), start_bench('contend', 2));
for my $bench (@benches)
{
	ok($bench->{handle}->finish, "$bench->{name}: no client failed") || diag(${ $bench->{error} });
	my ($done) = ${ $bench->{output} } =~ /transactions actually processed: (\d+)/;
	cmp_ok($done // 0, '>', 0, "$bench->{name}: it ran");
	$bench->{done} = $done;
}

is($node->safe_psql('postgres', 'SELECT sum(changes), count(*), count(DISTINCT id), sum(balance) FROM account'),
	join('|', 2 * $benches[0]{done} + $benches[4]{done}, $ACCOUNTS, $ACCOUNTS, 1000 * $ACCOUNTS),
	'every committed update is there once');
same_rows($node, '(SELECT id, balance - 1000 AS moved FROM account)',
	'(SELECT a.id, coalesce(sum(j.delta), 0)::bigint FROM account a LEFT JOIN journal j ON j.account = a.id GROUP BY a.id)',
	'every account agrees with its journal');
same_rows($node, '(SELECT id, balance FROM account)',
	'(SELECT k.id, (SELECT balance FROM account a WHERE a.id = k.id) FROM generate_series(1, 2000) k(id))',
	'the primary key finds every row');
my ($status, undef, $error) = $node->psql('postgres', 'INSERT INTO account VALUES (17, 0, 0)');
like($error, qr/duplicate key value/, 'the primary key still refuses a duplicate');
$node->stop;
done_testing();
