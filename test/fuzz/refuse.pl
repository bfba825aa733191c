# refuse.pl SECONDS SEED FOLDER: a server that is refused memory, threads, files or room
# on the disk in the midst of its work.
#
# Statements may fail, for want of what was refused; no process may crash, and when the
# limit is gone, the table holds what its twin of heap holds, which was changed in the
# same transactions.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../t", $FindBin::Bin;
use Fuzz;
use Gpucol;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;

start_part('refuse', @ARGV);
my $node = new_server('fuzz_refuse', server_lines('shared_buffers = 16MB', 'max_connections = 20', 'log_error_verbosity = verbose', 'max_parallel_workers = 4', 'autovacuum = off', "shared_preload_libraries = 'gpucol'"));
my $disk = $ENV{FUZZ_DISK};
my $space = '';

if ($disk)
{
	$node->safe_psql('postgres', "CREATE TABLESPACE small LOCATION '$disk'");
	$space = ' TABLESPACE small';
}
else { say_now('no small disk (it needs root): the size of files is limited instead'); }

$node->safe_psql('postgres', <<~SQL);
	CREATE TABLE packed (id int PRIMARY KEY, k int, v text, n numeric(12,2), f float8) USING gpucol$space;
	CREATE TABLE twin (LIKE packed) USING heap;
	INSERT INTO packed SELECT i, i % 1000, md5(i::text), i / 7.0, i / 8.0 FROM generate_series(1, 60000) i;
	INSERT INTO twin SELECT * FROM packed;
	CREATE TABLE edges (a int, b int) USING gpucol;
	INSERT INTO edges SELECT i % 700, (i * 7) % 900 FROM generate_series(1, 6000) i;
	SQL

my $next = 100000;

sub statement
{
	my $first = $next;
	my $rows = pick(20, 2000, 30000);
	my $dice = rand;

	if ($dice < 0.3)
	{
		my $change = pick("INSERT INTO %s SELECT i, i % 1000, md5(i::text), i / 7.0, 1 FROM generate_series($first, " . ($first + $rows) . ') i', "DELETE FROM %s WHERE id % 50 = " . between(0, 49), "UPDATE %s SET k = k + 1, v = v || '!' WHERE id % 50 = " . between(0, 49));
		$next += $rows + 1;
		return 'BEGIN; ' . $change =~ s/%s/packed/r . '; ' . $change =~ s/%s/twin/r . '; COMMIT';
	}
	return pick("SELECT gpucol.merge('packed')", "VACUUM packed", "DROP INDEX IF EXISTS some_index; CREATE INDEX some_index ON packed (v); DROP INDEX IF EXISTS some_index", "CLUSTER packed USING packed_pkey", "REINDEX TABLE packed", "ANALYZE packed") if $dice < 0.4;
	return pick("SET gpucol.cpu_threads = " . pick(0, 1, 4, 16), "SET work_mem = '" . pick('64kB', '4MB', '1GB') . "'", "SET gpucol.pushdown = " . pick('allow', 'forbid'), "SET max_parallel_workers_per_gather = " . pick(0, 2), "SET parallel_setup_cost = " . pick(0, 1000), "SET gpucol.segment_rows = " . pick(1024, 65536)) if $dice < 0.5;
	return pick("SELECT v, count(*), sum(n) FROM packed GROUP BY v ORDER BY 2 DESC, 1 LIMIT 3", "SELECT k, count(*), avg(f), max(v) FROM packed GROUP BY k ORDER BY k LIMIT 3", "SELECT count(*) FROM packed x JOIN packed y ON x.v = y.v WHERE x.k < y.k", "SELECT id FROM packed ORDER BY v DESC LIMIT 5", "SELECT count(DISTINCT v), count(DISTINCT n) FROM packed", "SELECT max(r) FROM (SELECT rank() OVER (PARTITION BY k ORDER BY v) AS r FROM packed) q",
		"WITH RECURSIVE r(a, b) AS (SELECT a, b FROM edges UNION SELECT r.a, e.b FROM r JOIN edges e ON r.b = e.a) SELECT count(*) FROM r", "SELECT count(*) FROM gpucol.datalog('.decl e(a:number,b:number) e(1, 2). e(x + 1, y + 1) :- e(x, y), x < 3000. .decl o(a:number,b:number) o(x, y) :- e(x, y). o(x, z) :- o(x, y), e(y, z), x % 50 = 0. .output o', 'o') AS t(a int8, b int8)",
		"SELECT gpucol.u_topk(id, f, 0.5, 20) FROM packed WHERE id < 3000", "SELECT gpucol.expected_rank_topk(id, f, 0.3, 10) FROM packed", "SELECT string_agg(v, '') IS NULL FROM packed", "SELECT count(*) FROM packed WHERE v LIKE '%a%' AND v ~ 'b.*c'", "SELECT * FROM gpucol.verify('packed')", "CREATE TABLE copy$first USING gpucol AS SELECT * FROM packed; DROP TABLE IF EXISTS copy$first");
}

