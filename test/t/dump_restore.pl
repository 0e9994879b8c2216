# Values and views over estimators survive pg_dump (custom and plain), COPY in every format, and a restart.
# (PostgreSQL::Test::Cluster: 15, and 14 from its minor release 3 on.)
use strict;
use warnings;

use Cwd qw(abs_path);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;
$node->safe_psql('postgres', 'CREATE DATABASE source');
$node->safe_psql('source', q{
	CREATE EXTENSION stepadv;
	CREATE SCHEMA rl;
	CREATE TABLE rl.steps (step_id bigint PRIMARY KEY, group_id integer, rollout_id bigint, step_no integer,
		state bigint, action bigint, reward float8, success boolean);
	INSERT INTO rl.steps SELECT i, i / 40, i / 8, i % 8, i % 11, i % 3, CASE WHEN i % 8 = 7 THEN sin(i) END,
		CASE WHEN i % 16 = 15 THEN i % 32 = 31 END FROM generate_series(0, 1999) i;
	CREATE TABLE rl.groups (group_id integer PRIMARY KEY, rollouts stepadv.rollout_group);
	INSERT INTO rl.groups SELECT group_id, stepadv.rollout_agg(step_id, rollout_id, step_no, state, action, reward, success)
		FROM rl.steps GROUP BY group_id;
	-- one that is toasted and compressed, one toasted uncompressed, one with every column and extreme numbers, NULL
	INSERT INTO rl.groups SELECT -1, stepadv.rollout_agg(i, i / 50, i % 50, 0, 0, 0) FROM generate_series(0, 99999) i;
	INSERT INTO rl.groups SELECT -2, stepadv.rollout_agg(stepadv.signature_hash(i::text), i / 50, i % 50,
		stepadv.signature_hash('s' || i), stepadv.signature_hash('a' || i), exp(sin(i))) FROM generate_series(0, 49999) i;
	INSERT INTO rl.groups SELECT -3, stepadv.rollout_agg(-9223372036854775808 + i, 9223372036854775807 - i % 2, (i - 2147483648)::integer, NULLIF(i % 3, 0),
		NULLIF(i % 2, 0), CASE WHEN i % 4 > 0 THEN 4.9e-324 * i - 0.1 END, i = 9, NULLIF(i % 5, 0), -1.7976931348623157e308, 1 / 3.0, 2.5)
		FROM generate_series(0, 19) i;
	INSERT INTO rl.groups VALUES (-4, NULL);
	CREATE VIEW rl.grouped AS SELECT group_id, stepadv.rollout_agg(step_id, rollout_id, step_no, state, action, reward, success) AS rollouts
		FROM rl.steps GROUP BY group_id;
	CREATE VIEW rl.advantages AS SELECT g.group_id, a.* FROM rl.grouped g, stepadv.rtmc(g.rollouts, gamma => 0.9, prior => 1) a;
	CREATE VIEW rl.grpo AS SELECT g.group_id, a.* FROM rl.grouped g, stepadv.grpo(g.rollouts, normalise => 'mean') a;
	CREATE VIEW rl.tree AS SELECT g.group_id, t.* FROM rl.grouped g, stepadv.rtmc_tree(stepadv.history_states(g.rollouts, 'set')) t;
	-- a method of the user's own
	CREATE FUNCTION rl.late(rollouts stepadv.rollout_group, by float8 DEFAULT 1) RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, advantage float8) LANGUAGE sql IMMUTABLE STRICT AS
		'SELECT s.step_id, s.rollout_id, s.step_no, s.step_no * by FROM stepadv.steps(rollouts) s';
	SELECT stepadv.register_method('rl.late(stepadv.rollout_group, float8)');
	SELECT count(*) FROM stepadv.attach('rl.steps', ARRAY['group_id'], 'rollout_id', 'step_no', 'state', 'action', 'reward', columns => '{"step_id": "step_id", "success": "success"}', views => '{all}', prefix => 'a"b c', options => '{"rtmc": {"gamma": 0.5, "normalise": true}}');
	-- estimators of progress: linear, logistic, one out of line, NULL; by name, for a view
	CREATE TABLE rl.features AS SELECT step_id, rollout_id, ARRAY[sin(step_id), cos(step_id), step_no / 8.0]::real[] AS x, (rollout_id % 2)::float8 AS outcome FROM rl.steps;
	CREATE TABLE rl.models (k integer PRIMARY KEY, model stepadv.progress_model);
	INSERT INTO rl.models SELECT 1, stepadv.progress_fit(rollout_id, x, outcome, 0.1) FROM rl.features;
	INSERT INTO rl.models SELECT 2, stepadv.progress_fit(rollout_id, x, outcome, 0.1, 'logistic') FROM rl.features;
	INSERT INTO rl.models SELECT 3, stepadv.progress_fit(rollout_id, stepadv.hash_features(ARRAY[step_id::text], 2000), outcome, 0.1) FROM rl.features WHERE step_id < 100;
	INSERT INTO rl.models VALUES (5, NULL);
	INSERT INTO stepadv.progress_models (name, model, fitted_at) SELECT 'it''s ' || k, model, '2026-01-01' FROM rl.models WHERE model IS NOT NULL;
	CREATE TABLE rl.judged AS SELECT s.*, f.x FROM rl.steps s JOIN rl.features f USING (step_id);
	ALTER TABLE rl.judged ADD PRIMARY KEY (step_id);
	SELECT count(*) FROM stepadv.attach('rl.judged', ARRAY['group_id'], 'rollout_id', 'step_no', reward => 'reward', columns => '{"features": "x"}', views => '{all}', options => '{"spa": {"model": "it''s 2"}}');
	SELECT count(*) FROM stepadv.attach('rl.judged', ARRAY['group_id'], 'rollout_id', 'step_no', reward => 'reward', views => '{all}', prefix => 'own', options => '{"late": {"by": 2}}');
	CREATE MATERIALIZED VIEW rl.merged AS SELECT stepadv.rollup(rollouts) AS rollouts FROM rl.groups WHERE group_id >= 0;
});

