#!/usr/bin/perl
# reference.pl CONNECTION FOLDER: writes the reference from the comments of the objects in a database that has the extension, so \df+, \d+ and the
# pages agree.  Functions are in the order of sql/order, a page for each folder of sql/.
use strict;
use warnings;
use File::Basename qw(dirname);

my ($connection, $folder) = @ARGV;
my $top = dirname(__FILE__) . '/../..';

my %titles = (
	ground => 'Identities', signatures => 'Signatures and states', group => 'Groups', estimators => 'Methods', analysis => 'Questions about a group',
	policy => 'Ratios and objectives', rewards => 'Rewards', progress => 'Progress (SPA)', tokens => 'Tokens', digest => 'Digests',
	attach => 'Tables, views and selections', upkeep => 'Kept groups');

sub slurp
{
	my ($file) = @_;
	open my $in, '<:encoding(UTF-8)', $file or die "$file: $!\n";
	local $/;
	return <$in>;
}

# Rows of a query; columns are separated by a character that no comment has.
sub query
{
	my ($sql) = @_;
	open my $out, '-|:encoding(UTF-8)', 'psql', '-X', '-A', '-t', '-F', "\x1f", '-R', "\x1e", '-v', 'ON_ERROR_STOP=1', '-d', $connection, '-c', $sql or die "psql: $!\n";
	local $/;
	my $text = <$out>;
	close $out or die "the query failed\n";
	chomp $text;
	return map { [ split /\x1f/, $_, -1 ] } split /\x1e/, $text;
}

# The folder and the position of each function.
my (%room, %place, @rooms);
foreach my $part (split /\n/, slurp("$top/sql/order"))
{
	my $room = $part =~ m{^(\w+)/} ? $1 : 'ground';
	push @rooms, $room if !grep { $_ eq $room } @rooms;
	my $text = slurp("$top/sql/$part");
	while ($text =~ /^CREATE (?:OR REPLACE )?(?:FUNCTION|AGGREGATE|TYPE) stepadv\.(\w+)/mg)
	{
		$room{$1} //= $room;
		$place{$1} //= keys %place;
	}
}

my %pages;
foreach my $row (query(q{
	SELECT p.proname, p.prokind, pg_get_function_arguments(p.oid), pg_get_function_result(p.oid), obj_description(p.oid, 'pg_proc')
	FROM pg_proc p JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
	JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'stepadv'
	WHERE p.pronamespace = 'stepadv'::regnamespace AND NOT EXISTS (SELECT FROM pg_type t WHERE p.oid IN (t.typinput, t.typoutput, t.typreceive, t.typsend))
	UNION ALL
	SELECT t.typname, 't', '', '', obj_description(t.oid, 'pg_type')
	FROM pg_type t JOIN pg_depend d ON d.classid = 'pg_type'::regclass AND d.objid = t.oid AND d.deptype = 'e'
	JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'stepadv'
	WHERE t.typnamespace = 'stepadv'::regnamespace AND t.typelem = 0 AND (t.typtype = 'b' OR t.typrelid IN (SELECT oid FROM pg_class WHERE relkind = 'c'))
	ORDER BY 1, 3}))
{
	my ($name, $kind, $arguments, $result, $comment) = @$row;
	die "$name: in which part of sql/ is it made?\n" if !exists $room{$name};
	my $heading = $kind eq 't' ? "type `$name`" : $kind eq 'a' ? "aggregate `$name`" : "`$name`";
	s/\b(?:stepadv|pg_catalog)\.//g, s/double precision/float8/g, s/timestamp with time zone/timestamptz/g, s/'(\w+)'::text/'$1'/g, s/NULL::\w+(?:\[\])?/NULL/g foreach $arguments, $result;
	my $body = $kind eq 't' ? '' : "```\n$name(" . ($arguments =~ s/, (?=\w+ |VARIADIC)/,\n    /gr) . ")\n  -> " . ($result =~ s/, (?=\w+ )/,\n     /gr) . "\n```\n\n";
	push @{ $pages{ $room{$name} } }, [ $place{$name}, $name, "## $heading\n\n$body$comment\n" ];
}

foreach my $room (grep { $pages{$_} } @rooms)
{
	my $title = $titles{$room} // die "room $room has no title\n";
	my $text = "# $title\n\n"
	  . "Made from the comments of the objects by `make reference`; do not edit. Terms are in the [glossary](../glossary.md).\n\n"
	  . join("\n", map { $_->[2] } sort { $a->[0] <=> $b->[0] || $a->[1] cmp $b->[1] } @{ $pages{$room} });
	open my $out, '>:encoding(UTF-8)', "$folder/$room.md" or die "$folder/$room.md: $!\n";
	print $out $text;
	close $out or die "$folder/$room.md: $!\n";
}
