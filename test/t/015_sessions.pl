# 015_sessions.pl: a session keeps prepared statements and functions with cached plans
# over tables that it and another session change, alter and merge; heap tables and
# gpucol tables must answer alike.
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

my $seed = seed_random(15);
my $node = twin_server('sessions');

compare_twins($node, $seed, \&sessions_script, 2, 200);
$node->stop;
done_testing();
