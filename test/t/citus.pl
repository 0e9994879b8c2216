# Tables that Citus distributes over two workers: every view of attach gives what it gives over one server's table, and is
# computed on the workers.
# Run where the library citus is in the server that PG_CONFIG names, and STEPADV_COPY_SERVER=1; nothing here builds it.
use strict;
use warnings;
use Client;
use Cwd qw(abs_path);
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my ($pkglibdir) = run_command([ 'pg_config', '--pkglibdir' ]);
plan skip_all => 'the library citus is not installed in this server' if !-e "$pkglibdir/citus.so";
# With a copy of the extension in the server and one in the stage Citus finds two.
plan skip_all => 'Citus wants a whole copy of the server: STEPADV_COPY_SERVER=1' if -e "stage$pkglibdir/citus.so" && slurp_file($ENV{TEMP_CONFIG}) =~ /extension_destdir/;

my %node = map { $_ => PostgreSQL::Test::Cluster->new($_) } qw(coordinator worker_1 worker_2);
foreach my $node (values %node)
{
	$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
	$node->append_conf('postgresql.conf', "shared_preload_libraries = 'citus'\njit = off\nfsync = off\nmax_connections = 60\nmax_prepared_transactions = 60\nmax_wal_senders = 5\nwal_level = logical\n");
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION citus');
}
my $coordinator = $node{coordinator};
sub ask { return $coordinator->safe_psql('postgres', $_[0]); }
sub refused { my (undef, undef, $err) = $coordinator->psql('postgres', $_[0]); return $err; }
ask('SELECT citus_set_coordinator_host(' . join(', ', "'" . $coordinator->host . "'", $coordinator->port) . ')');
ask("SELECT citus_add_node('" . $_->host . "', " . $_->port . ')') foreach @node{qw(worker_1 worker_2)};
ask('CREATE EXTENSION stepadv');
is($node{$_}->safe_psql('postgres', "SELECT count(*) FROM pg_extension WHERE extname = 'stepadv'"), '1', "CREATE EXTENSION reaches $_") foreach qw(worker_1 worker_2);

# The same rows twice: in one database distributed, in another of a server without Citus.
my $rows = q(
	CREATE TABLE step (step_id bigint NOT NULL, task integer NOT NULL, r bigint NOT NULL, n integer NOT NULL, state bigint, action bigint, reward float8, value float8, next_state bigint,
		turn_reward float8, cost float8, logp_new float8[], logp_old float8[], mask boolean[], x real[], tool text, args jsonb, ok boolean, turn integer, note text, prompt integer[], response integer[],
		PRIMARY KEY (task, r, n), UNIQUE (task, step_id));
	CREATE TABLE run (task integer, r bigint, run text, version text, policy_step bigint, began timestamptz, ended timestamptz, model text, PRIMARY KEY (task, r));
	CREATE TABLE colour (task integer PRIMARY KEY, colour text);
);
my $fill = q(
	INSERT INTO step SELECT i, i / 40, i / 5, i % 5, i * 7 % 11, i % 3, CASE WHEN i % 5 = 4 THEN i / 5 * i / 7 % 2 END, i % 7 / 8.0, CASE WHEN i % 5 = 4 THEN 99 END, i % 3 / 2.0, 1 + i % 2,
		ARRAY[-0.125 * (i % 4), -0.25], ARRAY[-0.25, -0.125 * (i % 3)], ARRAY[true, i % 2 = 0], ARRAY[i % 3, i % 5, 1], (ARRAY['bash', 'edit', 'search'])[1 + i % 3],
		jsonb_build_object('cmd', 'ls ' || i % 4), i % 4 > 0, i % 5 / 2, 'n' || i, ARRAY[1, 2, 3, i % 5], ARRAY[i % 5, 7] FROM generate_series(0, 1599) i;
	INSERT INTO run SELECT r / 8, r, 'run ' || r / 8 % 2, 'v' || r % 2, r % 2, '2026-01-01Z'::timestamptz + r % 3 * interval '1 day', '2026-01-01Z'::timestamptz + r % 3 * interval '1 day' + interval '1 hour', 'm' || r % 2
		FROM generate_series(0, 319) r;
	INSERT INTO colour SELECT t, CASE t % 2 WHEN 0 THEN 'red' ELSE 'blue' END FROM generate_series(0, 39) t;
	INSERT INTO stepadv.progress_models SELECT 'ridge', stepadv.progress_fit(r, x, reward, 0.01) FROM (SELECT r, x, max(reward) OVER (PARTITION BY task, r) AS reward FROM step) s;
	ANALYZE step; ANALYZE run;
);
my @attachments = (
	q(SELECT stepadv.attach('step', '{task}', 'r', 'n', 'state', 'action', 'reward', views => '{all}', prefix => 'plain')),
	q(SELECT stepadv.attach('step', '{task}', 'r', 'n', 'state', 'action', 'reward', columns => '{"step_id": "step_id", "value": "value", "next_state": "next_state", "turn_reward": "turn_reward", "cost": "cost", "logp_new": "logp_new", "logp_old": "logp_old", "token_mask": "mask", "tool": "tool", "args": "args", "ok": "ok", "policy_version": "version", "policy_step": "policy_step", "run_id": "run", "started_at": "began", "ended_at": "ended", "features": "x", "turn": "turn", "prompt_token_ids": "prompt", "response_token_ids": "response", "category": "tool", "dimensions": ["model"]}', views => '{all}', prefix => 'whole', options => '{"show_rollouts": "run", "spa": {"model": "ridge"}}')),
	q(SELECT stepadv.attach('step', '{task}', 'r', 'n', reward => 'reward', columns => '{"tool": "tool", "args": "args", "ok": "ok"}', views => '{all}', prefix => 'signed', options => '{"states": "signature"}')));
