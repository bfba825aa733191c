# 026_damage.pl: files of a stopped server are damaged; then whatever reads them raises a
# clear error, or gpucol.verify reports the damage. Never a crash, never a wrong answer
# of which neither says a word.
#
# Tables of one layout, each with many segments, tombstones, bitmaps, lock records, free
# pages, failed loads and a delta. Each round damages one file of each table: its main
# fork, its TOAST relation or that one's index. By construction nothing is damaged that
# heap could not notice or survive either: pages of the delta, headers of tuples, TOAST
# values of the delta and their index. The answers after the damage are compared with those of the same statements
# without.
#
# GPUCOL_ROUNDS rounds (default 2) of a dozen damaged files, the same each time unless GPUCOL_SEED is given.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Gpucol;
use File::Copy;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $TABLES = 12;
my $ROUNDS = $ENV{GPUCOL_ROUNDS} || 2;
my $PAGE = 8192;
my $TRAILER = 24 + 63 * 128;	# where a segment page's magic number is
my @FORKS = qw(main toast index);

seed_random(26);
my $node = new_server('damage', 'autovacuum = off', 'checkpoint_timeout = 1h', 'shared_buffers = 16MB',
	"statement_timeout = '60s'", 'restart_after_crash = on');
my $data = $node->data_dir;

# ---- tables --------------------------------------------------------------------------

# Rows of table number $n with ids from $low to $high.
sub rows
{
	my ($n, $low, $high) = @_;

	return "SELECT i, (i + $n) % 7, (i * 7919 + $n) % 100003, 'label ' || (i + $n) % 20, md5((i * $n)::text),"
	  . " CASE WHEN i % 3 = 0 THEN NULL ELSE i * $n END FROM generate_series($low, $high) i";
}

sub make_table
{
	my ($table, $n) = @_;

	$node->safe_psql('postgres', "SET gpucol.segment_rows = 2048;" . join ';', split /\n/, <<~SQL);
		CREATE TABLE $table (id int PRIMARY KEY, few int, many int, label text, hash text, gaps int) USING gpucol
		INSERT INTO $table @{[ rows($n, 1, 20000) ]}
		DELETE FROM $table WHERE id % 10 = 3 OR id BETWEEN 4000 AND 8000
		SQL
	$node->safe_psql('postgres', "BEGIN; INSERT INTO $table @{[ rows($n, 30001, 33000) ]}; ROLLBACK");
	$node->safe_psql('postgres', "VACUUM $table") for 1 .. 2;
	return;
}

# Has a table TOAST values of the delta?  In their index heap would go round in circles.
sub has_values { return $_[0] % 2; }

# What the first state of the files lacks.
sub go_on
{
	my ($table, $n) = @_;

	$node->safe_psql('postgres', "SET gpucol.segment_rows = 2048;" . join ';', split /\n/, <<~SQL);
		INSERT INTO $table @{[ rows($n, 20001, 24000) ]}
		DELETE FROM $table WHERE id % 9 = 4 AND id > 2500
		SELECT count(*) FROM (SELECT id FROM $table WHERE id < 200 FOR UPDATE) x
		UPDATE $table SET few = few + 1 WHERE id % 50 = 7
		INSERT INTO $table SELECT i, 0, 0, 'label', '', 0 FROM generate_series(40001, 40005) i
		SQL
	$node->safe_psql('postgres', "INSERT INTO $table SELECT i, 0, 0, string_agg(md5((i + j)::text), ''), '', 0"
		  . ' FROM generate_series(41001, 41005) i, generate_series(1, 400) j GROUP BY i') if has_values($n);
	return;
}

my %path;

# Files of a table, by what they hold.
sub find_files
{
	my ($table) = @_;
	my $files = $node->safe_psql('postgres', <<~SQL);
		SELECT pg_relation_filepath(c.oid), pg_relation_filepath(reltoastrelid), pg_relation_filepath(indexrelid)
		FROM pg_class c JOIN pg_index i ON indrelid = reltoastrelid WHERE c.oid = '$table'::regclass
		SQL

	@{ $path{$table} }{@FORKS} = split /\|/, $files;
	return;
}

