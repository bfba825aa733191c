# joins.pl SECONDS SEED FOLDER: random joins (t/JoinRounds.pm) by an unprivileged role under
# row-level security, over heap tables and over gpucol tables.
#
# The rows that the role may not see hold other values in the gpucol tables than in their
# twins, so that every answer and every SQLSTATE that depends on one of them differs.  Some
# conditions raise an error or a notice for such rows alone, in every place where joins and
# subqueries have conditions.
use strict;
use warnings;
use utf8;
use FindBin;
use lib "$FindBin::Bin/../t", $FindBin::Bin;
use Fuzz;
use Gpucol;
use JoinRounds;
use Joins;

my $STEPS = 120;	# queries of a round
my @TABLES = qw(fact mid dim tiny uni parts other);

start_part('joins', @ARGV);
my $keep = keep('scripts');
mkdir $keep;
my $node = new_server('fuzz_joins', server_lines("datestyle = 'ISO'", 'extra_float_digits = -4', 'shared_buffers = 256MB',
	'max_wal_size = 2GB', 'autovacuum_naptime = 1s', 'jit = off'));

$node->safe_psql('postgres', <<'SQL');
CREATE ROLE reader;
-- tells if it is shown a hidden row
CREATE FUNCTION tell(secret bool) RETURNS bool LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE COST 0.0001 AS $$
BEGIN
	IF secret THEN RAISE WARNING 'secret' USING ERRCODE = 'S0001'; END IF;
	RETURN true;
END $$;
SQL

# Rows of a table that the role may not see: a divisor of ids and the rest; nothing where all
# rows are to be seen.
my %hidden;

# SQL that hides them.
sub hide
{
	my ($table) = @_;
	my ($divisor, $rest) = @{ $hidden{$table} };
	my @values = ('k4 = ' . pick('k4 / 2', 'NULL', '3', '2147483647', 'id'), 'k8 = ' . pick('1', 'id', '-9223372036854775808', 'NULL'),
		's = ' . pick("'s1'", "'secret'", 'v', 'NULL'), 'n1 = ' . pick('1', 'id', 'NULL'), 'nf = ' . pick('2', "'NaN'", '1e1000'),
		'k2 = ' . pick('0', '1', '32767'), 'm = ' . pick('0', '1e12', 'NULL'), 'b = ' . pick('true', 'false', 'NULL'), 'd = ' . pick("'2024-01-02'", "'infinity'", 'NULL'),
		'f = ' . pick('1', "'NaN'", "'1e308'"), 'a = ' . pick('0', '5', '2147483647', '-2147483648'), "u = md5('1')::uuid");

	return "UPDATE packed.$table SET " . join(', ', grep { rand() < 0.7 } @values, 'c = c') . " WHERE id % $divisor = $rest;\n"
	  . join '', map { "ALTER TABLE $_.$table ENABLE ROW LEVEL SECURITY;\nCREATE POLICY p ON $_.$table USING (id % $divisor <> $rest);\n" } qw(plain packed);
}

# SQL that hides rows of most tables and lets the role ask for the others.
sub policies
{
	my $sql = '';

	%hidden = map { my $divisor = pick(2, 3, 7, 7, 11); $_ => [ $divisor, between(0, $divisor - 1) ] } grep { rand() < 0.7 } @TABLES;
	$sql .= hide($_) for sort keys %hidden;
	for my $table (grep { rand() < 0.5 } qw(fact mid dim uni)) { $sql .= "SELECT gpucol.merge('packed.$table') IS NULL AND false;\n"; }
	for my $schema (qw(plain packed))
	{
		$sql .= "ALTER VIEW $schema.$_ SET (security_invoker = on);\n" for qw(view barrier);
		$sql .= "GRANT USAGE ON SCHEMA $schema TO reader;\nGRANT SELECT ON ALL TABLES IN SCHEMA $schema TO reader;\n";
	}
	return $sql . "ANALYZE;\n";
}

# A condition that raises an error, or tells, of rows that are hidden, and is true of others.
$Joins::attack = sub {
	my ($table, $x) = @_;
	my $of = $hidden{ { view => 'fact', barrier => 'mid' }->{$table} // $table } // return;
	my $rest = "$x.id % $of->[0]";

	return pick("$x.id % ($rest - $of->[1]) < 1000000", "public.tell($rest = $of->[1])", "CASE $rest WHEN $of->[1] THEN public.tell($x.id > 0) ELSE $x.id > 0 END",
		"ln(abs($rest - $of->[1])) < 50", "substr('some', 1, abs($rest - $of->[1]) - 1) <> 'x'", "('x' || $x.s) ~ CASE WHEN $rest = $of->[1] THEN '(' ELSE 'x' END");
};

my ($rounds, $before) = (0, "SET SESSION AUTHORIZATION reader;\nSET client_min_messages = warning;\n");

while (going(20))
{
	my $seed = round_seed();
	my $before_it = (joins_counted())[0]{asked};
	my ($settings, $asked, @problems) = join_round($node, $keep, $seed, $STEPS, behind => \&policies, before => $before);

	finding("round $seed: $_->[0]", $_->[1]) for @problems;
	if (@problems)
	{
		system "cp '$keep/$_$seed.sql' '" . keep("$seed-$_.sql") . "'" for qw(heap packed);
	}
	unlink glob "$keep/*";
	counted((joins_counted())[0]{asked} - $before_it);
	watch_log($node, '(?!)') && wait_for_server($node);
	$rounds++;
}
my %count = %{ (joins_counted())[0] };
say_now("$rounds rounds: " . join ', ', map { "$count{$_} $_" } sort keys %count);
$node->stop;
end_part();
