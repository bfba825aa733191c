# 049_encodings.pl: texts in databases of several encodings, compared with heap.
#
# Where engines look at the bytes of texts, half of a character must not pass for one.  Values
# are made of characters whose bytes are parts of others, of letters whose other case is odd,
# and, where the database has no encoding, of bytes that are nothing.  Conditions ask for each
# of them, and for two that follow each other.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Gpucol;
use Test::More;

my $node = new_server('encodings');

# Characters, in hexadecimal; all have a, A, 1, % and _ too.
my %characters = (
	UTF8 => 'c3a9 c389 c39f c5bf e284aa e697a5 e695a5 f09f9880 cc81 c4b0 6b',
	LATIN1 => 'e9 c9 df ff b5 aa c3 a9',
	EUC_JP => 'a4a2 a2a4 a4a4 a2a2 8eb1 8fb0a1 a3c1 a3e1 a6c1 a6e1',
	SQL_ASCII => 'c3 a9 c3a9 80 ff a4a2 e6 f09f');

# Queries of %T%, of its column %C% and of a character or two, %P%.
my @queries = map { "SELECT id FROM %T% WHERE $_" } split /\n/, <<'SQL';
%C% = %P% OR %C% < %P%
%C% LIKE %P% || '%'
%C% LIKE '%' || %P%
%C% LIKE '%' || %P% || '%'
%C% NOT LIKE '_' || %P%
%C% LIKE '%_' || %P% || '_%' OR %C% LIKE %P% || '_'
%C% ILIKE '%' || %P% || '%'
%C% ILIKE %P%
%C% ~ %P%
%C% ~ ('^' || %P% || '.$')
%C% ~ ('^[^' || %P% || ']+$')
%C% ~ ('[' || %P% || '].') OR %C% ~ ('(?:' || %P% || '|1)+$')
%C% ~* %P%
%C% ~* ('^(' || %P% || '|k)')
%C% SIMILAR TO '_' || %P% || '%'
strpos(%C%, %P%) = 2 OR position(%P% in %C%) = 1
starts_with(%C%, %P%)
lower(%C%) = lower(%P%)
upper(%C%) LIKE '%' || upper(%P%)
left(%C%, 1) = %P% OR right(%C%, 1) = %P%
substr(%C%, 2) = %P% OR substr(%C%, 2, 1) = %P%
replace(%C%, %P%, '') = ''
split_part(%C%, %P%, 2) > 'a'
reverse(%C%) LIKE %P% || '%'
%C% IN (%P%, 'a' || %P%) OR length(%C%) = length(%P%) + 1
SQL
push @queries, map { "SELECT $_ AS k, count(*), min(%C%), max(%C%) FROM %T% GROUP BY 1" } 'length(%C%)', 'octet_length(%C%)', 'left(%C%, 1)', 'lower(%C%)', 'upper(right(%C%, 2))', 'substr(%C%, 2, 1)', q(regexp_replace(%C%, '^(.).*$', '\1'));

for my $encoding (sort keys %characters)
{
	my $database = lc $encoding;
	my $second = $encoding eq 'SQL_ASCII' ? 'C' : 'und-x-icu';
	my $asked = join ', ', map { '$query$' . $_ . '$query$' } @queries;

	$node->safe_psql('postgres', "CREATE DATABASE $database ENCODING '$encoding' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0");
	$node->safe_psql($database, <<~SQL);
		CREATE EXTENSION gpucol;
		SET client_min_messages = warning;
		CREATE TABLE pieces AS SELECT convert_from(decode(piece, 'hex'), '$encoding') AS p FROM regexp_split_to_table('$characters{$encoding} 61 41 31 25 5f', ' ') piece;
		CREATE TABLE in_heap (id serial, t text, u text COLLATE "$second");
		INSERT INTO in_heap (t, u) SELECT t, t FROM (SELECT p FROM pieces UNION ALL SELECT a.p || b.p FROM pieces a, pieces b UNION ALL SELECT a.p || b.p || c.p FROM pieces a, pieces b, pieces c WHERE hashtext(a.p || b.p || c.p) % 3 = 0) v (t);
		CREATE TABLE packed USING gpucol AS TABLE in_heap;
		INSERT INTO packed SELECT * FROM in_heap WHERE id % 50 = 1;
		INSERT INTO in_heap SELECT * FROM in_heap WHERE id % 50 = 1;
		CREATE FUNCTION answer(query text, name text) RETURNS text LANGUAGE plpgsql AS \$\$
		DECLARE
			found text;
		BEGIN
			EXECUTE format('SELECT count(*) || md5(coalesce(string_agg(q::text, '','' ORDER BY q::text COLLATE "C"), '''')) FROM (%s) q', replace(query, '%T%', name)) INTO found;
			RETURN found;
		EXCEPTION WHEN OTHERS THEN
			RETURN SQLSTATE;
		END \$\$;
		CREATE TABLE asked AS SELECT replace(replace(query, '%C%', CASE WHEN n % 2 = 0 THEN 't' ELSE 'u' END), '%P%', quote_literal(what)) AS query
			FROM unnest(ARRAY[$asked]) query, (SELECT p, row_number() OVER () FROM pieces UNION ALL SELECT a.p || b.p, row_number() OVER () FROM pieces a, pieces b WHERE hashtext(a.p || b.p) % 15 = 0) v (what, n)
			WHERE position('%P%' IN query) > 0 OR n < 3;
		CREATE TABLE answers AS SELECT query, answer(query, 'in_heap') AS heap, answer(query, 'packed') AS packed FROM asked;
		SQL
	is($node->safe_psql($database, "SELECT encode(query::bytea, 'escape'), heap, packed FROM answers WHERE heap <> packed"), '', "$encoding: as over heap");
	note("$encoding: " . $node->safe_psql($database, "SELECT count(*), count(*) FILTER (WHERE length(heap) = 5), count(DISTINCT heap) FROM answers"));
	cmp_ok($node->safe_psql($database, 'SELECT count(DISTINCT heap) FROM answers WHERE length(heap) > 5'), '>', 100, "$encoding: the answers are many");
	like($node->safe_psql($database, "EXPLAIN (COSTS OFF) SELECT count(*) FROM packed WHERE t LIKE '%a%' AND t ~ '^.a'"), qr/GpucolAgg/, "$encoding: pushed down");
}
$node->stop;
done_testing();
