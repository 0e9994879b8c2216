# From every release that was frozen to the present version: ALTER EXTENSION … UPDATE leaves
# the catalog that a fresh installation has, and what users made before answers as if it had
# been made today.  Before the first release the present version stands in for one, updated by
# what make would put behind an upgrade script: all functions and comments of the parts.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../upgrade", $FindBin::Bin;
use Life;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Session;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('upgrade');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', "jit = off\nfsync = off\n");
$node->start;
my $folder = Life::own_extensions($node);
plan skip_all => 'this server reads extensions from one place only, which is not ours to write to' if !$folder;
my ($frozen, $present) = frozen_versions($folder, 'stepadv');
$node->safe_psql('postgres', 'CREATE ROLE ann LOGIN; CREATE ROLE mallory LOGIN');

# The present version under another number, with more behind it.
sub stand_in
{
	my ($version, $more) = @_;
	my ($functions) = run_command([ 'awk', '-f', 'sql/functions.awk', "$folder/stepadv--$present.sql" ]);
	append_to_file("$folder/stepadv--$version.sql", slurp_file("$folder/stepadv--$present.sql") . ($more // ''));
	append_to_file("$folder/stepadv--$version--$present.sql", $functions);
	return;
}

sub make_database
{
	my ($name, $version) = @_;
	$node->safe_psql('postgres', "CREATE DATABASE $name");
	$node->safe_psql($name, 'CREATE EXTENSION stepadv' . ($version ? " VERSION '$version'" : ''));
	return;
}

sub update
{
	my ($database) = @_;
	my ($status, undef, $err) = $node->psql($database, q(SET lock_timeout = '20s'; ALTER EXTENSION stepadv UPDATE), on_error_stop => 1);
	is($status, 0, "$database is updated") or diag($err);
	return;
}

# A stranger who would stop an update: views over every function that can be called, and a table
# of each of our types, which she holds.
sub in_the_way
{
	my ($database) = @_;
	$node->safe_psql($database, 'CREATE SCHEMA hers AUTHORIZATION mallory');
	my $mallory = Session->new($node, $database, 'mallory');
	my ($status, $out, $err) = $mallory->psql(q{DO $$ DECLARE f record; n integer := 0; BEGIN
		FOR f IN SELECT format('%I.%I(%s)', x.nspname, p.proname, (SELECT string_agg(format('NULL::%s', format_type(t, NULL)), ', ' ORDER BY i) FROM unnest(p.proargtypes) WITH ORDINALITY a(t, i))) AS call
			FROM pg_proc p JOIN pg_namespace x ON x.oid = p.pronamespace WHERE x.nspname IN ('stepadv', 'stepadv_internal') AND p.prokind = 'f' AND p.provariadic = 0 AND p.prorettype <> 'record'::regtype
			AND NOT EXISTS (SELECT FROM pg_type t WHERE t.typtype = 'p' AND t.oid = ANY (p.proargtypes || p.prorettype)) LOOP
			n := n + 1;
			EXECUTE format('CREATE VIEW hers.over_%s AS SELECT %s AS x', n, f.call);
		END LOOP; END $$;
		CREATE TABLE hers.an_attachment OF stepadv.attachment; CREATE TABLE hers.methods OF stepadv.method;
		SELECT count(*) > 150 FROM pg_class WHERE relnamespace = 'hers'::regnamespace AND relkind = 'v'; BEGIN; LOCK TABLE hers.an_attachment, hers.methods});
	is($out, 't', 'a stranger has views and tables in the way') or diag($err);
	return $mallory;
}

sub same_catalog
{
	my ($database, $wanted, $name, $owner) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my @differences = differences(catalog($node, $database, $owner), $wanted);
	is(scalar @differences, 0, $name) or diag(join("\n", map { length > 3000 ? substr($_, 0, 3000) . ' …' : $_ } @differences));
	return;
}

make_database('fresh');
my $fresh = catalog($node, 'fresh');
cmp_ok(scalar(keys %$fresh), '>', 200, 'there is a catalog to compare');
is(join(' ', grep { $fresh->{$_} =~ /"unknown"/ } sort keys %$fresh), '', 'of kinds of objects that the comparison knows');
is(join(' ', grep { /^no member/ } sort keys %$fresh), '', 'all in the schemas belongs to the extension');

# What the comparison would say of a version that changed behind an update's back; what
# CREATE OR REPLACE puts right is none.
stand_in('0.0.0', q{
	ALTER FUNCTION stepadv.rtmc COST 4711;
	CREATE FUNCTION stepadv_internal.gone() RETURNS void LANGUAGE sql AS 'SELECT';
	ALTER TYPE stepadv.attachment ADD ATTRIBUTE more text CASCADE;
	COMMENT ON TYPE stepadv.rollout_group IS 'other';
	ALTER TABLE stepadv.progress_models ADD CHECK (name <> 'x');
	UPDATE stepadv_internal.roles SET must_be = 'other' WHERE role = 'ok';
	REVOKE EXECUTE ON FUNCTION stepadv.gigpo FROM PUBLIC;
	GRANT CREATE ON SCHEMA stepadv_internal TO ann;
	CREATE FUNCTION stepadv.stray() RETURNS void LANGUAGE sql AS 'SELECT'; ALTER EXTENSION stepadv DROP FUNCTION stepadv.stray();
});
make_database('changed', '0.0.0');
update('changed');
my %seen = map { my ($what) = /^((?:no member: )?[a-z ]+ [a-z_.]+)[:(]/; $what => 1 } differences(catalog($node, 'changed'), $fresh);
is(join("\n", sort keys %seen), join("\n", sort('function stepadv.gigpo', 'function stepadv_internal.gone', 'type stepadv.attachment',
	'table stepadv.progress_models', 'table stepadv_internal.roles', 'schema stepadv_internal', 'extension stepadv', 'no member: function stepadv.stray')),
	'differences are seen, and no others') or diag(join("\n", differences(catalog($node, 'changed'), $fresh)));
$node->safe_psql('postgres', 'DROP DATABASE changed');

stand_in('0.0.1') if !@$frozen;
for my $version (@$frozen ? @$frozen : '0.0.1')
{
	make_database('old', $version);
	live($node, $_) for qw(old fresh);
	my ($numbers, $hers) = (numbers($node, 'fresh'), catalog($node, 'fresh', 'ann'));
	cmp_ok(scalar(split /\n/, $numbers), '>', 60, 'there are numbers to compare');

	my $stranger = in_the_way('old');
	update('old');
	$stranger->psql('COMMIT; DROP OWNED BY mallory');
	$stranger->end;
	$node->safe_psql('old', 'DROP SCHEMA IF EXISTS hers');
	same_catalog('old', catalog($node, 'fresh'), "$version, updated, has the catalog of a fresh installation");
	$node->safe_psql('old', q(SELECT stepadv.add_views(a.source, '{}', a.prefix) FROM stepadv.attachments() a), extra_params => [ '-U', 'ann' ]);
	same_catalog('old', $hers, 'what users have is what they would have made today', 'ann');
	same_numbers(numbers($node, 'old'), $numbers, 'and gives the same numbers');

	my ($did, $should) = map { psql_file($node, $_, 'later.sql', user => 'ann') } qw(old fresh);
	is($did, $should, 'what is done later does the same');
	unlike($did, qr/^f$/m, 'and leaves nothing stale');
	same_catalog('old', catalog($node, 'fresh', 'ann'), 'and so it goes on', 'ann');
	same_numbers(numbers($node, 'old'), numbers($node, 'fresh'), 'with the same numbers');
	$node->safe_psql('postgres', "DROP DATABASE $_") for qw(old fresh);
	make_database('fresh');
}

$node->stop;
done_testing();