# Bytes of address space of a process, and threads of the server's user.
sub address_space { my ($pid) = @_; return slurp_file("/proc/$pid/status") =~ /VmSize:\s+(\d+) kB/ ? $1 : 0; }
sub threads { my $n = 0; for my $status (glob '/proc/[0-9]*/status') { open my $in, '<', $status or next; my $text = join '', <$in>; $n += $1 if $text =~ /^Uid:\s+$<\b/m && $text =~ /^Threads:\s+(\d+)/m; } return $n; }

# The server runs under a limit that its children inherit.
sub start_limited
{
	my ($limit) = @_;

	$node->stop;
	my $status = system 'bash', '-c', "$limit; exec pg_ctl -w -D \"\$0\" -l \"\$1\" -o '--cluster-name=fuzz_refuse' start >/dev/null 2>&1", $node->data_dir, $node->logfile;
	$node->_update_pid($status == 0 ? 1 : 0);
	$node->start if $status != 0;
	return $status == 0;
}

sub fill_disk
{
	my ($free) = @_;
	my $file = "$disk/filler";

	system "df --output=avail -k '$disk' | tail -1 | { read a; n=\$((a - $free)); [ \$n -le 0 ] || dd if=/dev/zero of='$file' bs=1k count=\$n 2>/dev/null; }";
	return;
}

my %did;
my $base = address_space(do { open my $in, '<', $node->data_dir . '/postmaster.pid' or die; 0 + <$in> });
my %limits = (
	memory => sub { 'ulimit -v ' . ($base + pick(20, 40, 80, 150, 300, 600) * 1024) },
	threads => sub { 'ulimit -u ' . (threads() + pick(8, 10, 12, 16, 24)) },
	files => sub { 'ulimit -n ' . pick(64, 80, 100, 140) },
	disk => sub { $disk ? do { fill_disk(pick(200, 2000, 8000)); 'true' } : 'ulimit -f ' . 24 * 1024 },
);

# The address sanitizer reserves terabytes and ends a process that is refused the least of them.
if ($base > 1 << 30)
{
	delete $limits{memory};
	say_now('memory is not refused to a server under the address sanitizer');
}

while (going(12))
{
	my $seed = round_seed();
	my $kind = pick(sort keys %limits);
	my $limit = $limits{$kind}->();
	my $under = start_limited($limit);

	$did{ $under ? $kind : "$kind (the server did not start)" }++;
	my $script = join '', "SET client_min_messages = warning;\nSET statement_timeout = '20s';\n", map { my $i = $_; "\\echo <<< $i\n" . statement() . ";\nROLLBACK;\n\\echo >>>\n" } 1 .. 40;
	my ($ran, $output, @found) = script_results($node, $script, 300);
	counted(scalar @found);
	finding("hangs under '$limit' (seed $seed)", substr $output, -3000) unless $ran;
	for my $i (0 .. $#found)
	{
		# codes of what is refused, of limits, of a time that is over, of a block of statements that failed before
		my @wrong = grep { !/^(?:53|54|58|57014|25P0|57P|08|55000: parallel worker failed to initialize|XX000: could not (?:fork|open|create|start|read|write|map|initialize|resize|load))/ } ($found[$i] // '') =~ /(?:ERROR|FATAL|PANIC):  (\S+ [^\n]*)/g;
		finding("under '$limit': $wrong[0]", "seed $seed\n" . (($script =~ /<<< $i\n(.*?)\n\\echo/s)[0] // '') . "\n\n$found[$i]") if @wrong;
	}
	unlink "$disk/filler" if $disk;
	start_limited('true');
	my ($one, $two) = map { ($node->psql('postgres', "SELECT count(*), sum(hashtextextended(x::text, 0)) FROM $_ x"))[1] } qw(packed twin);
	finding("packed differs from its twin after '$limit' (seed $seed)", "$one\n$two\n$output") if $one ne $two;
	my $sound = sound_table($node, 'packed', "after '$limit' (seed $seed)");
	watch_log($node, '(?!)') && wait_for_server($node);
	if ($one ne $two || !$sound || $node->safe_psql('postgres', 'SELECT count(*) FROM twin') > 150000)
	{
		$node->safe_psql('postgres', 'TRUNCATE packed; TRUNCATE twin; INSERT INTO packed SELECT i, i % 1000, md5(i::text), i / 7.0, i / 8.0 FROM generate_series(1, 30000) i; INSERT INTO twin SELECT * FROM packed');
	}
}
say_now('refused: ' . join ', ', map { "$did{$_} times $_" } sort keys %did);
$node->stop;
end_part();
