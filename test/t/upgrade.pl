# From every frozen release, and from the one that `make release` would make now, to a later version: ALTER EXTENSION … UPDATE gives the
# catalog of a fresh installation, and users' objects answer as if made today, also after a dump and a restore.
use strict;
use warnings;
use Cwd qw(abs_path);
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
plan skip_all => 'needs git' if !IPC::Run::run([ 'git', '--version' ], '>', \my $git, '2>', \my $no_git);
my $developed = (frozen_versions($folder, 'stepadv'))[1];
my $released = $developed =~ s/-dev$//r;
rehearse_release();
my ($frozen, $present) = frozen_versions($folder, 'stepadv');
$node->safe_psql('postgres', 'CREATE ROLE ann LOGIN; CREATE ROLE mallory LOGIN');

# The release command in a copy of this tree, and a later version with manual changes and changed functions; both are installed as by make.
sub rehearse_release
{
	my $copy = abs_path(PostgreSQL::Test::Utils::tempdir());
	my $next = $released =~ s/^(\d+)\.(\d+)\..*/"$1." . ($2 + 1) . '.0'/er;
	my $by_hand = "INSERT INTO stepadv_internal.role_types VALUES ('word', 'name', '%s::text');\n";
	my $run = sub { my ($out, $err); return IPC::Run::run([@_], '>', \$out, '2>', \$err) ? $out : "error: $err" };
	local %ENV = (%ENV, HOME => $copy, map { ("GIT_${_}_NAME" => 'stepadv', "GIT_${_}_EMAIL" => 'tests@stepadv.invalid') } qw(AUTHOR COMMITTER));

	system_or_bail('cp', '-r', qw(sql client debian docs CHANGELOG.md META.json stepadv.control), $copy);
	system_or_bail('sh', '-c', "cd '$copy' && git init -q && git add -A && git commit -qm all");
	like($run->('sh', "$copy/sql/release.sh", 'begin', $next), qr/is not released: make release/, 'a version in development is not left') if $developed ne $released;
	like($run->('sh', "$copy/sql/release.sh", 'release'), qr/^v\Q$released\E: /, "$released is released") if $developed ne $released;
	like($run->('sh', "$copy/sql/release.sh", 'release'), qr/is a release/, 'once');
	is($run->('git', '-C', $copy, 'describe', '--tags'), "v$released\n", 'and tagged') if $developed ne $released;
	unlike($run->('grep', '-rn', '[0-9]-dev', map { "$copy/$_" } qw(stepadv.control META.json client/stepadv/__init__.py debian CHANGELOG.md)), qr/^\//m, 'everywhere');
	is($run->('sh', "$copy/sql/release.sh", 'begin', $next), '', "$next-dev is begun");
	is($run->('git', '-C', $copy, 'status', '--porcelain'), '', 'and committed');
	append_to_file("$copy/sql/" . (split /\n/, slurp_file('sql/order'))[-1], "CREATE FUNCTION stepadv_internal.later() RETURNS integer LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS 'SELECT 1';
COMMENT ON FUNCTION stepadv_internal.later() IS 'added';\nCOMMENT ON FUNCTION stepadv.unique_state() IS 'changed';\n$by_hand");
	append_to_file("$copy/sql/releases/stepadv--$released--$next-dev.sql", $by_hand);
	system_or_bail('sh', '-c', "cd '$copy' && cp stepadv.control sql/releases/*.sql '$folder' && cat \$(sed 's|^|sql/|' sql/order) >'$folder/stepadv--$next-dev.sql' &&
		awk -f sql/functions.awk '$folder/stepadv--$next-dev.sql' >>'$folder/stepadv--$released--$next-dev.sql'");
	return;
}

# The later version under another number, with additions.
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

# Another user's objects that could block an update: views over every callable function, and a table of each of our types, locked.
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

# What the comparison reports for a version whose catalog changed without an update script; CREATE OR REPLACE repairs are no difference.
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

# The development version before a release is recognizable.
if ($developed ne $released)
{
	make_database('developed', $developed);
	my (undef, undef, $err) = $node->psql('developed', 'ALTER EXTENSION stepadv UPDATE');
	like($err, qr/version \Q$developed\E of stepadv was under development and cannot be updated\n.*HINT: /s, "$developed cannot be updated");
	$node->safe_psql('postgres', 'DROP DATABASE developed');
}

my $restored = PostgreSQL::Test::Cluster->new('restored');
$restored->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$restored->append_conf('postgresql.conf', "jit = off\nfsync = off\n" . join '', slurp_file($node->data_dir . '/postgresql.conf') =~ /^(extension_\w+ = .*\n)/mg);
$restored->start;
$restored->safe_psql('postgres', 'CREATE ROLE ann LOGIN');

# A dump of a database, in another cluster, gives the same numbers.
sub restore
{
	my ($database, $numbers) = @_;
	my $dump = PostgreSQL::Test::Utils::tempdir() . '/dump';

	$restored->safe_psql('postgres', "CREATE DATABASE $database");
	$node->command_ok([ 'pg_dump', '-Fc', '-f', $dump, '-d', $node->connstr($database) ], 'it is dumped');
	$restored->command_ok([ 'pg_restore', '-e', '-d', $restored->connstr($database), $dump ], 'and restored');
	$restored->safe_psql($database, q(SELECT stepadv.refresh(a.source, a.prefix) FROM stepadv.attachments() a WHERE a.mode IS NOT NULL), extra_params => [ '-U', 'ann' ]);
	same_numbers(numbers($restored, $database), $numbers, 'with the same numbers');
	$restored->safe_psql('postgres', "DROP DATABASE $database");
	return;
}

for my $version (@$frozen)
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
	restore('old', $numbers);

	my ($did, $should) = map { psql_file($node, $_, 'later.sql', user => 'ann') } qw(old fresh);
	is($did, $should, 'what is done later does the same');
	unlike($did, qr/^f$/m, 'and leaves nothing stale');
	same_catalog('old', catalog($node, 'fresh', 'ann'), 'and so it goes on', 'ann');
	same_numbers(numbers($node, 'old'), numbers($node, 'fresh'), 'with the same numbers');
	$node->safe_psql('postgres', "DROP DATABASE $_") for qw(old fresh);
	make_database('fresh');
}

$_->stop for $node, $restored;
done_testing();
