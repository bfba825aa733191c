# Datalog.pm: programs for datalog.pl that are drawn from the grammar, nearly right, and
# changed in a few tokens.
#
# A drawn program uses types, variables and relations as a right one does, but for a few
# per cent of its places: most are rejected for one reason only, deep inside.
package Datalog;

use strict;
use warnings;
use Exporter 'import';
use Gpucol;

our @EXPORT = qw(drawn_program changed_program asked_of);

sub chance { return rand() < $_[0]; }

my @TYPES = qw(number number number symbol symbol float unsigned);
my @OPERATORS = qw(+ - * / % ^ band bor bxor bshl bshr bshru land lor lxor);
my @NUMBERS = (0 .. 5, '9223372036854775807', '-9223372036854775808', '0x7fffffffffffffff', '0b101', '63', '64', '-1');
my @REALS = ('0.0', '1.5', '-2.5e3', '1e308', '1e-308', '0.1');
my @STRINGS = ('""', '"a"', '"ab"', '"(["', '"1x"', '"12"', '"\\n"', '"\\\\"', '".*"', "\"\x{e4}\x{20ac}\"", '"a{300}"');
my %CONSTANTS = (number => \@NUMBERS, float => \@REALS, symbol => \@STRINGS, unsigned => [qw(0u 1u 5u 18446744073709551615u)]);
our %VARIABLES = (number => [qw(x x y y z n)], symbol => [qw(s t)], float => [qw(f g)], unsigned => [qw(u w)]);
my %CONVERSIONS = (number => [qw(strlen to_number ftoi utoi)], symbol => [qw(to_string)], float => [qw(to_float itof utof)], unsigned => [qw(to_unsigned itou ftou)]);

