# Traces that people have in PostgreSQL already: attach_phoenix, attach_mlflow and
# attach_langfuse over tables made from the public schemas (test/data/traced), all three
# with the same traces; and what a stranger can do about it.
use strict;
use warnings;
use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('traced');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION stepadv; CREATE ROLE alice LOGIN; CREATE ROLE mallory LOGIN; CREATE ROLE bob LOGIN; GRANT CREATE ON DATABASE postgres TO alice, mallory');

sub as
{
	my ($role, $sql, @more) = @_;
	my ($status, $out, $err) = $node->psql('postgres', $sql, extra_params => [ '-U', $role, @more ], on_error_stop => 1);
	diag($err) if $status != 0 && !@more;
	return $out;
}

sub refused
{
	my ($role, $sql, $pattern, $name) = @_;
	my ($status, $out, $err) = $node->psql('postgres', $sql, extra_params => [ '-U', $role ], on_error_stop => 1);
	return like($status == 0 ? 'no error' : $err, $pattern, $name);
}

my $steps = join "\n",
	'agents|colour|v1|s1|p1|1|0|Which colour?|{"name": "look", "arguments": {"at": "door"}}|look|{"at": "door"}|t||t|2026-02-01 10:01:00|2026-02-01 10:01:02',
	'agents|colour|v1|s1|p1|2|0|Which colour?|{"name": "feel", "arguments": "no JSON"}|feel|"no JSON"|f|0.25|t|2026-02-01 10:01:00|2026-02-01 10:01:03',
	"agents|colour|v1|s1|p1|3|1|a red door\nit failed|It is red.||||1|t|2026-02-01 10:01:00|2026-02-01 10:01:05",
	'agents|colour|v1|s1|p2|1|0|Which colour?|Blue.||||0||2026-02-01 10:02:00|2026-02-01 10:02:01',
	'agents|colour|v1|s1|p3|1|0|Which colour?|{"name": "look", "arguments": {"at": "door"}}|look|{"at": "door"}|t|1||2026-02-01 10:03:00|2026-02-01 10:03:02';
my %more = (	# a fourth trace, which succeeds at once
	phoenix => q(INSERT INTO %1$s.traces (project_rowid, trace_id, start_time, end_time) VALUES (1, 'p4', '2026-02-01 10:04:00Z', '2026-02-01 10:04:10Z');
		INSERT INTO %1$s.spans (trace_rowid, span_id, name, span_kind, start_time, end_time, attributes) VALUES (4, 'p4b', 'llm', 'LLM', '2026-02-01 10:04:01Z', '2026-02-01 10:04:02Z', '{"output": {"value": "Red."}, "input": {"value": "Which colour?"}, "metadata": {"task_id": "colour", "policy_version": "v1"}}');
		INSERT INTO %1$s.trace_annotations (trace_rowid, name, score) VALUES (4, 'reward', 1)),
	mlflow => q(INSERT INTO %1$s.trace_info VALUES ('p4', 7, 1769940240000, 10000, 'OK', NULL, 'Which colour?', NULL);
		INSERT INTO %1$s.trace_tags VALUES ('task_id', 'colour', 'p4'), ('policy_version', 'v1', 'p4');
		INSERT INTO %1$s.spans (trace_id, experiment_id, span_id, name, type, status, start_time_unix_nano, end_time_unix_nano, content) VALUES ('p4', 7, 'b', 'llm', 'LLM', 'OK', 1769940241000000000, 1769940242000000000, '{"attributes": {"mlflow.spanOutputs": "\"Red.\""}}');
		INSERT INTO %1$s.assessments VALUES ('a-9', 'p4', 'reward', 'feedback', '1', NULL, 9, 9, 'CODE', NULL, true)),
	langfuse => q(INSERT INTO %1$s.traces (id, "timestamp", metadata, version, project_id, input) VALUES ('p4', '2026-02-01 10:04:00', '{"task_id": "colour"}', 'v1', 'agents', '"Which colour?"');
		INSERT INTO %1$s.observations (id, trace_id, project_id, type, start_time, output) VALUES ('p4b', 'p4', 'agents', 'GENERATION', '2026-02-01 10:04:01', '"Red."');
		INSERT INTO %1$s.scores (id, project_id, name, value, trace_id) VALUES ('9', 'agents', 'reward', 1, 'p4')));
