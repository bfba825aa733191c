# 004_pgbench.pl: pgbench's own script on gpucol tables; its four tables agree.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Gpucol;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('bench', 'default_table_access_method = gpucol');

$node->command_ok([ 'pgbench', '-q', '-i', '-s', '2', $node->connstr('postgres') ], 'initialised');
$node->command_like([ 'pgbench', '-n', '-c', '4', '-t', '500', $node->connstr('postgres') ],
	qr{transactions actually processed: 2000/2000}, 'every transaction ran');
$node->safe_psql('postgres', 'VACUUM ANALYZE');
is($node->safe_psql('postgres', <<'SQL'), '4|t|t|t|2000|200000', 'the tables agree');
SELECT (SELECT count(*) FROM pg_class c JOIN pg_am a ON a.oid = c.relam
		WHERE a.amname = 'gpucol' AND c.relname LIKE 'pgbench%'),
	(SELECT sum(abalance) FROM pgbench_accounts) = h.sum,
	(SELECT sum(tbalance) FROM pgbench_tellers) = h.sum,
	(SELECT sum(bbalance) FROM pgbench_branches) = h.sum,
	h.count, (SELECT count(*) FROM pgbench_accounts)
FROM (SELECT sum(delta), count(*) FROM pgbench_history) h;
SQL
$node->stop;
done_testing();
