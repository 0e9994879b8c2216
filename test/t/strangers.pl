# Attacks by other users.  No user's code runs with another's privileges, no user's table is lost, and no user's objects or statements
# stop another's work.
use strict;
use warnings;
use Cwd qw(abs_path);
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Session;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('strangers');
$node->init;
$node->append_conf('postgresql.conf', "jit = off\n");
$node->start;

# alice has steps; mallory has no privileges except those that a test grants; erin is unrelated; maker may create extensions in her databases.
$node->safe_psql('postgres', 'CREATE ROLE alice LOGIN; CREATE ROLE mallory LOGIN; CREATE ROLE erin LOGIN; CREATE ROLE maker LOGIN');

my $admin = $node->safe_psql('postgres', 'SELECT current_user');

# Runs SQL as a role; returns (exit status, stdout, stderr).
sub as
{
	my ($role, $database, $sql) = @_;
	return $node->psql($database, $sql, extra_params => [ '-U', $role ], on_error_stop => 1);
}

my @noise;	# what all commands below said on stderr
my %sessions;	# of alice and the administrator, while they try everything in one database
sub works
{
	my ($role, $database, $sql, $expected, $name) = @_;
	my ($status, $out, $err) = $sessions{$role} ? $sessions{$role}->psql($sql)
		: $role eq 'admin' ? $node->psql($database, $sql, on_error_stop => 1) : as($role, $database, $sql);
	push @noise, $err;
	if ($status != 0)
	{
		fail($name);
		diag(substr($err, 0, 800));
		return;
	}
	return is($out, $expected, $name) if defined $expected;
	return pass($name);
}

sub refused
{
	my ($role, $database, $sql, $pattern, $name) = @_;
	my ($status, $out, $err) = $role eq 'admin' ? $node->psql($database, $sql, on_error_stop => 1) : as($role, $database, $sql);
	push @noise, $err;
	isnt($status, 0, $name);
	return like($err, $pattern, "$name: the reason");
}

# Mallory's code ran only as mallory, and no user gained privileges.
sub unharmed
{
	my ($name) = @_;
	my @ran = map { /(evil ran as (?!mallory)\S+)/g } @noise;
	@noise = ();
	is("@ran", '', "$name: nobody's code ran with another's rights");
	my $have = $node->safe_psql('postgres', q(SELECT string_agg(rolname, ' ' ORDER BY rolname) FROM pg_roles
		WHERE rolname IN ('alice', 'mallory', 'erin', 'maker') AND (rolsuper OR rolcreaterole OR pg_has_role(oid, 'pg_execute_server_program', 'MEMBER'))));
	$node->safe_psql('postgres', 'ALTER ROLE mallory NOSUPERUSER');
	return is($have, '', "$name: nobody is superuser");
}

# A function of this text records as whom it runs, and attempts escalation.
my $evil = q($evil$
	BEGIN
		RAISE WARNING 'evil ran as %', current_user;
		BEGIN
			EXECUTE 'ALTER ROLE mallory SUPERUSER';
		EXCEPTION WHEN OTHERS THEN NULL;
		END;
$evil$);
$evil =~ s/\$evil\$//g;

# A database with the extension and alice's tables: the mode of keeping is given by name; '' is attached only.
my %kept = (triggers => 't', refresh => 'r', '' => 'a');
sub build
{
	my ($database) = @_;
	$node->safe_psql('postgres', "CREATE DATABASE $database");
	$node->safe_psql($database, 'CREATE EXTENSION stepadv; GRANT CREATE ON SCHEMA public TO alice, erin');
	foreach my $how (sort keys %kept)
	{
		my $table = $kept{$how};
		works('alice', $database, qq(
			CREATE TABLE public.$table (id bigserial PRIMARY KEY, g integer NOT NULL, k text NOT NULL, r text, n integer, st text, act text, score float8, v text);
			CREATE INDEX ON public.$table (g, k);
			INSERT INTO public.$table (g, k, r, n, st, act, score, v) SELECT i % 5, 'k', 'r' || i / 20, i / 5 % 4, 's' || i % 3, 'a' || i % 2, i % 7, 'v' || i / 20 % 2 FROM generate_series(0, 99) i;
			SELECT count(*) FROM stepadv.attach('public.$table'::regclass, '{g,k}'::text[], 'r', 'n', 'st', 'act', 'score', columns => '{"policy_version": "v"}', views => '{all}');)
			. ($how ? qq(SELECT stepadv.maintain('public.$table'::regclass, mode => '$how');) : ''), undef, "$database: $table is built");
	}
	@noise = ();
}

# Databases are copies of one template.
sub house
{
	my ($database) = @_;
	$node->safe_psql('postgres', "CREATE DATABASE $database TEMPLATE house");
	foreach my $how (sort keys %kept)
	{
		works('alice', $database, qq(SELECT coalesce(mode, '') FROM stepadv.attachments() WHERE source = 'public.$kept{$how}'::regclass AND owner = 'alice'::regrole), $how, "$database: house $kept{$how}");
	}
}

# alice's objects are intact: she writes, reads correct numbers, and can end and start over.
sub stands
{
	my ($database, $name) = @_;
	%sessions = (alice => Session->new($node, $database, 'alice'), admin => Session->new($node, $database, $admin));
	foreach my $how (sort keys %kept)
	{
		my $table = $kept{$how};
		my $groups = qq((SELECT n_rollouts FROM public.${table}_groups WHERE g = 77));
		works('alice', $database, qq(DELETE FROM public.$table WHERE g = 77; INSERT INTO public.$table (g, k, r, n, score) VALUES (77, 'k', 'r', 1, 1);),
			undef, "$name: alice writes $table");
		foreach my $who ('alice', 'admin')
		{
			works($who, $database, qq(SELECT stepadv.refresh('public.$table'::regclass) >= 0, stepadv.refresh('public.$table'::regclass, full => true) > 5), 't|t', "$name: $who refreshes $table") if $how;
			works($who, $database, qq(SELECT * FROM stepadv.check_maintained('public.$table'::regclass)), '', "$name: $who checks $table") if $how;
			works($who, $database, qq(SELECT n_rollouts FROM public.${table}_groups WHERE g = 77; SELECT count(*) > 50 FROM public.${table}_rtmc), "1\nt", "$name: $who reads $table");
			works($who, $database, qq(SELECT n_tasks FROM stepadv.version_difference('public.$table'::regclass, 'v0', 'v1');
				SELECT count(*) FROM stepadv.compare_versions('public.$table'::regclass, 'v1', 'v0', prefix => '$table')), "5\n5", "$name: $who compares versions of $table");
		}
		foreach my $who ('alice', 'admin')
		{
			# In a transaction that is rolled back.
			works($who, $database, qq(BEGIN; SELECT stepadv.unmaintain('public.$table'::regclass); ROLLBACK;), $how ? 1 : 0, "$name: $who ends upkeep of $table");
			works($who, $database, qq(BEGIN; SELECT stepadv.detach('public.$table'::regclass) > 10; SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relname LIKE '${table}\\_%' AND relowner = 'alice'::regrole AND relkind IN ('v', 'r'); ROLLBACK;),
				"t\n0", "$name: $who detaches $table");
		}
		works('alice', $database, qq(BEGIN; SELECT stepadv.unmaintain('public.$table'::regclass) = @{[ $how ? 1 : 0 ]};
			SELECT stepadv.maintain('public.$table'::regclass, mode => '@{[ $how || 'triggers' ]}');
			SELECT * FROM stepadv.check_maintained('public.$table'::regclass); ROLLBACK;), "t\n${table}_folded", "$name: alice maintains $table anew");
	}
	$_->end foreach values %sessions;
	%sessions = ();
	return unharmed($name);
}

build('house');

