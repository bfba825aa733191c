# 036_kept.pl: what earlier versions wrote. Tables of each kept cluster (test/kept) read as they
# did, live on and leave again for heap; an extension updated from each version is that of a new
# database.
use strict;
use warnings;
use Config;
use File::Basename;
use File::Copy;
use File::Path 'remove_tree';
use FindBin;
use lib $FindBin::Bin;
use Gpucol;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my @tables = qw(types changed delta_only no_row rolled_back altered merged ordered parts1 parts2 counts);
my @left = grep { $_ ne 'counts' } @tables;
my $verify = join ' UNION ALL ', map { "SELECT '$_', v::text FROM gpucol.verify('$_') v" } @tables;
my @kept = map { basename($_, '.tar.xz') } glob "$FindBin::Bin/../kept/*.tar.xz";

# All objects of the extension, with what says how they behave.
my $objects = <<'SQL';
SELECT pg_describe_object(d.classid, d.objid, 0), obj_description(d.objid, c.relname), coalesce(p.proacl, r.relacl)::text,
	CASE WHEN p.prokind IN ('f', 'w', 'p') THEN pg_get_functiondef(p.oid) WHEN p.prokind = 'a' THEN
		(SELECT row_to_json(a)::jsonb - 'aggfnoid' FROM pg_aggregate a WHERE a.aggfnoid = p.oid)::text
	WHEN r.relkind = 'v' THEN pg_get_viewdef(r.oid) END
FROM pg_depend d JOIN pg_class c ON c.oid = d.classid
	LEFT JOIN pg_proc p ON d.classid = 'pg_proc'::regclass AND p.oid = d.objid
	LEFT JOIN pg_class r ON d.classid = 'pg_class'::regclass AND r.oid = d.objid
WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
	AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'gpucol')
ORDER BY 1
SQL

# A table and its twin in heap hold the same rows, read by the engine and row by row.
sub same_as_twins
{
	my ($node, $when, @names) = @_;

	foreach my $name (@names)
	{
		my $one = "SELECT x::text COLLATE \"C\" FROM $name x";
		my $two = "SELECT x::text COLLATE \"C\" FROM ${name}_heap x";

		foreach my $set ('', 'SET gpucol.pushdown = forbid; ')
		{
			is($node->safe_psql('postgres', "SET timezone = 'UTC'; ${set}SELECT count(*) FROM (($one EXCEPT ALL $two) UNION ALL ($two EXCEPT ALL $one)) d"),
				0, "$name $when" . ($set && ', row by row'));
		}
	}
}

