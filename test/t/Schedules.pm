# Schedules.pm: random schedules of sessions that lock and change the same rows, run
# over gpucol tables whose rows are packed and over their heap twins, and compared:
# rows, command tags and errors of every statement, who waits for whom after it, and the
# rows in the end.
#
# A schedule is a list of steps, each a session and its statement; every session's last
# one ends its transaction.  The turn of a session that waits comes when it waits no
# more.  A step is done when each session has answered or waits for another, and no
# deadlock is left.
#
# A step of x cancels what a session is waiting for.  The session m merges and vacuums.  What is
# allowed to differ comes of it: a session may wait for an open merge, or is refused or skips
# the row where it is not to wait.  At READ COMMITTED nobody fails.  Under REPEATABLE READ and
# SERIALIZABLE, who changes a row that was packed since the snapshot gets a serialization failure.
package Schedules;

use strict;
use warnings;
use Exporter 'import';
use Gpucol qw(pick between);
use Sessions;
use Time::HiRes qw(time);

our @EXPORT = qw(prepare_schedules random_schedule triple_count triple_schedule merged_count merged_schedule compare_schedule describe_schedule);

my @NAMES = qw(a b c);
my @STRENGTHS = ('UPDATE', 'NO KEY UPDATE', 'SHARE', 'KEY SHARE');

# Twin tables in two schemas: t, its children c, d and e, and p in parts.
sub tables
{
	my ($schema, $method) = @_;
	my $pack = $method eq 'gpucol' ? q{PERFORM gpucol.merge(''t''), gpucol.merge(''p1''), gpucol.merge(''p2'')} : 'NULL';

	return <<~SQL;
		CREATE SCHEMA $schema;
		SET search_path = $schema;
		SET default_table_access_method = $method;
		CREATE TABLE t (id int PRIMARY KEY, u int UNIQUE, v int, w int) WITH (autovacuum_enabled = off);
		CREATE TABLE c (t int REFERENCES t) WITH (autovacuum_enabled = off);
		CREATE TABLE d (t int REFERENCES t ON DELETE CASCADE ON UPDATE CASCADE) WITH (autovacuum_enabled = off);
		CREATE TABLE e (t int REFERENCES t DEFERRABLE INITIALLY DEFERRED) WITH (autovacuum_enabled = off);
		CREATE TABLE p (id int, part int, v int, PRIMARY KEY (id, part)) PARTITION BY LIST (part);
		CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1) WITH (autovacuum_enabled = off);
		CREATE TABLE p2 PARTITION OF p FOR VALUES IN (2) WITH (autovacuum_enabled = off);
		CREATE FUNCTION pack() RETURNS void LANGUAGE plpgsql SET search_path = $schema AS
			'BEGIN $pack; END';
		CREATE FUNCTION pass() RETURNS trigger LANGUAGE plpgsql AS
			'BEGIN RETURN coalesce(NEW, OLD); END';
		CREATE FUNCTION attempt(query text) RETURNS text LANGUAGE plpgsql AS
			'BEGIN EXECUTE query; RETURN ''done''; EXCEPTION WHEN OTHERS THEN RETURN SQLSTATE; END';
		CREATE TRIGGER pass BEFORE UPDATE OR DELETE ON t FOR EACH ROW EXECUTE FUNCTION pass();
		SQL
}

# Make the tables of a server, of which host, port and user are given; returns what the
# other functions want.
sub prepare_schedules
{
	my (@where) = @_;
	my %runs;

	foreach my $schema ('heap', 'packed')
	{
		my $monitor = Sessions->new(@where, 'monitor', 'SET client_min_messages = warning',
			"DROP SCHEMA IF EXISTS $schema CASCADE");

		$monitor->rows($_) foreach grep { /\S/ } split /;\n/, tables($schema, $schema eq 'heap' ? 'heap' : 'gpucol');
		my %sessions = map { $_ => Sessions->new(@where, $_, "SET search_path = $schema", 'SET client_min_messages = warning') } @NAMES, 'm';
		$runs{$schema} = { schema => $schema, monitor => $monitor, sessions => \%sessions, settle => 0.012,
			names => { map { $sessions{$_}{pid} => $_ } keys %sessions } };
	}
	return \%runs;
}

# ------------------------------------------------------------------------
# Making schedules
# ------------------------------------------------------------------------

# A condition that may be true of the row.
sub condition { return pick('', '', ' AND v = 0', ' AND v < 5', ' AND w = 0'); }