my @tables = map { "packed$_" } 1 .. $TABLES;
my $copies = PostgreSQL::Test::Utils::tempdir();

make_table($tables[ $_ - 1 ], $_) for 1 .. $TABLES;
make_table('other', 99);
find_files($_) for @tables, 'other';
$node->safe_psql('postgres', 'CHECKPOINT');
for my $table (@tables)
{
	copy("$data/$path{$table}{$_}", "$copies/$table.$_") for @FORKS;
}
go_on($tables[ $_ - 1 ], $_) for 1 .. $TABLES;
go_on('other', 99);
$node->safe_psql('postgres', 'CHECKPOINT');
$node->stop;
PostgreSQL::Test::Utils::system_or_bail('cp', '-a', $data, "$copies/data");

# ---- questions -----------------------------------------------------------------------

my $by_index = 'SET enable_seqscan = off; SET enable_bitmapscan = off; SET gpucol.enabled = off';
my $by_bitmap = 'SET enable_seqscan = off; SET enable_indexscan = off; SET gpucol.enabled = off';
my $ids = join ', ', map { ($_ * 397) % 24000 } 1 .. 60;
my $check = 'SELECT count(*), sum(hashtextextended(x::text, 0)) FROM TABLE x';
my $verify = q{SELECT 'problem', * FROM gpucol.verify('TABLE')};

my @questions = (
	$verify, $check,
	'SELECT count(*) FROM TABLE WHERE many < 50000 AND gaps IS NOT NULL',
	'SELECT label, count(*), sum(many), max(hash) FROM TABLE WHERE length(label) < 10 GROUP BY label ORDER BY label',
	"$by_index; SELECT sum(hashtextextended(x::text, 0)) FROM TABLE x WHERE id IN ($ids)", 'RESET ALL',
	"$by_index; SELECT many FROM TABLE WHERE id = 77", 'RESET ALL',
	"$by_index; SELECT many FROM TABLE WHERE id = 4009", 'RESET ALL',
	"$by_bitmap; SELECT count(*), sum(many) FROM TABLE WHERE id BETWEEN 100 AND 9000", 'RESET ALL',
	'SELECT sum(rows), sum(deleted) FROM gpucol.segments(\'TABLE\')',
	'BEGIN', 'SELECT sum(many) FROM (SELECT many FROM TABLE WHERE id IN (150, 11000, 23000) FOR UPDATE) x', 'ROLLBACK',
	'UPDATE TABLE SET many = many + 1 WHERE id IN (12, 99, 3001, 9001, 15001, 23500)',
	'DELETE FROM TABLE WHERE id % 97 = 5', $check,
	"INSERT INTO TABLE @{[ rows(3, 50001, 52000) ]}",
	"SELECT gpucol.merge('TABLE')", $check, 'VACUUM TABLE', 'VACUUM TABLE', $check,
	"INSERT INTO TABLE @{[ rows(3, 60001, 63000) ]}", $check,
	"$by_index; SELECT sum(hashtextextended(x::text, 0)) FROM TABLE x WHERE id IN ($ids)", 'RESET ALL',
	$verify);

