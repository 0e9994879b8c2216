# perl meta.pl FOLDER: checks META.json of an unpacked archive against PGXN's specification
# (https://pgxn.org/meta/spec.txt, 1.0.0) and the contents of the folder.
# Prints a line per error.
use strict;
use warnings;
use JSON::PP;

my $folder = shift // die "usage: meta.pl FOLDER\n";
my @wrong;

sub text_of
{
	my ($file) = @_;
	open(my $in, '<:raw', "$folder/$file") or do { push @wrong, "$file is missing"; return '' };
	local $/;
	return <$in>;
}

# The prototype puts a match into scalar context.
sub must($$) { my ($holds, $what) = @_; push @wrong, $what unless $holds; return $holds }

my $term = qr{^[^/\\\s\x00-\x1f\x7f]{2,}$};
my $tag = qr{^[^/\\\x00-\x1f\x7f]{2,255}$};
my $version = qr{^(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)([-a-zA-Z][-0-9a-zA-Z]*)?$};
my $range = qr{^(0|((==|!=|>=?|<=?)\s*)?\d+\.\d+\.\d+(\s*,\s*(==|!=|>=?|<=?)\s*\d+\.\d+\.\d+)*)$};
my $uri = qr{^[a-z][-a-z0-9+.]*:\S+$};
my %member = map { $_ => 1 } qw(name version abstract description generated_by maintainer license release_status
	meta-spec provides prereqs resources tags no_index);

my $meta = eval { decode_json(text_of('META.json')) };
if (!$meta)
{
	print "META.json is not valid JSON: $@";
	exit 1;
}

must($member{$_} || /^[xX]_./, "META.json must not have a member $_") foreach keys %$meta;
must(defined $meta->{$_} && (ref $meta->{$_} || $meta->{$_} ne ''), "$_ is missing") foreach qw(name version abstract maintainer license provides meta-spec
	description release_status resources tags);
must($meta->{name} =~ $term, 'name is not a term');
must($meta->{version} =~ $version, 'version is not a version number');
must($meta->{license} =~ /^(agpl_3|apache_[12]_[01]|artistic_[12]|bsd|freebsd|gfdl_1_[23]|gpl_[123]|lgpl_[23]_[01]|mit|mozilla_1_[01]|openssl|perl_5|postgresql|qpl_1_0|ssleay|sun|zlib|open_source|restricted|unrestricted|unknown)$/,
	'license is unknown');
must($meta->{release_status} =~ /^(stable|testing|unstable)$/, 'release_status must be stable, testing or unstable');
must($meta->{'meta-spec'}{version} eq '1.0.0' && $meta->{'meta-spec'}{url} eq 'https://pgxn.org/meta/spec.txt', 'meta-spec must be that of 1.0.0');
must($_ =~ $tag, "tag $_") foreach @{ $meta->{tags} };

# Home page, bug tracker and repository.
my $resources = $meta->{resources};
must(/^(homepage|bugtracker|repository)$/, "resources: $_") foreach keys %$resources;
must($_ && $_ =~ $uri, 'resources: an address is invalid') foreach $resources->{homepage}, $resources->{bugtracker}{web}, @{ $resources->{repository} }{qw(url web)};
must(($resources->{repository}{type} // '') =~ /^[a-z]+$/, 'resources: type of the repository');

foreach my $phase (keys %{ $meta->{prereqs} })
{
	must($phase =~ /^(configure|build|runtime|test|develop)$/, "prereqs: $phase");
	while (my ($kind, $of) = each %{ $meta->{prereqs}{$phase} })
	{
		must($kind =~ /^(requires|recommends|suggests|conflicts)$/, "prereqs: $phase $kind");
		must($_ =~ $range, "prereqs: $_") foreach values %$of;
	}
}

# Every extension exists in the stated version, with its page.
my %controls = map { s{.*/|\.control$}{}gr => 1 } glob("'$folder'/*.control '$folder'/*/*.control");
must($meta->{provides}{$_}, "$_.control is not provided") foreach keys %controls;
while (my ($name, $extension) = each %{ $meta->{provides} })
{
	must($name =~ $term && ($extension->{abstract} // '') ne '', "provides: $name");
	my ($default) = text_of($extension->{file}) =~ /^default_version\s*=\s*'([^']*)'/m;
	must($_ eq ($default // ''), "$name: version $_ is not that of $extension->{file}") foreach $extension->{version}, $meta->{version};
	must(text_of($extension->{docfile}) ne '', "$name: $extension->{docfile} is empty");
}

print map { "META.json: $_\n" } @wrong;
exit(@wrong ? 1 : 0);
