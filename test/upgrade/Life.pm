# Shared by the tests of upgrades: the objects of a user, and descriptions of
# catalogs and numbers.
package Life;
use strict;
use warnings;
use Cwd qw(abs_path);
use Exporter 'import';
use File::Basename;
use JSON::PP;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(psql_file live catalog differences numbers same_numbers frozen_versions own_extensions);

my $here = dirname(__FILE__);

# Runs a script of this folder, up to the first error.
sub psql_file
{
	my ($node, $database, $file, %as) = @_;
	my ($out, $err) = ('', '');
	IPC::Run::run(
		[ $node->installed_command('psql'), '-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr($database), ($as{user} ? ('-U', $as{user}) : ()), map({ ('-v', "$_=$as{set}{$_}") } keys %{ $as{set} // {} }), '-f', "$here/$file" ],
		'>', \$out, '2>', \$err) or die "$file in $database: $err";
	return $out;
}

# Makes the objects of a user, before the extension is updated.
sub live
{
	my ($node, $database) = @_;
	psql_file($node, $database, 'prepare.sql');
	psql_file($node, $database, 'life.sql', user => 'ann');
	return;
}

# Maps identities to descriptions, of the extensions' members or of all objects of a role.
sub catalog
{
	my ($node, $database, $owner) = @_;
	return { map { split /\t/, $_, 2 } split /\n/, psql_file($node, $database, 'catalog.sql', set => { owner => $owner // '' }) };
}

# Describes the differences between two catalogs.
sub differences
{
	my ($found, $wanted) = @_;
	my @all;

	for my $object (sort keys %{ { %$found, %$wanted } })
	{
		my ($f, $w) = ($found->{$object}, $wanted->{$object});
		next if defined $f && defined $w && $f eq $w;
		push @all, !defined $f ? "$object: missing" : !defined $w ? "$object: too many" : join("\n  ", "$object: differs in", parts_that_differ('', decode_json($f), decode_json($w)));
	}
	return @all;
}

# Tests whether two results of numbers are equal, and names the relations that differ.
sub same_numbers
{
	my ($found, $wanted, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($f, $w) = map { my $all = $_; +{ map { /^(.*?)\|(.*)/ ? ($1 => $2) : () } split /\n/, $all } } $found, $wanted;
	my @differ = grep { ($f->{$_} // 'missing') ne ($w->{$_} // 'too many') } sort keys %{ { %$f, %$w } };
	return is(join(' ', @differ), '', $name);
}

sub parts_that_differ
{
	my ($path, $f, $w) = @_;
	my $json = JSON::PP->new->canonical->allow_nonref;
	return if $json->encode($f) eq $json->encode($w);

	return map { parts_that_differ("$path/$_", $f->{$_}, $w->{$_}) } sort keys %{ { %$f, %$w } } if ref $f eq 'HASH' && ref $w eq 'HASH';
	if (ref $f eq 'ARRAY' && ref $w eq 'ARRAY')
	{
		return map { parts_that_differ("$path/$_", $f->[$_], $w->[$_]) } 0 .. $#$f if @$f == @$w;
		my %in_f = map { $json->encode($_) => 1 } @$f;
		my %in_w = map { $json->encode($_) => 1 } @$w;
		return ((map { "$path: too many: $_" } grep { !$in_w{$_} } sort keys %in_f), map { "$path: missing: $_" } grep { !$in_f{$_} } sort keys %in_w);
	}
	return "$path: found " . $json->encode($f) . "\n    wanted " . $json->encode($w);
}

# Numbers of all relations of ann.
sub numbers
{
	my ($node, $database) = @_;
	return psql_file($node, $database, 'numbers.sql', user => 'ann');
}

# The folder in which the server of a node finds the control file, and the setting
# that can change the folder; servers before 18 lack it unless their distributor
# added one.
sub extension_folder
{
	my ($node) = @_;
	my ($sharedir) = run_command([ 'pg_config', '--sharedir' ]);

	for my $setting ('extension_destdir', 'extension_control_path')
	{
		my ($status, $value) = $node->psql('postgres', "SHOW $setting");
		next if $status;
		for my $place (map { $setting eq 'extension_destdir' ? "$_$sharedir" : s/^\$system$/$sharedir/r } split(/:/, $value), $setting eq 'extension_destdir' ? '' : ())
		{
			return ("$place/extension", $setting) if -e "$place/extension/stepadv.control";
		}
	}
	return "$sharedir/extension";
}

# Makes the node's server read a copy of the extensions' scripts, to which a test
# may add; returns its folder, or undef if the server cannot.
sub own_extensions
{
	my ($node) = @_;
	my ($from, $setting) = extension_folder($node);
	return if !$setting;

	my $copy = abs_path($node->basedir) . '/extensions';
	my ($sharedir) = run_command([ 'pg_config', '--sharedir' ]);
	my ($pkglibdir) = run_command([ 'pg_config', '--pkglibdir' ]);
	my $to = $setting eq 'extension_destdir' ? "$copy$sharedir/extension" : "$copy/extension";
	system_or_bail('mkdir', '-p', $to);
	system_or_bail('cp', glob("$from/stepadv*.control"), glob("$from/stepadv*.sql"), $to);
	if ($setting eq 'extension_destdir')
	{
		my $libraries = substr($from, 0, -length("$sharedir/extension")) . $pkglibdir;
		system_or_bail('mkdir', '-p', "$copy$pkglibdir");
		system_or_bail('cp', "$libraries/stepadv.so", "$copy$pkglibdir/");
		$node->append_conf('postgresql.conf', "extension_destdir = '$copy'");
	}
	else
	{
		my $paths = $node->safe_psql('postgres', 'SHOW extension_control_path');
		$node->append_conf('postgresql.conf', "extension_control_path = '$copy:$paths'");
	}
	$node->restart;
	return $to;
}

# Versions before the present one that can be installed, the oldest first, and
# the present one.
sub frozen_versions
{
	my ($folder, $extension) = @_;
	my ($present) = slurp_file("$folder/$extension.control") =~ /^default_version *= *'(.*)'/m;
	my @versions = map { m{/\Q$extension\E--([0-9.]+)\.sql$} ? $1 : () } glob("$folder/$extension--*.sql");
	my $number = sub { join '', map { sprintf '%06d', $_ } split /\./, shift };
	return ([ sort { $number->($a) cmp $number->($b) } grep { $_ ne $present } @versions ], $present);
}

1;
