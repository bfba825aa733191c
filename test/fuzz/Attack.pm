# Attack.pm: random scripts of an unprivileged role over tables with row-level
# security, for statements.pl (test/t/Twins.pm runs them).
#
# The tables are those of Statements.pm.  A superuser fills them, hides rows by a
# condition on their ids and deletes others; then the role `reader` asks, changes and
# attacks.  Its expressions raise an error, a notice or a change of user for hidden and
# for deleted rows only, so that heap tells nothing of them.  Hidden and deleted rows
# get their values from @hidden@, a number that the caller puts in.
#
# Notices are of three kinds: `exact` ones must be the same in number and text, of
# `loose` ones the number is open (a function in a condition may run more or less
# often), and `secret` ones tell of a row that should not have been looked at.
package Attack;

use strict;
use warnings;
use Exporter 'import';
use Expressions;
use Gpucol qw(pick between);
use Ordered;
use Statements qw(ask change check cursor disturb emit prepared query random_alter scene_script settle sorted step transaction);
use Twins ();

our @EXPORT = qw(attackers attack_script told allowed_of_twins hidden_in_errors);

# Functions, types, operators and casts that attack.
sub attackers
{
	return <<'SQL';
CREATE ROLE definer;
CREATE ROLE other;
GRANT reader TO definer;
CREATE FUNCTION tell(secret bool, value text) RETURNS bool LANGUAGE plpgsql COST 0.0001 AS $$
BEGIN
	RAISE NOTICE '%', CASE WHEN secret THEN 'secret' ELSE concat('loose ', value) END;
	RETURN true;
END $$;
CREATE FUNCTION tell_stable(secret bool, value text) RETURNS bool LANGUAGE plpgsql STABLE PARALLEL SAFE COST 0.0001 AS 'BEGIN RETURN public.tell(secret, value); END';
CREATE FUNCTION tell_immutable(secret bool, value text) RETURNS bool LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE COST 0.0001 AS 'BEGIN RETURN public.tell(secret, value); END';
CREATE FUNCTION report(value anyelement) RETURNS anyelement LANGUAGE plpgsql AS $$
BEGIN
	RAISE NOTICE 'exact %', value;
	RETURN value;
END $$;
CREATE FUNCTION refuse(value text) RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE COST 0.0001 AS $$
BEGIN
	RAISE 'refused %', value;
END $$;
-- runs as another role and ends with an error, or tells who it is
CREATE FUNCTION defined(x int) RETURNS int LANGUAGE plpgsql SECURITY DEFINER STABLE AS $$
BEGIN
	IF x = 0 THEN RAISE 'defined by %', current_user; END IF;
	RETURN x;
END $$;
CREATE FUNCTION defined_quietly(x int) RETURNS int LANGUAGE plpgsql SECURITY DEFINER IMMUTABLE AS $$
BEGIN
	PERFORM 1 / x;
	RETURN x;
END $$;
ALTER FUNCTION defined(int) OWNER TO definer;
ALTER FUNCTION defined_quietly(int) OWNER TO definer;
CREATE VIEW defining AS SELECT public.defined(0) AS x;
GRANT SELECT ON defining TO public;
CREATE DOMAIN defined_domain AS text CHECK (public.defined(length(VALUE) - 2) IS NOT NULL);
CREATE DOMAIN telling AS int CHECK (public.tell(VALUE = 7, VALUE::text));
CREATE TYPE told_pair AS (x public.telling, y public.defined_domain);
CREATE FUNCTION planted(text, text) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN public.tell($1 LIKE '%secret%', $1) AND $1 < $2; END $$;
CREATE OPERATOR ~<~~ (LEFTARG = text, RIGHTARG = text, FUNCTION = planted, RESTRICT = scalarltsel);
-- an aggregate of a user, whose final function runs as another role
CREATE FUNCTION note_one(told int, value bool) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN told + CASE WHEN value THEN 1 ELSE 100 END; END';
CREATE FUNCTION note_all(told int) RETURNS text LANGUAGE plpgsql SECURITY DEFINER STABLE AS 'BEGIN IF told % 7 = 6 THEN RAISE ''defined by %'', current_user; END IF; RETURN told || current_user; END';
ALTER FUNCTION note_all(int) OWNER TO definer;
CREATE AGGREGATE noted_by(bool) (SFUNC = note_one, STYPE = int, INITCOND = '0', FINALFUNC = note_all);
-- tells of, or refuses, values that only hidden rows have (hide())
CREATE FUNCTION judged(x int) RETURNS bool LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE COST 0.0001 AS 'BEGIN IF x / 7770000 = 1 THEN PERFORM public.tell(true, x::text); END IF; RETURN x % 3 = 0; END';
CREATE FUNCTION judged(x text) RETURNS bool LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS 'BEGIN IF x LIKE ''%secret%'' THEN PERFORM public.tell(true, x); END IF; RETURN length(x) % 2 = 0; END';
CREATE FUNCTION judged_hard(x text) RETURNS bool LANGUAGE plpgsql STABLE PARALLEL SAFE AS 'BEGIN IF x LIKE ''%secret%'' THEN PERFORM public.refuse(x); END IF; RETURN length(x) % 2 = 0; END';
CREATE FUNCTION as_pair(text) RETURNS public.pair LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN PERFORM public.tell($1 LIKE '%secret%', $1); RETURN ROW(length($1), $1)::public.pair; END $$;
CREATE CAST (text AS public.pair) WITH FUNCTION as_pair(text);
SQL
}

# ---- what a statement told ----

# A statement's output (Twins::plain) with its notices sorted behind it: exact ones all,
# of secret ones that there are any.
sub told
{
	my ($text) = @_;
	my @notices;

	$text =~ s/^ERROR:  XX000: invalid XPath expression.*/ERROR:  22000/ms;	# an error of the data as others
	$text =~ s/^((?:NOTICE|WARNING|INFO):.*)\n/push @notices, $1; ''/gme;
	my $secret = grep { /00000: secret/ } @notices;
	@notices = () if $text =~ /^ERROR/m || grep { /00000: disturbed/ } @notices;	# how far a statement got is open
	return join "\n", $text, ($secret ? 'a hidden row was looked at' : ()), sort grep { !/00000: (?:loose|secret)/ } @notices;
}

# Lines of errors in all that a script printed, by step, that hold a value of a hidden row.
sub hidden_in_errors
{
	my ($output) = @_;
	my @found;

	while ($output =~ /^<<< (\d+)\n(.*?)^>>>$/msg)
	{
		my ($step, $text) = ($1, $2);

		$found[$step] = join '', $text =~ /^((?:psql:\S+ )?(?:ERROR|DETAIL|HINT):.*(?:secret|\b777\d{4}\b).*\n)/mg;
	}
	return @found;
}