# Ask a table all questions in one session: [ SQLSTATE, output ] of each, and the error messages.
sub ask
{
	my ($table) = @_;
	my $script = "\\set VERBOSITY verbose\n";
	my $leave = "SELECT :'SQLSTATE' = '57014' AS hung \\gset\n\\if :hung\n\\q\n\\endif\n";
	my @answers;

	for my $number (0 .. $#questions)
	{
		$script .= ($questions[$number] =~ s/TABLE/$table/gr) . ";\n\\echo \@\@ $number :SQLSTATE\n$leave";
	}
	my ($output, $error) = ('', '');
	my $run = IPC::Run::start([ 'psql', '-X', '-q', '-A', '-t', '-d', $node->connstr('postgres') ], '<', \$script, '>', \$output,
		'2>', \$error, IPC::Run::timeout(600));
	unless (eval { $run->finish; 1 })
	{
		# what heeds no cancel request
		note($@);
		$run->kill_kill;
		kill_server($node);
		$node->start;
	}
	while ($output =~ /\G(.*?)^@@ (\d+) (\w+)\n/gms)
	{
		$answers[$2] = [ $3, $1 ];
	}
	return (\@answers, $error);
}

$node->start;
my %right;
for my $table (@tables)
{
	my $error;

	($right{$table}, $error) = ask($table);
	is($error, '', "$table: no error without damage");
	is_deeply([ map { $_->[1] } grep { $_->[1] =~ /problem/ } @{ $right{$table} } ], [], "$table: no problem without damage");
}
$node->stop('immediate');

# ---- damage --------------------------------------------------------------------------

sub slurp { my ($file) = @_; open my $in, '<:raw', $file or die "$file: $!"; local $/; return scalar <$in>; }
sub spew { my ($file, $bytes) = @_; open my $out, '>:raw', $file or die "$file: $!"; print $out $bytes; close $out; return; }
sub pages { return length($_[0]) / $PAGE; }
sub page { my ($bytes, $number) = @_; return substr $bytes, $number * $PAGE, $PAGE; }

# Pages of a file that may be damaged: in the main fork only those of segments.
sub candidates
{
	my ($fork, $bytes) = @_;

	return $fork eq 'index' ? (1 .. pages($bytes) - 1) : (0 .. pages($bytes) - 1) if $fork ne 'main';
	return grep { (unpack('L', substr page($bytes, $_), $TRAILER, 4) & 0xfffffff8) == 0x50434730 } 0 .. pages($bytes) - 1;
}

# Ranges of bytes [ offset, length ] of a TOAST page that hold directory rows' keys and values.
sub directory_bytes
{
	my ($page) = @_;
	my @ranges;

	for my $item (unpack 'L*', substr $page, 24, unpack('S', substr $page, 12, 2) - 24)
	{
		my ($offset, $flags, $length) = ($item & 0x7fff, ($item >> 15) & 3, $item >> 17);

		push @ranges, [ $offset + 24, $length - 24 ]
		  if $flags == 1 && unpack('L', substr $page, $offset + 24, 4) < 10000;
	}
	return @ranges;
}

# Has a TOAST page values of the delta?
sub values_on
{
	my ($page) = @_;

	for my $item (unpack 'L*', substr $page, 24, unpack('S', substr $page, 12, 2) - 24)
	{
		return 1 if (($item >> 15) & 3) == 1 && unpack('L', substr $page, ($item & 0x7fff) + 24, 4) >= 10000;
	}
	return 0;
}

# Random bytes in place of up to $most in a range.
sub scribble
{
	my ($page, $start, $length, $most) = @_;
	my $n = between(1, $most < $length ? $most : $length);
	my $at = $start + between(0, $length - $n);

	substr($$page, $at, $n) = join '', map { chr int rand 256 } 1 .. $n;
	return "$n random bytes at $at";
}

# Each changes the bytes of a file, given the number of a page, and says what it did; undef: it did not.
my %damage = (
	'random bytes' => sub {
		my ($bytes, $number, $fork) = @_;
		my $page = page($$bytes, $number);
		my @ranges = $fork eq 'toast' ? directory_bytes($page) : [ 0, $PAGE ];
		my $what;

		return unless @ranges;
		$what = scribble(\$page, @{ pick(@ranges) }, pick(1, 8, 100)) for 1 .. pick(1, 1, 5);
		substr($$bytes, $number * $PAGE, $PAGE) = $page;
		return $what;
	},
	'line pointers' => sub {
		my ($bytes, $number, $fork) = @_;
		my $page = page($$bytes, $number);
		my $length = unpack('S', substr $page, 12, 2) - 24;

		return if $fork ne 'toast' || $length < 4 || values_on($page);
		my $what = scribble(\$page, 24, $length, 4);
		substr($$bytes, $number * $PAGE, $PAGE) = $page;
		return $what;
	},
	'swapped pages' => sub {
		my ($bytes, $number, $fork) = @_;
		my $other = pick(candidates($fork, $$bytes));
		my ($one, $two) = (page($$bytes, $number), page($$bytes, $other));

		return if $one eq $two;
		substr($$bytes, $number * $PAGE, $PAGE) = $two;
		substr($$bytes, $other * $PAGE, $PAGE) = $one;
		return "with $other";
	},
	"another table's page" => sub {
		my ($bytes, $number, $fork) = @_;
		my $other = slurp("$copies/data/$path{other}{$fork}");

		return if $number >= pages($other);
		substr($$bytes, $number * $PAGE, $PAGE) = page($other, $number);
		return "its page $number";
	},
	'zeroed page' => sub {
		my ($bytes, $number) = @_;

		substr($$bytes, $number * $PAGE, $PAGE) = "\0" x $PAGE;
		return 'zeros';
	},
	'stale page' => sub {
		my ($bytes, $number, $fork, $table) = @_;
		my $old = slurp("$copies/$table.$fork");

		return if $number >= pages($old) || page($old, $number) eq page($$bytes, $number);
		substr($$bytes, $number * $PAGE, $PAGE) = page($old, $number);
		return 'as it was';
	},
	'cut off' => sub {
		my ($bytes, $number, $fork) = @_;

		return if $number == 0;
		substr($$bytes, $number * $PAGE) = '';
		return 'from here';
	});

# Damage one file of a table; says how.
sub damage
{
	my ($table) = @_;

	for (1 .. 1000)
	{
		my $fork = pick(grep { $_ ne 'index' || !has_values($table =~ /(\d+)/) } @FORKS);
		my $kind = pick(sort keys %damage);
		my $bytes = slurp("$data/$path{$table}{$fork}");
		my $number = pick(candidates($fork, $bytes));
		my $what = $damage{$kind}->(\$bytes, $number, $fork, $table) // next;

		spew("$data/$path{$table}{$fork}", $bytes);
		return { fork => $fork, kind => $kind, where => "$table: $kind, page $number of its $fork file, $what" };
	}
	die 'nothing to damage';
}

# ---- rounds --------------------------------------------------------------------------

my (%count, %codes);

# Compare what a damaged table answered; returns what is wrong with it.
sub judge
{
	my ($table, $answers, $error) = @_;
	my $noticed = 0;

	for my $number (0 .. $#questions)
	{
		my $answer = $answers->[$number];
		my $right = $right{$table}[$number];

		return "crashed or hung at: $questions[$number]" unless $answer && $answer->[0] !~ /^(?:57P0|08)/;
		return "hung at: $questions[$number]" if $answer->[0] eq '57014';
		$codes{ $answer->[0] }++;
		if ($answer->[0] ne '00000' || $answer->[1] =~ /problem/)
		{
			$noticed = 1;
		}
		elsif ($answer->[1] ne $right->[1] && !$noticed)
		{
			return "wrong answer, unnoticed, to: $questions[$number]";
		}
	}
	return $noticed ? 'noticed' : 'no difference';
}

for my $round (1 .. $ROUNDS)
{
	my %done;

	PostgreSQL::Test::Utils::system_or_bail('rm', '-rf', $data);
	PostgreSQL::Test::Utils::system_or_bail('cp', '-a', "$copies/data", $data);
	$done{$_} = damage($_) for @tables;
	$node->start;
	for my $table (@tables)
	{
		my ($answers, $error) = ask($table);
		my $verdict = judge($table, $answers, $error);
		my $class = $verdict =~ s/[ ,:].*//r;

		$node->poll_query_until('postgres', 'SELECT true') if $class eq 'crashed';
		$count{$class}++;
		$count{"$class: $done{$table}{fork}, $done{$table}{kind}"}++;
		ok($class !~ /crashed|hung|wrong/, "$done{$table}{where}: $verdict");
		note($error) if $ENV{GPUCOL_VERBOSE} || $class =~ /crashed|hung|wrong/;
	}
	$node->stop('immediate');
}
note("$_: $count{$_}") for sort keys %count;
note("SQLSTATE $_: $codes{$_}") for sort keys %codes;
cmp_ok($count{noticed}, '>', $ROUNDS * $TABLES / 3, 'damage has effects, and is noticed');
done_testing();
