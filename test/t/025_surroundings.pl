# 025_surroundings.pl: random scripts about what surrounds a table's rows (rights,
# policies, triggers, keys, columns and types that change, partitions, savepoints,
# COPY), run over heap tables and again over gpucol tables (Surroundings.pm).
#
# GPUCOL_SEED names another run, GPUCOL_SCRIPTS and GPUCOL_STEPS lengthen it.
use strict;
use warnings;
use utf8;
use FindBin;
use lib $FindBin::Bin;
use Gpucol;
use Surroundings;
use Twins;
use Test::More;

my $seed = seed_random(25);
my $node = twin_server('surroundings', 'autovacuum_naptime = 1s');

$node->safe_psql('postgres', surroundings());
compare_twins($node, $seed, \&surrounded_script, 2, 300);
$node->stop;
done_testing();