# Twins::allowed, and what a limit of time of the machine may do; functions of gpucol
# refuse tables of another role, and all of heap.  An index scan of heap evaluates a constant
# that it looks for before it sees that no row gets there, and what a domain's CHECK tells of it;
# gpucol, which may leave another of several conditions to be the first, need not.  Which of several rows is the first that a
# function refuses is open: SQL promises no order of rows.  That none of them is a hidden one
# is asked by itself (hidden_in_errors()).  So is whether a change looks at the rows of one table
# where it finds none to join in the other.
sub allowed_of_twins
{
	my ($statement, $heap, $packed) = @_;

	return 1 if "$heap\n$packed" =~ /^ERROR:  57014/m;
	return 1 if $heap =~ /^ERROR:  P0001: (?:defined by|refused const)/ && $packed !~ /^ERROR/ && $statement =~ / AND /;
	return 1 if $statement =~ /^INSERT INTO .* SELECT / && $heap =~ /^ERROR:  (?:22|23|42501)/ && $packed =~ /^ERROR:  (?:22|23|42501)/;
	return 1 if $heap =~ /^(ERROR:  P0001: (?:refused|defined by) )/ && $packed =~ /^\Q$1\E/;
	return 1 if $statement =~ /::public\.(?:telling|told_pair)\b/ && $heap =~ s/\n?^a hidden row was looked at$//mr eq $packed;
	return 'end' if $heap =~ /^ERROR:  P0001: refused / && $packed !~ /^ERROR/ && $statement =~ /^(?:UPDATE .* FROM|DELETE .* USING|MERGE .* USING) /;
	return $packed =~ /^ERROR/ || $statement =~ /'t3'/ if $statement =~ /gpucol\.(?:merge|segments|columns|verify)\(/;
	return Twins::allowed($statement, $heap, $packed);
}

# ---- expressions ----

my %hidden;			# table => [conditions on id for rows that the role cannot see]
my $DELETED = '(id % 11 = 5 AND id < 300)';

# A condition of a row that is not to be seen, with the columns of an alias.
sub unseen
{
	my ($table, $alias) = @_;

	return pick(@{ $hidden{$table} }, @{ $hidden{$table} }, $DELETED) =~ s/\bid\b/$alias.id/gr;
}

# An expression that raises an error, whatever the row holds.
my %raising = (
	bool => [ "'' ~ repeat('(', 1 + abs(A.i2::int) % 2)", "1 / (A.i4 - A.i4) = 1", "A.s LIKE A.s || '\\'", "A.s ~ (A.s || '[')", "(A.s || 'q')::bool", "public.refuse(A.s) = ''", "A.s ~ ('*' || A.s)", "A.s SIMILAR TO A.s || '\\'", "A.s ~* ('(' || A.s)",
		"(A.s || '[')::int4range \@> A.i4", "('{' || A.s)::int[] IS NULL", "(A.s || '{')::jsonb \@> '1'", "xpath_exists('/' || A.s || '[', '<a/>')", "to_tsquery('simple', A.s || ' & ') \@\@ ''", "(A.s || '/')::inet << '10.0.0.0/8'", "A.s ~<~~ public.refuse(A.s)" ],
	int => [ "1 / (A.i4 - A.i4)", "(A.i2 / (A.i4 - A.i4))", "(A.s || 'q')::int", "(A.i2::int + 2147483647 + 32769 + 40000)", "length(repeat(A.s || 'x', 1073741824))", "width_bucket(A.i2::int, 1, 1, 5)", "length(substr(A.s, 1, -1 - abs(sign(A.i2::int))::int))", "length(public.refuse(A.s))",
		"ascii(chr(A.i4 - A.i4))", "A.i4 % (A.i4 - A.i4)", "abs(-2147483648 + 0 * A.i2::int)", "(2147483648 + 0 * A.i2)::int", "length(replace(replace(replace('xxxxxxxxxx', 'x', repeat('y', 10000 + length(A.s))), 'y', repeat('z', 10000)), 'z', repeat('w', 10000)))", "array_length(('{' || A.s)::text[], 1)",
		"(A.s || 'q')::public.small::int", "public.defined(A.i4 - A.i4)", "public.defined_quietly(A.i4 - A.i4)", "position('' IN decode(A.s || 'zz', 'hex'))", "make_date(2020, 13 + abs(A.i2::int), 1) - date '2020-01-01'", "extract(year FROM (A.s || 'q')::date)::int", "(ARRAY[A.i4 / (A.i4 - A.i4)])[1]" ],
	num => [ "1 / (A.i4 - A.i4)::numeric", "sqrt(-1 - abs(A.i2::numeric))", "ln(0 * A.i2::numeric)", "(A.s || 'q')::numeric", "(1000 + abs(A.i2::numeric))::numeric(3,2)", "power(0::numeric, -1 - abs(A.i2::numeric))", "factorial(-1 - abs(A.i2::int))", "1e131000 ^ (2 + abs(A.i2::int))", "('1e' || 200000 + A.i4 % 3)::numeric" ],
	float => [ "1 / (A.i4 - A.i4)::float8", "sqrt(-1 - abs(A.i2::float8))", "ln(0 * A.i2::float8)", "exp(1000 + abs(A.i2::float8))", "1e300 * (1e300 + abs(A.i2::float8))", "acos(2 + abs(A.i2::float8))", "power(0::float8, -1 - abs(A.i2::float8))", "(A.s || 'q')::float8" ],
	text => [ "public.refuse(A.s)", "substr(A.s, 1, -1 - abs(sign(A.i2::int))::int)", "chr(A.i4 - A.i4)", "repeat(A.s || 'x', 1073741824)", "split_part(A.s, 'a', A.i4 - A.i4)", "regexp_replace(A.s, '(' || A.s, '')", "convert_from('\\xff'::bytea || A.s::bytea, 'UTF8')", "encode(decode(A.s || 'zz', 'base64'), 'hex')", "left((A.s || 'q')::public.mood::text, 3)",
		"to_char(to_timestamp(A.s || 'q', 'YYYY-MM'), 'MM')", "lpad(A.s, 1073741824)", "A.s::char(9)::public.defined_domain", "format('%s %s', A.s)", "(A.s || 'x')::xml::text || (A.s || '<')::xml::text", "overlay(A.s PLACING 'x' FROM -1 - abs(sign(A.i2::int))::int)", "((A.s)::public.pair).b || public.refuse(A.s)" ],
	date => [ "date '2020-01-01' + (make_date(2020, 13 + abs(A.i2::int), 1) - date '2020-01-01')", "date '5874897-12-31' + 1 + abs(A.i2::int)", "(A.s || 'q')::date", "make_date(2020, 2, 30 + abs(A.i2::int))" ],
);
if (my $without = $ENV{GPUCOL_WITHOUT}) { $_ = [ grep { !/$without/ } @$_ ] for values %raising; }
my %safe = (bool => sub { predicate(0, @_) }, map { my $class = $_; $class => sub { expr($class, 0, @_) } } qw(int num float text date));

# An expression of a class that raises an error or tells something of unseen rows, and
# is harmless for the others.
sub leaky
{
	my ($class, $table, $alias) = @_;
	my $unseen = unseen($table, $alias);
	my $raising = pick(@{ $raising{$class} }) =~ s/\bA\./$alias./gr;
	my $safe = $safe{$class}->($table, $alias);

	return pick("public.tell($unseen, $alias.s)", "public.tell_stable($unseen, $alias.s)", "public.tell_immutable($unseen, $alias.s)") if $class eq 'bool' && chance(0.25);
	return "CASE WHEN $unseen THEN $raising ELSE $safe END" if chance(0.6);
	return "CASE WHEN ($unseen) IS NOT TRUE THEN $safe ELSE $raising END";
}

sub any_class { return pick(qw(int int num float text text date)); }

# An expression over a group or a row that is to be compared: of numbers what is equal
# in all ways of writing them.
sub shown
{
	my ($class, $e) = @_;

	return "trim_scale($e)" if $class eq 'num';
	return "($e) + 0.0::float8" if $class eq 'float';
	return $e;
}

# A condition that says nothing of rows: it raises an error for the values alone that hide() gives to
# hidden and deleted ones, or tells of them.  Of one column, so that it may be tested once per value.
sub natural
{
	my ($alias) = @_;

	return pick("1 / (A.i4 / 7770000 - 1) > -5", "sqrt(abs(A.i4 / 7770000 - 1) - 0.5) < 100", "ln(abs(A.i4 / 7770000 - 1)::numeric) < 3", "mod(100, abs(A.i4 / 7770000 - 1)) < 50", "chr(abs(A.i4 / 7770000 - 1)) <> 'a'", "public.judged(A.i4)", "A.i4::text !~ CASE A.i4 / 7770000 WHEN 1 THEN '(' ELSE '7' END",
		"to_char(make_date(2020, 13 - 12 * least(1, abs(A.i4 / 7770000 - 1)), 1), 'YYYY') = '2020'", "(A.i4 - 7770000 + 2147000000 * (1 - least(1, abs(A.i4 / 7770000 - 1))))::int2 IS NULL OR true", "(7770000 / (A.i4 / 7770000 - 1)) IN (7770000, -7770000)",
		"A.s LIKE '%secret\\'", "A.s NOT LIKE '%secret%\\'", "A.s ILIKE '%SECRET\\'", "A.s NOT ILIKE '%sEcret%\\'", "A.s LIKE ANY (ARRAY['w%', '%secret\\'])", "A.s NOT LIKE ALL (ARRAY['%3', '%secret%\\', 'A%'])", "A.s ILIKE ANY (ARRAY['%SECRET\\', 'W%'])", "A.s NOT ILIKE ANY (ARRAY['%a%', '%SECRET%\\'])",
		"split_part(A.s, 'd', 1 - sign(strpos(A.s, 'secret'))::int) <> 'wor'", "split_part(A.s, ' ', 2) = CASE WHEN A.s ~ 'secret' THEN chr(length(A.s) - length(A.s)) ELSE '3' END", "strpos(A.s, 'd') > 10 / (1 - least(1, coalesce(strpos(A.s, 'secret'), 0)))", "left(A.s, 3) = substr(A.s, 1, 3 - 9 * least(1, coalesce(strpos(A.s, 'secret'), 0)))",
		"A.s ~ CASE WHEN A.s LIKE '%secret%' THEN '[' ELSE 'o' END", "upper(A.s) LIKE '%SECRET\\'", "replace(A.s, 'e', 'E') LIKE 'sEcrEt%\\' OR A.s < 'v'", "(A.s || ' x') LIKE '%secret\\'", "public.judged(A.s)", "public.judged_hard(A.s)", "regexp_replace(A.s, '[0-9]', CASE WHEN A.s ~ 'secret' THEN public.refuse(A.s) ELSE 'x' END) > 'm'", "similar_to_escape(A.s, 'xy') IS NULL OR A.s SIMILAR TO 'w%'") =~ s/\bA\./$alias./gr;
}

# Conditions over one column that raise nothing, of which engines compute few.
sub odd_test
{
	my ($t, $alias) = @_;
	my %of = (ts => [ "to_char(A, 'YYYY') = '2020'", "to_char(A, 'Dy') ~ 'S'" ], d => [ "to_char(A, 'YYYY-MM') < '2020-06'" ], n2 => [ "sqrt(abs(A)) > 2", "scale(A) = 2" ], f8 => [ "sqrt(abs(A)) > 2", "cbrt(A) < 1" ], u => [ "A::text LIKE '%a'" ], iv => [ "justify_hours(A) > interval '2 days'" ], e => [ "A::text = 'ok'" ], sc => [ "A ILIKE '%a'", "md5(A) < '8'" ], v => [ "split_part(A, '1', 1) = 'v'", "A LIKE ANY (ARRAY['v%', '%x'])" ],
		s => [ "A ILIKE 'W%'", "split_part(A, ' ', 2) = '3'", "strpos(A, 'd') > 3", "A LIKE ANY (ARRAY['w%', '%A'])", "A NOT ILIKE ALL (ARRAY['W%1', '%e%'])", "md5(A) > '7'", "A ~* '^w.*[3-5]\$'" ], i4 => [ "sqrt(abs(A::float8)) > 20", "to_char(A, '999') ~ '4'", "factorial(abs(A % 5)) > 3" ]);
	my $column = pick(grep { $has{$t}{$_} } sort keys %of);

	return pick(@{ $of{$column} }) =~ s/\bA\b(?!')/$alias.$column/gr;
}

# Conditions that a host tests per value, in every place of a query.
sub natural_query
{
	my ($t, $u, $where) = @_;
	my ($n, $m, $odd) = (natural('x'), natural('x'), odd_test($t, 'x'));
	my $both = pick($n, "$n AND $odd", "$odd AND $n", "($odd OR $n)", "NOT ($n)", "($n) IS NOT TRUE", "CASE WHEN $odd THEN $n ELSE $m END");
	my $k = pick(qw(s i4 i2 id));
	my ($of_key) = grep { my $n = $_; my @used = $n =~ /\bx\.(\w+)/g; !grep { $_ ne $k } @used } map { natural('x') } 1 .. 30;

	$of_key //= 'count(*) > 1';
	return pick("SELECT x.id FROM $t x WHERE $both", "SELECT count(*), sum(x.id::int8), max(x.id) FROM $t x WHERE $both", "SELECT count(*), sum(x.id::int8) FROM $t x WHERE $both", "SELECT x.$k AS k, count(*), min(x.id) FROM $t x WHERE $both GROUP BY 1", "SELECT x.$k AS k, count(*) FROM $t x WHERE $n GROUP BY 1",
		"SELECT ($both) AS k, count(*), max(x.id) FROM $t x $where GROUP BY 1", "SELECT x.i2 AS k, count(*) FILTER (WHERE $n), sum(CASE WHEN $both THEN x.id END) FROM $t x $where GROUP BY 1", "SELECT count(*) FILTER (WHERE $both), count(DISTINCT CASE WHEN $n THEN x.s END) FROM $t x $where", "SELECT x.$k AS k, count(*), sum(x.id::int8) FROM $t x $where GROUP BY 1 HAVING $of_key",
		"SELECT x.id FROM $t x JOIN $u y ON x.id = y.id AND " . natural('y') . " WHERE $both", "SELECT x.id, y.id AS j FROM $t x LEFT JOIN $u y ON x.id = y.id AND $n AND " . odd_test($u, 'y'), "SELECT x.i2, count(*) FROM $t x JOIN $u y ON x.id = y.id WHERE $both AND " . natural('y') . " GROUP BY 1", "SELECT DISTINCT x.$k FROM $t x WHERE $both",
		"SELECT x.id, ($both) AS e FROM $t x $where", "SELECT id FROM (SELECT x.id FROM $t x WHERE $both ORDER BY " . pick('x.i4', 'x.s COLLATE "C"', "($n)") . ", x.id, x::text COLLATE \"C\" LIMIT " . between(1, 30) . ') q', "SELECT x.id, rank() OVER (PARTITION BY ($n) ORDER BY x.id) AS r FROM $t x WHERE $odd", "SELECT x.id FROM $t x WHERE " . pick('', 'NOT ') . "EXISTS (SELECT FROM $u y WHERE y.id = x.id AND " . natural('y') . ") AND $both");
}

# Comparisons of a row with those of a subquery: by order, with ALL and ANY, and of several columns.
sub compared
{
	my ($u) = @_;
	my $order = pick('<', '<=', '>', '>=', '<>');
	my $c = pick(qw(i4 i2 s id));
	my $key = pick('y.id = x.id', 'y.i2 = x.i2', 'y.s = x.s', 'y.id % 20 = ' . between(0, 9), 'y.id % 30 = 4 AND y.i2 = x.i2');
	my $rest = pick('', ' AND ' . leaky('bool', $u, 'y'), ' AND ' . natural('y'), ' AND ' . predicate(1, $u, 'y'), " AND y.$c IS NOT NULL", ' AND ' . odd_test($u, 'y'));
	my $value = chance(0.15) && $c ne 's' ? leaky('int', $u, 'y') : "y.$c";

	return pick("EXISTS (SELECT FROM $u y WHERE $key AND y.$c $order x.$c$rest)", "NOT EXISTS (SELECT FROM $u y WHERE $key AND x.$c $order y.$c$rest)", "x.$c $order ALL (SELECT $value FROM $u y WHERE $key$rest)", "x.$c $order ANY (SELECT $value FROM $u y WHERE $key$rest)", "(x.$c $order ALL (SELECT y.$c FROM $u y WHERE $key$rest)) IS NULL",
		"(x.id, x.i2) NOT IN (SELECT y.id, y.i2 FROM $u y WHERE " . pick('true', 'y.i2 IS NOT NULL', $key) . "$rest)", "(x.i2, x.$c) NOT IN (SELECT y.i2, $value FROM $u y WHERE y.id % 9 = 2$rest)", "(x.i4, x.s) IN (SELECT y.i4, y.s FROM $u y WHERE " . pick('true', $key) . "$rest)", "(x.id, x.$c) <> ALL (SELECT y.id, y.$c FROM $u y WHERE true$rest)");
}

# Subqueries that are executed for groups: in HAVING and beside GROUP BY.
sub group_tested_query
{
	my ($t, $u, $given) = @_;
	my $where = few($given);
	my $k = pick(qw(i2 s i4));
	my $order = pick('<', '<=', '>', '>=', '<>', '=');
	my $rest = sub { return pick('', ' AND ' . leaky('bool', $u, 'y'), ' AND ' . natural('y'), ' AND ' . odd_test($u, 'y')); };
	my $value = pick("(SELECT max(y.id) FROM $u y WHERE y.$k = x.$k" . $rest->() . ')', "(SELECT count(*) FROM $u y WHERE y.$k = x.$k AND y.id > min(x.id)" . $rest->() . ')', "(SELECT " . leaky('int', $u, 'y') . " FROM $u y WHERE y.id = max(x.id)" . $rest->() . " ORDER BY y.id, y::text COLLATE \"C\" LIMIT 1)", "(SELECT sum(y.id::int8) FROM $u y WHERE y.$k = x.$k" . $rest->() . ") + count(*)",
		"EXISTS (SELECT FROM $u y WHERE y.$k = x.$k" . $rest->() . ')', "x.$k IN (SELECT y.$k FROM $u y WHERE true" . $rest->() . ')', "max(x.id) $order ALL (SELECT y.id FROM $u y WHERE y.$k = x.$k" . $rest->() . ')');
	my $having = pick('', "EXISTS (SELECT FROM $u y WHERE y.$k = x.$k AND y.id $order max(x.id)" . $rest->() . ')', "count(*) $order (SELECT count(*) FROM $u y WHERE y.$k = x.$k" . $rest->() . ')', "x.$k NOT IN (SELECT y.$k FROM $u y WHERE y.$k IS NOT NULL" . $rest->() . ')', "(x.$k, count(*)) IN (SELECT y.$k, count(*) FROM $u y WHERE true" . $rest->() . ' GROUP BY 1)',
		"min(x.id) $order ALL (SELECT y.id FROM $u y WHERE y.$k = x.$k" . $rest->() . ')', "max(x.id) $order ANY (SELECT y.id FROM $u y WHERE y.$k = x.$k" . $rest->() . ')', "count(*) > 3 OR NOT EXISTS (SELECT FROM $u y WHERE y.$k = x.$k" . $rest->() . ')', "sum(x.id::int8) > 50 AND EXISTS (SELECT FROM $u y WHERE y.id = max(x.id)" . $rest->() . ')', "(min(x.id), max(x.id)) NOT IN (SELECT y.id, y.id FROM $u y WHERE true" . $rest->() . ')');

	return "SELECT x.$k AS k, count(*), $value AS v FROM $t x " . pick($where, $where, few('WHERE ' . natural('x'))) . " GROUP BY x.$k" . ($having ? " HAVING $having" : '');
}

# A test with a correlated subquery, or one value by such a subquery; what is attacked may
# be computed for other rows than those for which PostgreSQL executes the subquery.
sub correlated
{
	my ($u) = @_;
	my $key = pick('y.id = x.id', 'y.id = x.id', 'y.i2 = x.i2', 'y.s = x.s', 'y.id = x.id AND y.i2 = x.i2');
	my $rest = pick('', ' AND ' . leaky('bool', $u, 'y'), ' AND ' . predicate(1, $u, 'y'));
	my $y = leaky(pick(qw(int text)), $u, 'y');

	return {
		test => pick(compared($u), compared($u), "EXISTS (SELECT FROM $u y WHERE $key$rest)", "x.id IN (SELECT y.id FROM $u y WHERE " . pick('true', $key) . $rest . ')', "x.i2 NOT IN (SELECT y.i2 FROM $u y WHERE " . pick('y.i2 IS NOT NULL', $key) . "$rest)",
			"x.id <> ALL (SELECT y.id FROM $u y WHERE $key$rest)", "x.id = ANY (SELECT y.i2 FROM $u y WHERE true$rest)"),
		value => pick("(SELECT $y FROM $u y WHERE $key$rest ORDER BY y.id, y::text COLLATE \"C\" LIMIT 1)", "(SELECT y.id FROM $u y WHERE $key$rest ORDER BY " . leaky('int', $u, 'y') . ", y.id LIMIT 1)",
			"(SELECT count(*) FROM $u y WHERE $key$rest)", "(SELECT max($y) FROM $u y WHERE $key$rest)") };
}

# Most queries with subqueries that PostgreSQL executes for each row ask for few rows: that takes time.
sub few
{
	my ($where) = @_;

	return $where if chance(0.2);
	return ($where ? $where =~ s/^WHERE (.*)/WHERE ($1) AND/sr : 'WHERE') . ' x.id % ' . pick(7, 20) . ' = ' . between(0, 6);
}

# Those below OR, NOT and CASE, in the select list, in aggregates, and behind LATERAL.
sub tested_query
{
	my ($t, $u, $e, $bool, $given) = @_;
	my ($one, $two) = (correlated($u), correlated($u));
	my $where = few($given);
	my $and = few('') =~ s/^WHERE (.+)/ AND $1/r;
	my $plain = pick('x.i4 > 100', 'x.id % 3 = 1', 'x.s IS NULL', $bool);
	my $test = pick("$one->{test} OR $plain", "NOT ($one->{test} AND $plain)", "CASE WHEN $plain THEN $one->{test} ELSE $two->{test} END", "($one->{test}) IS NOT TRUE", "$one->{test} OR $two->{test}",
		"CASE WHEN $one->{test} THEN $bool ELSE $plain END", "coalesce($one->{test}, $plain)");

	return pick("SELECT x.id FROM $t x WHERE ($test)$and", "SELECT x.id FROM $t x WHERE ($test)$and", "SELECT x.id, $test AS e FROM $t x $where", "SELECT x.id % 3 AS k, count(*) FILTER (WHERE $test), min(CASE WHEN $test THEN x.id END) FROM $t x $where GROUP BY 1",
		"SELECT x.id, $one->{value} AS e FROM $t x $where", "SELECT x.id FROM $t x WHERE $one->{value} IS NOT NULL AND $bool$and", "SELECT CASE WHEN $plain THEN ($one->{value})::text END AS k, count(*) FROM $t x $where GROUP BY 1",
		"SELECT x.id, z.* FROM $t x LEFT JOIN LATERAL (SELECT y.id AS j, y.s FROM $u y WHERE y.id = x.id AND " . leaky('bool', $u, 'y') . " ORDER BY y.id, y::text COLLATE \"C\" LIMIT 1) z ON $plain $where",
		"SELECT x.id, $e AS e FROM $t x WHERE NOT ($test) AND $bool$and",
		"SELECT x.i2 AS k, count(*), (SELECT max(y.id) FROM $u y WHERE y.i2 = x.i2 AND " . leaky('bool', $u, 'y') . ") AS m FROM $t x $where GROUP BY x.i2 HAVING count(*) > 2 OR EXISTS (SELECT FROM $u y WHERE y.i2 = x.i2 AND " . leaky('bool', $u, 'y') . ')');
}

# WITH queries that are read several times, first rows by an order that compares with the row around, groups that
# HAVING and LIMIT leave out, texts in groups.
sub latest_query
{
	my ($t, $u, $where) = @_;
	my $k = pick(qw(s i4 i2 id));
	my $test = pick(leaky('bool', $t, 'x'), natural('x'), odd_test($t, 'x'), predicate(1, $t, 'x'));
	my $rest = pick('', ' AND ' . leaky('bool', $u, 'y'), ' AND ' . natural('y'), ' AND ' . odd_test($u, 'y'));
	my $with = 'WITH w AS ' . pick('', '', 'MATERIALIZED ');
	my $having = pick('sum(x.i2::int8) > 10', 'max(x.id) % 3 = 1', 'count(*) > 1 OR min(x.i2) < 0', 'count(*) = 1 AND max(x.i4) > 20');

	return pick("$with(SELECT x.i2, x.s, x.id, " . leaky('int', $t, 'x') . " AS e FROM $t x WHERE $test) SELECT y.id FROM $u y WHERE y.i2 IN (SELECT i2 FROM w) AND EXISTS (SELECT FROM w WHERE w.s = y.s)$rest",
		"$with(SELECT x.$k AS k, y.id AS j FROM $t x JOIN $u y ON x.i2 = y.i2 AND x.id <> y.id AND x.id % 9 = 1$rest WHERE $test) SELECT DISTINCT z.id FROM $t z WHERE z.$k IN (SELECT k FROM w) AND z.id IN (SELECT j FROM w)",
		"$with(SELECT x.i2 AS k, x.id % 5 AS r, count(*) AS c, max(x.id) AS m FROM $t x WHERE $test GROUP BY 1, 2) SELECT a.k, a.c, b.m FROM w a JOIN w b ON a.k = b.k WHERE a.r = 1 AND b.r = 2",
		"SELECT x.id, z.id AS j FROM $t x, LATERAL (SELECT y.id FROM $u y WHERE y.id <> x.id$rest ORDER BY abs(y.id - x.id), y.id LIMIT " . pick(1, 1, 3) . ') z ' . few("WHERE $test"),
		"SELECT x.id, (SELECT y.id FROM $u y WHERE y.i2 > x.i2$rest ORDER BY abs(y.id - x.id), y.id LIMIT 1) AS j FROM $t x " . few($where),
		"SELECT x.id, count(*), sum(x.i2::int8) FROM $t x WHERE $test GROUP BY 1 HAVING $having", "SELECT k, c FROM (SELECT x.$k AS k, count(*) AS c, min(x.id) AS m FROM $t x WHERE $test GROUP BY 1 HAVING $having ORDER BY " . pick('c DESC, k', 'm, k', 'k DESC NULLS LAST') . ' LIMIT ' . between(1, 9) . ') q',
		"SELECT x.s AS k, count(DISTINCT x.s), count(DISTINCT x.i4) FILTER (WHERE $test), max(x.s) FROM $t x $where GROUP BY 1");
}

# One query that attacks the rows that are not to be seen.
sub leaky_query
{
	my ($t, $u) = @_;
	my $class = any_class();
	my $e = shown($class, leaky($class, $t, 'x'));
	my $bool = leaky('bool', $t, 'x');
	my $where = chance(0.5) ? 'WHERE ' . predicate(1, $t, 'x') : '';
	my $and = $where ? "$where AND" : 'WHERE';
	my $number = leaky(pick(qw(int num)), $t, 'x');
	my $kind = int rand 54;
	my $order = "ORDER BY x.id, x::text COLLATE \"C\"";

	return "SELECT x.id FROM $t x $and $bool" if $kind < 4;
	return "SELECT x.id, $e AS e FROM $t x $where" if $kind == 4;
	return "SELECT count(*), count($e), trim_scale(sum($number)::numeric), count(*) FILTER (WHERE $bool) FROM $t x $where" if $kind < 7;
	return "SELECT $e AS k, count(*), min(x.id) FROM $t x $where GROUP BY 1" if $kind < 9;
	return "SELECT " . key($t, 'x') . " AS k, count(*), trim_scale(sum($number)::numeric) FROM $t x $and $bool GROUP BY 1" if $kind == 9;
	return "SELECT id FROM (SELECT x.id, $e AS e FROM $t x $where ORDER BY e, x.id, x::text COLLATE \"C\" LIMIT " . between(1, 20) . ') q' if $kind == 10;
	return "SELECT x.id, y.id AS j FROM $t x " . pick('JOIN', 'LEFT JOIN') . " $u y ON x.id = y.id AND $bool AND " . leaky('bool', $u, 'y') if $kind == 11;
	return "SELECT x.id FROM $t x JOIN $u y ON " . leaky('int', $t, 'x') . ' = ' . leaky('int', $u, 'y') . ' AND x.id % 30 = 4 AND y.id % 40 = 1' if $kind == 12;
	return "SELECT x.id FROM $t x WHERE " . pick('', 'NOT ') . "EXISTS (SELECT FROM $u y WHERE x.id = y.id AND " . leaky('bool', $u, 'y') . ") AND $bool" if $kind == 13;
	return "SELECT x.id, (SELECT count(*) FROM $u y WHERE y.id < x.id AND y.id % 20 = 1 AND " . leaky('bool', $u, 'y') . ") FROM $t x WHERE x.id % 40 = 2" if $kind == 14;
	return "SELECT x.id, count(*) OVER (PARTITION BY $e), rank() OVER (ORDER BY x.id, $e) AS r FROM $t x $where" if $kind == 15;
	return "SELECT DISTINCT $e AS e FROM $t x $and $bool" if $kind == 16;
	return "WITH q AS " . pick('', 'MATERIALIZED ', 'NOT MATERIALIZED ') . "(SELECT x.id, $e AS e, x.s FROM $t x) SELECT count(e), count(*) FROM q WHERE id % 3 = 1" if $kind == 17;
	return "SELECT x.id FROM $t x WHERE x.id IN (SELECT y.id FROM $u y WHERE " . leaky('bool', $u, 'y') . ") OR $bool" if $kind == 18;
	return "SELECT x.id % 3 AS k, count(*) FROM $t x GROUP BY 1 HAVING count(*) FILTER (WHERE $bool) > 2 OR bool_or($bool)" if $kind == 19;
	return "SELECT min(z.e::text) FROM generate_series(1, 3) n, LATERAL (SELECT $e AS e FROM $t x WHERE x.id % 3 = n) z" if $kind == 20;
	return "SELECT x.id FROM $t x WHERE x.s ~<~~ " . pick("'m'", 'x.s') . " AND NOT (x.s IS NULL)" if $kind == 21;
	return "SELECT x.id, public.report(x.id) FROM $t x $where" if $kind == 22;
	return "SELECT x.id FROM $t x WHERE CASE WHEN $bool THEN $bool ELSE NOT $bool END" if $kind == 23;
	return "WITH RECURSIVE r(a, n) AS (SELECT x.id, 0 FROM $t x WHERE x.id % 30 = 4 AND $bool UNION SELECT " . pick('y.id, n + 1', 'y.id, 1', leaky('int', $u, 'y') . ', n + 1') . " FROM r JOIN $u y ON y.id = r.a + " . between(1, 3) . ' AND ' . leaky('bool', $u, 'y') . " WHERE n < 6) SELECT " . pick('a, n FROM r', 'count(*), sum(a::numeric) FROM r', "r.a FROM r WHERE EXISTS (SELECT FROM $t x WHERE x.id = r.a AND $bool)") if $kind == 24 || $kind == 25;
	return "SELECT " . pick("gpucol.u_topk(x.id, x.id::float8, 0.5, 3)", "gpucol.pt_k(x.id, " . pick('x.id::float8', 'x.id + 0 * (' . leaky('float', $t, 'x') . ')') . ", 0.4, 4, 0.2)", "gpucol.expected_rank_topk(x.id, x.id::float8, CASE WHEN $bool THEN 0.5 ELSE 0.25 END, 5)", "gpucol.global_topk(x.id, x.id::float8, 0.9, 3)") . " AS top FROM $t x $and $bool" if $kind == 26;
	return "SELECT " . key($t, 'x') . " AS k, public.noted_by($bool), string_agg(($e)::text, ',' $order) FILTER (WHERE $bool) FROM $t x $where GROUP BY 1" if $kind == 28;
	return "SELECT array_agg(($e)::text $order), percentile_" . pick('cont', 'disc') . "(0.5) WITHIN GROUP (ORDER BY ($number)::float8), stddev_samp(($number)::numeric), " . pick('public.noted_by', 'every', 'bool_or') . "($bool), count(DISTINCT $number) FROM $t x $where" if $kind == 29;
	# one window of rows in a query: two of them need not put rows that are equal in all columns in one order
	return "SELECT x.id, " . pick(pick('sum', 'min', 'max', 'count', 'avg') . "(($number)::numeric) OVER (PARTITION BY " . key($t, 'x') . " $order" . pick('', ' ROWS BETWEEN 2 PRECEDING AND CURRENT ROW', ' ROWS UNBOUNDED PRECEDING') . ')::numeric(40,6)', pick('lag', 'lead') . "(($e)::text) OVER ($order)") . " AS w FROM $t x $where" if $kind == 30;
	return latest_query($t, $u, $where) if $kind > 47;
	return natural_query($t, $u, $where) if $kind > 42;
	return group_tested_query($t, $u, $where) if $kind > 38;
	return "SELECT x.id FROM $t x " . few('WHERE ' . compared($u) . ' AND ' . pick($bool, natural('x'), compared($u))) if $kind > 36;
	return tested_query($t, $u, $e, $bool, $where) if $kind > 31;
	return "(SELECT x.id FROM $t x $and $bool) " . pick('UNION', 'EXCEPT', 'INTERSECT ALL') . " SELECT y.id FROM $u y WHERE " . leaky('bool', $u, 'y');
}

# Constants that PostgreSQL does not evaluate while it plans, or that run a user's code.
sub constant
{
	return pick("length(table_to_xml('public.defining', false, false, '')::text)", "length(query_to_xml('SELECT public.defined(0)', false, false, '')::text)", "length(('zz'::public.defined_domain)::text)", "('7'::public.telling)::int",
		"public.defined(0)", "public.defined_quietly(0)", "(jsonb_populate_record(NULL::public.told_pair, '{\"x\": 7, \"y\": \"zz\"}')).x::int", "('(7,zz)'::public.told_pair).x::int", "array_length('{7,8}'::public.telling[], 1)",
		"1 / 0", "length(public.refuse('const'))", "'x'::int", "length('ab'::text::public.defined_domain)", "(SELECT x FROM public.defining)", "length(cursor_to_xml('none', 1, false, false, '')::text)", "length(database_to_xml(false, false, '')::text) % 2", "(SELECT count(*) FROM ts_stat('SELECT to_tsvector(public.refuse(''x''))'))::int",
		"length(to_json(ROW(public.defined(0)))::text)", "length(current_setting('no.such'))", "length(pg_get_viewdef('no_such'))", "(xpath('/a[', '<a/>'))[1]::text::int", "nextval('no_sequence')::int", "length(regexp_replace('a', '(', ''))", "(repeat('9', 20))::int", "lo_get(0)::text::int");
}

sub constant_query
{
	my ($t) = @_;
	my $c = constant();
	my $never = pick('false', 'x.id < -100000', 'x.id IS NULL AND x.id = 5', 'x.i4 > 5 AND x.i4 < 5', "x.s = 'no such'", '1 = 2', '(SELECT false)');

	return pick("SELECT sum(x.id + $c) FROM $t x WHERE $never", "SELECT avg($c) FROM $t x WHERE $never", "SELECT x.id FROM $t x WHERE $never AND $c = 1", "SELECT x.id FROM $t x WHERE x.id = $c AND $never", "SELECT $c AS k, count(*) FROM $t x WHERE $never GROUP BY 1",
		"SELECT count(*) FILTER (WHERE $c = 3) FROM $t x WHERE $never", "SELECT CASE WHEN $never THEN $c ELSE x.id END FROM $t x", "SELECT sum(CASE WHEN $never THEN $c ELSE 1 END) FROM $t x", "SELECT x.id FROM $t x WHERE $never OR coalesce(x.id, $c) > 3", "SELECT x.id FROM $t x ORDER BY x.id + $c LIMIT 0", "SELECT count(*) FROM $t x WHERE x.id > 0 AND $c > 0",
		"SELECT x.id FROM $t x WHERE $never ORDER BY $c + x.id LIMIT 3", "SELECT max(x.id) FROM $t x WHERE $never HAVING $c > 1", "SELECT x.id FROM $t x JOIN $t y ON x.id = y.id AND $c = 1 WHERE $never");
}

# ---- the script ----

# Rows hidden and deleted, whose values depend on @hidden@, and policies over them.
sub hide
{
	my ($t, $n) = @_;
	my $rows = pick('id % 7 = 3', 'id % 3 = 0', 'id BETWEEN 40 AND 260', 'id > 500', 'id % 2 = 1', 'id < 30 OR id % 5 = 2');
	my @values = ('i4 = 7770000 + public.pseudo(id, @hidden@, ' . pick(3, 1000, 100000) . ')', "s = concat(" . pick("'secret ', V", "V, ' secret'", "'a', V, 'secret'") =~ s/V/pick('@hidden@', 'public.pseudo(id, @hidden@, 40)', 'md5((id + @hidden@)::text)', "repeat('s', \@hidden\@ * 300 + id % 7)")/er . ')', 'i2 = ' . pick('NULLIF(@hidden@, 1)', 'public.pseudo(id, @hidden@, 100)', '@hidden@ * 1000'));
	my %more = (n2 => '@hidden@ + id / 8.0', f8 => "CASE \@hidden\@ WHEN 1 THEN 'NaN'::float8 ELSE id END", d => "date '2020-01-01' + \@hidden\@ * 100", j => q(jsonb_build_object('k', @hidden@, 'w', 'secret')), b => '@hidden@ = 1', long => "repeat('secret', \@hidden\@ * 400)", sc => "'secret' || \@hidden\@", u => 'md5(@hidden@::text)::uuid', nfree => '@hidden@ * 1e30', a => 'ARRAY[@hidden@]');

	push @values, map { "$_ = $more{$_}" } grep { $has{$t}{$_} && chance(0.6) } sort keys %more;
	$hidden{$t} = [$rows];
	emit("UPDATE $t SET " . join(', ', @values) . " WHERE $rows OR $DELETED");
	settled($t) if chance(0.7);
	emit("DELETE FROM $t WHERE $DELETED");
	settled($t) if chance(0.2);
	emit("ALTER TABLE $t ENABLE ROW LEVEL SECURITY");
	emit("CREATE POLICY p$n ON $t USING (($rows) IS NOT TRUE)");
	emit("CREATE POLICY q$n ON $t AS RESTRICTIVE FOR SELECT USING (" . pick('true', "i4 IS NULL OR i4 <> 4", "s IS DISTINCT FROM 'word 3'", 'EXISTS (SELECT 1)', "current_user <> 'definer'") . ')') if chance(0.3);
	emit("CREATE VIEW seen$n WITH (security_barrier) AS SELECT * FROM $t WHERE ($rows) IS NOT TRUE AND id % 4 <> 2");
	emit("ANALYZE $t") if chance(0.5);
	emit("GRANT ALL ON $t, seen$n TO reader");
	emit("GRANT SELECT ON $t TO other");
	return;
}

sub settled { my ($t) = @_; emit("SELECT public.settle(relid::regclass::text) FROM pg_partition_tree('$t') WHERE isleaf"); return; }

# The tables of the script become those of the role's work: two are hidden in part, the
# third is its own.
sub begin_attack
{
	%hidden = ();
	hide("t$_", $_) for 1, 2;
	$hidden{t3} = [$DELETED];
	emit("DELETE FROM t3 WHERE $DELETED");
	settled('t3') if chance(0.5);
	emit('ALTER TABLE t3 OWNER TO reader');
	emit("CREATE TABLE noted (what text, id int)");
	emit("CREATE FUNCTION noting() RETURNS trigger LANGUAGE plpgsql AS \$\$ BEGIN RAISE NOTICE 'exact % %', TG_OP, coalesce(NEW.id, OLD.id); RETURN coalesce(NEW, OLD); END \$\$");
	emit("CREATE TRIGGER noting " . pick('BEFORE', 'AFTER') . " INSERT OR UPDATE OR DELETE ON t" . pick(1, 2) . " FOR EACH ROW EXECUTE FUNCTION noting()") if chance(0.5);
	emit('SET client_min_messages = notice');
	emit('SET statement_timeout = 5000');
	emit('SET SESSION AUTHORIZATION reader');
	return;
}

sub leaky_change
{
	my ($t, $u) = @_;
	my $bool = leaky('bool', $t, $t);
	my $few = "$t.id % " . pick(7, 20) . ' = ' . between(0, 2);

	emit(pick("UPDATE $t SET s = " . leaky('text', $t, $t) . " WHERE $few AND $bool", "UPDATE $t SET i4 = i4 + 1 WHERE $bool AND $few RETURNING public.report(id) IS NULL", "DELETE FROM $t WHERE $bool AND $few", "WITH d AS (DELETE FROM $t WHERE $few AND $bool RETURNING *) SELECT count(*), min(id) FROM d", "UPDATE $t SET i4 = 3 FROM $u y WHERE y.id = $t.id AND $few AND $bool AND " . leaky('bool', $u, 'y'),
		"MERGE INTO $t USING (SELECT y.id, min(y.s) AS s FROM $u y WHERE " . leaky('bool', $u, 'y') . " GROUP BY 1) q ON q.id = $t.id AND $bool WHEN MATCHED AND $few THEN UPDATE SET s = q.s WHEN NOT MATCHED AND q.id % 90 = 1 THEN INSERT (id, s) VALUES (q.id + 20000, q.s)",
		"SELECT $t.id FROM $t WHERE $few AND $bool ORDER BY id, s, i4 FOR " . pick('UPDATE', 'SHARE', 'KEY SHARE', 'NO KEY UPDATE'), "INSERT INTO $t (id, i4, s) SELECT y.id + 30000, " . leaky('int', $u, 'y') . ", y.s FROM $u y WHERE y.id % 30 = 3 AND " . leaky('bool', $u, 'y'), "INSERT INTO $t (id, i4, s) VALUES (" . between(1, 900) . ", 1, 'mine') ON CONFLICT (id) DO UPDATE SET s = excluded.s || $t.s, i4 = " . leaky('int', $t, $t)));
	check($t);
	return;
}

# What the role may not do.
sub forbidden
{
	my ($t) = @_;

	emit(pick("SELECT gpucol.merge('$t')", "SELECT count(*) FROM gpucol.segments('$t')", "SELECT count(*) FROM gpucol.columns('$t')", "SELECT count(*) FROM gpucol.verify('$t')", "TRUNCATE pg_class", "SET ROLE definer", "SET SESSION AUTHORIZATION postgres", "ALTER TABLE $t DISABLE ROW LEVEL SECURITY", "SET row_security = off", "CREATE POLICY mine ON $t USING (true)", "ALTER TABLE $t OWNER TO reader", "CREATE TRIGGER mine BEFORE UPDATE ON $t EXECUTE FUNCTION noting()",
		"SELECT most_common_vals::text, histogram_bounds::text FROM pg_stats WHERE tablename = '$t' AND tablename <> 't3'", "CREATE STATISTICS st ON i2, i4 FROM $t", "COPY $t TO '/dev/null'", "COPY $t TO PROGRAM 'cat'", "SELECT pg_read_file('PG_VERSION')", "LOCK TABLE $t", "VACUUM $t", "ANALYZE $t", "CLUSTER $t", "REINDEX TABLE $t", "CREATE INDEX ON $t (id)")) ;
	emit('RESET row_security');
	return;
}

# One step of an attack over a table.
sub attack
{
	my ($t) = @_;
	my $u = pick(qw(t1 t2 t3));
	my $dice = rand;
	my $view = $hidden{$t}[0] ne $DELETED && chance(0.1) ? 'seen' . substr $t, 1 : undef;

	if ($view) { local $hidden{$t} = [ @{ $hidden{$t} }, 'id % 4 = 2' ]; ask(leaky_query($t, $u) =~ s/\b$t (?=[xy]\b)/$view /gr); }
	elsif ($dice < 0.40) { ask(leaky_query($t, $u)); }
	elsif ($dice < 0.46) { ask(constant_query($t)); emit('SELECT current_user, session_user, (SELECT count(*) FROM pg_cursors)'); }
	elsif ($dice < 0.64) { ask(query()); }
	elsif ($dice < 0.68) { ask(grouped_query($t)); }
	elsif ($dice < 0.72) { emit(ordered_query($t)); }
	elsif ($dice < 0.76) { change(); }
	elsif ($dice < 0.83) { leaky_change($t, $u); }
	elsif ($dice < 0.85) { transaction(); }
	elsif ($dice < 0.87) { emit($_) for 'BEGIN', 'SAVEPOINT a'; leaky_change($t, $u); emit(pick('ROLLBACK TO a', 'RELEASE a')); ask(leaky_query($t, $u)); emit(pick('COMMIT', 'ROLLBACK')); }
	elsif ($dice < 0.89) { cursor(); }
	elsif ($dice < 0.91) { emit($_) for 'BEGIN', 'DECLARE l CURSOR FOR ' . sorted(leaky_query($t, $u)), 'FETCH 3 FROM l', 'FETCH ALL FROM l', 'COMMIT'; }
	elsif ($dice < 0.93) { prepared(); }
	elsif ($dice < 0.95)
	{
		my $name = 'leak' . step();

		emit("PREPARE $name AS " . sorted(leaky_query($t, $u)));
		emit("EXECUTE $name") for 1 .. 2;
		emit($_) for 'RESET SESSION AUTHORIZATION', 'SET SESSION AUTHORIZATION other', "EXECUTE $name", 'RESET SESSION AUTHORIZATION', 'SET SESSION AUTHORIZATION reader', "EXECUTE $name";
	}
	elsif ($dice < 0.96) { forbidden($t); }
	elsif ($dice < 0.97) { random_alter(); }
	elsif ($dice < 0.98) { emit('RESET SESSION AUTHORIZATION'); settle(); emit('SET SESSION AUTHORIZATION reader'); }
	elsif ($dice < 0.99) { disturb(); }
	else { emit("DO \$\$ BEGIN PERFORM count(*) FROM (" . leaky_query($t, $u) =~ s/\$/\\\$/gr . ") q; EXCEPTION WHEN OTHERS THEN RAISE NOTICE 'exact %', SQLSTATE; END \$\$"); }
	return;
}

sub attack_script
{
	my ($steps) = @_;
	my $begun;
	my $script = scene_script($steps, sub { begin_attack() unless $begun++; attack($_[0]); }, '', '', 'UNLOGGED ');

	return $script =~ s/^\\echo finished$/RESET SESSION AUTHORIZATION;\n\\echo finished/mr;
}

1;
