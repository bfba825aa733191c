# Sessions.pm: sessions of a server that run statements side by side.  A session speaks
# the simple protocol over the server's socket, so that a statement can be sent and its
# answer awaited later.
package Sessions;

use strict;
use warnings;
use IO::Select;
use IO::Socket::UNIX;

# A session with a server that listens in a folder; a name for it, and statements to begin with.
sub new
{
	my ($class, $host, $port, $user, $name, @first) = @_;
	my $self = bless { name => $name, bytes => '', busy => 0 }, $class;

	$self->{socket} = IO::Socket::UNIX->new("$host/.s.PGSQL.$port") or die "no server in $host: $!";
	my $start = pack('N', 196608) . "user\0$user\0database\0" . ($ENV{PGDATABASE} // 'postgres') . "\0application_name\0$name\0\0";
	$self->{socket}->syswrite(pack('N', 4 + length $start) . $start);
	$self->{busy} = 1;
	$self->wait;
	$self->run($_) foreach @first;
	return $self;
}

# Send a statement; its answer comes later.
sub send
{
	my ($self, $sql) = @_;

	die "$self->{name} is busy" if $self->{busy};
	$self->{busy} = 1;
	$self->{rows} = [];
	$self->{answer} = [];
	$self->{socket}->syswrite('Q' . pack('N', 5 + length $sql) . "$sql\0");
	return;
}

# Take a message from the server apart.
sub message
{
	my ($self, $type, $payload) = @_;

	if ($type eq 'D')
	{
		my $n = unpack('n', $payload);
		my $at = 2;
		my @values;

		foreach (1 .. $n)
		{
			my $length = unpack('l>', substr($payload, $at, 4));

			push @values, $length < 0 ? '' : substr($payload, $at + 4, $length);
			$at += 4 + ($length < 0 ? 0 : $length);
		}
		push @{ $self->{rows} }, join('|', @values);
	}
	elsif ($type eq 'C')
	{
		push @{ $self->{answer} }, @{ $self->{rows} }, substr($payload, 0, -1);
		$self->{rows} = [];
	}
	elsif ($type eq 'E')
	{
		my %field = map { /^(.)(.*)/s ? ($1, $2) : () } split /\0/, $payload;

		push @{ $self->{answer} }, "ERROR $field{C} $field{M}";
		$self->{rows} = [];
	}
	elsif ($type eq 'K')
	{
		$self->{pid} = unpack('N', $payload);
	}
	elsif ($type eq 'Z')
	{
		$self->{busy} = 0;
	}
	return;
}

# Read what has come for one of several sessions, for so many seconds at most.
sub poll
{
	my ($seconds, @sessions) = @_;
	my $select = IO::Select->new(map { $_->{socket} } @sessions);
	my %ready = map { fileno($_) => 1 } $select->can_read($seconds);

	foreach my $self (grep { $ready{ fileno($_->{socket}) } } @sessions)
	{
		$self->{socket}->sysread($self->{bytes}, 65536, length $self->{bytes})
		  or die "the server has left $self->{name}: @{ $self->{answer} // [] }";
		while (length $self->{bytes} >= 5)
		{
			my ($type, $length) = unpack('a N', $self->{bytes});

			last if length $self->{bytes} < 1 + $length;
			$self->message($type, substr($self->{bytes}, 5, $length - 4));
			substr($self->{bytes}, 0, 1 + $length) = '';
		}
	}
	return;
}

# Wait for the answer: rows and command tag, or "ERROR state message", a line each.
sub wait
{
	my ($self) = @_;

	poll(60, $self) while $self->{busy};
	return join("\n", @{ $self->{answer} // [] });
}

sub run
{
	my ($self, $sql) = @_;

	$self->send($sql);
	return $self->wait;
}

# run, which must succeed; rows without the tag.
sub rows
{
	my ($self, $sql) = @_;
	my $answer = $self->run($sql);

	die "$sql: $answer" if $answer =~ /^ERROR/m;
	return @{ $self->{answer} }[0 .. $#{ $self->{answer} } - 1];
}

1;
