# From every release that was frozen to the present version: ALTER EXTENSION …
# UPDATE leaves the catalog that a fresh installation has, and what users made of
# the last one answers as if it had been made today.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../upgrade";
use Life;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('upgrade');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', "jit = off\nfsync = off\n");
$node->start;
my $folder = Life::own_extensions($node);
my ($from, $writable) = $folder ? ($folder, 1) : Life::extension_folder($node);
my @extensions = ('stepadv', has_import($from) ? 'stepadv_import' : ());
my ($frozen, $present) = frozen_versions($from, 'stepadv');
$node->safe_psql('postgres', 'CREATE ROLE ann LOGIN');

# The parts of today under another version, with more behind them, and an update
# that has nothing to do.
sub make_version
{
	my ($version, $more) = @_;
	for my $extension (@extensions)
	{
		append_to_file("$folder/$extension--$version.sql", slurp_file("$folder/$extension--$present.sql") . ($more->{$extension} // ''));
		append_to_file("$folder/$extension--$version--$present.sql", '');
	}
	return;
}

# A database with the extensions in that version; undef: in the present one.
sub make_database
{
	my ($name, $version) = @_;
	$node->safe_psql('postgres', "CREATE DATABASE $name");
	for my $extension (@extensions)
	{
		my $there = $version && -e "$from/$extension--$version.sql";
		$node->safe_psql($name, "CREATE EXTENSION $extension" . ($there ? " VERSION '$version'" : ''));
	}
	return;
}

sub update
{
	my ($database) = @_;
	for my $extension (@extensions)
	{
		my ($status, undef, $err) = $node->psql($database, "ALTER EXTENSION $extension UPDATE");
		is($status, 0, "$database: $extension is updated") or diag($err);
	}
	return;
}

# By that role, or a superuser.
sub upgrade_attachments
{
	my ($database, $user) = @_;
	return $node->safe_psql($database, 'SELECT attachment, n_views, problem FROM stepadv.upgrade_attachments()', extra_params => $user ? [ '-U', $user ] : []);
}

sub same_catalog
{
	my ($database, $wanted, $name, $owner) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my @differences = differences(catalog($node, $database, $owner), $wanted);
	is(scalar @differences, 0, $name) or diag(join("\n", map { length > 3000 ? substr($_, 0, 3000) . ' …' : $_ } @differences));
	return;
}

# The scripts that lead from a version to the present one, in their order.
sub path_from
{
	my ($version) = @_;
	my @later = (@$frozen, $present);
	shift @later while @later && $later[0] ne $version;
	return map { "$from/stepadv--$later[$_]--$later[$_ + 1].sql" } 0 .. $#later - 1;
}

# The declarations of before that these scripts keep, by their names, and do not drop
# again.
sub of_before
{
	my %kept;
	for my $text (map { slurp_file($_) } path_from(@_))
	{
		for (split /\n/, $text)
		{
			$kept{$1} = 1 if /^ALTER (?:FUNCTION|AGGREGATE) .* RENAME TO (\w+_before_\w+);$/;
			delete $kept{$1} if /^DROP (?:FUNCTION|AGGREGATE) (?:IF EXISTS )?stepadv_internal\.(\w+_before_\w+)\(/;
		}
	}
	return sort keys %kept;
}

# No others may be left, and each says what it is.
sub same_of_before
{
	my ($database, $version) = @_;
	my $found = $node->safe_psql($database, q{SELECT DISTINCT p.proname COLLATE "C" FROM pg_proc p
		WHERE p.pronamespace = 'stepadv_internal'::regnamespace AND p.proname ~ '_before_[0-9_]+$' ORDER BY 1});
	return is($found, join("\n", of_before($version)), "$version: declarations of before are those that the scripts keep");
}

make_database('fresh');
my $fresh = catalog($node, 'fresh');
cmp_ok(scalar(keys %$fresh), '>', 200, 'there is a catalog to compare');
is(join(' ', grep { $fresh->{$_} =~ /"unknown"/ } sort keys %$fresh), '', 'of kinds of objects that the comparison knows');
is(join(' ', grep { /^no member/ } sort keys %$fresh), '', 'all in the schemas belongs to the extensions');

# What the comparison would say of a version that changed behind an update's back.
SKIP:
{
	skip 'this server reads extensions from one place only, which is not ours to write to', 1 if !$folder;
	make_version('0.0.0', { stepadv => q{
		ALTER FUNCTION stepadv.rtmc COST 4711;
		ALTER FUNCTION stepadv.attach SUPPORT stepadv_internal.row_support;
		CREATE OR REPLACE FUNCTION stepadv_internal.list(names text[], template text, separator text DEFAULT '; ') RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT '' $$;
		CREATE FUNCTION stepadv_internal.gone() RETURNS void LANGUAGE sql AS 'SELECT';
		CREATE OR REPLACE AGGREGATE stepadv.mean_of_steps(value float8) (SFUNC = stepadv_internal.mean_of_steps_trans, STYPE = float8[], INITCOND = '{0,0,0}', FINALFUNC = stepadv_internal.mean_of_steps_final, PARALLEL = SAFE);
		ALTER TYPE stepadv.attachment ADD ATTRIBUTE more text CASCADE;
		COMMENT ON COLUMN stepadv.attachment.prefix IS 'other';
		COMMENT ON FUNCTION stepadv.grpo IS 'other';
		ALTER TABLE stepadv.progress_models ADD CHECK (name <> 'x');
		ALTER TABLE stepadv.tool_vocabulary ALTER scaffold SET DEFAULT 'x';
		DELETE FROM stepadv_internal.methods WHERE method = 'tempo';
		UPDATE stepadv_internal.roles SET must_be = 'other' WHERE role = 'ok';
		REVOKE EXECUTE ON FUNCTION stepadv.gigpo FROM PUBLIC;
		SELECT pg_catalog.pg_extension_config_dump('stepadv.tool_vocabulary', '');
		GRANT CREATE ON SCHEMA stepadv_internal TO ann;
		CREATE FUNCTION stepadv.stray() RETURNS void LANGUAGE sql AS 'SELECT'; ALTER EXTENSION stepadv DROP FUNCTION stepadv.stray();
	}, stepadv_import => q{COMMENT ON TYPE stepadv.parsed_step IS 'other';} });
	make_database('changed', '0.0.0');
	update('changed');
	# By name: kind, schema and arguments are in everybody's way here.
	my %seen = map { my ($what) = /^((?:no member: )?[a-z ]+ [a-z_.]+)[:(]/; $what => 1 } differences(catalog($node, 'changed'), $fresh);
	is(join("\n", sort keys %seen), join("\n", sort(
		(map { "function stepadv.$_" } qw(rtmc attach grpo gigpo)), 'function stepadv_internal.list', 'function stepadv_internal.gone', 'aggregate stepadv.mean_of_steps',
		'type stepadv.attachment', (@extensions > 1 ? 'type stepadv.parsed_step' : ()),
		(map { "table stepadv.$_" } qw(progress_models tool_vocabulary)), (map { "table stepadv_internal.$_" } qw(methods roles)),
		'schema stepadv_internal', 'extension stepadv', 'no member: function stepadv.stray')), 'a difference of any kind is seen')
		or diag(join("\n", differences(catalog($node, 'changed'), $fresh)));
	$node->safe_psql('postgres', 'DROP DATABASE changed');
}

# Views that had other columns: CREATE OR REPLACE would refuse them, or give columns
# of one type each other's names.
SKIP:
{
	skip 'this server reads extensions from one place only, which is not ours to write to', 1 if !$folder;
	my $arguments = '(stepadv_internal.attached, stepadv_internal.made_method[])';
	# One column more; others in between later; two in each other's place.
	my %former = (
		quadrants => 'SELECT 1 AS former, q.*',
		progress_over_time => 'SELECT q.policy_version, q.bucket, q.n_rollouts',
		advantage_over_time => 'SELECT q.policy_version, q.bucket, q.method, q.n_steps, q.mean_advantage, q.mean_abs_advantage, q.sd_advantage, q.least_advantage, q.greatest_advantage, q.n_positive, q.n_negative');
	make_version('0.0.2', { stepadv => join('', map { qq{
		ALTER FUNCTION stepadv_internal.${_}_query$arguments RENAME TO ${_}_later;
		CREATE FUNCTION stepadv_internal.${_}_query$arguments RETURNS text LANGUAGE sql AS 'SELECT ''$former{$_} FROM ('' || stepadv_internal.${_}_later(\$1, \$2) || '') q''';
	} } sort keys %former) });
	append_to_file("$folder/stepadv--0.0.2--$present.sql", join('', map { qq{
		DROP FUNCTION stepadv_internal.${_}_query$arguments;
		ALTER FUNCTION stepadv_internal.${_}_later$arguments RENAME TO ${_}_query;
	} } sort keys %former));
	make_database('shaped', '0.0.2');
	make_database('shape');
	for my $database (qw(shaped shape))
	{
		live($node, $database);
		$node->safe_psql($database, 'GRANT SELECT ON own.steps_quadrants TO PUBLIC; GRANT SELECT ON own.steps_quadrants TO pg_monitor WITH GRANT OPTION', extra_params => [ '-U', 'ann' ]);
	}
	like($node->safe_psql('shaped', 'SELECT former FROM own.steps_quadrants LIMIT 1', extra_params => [ '-U', 'ann' ]), qr/^1$/, 'a view with a former column');
	update('shaped');
	$node->safe_psql('shaped', 'CREATE VIEW own.reads_it AS SELECT former FROM own.steps_quadrants', extra_params => [ '-U', 'ann' ]);
	like(upgrade_attachments('shaped'), qr/^own\."a""b c_attachment"\|\d\d\|\nown.steps_attachment\|\|cannot drop view own.steps_quadrants .*own.reads_it.*\nrl.steps_attachment\|\d\d\|$/s, 'a view that is read is not dropped, nor are others kept waiting');
	$node->safe_psql('shaped', 'DROP VIEW own.reads_it', extra_params => [ '-U', 'ann' ]);
	unlike(upgrade_attachments('shaped', 'ann'), qr/\|\|/, 'others are made anew');
	same_catalog('shaped', catalog($node, 'shape', 'ann'), 'as they would have been made today, with their grants', 'ann');
	same_numbers(numbers($node, 'shaped'), numbers($node, 'shape'), 'and have the same numbers');
	$node->safe_psql('postgres', "DROP DATABASE $_") for qw(shaped shape);
}

# Every release, or where there was none yet, what would be one today.
my @versions = @$frozen;
if (!@versions && $folder)
{
	note('no release was frozen before this version: the present one stands in for it');
	make_version('0.0.1');
	@versions = ('0.0.1');
}

# Methods that came after a version: views that were made before have them behind all
# others, and are compared without them first.
sub set_aside
{
	my ($database, @methods) = @_;
	my $named = join(', ', map { "'$_'" } @methods) || 'NULL';
	$node->safe_psql($database, "CREATE TABLE public.set_aside AS SELECT * FROM stepadv_internal.methods WHERE method IN ($named);
		DELETE FROM stepadv_internal.methods WHERE method IN ($named)");
	return;
}

sub put_back
{
	my ($database) = @_;
	$node->safe_psql($database, 'INSERT INTO stepadv_internal.methods SELECT * FROM public.set_aside; DROP TABLE public.set_aside');
	return;
}

# A life with that release, the update, and what she would have made of it today: the
# databases old and fresh, which are gone afterwards.
sub live_through
{
	my ($version) = @_;
	make_database('old', $version);
	my %known = map { $_ => 1 } split /\n/, $node->safe_psql('old', 'SELECT method FROM stepadv_internal.methods');
	my @later = grep { !$known{$_} } split /\n/, $node->safe_psql('fresh', 'SELECT method FROM stepadv_internal.methods ORDER BY place');
	set_aside('fresh', @later);
	live($node, $_) for qw(old fresh);
	my $numbers = numbers($node, 'fresh');
	cmp_ok(scalar(split /\n/, $numbers), '>', 60, 'there are numbers to compare');
	my $numbers_of_old = numbers($node, 'fresh', 'old');
	same_numbers(numbers($node, 'old', 'old'), $numbers_of_old, "those of $version with the library of today");
	my $hers = catalog($node, 'fresh', 'ann');
	put_back('fresh');
	$fresh = catalog($node, 'fresh');

	update('old');
	same_of_before('old', $version);
	same_catalog('old', $fresh, "$version, updated, has the catalog of a fresh installation");
	same_numbers(numbers($node, 'old', 'old'), $numbers_of_old, 'what users have answers as before');
	set_aside($_, @later) for qw(old fresh);
	like(upgrade_attachments('old', 'ann'), qr/^own\."a""b c_attachment"\|\d\d\|\nown.steps_attachment\|\d\d\|\nrl.steps_attachment\|\d\d\|$/, 'upgrade_attachments');
	unlike(upgrade_attachments('old'), qr/administrator|\|\|/, 'called by an administrator it runs nobody\'s code with his rights');
	if ($version eq '0.2.0')
	{
		# A view that is read cannot be dropped; what its method has come to have stands behind all else until it can.
		like($node->safe_psql('old', q{SELECT string_agg(attname, ' ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = 'own.steps_rtmc'::regclass AND attnum > 0}), qr/ stderr advantage (?!q_error).* q_error confidence$/, 'columns more of a view that is read come last');
		$node->safe_psql('old', 'DROP VIEW own.chosen', extra_params => [ '-U', 'ann' ]);
		unlike(upgrade_attachments('old', 'ann'), qr/\|\|/, 'it is made anew when nothing reads it');
		$node->safe_psql('old', q{SELECT stepadv.create_selection('own.steps_rtmc', 'chosen', per_state => 2, balance => 'group')}, extra_params => [ '-U', 'ann' ]);
	}
	# A view that she wrote herself is hers to make anew.
	my %before = map { s/_before_.*//r => 1 } of_before($version);
	my $calls_before = sub { my ($view, $function) = @_; return is($node->safe_psql('old', "SELECT pg_get_viewdef('$view') ~ 'stepadv_internal\\.${function}_before_'"), $before{$function} ? 't' : 'f', "$view calls what it called") };
	$calls_before->('own.mine', 'rtmc');
	$calls_before->('own.picked', 'select_steps');
	$calls_before->('own.explained', 'explain_selection');
	$node->safe_psql('old', 'CREATE OR REPLACE VIEW own.mine AS SELECT k.g, k.h, a.* FROM own.groups k, stepadv.rtmc(k.rollouts, gamma => 0.5) a', extra_params => [ '-U', 'ann' ]);
	$node->safe_psql('old', q{CREATE OR REPLACE VIEW own.picked AS SELECT s.* FROM stepadv.select_steps('own.steps_grpo', min_advantage => 0.1, per_rollout => 2) s;
		CREATE OR REPLACE VIEW own.explained AS SELECT s.* FROM stepadv.explain_selection('own.steps_grpo', min_advantage => 0.1, per_rollout => 2) s}, extra_params => [ '-U', 'ann' ]);
	is($node->safe_psql('old', q{SELECT d.objid::regclass FROM pg_depend d WHERE d.refclassid = 'pg_proc'::regclass AND d.classid = 'pg_rewrite'::regclass AND d.refobjid IN (
		SELECT p.oid FROM pg_proc p WHERE p.pronamespace = 'stepadv_internal'::regnamespace AND p.proname ~ '_before_[0-9_]+$')}), '', 'nothing else does');
	same_catalog('old', $hers, 'what users have is what they would have made today', 'ann');
	same_numbers(numbers($node, 'old'), $numbers, 'and gives the same numbers');

	my ($did, $should) = map { psql_file($node, $_, 'later.sql', user => 'ann') } qw(old fresh);
	is($did, $should, 'what is done later does the same');
	unlike($did, qr/^f$/m, 'and leaves nothing stale');
	same_catalog('old', catalog($node, 'fresh', 'ann'), 'and so it goes on', 'ann');
	my $later = numbers($node, 'fresh');
	isnt($later, $numbers, 'with other numbers');
	same_numbers(numbers($node, 'old'), $later, 'that are the same');

	put_back($_) for qw(old fresh);
	unlike(upgrade_attachments($_, 'ann'), qr/\|\|/, "$_: methods that came later join") for qw(old fresh);
	same_catalog('old', catalog($node, 'fresh', 'ann'), 'in both alike', 'ann');
	same_numbers(numbers($node, 'old'), numbers($node, 'fresh'), 'with the same numbers');

	# The tables of 0.2.0, which the fresh database has as well, become those of today.
	if ($version eq '0.2.0')
	{
		my @added = (map({ "rl.rollouts.$_" } qw(task_id run_id policy_step tags greedy)), 'rl.steps.ref_logprobs', map { "rl.rollout_rows.$_" } qw(turn truncated policy_step greedy));
		for my $database (qw(old fresh))
		{
			my $upgrade = sub { return $node->safe_psql($database, q{SELECT relation || '.' || column_name FROM stepadv.upgrade_tables('rl')}, extra_params => [ '-U', 'ann' ]) };
			is($upgrade->(), join("\n", @added), "$database: upgrade_tables");
			is($upgrade->(), '', 'and all is there');
			my (undef, undef, $err) = $node->psql($database, q{SELECT stepadv.upgrade_tables('rl')});
			like($err, qr/must be owner of rl\.rollouts\nHINT:  Call it after SET ROLE ann/, 'others may not, administrators neither');
			$node->safe_psql($database, q{UPDATE rl.steps SET response_token_ids = '{1,2}', policy_logprobs = '{-1,-2.5}', rollout_logprobs = '{-1,-1}', ref_logprobs = '{-1,-2}'
				WHERE step_id = (SELECT min(step_id) FROM rl.steps);
				UPDATE rl.rollouts SET greedy = true WHERE (group_id, rollout_id) = (SELECT group_id, rollout_id FROM rl.steps_returns WHERE return IS NOT NULL ORDER BY 1, 2 LIMIT 1)}, extra_params => [ '-U', 'ann' ]);
			# (exp(0.5) - 1 - 0.5) / 2
			is($node->safe_psql($database, 'SELECT round(kl_to_reference::numeric, 9) FROM rl.steps_ratios WHERE kl_to_reference IS NOT NULL'), '0.074360635', 'a reference policy has its column and is read');
			is($node->safe_psql($database, q{SELECT count(*) > 0 AND bool_and(abs(m.advantage - (m.return - b.baseline)) < 1e-12) FROM rl.steps_remax m
				JOIN (SELECT group_id, avg(return) AS baseline FROM rl.steps_rollouts JOIN rl.rollouts USING (group_id, rollout_id) WHERE greedy GROUP BY 1) b USING (group_id) WHERE m.advantage IS NOT NULL}), 't', 'so have greedy rollouts');
		}
		same_catalog('old', catalog($node, 'fresh', 'ann'), 'the upgraded tables are alike', 'ann');
	}
	$node->safe_psql('postgres', "DROP DATABASE $_") for qw(old fresh);
	return;
}

SKIP:
{
	skip 'no release was frozen before this version, and none can be made up on this server', 1 if !@versions;
	is(join(' ', grep { !-e } map { path_from($_) } @$frozen), '', 'a script leads from every release to the one after it');
	for my $version (@versions)
	{
		live_through($version);
		make_database('fresh') if $version ne $versions[-1];
	}
}

$node->stop;
done_testing();
