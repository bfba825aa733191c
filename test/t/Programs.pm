# Programs.pm: random Datalog programs, and what they derive, for 023_recursion_random.pl.
#
# A program is a tree that is both written down and evaluated here: rules are applied
# to all rows there are until nothing changes, literals in the first order in which
# each has its variables.  Values of recursive rules stay within a small range, so that
# every program ends; one whose values or matches grow too large is skipped.
#
# Expressions:  [var => name], [const => value], [any], [op => name, args], [rec => args]
#               (a record of two numbers), [agg => function, target or undef, body, names from outside].
# Literals:     [atom => relation, args], [cmp => operator, left, right],
#               [test => functor, args], [or => bodies], [not => literal], [true], [false].
package Programs;

use strict;
use warnings;
use Exporter 'import';

our @EXPORT = qw(random_program programs_skipped base_tables is_choice);

# What one step may make, which bounds the memory and the time of a program's evaluation here.
my $MOST_BINDINGS = 50000;
my $MOST_VALUES = 1000;		# of range()
my $LONGEST = 500;			# bytes of a value, which rules may double in each round

sub pick { return $_[ int rand @_ ]; }
sub between { my ($low, $high) = @_; return $low + int rand($high - $low + 1); }
sub chance { return rand() < $_[0]; }

# ---- values ----

my %LEVEL = ('lor' => 0, 'lxor' => 1, 'land' => 2, 'bor' => 3, 'bxor' => 4, 'band' => 5, 'bshl' => 6, 'bshr' => 6, '+' => 7, '-' => 7, '*' => 8, '/' => 8, '%' => 8);

sub quotient { my ($a, $b) = @_; use integer; return $a / $b; }

my %COMPUTE = (
	'+' => sub { $_[0] + $_[1] }, '-' => sub { $_[0] - $_[1] }, '*' => sub { $_[0] * $_[1] },
	'/' => sub { quotient(@_) }, '%' => sub { $_[0] - $_[1] * quotient(@_) }, '^' => sub { $_[0]**$_[1] },
	'band' => sub { use integer; $_[0] & $_[1] }, 'bor' => sub { use integer; $_[0] | $_[1] }, 'bxor' => sub { use integer; $_[0] ^ $_[1] },
	'bshl' => sub { $_[0] * 2**$_[1] }, 'bshr' => sub { use integer; $_[0] >> $_[1] },
	'land' => sub { $_[0] && $_[1] ? 1 : 0 }, 'lor' => sub { $_[0] || $_[1] ? 1 : 0 }, 'lxor' => sub { !$_[0] != !$_[1] ? 1 : 0 },
	'neg' => sub { -$_[0] }, 'bnot' => sub { -1 - $_[0] }, 'lnot' => sub { $_[0] ? 0 : 1 }, '@abs' => sub { abs $_[0] },
	'min' => sub { my $least = shift; $least = $_ < $least ? $_ : $least for @_; $least },
	'max' => sub { my $most = shift; $most = $_ > $most ? $_ : $most for @_; $most },
	'cat' => sub { join '', @_ }, 'substr' => sub { $_[1] > length $_[0] ? '' : substr $_[0], $_[1], $_[2] },
	'strlen' => sub { length $_[0] }, 'to_string' => sub { "$_[0]" }, 'to_number' => sub { 0 + $_[0] });

my %HOLDS = (
	'=' => sub { $_[0] eq $_[1] }, '!=' => sub { $_[0] ne $_[1] },
	'<' => sub { order(@_) < 0 }, '<=' => sub { order(@_) <= 0 }, '>' => sub { order(@_) > 0 }, '>=' => sub { order(@_) >= 0 },
	'contains' => sub { index($_[1], $_[0]) >= 0 }, 'match' => sub { $_[1] =~ /^(?:$_[0])\z/ });

# Numbers by value; symbols, which begin with no digit or sign here, by their bytes.
sub order { my ($x, $y) = @_; return "$x$y" =~ /^[-0-9]+$/ && $x ne '' && $y ne '' ? $x <=> $y : $x cmp $y; }

# ---- evaluation ----

# The variables that an expression or a literal needs.
sub names
{
	my ($node) = @_;
	my ($kind, @parts) = @$node;
	return ($parts[0]) if $kind eq 'var';
	return @{ $parts[3] } if $kind eq 'agg';
	return map { names($_) } @parts if $kind eq 'not';
	return map { map { names($_) } @$_ } @parts if $kind eq 'or';
	shift @parts if $kind =~ /^(op|atom|cmp|test)$/;
	return map { names($_) } grep { ref } @parts;
}

