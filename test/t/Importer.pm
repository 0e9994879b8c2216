# The program stepadv-import, as tests run it, and a server of their own.
package Importer;
use strict;
use warnings;
use File::Find;
use FindBin;
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# A server with the extension; undef where there is none.
sub new
{
	my ($class, $name) = @_;
	my $self = bless { data => "$FindBin::Bin/../data/import" }, $class;
	my ($bindir) = run_command([ 'pg_config', '--bindir' ]);
	my $script;
	find({ wanted => sub { $script //= $File::Find::name if $_ eq 'stepadv-import' && -f $_ } }, grep { -d } 'stage', $bindir);
	BAIL_OUT('stepadv-import is not installed') if !$script;
	$self->{script} = $script =~ m{^/} ? $script : "$ENV{PWD}/$script";
	$self->{node} = PostgreSQL::Test::Cluster->new($name);
	$self->{node}->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
	$self->{node}->start;
	return undef if ($self->{node}->psql('postgres', 'CREATE EXTENSION stepadv_import CASCADE'))[2] =~ /control file|is not available/i;
	return $self;
}

# Status, standard output and error of the program.
sub import_files
{
	my ($self, $schema, @arguments) = @_;
	my ($out, $err) = ('', '');
	IPC::Run::run([ $self->{script}, '-d', $self->{node}->connstr('postgres'), '-s', $schema, @arguments ], '>', \$out, '2>', \$err);
	return ($? >> 8, $out, $err);
}

sub value
{
	my ($self, $query) = @_;
	return $self->{node}->safe_psql('postgres', $query);
}

# A new directory, or a file in it with what is given.
sub directory
{
	my ($self, $name) = @_;
	my $path = File::Spec->rel2abs($self->{node}->basedir) . "/$name";
	require File::Path;
	File::Path::make_path($path);
	return $path;
}

sub file
{
	my ($self, $path, @documents) = @_;
	open my $fh, '>', $path or die "$path: $!";
	print $fh map { (ref $_ ? JSON::PP->new->utf8->canonical->encode($_) : $_) . "\n" } @documents;
	close $fh;
	return $path;
}

1;