# All its contents, as one hash per object.
my $look = q{
	SELECT 'groups', count(*), md5(string_agg(group_id || coalesce(rollouts::text, 'NULL'), ' ' ORDER BY group_id)) FROM rl.groups
	UNION ALL SELECT 'binary', count(*), md5(string_agg(stepadv_internal.rollout_group_send(rollouts), '' ORDER BY group_id)) FROM rl.groups
	UNION ALL SELECT 'advantages', count(*), md5(string_agg(a::text, ' ' ORDER BY step_id)) FROM rl.advantages a
	UNION ALL SELECT 'grpo', count(*), md5(string_agg(a::text, ' ' ORDER BY step_id)) FROM rl.grpo a
	UNION ALL SELECT 'tree', count(*), md5(string_agg(t::text, ' ' ORDER BY t::text)) FROM rl.tree t
	UNION ALL SELECT 'attached', count(*), md5(string_agg(a::text, ' ' ORDER BY step_id)) FROM rl."a""b c_rtmc" a
	UNION ALL SELECT 'models', count(*), md5(string_agg(k || coalesce(model::text, 'NULL'), ' ' ORDER BY k)) FROM rl.models
	UNION ALL SELECT 'named', count(*), md5(string_agg(name || model::text || fitted_at, ' ' ORDER BY name)) FROM stepadv.progress_models
	UNION ALL SELECT 'own', count(*), md5(string_agg(o::text, ' ' ORDER BY step_id)) FROM rl.own_compare o WHERE late = 2 * step_no
	UNION ALL SELECT 'spa', count(*), md5(string_agg(s::text, ' ' ORDER BY step_id)) FROM rl.judged_spa s
	UNION ALL SELECT 'definition', count(*), md5(string_agg(pg_get_viewdef(oid), ' ' ORDER BY relname)) FROM pg_class WHERE relnamespace = 'rl'::regnamespace AND relkind = 'v'
	UNION ALL SELECT 'merged', count(*), md5(string_agg(rollouts::text, ' ')) FROM rl.merged};