sub locking
{
	my $strength = pick(@STRENGTHS);
	my $policy = pick('', '', '', '', ' NOWAIT', ' SKIP LOCKED');
	my $id = pick(1, 1, 1, 1, 1, 2);

	return pick(
		(map { "SELECT id, u, v, w FROM t WHERE id = $id" . condition() . " FOR $strength$policy" } 1 .. 7),
		"SELECT id, v FROM t WHERE v = 0 ORDER BY id LIMIT 1 FOR $strength$policy",
		"WITH x AS MATERIALIZED (SELECT id FROM t WHERE id = $id" . condition() . " FOR $strength$policy) SELECT x.id, t.v FROM x JOIN t USING (id)",
		"SELECT id, v FROM t WHERE id < 3 ORDER BY id FOR $strength$policy",
		"SELECT t.id, t.v, c.t FROM t LEFT JOIN c ON c.t = t.id WHERE t.id = $id FOR $strength OF t$policy",
		"SELECT attempt('SELECT 1 FROM t WHERE id = $id FOR $strength$policy')",
		"SELECT id, part, v FROM p WHERE id = 1 FOR $strength$policy");
}

sub change
{
	my $id = pick(1, 1, 1, 1, 1, 2);
	my $where = "id = $id" . condition();

	return pick(
		"UPDATE t SET v = v + 1 WHERE $where RETURNING id, v, w",
		"UPDATE t SET v = v + 1 WHERE $where RETURNING id, v, w",
		"UPDATE t SET w = w + 10 WHERE $where RETURNING id, v, w",
		"UPDATE t SET id = id + 100 WHERE $where RETURNING id, v",
		"UPDATE t SET u = u + 100 WHERE $where RETURNING id, u, v",
		"UPDATE t SET id = id, v = v WHERE $where",
		"DELETE FROM t WHERE $where RETURNING id, v, w",
		"DELETE FROM t WHERE $where",
		"UPDATE p SET part = 3 - part WHERE id = 1 RETURNING id, part, v",
		"UPDATE p SET v = v + 1 WHERE id = 1" . pick('', ' AND v = 0', ' AND part = 1') . ' RETURNING id, part, v',
		'DELETE FROM p WHERE id = 1 AND part = 1 RETURNING id, v',
		"SELECT attempt('UPDATE t SET v = v + 1 WHERE $where')",
		"SELECT attempt('UPDATE t SET v = v + 1 / (v - 1) WHERE $where')",
		"DO 'BEGIN UPDATE t SET v = v + 1 WHERE $where; UPDATE t SET w = w + 1 WHERE $where; END'",
		"WITH x AS (DELETE FROM t WHERE $where RETURNING id, u, v, w) INSERT INTO t SELECT id + 10, u + 10, v, w FROM x RETURNING id, v",
		"WITH x AS (UPDATE t SET v = v + 1 WHERE $where RETURNING id) SELECT t.id, t.v FROM t JOIN x USING (id)",
		"UPDATE t SET w = s.w + 1 FROM t s WHERE t.id = s.id AND t.$where RETURNING t.id, t.w, s.w" =~ s/ AND ([vw]) / AND t.$1 /r);
}

sub insertion
{
	my $id = pick(1, 1, 1, 2, 4);

	return pick(
		"INSERT INTO t VALUES ($id, " . ($id + 50) . ", 0, 0) ON CONFLICT (id) DO UPDATE SET v = t.v + 100 RETURNING id, v, w",
		"INSERT INTO t VALUES ($id, " . ($id + 50) . ", 0, 0) ON CONFLICT (id) DO UPDATE SET v = t.v + 100 WHERE t.v = 0 RETURNING id, v, w",
		"INSERT INTO t VALUES ($id, " . ($id + 50) . ", 0, 0) ON CONFLICT DO NOTHING RETURNING id",
		"INSERT INTO t VALUES ($id, " . ($id + 50) . ", 7, 7)",
		"INSERT INTO t VALUES (5, $id, 7, 7)",
		"INSERT INTO t VALUES ($id, $id, 0, 0) ON CONFLICT (u) DO UPDATE SET id = t.id + 20 RETURNING id, u, v",
		"INSERT INTO t VALUES ($id, 51, 0, 0) ON CONFLICT (id) DO UPDATE SET u = excluded.u RETURNING id, u, v",
		"INSERT INTO c VALUES ($id)", "INSERT INTO c VALUES ($id)", "INSERT INTO d VALUES ($id)", "INSERT INTO e VALUES ($id)",
		'UPDATE c SET t = t + 1', 'DELETE FROM c',
		"MERGE INTO t USING (VALUES ($id, 3)) s (id, x) ON t.id = s.id WHEN MATCHED AND v = 0 THEN UPDATE SET v = v + x WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.id + 50, 0, 0)",
		"MERGE INTO t USING (VALUES ($id, 3)) s (id, x) ON t.id = s.id AND t.w = 0 WHEN MATCHED THEN UPDATE SET v = v + x WHEN NOT MATCHED THEN DO NOTHING");
}