# Most expressions have the type they should have, and most parts have a value.
sub expression
{
	my ($depth, $type) = @_;
	my $part = sub { return expression($depth - 1, shift // $type); };
	return '_' if chance(0.02);
	$type = pick(@TYPES) if chance(0.02);
	return @{ $VARIABLES{$type} } && chance(0.75) ? pick(@{ $VARIABLES{$type} }) : pick(@{ $CONSTANTS{$type} }) if $depth <= 0 || chance(0.3);
	return pick(
		sub { $type eq 'symbol' ? 'cat(' . join(', ', map { $part->() } 1 .. between(2, 3)) . ')' : '(' . $part->() . ' ' . pick($type eq 'float' ? @OPERATORS[ 0 .. 3, 5 ] : @OPERATORS) . ' ' . $part->() . ')' },
		sub { $type eq 'symbol' ? 'substr(' . join(', ', $part->(), $part->('number'), $part->('number')) . ')' : $part->() . pick(@OPERATORS[ 0 .. 3 ]) . $part->() },
		sub { $type eq 'number' ? pick('-', 'bnot ', 'lnot ', '- -') . $part->() : $part->() }, sub { $type eq 'symbol' ? $part->() : pick(qw(min max)) . '(' . join(', ', map { $part->() } 1 .. between(2, 4)) . ')' },
		sub { my $function = pick(@{ $CONVERSIONS{$type} }); "$function(" . $part->($function eq 'strlen' ? 'symbol' : $function =~ /^i/ ? 'number' : $function =~ /^u/ ? 'unsigned' : $function =~ /^f/ ? 'float' : pick(@TYPES)) . ')' },
		sub { $type eq 'symbol' ? $part->() : aggregate($depth - 1, $type) }, sub { '(' . $part->() . ')' })->();
}

sub aggregate
{
	my ($depth, $type) = @_;
	my $function = pick($type eq 'number' ? 'count' : (), qw(sum min max));
	return "($function " . ($function eq 'count' ? '' : expression($depth, $type)) . ' : ' . (chance(0.5) ? atom(0) : '{ ' . body($depth) . ' }') . ')';
}

my @known;	# relations of the program that is being drawn: name, types

sub atom
{
	my ($depth) = @_;
	my $relation = pick(@known);
	return $relation->{name} . '(' . join(', ', (map { chance(0.15) ? '_' : expression(chance(0.6) ? 0 : $depth, $_) } @{ $relation->{types} }), chance(0.002) ? 'x' : ()) . ')';
}

sub literal
{
	my ($depth) = @_;
	my $type = pick(@TYPES);
	return pick(sub { atom($depth) }, sub { atom(0) }, sub { '!' . atom($depth) }, sub { '!' . literal($depth) }, sub { expression($depth, $type) . ' ' . pick(qw(= = = != < <= > >=)) . ' ' . expression($depth, $type) },
		sub { pick(@{ $VARIABLES{number} }, 'z') . ' = ' . aggregate($depth, 'number') }, sub { pick(qw(match contains)) . '(' . expression($depth, 'symbol') . ', ' . expression($depth, 'symbol') . ')' }, sub { pick(qw(true false)) },
		sub { $depth > 0 ? '(' . body($depth - 1) . pick('; ', ', ') . body($depth - 1) . ')' : 'true' })->();
}

# Of the variables of each type those that atoms give values to; nearly always.
sub given
{
	my ($atoms) = @_;
	my %found = map { $_ => 1 } $atoms =~ /[(,] *(\w)\b(?= *[,)])/g;
	return chance(0.03) ? %VARIABLES : map { my $type = $_; $type => [ grep { $found{$_} } @{ $VARIABLES{$type} } ] } keys %VARIABLES;
}

# Atoms that give variables their values come first; the variables are returned as well.
sub body
{
	my ($depth) = @_;
	my $atoms = join ', ', map { atom(0) } 1 .. pick(1, 1, 2, 3);
	my %given = given($atoms);
	local %VARIABLES = %given;
	my $text = join ', ', $atoms, map { literal($depth) } 1 .. pick(0, 1, 1, 2);
	return wantarray ? ($text, \%given) : $text;
}

sub clause
{
	my $depth = pick(0, 0, 1, 1, 2, 3);
	return atom(0) . ' <= ' . atom(0) . ' :- ' . body(0) . '.' if chance(0.03);
	my ($text, $given) = body($depth);
	local %VARIABLES = %$given;
	my $heads = join(', ', map { atom($depth) } 1 .. pick(1, 1, 1, 2));
	$heads =~ s/\b_\b/1/g if chance(0.95);
	return "$heads :- " . join('; ', $text, chance(0.2) ? scalar body($depth) : ()) . '.';
}

sub value_of { my ($type) = @_; return $type eq 'symbol' ? pick(@STRINGS) : $type eq 'float' ? pick(@REALS) : $type eq 'unsigned' ? between(0, 9) : between(-3, 5); }

sub drawn_program
{
	@known = map { { name => $_, types => [ map { pick(@TYPES) } 1 .. pick(0, 1, 1, 1, 2, 2, 3) ] } } qw(p q r);
	my @text = map { my $relation = $_; ".decl $_->{name}(" . join(', ', map { "c$_:$relation->{types}[$_]" } 0 .. $#{ $relation->{types} }) . ')' . (chance(0.03) ? pick(' input', ' btree', ' inline') : '') } @known;
	for my $relation (@known)
	{
		push @text, "$relation->{name}(" . join(', ', map { value_of($_) } @{ $relation->{types} }) . ').' for 1 .. between(0, 3);
	}
	push @text, map { clause() } 1 .. pick(1, 1, 2, 3);
	return join("\n", @text);
}

# ---- changes ----

sub tokens { return $_[0] =~ /("(?:[^"\\]|\\.)*"|[.]?[\w?]+|:-|<=|>=|!=|\s+|.)/gs; }

my @WORDS = (qw~_ - + / ^ ! ( ) { } ; : . = < <= :- count sum min true cat substr to_number .decl .output .input .type .plan eqrel~, ',', '!(', 'count : {', '/*', '//', '"', '\\', "\x{e4}", '$', '@f(', '[', 'nil', '1e400', '9223372036854775808', '0x');

# A token that may stand where another does.
sub alike
{
	my ($token) = @_;
	my $type = pick(@TYPES);
	return pick(@OPERATORS) if $token =~ m{^([-+*/%^]|b(?:and|or|xor|shl|shr|shru)|l(?:and|or|xor))$};
	return pick(qw(= != < <= > >=)) if $token =~ /^([<>]=?|!?=)$/;
	return pick(', !', ', ' . literal(1) . ', ', '; ') if $token =~ /^[,;]$/;
	return pick(qw(count sum min max)) if $token =~ /^(count|sum|min|max)$/;
	return expression(pick(0, 1, 2), $token =~ /^"/ ? 'symbol' : $token =~ /^-?\d/ ? 'number' : $type) if $token =~ /^(?:"|\d|\w$)/;
	return pick(qw(p q r f1 f2 f3 g h i m)) if $token =~ /^\w\d?$/;
	return pick(qw(strlen to_number to_string to_float itof ftoi cat)) if $token =~ /^\w+_\w+$/;
	return pick(@TYPES) if $token =~ /^(?:number|symbol|float|unsigned)$/;
	return $token;
}

# One change of a list of tokens, some of which may stand elsewhere.
sub change
{
	my ($tokens, $others) = @_;
	my @places = grep { $tokens->[$_] =~ /[^\s():]/ } 0 .. $#$tokens;
	my ($at, $to) = (pick(@places) // 0, pick(@places) // 0);
	my $length = pick(1, 1, 2, 3, between(1, 20));
	my $some = sub { my ($from) = @_; my $first = int rand(@$from || 1); my $last = $first + $length - 1; $last = $#$from if $last > $#$from; return @$from[ $first .. $last ]; };

	if (chance(0.85)) { $tokens->[$at] = alike($tokens->[$at] // ''); }
	else
	{
		pick(sub { $tokens->[$at] = pick(@WORDS) }, sub { splice @$tokens, $at, 0, pick(@WORDS) }, sub { splice @$tokens, $at, $length }, sub { splice @$tokens, $at, 0, $some->($tokens) },
			sub { splice @$tokens, $at, $length, $some->($others) }, sub { @$tokens[ $at, $to ] = @$tokens[ $to, $at ] }, sub { $tokens->[$at] = "($tokens->[$at] " . pick(@OPERATORS) . ' ' . pick('_', 'x', '1') . ')' },
			sub { $tokens->[$at] = pick('-', '!', 'bnot ', 'count : ') . $tokens->[$at] })->();
	}
	return grep { defined } @$tokens;
}

# A program with some of its tokens changed; what comes from elsewhere comes from another.
sub changed_program
{
	my ($text, $other) = @_;
	my @tokens = tokens($text);
	my @others = tokens($other);

	@tokens = change(\@tokens, \@others) for 1 .. pick(1, 1, 2, 3, 8);
	return join('', @tokens) =~ tr/\0//dr =~ s/\$fuzz\$//gr;
}

# A relation of a program, and the column list to ask for it with.
sub asked_of
{
	my ($text) = @_;
	my %types = (number => 'int8', unsigned => 'numeric', float => 'float8', symbol => 'text');
	my @declared = $text =~ /[.]decl\s+(\w+)\s*[(]([^()]+)[)]/g;
	my $which = @declared ? 2 * int rand(@declared / 2) : 0;
	my ($name, $attributes) = @declared ? @declared[ $which, $which + 1 ] : ('p', 'c0:number');
	my @columns = map { $types{$_} // 'text' } $attributes =~ /:\s*(\w*)/g;

	return ($name, join(', ', map { "o$_ $columns[$_]" } 0 .. $#columns) || 'o0 int8');
}

1;