# The value of an expression; undef: an aggregate over nothing.
sub value
{
	my ($expr, $binding, $full) = @_;
	my ($kind, @parts) = @$expr;
	return $binding->{ $parts[0] } if $kind eq 'var';
	return $parts[0] if $kind eq 'const';
	return reduce(@parts[ 0 .. 2 ], $binding, $full) if $kind eq 'agg';
	if ($kind eq 'rec')
	{
		my @fields = map { value($_, $binding, $full) } @parts;
		return (grep { !defined } @fields) ? undef : '[' . join(', ', @fields) . ']';
	}
	my ($name, @args) = @parts;
	@args = map { value($_, $binding, $full) } @args;
	return if grep { !defined } @args;
	my $value = $COMPUTE{$name}->(@args);
	die "large\n" if length $value > $LONGEST || $value =~ /^-?\d+(e|$)/ && abs $value > 2**50;
	return $value;
}

# The values that a variable takes by an expression: several by range(from, to, step).
sub values_of
{
	my ($expr, $binding, $full) = @_;
	return value(@_) if $expr->[0] ne 'op' || $expr->[1] ne 'range';
	my (undef, undef, @args) = @$expr;
	my ($at, $to, $step) = map { value($_, $binding, $full) } @args;
	my @values;
	$step //= $at <= $to ? 1 : -1;
	for (; $step > 0 ? $at < $to : $at > $to; $at += $step) { push @values, $at; die "large\n" if @values > $MOST_VALUES; }
	return @values;
}

sub reduce
{
	my ($function, $target, $body, $binding, $full) = @_;
	my @values = map { $target ? value($target, $_, $full) : 1 } @{ solve($body, [$binding], $full) };
	return scalar @values if $function eq 'count';
	if ($function eq 'sum')
	{
		my $sum = 0;
		$sum += $_ for @values;
		return $sum;
	}
	return @values ? $COMPUTE{$function}->(@values) : undef;
}

# Does a literal hold that gives no variable a value?
sub holds
{
	my ($literal, $binding, $full) = @_;
	my ($kind, @parts) = @$literal;
	return $kind eq 'true' if $kind =~ /^(true|false)$/;
	return !holds($parts[0], $binding, $full) if $kind eq 'not';
	return 0 < grep { conjunction($_, $binding, $full) } @parts if $kind eq 'or';
	return 0 < @{ match($literal, $binding, $full) } if $kind eq 'atom';
	my ($name, @args) = @parts;
	@args = map { [ values_of($_, $binding, $full) ] } @args;
	# one side may have several
	return 0 < grep { my $right = $_; grep { defined && defined $right && $HOLDS{$name}->($_, $right) } @{ $args[0] } } @{ $args[1] };
}

sub conjunction
{
	my ($body, $binding, $full) = @_;
	holds($_, $binding, $full) || return 0 for @$body;
	return 1;
}

