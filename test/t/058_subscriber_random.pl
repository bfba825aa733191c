# 058_subscriber_random.pl: random transactions of several sessions, merges by themselves and servers killed on
# either side: the subscriber has what the publisher has, and both what heap twins have that the same
# transactions write.  GPUCOL_SECONDS makes it a soak.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Gpucol;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my $SECONDS = $ENV{GPUCOL_SECONDS} || 20;
my $SESSIONS = 3;		# each changes rows of its own: id modulo 3
my %COLUMNS = (n => 'numeric(12,2)', t => 'text', d => 'timestamptz', big => 'text', a => 'int[]', j => 'jsonb');
my @COLUMNS = sort keys %COLUMNS;
# by primary key; by another key; whole rows, which an index finds or a scan of the table
my @TABLES = qw(keyed indexed whole bare);
my %next = map { $_ => 0 } @TABLES;

seed_random();
my @settings = ('wal_level = logical', 'max_wal_senders = 5', 'wal_retrieve_retry_interval = 100ms', 'autovacuum_naptime = 1s', "shared_preload_libraries = 'gpucol'",
	'gpucol.automerge_naptime = 1s', 'gpucol.automerge_threshold = 300', 'gpucol.automerge_scale_factor = 0', 'max_wal_size = 1GB');
my ($publisher, $subscriber) = map { new_server($_, @settings) } qw(publisher subscriber);