# A server on a kept cluster.
sub kept_cluster
{
	my ($version) = @_;
	my $node = PostgreSQL::Test::Cluster->new('kept' . $version =~ tr/.//dr);
	my $data;

	$node->init;
	$data = $node->data_dir;
	copy("$data/$_", $node->basedir . "/$_") foreach 'postgresql.conf', 'pg_hba.conf';
	remove_tree($data, { keep_root => 1 });
	system('tar', 'xJf', "$FindBin::Bin/../kept/$version.tar.xz", '-C', $data, '--strip-components=1', '--no-same-owner') == 0 or BAIL_OUT('tar');
	copy($node->basedir . "/$_", "$data/$_") foreach 'postgresql.conf', 'pg_hba.conf';
	$node->start;
	return $node;
}

# Statements over everything that is new or old there, for the table and its twin.
sub live_on
{
	my ($node) = @_;

	foreach my $suffix ('', '_heap')
	{
		$node->safe_psql('postgres', <<~SQL);
			UPDATE types$suffix SET word = 'new', i8 = i8 - 1 WHERE id % 40 = 0 AND id > 0;
			DELETE FROM types$suffix WHERE id % 33 = 0;
			INSERT INTO types$suffix SELECT * FROM types$suffix WHERE id BETWEEN 1 AND 1500;
			DELETE FROM changed$suffix WHERE id % 7 = 0;
			INSERT INTO changed$suffix SELECT i, 2, 'more' FROM generate_series(20000, 22000) i;
			INSERT INTO no_row$suffix SELECT generate_series(1, 3000);
			ALTER TABLE altered$suffix ADD COLUMN e text DEFAULT 'e';
			INSERT INTO altered$suffix SELECT i, i, i, 'f' FROM generate_series(1, 2000) i;
			UPDATE ordered$suffix SET k = k + 1 WHERE id % 10 = 0;
			SQL
	}
	$node->safe_psql('postgres', "SELECT gpucol.merge('types'); SELECT gpucol.merge('delta_only');");
	$node->safe_psql('postgres', 'VACUUM');
	$node->safe_psql('postgres', 'CLUSTER ordered USING ordered_k');
	$node->safe_psql('postgres', 'VACUUM FULL altered');
}

my $node = new_server('updated');
my $new = $node->safe_psql('postgres', $objects);
my $current = $node->safe_psql('postgres', "SELECT extversion FROM pg_extension WHERE extname = 'gpucol'");
my @versions = split /\n/, $node->safe_psql('postgres', "SELECT version FROM pg_available_extension_versions WHERE name = 'gpucol' AND version <> '$current' ORDER BY 1");

is($node->safe_psql('postgres', "SELECT default_version FROM pg_available_extensions WHERE name = 'gpucol'"), $current, 'the version of the control file');
is("@kept", "@versions", 'a kept cluster for each earlier version');

foreach my $version (@versions)
{
	my $database = 'from_' . $version =~ tr/./_/r;

	$node->safe_psql('postgres', "CREATE DATABASE $database");
	$node->safe_psql($database, "CREATE EXTENSION gpucol VERSION '$version'");
	$node->safe_psql($database, 'ALTER EXTENSION gpucol UPDATE');
	is($node->safe_psql($database, $objects), $new, "an extension updated from $version is that of a new database");
}
$node->stop;

foreach my $version (@kept)
{
	SKIP:
	{
		local $ENV{PGUSER} = 'postgres';
		my $node;

		skip 'kept clusters are of PostgreSQL 15 on 64-bit x86', 1
			unless `pg_config --version` =~ /PostgreSQL 15/ && $Config{archname} =~ /^x86_64/;
		$node = kept_cluster($version);
		same_as_twins($node, "as $version wrote it", @tables);
		is($node->safe_psql('postgres', $verify), '', "nothing to complain of in what $version wrote");
		is($node->safe_psql('postgres', 'SET gpucol.pushdown = forbid; SET enable_seqscan = off; SELECT count(*), min(v) FROM changed WHERE id IN (51, 97, 5000, 10001)'),
			$node->safe_psql('postgres', 'SELECT count(*), min(v) FROM changed_heap WHERE id IN (51, 97, 5000, 10001)'), 'rows by index');
		$node->safe_psql('postgres', 'ALTER EXTENSION gpucol UPDATE');
		is($node->safe_psql('postgres', "SELECT extversion FROM pg_extension WHERE extname = 'gpucol'"), $current, 'the extension is of this version');
		isnt($node->safe_psql('postgres', 'SELECT best FROM ranked LIMIT 1'), '', 'a view of it works');
		live_on($node);
		same_as_twins($node, 'with new rows', @left);
		is($node->safe_psql('postgres', $verify), '', 'and still nothing to complain of');

		# leaving is one statement for each table
		$node->safe_psql('postgres', "ALTER TABLE $_ SET ACCESS METHOD heap") foreach @left;
		same_as_twins($node, 'left for heap', @left);
		$node->safe_psql('postgres', 'DROP VIEW ranked; DROP MATERIALIZED VIEW counts; DROP EXTENSION gpucol');
		same_as_twins($node, 'without the extension', @left);
		$node->stop;
	}
}

done_testing();
