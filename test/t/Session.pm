# A persistent psql: queries need no new connection, and the server process keeps its caches, settings and pg_temp.
package Session;

use strict;
use warnings;
use IPC::Run;
use PostgreSQL::Test::Utils;

sub new
{
	my ($class, $node, $database, $role) = @_;
	return bless { node => $node, database => $database, role => $role }, $class;
}

# Returns (exit status, stdout, stderr) as of a psql that stops at the first error: then a new connection is opened.
sub psql
{
	my ($self, $sql) = @_;
	my $mark = 'the end of ' . ++$self->{n_calls};

	$self->{psql} //= $self->begin;
	$self->{in} .= "$sql\n;\n\\echo $mark\n\\warn $mark\n";
	$self->{timeout}->start;
	my $alive = eval {
		$self->{psql}->pump until $self->{out} =~ /^\Q$mark\E\n/m && $self->{err} =~ /^\Q$mark\E\n/m;
		1;
	};
	die "psql of $self->{role}: timed out in: $sql" if $self->{timeout}->is_expired;
	$self->end unless $alive;
	my @said = map { s/^\Q$mark\E\n//mr =~ s/\n\z//r } @$self{qw(out err)};
	$self->{out} = $self->{err} = '';
	return ($alive ? 0 : $self->{status}, @said);
}

sub begin
{
	my ($self) = @_;
	$self->{$_} = '' foreach qw(in out err);
	$self->{timeout} = IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default // 180);
	return IPC::Run::start([ 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-f', '-', '-U', $self->{role}, '-d', $self->{node}->connstr($self->{database}) ],
		'<', \$self->{in}, '>', \$self->{out}, '2>', \$self->{err}, $self->{timeout});
}

sub end
{
	my ($self) = @_;
	return unless $self->{psql};
	eval { $self->{psql}->finish };
	$self->{status} = $? >> 8 || 3;
	delete $self->{psql};
}

1;
