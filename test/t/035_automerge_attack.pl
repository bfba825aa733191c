# 035_automerge_attack.pl: what one owner's indexes call does not keep tables of others, or of
# other databases, from being merged automatically.
#
# Functions that sleep for ever, that catch the error of a cancelled statement, that raise errors,
# and that take their time for each row.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Gpucol;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('automerge_attack');
$node->init;
$node->append_conf('postgresql.conf', <<'CONF');
fsync = off
autovacuum = off
shared_preload_libraries = 'gpucol'
gpucol.automerge = off
gpucol.automerge_naptime = 1s
gpucol.automerge_threshold = 20
gpucol.automerge_scale_factor = 0
gpucol.automerge_timeout = 1s
CONF
$node->start;

my $fill = 'DO $$ BEGIN FOR i IN 1 .. 50 LOOP INSERT INTO %s VALUES (i); END LOOP; END $$;';

sub make_table
{
	my ($table, $function) = @_;

	$node->safe_psql('postgres', "SET ROLE attacker; CREATE TABLE $table (a int) USING gpucol;" .
		  ($function ? "CREATE INDEX ON $table ($function(a));" : '') . sprintf $fill, $table);
	return;
}

# The functions do so only where no client has called them.
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION gpucol;
CREATE DATABASE other;
CREATE ROLE attacker;
CREATE ROLE victim;
GRANT CREATE ON SCHEMA public TO attacker, victim;
SET ROLE attacker;
CREATE FUNCTION unasked() RETURNS bool LANGUAGE sql AS $$ SELECT current_setting('application_name') = '' $$;
CREATE FUNCTION sleeps(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
	IF public.unasked() THEN PERFORM pg_sleep(100000); END IF;
	RETURN $1;
END $$;
CREATE FUNCTION clings(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
	WHILE public.unasked() LOOP
		BEGIN
			PERFORM pg_sleep(100000);
		EXCEPTION WHEN query_canceled THEN NULL;
		END;
	END LOOP;
	RETURN $1;
END $$;
CREATE FUNCTION raises(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
	IF public.unasked() THEN RAISE 'not here'; END IF;
	RETURN $1;
END $$;
CREATE FUNCTION dawdles(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
	IF public.unasked() THEN PERFORM pg_sleep(0.05); END IF;
	RETURN $1;
END $$;
SQL
make_table('clinging', 'clings');
make_table('sleeping', 'sleeps');
make_table('raising', 'raises');
make_table('dawdling', 'dawdles');
$node->safe_psql('postgres', 'SET ROLE victim; CREATE TABLE harmless (a int PRIMARY KEY) USING gpucol;' . sprintf $fill, 'harmless');
$node->safe_psql('other', 'CREATE EXTENSION gpucol; CREATE TABLE harmless (a int) USING gpucol;' . sprintf $fill, 'harmless');
$node->append_conf('postgresql.conf', 'gpucol.automerge = on');
$node->reload;

sub is_merged
{
	my ($database, $table, $what) = @_;

	return ok($node->poll_query_until($database, "SELECT coalesce(sum(rows), 0) > 0 FROM gpucol.segments('$table')"), $what);
}

ok($node->poll_query_until('postgres', q{SELECT count(*) > 0 FROM pg_stat_activity WHERE backend_type = 'gpucol automerge worker'}), 'a worker is there');
is_merged('postgres', 'harmless', "another owner's table is merged");
is_merged('other', 'harmless', 'a table of another database is merged');
is_merged('postgres', 'dawdling', 'what is merged of a table that takes its time stays');

# The cancelled merge of each says why; the worker that clings ends.
my $log = $node->logfile;
sub is_logged
{
	my ($pattern, $what) = @_;

	for (1 .. 1800)
	{
		return pass($what) if slurp_file($log) =~ $pattern;
		select undef, undef, undef, 0.1;
	}
	return fail($what);
}

is_logged(qr/canceling statement due to user request\n.*CONTEXT:.*(?:\n\t.*)*longer than gpucol.automerge_timeout/, 'a function that sleeps is cancelled');
is_logged(qr/terminating background worker "gpucol automerge worker"/, 'a function that catches this ends the worker');

# Nothing is lost, and nothing half merged.
$node->append_conf('postgresql.conf', 'gpucol.automerge = off');
$node->reload;
for my $table (qw(clinging sleeping raising dawdling harmless))
{
	is($node->safe_psql('postgres', "SELECT count(*), sum(a) FROM $table"), '50|1275', "$table has its rows");
	is($node->safe_psql('postgres', "SELECT * FROM gpucol.verify('$table')"), '', "$table is sound");
}
$node->stop('immediate');
done_testing();