sub statement
{
	return pick(map({ locking() } 1 .. 4), map({ change() } 1 .. 3), map({ insertion() } 1 .. 2),
		pick('SELECT id, u, v, w FROM t ORDER BY id', 'SELECT t FROM c ORDER BY t'));
}

# What a session runs.
sub session_steps
{
	my ($most, $level) = @_;
	my $n = between(1, $most);

	return statement() if $n == 1 && $level eq 'READ COMMITTED' && between(1, 3) == 1;
	my @steps = map { statement() } 1 .. $n;
	unshift @steps, 'SELECT count(*) FROM t' if $level ne 'READ COMMITTED' && between(0, 1);
	if (between(1, 4) == 1)
	{
		my $at = between(0, $#steps);

		splice @steps, $at + 1, 0, pick('ROLLBACK TO s', 'ROLLBACK TO s', 'ROLLBACK TO s', 'RELEASE s');
		splice @steps, $at, 0, 'SAVEPOINT s';
	}
	push @steps, 'DECLARE k CURSOR FOR SELECT id, v FROM t WHERE id = 1 FOR ' . pick(@STRENGTHS), 'FETCH k', 'UPDATE t SET v = v + 1 WHERE CURRENT OF k RETURNING id, v'
	  if between(1, 25) == 1;
	return ("BEGIN ISOLATION LEVEL $level", @steps, pick(([ 'COMMIT' ]) x 6, [ 'ROLLBACK' ],
		[ "PREPARE TRANSACTION 'NAME'", pick('COMMIT', 'ROLLBACK') . " PREPARED 'NAME'" ])->@*);
}

# Statements, and the ways in which three of them (0, 1, 2) meet.
my @MEET = (
	(map { "SELECT id, v FROM t WHERE id = 1 FOR $_" } @STRENGTHS), 'SELECT id, v FROM t WHERE id = 1 AND v = 0 FOR KEY SHARE',
	'UPDATE t SET v = v + 1 WHERE id = 1 RETURNING v', 'UPDATE t SET id = 9 WHERE id = 1 RETURNING v', 'DELETE FROM t WHERE id = 1 RETURNING v',
	'INSERT INTO t VALUES (1, 51, 0, 0) ON CONFLICT (id) DO UPDATE SET v = t.v + 100 RETURNING v', 'INSERT INTO c VALUES (1)',
	'MERGE INTO t USING (VALUES (1)) s (id) ON t.id = s.id WHEN MATCHED AND v = 0 THEN UPDATE SET v = v + 3 WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (1, 51, 0, 0)');
my @WAYS = map { [ map { [ split / /, $_, 2 ] } split /, / ] } (
	'a 0, b 1, a 2, a COMMIT, b COMMIT', 'a 0, a 1, b 2, a COMMIT, b COMMIT',
	'a 0, b 1, c 2, a COMMIT, b COMMIT, c COMMIT', 'a SAVEPOINT s, a 0, b 1, a ROLLBACK TO s, a 2, a COMMIT, b COMMIT',
	'a SAVEPOINT s, a 0, b 1, c 2, a ROLLBACK TO s, a COMMIT, c ROLLBACK, b COMMIT');

# The schedule of a number, in which three statements meet, and how many there are.
sub triple_count { return @MEET ** 3 * @WAYS; }

sub triple_schedule
{
	my ($number) = @_;
	my @meet = map { my $at = $number % @MEET; $number = int($number / @MEET); $MEET[$at] } 0 .. 2;
	my %begun;
	my @steps = map { my ($name, $what) = @$_; (($begun{$name}++ ? () : [ $name, 'BEGIN' ]), [ $name, $what =~ /^\d$/ ? $meet[$what] : $what ]) } $WAYS[$number]->@*;

	return { steps => \@steps, triggers => 'DISABLE', children => 0, packed => 1, pushdown => 'allow', seqscan => 'on' };
}

# Statements that come to row 1, for which b waits, and then to row 2, which others have changed and
# a merge has packed since b's snapshot; and those changes.
my @COME = (
	(map { "SELECT id, v, w FROM t WHERE id < 3 ORDER BY id FOR $_" } @STRENGTHS), 'SELECT id, v FROM t WHERE id < 3 AND v = 0 ORDER BY id FOR UPDATE',
	'UPDATE t SET v = v + 1 WHERE id < 3 RETURNING id, v', 'UPDATE t SET v = v + 1 WHERE id < 3 AND v = 0 RETURNING id, v',
	'UPDATE t SET id = id + 50 WHERE id < 3 RETURNING id, v', 'DELETE FROM t WHERE id < 3 RETURNING id, v', 'DELETE FROM t WHERE id < 3 AND w = 0 RETURNING id',
	'MERGE INTO t USING (VALUES (1), (2)) s (id) ON t.id = s.id WHEN MATCHED AND v = 0 THEN UPDATE SET v = v + 3 WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.id + 50, 0, 0)',
	'INSERT INTO t VALUES (1, 51, 0, 0), (2, 52, 0, 0) ON CONFLICT (id) DO UPDATE SET v = t.v + 100 RETURNING id, v',
	'INSERT INTO c VALUES (1), (2)', "SELECT attempt('UPDATE t SET w = w + 1 WHERE id < 3')");
my @CHANGES = ([], ['UPDATE t SET v = v + 10 WHERE id = 2'], [ ('UPDATE t SET v = v + 10 WHERE id = 2') x 2 ], ['UPDATE t SET id = 22 WHERE id = 2'],
	['DELETE FROM t WHERE id = 2'], [ 'SAVEPOINT s', 'UPDATE t SET w = w + 10 WHERE id = 2', 'RELEASE s' ]);
my @MERGES = ([ [ 'm', 'SELECT pack()' ] ], [ [ 'm', 'BEGIN' ], [ 'm', 'SELECT pack()' ], [ 'c', 'COMMIT' ], [ 'm', 'COMMIT' ] ],
	[ [ 'm', 'SELECT pack()' ], [ 'a', 'UPDATE t SET v = v + 20 WHERE id = 2' ], [ 'm', 'SELECT pack()' ] ]);
my @LEVELS = ('READ COMMITTED', 'REPEATABLE READ');

# The schedule of a number, and how many there are.
sub merged_count { return @COME * @CHANGES * @MERGES * @LEVELS * 2; }

sub merged_schedule
{
	my ($number) = @_;
	my ($come, $changes, $merge, $level, $packed) = map { my $at = $number % @$_; $number = int($number / @$_); $_->[$at] } \(@COME, @CHANGES, @MERGES, @LEVELS), [ 0, 1 ];
	my @steps = ([ 'c', 'BEGIN' ], [ 'c', 'SELECT id FROM t WHERE id = 1 FOR UPDATE' ], [ 'b', "BEGIN ISOLATION LEVEL $level" ], [ 'b', $come ],
		@$changes ? ([ 'a', 'BEGIN' ], map({ [ 'a', $_ ] } @$changes), [ 'a', 'COMMIT' ]) : (), @$merge,
		grep({ $_->[0] eq 'c' } @$merge) ? () : [ 'c', 'COMMIT' ], [ 'b', 'COMMIT' ]);

	return { steps => \@steps, triggers => 'DISABLE', children => 0, packed => $packed, pushdown => 'allow', seqscan => 'on' };
}

# What the session m runs.
sub maintenance
{
	return pick(['SELECT pack()'], ['SELECT pack()'], ['VACUUM t'], [ 'SELECT pack()', 'VACUUM t', 'SELECT pack()' ],
		[ 'BEGIN', 'SELECT pack()', pick('COMMIT', 'COMMIT', 'ROLLBACK') ]);
}

# A schedule of random statements; so many of a session at most.
sub random_schedule
{
	my ($most) = @_;
	my $level = pick(('READ COMMITTED') x 4, 'REPEATABLE READ', 'SERIALIZABLE');
	my %left = map { my $name = $_; $name => [ map { s/NAME/$name/r } session_steps($most, $level) ] } @NAMES[0 .. pick(1, 2, 2)];
	my @steps;

	$left{x} = [ 'cancel ' . pick(@NAMES) ] if between(1, 6) == 1;
	$left{m} = maintenance() if between(1, 3) == 1;
	while (my @names = sort keys %left)
	{
		my $name = pick(@names);

		push @steps, [ $name, shift @{ $left{$name} } ];
		# a transaction begins with its first statement
		push @steps, [ $name, shift @{ $left{$name} } ] if $steps[-1][1] =~ /^BEGIN/;
		delete $left{$name} unless @{ $left{$name} };
	}
	return {
		steps => \@steps,
		triggers => between(1, 4) == 1 ? 'ENABLE' : 'DISABLE',
		children => between(1, 3) == 1,
		packed => between(1, 6) > 1,
		pushdown => pick('allow', 'forbid'),
		seqscan => pick('on', 'off')
	};
}

# ------------------------------------------------------------------------
# Running them
# ------------------------------------------------------------------------

# The rows before a schedule.
sub reset_rows
{
	my ($run, $schedule) = @_;
	my $monitor = $run->{monitor};

	$monitor->rows("ROLLBACK PREPARED '$_'") foreach $monitor->rows('SELECT gid FROM pg_prepared_xacts WHERE database = current_database()');
	$monitor->rows($_) foreach (
		'TRUNCATE t, c, d, e, p', 'INSERT INTO p VALUES (1, 1, 0), (2, 2, 0)', 'INSERT INTO t SELECT i, i, 0, 0 FROM generate_series(1, 3) i',
		$schedule->{children} ? ('INSERT INTO c VALUES (2)', 'INSERT INTO d VALUES (1)') : (),
		"ALTER TABLE t $schedule->{triggers} TRIGGER pass", $schedule->{packed} ? 'SELECT pack()' : ());
	foreach my $session (values %{ $run->{sessions} })
	{
		$session->rows("SET gpucol.pushdown = $schedule->{pushdown}");
		$session->rows("SET enable_seqscan = $schedule->{seqscan}");
	}
	return;
}

# Who waits for whom, of the sessions that have not answered: names by name.
sub waits
{
	my ($run, @busy) = @_;
	my $pids = join(',', map { $_->{pid} } @busy);
	my %waits;

	foreach my $row ($run->{monitor}->rows("SELECT p, array_to_string(pg_blocking_pids(p), ',') FROM unnest('{$pids}'::int[]) p"))
	{
		my ($pid, $blockers) = split /\|/, $row;

		$waits{ $run->{names}{$pid} } = join(',', sort map { $run->{names}{$_} // $_ } split /,/, $blockers // '');
	}
	return \%waits;
}

# Does a session wait for itself, by way of others?
sub is_deadlock
{
	my ($waits) = @_;

	foreach my $start (keys %$waits)
	{
		my %met;
		my @next = split /,/, $waits->{$start};

		while (defined(my $name = shift @next))
		{
			return 1 if $name eq $start;
			push @next, split /,/, $waits->{$name} // '' unless $met{$name}++;
		}
	}
	return 0;
}

# Wait until every session has answered or waits for another, and no deadlock is left;
# adds to the trace what they answer.
sub settle
{
	my ($run, $trace) = @_;
	my $begin = my $since = time;
	my $last = '';
	my %answers;

	for (;;)
	{
		my @busy = grep { $_->{busy} } values %{ $run->{sessions} };

		Sessions::poll($last ? 0.004 : 0.001, @busy) if @busy;
		$answers{ $_->{name} } = $_->wait foreach grep { !$_->{busy} } @busy;
		@busy = grep { $_->{busy} } @busy;
		my $waits = @busy ? waits($run, @busy) : {};
		my $now = join(' ', map { "$_:$waits->{$_}" } sort keys %$waits);

		if ($now ne $last || grep({ $_ eq '' } values %$waits) || is_deadlock($waits))
		{
			($last, $since) = ($now, time);
			die "nothing moves: $now" if time - $begin > 120;
		}
		next if @busy && time - $since < $run->{settle};
		push @$trace, map { "    $_ answers " . plain($answers{$_}) } sort keys %answers;
		push @$trace, map { "    $_ waits for $waits->{$_}" } sort keys %$waits;
		return;
	}
}

# An answer without what says where a row lies.
sub plain
{
	my ($answer) = @_;

	$answer =~ s/\(\d+,\d+\)/(place)/g;
	return $answer =~ s/\n/; /gr;
}

# Cancel what a session waits for, if it waits.
sub cancel
{
	my ($run, $name) = @_;
	my $session = $run->{sessions}{$name};

	$run->{monitor}->rows("SELECT pg_cancel_backend($session->{pid})") if $session->{busy};
	return;
}

# All rows, by index where scans are off.
sub rows_in_the_end
{
	my ($run, $scan) = @_;
	my $monitor = $run->{monitor};

	$monitor->rows("SET enable_seqscan = $scan");
	return [ map { "    $_" } $monitor->rows('SELECT * FROM t WHERE id > 0 ORDER BY id'),
		$monitor->rows("SELECT 'c', t, 0 FROM c UNION ALL SELECT 'd', t, 0 FROM d UNION ALL SELECT 'e', t, 0 FROM e UNION ALL SELECT 'p' || part, id, v FROM p WHERE id > 0 ORDER BY 1, 2, 3") ];
}

# Run a schedule; returns the trace.
sub run_schedule
{
	my ($run, $schedule) = @_;
	my @left = @{ $schedule->{steps} };
	my @trace;

	reset_rows($run, $schedule);
	while (@left)
	{
		my ($at) = grep { $left[$_][0] eq 'x' || !$run->{sessions}{ $left[$_][0] }{busy} } 0 .. $#left;

		die 'all sessions wait: ' . join("\n", @trace) unless defined $at;
		my ($name, $sql) = @{ splice(@left, $at, 1) };

		push @trace, "  $name: $sql";
		if ($name eq 'x') { cancel($run, $sql =~ /(\w)$/) }
		else { $run->{sessions}{$name}->send($sql) }
		settle($run, \@trace);
	}
	my ($found, $read) = map { rows_in_the_end($run, $_) } 'off', 'on';
	push @trace, '  in the end', @$found;
	push @trace, '    and without indexes', @$read if "@$found" ne "@$read";
	return @trace;
}

sub describe_schedule
{
	my ($schedule) = @_;

	return "triggers $schedule->{triggers}D, children $schedule->{children}, packed $schedule->{packed}, pushdown $schedule->{pushdown}, seqscan $schedule->{seqscan}";
}

# The serialization failures that a merge may cause, of who comes to a row under an older snapshot.
my $OLD = qr/answers (?:ERROR 40001 could not serialize access due to concurrent (?:update|delete)|40001;)/;

# Is the first step in which two traces differ one that may?  Returns its name or ''.
sub allowed
{
	my ($heap, $packed) = @_;
	my ($differ) = grep { ($heap->[$_] // '') ne $packed->[$_] } 0 .. $#$packed;
	my ($from) = grep { $packed->[$_] =~ /^  \w/ } reverse 0 .. $differ // return '';
	my ($to) = grep { $_ > $#$packed || $packed->[$_] =~ /^  \w/ } $from + 1 .. @$packed;
	my @step = @$packed[ $from .. $to - 1 ];
	my $old = grep({ /BEGIN ISOLATION LEVEL [RS]E/ } @$packed) ? $OLD : qr/^$/;

	return 'stricter' if grep({ /LEVEL SERIALIZABLE/ } @$packed) && grep { /answers (?:ERROR 40001 could not serialize access due to read\/write dependencies|40001;)/ } @step;
	return '' unless grep { /pack\(\)/ } @$packed[ 0 .. $from ];
	return 'merge' if grep { /$old|waits for m$/ } @step;
	# what waits for nobody is refused or skipped while a merge is open
	my ($open) = grep { /^  m:/ } reverse @$packed[ 0 .. $from ];

	return $open =~ /pack\(\)/ && $step[0] =~ /NOWAIT|SKIP LOCKED/ ? 'merge' : '';
}

# Run a schedule over both twins.  Returns '' (they are equal), 'merge' or 'stricter' (they
# differ as they may), or what differs.
# Where sessions race, several runs show what may come out.
sub compare_schedule
{
	my ($runs, $schedule) = @_;
	my (%heap, %packed);

	foreach my $settle (0.012, 0.03, 0.06, 0.1, 0.4, 1.5)
	{
		my ($heap, $packed) = map { $_->{settle} = $settle; [ run_schedule($_, $schedule) ] } @$runs{ 'heap', 'packed' };

		$heap{ join("\n", @$heap) } = 1;
		$packed{ join("\n", @$packed) } = 1;
		return '' if grep { $packed{$_} } keys %heap;
		my $allowed = allowed($heap, $packed);
		return $allowed if $allowed && !grep { /and without indexes/ } @$packed;
	}
	return join("\n", "heap:", sort(keys %heap), "packed:", sort(keys %packed));
}

1;
