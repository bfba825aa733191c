# arrays.pl SECONDS SEED FOLDER: random statements over arrays and their elements (t/Arrays.pm), over heap tables and
# over gpucol tables, whose rows are compared in the server; between them both tables change in the same way, and the
# one is merged and vacuumed.
#
# Each round has tables of its own.  Where heap raises an error, gpucol must raise one of the same SQLSTATE.
# A finding says what both answered; its seed makes the same tables and statements.
use strict;
use warnings;
use utf8;
use FindBin;
use lib "$FindBin::Bin/../t", $FindBin::Bin;
use Arrays;
use Fuzz;
use Gpucol;

my $BATCHES = 8;		# changes of a round
my $STEPS = $ENV{GPUCOL_STEPS} || 50;	# statements between two of them

start_part('arrays', @ARGV);
my $node = new_server('fuzz_arrays', server_lines("datestyle = 'ISO'", 'timezone = UTC', 'shared_buffers = 128MB', 'max_wal_size = 2GB', 'jit = off', 'statement_timeout = 60s'));

# What a statement answers: how many rows and their sum, or an error.  Zeros that equal ones need not share are left
# out: signs of zeros, and the last ones of numerics.
$node->safe_psql('postgres', <<'SQL');
CREATE FUNCTION plain(x text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN
	regexp_replace(regexp_replace(regexp_replace(x, '(\.[0-9]*?)0+(?![0-9])', '\1', 'g'), '\.(?![0-9])', '', 'g'), '(^|[(,{"])-0(?=$|[),}"])', '\10', 'g');
CREATE FUNCTION answer(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE result text;
BEGIN
	EXECUTE 'WITH x AS MATERIALIZED (' || query || ') SELECT concat_ws(''|'', count(*), sum(hashtextextended(plain(x::text), 0)), left(min(plain(x::text) COLLATE "C"), 60)) FROM x' INTO result;
	RETURN result;
EXCEPTION WHEN OTHERS THEN RETURN SQLSTATE;
END $$;
CREATE FUNCTION compare(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE heap text := answer(replace(query, '_both', '_heap')); packed text := answer(replace(query, '_both', '_packed'));
BEGIN
	RETURN CASE WHEN heap = packed THEN 'same' ELSE concat_ws(E'\n', 'heap: ' || heap, 'gpucol: ' || packed) END;
END $$;
SQL

sub settings
{
	return join '', map { pick('', '', 'SET gpucol.pushdown = forbid;', 'SET gpucol.cpu_threads = 1;', 'SET gpucol.cpu_threads = 3;', "SET work_mem = '64kB';", 'SET enable_hashagg = off;', 'SET enable_sort = off;',
			'SET max_parallel_workers_per_gather = 0;', 'SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;') } 1 .. 2;
}

# One round: the script's statements are compared one by one.
sub round
{
	my ($seed) = @_;
	my $script = array_tables();
	my (@queries, @settings);

	for my $batch (1 .. $BATCHES)
	{
		my $set = settings();

		$script .= array_change() if $batch > 1;
		$script .= "$set\n";
		for (1 .. $STEPS)
		{
			push @queries, rand() < 0.5 ? array_statement() : element_statement();
			push @settings, $set;
			$script .= "\\echo <<< $#queries\nSELECT compare('" . $queries[-1] =~ s/'/''/gr . "');\n\\echo >>>\n";
		}
		$script .= "RESET ALL;\n";
	}
	my ($ran, $output, @said) = script_results($node, $script, 1200);
	my $wrong = 0;
	finding("round $seed: its tables were not made", substr $output, 0, 3000) if $output =~ /^psql:.*ERROR|^ERROR/m;
	for my $i (0 .. $#queries)
	{
		my $said = $said[$i];

		next if defined $said && $said eq "same\n";
		next if ($said // '') =~ /0A000/ && $queries[$i] =~ /array_position/;	# for which rows it is called is left open
		next if ++$wrong > 3;
		finding("round $seed, statement $i differs", "$settings[$i]\n$queries[$i]\n\n" . ($said // 'nothing: ' . substr $output, -2000));
		last if !defined $said;
	}
	if ($wrong)
	{
		open my $out, '>', keep("$seed.sql") or die;
		binmode $out, ':utf8';
		print $out $script;
		close $out;
	}
	counted(2 * @said);
	return;
}

my $rounds = 0;
while (going(15))
{
	round(round_seed());
	watch_log($node, '(?!)') && wait_for_server($node);
	$rounds++;
}
say_now("$rounds rounds");
$node->stop;
end_part();