ask($rows);
ask("SELECT create_distributed_table('step', 'task', shard_count => 4); SELECT create_distributed_table('run', 'task', colocate_with => 'step'); SELECT create_distributed_table('colour', 'task', colocate_with => 'step')");
ask($fill);
my $alone = PostgreSQL::Test::Cluster->new('alone');
$alone->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$alone->append_conf('postgresql.conf', "jit = off\nfsync = off\n");
$alone->start;
$alone->safe_psql('postgres', "CREATE EXTENSION stepadv; $rows; $fill");
foreach my $attach (@attachments)
{
	my $made = ask($attach);
	is($made, $alone->safe_psql('postgres', $attach), 'attach makes the same views: ' . ($attach =~ /prefix => '(\w+)'/)[0]);
}

# To 9 digits: sums over groups have no order.
sub rounded
{
	my @lines = map { s/(-?\d+\.\d+(?:e[-+]?\d+)?|-?\d+e[-+]?\d+)/my $x = sprintf('%.9g', $1); abs($x) < 1e-12 ? 0 : $x/ger } split /\n/, $_[0];
	return join "\n", sort @lines;
}
sub plan_of { return ask("EXPLAIN (COSTS OFF) $_[0]"); }
# Where a plan is computed: on the shards; on the shards after a subplan over all groups; merged here; or from rows here.
sub place
{
	my ($plan) = @_;
	my $here = $plan =~ /^Custom Scan \(Citus (?:Adaptive|INSERT)/ ? 'shards' : 'shards, put together';
	return 'none' if $plan !~ /Citus Adaptive/;
	# A row of an estimator or a fold of rows that were fetched.
	return 'here' if $plan =~ s/->  Task\n.*?(?=\n\S|\n +->  Distributed Subplan|\z)//gsr =~ /StepScan|GroupFold|Function Scan on (?!read_intermediate)/;
	return $here . ($plan =~ /Distributed Subplan/ ? ', after a subplan' : '');
}
# Views that need all groups, which cannot be in one place.
my $of_all = qr/_(groups|rollouts|grpo|rloo|mt_grpo|mt_rloo|gae|gigpo|graphgpo|hgpo|tempo|rtmc|batch_td|igpo|spa|compare|advantages|progress_over_time|measures_over_time|quadrants_over_time|pass_at_k|credit_check|behaviour|behaviour_advantage|success_by_horizon|advantage_over_time|advantage_histogram|history_td)$/;
my @views = split /\n/, ask(q(SELECT c.relname FROM pg_class c WHERE c.relkind = 'v' AND c.relname ~ '^(plain|whole|signed)_' ORDER BY c.oid));
cmp_ok(scalar @views, '>', 100, 'there are many views');
foreach my $view (@views)
{
	my ($suffix) = $view =~ /^[a-z]+_(.*)/;
	my $by_group = ask("SELECT count(*) FROM pg_attribute WHERE attrelid = '$view'::regclass AND attname = 'task'");
	my @queries = ("SELECT * FROM $view", "SELECT count(*) FROM $view");
	push @queries, "SELECT * FROM $view WHERE task = 7", "SELECT * FROM $view WHERE task = ANY ('{3,5,7}')" if $by_group;
	foreach my $query (@queries)
	{
		my (undef, $plan, $error) = $coordinator->psql('postgres', "EXPLAIN (COSTS OFF) $query");
		if ($error =~ /ERROR/)
		{
			fail("$query: $error");
			next;
		}
		# Citus does not propagate an IN list to joined relations.
		my $tasks = $query =~ /task = 7/ ? 1 : $query =~ /ANY/ ? ($view =~ /_(rows|values)$/ ? '[123]' : '[1-4]') : 4;
		my $place = place($plan);
		ok($place eq 'shards' || $place eq 'shards, put together' && $query !~ /^SELECT \*.*WHERE/ || $view =~ /^whole/ && $view =~ $of_all && $place =~ /^shards/ || $suffix =~ /^(quadrants_over_time|pass_at_k|credit_check)$/ && $place =~ /^shards/,
			"$query: on the $place") or diag($plan);
		like($plan, qr/Task Count: $tasks\b/, "in $tasks shards");
		is(rounded(ask($query)), rounded($alone->safe_psql('postgres', $query)), 'and gives what one server does');
	}
}

# With tables of the user's, and into them.
my $plan;
is(place($plan = plan_of('SELECT c.colour, count(*), avg(a.advantage) FROM plain_rtmc a JOIN colour c ON c.task = a.task GROUP BY 1')), 'shards, put together', 'a join with a colocated table') or diag($plan);
is(place($plan = plan_of('SELECT c.colour, a.* FROM plain_compare a JOIN colour c ON c.task = a.task')), 'shards', 'and of rows') or diag($plan);
ask("CREATE TABLE kept (task integer, step_id bigint, advantage float8); SELECT create_distributed_table('kept', 'task', colocate_with => 'step');
	CREATE TABLE folded (task integer, rollouts stepadv.rollout_group); SELECT create_distributed_table('folded', 'task', colocate_with => 'step')");
is(place($plan = plan_of('INSERT INTO kept SELECT task, step_id, advantage FROM plain_rtmc')), 'shards', 'INSERT … SELECT into a colocated table') or diag($plan);
like($plan, qr/Insert on kept_\d+.*StepScan.*GroupFold/s, 'each shard into its own');
like(plan_of('INSERT INTO folded SELECT task, rollouts FROM plain_values'), qr/Insert on folded_\d+.*GroupFold/s, 'values likewise');
ask('INSERT INTO kept SELECT task, step_id, advantage FROM plain_rtmc');
is(rounded(ask('SELECT * FROM kept')), rounded($alone->safe_psql('postgres', 'SELECT task, step_id, advantage FROM plain_rtmc')), 'and is the same');

# A history has the groups of a task, in one shard; the policy step is a column of the group, or of rollouts.
my $tries = q(CREATE TABLE tries (id bigint, task integer, policy integer, r bigint, n integer, state integer, action integer, reward float8);
	CREATE TABLE tried (task integer, policy integer, r bigint, trained bigint, PRIMARY KEY (task, policy, r)););
my $trials = q(INSERT INTO tries SELECT i, i / 36, i / 12 % 3, i / 4 % 3, i % 4, i * 7 % 5, i * i % 3, CASE WHEN i % 4 = 3 THEN i / 4 * 5 % 7 % 2 END FROM generate_series(0, 287) i;
	INSERT INTO tried SELECT DISTINCT task, policy, r, 10 * policy + r % 2 FROM tries;);
my %learned = (
	by_key => q(SELECT count(*) FROM stepadv.attach('tries', '{task,policy}', 'r', 'n', 'state', 'action', 'reward', columns => '{"step_id": "id", "task_id": "task", "policy_step": "policy"}', views => '{all}', prefix => 'by_key', options => '{"batch_td": {"history": 2, "decay": 0.8}, "methods": {"rtmc_all": {"method": "rtmc", "history": true}}}')),
	by_table => q(SELECT count(*) FROM stepadv.attach('tries', '{task,policy}', 'r', 'n', 'state', 'action', 'reward', columns => '{"step_id": "id", "task_id": "task", "policy_step": "trained"}', views => '{all}', prefix => 'by_table', options => '{"show_rollouts": "tried", "batch_td": {"history": 12, "decay": 0.8}, "methods": {"rtmc_all": {"method": "rtmc", "history": true}}}')));
ask("$tries SELECT create_distributed_table('tries', 'task', shard_count => 4), create_distributed_table('tried', 'task', colocate_with => 'tries'); $trials");
$alone->safe_psql('postgres', "$tries $trials");
foreach my $prefix (sort keys %learned)
{
	is(ask($learned{$prefix}), $alone->safe_psql('postgres', $learned{$prefix}), "with a history, $prefix");
	foreach my $suffix (qw(batch_td rtmc_all compare disagreements quadrants advantages))
	{
		foreach my $query ("SELECT * FROM ${prefix}_$suffix", "SELECT * FROM ${prefix}_$suffix WHERE task = 3", "SELECT * FROM ${prefix}_$suffix WHERE task = 3 AND policy = 2")
		{
			my $plan = plan_of($query);
			like(place($plan), qr/^shards(, after a subplan)?$/, "$query: on the shards") or diag($plan);
			is(rounded(ask($query)), rounded($alone->safe_psql('postgres', $query)), 'and gives what one server does');
		}
	}
}
isnt(ask('SELECT sum(abs(h.v - b.v)) FROM by_key_rtmc_all h JOIN by_key_rtmc b USING (task, policy, step_id)'), '0', 'which is not what a group says alone');
ask(q(CREATE TABLE by_policy (LIKE tries); SELECT create_distributed_table('by_policy', 'policy', shard_count => 4)));
like(refused($learned{by_key} =~ s/'tries'/'by_policy'/r =~ s/'by_key'/'refused'/r),
	qr/ERROR:  the groups of the history of method "batch_td" are in several shards.*\nDETAIL:  Table public.by_policy is distributed by column "policy", in which groups of one task may differ/s, 'not where they are in several');

# Rollouts from a reference table, or from a local one.
foreach my $where (qw(reference local))
{
	my $runs = "CREATE TABLE ${where}_run (task integer, r bigint, version text, policy_step bigint, began date, PRIMARY KEY (task, r));";
	my $came = qq(INSERT INTO ${where}_run SELECT r / 8, r, 'v' || r % 2, r % 3, '2026-01-01'::date + r::integer % 3 FROM generate_series(0, 319) r;
		SELECT count(*) FROM stepadv.attach('step', '{task}', 'r', 'n', 'state', 'action', 'reward', columns => '{"policy_version": "version", "policy_step": "policy_step", "started_at": "began"}', views => '{all}', prefix => 'from_$where', options => '{"show_rollouts": "${where}_run"}'));
	ask($runs . ($where eq 'reference' ? "SELECT create_reference_table('${where}_run')" : ''));
	is(ask($came), $alone->safe_psql('postgres', "$runs $came"), "with rollouts of a $where table");
	foreach my $view (split /\n/, ask("SELECT c.relname FROM pg_class c WHERE c.relkind = 'v' AND c.relname ~ '^from_${where}_' ORDER BY c.oid"))
	{
		is(rounded(ask("SELECT * FROM $view")), rounded($alone->safe_psql('postgres', "SELECT * FROM $view")), "$view gives what one server does");
	}
}

# Lines for trainers, in the order of one server.
my $words = q(SELECT count(*) FROM stepadv.create_tables('told', views => '{all}'));
my $said = q(INSERT INTO told.rollouts (task_id, rollout_id, outcome, metadata) SELECT 't' || r / 4, 'r' || r, r * 5 % 3 % 2, CASE WHEN r % 5 = 0 THEN '{"system_prompt": "Find it."}'::jsonb END FROM generate_series(0, 31) r;
	INSERT INTO told.steps (task_id, rollout_id, step_no, observation, action, prompt_token_ids, response_token_ids)
		SELECT 't' || i / 12, 'r' || i / 3, i % 3, 'seen ' || i * 7 % 3, 'do ' || i * i % 4, ARRAY[1, i % 5], ARRAY[i % 7, 2] FROM generate_series(0, 95) i;
	SELECT stepadv.create_selection('told.steps_rtmc', 'chosen', min_advantage => 0.01));
is(ask($words =~ s/'told'/'told', distribute => true, shards => 4/r), $alone->safe_psql('postgres', $words), 'tables for lines');
is(ask($said), $alone->safe_psql('postgres', $said), 'and a selection');
sub exported
{
	my ($node, @arguments) = @_;
	my ($out, $err) = ('', '');
	IPC::Run::run([ '/usr/bin/python3', abs_path('client') . '/bin/stepadv', 'export', '-d', $node->connstr('postgres'), @arguments ], '>', \$out, '2>', \$err);
	return "$out$err";
}
SKIP:
{
	skip 'needs python3-psycopg', 48 if !Client::installed();
	foreach my $relation (qw(told.steps_rtmc told.chosen))
	{
		foreach my $shape (qw(steps messages prompt_completion verl dpo prm))
		{
			foreach my $columns ([], [ '--columns', '' ])
			{
				my @arguments = ('--keep-negative', '--shape', $shape, @$columns, $relation);
				my $lines = exported($alone, @arguments);
				cmp_ok(($lines =~ tr/\n//), '>', 4, "@arguments: lines");
				is(exported($coordinator, @arguments), $lines, 'the same over shards');
			}
		}
	}
}

# Groups of other columns are in several shards: their rows are fetched.
my $across = 'SELECT g.n, s.* FROM (SELECT n, stepadv.rollout_agg(step_id, r, 0, state, action, reward) AS rollouts FROM step WHERE task < 20 GROUP BY n) g, stepadv.group_summary(g.rollouts) s';
like(plan_of($across), qr/GroupFold.*Citus Adaptive.*Seq Scan|GroupFold.*Citus Adaptive.*Scan/s, 'rows of groups across shards are folded here');
is(rounded(ask($across)), rounded($alone->safe_psql('postgres', $across)), 'to what they are');

# Where an aggregate cannot be merged the rows are sent here.
my $fit = 'SELECT action, (stepadv.progress_fit(r, x, reward, 0.01))::text FROM step WHERE reward IS NOT NULL GROUP BY action';
is(rounded(ask($fit)), rounded($alone->safe_psql('postgres', $fit)), 'progress_fit over shards is what it is of all rows');
ask("UPDATE stepadv.progress_models SET model = (SELECT stepadv.progress_fit(r, x, reward, 10) FROM (SELECT r, x, max(reward) OVER (PARTITION BY task, r) AS reward FROM step) s)");
my $contribution = 'SELECT contribution FROM whole_spa WHERE task = 7 AND rollout_id = 56 AND step_no = 1';
my $before = ask($contribution);
ask("SELECT count(*) FROM stepadv.add_views('step', '{all}', 'whole')");
isnt(ask($contribution), $before, 'a model that was replaced is that of the views once they are made anew');
my $x = ask('SELECT x FROM step WHERE task = 7 AND r = 56 AND n = 1');
is(ask($contribution), ask("SELECT stepadv.progress_predict((SELECT model FROM stepadv.progress_models WHERE name = 'ridge'), '$x'::real[])"), 'then for every step');

# Invalid calls fail at once.
ask("CREATE TABLE astray (task integer, host integer, r bigint, n integer, reward float8); SELECT create_distributed_table('astray', 'host', shard_count => 3)");
like(refused(q(SELECT stepadv.attach('astray', '{task}', 'r', 'n', reward => 'reward', views => '{all}'))),
	qr/ERROR:  table public\.astray is distributed by column "host", which is not a column of the group\n.*HINT:  Name "host" in group_by/s, 'a group without the distribution column');
ask(q(CREATE VIEW two_tables AS SELECT task, r, n, reward FROM astray UNION ALL SELECT task, r, NULL, 1 FROM run));
like(refused(q(SELECT stepadv.attach('two_tables', '{task}', 'r', 'n', reward => 'reward', views => '{all}'))), qr/table public\.astray is distributed by column "host"/, 'below a view, too');
like(refused(q(SELECT stepadv.attach('step', '{task}', 'r', 'n', reward => 'reward', views => '{all}', prefix => 'x', options => '{"show_rollouts": "astray"}'))), qr/table public\.astray is distributed by column "host"/, 'of what is shown');
ask("CREATE TABLE apart (LIKE run); SELECT create_distributed_table('apart', 'task', shard_count => 4, colocate_with => 'none')");
like(refused(q(SELECT stepadv.attach('step', '{task}', 'r', 'n', reward => 'reward', views => '{all}', prefix => 'x', options => '{"show_rollouts": "apart"}'))), qr/ERROR:  tables public\.apart and public\.step are not colocated/, 'tables that are not colocated');
ask(qq(CREATE TABLE everywhere AS SELECT * FROM run; SELECT create_reference_table('everywhere');
	SELECT count(*) FROM stepadv.attach('step', '{task}', 'r', 'n', reward => 'reward', columns => '{"policy_version": "version"}', views => '{all}', prefix => 'referred', options => '{"show_rollouts": "everywhere"}')));
is(ask('SELECT count(*), count(model) FROM referred_grpo'), '1600|1600', 'a reference table is shown from');
like(refused(q(SELECT stepadv.create_pool('step', 'plain'))), qr/ERROR:  cannot make a pool of groups of (public\.)?step: it is a distributed table\nHINT:/, 'a pool');
# Functions that read views of an attachment read them there.
is(rounded(ask($_)), rounded($alone->safe_psql('postgres', $_)), $_) foreach (
	q(SELECT task, n_successes_a, n_judged_b, difference, lost FROM stepadv.compare_versions('step', 'v0', 'v1', 'whole', division => 'policy_version')),
	q(SELECT group_key, rollout_id, step_no, advantage, reason FROM stepadv.select_steps('plain_rtmc', min_visits => 2)),
	q(SELECT * FROM stepadv.explain_selection('plain_rtmc', min_visits => 2)));
# With any settings.
foreach my $propagation ('on', 'off')
{
	like(refused("SET citus.enable_ddl_propagation = $propagation; SELECT stepadv.maintain('step', 'plain')"), qr/ERROR:  cannot maintain groups of (public\.)?step/, "maintain by triggers is refused, with DDL propagation $propagation");
}
is(ask("SELECT mode IS NULL FROM stepadv.attachments() WHERE prefix = 'plain'"), 't', 'and leaves nothing');

# A user's method, with rows in its own order and none for some steps.
my $registered = q(
	CREATE FUNCTION backwards(rollouts stepadv.rollout_group) RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, advantage float8) LANGUAGE sql IMMUTABLE
		AS 'SELECT r.step_id, r.rollout_id, r.step_no, r.advantage / 3 FROM stepadv.rtmc(rollouts) r WHERE r.step_no > 0 ORDER BY r.step_no DESC';
	SELECT stepadv.register_method('backwards(stepadv.rollout_group)'::regprocedure, requires => '{state,action}');
	SELECT count(*) FROM stepadv.attach('step', '{task}', 'r', 'n', 'state', 'action', 'reward', views => '{all}', prefix => 'own', options => '{"compare": {"methods": "rtmc, backwards"}}');
);
ask($registered);
$alone->safe_psql('postgres', $registered);
is(ask('SELECT count(*), count(backwards), count(*) FILTER (WHERE backwards = rtmc / 3) FROM own_compare'), '1600|1280|1280', 'a registered method beside another');
foreach my $view (qw(own_backwards own_compare own_quadrants own_disagreements own_credit_check))
{
	like(place($plan = plan_of("SELECT * FROM $view")), qr/^shards/, "$view: on the shards") or diag($plan);
	is(rounded(ask("SELECT * FROM $view")), rounded($alone->safe_psql('postgres', "SELECT * FROM $view")), 'and the same');
}

# The canonical tables.
is(ask("SELECT view_name, description FROM stepadv.create_tables('rl', distribute => true, shards => 4, views => '{all}')"),
	$alone->safe_psql('postgres', "SELECT view_name, description FROM stepadv.create_tables('rl', partitions => 2, views => '{all}')"), 'create_tables makes the same views');
is(ask("SELECT string_agg(table_name || ' ' || distribution_column || ' ' || shard_count, ', ' ORDER BY table_name::text), count(DISTINCT colocation_id) FROM citus_tables WHERE table_name::text LIKE 'rl.%'"),
	'rl.rollouts task_id 4, rl.steps task_id 4|1', 'both tables, colocated');
my $canonical = q(
	INSERT INTO rl.rollouts (run_id, policy_version, task_id, rollout_id, outcome, policy_step, started_at, ended_at)
		SELECT 'r', 'v' || r % 2, 't' || r / 4, 'o' || r, r * r % 3, r % 2, '2026-01-01Z'::timestamptz + r % 3 * interval '1 day', '2026-01-02Z'::timestamptz + r % 3 * interval '1 day' FROM generate_series(0, 79) r;
	INSERT INTO rl.steps (step_id, run_id, policy_version, task_id, rollout_id, step_no, observation, action, tool, ok, value)
		SELECT r * 10 + n, 'r', 'v' || r % 2, 't' || r / 4, 'o' || r, n, 'saw ' || r * n % 5, 'did ' || r * n % 3, 'bash', n > 1, n / 8.0 FROM generate_series(0, 79) r, generate_series(1, 4) n);
ask($canonical);
$alone->safe_psql('postgres', $canonical);
is(ask('SELECT count(*), count(state), count(action_hash) FROM rl.steps'), '320|320|320', 'identities are filled on the shards');
foreach my $view (qw(rollout_rows steps_values steps_groups steps_rollouts steps_rtmc steps_gae steps_compare steps_quadrants steps_disagreements steps_advantages steps_problems steps_progress_over_time steps_advantage_over_time))
{
	like(place($plan = plan_of("SELECT * FROM rl.$view")), qr/^shards/, "rl.$view: on the shards") or diag($plan);
	is(rounded(ask("SELECT * FROM rl.$view")), rounded($alone->safe_psql('postgres', "SELECT * FROM rl.$view")), 'and the same');
}
like(refused("INSERT INTO rl.steps (step_id, run_id, policy_version, task_id, rollout_id, step_no) VALUES (100000, 'r', 'v0', 't0', 'nobody', 1)"), qr/violates foreign key constraint/, 'a step needs its rollout');
ask("DELETE FROM rl.rollouts WHERE task_id = 't3'");
is(ask('SELECT count(*) FROM rl.steps'), '304', 'and goes with it');
like(refused("SELECT stepadv.create_tables('other', shards => 4, views => '{all}')"), qr/ERROR:  shards is given without distribute/, 'shards need distribute');
like(refused("SELECT stepadv.create_tables('other', distribute => true, shards => 0, views => '{all}')"), qr/ERROR:  shards must be between 1 and 64000, not 0/, 'at least one');
my (undef, undef, $err) = $alone->psql('postgres', "SELECT stepadv.create_tables('other', distribute => true, views => '{all}')");
like($err, qr/ERROR:  tables cannot be distributed: the extension citus is not in this database\nHINT:/, 'and distribute Citus');

$alone->stop;
$_->stop foreach @node{qw(worker_2 worker_1 coordinator)};
done_testing();
