# 007_readme.pl: the SQL of README.md runs as it stands.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Gpucol;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('readme');
my $readme = slurp_file("$FindBin::Bin/../../README.md");
my @blocks = $readme =~ /^```sql\n(.*?)^```$/msg;

$node->init;
$node->start;
cmp_ok(scalar @blocks, '>', 0, 'README has SQL');
for my $block (@blocks)
{
	my ($status, $out, $error) = $node->psql('postgres', $block);

	is($status, 0, 'runs: ' . (split /\n/, $block)[0]) || diag($error);
}
$node->stop;
done_testing();