# An argument, or the fields of one that is a record.
sub parts_of { my ($arg) = @_; return $arg->[0] eq 'rec' ? @$arg[ 1 .. $#$arg ] : $arg; }

# The bindings that the rows of an atom's relation extend one to.
sub match
{
	my ($atom, $binding, $full) = @_;
	my (undef, $relation, @args) = @$atom;
	my @known = map { grep({ $_->[0] eq 'any' || ($_->[0] eq 'var' && !exists $binding->{ $_->[1] }) } parts_of($_)) ? undef : value($_, $binding, $full) } @args;
	my @out;
	ROW: for my $row (values %{ $full->{$relation} })
	{
		my %new;
		for my $i (0 .. $#args)
		{
			if (defined $known[$i]) { next ROW if $known[$i] ne $row->[$i]; next; }
			my @fields = $args[$i][0] eq 'rec' ? map({ 0 + $_ } $row->[$i] =~ /-?\d+/g) : ($row->[$i]);
			for my $part (parts_of($args[$i]))
			{
				my $field = shift @fields;
				next if $part->[0] eq 'any';
				my $value = $part->[0] eq 'const' ? $part->[1] : $binding->{ $part->[1] } // $new{ $part->[1] };
				next ROW if defined $value && $value ne $field;
				$new{ $part->[1] } = $field if $part->[0] eq 'var';
			}
		}
		push @out, { %$binding, %new };
	}
	return \@out;
}

# Can a literal be evaluated where these variables have values?  Those that get one, then.
sub ready
{
	my ($literal, $bound) = @_;
	my ($kind, @parts) = @$literal;
	if ($kind eq 'atom')
	{
		my (undef, @args) = @parts;
		@args = map { parts_of($_) } @args;
		my @free = map { $_->[1] } grep { $_->[0] eq 'var' && !$bound->{ $_->[1] } } @args;
		return if grep { !$bound->{$_} } map { names($_) } grep { $_->[0] !~ /^(var|any)$/ } @args;
		return \@free;
	}
	my @missing = grep { !$bound->{$_} } names($literal);
	return [] if !@missing;
	return if $kind ne 'cmp' || $parts[0] ne '=';
	for my $side ([ @parts[ 1, 2 ] ], [ @parts[ 2, 1 ] ])
	{
		my ($to, $from) = @$side;
		next if $to->[0] ne 'var' || $bound->{ $to->[1] };
		return [ $to->[1] ] if !grep { !$bound->{$_} } names($from);
	}
	return;
}

# The order in which a conjunction can be evaluated; undef if there is none.
sub plan
{
	my ($body, $bound) = @_;
	my %bound = %$bound;
	my @left = @$body;
	my @plan;
	while (@left)
	{
		my ($at, $new);
		for my $i (0 .. $#left)
		{
			$new = ready($left[$i], \%bound) or next;
			$at = $i;
			last;
		}
		return if !defined $at;
		push @plan, [ splice(@left, $at, 1), scalar @$new ];
		@bound{@$new} = (1) x @$new;
	}
	return (\@plan, \%bound);
}

# All matches of a conjunction that extend some bindings.
sub solve
{
	my ($body, $bindings, $full) = @_;
	return [] if !@$bindings;
	my ($plan) = plan($body, { map { $_ => 1 } keys %{ $bindings->[0] } }) or die 'no order';
	for my $step (@$plan)
	{
		my ($literal, $binds) = @$step;
		my ($kind, @parts) = @$literal;
		die "large\n" if @$bindings > 20000;
		if ($kind eq 'atom')
		{
			my @out;

			for my $binding (@$bindings)
			{
				push @out, @{ match($literal, $binding, $full) };
				die "large\n" if @out > $MOST_BINDINGS;
			}
			$bindings = \@out;
		}
		elsif ($binds)
		{
			my @out;
			for my $binding (@$bindings)
			{
				my ($to, $from) = $parts[1][0] eq 'var' && !exists $binding->{ $parts[1][1] } ? @parts[ 1, 2 ] : @parts[ 2, 1 ];
				push @out, map { { %$binding, $to->[1] => $_ } } grep { defined } values_of($from, $binding, $full);
				die "large\n" if @out > $MOST_BINDINGS;
			}
			$bindings = \@out;
		}
		else
		{
			$bindings = [ grep { holds($literal, $_, $full) } @$bindings ];
		}
		last if !@$bindings;
	}
	return $bindings;
}

# The conjunctions that a body stands for.
sub alternatives
{
	my ($body) = @_;
	my @result = ([]);
	for my $literal (@$body)
	{
		my ($kind, @parts) = @$literal;
		my @options = $kind eq 'or' ? (map { alternatives($_) } @parts) : ([$literal]);
		@result = map { my $left = $_; map { [ @$left, @$_ ] } @options } @result;
	}
	return @result;
}

# Add a row; of a relation that keeps extremes, if it is better.  Was it new?
sub add_row
{
	my ($relation, $full, @row) = @_;
	my $rows = $full->{ $relation->{name} };
	my @key = @row;
	if (defined $relation->{best})
	{
		my $value = splice @key, $relation->{at}, 1;
		my $known = $rows->{ join "\0", @key };
		return 0 if $known && ($known->[ $relation->{at} ] <=> $value) * $relation->{best} <= 0;
	}
	my $key = join "\0", @key;
	return 0 if !defined $relation->{best} && $rows->{$key};
	$rows->{$key} = \@row;
	return 1;
}

sub evaluate
{
	my ($clauses, $relations, $full) = @_;
	my $changed = 1;
	my $rounds = 0;
	while ($changed)
	{
		$changed = 0;
		die "large\n" if ++$rounds > 60;
		for my $clause (@$clauses)
		{
			for my $body (alternatives($clause->{body}))
			{
				for my $binding (@{ solve($body, [ {} ], $full) })
				{
					for my $head (@{ $clause->{heads} })
					{
						my (undef, $name, @args) = @$head;
						my @row = map { value($_, $binding, $full) } @args;
						$changed |= add_row($relations->{$name}, $full, @row) if !grep { !defined } @row;
					}
				}
			}
		}
	}
	return;
}

# ---- text ----

sub expr_text
{
	my ($expr, $around) = @_;
	my ($kind, $name, @args) = @$expr;
	$around //= -1;
	return '_' if $kind eq 'any';
	return $name if $kind eq 'var';
	if ($kind eq 'const')
	{
		return qq("$name") if $name !~ /^-?\d/;
		# a sign binds as the operator does
		return $around > 9 && $name < 0 ? "($name)" : chance(0.1) && $name >= 0 ? sprintf(pick('0x%x', '0b%b'), $name) : $name;
	}
	return '[' . join(', ', map { expr_text($_) } $name, @args) . ']' if $kind eq 'rec';
	if ($kind eq 'agg')
	{
		my ($target, $body) = @args;
		my $text = "$name " . ($target ? expr_text($target, chance(0.3) ? 20 : -1) . ' ' : '') . ': ' .
			(@$body == 1 && $body->[0][0] eq 'atom' && chance(0.5) ? literal_text($body->[0]) : '{ ' . body_text($body) . ' }');
		return $around >= 0 ? "($text)" : $text;
	}
	my $extra = chance(0.1);
	my $text;
	my $level;
	if (exists $LEVEL{$name})
	{
		$level = $LEVEL{$name};
		$text = expr_text($args[0], $level) . " $name " . expr_text($args[1], $level + 1);
	}
	elsif ($name =~ /^(neg|bnot|lnot)$/)
	{
		$level = 9;
		$text = ($name eq 'neg' ? '-' : "$name ") . expr_text($args[0], 9);
		$text =~ s/^--/- -/;
	}
	elsif ($name eq '^')
	{
		$level = 10;
		$text = expr_text($args[0], 11) . '^' . expr_text($args[1], 9);
	}
	else
	{
		return "$name(" . join(', ', map { expr_text($_) } @args) . ')';
	}
	return $level < $around || $extra ? "($text)" : $text;
}

sub literal_text
{
	my ($literal) = @_;
	my ($kind, $name, @args) = @$literal;
	return $kind if $kind =~ /^(true|false)$/;
	return '!' . literal_text($name) if $kind eq 'not' && $name->[0] =~ /^(atom|test|or|true|false|not)$/;
	return '!(' . literal_text($name) . ')' if $kind eq 'not';
	return '(' . join(' ; ', map { body_text($_) } $name, @args) . ')' if $kind eq 'or';
	return "$name(" . join(', ', map { expr_text($_) } @args) . ')' if $kind ne 'cmp';
	return join ' ', expr_text($args[0]), $name, expr_text($args[1]);
}

sub body_text { my ($body) = @_; return join ', ', map { literal_text($_) } @$body; }

sub clause_text
{
	my ($clause) = @_;
	my $heads = body_text($clause->{heads});
	return "$heads." if !@{ $clause->{body} };
	# the outermost alternatives need no parentheses
	my @body = @{ $clause->{body} };
	return "$heads :- " . (@body == 1 && $body[0][0] eq 'or' ? join(' ; ', map { body_text($_) } @{ $body[0] }[ 1 .. $#{ $body[0] } ]) : body_text(\@body)) . '.';
}

# ---- drawing ----

my %NAMES = (number => [qw(x y z w)], symbol => [qw(s t u)], pair => [qw(l)]);
my $locals;

sub constant { my ($type) = @_; return $type eq 'pair' ? [ rec => constant('number'), constant('number') ] : [ const => $type eq 'number' ? between(-2, 6) : pick(qw(a b ab ba c), '') ]; }

# An expression of a type over variables, given as names by type.
sub expression
{
	my ($type, $scope, $depth) = @_;
	my @names = @{ $scope->{$type} // [] };
	my $part = sub { expression($_[0], $scope, $depth - 1) };
	return @names && chance(0.6) ? [ var => pick(@names) ] : [ rec => map { $part->('number') } 1 .. 2 ] if $type eq 'pair';
	return @names && chance(0.85) ? [ var => pick(@names) ] : constant($type) if $depth <= 0 || chance(0.25);
	if ($type eq 'symbol')
	{
		my $name = pick(qw(cat substr to_string));
		return [ op => 'cat', map { $part->('symbol') } 1 .. between(2, 3) ] if $name eq 'cat';
		return [ op => 'substr', $part->('symbol'), [ const => between(0, 2) ], [ const => between(0, 2) ] ] if $name eq 'substr';
		return [ op => 'cat', [ const => 'n' ], [ op => 'to_string', $part->('number') ] ];
	}
	my $name = pick(qw(+ - * + - * / % band bor bxor bshl bshr land lor lxor neg bnot lnot @abs min max ^ strlen to_number));
	return [ op => $name, map { $part->('number') } 1 .. between(2, 3) ] if $name =~ /^m/;
	return [ op => $name, $part->('number') ] if $name =~ /^(neg|bnot|lnot|\@abs)$/;
	return [ op => 'strlen', $part->('symbol') ] if $name eq 'strlen';
	return [ op => 'to_number', [ op => 'to_string', $part->('number') ] ] if $name eq 'to_number';
	return [ op => $name, $part->('number'), [ const => between(1, 5) ] ] if $name =~ m{^[/%]$};
	return [ op => $name, $part->('number'), [ const => between(0, 3) ] ] if $name =~ /^(\^|bsh.)$/;
	return [ op => $name, $part->('number'), $part->('number') ];
}

# The same in a range that recursion does not leave.
sub bounded
{
	my ($type, $scope) = @_;
	my $expr = expression($type, $scope, pick(0, 0, 0, 1, 2));
	return [ rec => map { bounded('number', $scope) } 1 .. 2 ] if $expr->[0] eq 'rec';
	return $expr if $expr->[0] ne 'op';
	return $type eq 'symbol' ? [ op => 'substr', $expr, [ const => 0 ], [ const => 2 ] ] : [ op => pick('%', '%', 'band'), $expr, [ const => 7 ] ];
}

# An atom; its arguments are variables, or come from those in scope.
sub atom
{
	my ($relation, $scope, $names) = @_;
	return [ atom => $relation->{name}, map
		{
			my $type = $_;
			my $which = rand;
			# an unknown field may not stand under a negation
			my @fields = $scope == $names ? () : [ 'any' ];
			$type eq 'pair' && chance(0.7) ? [ rec => map { @{ $names->{number} } && chance(0.8) ? [ var => pick(@{ $names->{number} }) ] : pick(constant('number'), @fields) } 1 .. 2 ] :
			$which < 0.78 && @{ $names->{$type} // [] } ? [ var => pick(@{ $names->{$type} }) ] : $which < 0.88 ? [ 'any' ] : $which < 0.94 ? constant($type) : expression($type, $scope, 1)
		} @{ $relation->{types} } ];
}

sub comparison
{
	my ($scope) = @_;
	my $type = pick(qw(number number symbol));
	return [ test => 'contains', expression('symbol', $scope, 1), expression('symbol', $scope, 1) ] if $type eq 'symbol' && chance(0.2);
	return [ test => 'match', [ const => pick('a.*', '[ab]+', 'b?a|c', '.') ], expression('symbol', $scope, 1) ] if $type eq 'symbol' && chance(0.2);
	# equal texts of numbers would compare as numbers here
	return [ cmp => pick('=', '!=', $type eq 'symbol' ? () : qw(< <= > >=)), expression($type, $scope, pick(0, 0, 1, 2)), expression($type, $scope, pick(0, 0, 1)) ];
}

# What must not hold, or need not: a literal whose variables have values.
sub condition
{
	my ($scope, $below, $depth) = @_;
	my $which = rand;
	return comparison($scope) if $which < 0.4 || !@$below;
	return [ not => [ 'or', map { [ map { condition($scope, $below, $depth - 1) } 1 .. between(1, 2) ] } 1 .. between(1, 2) ] ] if $which < 0.6 && $depth > 0;
	return [ $depth > 0 ? pick(qw(true true false)) : 'true' ] if $which < 0.62;
	my $atom = atom(pick(@$below), $scope, $scope);
	return $which < 0.9 ? [ not => $atom ] : $atom;
}

# count, sum, min or max over complete relations.
sub aggregate
{
	my ($scope, $below, $depth) = @_;
	my %inner = map { $_ => [] } keys %$scope;
	my %names = map { my $type = $_; $type => [ (map { "k" . ++$locals } 1 .. 2), @{ $scope->{$type} } ] } keys %$scope;
	my @body = map { atom(pick(@$below), $scope, \%names) } 1 .. pick(1, 1, 2);
	my %seen;
	for my $atom (@body)
	{
		my $relation = (grep { $_->{name} eq $atom->[1] } @$below)[0];
		for my $i (0 .. $#{ $relation->{types} })
		{
			my $arg = $atom->[ 2 + $i ];
			push @{ $inner{ $relation->{types}[$i] } }, $arg->[1] if $arg->[0] eq 'var' && !$seen{ $arg->[1] }++;
		}
	}
	push @body, [ cmp => '=', [ var => 'k' . ++$locals ], expression('number', \%inner, 1) ] if chance(0.15);
	push @body, condition(\%inner, $below, 0) if chance(0.3);
	if ($depth > 0 && chance(0.15))
	{
		my $sub = aggregate(\%inner, $below, 0);
		push @body, [ cmp => pick('=', '<', '>='), expression('number', \%inner, 0), $sub ];
	}
	my $function = pick(qw(count sum min max));
	my $target = $function eq 'count' ? undef : expression('number', \%inner, pick(0, 0, 1));
	my %outer = map { $_ => 1 } map { @$_ } values %$scope;
	my %used = map { $_ => 1 } grep { $outer{$_} } map { names($_) } @body, $target // ();
	return [ agg => $function, $target, \@body, [ sort keys %used ] ];
}

sub shuffle { return map { $_->[1] } sort { $a->[0] <=> $b->[0] } map { [ rand, $_ ] } @_; }

# Names that atoms give values to, by type.
sub scope_of
{
	my ($relations, @atoms) = @_;
	my (%scope, %seen);
	@scope{qw(number symbol pair)} = ([], [], []);
	for my $atom (@atoms)
	{
		my (undef, $name, @args) = @$atom;
		for my $i (0 .. $#args)
		{
			my $type = $relations->{$name}{types}[$i];
			push @{ $scope{ $args[$i][0] eq 'rec' ? 'number' : $type } }, $_->[1] for grep { $_->[0] eq 'var' && !$seen{ $_->[1] }++ } parts_of($args[$i]);
		}
	}
	return \%scope;
}

# A rule that begins with some rows of a relation.
sub draw_seed
{
	my ($relations, $head, $sources) = @_;
	my $source = pick(@$sources);
	my $atom = [ atom => $source->{name}, map { [ var => $_ ] } qw(x y z)[ 0 .. $#{ $source->{types} } ] ];
	my $scope = scope_of($relations, $atom);
	return { heads => [ [ atom => $head->{name}, map { bounded($_, $scope) } @{ $head->{types} } ] ], body => [$atom] };
}

# A rule for one of some heads.
sub draw_clause
{
	my ($relations, $heads, $sources, $below) = @_;
	my @heads = chance(0.1) ? @$heads : pick(@$heads);
	my @atoms = map { atom(pick(@$sources), { number => [], symbol => [] }, \%NAMES) } 1 .. pick(1, 2, 2, 3);
	my $scope = scope_of($relations, @atoms);
	my @body = @atoms;
	# another variable that equals an expression, or another name for one
	if (chance(0.4))
	{
		my $type = pick(qw(number number symbol));
		my $name = $type eq 'number' ? 'v' : 'r';
		my @sides = ([ var => $name ], expression($type, $scope, pick(0, 0, 1)));
		push @body, [ cmp => '=', chance(0.5) ? @sides : reverse @sides ];
		push @{ $scope->{$type} }, $name;
		push @body, atom(pick(@$sources), $scope, $scope) if chance(0.2);
	}
	if (chance(0.15))
	{
		push @body, [ cmp => '=', [ var => 'j' ], [ op => 'range', map({ bounded('number', $scope) } 1 .. 2), map { [ const => $_ ] } pick([], [], [1], [2], [-1])->@* ] ];
		push @{ $scope->{number} }, 'j';
	}
	push @body, condition($scope, $below, 2) for 1 .. pick(0, 0, 1, 1, 2);
	push @body, [ 'or', map { [ chance(0.6) ? atom(pick(@$sources), $scope, \%NAMES) : (), map { condition($scope, $below, 1) } 1 .. between(1, 2) ] } 1 .. between(1, 3) ] if chance(0.25);
	if (@$below && chance(0.3))
	{
		my $aggregate = aggregate($scope, $below, 1);
		push @body, [ cmp => pick('=', '=', '=', '<', '!='), chance(0.6) ? [ var => 'n' ] : expression('number', $scope, 1), $aggregate ];
		if ($body[-1][1] eq '=' && $body[-1][2][0] eq 'var' && $body[-1][2][1] eq 'n')
		{
			push @{ $scope->{number} }, 'n';
			push @body, comparison($scope) if chance(0.3);
		}
	}
	return { heads => [ map { my $head = $_; [ atom => $head->{name}, map { bounded($_, $scope) } @{ $head->{types} } ] } @heads ], body => [ shuffle(@body) ] };
}

# Does each alternative give every variable a value, inside of aggregates as well?
sub is_safe
{
	my ($clause) = @_;
	for my $body (alternatives($clause->{body}))
	{
		my ($plan, $bound) = plan($body, {}) or return 0;
		return 0 if grep { !$bound->{$_} } map { names($_) } @{ $clause->{heads} };
		for my $agg (aggregates(@$body))
		{
			my ($inner, $all) = plan($agg->[3], { map { $_ => 1 } @{ $agg->[4] } }) or return 0;
			return 0 if $agg->[2] && grep { !$all->{$_} } names($agg->[2]);
		}
	}
	return 1;
}

sub aggregates
{
	my @nodes = grep { ref } @_;
	return map { $_ && ref $_ eq 'ARRAY' ? ((@$_ && !ref($_->[0] // '') && ($_->[0] // '') eq 'agg' ? $_ : ()), aggregates(@$_)) : () } @nodes;
}

sub draw_safe
{
	my @how = @_;
	while (1)
	{
		my $clause = draw_clause(@how);
		return $clause if is_safe($clause);
	}
}

# A relation that keeps least (1) or greatest (-1) values, and its rules.
sub draw_extreme
{
	my ($sources) = @_;
	my $best = pick(1, -1);
	my $at = between(0, 1);
	my $relation = { name => 'm', types => [qw(number number)], best => $best, at => $at };
	my $row = sub { my ($key, $value) = @_; return [ atom => 'm', $at ? ($key, $value) : ($value, $key) ]; };
	my @vars = map { [ var => $_ ] } qw(x d y);
	my $step = pick($vars[1], [ op => $best > 0 ? '+' : '-', $vars[1], [ const => between(0, 3) ] ], [ op => pick(qw(min max)), $vars[1], $vars[2] ]);
	my @clauses = ({ heads => [ $row->($vars[0], $vars[1]) ], body => [ [ atom => pick(@$sources), @vars[ 0, 1 ] ] ] },
		{ heads => [ $row->($vars[2], $step) ], body => [ shuffle($row->(@vars[ 0, 1 ]), [ atom => pick(@$sources), @vars[ 0, 2 ] ]) ] });
	my @kept = $at ? (qw(k a), qw(k b)) : (qw(a k), qw(b k));
	my $text = sprintf 'm(%s, %s) <= m(%s, %s) :- b %s a.', @kept, $best > 0 ? pick('<', '<=') : pick('>', '>=');
	return ($relation, $text, @clauses);
}

# A relation of which only rows stay that give way to no other, and its rules.
sub draw_subsumed
{
	my ($relations, $sources) = @_;
	my $relation = { name => 's', types => [qw(number number number)] };
	my ($text, $yields) = @{ pick([ 'a <= d, b <= e, c <= f', sub { my ($x, $y) = @_; $x->[0] <= $y->[0] && $x->[1] <= $y->[1] && $x->[2] <= $y->[2] } ],
		[ 'a <= d, b >= e, c = f', sub { my ($x, $y) = @_; $x->[0] <= $y->[0] && $x->[1] >= $y->[1] && $x->[2] == $y->[2] } ],
		[ 'a = d, b + c < e + f', sub { my ($x, $y) = @_; $x->[0] == $y->[0] && $x->[1] + $x->[2] < $y->[1] + $y->[2] } ]) };
	return ($relation, "s(a, b, c) <= s(d, e, f) :- $text.", $yields, map { draw_seed($relations, $relation, $sources) } 1 .. between(1, 3));
}

# Drop the rows that give way to another.
sub subsume
{
	my ($rows, $yields) = @_;
	my @gone = grep { my $key = $_; grep { $_ ne $key && $yields->($rows->{$key}, $rows->{$_}) } keys %$rows } keys %$rows;
	delete @$rows{@gone};
	return;
}

# Are these rows (as text) some of those that a relation may hold, with none that could stay left out?
sub is_choice
{
	my ($choice, @chosen) = @_;
	my %all = map { $_ => 1 } @{ $choice->{rows} };
	my @taken = map { {} } @{ $choice->{keys} };
	my $keys_of = sub { my @row = split /\|/, $_[0], -1; return map { join '|', @row[@$_] } @{ $choice->{keys} }; };
	for my $row (@chosen)
	{
		return 0 if !$all{$row};
		my @keys = $keys_of->($row);
		$taken[$_]{ $keys[$_] }++ && return 0 for 0 .. $#keys;
	}
	for my $row (keys %all)
	{
		my @keys = $keys_of->($row);
		return 0 if !grep { $taken[$_]{ $keys[$_] } } 0 .. $#keys;
	}
	return 1;
}

my %BASE = (f1 => [qw(number number)], f2 => [qw(number symbol)], f3 => [qw(symbol symbol number)]);
my %rows;

# SQL that makes the tables that programs read, with other rows each time.
sub base_tables
{
	my @script;
	for my $name (sort keys %BASE)
	{
		my @types = @{ $BASE{$name} };
		my @made = map { [ map { $_ eq 'number' ? between(0, 4) : pick(qw(a b ab), '') } @types ] } 1 .. pick(0, 8, 12, 12, 16);
		$rows{$name} = { map { join("\0", @$_) => $_ } @made };
		push @script, "DROP TABLE IF EXISTS $name", "CREATE TABLE $name (" . join(', ', map { "c$_ " . ($types[$_] eq 'number' ? 'int' : 'text') } 0 .. $#types) . ')',
			map { my $row = $_; "INSERT INTO $name VALUES (" . join(', ', map { "'$_'" } @$row) . ')' } @made;
	}
	return join ";\n", @script;
}

sub draw_program
{
	my %relations = map { $_ => { name => $_, types => $BASE{$_} } } keys %BASE;
	my %full = map { $_ => { %{ $rows{$_} } } } keys %BASE;
	my @base = map { $relations{$_} } sort keys %BASE;
	my @texts;
	my $add = sub {
		my ($clauses, @new) = @_;
		$full{ $_->{name} } = {} for @new;
		evaluate($clauses, \%relations, \%full);
		push @texts, map { clause_text($_) } @$clauses;
	};
	my $declare = sub {
		my ($name, @types) = @_;
		return $relations{$name} = { name => $name, types => \@types };
	};
	my $any_types = sub { return map { pick(qw(number number number symbol symbol pair)) } 1 .. between(1, 3); };

	$locals = 0;
	my $g = $declare->('g', $any_types->());
	$add->([ map { { heads => [ [ atom => 'g', map { expression($_, { number => [], symbol => [] }, pick(0, 0, 1)) } @{ $g->{types} } ] ], body => [] } } 1 .. between(1, 5) ], $g);
	push @base, $g;
	my @lower = ($declare->('p', $any_types->()), $declare->('q', $any_types->()));
	$add->([ (map { draw_seed(\%relations, $_, \@base) } @lower, @lower), map { draw_safe(\%relations, \@lower, [ @base, @lower, @lower ], \@base) } 1 .. between(1, 3) ], @lower);
	my @pairs = grep { "@{ $relations{$_}{types} }" eq 'number number' } sort keys %relations;
	my ($m, $subsumption, @clauses) = draw_extreme(\@pairs);
	$relations{m} = $m;
	$add->(\@clauses, $m);
	push @texts, $subsumption;
	my ($s, $gives_way, $yields, @offers) = draw_subsumed(\%relations, [ @base, @lower ]);
	$relations{s} = $s;
	$add->(\@offers, $s);
	subsume($full{s}, $yields);
	push @texts, $gives_way;
	my @known = (@base, @lower, $m, $s);
	my @upper = ($declare->('h', $any_types->()), $declare->('i', $any_types->()));
	$add->([ (map { draw_seed(\%relations, $_, \@known) } @upper), map { draw_safe(\%relations, \@upper, [ @known, @upper, @upper ], \@known) } 1 .. between(1, 2) ], @upper);
	# rows that choices leave out are not known: nothing reads them
	my $c = $declare->('c', map { pick(qw(number symbol)) } 1 .. 3);
	$c->{choice} = pick([ '0', [ [0] ] ], [ '0, (1, 2)', [ [0], [ 1, 2 ] ] ], [ '(0, 2), 1', [ [ 0, 2 ], [1] ] ]);
	$add->([ map { draw_seed(\%relations, $c, \@known) } 1 .. between(1, 3) ], $c);
	my @declared = map { my $relation = $relations{$_}; ".decl $_(" . join(', ', map { "c$_:$relation->{types}[$_]" } 0 .. $#{ $relation->{types} }) . ')' .
		($relation->{choice} ? ' choice-domain ' . ($relation->{choice}[0] =~ s/(\d)/c$1/gr) : '') } sort keys %relations;
	my %derived = map { my $rows = $full{$_}; $_ => [ sort map { join '|', @$_ } values %$rows ] } grep { !$BASE{$_} } keys %relations;
	my %columns = map { my $types = $relations{$_}{types}; $_ => join(', ', map { "c$_ " . ($types->[$_] eq 'number' ? 'int8' : 'text') } 0 .. $#$types) } keys %derived;
	my %choices = (c => { keys => $c->{choice}[1], rows => $derived{c} });
	return (join("\n", shuffle('.type pair = [a:number, b:number]', '.functor abs(x:number):number', @declared, @texts)), \%columns, \%derived, \%choices);
}

# Programs that were drawn and not taken, as they grew too large.
my $skipped = 0;
sub programs_skipped { return $skipped; }

# A program, the column list of each of its relations, and its rows, sorted, as psql shows them;
# what choices leave of a relation's rows (is_choice).
sub random_program
{
	while (1)
	{
		my @made = eval { draw_program() };
		return @made if @made;
		die $@ if $@ ne "large\n";
		$skipped++;
	}
	return;
}

1;