my $before = $node->safe_psql('source', $look);
like($before, qr/^groups\|54\|\w{32}\nbinary\|54\|\w{32}\nadvantages\|2000\|\w{32}\ngrpo\|2000\|\w{32}\ntree\|\d{3,}\|\w{32}\nattached\|2000\|\w{32}\nmodels\|4\|\w{32}\nnamed\|3\|\w{32}\nown\|2000\|\w{32}\nspa\|2000\|\w{32}\ndefinition\|\d\d\|\w{32}\nmerged\|1\|\w{32}$/, 'there is something to see');
is($node->safe_psql('source', 'SELECT pg_column_size(rollouts) < 1000000, octet_length(stepadv_internal.rollout_group_send(rollouts)) > 3000000 FROM rl.groups WHERE group_id = -1'),
	't|t', 'a large value is compressed');

$node->restart;
is($node->safe_psql('source', $look), $before, 'the same after a restart');
$node->stop('immediate');
$node->start;
is($node->safe_psql('source', $look), $before, 'the same after a crash');

# dump and restore
my $dir = abs_path(PostgreSQL::Test::Utils::tempdir());
my @to = ('-h', $node->host, '-p', $node->port);
command_ok([ 'pg_dump', @to, '-Fc', '-f', "$dir/custom", 'source' ], 'pg_dump -Fc');
$node->safe_psql('postgres', 'CREATE DATABASE custom');
command_ok([ 'pg_restore', @to, '-e', '-d', 'custom', "$dir/custom" ], 'pg_restore');
is($node->safe_psql('custom', $look), $before, 'the same from a custom dump');
is($node->safe_psql('custom', q(SELECT count(*), sum((SELECT count(*) FROM stepadv.add_views(a.source, '{}', a.prefix))) FROM stepadv.attachments() a)), '3|0', 'attachments are known and their views made anew');
is($node->safe_psql('custom', $look), $before, 'the same from them');
command_ok([ 'pg_dump', @to, '-f', "$dir/plain", 'source' ], 'pg_dump');
$node->safe_psql('postgres', 'CREATE DATABASE plain');
command_ok([ 'psql', @to, '-Xq', '-v', 'ON_ERROR_STOP=1', '-o', "$dir/out", '-f', "$dir/plain", 'plain' ], 'psql of a plain dump');
is($node->safe_psql('plain', $look), $before, 'the same from a plain dump');
# with INSERTs, of one object only
command_ok([ 'pg_dump', @to, '--inserts', '-t', 'rl.groups', '-f', "$dir/inserts", 'source' ], 'pg_dump --inserts');
$node->safe_psql('postgres', 'CREATE DATABASE inserts');
$node->safe_psql('inserts', 'CREATE EXTENSION stepadv; CREATE SCHEMA rl');
command_ok([ 'psql', @to, '-Xq', '-v', 'ON_ERROR_STOP=1', '-o', "$dir/out", '-f', "$dir/inserts", 'inserts' ], 'psql of it');
is($node->safe_psql('inserts', "SELECT count(*), md5(string_agg(group_id || coalesce(rollouts::text, 'NULL'), ' ' ORDER BY group_id)) FROM rl.groups"),
	($before =~ /^groups\|(.*)$/m)[0], 'the same from INSERTs');

# COPY in all formats
for my $format ('binary', 'text', 'csv')
{
	is($node->safe_psql('source', qq{
		COPY rl.groups TO '$dir/copy' (FORMAT $format);
		CREATE TEMP TABLE back (LIKE rl.groups);
		COPY back FROM '$dir/copy' (FORMAT $format);
		SELECT count(*), count(*) FILTER (WHERE stepadv_internal.rollout_group_send(a.rollouts) IS DISTINCT FROM stepadv_internal.rollout_group_send(b.rollouts))
		FROM rl.groups a FULL JOIN back b USING (group_id);
	}), '54|0', "COPY, $format");
	is($node->safe_psql('source', qq{
		COPY rl.models TO '$dir/copy' (FORMAT $format);
		CREATE TEMP TABLE back (LIKE rl.models);
		COPY back FROM '$dir/copy' (FORMAT $format);
		SELECT count(*), count(*) FILTER (WHERE a.model::text IS DISTINCT FROM b.model::text)
		FROM rl.models a FULL JOIN back b USING (k);
	}), '4|0', "COPY of models, $format");
}

# Dependencies are recorded: an extension in use cannot be dropped.
my ($status, $stdout, $stderr) = $node->psql('source', 'DROP EXTENSION stepadv');
like($stderr, qr/other objects depend on it/, 'the extension is not dropped under its users');

$node->stop;
done_testing();