# A session of mallory's that persists, with its objects in pg_temp.
my $mallory;
my ($mallory_in, $mallory_out, $mallory_err);
sub mallory_stays
{
	my ($database, $sql) = @_;
	# 19 notes that a view of hers is temporary.
	$mallory_in = "SET client_min_messages = warning;\n$sql\n\\echo made\n";
	$mallory_out = $mallory_err = '';
	$mallory = IPC::Run::start([ 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-U', 'mallory', '-d', $node->connstr($database) ], '<', \$mallory_in, '>', \$mallory_out, '2>', \$mallory_err,
		IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	$mallory->pump until $mallory_out =~ /made/ or $mallory_err =~ /ERROR|FATAL/;
	return is($mallory_err, '', 'mallory has made what she wants to be believed');
}
sub mallory_leaves
{
	$mallory_in .= "\\q\n";
	$mallory->finish;
}

# Objects of mallory's that resemble a kept set over one of alice's tables, in a schema where she may create.
sub fake_set
{
	my ($schema, $source, $name, $how) = @_;
	return qq(
		CREATE FUNCTION $schema.evil(integer) RETURNS integer LANGUAGE plpgsql AS \$f\$ $evil RETURN \$1; END \$f\$;
		CREATE VIEW $schema.${name}_fresh AS SELECT $schema.evil(o.g) AS g, o.k, NULL::stepadv.rollout_group AS rollouts FROM $source o;
		CREATE TABLE $schema.${name}_folded (g integer, k text, rollouts stepadv.rollout_group, refreshed_at timestamptz);
		CREATE TABLE $schema.${name}_changed (g integer, k text);
		INSERT INTO $schema.${name}_changed VALUES (1, 'k');
		CREATE FUNCTION $schema.${name}_fold($schema.${name}_fresh[]) RETURNS bigint LANGUAGE plpgsql AS \$f\$ $evil RETURN 1; END \$f\$;
		CREATE FUNCTION $schema.evil_trigger() RETURNS trigger LANGUAGE plpgsql AS \$f\$ $evil RETURN NULL; END \$f\$;
		CREATE TRIGGER evil AFTER DELETE ON $schema.${name}_changed FOR EACH STATEMENT EXECUTE FUNCTION $schema.evil_trigger();
		CREATE VIEW $schema.${name}_values AS SELECT o.g, o.k, NULL::stepadv.rollout_group AS rollouts FROM $source o;
		COMMENT ON VIEW $schema.${name}_fresh IS E'made by stepadv.maintain\\n{"how": "$how", "group_by": ["g", "k"], "over_time": false, "attached": {"group_by": ["g", "k"], "source": "$source", "prefix": "$name", "columns": {"rollout_id": "r", "step_no": "n", "reward": "score"}}}';
		COMMENT ON VIEW $schema.${name}_values IS E'made by stepadv.attach\\n{"source": "$source", "prefix": "$name", "group_by": ["g", "k"], "columns": {"rollout_id": "r", "step_no": "n", "reward": "score"}}';
	);
}

# The same for an extension that stores attachments as rows of typed tables.
sub fake_row
{
	my ($schema, $source, $name, $how) = @_;
	return qq(
		CREATE TABLE $schema.${name}_attachment OF stepadv.attachment;
		INSERT INTO $schema.${name}_attachment (prefix, rows, n_group_columns, options, views, kept, fresh, folded, changed)
		VALUES ('$name', '$schema.${name}_values', 2, '{}', '{$schema.${name}_values}', '$how', '$schema.${name}_fresh', '$schema.${name}_folded', '$schema.${name}_changed');
	);
}

# ---- 1. A forged kept set by a role with only TEMP
house('fake');
my $typed = $node->safe_psql('fake', q(SELECT to_regtype('stepadv.attachment') IS NOT NULL)) eq 't';
mallory_stays('fake', join '', 'SET search_path = pg_temp, public; CREATE TEMP TABLE t_other (); ',
	map { (my $sql = fake_set('pg_temp', "public.$kept{$_}", $kept{$_} . 'x', 'refresh') . ($typed ? fake_row('pg_temp', "public.$kept{$_}", $kept{$_} . 'x', 'refresh') : '')) =~
		s/(pg_temp\.)(evil|evil_trigger)\(/$1$2_$kept{$_}(/g; $sql } sort keys %kept);
stands('fake', 'a fake in pg_temp');
# With the same prefix, where she may create.
mallory_leaves();
$node->safe_psql('fake', 'CREATE SCHEMA m AUTHORIZATION mallory');
foreach my $how (sort keys %kept)
{
	my $sql = fake_set('m', "public.$kept{$how}", $kept{$how}, $how || 'refresh') . ($typed ? fake_row('m', "public.$kept{$how}", $kept{$how}, $how || 'refresh') : '');
	$sql =~ s/m\.(evil|evil_trigger)\(/m.$1_$kept{$how}(/g;
	works('mallory', 'fake', $sql, undef, "mallory claims the prefix $kept{$how}");
}
stands('fake', 'a fake of the same prefix');

# ---- 2. An operator
house('operators');
$node->safe_psql('operators', 'CREATE SCHEMA m AUTHORIZATION mallory; GRANT USAGE ON SCHEMA m TO PUBLIC');
foreach my $type ('text', 'integer', 'bigint', 'varchar', 'anyenum', 'anyarray', 'record', 'public.pair', 'public.kind', 'public.pair[]')
{
	# alice's types
	works('alice', 'operators', $type eq 'public.pair' ? 'CREATE TYPE public.pair AS (a integer, b text)' : q(CREATE TYPE public.kind AS ENUM ('one', 'two')), undef, "alice makes $type")
		if $type =~ /^public\.\w+$/;
	works('mallory', 'operators', ($type =~ /any|record/ ? '' : qq(CREATE FUNCTION m.eq($type, $type) RETURNS boolean LANGUAGE plpgsql AS \$f\$ $evil RETURN true; END \$f\$;
		CREATE OPERATOR m.= (LEFTARG = $type, RIGHTARG = $type, FUNCTION = m.eq);)), undef, "mallory has an = for $type");
}
works('alice', 'operators', q(
	CREATE TABLE public.o (id bigserial PRIMARY KEY, a text NOT NULL, b integer, c varchar, d public.pair, e public.kind, f public.pair[], r varchar, n integer, score float8, version text);
	CREATE TABLE public.runs (a text, b integer, c varchar, d public.pair, e public.kind, f public.pair[], r varchar, started timestamptz);
	SELECT count(*) > 10 FROM stepadv.attach('public.o'::regclass, '{a,b,c,d,e,f}'::text[], 'r', 'n', reward => 'score', columns => '{"policy_version": "version"}', views => '{all}', options => '{"show_rollouts": "public.runs"}');
	SELECT stepadv.maintain('public.o'::regclass);
	INSERT INTO public.o (a, b, c, d, e, f, r, n, score, version) SELECT 'a' || i % 2, i % 2, 'c', ROW(i % 2, 'x')::public.pair, 'one', ARRAY[ROW(1, 'y')::public.pair], i / 4, i % 4, i, 'v' FROM generate_series(1, 40) i;
	INSERT INTO public.runs SELECT DISTINCT a, b, c, d, e, f, r, now() FROM public.o;
	UPDATE public.o SET score = 0 WHERE id = 3;
	SELECT count(*), count(started) FROM public.o_grpo;
	SELECT count(*) FROM public.o_groups; SELECT sum(n_steps) FROM public.o_quadrants), "t\no_folded\n40|40\n2\n40", 'groups by what mallory has operators for');
works('alice', 'operators', q(CREATE TABLE public.plan (id bigint PRIMARY KEY, g text NOT NULL, r text, n integer, score float8); CREATE INDEX ON public.plan (g, r);
	SELECT count(*) > 5 FROM stepadv.attach('public.plan'::regclass, '{g}'::text[], 'r', 'n', reward => 'score', views => '{all}');
	SELECT count(*) FROM public.plan_rloo WHERE g = 'x'), "t\n0", 'fetched by an index');
works('alice', 'operators', q(SELECT count(*) > 0 FROM public.o_quadrants; CREATE VIEW public.picked AS SELECT * FROM public.o_rloo;
	SELECT count(*) FROM stepadv.select_steps('public.o_rloo'::regclass, informative => 'dapo') s), undef, 'steps are selected');
works('admin', 'operators', q(SELECT * FROM stepadv.check_maintained('public.o'::regclass); SELECT stepadv.refresh('public.o'::regclass, full => true); SELECT count(*) FROM public.o_grpo), "2\n40", 'by an administrator, too');
# A pool over the same group: claims, marks; and mallory's forgery of it.
works('alice', 'operators', q(SET search_path = m, stepadv, public; SELECT create_pool('o'); SELECT count(*), min(claimed_by) FROM claim_groups(NULL::o_ready, 5, order_by => 'a desc', holder => 'alice');
	SELECT consume_groups('o_ready', (SELECT claim FROM o_pool LIMIT 1), 1)),
	"o_ready\n2|alice\n2", 'a pool of what mallory has operators for');
works('mallory', 'operators', q(CREATE VIEW m.o_ready AS SELECT a, 'ready'::text AS status, claim, NULL::timestamptz AS consumed_at FROM public.o_pool), undef, 'mallory has a view of the pool');
refused($_, 'operators', q(SELECT * FROM stepadv.claim_groups(NULL::m.o_ready, 5)), qr/is not the view of a pool/, "$_ does not take it for one") foreach 'alice', 'admin', 'mallory';
refused('mallory', 'operators', $_, qr/permission denied/, "mallory has no right to: $_") foreach q(SELECT * FROM stepadv.claim_groups(NULL::public.o_ready, 5)),
	q(SELECT stepadv.consume_groups('public.o_ready', gen_random_uuid()));
works('mallory', 'operators', 'DROP VIEW m.o_ready', undef, 'mallory drops her view');
works('alice', 'operators', 'SET client_min_messages = error; DROP TABLE public.o_pool CASCADE', undef, 'alice drops it');
stands('operators', 'operators');
works('admin', 'operators', 'SET client_min_messages = error; DROP SCHEMA m CASCADE', undef, 'mallory goes');
works('alice', 'operators', q(SELECT count(*) FROM public.o_grpo; SELECT * FROM stepadv.check_maintained('public.o'::regclass)), 40, 'and nothing of alice went with her');
refused('alice', 'operators', q(CREATE TABLE public.odd (g json, r integer, n integer, score float8); SELECT stepadv.attach('public.odd'::regclass, '{g}'::text[], 'r', 'n', reward => 'score', views => '{all}')),
	qr/equality operator/, 'a group by what has no equality');

# ---- 4. A table that another user claims belongs to a set
house('lost');
foreach my $how (sort keys %kept)
{
	my $table = $kept{$how};
	# No table of alice's or erin's is among the kept ones, with any name.
	works('erin', 'lost', qq(CREATE TABLE public.${table}_mine (g integer); INSERT INTO public.${table}_mine VALUES (1);
		CREATE TABLE public.${table}z_changed (g integer); INSERT INTO public.${table}z_changed VALUES (1);
		CREATE TABLE public.${table}z_folded (g integer); INSERT INTO public.${table}z_folded VALUES (1);), undef, "erin has tables beside $table");
	$node->safe_psql('lost', 'GRANT CREATE ON SCHEMA public TO mallory');
	works('mallory', 'lost', qq(CREATE VIEW public.${table}z_fresh AS SELECT o.g, o.k, NULL::stepadv.rollout_group AS rollouts FROM public.$table o;
		COMMENT ON VIEW public.${table}z_fresh IS E'made by stepadv.maintain\\n{"how": "refresh", "group_by": ["g", "k"], "over_time": true, "attached": {"group_by": ["g", "k"], "columns": {}}}')
		. ($typed ? qq(; CREATE TABLE public.${table}z_attachment OF stepadv.attachment;
		INSERT INTO public.${table}z_attachment (prefix, rows, n_group_columns, options, views, kept, fresh, folded, changed)
		VALUES ('${table}z', 'public.${table}z_fresh', 2, '{}', '{}', 'refresh', 'public.${table}z_fresh', 'public.${table}z_folded', 'public.${table}z_changed')) : ''), undef, "mallory says that they are of a set over $table");
	if ($how eq 'triggers')
	{
		works('alice', 'lost', qq(CREATE TABLE public.${table}_changed (g integer); INSERT INTO public.${table}_changed VALUES (1)), undef, 'alice has a table of such a name herself');
	}
	works('admin', 'lost', qq(SELECT stepadv.unmaintain('public.$table'::regclass)), $how ? 1 : 0, "an administrator ends upkeep of $table");
	works('admin', 'lost', qq(SELECT stepadv.detach('public.$table'::regclass) > 10), 't', "and detaches $table");
	works('admin', 'lost', qq(SELECT * FROM public.${table}_mine, public.${table}z_changed, public.${table}z_folded), '1|1|1', 'what erin has is there');
	works('admin', 'lost', qq(SELECT * FROM public.${table}_changed), 1, 'and what alice has') if $how eq 'triggers';
}
unharmed('lost');

# ---- 5. Denial of service by a comment, or by a row
house('denied');
$node->safe_psql('denied', 'CREATE SCHEMA m AUTHORIZATION mallory');
my $number = 0;
foreach my $maker ('attach', 'maintain', 'create_selection')
{
	foreach my $said ('{nonsense', '{}', '{"group_by": 7}', '{"group_by": ["g", null, {}], "columns": 7, "attached": []}', '{"group_by": ["g"], "columns": {"rollout_id": []}, "attached": {"columns": {}}, "over_time": "perhaps", "prefix": "t"}',
		'{"how": 1, "prefix": {}, "group_by": [], "columns": {}, "attached": {"columns": {}}, "source": "no such"}', '{' . '[' x 20000, '{"a": "\\\\u0000", "group_by": ["g"]}', '{"group_by": ["g"], "columns": {}, "attached": {"columns": {}}, "over_time": 1e999}')
	{
		$number++;
		works('mallory', 'denied', join('', map { my $name = ('fresh', 'values', 'groups', 'folded')[$_ % 4];
			qq(CREATE SCHEMA IF NOT EXISTS m; CREATE VIEW m.t${number}_$name AS SELECT o.g, o.k FROM public.t o; COMMENT ON VIEW m.t${number}_$name IS E'made by stepadv.$maker\\n$said';) =~ s/CREATE SCHEMA IF NOT EXISTS m; //r } 0 .. 3),
			undef, "mallory says nonsense ($number)");
	}
}
if ($typed)
{
	works('mallory', 'denied', q(
		CREATE TABLE m.a_attachment OF stepadv.attachment;
		CREATE TABLE m.b_attachment OF stepadv.attachment;
		INSERT INTO m.b_attachment (prefix) SELECT 't' FROM generate_series(1, 3);
		CREATE TABLE m.c_attachment OF stepadv.attachment;
		INSERT INTO m.c_attachment (prefix, rows, n_group_columns, views, kept, folded) VALUES ('t', 1, -5, '{1,2,NULL}', 'sometimes', 4294967295);
		CREATE TABLE m.d_attachment OF stepadv.attachment;
		INSERT INTO m.d_attachment (prefix, rows, n_group_columns, options, views, kept, fresh) VALUES (NULL, 'm.t1_values', 2147483647, '[[]]', '{{public.t_values,public.t_groups}}', 'triggers', 'public.t_values');
		CREATE TABLE m.e_attachment OF stepadv.attachment;
		INSERT INTO m.e_attachment (prefix, rows, n_group_columns, options, views) SELECT 't', 'public.t_values', 2, '{}', '{public.t_values}';
		CREATE TABLE m.f_attachment OF stepadv.attachment PARTITION BY LIST (prefix);
		CREATE TABLE m.g_attachment OF stepadv.attachment;
		INSERT INTO m.g_attachment (prefix, rows) VALUES ('t', 'm.g_attachment'), ('t', 'm.t1_values')), undef, 'mallory has rows of nonsense');
}
stands('denied', 'nonsense');

# A comment belongs to the user, and may be missing from a dump.
works('alice', 'denied', q(
	CREATE TABLE public.noted (id bigint PRIMARY KEY, g integer NOT NULL, r integer, n integer, score float8);
	CREATE INDEX ON public.noted (g);
	SELECT count(*) > 5 FROM stepadv.attach('public.noted'::regclass, '{g}'::text[], 'r', 'n', reward => 'score', views => '{all}');
	INSERT INTO public.noted VALUES (1, 1, 1, 1, 1)), "t", 'alice attaches a table');
works('admin', 'denied', q(SELECT count(*) > 5 FROM (SELECT set_config('x.x', format('%s', c.oid), true) FROM pg_class c WHERE c.relname LIKE 'noted\_%' AND c.relkind = 'v') x;
	DO $do$ DECLARE v regclass; BEGIN FOR v IN SELECT oid FROM pg_class WHERE relname LIKE 'noted\_%' AND relkind = 'v' LOOP EXECUTE format('COMMENT ON VIEW %s IS %L', v, 'alice: look at this'); END LOOP; END $do$), 't', 'and writes comments of her own');
works('alice', 'denied', q(SELECT stepadv.maintain('public.noted'::regclass); INSERT INTO public.noted VALUES (2, 2, 1, 1, 1); SELECT count(*) FROM public.noted_groups; SELECT * FROM stepadv.check_maintained('public.noted'::regclass)), "noted_folded\n2", 'it is maintained all the same');
works('alice', 'denied', q(COMMENT ON VIEW public.noted_fresh IS 'mine'; COMMENT ON TABLE public.noted_folded IS 'mine';
	SELECT stepadv.refresh('public.noted'::regclass, full => true)), 2, 'and refreshed');
works('alice', 'denied', q(SELECT stepadv.detach('public.noted'::regclass) > 5; SELECT count(*) FROM pg_class WHERE relname LIKE 'noted\_%' AND relkind IN ('v', 'r')), "t\n0", 'and detached, without a trace');

my $dir = abs_path(PostgreSQL::Test::Utils::tempdir());
house('silent');
command_ok([ 'pg_dump', '--no-comments', '-Fc', '-d', $node->connstr('silent'), '-f', "$dir/silent" ], 'pg_dump --no-comments');
$node->safe_psql('postgres', 'CREATE DATABASE silent_restored');
command_ok([ 'pg_restore', '-e', '-d', $node->connstr('silent_restored'), "$dir/silent" ], 'its restore');
stands('silent_restored', 'without comments');

# ---- 3. The schema of the extension
sub schema_of
{
	my ($database, $before) = @_;
	$node->safe_psql('postgres', "CREATE DATABASE $database");
	$node->safe_psql('postgres', "GRANT CREATE ON DATABASE $database TO mallory, maker");
	works(@$_[0], $database, @$_[1], undef, "$database is prepared") foreach @$before;
}
my $trap = 'CREATE FUNCTION stepadv.trap(oid, integer) RETURNS integer LANGUAGE sql RETURN 1';
schema_of('owned', [ [ 'mallory', 'CREATE SCHEMA stepadv' ] ]);
refused('admin', 'owned', 'CREATE EXTENSION stepadv', qr/schema/, 'a schema that mallory owns');
refused('maker', 'owned', 'CREATE EXTENSION stepadv', qr/schema/, 'a schema that mallory owns, by another');
schema_of('opened', [ [ 'admin', 'CREATE SCHEMA stepadv; GRANT CREATE ON SCHEMA stepadv TO mallory' ] ]);
refused('admin', 'opened', 'CREATE EXTENSION stepadv', qr/schema/, 'a schema where mallory may create');
schema_of('open', [ [ 'admin', 'CREATE SCHEMA stepadv; GRANT ALL ON SCHEMA stepadv TO PUBLIC' ] ]);
refused('admin', 'open', 'CREATE EXTENSION stepadv', qr/schema/, 'a schema where all may create');
schema_of('filled', [ [ 'admin', 'CREATE SCHEMA stepadv; GRANT CREATE ON SCHEMA stepadv TO mallory' ], [ 'mallory', $trap ], [ 'admin', 'REVOKE CREATE ON SCHEMA stepadv FROM mallory' ] ]);
refused('admin', 'filled', 'CREATE EXTENSION stepadv', qr/schema/, 'a schema with a function in it');
schema_of('filled_operator', [ [ 'admin', 'CREATE SCHEMA stepadv; GRANT CREATE ON SCHEMA stepadv TO mallory' ],
	[ 'mallory', 'CREATE OPERATOR stepadv.= (LEFTARG = text, RIGHTARG = text, FUNCTION = pg_catalog.texteq)' ], [ 'admin', 'ALTER SCHEMA stepadv OWNER TO maker; REVOKE CREATE ON SCHEMA stepadv FROM mallory' ] ]);
refused('maker', 'filled_operator', 'CREATE EXTENSION stepadv', qr/schema/, 'a schema with an operator in it');
schema_of('inner_schema', [ [ 'mallory', 'CREATE SCHEMA stepadv_internal' ] ]);
refused('admin', 'inner_schema', 'CREATE EXTENSION stepadv', qr/stepadv_internal/, 'an inner schema that mallory owns');
schema_of('empty', [ [ 'admin', 'CREATE SCHEMA stepadv' ] ]);
works('admin', 'empty', 'CREATE EXTENSION stepadv', undef, 'an empty schema of a superuser');
schema_of('own', [ [ 'maker', 'CREATE SCHEMA stepadv' ] ]);
works('maker', 'own', 'CREATE EXTENSION stepadv', undef, 'an empty schema of whoever makes the extension');
schema_of('lasting', [ [ 'maker', 'CREATE EXTENSION stepadv; DROP EXTENSION stepadv; CREATE EXTENSION stepadv' ] ]);
foreach my $database ('empty', 'own', 'lasting')
{
	# Calls of functions there are made with an administrator's privileges.
	refused($_, $database, $trap, qr/permission denied/, "$database: no room for overloads by $_") foreach 'maker', 'mallory', 'alice';
	works('alice', $database, q(SELECT stepadv.signature_hash('x'::text) IS NOT NULL), 't', "$database: all may use it");
}

# Dump and restore: by a superuser, and by the owner of a database.
$node->safe_psql('postgres', 'GRANT CREATE ON DATABASE lasting TO alice; CREATE DATABASE restored; CREATE DATABASE restored_own OWNER alice');
works('alice', 'lasting', q(CREATE SCHEMA rl; CREATE TABLE rl.t (id bigint PRIMARY KEY, g integer NOT NULL, r integer, n integer, score float8); CREATE INDEX ON rl.t (g);
	SELECT count(*) > 5 FROM stepadv.attach('rl.t'::regclass, '{g}'::text[], 'r', 'n', reward => 'score', views => '{all}'); SELECT stepadv.maintain('rl.t'::regclass);
	INSERT INTO rl.t VALUES (1, 1, 1, 1, 1)), "t\nrl.t_folded", 'alice uses what maker made');
command_ok([ 'pg_dump', '-Fc', '-d', $node->connstr('lasting'), '-f', "$dir/lasting" ], 'pg_dump');
command_ok([ 'pg_restore', '-e', '-d', $node->connstr('restored'), "$dir/lasting" ], 'restored by a superuser');
command_ok([ 'pg_restore', '-e', '--no-owner', '-U', 'alice', '-d', $node->connstr('restored_own'), "$dir/lasting" ], 'restored by the owner of a database');
works('alice', $_, q(INSERT INTO rl.t VALUES (2, 2, 1, 1, 1); SELECT stepadv.refresh('rl.t'::regclass); SELECT count(*) FROM rl.t_groups; SELECT * FROM stepadv.check_maintained('rl.t'::regclass)), "0\n2", "$_: all works") foreach 'restored', 'restored_own';
unharmed('schema');

# Every call of a function of the extension passes exact types: no similar function, not even one by a superuser, is called instead.
house('overloaded');
works('admin', 'overloaded', q(
	SET client_min_messages = warning;
	DO $do$
	DECLARE
		f record;
	BEGIN
		FOR f IN
			SELECT n.nspname, p.proname, p.prosrc, p.proretset, c.alternative, c.of, c.result,
				ARRAY(SELECT CASE WHEN t.type = c.of THEN c.alternative::text ELSE format_type(t.type, NULL) END FROM unnest(p.proargtypes) WITH ORDINALITY t(type, i) ORDER BY i) AS arguments
			FROM (SELECT p.*, p.prorettype = 'trigger'::regtype AS is_trigger FROM pg_proc p) p JOIN pg_namespace n ON n.oid = p.pronamespace
			CROSS JOIN (VALUES ('regclass'::regtype, 'oid'::regtype, 'integer'), ('oid'::regtype, 'regclass'::regtype, 'integer'), ('integer'::regtype, 'smallint'::regtype, 'integer'),
				('bigint'::regtype, 'integer'::regtype, 'integer'), ('text'::regtype, 'name'::regtype, 'integer'), ('text'::regtype, 'varchar'::regtype, 'integer'), ('text[]'::regtype, 'name[]'::regtype, 'integer'),
				('float8'::regtype, 'numeric'::regtype, 'integer'), ('float8'::regtype, 'integer'::regtype, 'integer')) c(of, alternative, result)
			WHERE n.nspname IN ('stepadv', 'stepadv_internal') AND p.prokind = 'f' AND c.of = ANY (p.proargtypes::oid[]) AND NOT p.is_trigger AND 'internal'::regtype <> ALL (p.proargtypes::oid[])
		LOOP
			BEGIN
				EXECUTE format('CREATE FUNCTION %I.%I(%s) RETURNS integer LANGUAGE plpgsql AS $f$ BEGIN RAISE EXCEPTION ''trapped''; END $f$', f.nspname, f.proname, array_to_string(f.arguments, ', '));
			EXCEPTION WHEN duplicate_function OR invalid_function_definition THEN NULL;
			END;
		END LOOP;
	END $do$), undef, 'functions that are nearly the same');
# Calls that leave out arguments could match a function of just the others.  attachments has tests that call it without.
is($node->safe_psql('overloaded', q(SELECT string_agg(p.proname, ' ') FROM pg_proc p
	WHERE p.pronamespace = 'stepadv_internal'::regnamespace AND p.pronargdefaults > 0 AND p.proname <> 'attachments')), '', 'inner functions are called with all their arguments');
stands('overloaded', 'overloaded');
works('alice', 'overloaded', q(
	CREATE TABLE public.all_of_it (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), g integer NOT NULL, k text NOT NULL, r uuid, n integer, st jsonb, act text, reward numeric, success boolean, next_st jsonb, v real, tr smallint, c integer,
		ln real[], lo float8[], mask integer[], tool text, args jsonb, ok boolean, version text, at timestamptz, features float8[], experiment varchar, train_step smallint, seed smallint, sub numeric);
	CREATE TABLE public.all_runs (g integer, k text, r uuid, version integer, at timestamptz);
	INSERT INTO public.all_of_it (g, k, r, n, st, act, reward, success, next_st, v, tr, c, ln, lo, mask, tool, args, ok, version, at, features, experiment, train_step, seed, sub)
	SELECT i / 20, 'k', ('00000000-0000-0000-0000-00000000000' || i / 4 % 5)::uuid, i % 4, to_jsonb(i % 3), i % 2, i, i % 5 = 0, to_jsonb(i % 3), 0.5, 1, 1, '{-1}', '{-2}', '{1}', 'bash', '{"command": "ls"}', true, 'v', now(), '{1,2}', 'x', i / 4, i / 20, 0.5 FROM generate_series(0, 39) i;
	SELECT count(*) > 20 FROM stepadv.attach(source => 'public.all_of_it'::regclass, group_by => '{g,k}'::text[], rollout_id => 'r', step_no => 'n', state => 'st', action => 'act', reward => 'reward', columns => '{"success": "success", "next_state": "next_st", "value": "v", "turn_reward": "tr", "cost": "c", "logp_new": "ln", "logp_old": "lo", "token_mask": "mask", "policy_version": "version", "started_at": "at"}', views => '{all}', prefix => 'al', options => '{"show_rollouts": "public.all_runs", "rtmc": {"gamma": 0.9}, "compare": {"success_above": 1}, "groups_over_time": {}, "progress_over_time": {"bucket": "1 day"}, "quadrants": {"threshold": 0.1}}');
	SELECT count(*) > 10 FROM stepadv.attach(source => 'public.all_of_it'::regclass, group_by => '{g,k}'::text[], rollout_id => 'r', step_no => 'n', reward => 'reward', columns => '{"tool": "tool", "args": "args", "ok": "ok"}', views => '{all}', prefix => 'signed', options => '{"states": "signature"}');
	SELECT count(*) > 20 FROM stepadv.attach(source => 'public.all_of_it'::regclass, group_by => '{g,k}'::text[], rollout_id => 'r', step_no => 'n', state => 'st', action => 'act', columns => '{"success": "success", "policy_version": "version", "task_id": "k", "run_id": "experiment", "policy_step": "train_step", "rewards": ["reward", "sub"], "dimensions": ["seed", "at", "g"], "logp_new": "ln", "logp_old": "lo"}', views => '{all}', prefix => 'runs', options => '{"show_rollouts": "public.all_runs"}');
	SELECT count(*) > 0 FROM public.runs_groups_over_time; SELECT count(*), sum(mean_reward_sub) > 0 FROM public.runs_progress_over_time; SELECT count(staleness) FROM public.runs_advantages WHERE method = 'rtmc';
	SELECT count(staleness), count(run_id) FROM public.runs_compare; SELECT count(*), count(run_id) FROM public.runs_groups; SELECT count(*) > 0 FROM public.runs_quadrants; SELECT count(*) > 0 FROM public.runs_disagreements;
	SELECT sum(n_kept) > 0 FROM stepadv.explain_selection('public.runs_rtmc'::regclass, max_staleness => 3);
	SELECT count(*) FROM public.al_compare; SELECT count(*) > 0 FROM public.al_quadrants; SELECT count(*) > 0 FROM public.al_progress_over_time; SELECT count(*) > 0 FROM public.al_advantages;
	SELECT count(*) FROM public.al_ratios; SELECT count(*) FROM public.signed_rtmc;
	SELECT count(*) > 0 FROM stepadv.select_steps('public.al_rtmc'::regclass, informative => 'dapo', per_rollout => 1) s), "t\nt\nt\nt\n10|t\n40\n40|40\n2|2\nt\nt\nt\n40\nt\nt\nt\n40\n40\nt", 'overloaded: all that attach knows');
works('alice', 'overloaded', q(CREATE TABLE public.talk (g text, k integer, rollout_id text, step_no integer, turn integer, observation text, action text, tool text, args jsonb, next_observation text, metadata jsonb, step_id bigint, advantage float8, q float8, success boolean, n_action integer);
	INSERT INTO public.talk VALUES ('a', 1, 'r', 0, 0, 'seen', 'done', 't', '{}', 'and', '{"text": "so"}', 1, 0.5, 1, true, 2), ('a', 1, 'r', 1, 1, 'and', 'done', NULL, NULL, NULL, NULL, 2, 0.5, 1, true, 2);
	SELECT count(*) FROM stepadv.select_steps('public.talk'::regclass, group_by => '{g,k}'::text[], success_only => true, min_action_visits => 2);
	SELECT count(*) FROM (SELECT stepadv.rollout_agg(v.i, v.i, 0, 1::bigint, v.i, v.i::float8) AS rollouts FROM (VALUES (1::bigint), (2)) v(i)) x, stepadv.preference_pairs(x.rollouts, min_visits => 1)), "2\n1", 'overloaded: steps for trainers');
foreach my $shape (qw(messages prm))
{
	my ($out, $err) = ('', '');
	IPC::Run::run([ '/usr/bin/python3', abs_path('client') . '/bin/stepadv', 'export', '-U', 'alice', '-d', $node->connstr('overloaded'), '--shape', $shape, '--group-by', 'g,k',
		'--steps', 'public.talk', 'public.talk' ], '>', \$out, '2>', \$err);
	is(($out =~ tr/\n//) . $err, $shape eq 'prm' ? '1' : '2', "overloaded: $shape") if $err !~ /psycopg/;
}

# The canonical tables, in a schema where mallory may create: making them, the trigger that computes identities, users who may only insert;
# with functions and operators of hers that fit better.
works('admin', 'overloaded', 'GRANT CREATE ON SCHEMA public TO mallory; GRANT CREATE ON DATABASE overloaded TO alice', undef, 'mallory may create in public');
works('mallory', 'overloaded', qq(
	CREATE FUNCTION public.evil_hash(text) RETURNS bigint LANGUAGE plpgsql AS \$f\$ $evil RETURN 1; END \$f\$;
	CREATE FUNCTION public.signature_hash(text) RETURNS bigint LANGUAGE plpgsql AS \$f\$ $evil RETURN 1; END \$f\$;
	CREATE FUNCTION public.signature_hash(jsonb) RETURNS bigint LANGUAGE plpgsql AS \$f\$ $evil RETURN 1; END \$f\$;
	CREATE FUNCTION public.action_signature(text, jsonb, boolean) RETURNS text LANGUAGE plpgsql AS \$f\$ $evil RETURN 'x'; END \$f\$;
	CREATE FUNCTION public.unique_state() RETURNS bigint LANGUAGE plpgsql AS \$f\$ $evil RETURN 1; END \$f\$;
	CREATE FUNCTION public.format(text, text, text) RETURNS text LANGUAGE plpgsql AS \$f\$ $evil RETURN 'x'; END \$f\$;
	CREATE FUNCTION public.evil_eq(text, text) RETURNS boolean LANGUAGE plpgsql AS \$f\$ $evil RETURN true; END \$f\$;
	CREATE OPERATOR public.= (LEFTARG = text, RIGHTARG = text, FUNCTION = public.evil_eq);
	CREATE FUNCTION public.evil_ne(text, text) RETURNS boolean LANGUAGE plpgsql AS \$f\$ $evil RETURN true; END \$f\$;
	CREATE OPERATOR public.<> (LEFTARG = text, RIGHTARG = text, FUNCTION = public.evil_ne);), undef, 'mallory has functions and operators');
works('alice', 'overloaded', q(SET search_path = public, pg_catalog;
	SELECT pg_catalog.count(*) OPERATOR(pg_catalog.>) 20 FROM stepadv.create_tables('alices'::pg_catalog.text, group_by => '{kind,task_id}'::pg_catalog.text[], partitions => 2, views => '{all}'::pg_catalog.text[]);
	GRANT USAGE ON SCHEMA alices TO erin; GRANT INSERT ON alices.rollouts, alices.steps TO erin; GRANT USAGE ON SEQUENCE alices.steps_step_id_seq TO erin), 't', 'alice makes tables');
foreach my $who ('alice', 'erin')
{
	works($who, 'overloaded', qq(SET search_path = public, pg_catalog;
		INSERT INTO alices.rollouts (kind, task_id, rollout_id, outcome) VALUES ('k', 't', '$who', 1);
		INSERT INTO alices.steps (kind, task_id, rollout_id, step_no, observation, next_observation, action, tool, args) VALUES ('k', 't', '$who', 1, 'o', 'p', 'a', NULL, NULL), ('k', 't', '$who', 2, 'p', NULL, NULL, 'bash', '{"command": "ls"}'), ('k', 't', '$who', 3, 'q', NULL, NULL, 'unknown', '[1]')), '', "$who inserts");
}
works('alice', 'overloaded', q(SET search_path = public, pg_catalog; UPDATE alices.steps SET observation = 'r', action = 'b' WHERE step_no OPERATOR(pg_catalog.=) 1;
	-- Up to 14 a move to another partition is refused, and done by hand.
	DO $$
	BEGIN
		UPDATE alices.rollouts SET kind = 'l';
	EXCEPTION WHEN feature_not_supported THEN
		INSERT INTO alices.rollouts (kind, task_id, rollout_id, outcome) SELECT 'l', task_id, rollout_id, outcome FROM alices.rollouts;
		UPDATE alices.steps SET kind = 'l';
		DELETE FROM alices.rollouts WHERE kind OPERATOR(pg_catalog.=) 'k';
	END $$), '', 'alice updates');
works('alice', 'overloaded', q(SELECT count(*), count(*) FILTER (WHERE state = stepadv.signature_hash(observation) AND action_hash = CASE tool WHEN 'bash' THEN stepadv.signature_hash(stepadv.action_signature(tool, args, ok)) WHEN 'unknown' THEN stepadv.signature_hash(jsonb_build_array(tool, args)) ELSE stepadv.signature_hash(action) END) FROM alices.steps;
	SELECT n_rollouts, all_shared_step_share, no_shared_state FROM alices.steps_groups), "6|6\n2|1|f", 'and what was filled is right');
# A user who may not write the table gains nothing by the trigger's function, and none of their functions is called by its name.
refused('mallory', 'overloaded', q(INSERT INTO alices.steps (kind, task_id, rollout_id, step_no) VALUES ('l', 't', 'alice', 9)), qr/permission denied/, 'mallory inserts');
refused('mallory', 'overloaded', q(CREATE TABLE public.hers (a text); CREATE TRIGGER t BEFORE INSERT ON public.hers FOR EACH ROW EXECUTE FUNCTION stepadv_internal.fill_identities('observation'); INSERT INTO public.hers VALUES ('x')), qr/arguments for 0 columns/, 'a table of hers');
unharmed('canonical tables');

# ---- 6. Another user's methods, and functions with our names, where methods are checked
house('checked');
$node->safe_psql('checked', 'CREATE SCHEMA m AUTHORIZATION mallory; GRANT USAGE ON SCHEMA m TO PUBLIC');
my $evil_rows = qq(RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, advantage float8) LANGUAGE plpgsql AS \$f\$ $evil RETURN QUERY SELECT s.step_id, s.rollout_id, s.step_no, 1::float8 FROM stepadv.steps(rollouts) s; END \$f\$);
works('mallory', 'checked', qq(
	CREATE FUNCTION m.evil_method(rollouts stepadv.rollout_group, gamma float8 DEFAULT 0.9) $evil_rows;
	CREATE FUNCTION m.batch_td(rollouts stepadv.rollout_group, gamma float8 DEFAULT 0.9) $evil_rows;
	CREATE FUNCTION m.rtmc(rollouts stepadv.rollout_group) $evil_rows;
	CREATE FUNCTION m.left_out(rollouts stepadv.rollout_group, max_rollouts integer, seed integer) RETURNS TABLE (rollout_id bigint) LANGUAGE plpgsql AS \$f\$ $evil RETURN NEXT; END \$f\$;
	CREATE FUNCTION m.without_rollout(rollouts stepadv.rollout_group, id bigint) RETURNS stepadv.rollout_group LANGUAGE plpgsql AS \$f\$ $evil RETURN rollouts; END \$f\$;
	CREATE FUNCTION m.signature_hash(text) RETURNS bigint LANGUAGE plpgsql AS \$f\$ $evil RETURN 1; END \$f\$;
	CREATE FUNCTION m.credit_check(sums float8[]) RETURNS TABLE (candidate bigint, score float8) LANGUAGE plpgsql AS \$f\$ $evil RETURN NEXT; END \$f\$;
	CREATE FUNCTION m.credit_sums(candidates stepadv.rollout_group[], method text) RETURNS float8[] LANGUAGE plpgsql AS \$f\$ $evil RETURN NULL; END \$f\$;
	CREATE FUNCTION m.joined(text, text) RETURNS text LANGUAGE plpgsql AS \$f\$ $evil RETURN ''; END \$f\$;
	CREATE OPERATOR m.|| (LEFTARG = text, RIGHTARG = text, FUNCTION = m.joined);
	SELECT stepadv.register_method('m.evil_method(stepadv.rollout_group, float8)'::regprocedure, requires => '{reward,state,action}');
	-- Unlike what register_method would write.
	INSERT INTO m.stepadv_methods SELECT n, 'm.batch_td(stepadv.rollout_group,double precision)', '{reward}', '{}', NULL, 'a row per step' FROM unnest('{batch_td,rtmc,grpo}'::text[]) n;
	SELECT stepadv.credit_sums(ARRAY[(SELECT stepadv.rollout_agg(i, i, 0, 1, i, i) FROM generate_series(1, 4) i)], 'evil_method') IS NOT NULL;),
	"m.stepadv_methods\nt", 'mallory has methods, and checks them herself');
foreach my $who ('alice', 'admin')
{
	my $group = '(SELECT stepadv.rollout_agg(i, i, 0, 1, i % 2, i) FROM generate_series(1, 4) i)';
	works($who, 'checked', "SET search_path = m, stepadv, public; SELECT s.s[1][1:2] FROM stepadv.credit_sums(ARRAY[$group]) s(s); SELECT s.s[1][1] FROM stepadv.credit_sums(ARRAY[$group], 'rtmc') s(s); SELECT c.n_steps FROM stepadv.credit_sums(ARRAY[$group], 'grpo') s(s), stepadv.credit_check(s.s) c",
		"{{4,4}}\n4\n4", "$who checks stepadv's methods");
	refused($who, 'checked', "SET search_path = m, stepadv, public; SELECT stepadv.credit_sums(ARRAY[$group], 'evil_method')", qr/unknown method: 'evil_method'/, "$who does not know mallory's");
	foreach my $table (sort values %kept)
	{
		works($who, 'checked', qq(SET search_path = m, stepadv, public; SELECT count(*) > 5, sum(n_steps) > 0 FROM public.${table}_credit_check;
			SELECT count(*) FROM public.${table}_credit_check WHERE method = 'evil_method'), "t|t\n0", "$who reads what was checked of $table");
	}
	works($who, 'checked', q(SET search_path = m, stepadv, public; SELECT sum((SELECT count(*) FROM stepadv.add_views(a.source, '{}', a.prefix))) >= 0 FROM stepadv.attachments() a; SELECT count(*) > 5 FROM public.a_credit_check), "t\nt", "$who upgrades");
}
unharmed('methods that are checked');

# ---- An administrator calls functions on mallory's table: her code does not get their privileges
$node->safe_psql('postgres', 'CREATE DATABASE helped');
$node->safe_psql('helped', 'CREATE EXTENSION stepadv; CREATE SCHEMA m AUTHORIZATION mallory; GRANT USAGE ON SCHEMA m TO PUBLIC');
works('mallory', 'helped', qq(
	-- maintain accepts no volatile function.
	CREATE FUNCTION m.evil_inside(integer) RETURNS integer LANGUAGE plpgsql AS \$f\$ $evil RETURN \$1; END \$f\$;
	CREATE FUNCTION m.evil(integer) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS \$f\$ BEGIN RETURN m.evil_inside(\$1); END \$f\$;
	CREATE FUNCTION m.evil_trigger() RETURNS trigger LANGUAGE plpgsql AS \$f\$ $evil RETURN NULL; END \$f\$;
	CREATE TABLE m.base (id bigint PRIMARY KEY, g integer NOT NULL, r integer, n integer, score float8, at timestamptz DEFAULT now());
	CREATE INDEX ON m.base (g);
	INSERT INTO m.base SELECT i, i % 3, i / 3, 1, i FROM generate_series(1, 30) i;
	CREATE VIEW m.source AS SELECT id, g, m.evil(r) AS r, n, score, at + m.evil(0) * interval '1s' AS at FROM m.base;), undef, 'mallory has a view with a function of hers');
foreach my $how ('refresh', 'triggers', 'watermark')
{
	my $mode = $how eq 'watermark' ? q('refresh', watermark => 'at') : "'$how'";
	works('mallory', 'helped', q(SELECT count(*) > 5 FROM stepadv.attach('m.source'::regclass, '{g}'::text[], 'r', 'n', reward => 'score', columns => '{"step_id": "id"}', views => '{all}', prefix => 's')), 't', "$how: mallory attaches");
	my $call = sub {
		my ($sql, $name) = @_;
		my ($status, $out, $err) = $node->psql('helped', $sql, on_error_stop => 0);
		push @noise, $err;
	};
	$call->(q(BEGIN; SELECT stepadv.detach('m.source'::regclass); SELECT count(*) FROM stepadv.attach('m.source'::regclass, '{g}'::text[], 'r', 'n', reward => 'score', columns => '{"step_id": "id"}', views => '{all}', prefix => 's'); ROLLBACK));
	$call->(qq(SELECT stepadv.maintain('m.source'::regclass, mode => $mode)));
	# She changes her objects.
	as('mallory', 'helped', $_) foreach
		'CREATE TRIGGER evil AFTER DELETE ON m.s_changed FOR EACH STATEMENT EXECUTE FUNCTION m.evil_trigger()',
		(map { "CREATE TRIGGER evil AFTER INSERT OR UPDATE OR DELETE ON m.s_$_ FOR EACH STATEMENT EXECUTE FUNCTION m.evil_trigger()" } qw(folded attachment)),
		q(CREATE FUNCTION m.calm(g text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN m.evil(g); END'),
		'CREATE OR REPLACE VIEW m.s_fresh AS SELECT m.calm(f.g) AS g, f.rollouts FROM (SELECT g, stepadv.rollout_agg(id, r::bigint, n, 0::bigint, 0::bigint, score) AS rollouts FROM m.source GROUP BY g) f',
		"DO \$do\$ DECLARE f regprocedure; BEGIN FOR f IN SELECT oid FROM pg_proc WHERE pronamespace = 'm'::regnamespace AND prosecdef LOOP EXECUTE format('ALTER FUNCTION %s SECURITY INVOKER', f); END LOOP; END \$do\$",
		"UPDATE m.base SET score = score + 1 WHERE id = 1";
	$call->(q(SELECT stepadv.refresh('m.source'::regclass)));
	$call->(q(SELECT stepadv.refresh('m.source'::regclass, full => true)));
	# A group that cannot be folded is searched for.
	as('mallory', 'helped', $_) foreach 'CREATE OR REPLACE VIEW m.s_fresh AS SELECT m.calm(g) AS g, stepadv.rollout_agg(id, 1, 1, 0::bigint, 0::bigint, score) AS rollouts FROM m.source GROUP BY g', 'UPDATE m.base SET score = score + 1, at = now() WHERE id = 1';
	$call->(q(SELECT stepadv.refresh('m.source'::regclass)));
	$call->(q(SELECT * FROM stepadv.check_maintained('m.source'::regclass)));
	$call->(q(SELECT stepadv.create_pool('m.source'::regclass)));
	$call->("SELECT * FROM stepadv.$_") foreach q(compare_versions('m.source', '0', '1', division => 'policy_version')), q(version_difference('m.source', '0', '1')), q(choose_state('m.source', candidates => '{"r": "m.evil(r)"}'));
	works('admin', 'helped', q(SELECT string_agg(relowner::regrole::text, ' ') FROM pg_class WHERE relname IN ('s_pool', 's_ready')), 'mallory mallory', "$how: the pool is hers");
	$call->(q(DROP TABLE m.s_pool CASCADE));
	$call->(q(SELECT stepadv.unmaintain('m.source'::regclass)));
	$call->(q(SELECT stepadv.detach('m.source'::regclass)));
	unharmed("$how, called by an administrator");
	$node->safe_psql('postgres', 'ALTER ROLE mallory NOSUPERUSER');
	works('mallory', 'helped', q(SELECT stepadv.unmaintain('m.source'::regclass) >= 0, stepadv.detach('m.source'::regclass) >= 0), 't|t', "$how: mallory ends it");
}

# A table that was hers belongs to an administrator now: what she made over it does not run with their privileges.
$node->safe_psql('helped', 'GRANT USAGE ON SCHEMA m TO PUBLIC');
works('mallory', 'helped', qq(CREATE TABLE m.given (LIKE m.base INCLUDING ALL); INSERT INTO m.given SELECT * FROM m.base;
	SELECT count(*) > 5 FROM stepadv.attach('m.given'::regclass, '{g}'::text[], 'r', 'n', reward => 'score', views => '{all}');
	SELECT stepadv.maintain('m.given'::regclass);), "t\nm.given_folded", 'mallory keeps groups');
works('admin', 'helped', "ALTER TABLE m.given OWNER TO $admin", undef, 'an administrator takes the table');
works('mallory', 'helped', join('', map { "CREATE TRIGGER evil AFTER INSERT OR UPDATE OR DELETE ON m.given_$_ FOR EACH STATEMENT EXECUTE FUNCTION m.evil_trigger();" } qw(attachment folded digests))
	. 'CREATE OR REPLACE VIEW m.given_fresh AS SELECT m.evil(f.g) AS g, f.rollouts FROM m.given_folded f; CREATE OR REPLACE VIEW m.given_values AS SELECT m.evil(f.g) AS g, f.rollouts FROM m.given_folded f', undef, 'mallory has traps');
foreach my $sql (q(SELECT * FROM stepadv.maintained()), q(SELECT * FROM stepadv.attachments()), map { "SELECT * FROM stepadv.$_" } q(refresh('m.given')), q(refresh('m.given', full => true)), q(check_maintained('m.given')),
	q(add_views('m.given', '{all}')), q(drop_views('m.given', '{grpo}')), q(compare_versions('m.given', 'a', 'b')), q(version_difference('m.given', 'a', 'b')), q(create_pool('m.given')), q(maintain('m.given')),
	q(attach('m.given', '{g}', 'r', 'n', reward => 'score', prefix => 'mine')), q(add_views('m.given', '{all}', 'mine')), q(maintain('m.given', prefix => 'mine')), q(refresh('m.given', full => true)), q(unmaintain('m.given')), q(detach('m.given')))
{
	my ($status, $out, $err) = $node->psql('helped', $sql);
	push @noise, $err;
}
unharmed('a table that was hers');
# A conflicting object is hers: it is not dropped.
works('mallory', 'helped', q(CREATE TABLE m.left_attachment OF stepadv.attachment), undef, 'mallory has a table of our type');
refused('admin', 'helped', q(SELECT stepadv.attach('m.given'::regclass, '{g}'::text[], 'r', 'n', reward => 'score', prefix => 'left')), qr/relation "left_attachment" already exists/, 'an administrator attaches beside it');

# Her pool, advantages and canonical tables: code called when an administrator claims, selects and loads runs as her.
$node->safe_psql('helped', 'GRANT CREATE ON DATABASE helped TO mallory');
works('mallory', 'helped', qq(CREATE TABLE m.p (id bigint PRIMARY KEY, g integer NOT NULL, r integer, n integer, score float8); INSERT INTO m.p SELECT i, i % 3, i / 3, 1, i FROM generate_series(1, 30) i;
	SELECT count(*) > 5 FROM stepadv.attach('m.p'::regclass, '{g}'::text[], 'r', 'n', reward => 'score', views => '{all}'); SELECT stepadv.create_pool('m.p');
	DO \$do\$ BEGIN EXECUTE 'CREATE OR REPLACE VIEW m.p_ready AS ' || replace(pg_get_viewdef('m.p_ready'::regclass), 'SELECT g.g,', 'SELECT m.evil(g.g) AS g,'); END \$do\$;
	CREATE VIEW m.chosen AS SELECT m.evil(p.g) AS g, p.rollout_id, p.step_no, p.step_id, p.advantage FROM m.p_rloo p;
	SELECT count(*) > 5 FROM stepadv.create_tables('ml'::text);
	CREATE FUNCTION m.evil_default() RETURNS text LANGUAGE plpgsql AS \$f\$ $evil RETURN 'run'; END \$f\$;
	ALTER TABLE ml.rollouts ALTER run_id SET DEFAULT m.evil_default();)
	. join('', map { "CREATE TRIGGER evil AFTER INSERT OR UPDATE OR DELETE ON $_ FOR EACH STATEMENT EXECUTE FUNCTION m.evil_trigger();" } qw(m.p_pool ml.rollouts ml.steps)), "t\nm.p_ready\nt", 'mallory has a pool and tables, with traps');
my $lines = q(CREATE TEMP TABLE lines AS SELECT n, format('{"task_id": "t", "rollout_id": "%s", "step_no": 1, "observation": "o", "action": "%s", "outcome": %s}', n, word, n - 1) AS line FROM generate_series(1, 2::bigint) n, (VALUES ('a')) w(word););
foreach my $call ([ q(SELECT string_agg(g || claimed_by, ' ') FROM stepadv.claim_groups(NULL::m.p_ready, 2, order_by => 'g desc', holder => 'admin'); SELECT 2 * count(claim) FROM m.p_pool), "2admin 1admin\n4", 'claims' ],
	[ q(SELECT stepadv.consume_groups('m.p_ready', (SELECT claim FROM m.p_pool WHERE claim IS NOT NULL LIMIT 1), 1)), 2, 'consumes' ],
	[ q(SELECT count(*) FROM stepadv.select_steps('m.chosen', group_by => '{g}', per_group => 1)), 3, 'selects' ],
	[ q(SELECT max(n_kept) FROM stepadv.explain_selection('m.chosen', group_by => '{g}', per_group => 1)), 30, 'explains' ],
	[ "$lines SELECT n_rollouts_added, n_steps_added FROM stepadv.load_rollouts('ml', 'lines')", '2|2', 'loads' ],
	[ "$lines UPDATE lines SET line = replace(replace(line, '\"a\"', '\"b\"'), '\"outcome\": 1', '\"outcome\": 2'); SELECT n_rollouts_updated, n_steps_added FROM stepadv.load_rollouts('ml', 'lines', replace => true); SELECT string_agg(action, '') FROM ml.steps", "1|2\nbb", 'loads anew' ])
{
	works('admin', 'helped', $call->[0], $call->[1], "an administrator $call->[2]");
	like("@noise", qr/evil ran as mallory/, 'she had a trap there');
	unharmed("an administrator $call->[2]");
}
# Creating a view over hers runs none of her code.
works('admin', 'helped', q(SELECT stepadv.create_selection('m.chosen', 'of_hers', group_by => '{g}', schema => 'public')), 'of_hers', 'an administrator has a selection of hers');
unlike("@noise", qr/evil ran/, 'nothing of hers ran');

# ---- 7. Blocking: many tables of our type, all locked; locks and views on what is to be dropped
house('crowded');
$node->safe_psql('crowded', 'CREATE SCHEMA m AUTHORIZATION mallory; GRANT CREATE ON SCHEMA public TO mallory');
works('mallory', 'crowded', q(DO $do$ BEGIN FOR i IN 1 .. 1500 LOOP
	EXECUTE format('CREATE TABLE m.x%1$s_attachment OF stepadv.attachment; CREATE VIEW m.x%1$s_rows AS SELECT g FROM public.t; INSERT INTO m.x%1$s_attachment (prefix, rows, n_group_columns) VALUES (%2$L, %3$L, 1)', i, 't', format('m.x%s_rows', i));
	IF i % 100 = 0 THEN COMMIT; END IF; END LOOP; END $do$), undef, 'mallory has 1500 tables of our type');
$node->safe_psql('postgres', 'ALTER SYSTEM SET max_locks_per_transaction = 512');
$node->restart;
mallory_stays('crowded', q(BEGIN; DO $do$ BEGIN FOR i IN 1 .. 1500 LOOP EXECUTE format('LOCK TABLE m.x%s_attachment', i); END LOOP; END $do$;));
foreach my $who ('alice', 'admin')
{
	# Each of a few dozen look-ups would wait for the timeout.
	works($who, 'crowded', q(SET statement_timeout = '2s'; SELECT count(*) FROM stepadv.attachments(); SELECT count(*) FROM stepadv.maintained() WHERE problem IS NULL), "3\n2", "$who lists what there is");
}
stands('crowded', 'many locked tables');
mallory_leaves();
# An administrator sees all attachments: each is checked once, and one that cannot be read is no error for the others.
works('mallory', 'crowded', q(CREATE VIEW m.fresh AS SELECT g, NULL::stepadv.rollout_group AS rollouts FROM public.t; CREATE TABLE m.folded (g integer, rollouts stepadv.rollout_group);
	DO $do$ BEGIN FOR i IN 1 .. 1500 LOOP EXECUTE format('UPDATE m.x%s_attachment SET kept = %L, fresh = %L, folded = %L', i, 'triggers', 'm.fresh', 'm.folded'); END LOOP; END $do$;
	CREATE FUNCTION m.f0(integer) RETURNS integer STABLE BEGIN ATOMIC SELECT $1; END;
	DO $do$ BEGIN FOR i IN 1 .. 4000 LOOP EXECUTE format('CREATE FUNCTION m.f%s(integer) RETURNS integer STABLE BEGIN ATOMIC SELECT m.f%s($1); END', i, i - 1); END LOOP; END $do$;
	CREATE VIEW m.deep AS SELECT g, NULL::stepadv.rollout_group AS rollouts FROM public.t WHERE m.f4000(g) = g; UPDATE m.x1_attachment SET fresh = 'm.deep';), undef, 'mallory says that she keeps 1500 sets of groups');
works('admin', 'crowded', q(SET statement_timeout = '90s'; SELECT count(*), count(*) FILTER (WHERE problem IS NULL), string_agg(problem, '; ') FILTER (WHERE problem LIKE '%not known whether%') FROM stepadv.maintained()),
	'1502|2|it is not known whether groups are stale: stack depth limit exceeded', 'admin lists them');
works('alice', 'crowded', 'GRANT SELECT ON ALL TABLES IN SCHEMA public TO mallory', undef, 'alice lets mallory read');
# Not ten seconds each.
works('admin', 'crowded', join('; ', map { "ALTER FUNCTION stepadv_internal.$_(regclass, boolean) SET lock_timeout = '1s'" } 'end_kept', 'end_attachment'), undef, 'all are impatient');
works('mallory', 'crowded', 'CREATE VIEW public.over_rtmc AS SELECT * FROM public.a_rtmc', undef, 'she does');
refused('alice', 'crowded', q(SELECT stepadv.detach('public.a'::regclass)), qr/other objects depend on it.*view (public\.)?over_rtmc depends on view (public\.)?a_rtmc.*cascade => true/s, 'a view of mallory\'s over one of alice\'s');
mallory_stays('crowded', q(BEGIN; LOCK TABLE public.over_rtmc IN ACCESS SHARE MODE;));
refused('alice', 'crowded', q(SELECT stepadv.detach('public.a'::regclass, cascade => true)), qr/others use it.*of role mallory holds .*public\.a_rtmc/s, 'mallory holds it');
mallory_leaves();
works('alice', 'crowded', q(SELECT stepadv.detach('public.a'::regclass, cascade => true) > 10; SELECT to_regclass('public.over_rtmc')), "t\n", 'and it goes');
# What maintain made of t is dropped likewise; a trigger of hers that names the attachment is not ours, and its table is not waited for.
works('mallory', 'crowded', q(CREATE VIEW public.over_folded AS SELECT g FROM public.t_folded; CREATE TABLE m.hers (g integer);
	CREATE TRIGGER hers AFTER INSERT ON m.hers FOR EACH STATEMENT WHEN ('public.t_attachment'::regclass IS NOT NULL) EXECUTE FUNCTION stepadv_internal.keep_groups();), undef, 'mallory has a view over kept groups and a trigger');
refused('alice', 'crowded', q(SELECT stepadv.unmaintain('public.t'::regclass)), qr/what maintain made for public\.t cannot be dropped: other objects depend on it.*over_folded depends on table (public\.)?t_folded.*unmaintain with cascade => true/s, 'a view of mallory\'s over what is kept');
mallory_stays('crowded', q(BEGIN; LOCK TABLE m.hers; LOCK TABLE public.over_folded IN ACCESS SHARE MODE;));
refused('alice', 'crowded', q(SELECT stepadv.unmaintain('public.t'::regclass, cascade => true)), qr/what maintain made for public\.t cannot be dropped: others use it.*of role mallory holds .*public\.over_folded/s, 'mallory holds it');
refused('alice', 'crowded', q(SELECT stepadv.detach('public.t'::regclass, cascade => true)), qr/cannot be dropped: others use it.*of role mallory holds /s, 'mallory holds what depends on the attachment');
mallory_leaves();
mallory_stays('crowded', q(BEGIN; LOCK TABLE m.hers;));
works('alice', 'crowded', q(SET statement_timeout = '8s'; SELECT stepadv.unmaintain('public.t'::regclass, cascade => true); SELECT to_regclass('public.over_folded')), "1\n", 'alice ends it with her view, whatever else mallory holds');
works('mallory', 'crowded', q(SELECT count(*) FROM pg_trigger WHERE tgrelid = 'm.hers'::regclass), 1, 'mallory\'s trigger is where it was');
mallory_leaves();
works('mallory', 'crowded', q(INSERT INTO m.hers VALUES (1); SELECT count(*) FROM m.hers), 1, 'and does nothing');
unharmed('crowded');

$node->stop;
done_testing();
