# 014_ordered.pl: random queries with ORDER BY (LIMIT, OFFSET, ties, cursors that go
# both ways, DISTINCT ON, LATERAL, windows, samples, row locks) and with expressions
# above groups, over heap tables and gpucol tables; rows must come in the same order.
#
# GPUCOL_SEED names another run, GPUCOL_SCRIPTS and GPUCOL_STEPS lengthen it.
use strict;
use warnings;
use utf8;
use FindBin;
use lib $FindBin::Bin;
use Gpucol;
use Statements;
use Twins;
use Test::More;

my $seed = seed_random(14);
my $node = twin_server('ordered');

compare_twins($node, $seed, \&ordered_script, 3, 350);
$node->stop;
done_testing();
