# What tests of stepadv-import have in common: a server with the importers, files, and
# the program's words.
package Importing;
use strict;
use warnings;
use Exporter 'import';
use File::Find;
use File::Spec;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(begin_importing write_file import_files count_of value directory script);
my ($node, $script, $dir);

# The program is installed with the extension: in the stage here, or where the server
# has it.  is_tried: the extension is not left there.
sub begin_importing
{
	my ($name, $is_tried) = @_;
	# Asked in this way since pg_available_extensions does not look into a stage.
	my $create = 'CREATE EXTENSION stepadv_import CASCADE';
	my ($bindir) = run_command([ 'pg_config', '--bindir' ]);
	find({ wanted => sub { $script //= $File::Find::name if $_ eq 'stepadv-import' && -f $_ } }, grep { -d } 'stage', $bindir);
	BAIL_OUT('stepadv-import is not installed') if !$script;
	$script = File::Spec->rel2abs($script);
	$node = PostgreSQL::Test::Cluster->new($name);
	# Rollouts are UTF-8, whatever the tester's locale.
	$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
	$node->start;
	plan skip_all => 'the importers are not installed'
		if ($node->psql('postgres', $is_tried ? "BEGIN; $create; ROLLBACK" : $create))[2] =~ /control file|is not available/i;
	$dir = File::Spec->rel2abs($node->basedir);
	return $node;
}

sub directory { return $dir; }
sub script { return $script; }

sub write_file
{
	my ($name, $content) = @_;
	my $path = '';
	foreach my $part (split m{/}, "$dir/$name" =~ s{/[^/]*$}{}r)
	{
		$path .= "$part/";
		mkdir $path unless -d $path;
	}
	open my $fh, '>:raw', "$dir/$name" or die "$name: $!";
	print $fh $content;
	close $fh;
	return "$dir/$name";
}

# Returns exit status, output, errors.  A reference among the arguments is what standard
# input has.
sub import_files
{
	my ($schema, @arguments) = @_;
	my ($out, $err) = ('', '');
	my ($in) = grep { ref } @arguments;
	IPC::Run::run([ $script, '-d', $node->connstr('postgres'), '-s', $schema, grep { !ref } @arguments ], '<', $in // \'', '>', \$out, '2>', \$err);
	return ($? >> 8, $out, $err);
}

sub count_of
{
	my ($out, $name) = @_;
	return $out =~ /^\Q$name\E:?\s+(\d+)$/m ? $1 : undef;
}

sub value { return $node->safe_psql('postgres', $_[0]); }

1;
