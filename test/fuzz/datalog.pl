# datalog.pl SECONDS SEED FOLDER: random and broken Datalog programs, by an unprivileged
# role.
#
# Programs of the grammar (test/t/Programs.pm) must derive what that module derives.
# Mutated ones may raise any error but an internal one; they must end within their time,
# and the server must live.  Those that are nearly right (Datalog.pm) run twice, by two
# strategies: both must give the same, and every error must say where in the program it is.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../t", $FindBin::Bin;
use Datalog;
use Fuzz;
use Gpucol;
use Programs;
use PostgreSQL::Test::Utils;
use Test::More;

my $LIMIT = 3;		# seconds that a program may take

start_part('datalog', @ARGV);
my $node = new_server('fuzz_datalog', server_lines('shared_preload_libraries = gpucol', 'log_min_messages = log', "statement_timeout = ${LIMIT}s"));
$node->safe_psql('postgres', 'CREATE ROLE reader LOGIN; GRANT USAGE ON SCHEMA gpucol TO reader; GRANT ALL ON SCHEMA public TO reader');

# What programs are made of.
my @pieces = (split(/ /, q({ } ( ) [ ] . , ; : :- <= = != < > + - * / % ^ ! _ $ | & @ " ' ~)), qw(.decl .output .input .type .comp .init .functor .plan .pragma number symbol float unsigned count sum min max mean cat strlen substr ord to_number to_string contains match range band bor bxor bnot bshl bshr land lor lnot true false nil as eqrel choice-domain override inline
	brie btree), '_-1', '-_', '!p(_+1)', 'cat(_,"a")', 'max(_,1)', '0', '1', '-1', '2147483648', '9223372036854775807', '1e400', '0x1f', '0b101', '"\\', "\0", "\xc3", '/*', '*/', '//', '#', '.decl p(a:number)', '.decl o(a:number,b:symbol)', 'p(1).', 'o(x) :- p(x).', 'p(x+1) :- p(x), x < 100.', 'c = count : { p(_) }', 'x = sum y : { p(y), y > x }',
	'range(1, 1000000000)', '.comp C { .decl r(x:number) r(1). }', '.comp D<T> : C { .override r r(2). .init e = T }', '.init c = C', '.init d = D<C>', 'c.r(x)', 'd.e.r(1).',
	'.type L = [h:number, t:L]', '.type A = X {n:number} | Y {a:A, b:A} | Z {}', '[1, nil]', '[x, [_, y]]', '$X(1)', '$Y($Z(), a)', 'x = range(1, y)', 'as(1, L)', 'autoinc()', 'mean', 'eqrel', 'x = "' . 'a' x 300 . '"');

# A token, several, or a byte of a program go, come or change their places.
sub mutate
{
	my ($program, $donor) = @_;
	my @tokens = $program =~ /\s+|\w+|"[^"]*"|:-|./gs;
	my @other = $donor =~ /\s+|\w+|"[^"]*"|:-|./gs;

	for (1 .. pick(1, 1, 2, 3, 8))
	{
		my $at = int rand @tokens;
		my $kind = int rand 10;
		my $length = pick(1, 1, 2, 5, 20);

		if ($kind < 2) { splice @tokens, $at, $length; }
		elsif ($kind < 4) { splice @tokens, $at, 0, ' ', pick(@pieces), ' '; }
		elsif ($kind == 4) { splice @tokens, $at, 1, pick(@pieces); }
		elsif ($kind == 5) { my $to = int rand @tokens; @tokens[ $at, $to ] = @tokens[ $to, $at ]; }
		elsif ($kind == 6) { splice @tokens, $at, 0, @tokens[ $at .. ($at + $length < @tokens ? $at + $length : $#tokens) ]; }
		elsif ($kind == 7) { my $from = int rand @other; splice @tokens, $at, 0, @other[ $from .. ($from + $length * 3 < @other ? $from + $length * 3 : $#other) ]; }
		elsif ($kind == 8) { splice @tokens, $at, 1, map { pick('(', '-', '!', '{', 'x = count : { ', 'cat(', '(1 + ') x pick(3, 50, 2000) } 1; }
		else { $tokens[$at] =~ s/./chr(32 + int rand 95)/se; }
		@tokens = (' ') unless @tokens;
	}
	return join('', @tokens) =~ s/\0//gr =~ s/\$fuzz\$//gr;
}

my @calls = (sub { "SELECT count(*) FROM gpucol.datalog($_[0], '$_[1]') AS t($_[2])" }, sub { "SELECT count(*) FROM gpucol.datalog($_[0], '$_[1]') AS t($_[2])" }, sub { "SELECT * FROM gpucol.datalog($_[0], '$_[1]') AS t(a int8, b text) LIMIT 3" }, sub { "SELECT gpucol.datalog_into($_[0], 'public')" }, sub { "EXPLAIN SELECT * FROM gpucol.datalog($_[0], '$_[1]') AS t($_[2])" });

# Programs that are right derive the right rows.
sub right_programs
{
	my ($count) = @_;

	for (1 .. $count)
	{
		my ($program, $columns, $rows, $choices) = random_program();
		for my $output (sort keys %$rows)
		{
			my (undef, $mine, $error) = $node->psql('postgres', "SET gpucol.recursive_strategy = " . pick(qw(auto hisa bitmap sparse)) . "; SELECT * FROM gpucol.datalog(\$d\$$program\$d\$, '$output') AS t($columns->{$output})");
			my $sorted = join "\n", sort split /\n/, $mine, -1;

			counted(1);
			next if $error =~ /statement timeout/;
			next if $error eq '' && ($choices->{$output} ? is_choice($choices->{$output}, split /\n/, $mine, -1) : $sorted eq join("\n", @{ $rows->{$output} }));
			finding("a program derives other rows of $output", "$program\n\n$sorted\n$error\n\nnot\n\n" . join "\n", @{ $rows->{$output} });
		}
	}
	return;
}

# ---- nearly right ones ----

my @programs;

$node->safe_psql('postgres', <<'SQL');
CREATE FUNCTION run(program text, output text, columns text, strategy text, threads int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
	detail text;
	context text;
BEGIN
	PERFORM set_config('gpucol.recursive_strategy', strategy, true), set_config('gpucol.cpu_threads', threads::text, true);
	IF columns = 'into' THEN
		CREATE SCHEMA made;
		SELECT coalesce(string_agg(i::text, ',' ORDER BY i), '') INTO result FROM gpucol.datalog_into(program, 'made') i;
		DROP SCHEMA made CASCADE;
	ELSE
		EXECUTE format('SELECT count(*) || '' rows '' || coalesce(sum(hashtextextended(t::text, 0)), 0) FROM gpucol.datalog(%L, %L) AS t(%s)', program, output, columns) INTO result;
	END IF;
	RETURN result;
EXCEPTION WHEN OTHERS OR query_canceled THEN
	GET STACKED DIAGNOSTICS result = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, context = PG_EXCEPTION_CONTEXT;
	RETURN format('ERROR %s %s | %s | %s', SQLSTATE, result, detail, context);
END $$;
GRANT CREATE ON DATABASE postgres TO reader;
SQL

# Does an error say where in the program it is, or is it of no place there?
sub has_place
{
	my ($error) = @_;

	return $error =~ /Line \d+, column \d+ of the program|line \d+ of the program/
	  || $error =~ /another number of columns|the program declares no relation|is no output of the program|the program has no output|did not end within/
	  || $error =~ /^ERROR 22\w{3} (?:bigint|integer|invalid input|value)/;	# of a result
}

# What is wrong with the two results of a program, if anything.  Which rows a choice leaves is open.
sub wrong_results
{
	my ($program, @results) = @_;
	my @codes = map { /^ERROR (\w{5})/ ? $1 : 'rows' } @results;

	return if grep { /^(?:57014|53200)$/ } @codes;
	for my $error (grep { /^ERROR/ } @results)
	{
		return 'an internal error for a program' if $error !~ /^ERROR (?:0A|22|42|54)/;
		return 'an error without a place in its program' unless has_place($error);
	}
	return if $program =~ /\bchoice-domain\b/ && "@codes" eq 'rows rows';
	# which of several wrong values raises its error first is not said
	return if substr($codes[0], 0, 2) eq substr($codes[1], 0, 2) && ($codes[0] ne 'rows' || $results[0] eq $results[1]);
	return 'a program gives two answers';
}

sub nearly_right_programs
{
	my ($seed, $count) = @_;
	my $script = "SET client_min_messages = warning;\nSET gpucol.max_recursion_rounds = 60;\nSET gpucol.recursive_memory_limit = '64MB';\n";
	my @drawn;

	for my $i (0 .. $count - 1)
	{
		my $text = pick(sub { drawn_program() }, sub { changed_program(drawn_program(), pick(@programs)->[0]) }, sub { changed_program(pick(@programs)->[0], drawn_program()) })->();
		my ($output, $columns) = asked_of($text);

		if (rand() < 0.1) { $text .= "\n.output $output"; $columns = 'into'; }
		push @drawn, $text;
		$script .= "\\echo <<< " . (2 * $i + $_) . "\nSELECT run(\$fuzz\$$text\$fuzz\$, '$output', '$columns', '" . pick(qw(auto hisa bitmap sparse)) . "', " . between(1, 3) . ");\n\\echo >>>\n" for 0, 1;
	}
	utf8::encode($script);
	my ($ran, $said, @found) = script_results($node, $script, 600, '-U', 'reader');
	counted(scalar @found);
	if (!$ran || @found < 2 * @drawn) { finding('the server did not answer program ' . int(@found / 2) . " of seed $seed", $drawn[ @found / 2 ] . "\n\n" . substr $said, -2000); return; }
	for my $i (0 .. $#drawn)
	{
		my @results = map { $_ // '' } @found[ 2 * $i, 2 * $i + 1 ];
		my $what = wrong_results($drawn[$i], @results) // next;
		finding($what, join "\n\n", "round of seed $seed", $drawn[$i], @results);
	}
	return;
}

while (going(5))
{
	my $seed = round_seed();

	$node->safe_psql('postgres', base_tables() . '; GRANT ALL ON ALL TABLES IN SCHEMA public TO reader');
	@programs = ();
	push @programs, [ random_program() ] for 1 .. 5;
	right_programs(3);
	nearly_right_programs($seed, 200);
	my @mutants = map {
		my ($program, $columns) = @{ pick(@programs) };
		my $output = pick(sort keys %$columns);
		[ mutate($program, pick(@programs)->[0]), $output, $columns->{$output} ]
	} 1 .. 150;
	my $script = "SET client_min_messages = warning;\nSET client_encoding = " . pick('latin1', 'utf8') . ";\n";
	for my $i (0 .. $#mutants)
	{
		my ($program, @more) = @{ $mutants[$i] };
		$script .= "\\echo <<< $i\n" . pick(@calls)->("\$fuzz\$$program\$fuzz\$", @more) . ";\n\\echo >>>\n";
	}
	my ($ran, $output, @found) = script_results($node, $script, 600, '-U', 'reader');
	counted(scalar @found);
	if (!$ran || @found < @mutants) { finding("the server did not answer program " . @found . " of seed $seed", ($mutants[ $#found + 1 ] // $mutants[-1])->[0] . "\n\n" . substr $output, -2000); }
	for my $i (grep { ($found[$_] // '') =~ /ERROR:  XX/ } 0 .. $#found)
	{
		finding('an internal error for a program', "$mutants[$i][0]\n\n$found[$i]");
	}
	watch_log($node, '(?!)') && wait_for_server($node);
}
say_now(programs_skipped() . ' programs skipped, which grew too large to be derived here');
$node->stop;
end_part();
