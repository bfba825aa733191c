# 012_statements.pl: random scripts of SQL, run over heap tables and again over
# gpucol tables; every statement must print the same, errors included (Twins.pm).
#
# GPUCOL_SEED repeats a run, GPUCOL_SCRIPTS and GPUCOL_STEPS lengthen it.
use strict;
use warnings;
use utf8;
use FindBin;
use lib $FindBin::Bin;
use Gpucol;
use Statements;
use Twins;
use Test::More;

my $seed = seed_random();
my $node = twin_server('statements', 'autovacuum_naptime = 1s');

compare_twins($node, $seed, \&random_script, 3, 250);
$node->stop;
done_testing();