sub define_tables
{
	my ($node) = @_;
	my $columns = join ', ', 'id int NOT NULL', 'u int NOT NULL', map { "$_ $COLUMNS{$_}" } @COLUMNS;

	for my $table (@TABLES)
	{
		$node->safe_psql('postgres', "CREATE TABLE $table ($columns) USING gpucol; CREATE TABLE twin_$table ($columns) USING heap;");
		$node->safe_psql('postgres', "ALTER TABLE $_ ADD PRIMARY KEY (id), ADD UNIQUE (u)") for $table eq 'bare' ? () : ($table, "twin_$table");
	}
	for my $prefix ('', 'twin_')
	{
		$node->safe_psql('postgres', "ALTER TABLE ${prefix}indexed REPLICA IDENTITY USING INDEX ${prefix}indexed_u_key;
			ALTER TABLE ${prefix}whole REPLICA IDENTITY FULL; ALTER TABLE ${prefix}bare REPLICA IDENTITY FULL;");
	}
	return;
}

# ---- random statements; T is the table ----

sub value
{
	my ($column, $i) = @_;
	my $salt = between(1, 1000);

	return 'NULL' if rand() < 0.1;
	return { n => "($i * $salt % 100000) / 4.0", t => "'t' || ($i % $salt)", d => "timestamptz '2024-01-01' + $i * interval '$salt minutes'",
		big => "CASE WHEN $i % 97 = 0 THEN (SELECT string_agg(md5(($i + k)::text), '') FROM generate_series(1, 200) k) ELSE md5(($i)::text) END",
		a => "ARRAY[$i, NULL, $salt]", j => "jsonb_build_object('k', $i, 's', $salt)" }->{$column};
}

sub insert
{
	my ($table, $session) = @_;
	my $rows = pick(1, 1, 1, 20, 20, $table eq 'bare' ? 50 : 1500);
	my $first = $next{$table};

	$next{$table} += $rows * $SESSIONS;
	return 'INSERT INTO T SELECT i, -i, ' . join(', ', map { '(' . value($_, 'i') . ")::$COLUMNS{$_}" } @COLUMNS) .
		" FROM generate_series(" . ($first + $session) . ', ' . ($next{$table} - 1) . ", $SESSIONS) i";
}

# Rows of the session: some that follow each other, or here and there.
sub condition
{
	my ($table, $session) = @_;
	my $first = between(0, $next{$table});
	my $few = $table eq 'bare' ? 10 : 500;

	return "id % $SESSIONS = $session AND " . pick("id BETWEEN $first AND " . ($first + between(1, $few)),
		"id BETWEEN $first AND " . ($first + 20 * $few) . ' AND id % ' . pick(37, 101) . ' = ' . between(0, 30), "id = $first");
}

sub change
{
	my ($table, $session) = @_;
	my $where = condition($table, $session);
	my $column = pick(@COLUMNS);
	my $id = $SESSIONS * int(rand($next{$table}) / $SESSIONS) + $session;		# one that there was

	return insert($table, $session) if $next{$table} == 0 || rand() < 0.35;
	return "DELETE FROM T WHERE $where" if rand() < 0.3;
	return "UPDATE T SET id = id + 300000000 WHERE $where AND id < 300000000" if rand() < 0.1;
	return "UPDATE T SET u = -u WHERE $where" if rand() < 0.1;
	return "UPDATE T SET t = t || 'x', n = n + 1 WHERE $where" if rand() < 0.4;
	return "INSERT INTO T (id, u, n) VALUES ($id, -$id, 1) ON CONFLICT DO NOTHING" if $table ne 'bare' && rand() < 0.1;
	return "MERGE INTO T x USING (SELECT i FROM generate_series($id, " . ($id + 300) . ", $SESSIONS) i) y ON x.id = y.i WHEN MATCHED AND i % 2 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET n = -n" if rand() < 0.1;
	return "UPDATE T SET $column = " . value($column, 'id') . " WHERE $where";
}

# A transaction that does the same to a table and to its twin.
sub transaction
{
	my ($session) = @_;
	my @statements;

	for (1 .. pick(1, 1, 2, 4))
	{
		my $table = pick(@TABLES);
		my $sql = change($table, $session);

		push @statements, 'SAVEPOINT s' if my $undone = rand() < 0.1;
		push @statements, map { $sql =~ s/\bT\b/$_/r } $table, "twin_$table";
		push @statements, 'ROLLBACK TO s' if $undone;
	}
	return join(";\n", 'BEGIN', @statements, rand() < 0.1 ? 'ROLLBACK' : 'COMMIT') . ";\n";
}

# What a session does between two transactions.
sub upkeep
{
	return rand() < 0.05 ? "SELECT gpucol.merge('" . pick(@TABLES) . "');\n" : rand() < 0.03 ? 'VACUUM ' . pick(@TABLES) . ";\n" : '';
}

# ---- rounds ----

sub compare
{
	my ($what) = @_;

	$publisher->wait_for_catchup('s');
	for my $table (@TABLES)
	{
		same_rows($publisher, $table, "twin_$table", "$what: the publisher's $table is as its twin");
		same_rows($subscriber, $table, "twin_$table", "$what: the subscriber's $table is as its twin");
		my ($mine, $theirs) = map { $_->safe_psql('postgres', "SELECT count(*), sum(hashtextextended(x::text, 0)) FROM $table x") } $publisher, $subscriber;
		is($theirs, $mine, "$what: $table is on both sides the same");
	}
	return;
}

# Sessions work until their scripts end, or, where a server is killed, until it dies.
sub work
{
	my ($victim) = @_;
	my $scripts = PostgreSQL::Test::Utils::tempdir;
	my (@handles, @errors);

	for my $session (0 .. $SESSIONS - 1)
	{
		my $script = join '', map { transaction($session) . upkeep() } 1 .. 25;
		my $file = "$scripts/$session.sql";

		PostgreSQL::Test::Utils::append_to_file($file, $script);
		push @errors, \my $error;
		push @handles, IPC::Run::start([ 'psql', '-X', '-q', '-A', '-t', '-f', $file, '-d', $publisher->connstr('postgres') ], '>', \my $output, '2>', $errors[-1]);
	}
	if ($victim)
	{
		sleep rand 3;
		note('killing the ' . $victim->name);
		kill_server($victim);
		$victim->start;
	}
	eval { $_->finish } for @handles;
	my %unexpected = map { $_ => 1 } grep { /ERROR/ } map { split /\n/, $$_ } @errors;
	is(join("\n", sort keys %unexpected), '', 'no statement fails') unless $victim && $victim == $publisher;
	return;
}

define_tables($_) for $publisher, $subscriber;
work();
$publisher->safe_psql('postgres', 'CREATE PUBLICATION p FOR ALL TABLES');
$subscriber->safe_psql('postgres', "CREATE SUBSCRIPTION s CONNECTION '" . $publisher->connstr . " dbname=postgres' PUBLICATION p");
$subscriber->wait_for_subscription_sync($publisher, 's');
compare('first copy');

my ($rounds, $kills, $end) = (0, 0, time + $SECONDS);
while (time < $end)
{
	my $victim = pick(undef, $publisher, $publisher, $subscriber, $subscriber);

	$kills++ if $victim;
	work($victim);
	compare('round ' . ++$rounds);
	# what both keep in memory of a table that is emptied
	$publisher->safe_psql('postgres', "TRUNCATE $_, twin_$_") for rand() < 0.05 ? pick(@TABLES) : ();
}
note("$rounds rounds, $kills kills");
for my $node ($publisher, $subscriber)
{
	is($node->safe_psql('postgres', "SELECT * FROM gpucol.verify('$_')"), '', $node->name . "'s $_ is sound") for @TABLES;
	unlike(PostgreSQL::Test::Utils::slurp_file($node->logfile), qr/PANIC|TRAP/, $node->name . ' does not crash');
}
$subscriber->safe_psql('postgres', 'DROP SUBSCRIPTION s');
$_->stop for $subscriber, $publisher;
done_testing();