my %case = (phoenix => '$.user.case', mlflow => '$."user.case"', langfuse => '$.user.case');
# What has no task of its own.
my %taskless = (
	phoenix => q(UPDATE %1$s.spans SET attributes = attributes - 'metadata'; UPDATE %1$s.traces SET project_session_rowid = NULL WHERE id > 1),
	mlflow => q(DELETE FROM %1$s.trace_tags WHERE key = 'task_id'; DELETE FROM %1$s.trace_request_metadata WHERE key = 'mlflow.trace.session' AND request_id <> 'p1'),
	langfuse => q(UPDATE %1$s.traces SET metadata = '{}', session_id = CASE id WHEN 'p1' THEN session_id END));

# Somebody puts operators, functions, types and tables in front.
as('mallory', q(CREATE SCHEMA evil; GRANT USAGE ON SCHEMA evil TO PUBLIC;
	CREATE FUNCTION evil.stop(text, text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'evil ran as %', current_user; END $$;
	CREATE OPERATOR evil.= (LEFTARG = text, RIGHTARG = text, FUNCTION = evil.stop);
	CREATE OPERATOR evil.|| (LEFTARG = text, RIGHTARG = text, FUNCTION = evil.stop);
	CREATE FUNCTION evil.upper(text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'evil ran as %', current_user; END $$;
	CREATE FUNCTION evil.lower(text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'evil ran as %', current_user; END $$;
	CREATE TABLE evil.spans (id integer); CREATE TABLE evil.traces (id integer); CREATE DOMAIN evil.text AS integer));
my $hostile = 'SET search_path = evil, pg_catalog, public; CREATE TEMP TABLE spans (id integer); CREATE TEMP TABLE traces (id integer); CREATE TEMP TABLE scores (id integer); CREATE TEMP TABLE observations (id integer); CREATE TEMP TABLE projects (id integer); SET search_path = pg_temp, evil, pg_catalog;';

foreach my $tool ('phoenix', 'mlflow', 'langfuse')
{
	my $schema = qq(the "own" ${tool}'s);
	my $quoted = $schema =~ s/"/""/gr;
	$quoted = qq("$quoted");
	my $literal = $schema =~ s/'/''/gr;
	as('alice', "CREATE SCHEMA $quoted");
	$node->command_ok([ 'psql', '-X', '-q', '-U', 'alice', '-d', $node->connstr('postgres'), '-v', 'ON_ERROR_STOP=1', '-v', "schema=$schema", '-f', "$FindBin::Bin/../data/traced/$tool.sql" ], "$tool: its tables");
	my $relations = "SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = '$literal' AND c.relkind IN ('r', 'm')";
	my $before = as('alice', $relations);
	cmp_ok(as('alice', qq($hostile SELECT pg_catalog.count(*) FROM stepadv.attach_$tool('$literal', prefix => 'x "y"''z'))), '>', 40, "$tool: attached, by a strange name, with a hostile search path");
	my $view = qq($quoted."x ""y""'z_steps");
	my $read = qq(SELECT project, task_id, policy_version, session_id, rollout_id, step_no, turn, observation, action, tool, args, ok, reward, success, started_at AT TIME ZONE 'UTC', span_started_at AT TIME ZONE 'UTC' FROM $view ORDER BY rollout_id, step_no);
	is(as('alice', $read), $steps, "$tool: tools by turn, the answer, what failed, rewards of turns and of the trace; nothing from within a tool");
	is(as('alice', "$hostile $read"), $steps, "$tool: whatever the search path");
	is(as('alice', $relations), $before + 1, "$tool: nothing but the attachment is a table");
	# Of 1.25, 0 and 1 the mean is 0.75 and the deviation (ddof 1) the root of 0.4375.
	is(as('alice', qq(SELECT string_agg(x.rollout_id || ' ' || (abs(x.advantage - x.wanted) < 1e-9), ',' ORDER BY x.rollout_id) FROM (SELECT DISTINCT a.rollout_id, a.advantage,
		(CASE a.rollout_id WHEN 'p1' THEN 0.5 WHEN 'p2' THEN -0.75 ELSE 0.25 END) / (sqrt(0.4375) + 1e-6) AS wanted FROM $quoted."x ""y""'z_grpo" a) x)), 'p1 true,p2 true,p3 true', "$tool: advantages");
	is(as('alice', qq(SELECT count(*) FROM $quoted."x ""y""'z_problems" WHERE effect NOT LIKE 'nothing%')), 0, "$tool: no problem");
	as('alice', sprintf $more{$tool}, $quoted);
	is(as('alice', qq(SELECT count(*) || ' ' || sum(reward) FROM $view WHERE rollout_id = 'p4'; SELECT n_rollouts FROM $quoted."x ""y""'z_groups")), "1 1\n4", "$tool: what comes later is there");
	# Whose tables they are decides who reads.
	refused('bob', "SELECT count(*) FROM $view", qr/permission denied/, "$tool: not for others");
	refused('bob', "SELECT * FROM stepadv.attach_$tool('$literal', prefix => 'b')", qr/permission denied/, "$tool: nor to attach");
	# By another task, another score, and states of tool calls.
	as('alice', qq(SELECT count(*) FROM stepadv.attach_$tool('$literal', prefix => 'by', task => '$case{$tool}', score => 'style', states => 'signature')));
	is(as('alice', qq(SELECT string_agg(DISTINCT task_id || ' ' || rollout_id, ', ') FILTER (WHERE rollout_id < 'p4') || ' ' || max(reward) FROM $quoted.by_steps)), 'c1 p1, c1 p2, c2 p3 0.25', "$tool: the task by a path, the outcome by the score's name");
	is(as('alice', qq(SELECT reward FROM $quoted.by_steps WHERE rollout_id = 'p1' AND step_no = 3)), 0.2, "$tool: it is the last step's");
	is(as('alice', qq(SELECT count(*) FROM $quoted.by_rtmc)), 6, "$tool: states by signature");
	as('alice', sprintf $taskless{$tool}, $quoted);
	is(as('alice', qq(SELECT count(DISTINCT task_id) || ' ' || max(task_id) FILTER (WHERE rollout_id = 'p1') FROM $view WHERE rollout_id < 'p4')), '2 s1', "$tool: without a task the session, without a session what was asked");
	# Wrong words.
	refused('alice', "SELECT * FROM stepadv.attach_$tool('nowhere')", qr/schema "nowhere" does not exist/, "$tool: a schema that is not there");
	refused('alice', "SELECT * FROM stepadv.attach_$tool('public')", qr/schema "public" has no table "\w+"\nHINT: +schema must be the one in which/, "$tool: tables that are not there");
	refused('alice', "SELECT * FROM stepadv.attach_$tool('evil')", qr/schema "evil" has no table|table evil\.(spans|traces) has no column/, "$tool: tables that are something else");
	refused('alice', "SELECT * FROM stepadv.attach_$tool('$literal', prefix => 'x \"y\"''z')", qr/already exists/, "$tool: twice");
	refused('alice', "SELECT * FROM stepadv.attach_$tool('$literal', prefix => 'p', task => '\$.[')", qr/syntax error.*jsonpath/, "$tool: a path that is none");
	refused('alice', "SELECT * FROM stepadv.attach_$tool('$literal', prefix => NULL)", qr/prefix must be given/, "$tool: without a prefix");
	my $view_literal = $view =~ s/'/''/gr;
	is(as('alice', "SELECT stepadv.detach('$view_literal'::regclass) > 10"), 't', "$tool: detached");
	as('alice', "DROP VIEW $view");
}

# A column is there, but not that one.
as('alice', 'CREATE SCHEMA half; CREATE TABLE half.traces (id text); CREATE TABLE half.observations (id text); CREATE TABLE half.scores (id text)');
refused('alice', q(SELECT * FROM stepadv.attach_langfuse('half')), qr/table half\.observations has no column "trace_id"\nHINT: +It is not the table of Langfuse 2\./, 'which column is missing is said');

done_testing();
