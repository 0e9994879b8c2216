-- The tables of Langfuse 2 (2.95) that attach_langfuse reads: columns used, and keys.  The
-- same three traces as in phoenix.sql.
CREATE TYPE :"schema"."ObservationType" AS ENUM ('SPAN', 'EVENT', 'GENERATION');
CREATE TYPE :"schema"."ObservationLevel" AS ENUM ('DEBUG', 'DEFAULT', 'WARNING', 'ERROR');
CREATE TABLE :"schema".traces (id text PRIMARY KEY, "timestamp" timestamp(3) NOT NULL DEFAULT now(), name text, metadata jsonb, version text, project_id text NOT NULL, session_id text, input jsonb, output jsonb);
CREATE TABLE :"schema".observations (id text PRIMARY KEY, trace_id text, project_id text NOT NULL, type :"schema"."ObservationType" NOT NULL, start_time timestamp(3) NOT NULL, end_time timestamp(3), name text, metadata jsonb, parent_observation_id text,
	level :"schema"."ObservationLevel" NOT NULL DEFAULT 'DEFAULT', status_message text, model text, input jsonb, output jsonb, UNIQUE (id, project_id));
CREATE INDEX ON :"schema".observations (trace_id, project_id, start_time);
CREATE TABLE :"schema".scores (id text PRIMARY KEY, "timestamp" timestamp(3) NOT NULL DEFAULT now(), project_id text NOT NULL, name text NOT NULL, value double precision, trace_id text NOT NULL, observation_id text, string_value text);
INSERT INTO :"schema".traces (id, "timestamp", name, metadata, version, project_id, session_id, input)
	SELECT 'p' || i, timestamp '2026-02-01 10:00:00' + i * interval '1 minute', 'agent', jsonb_build_object('task_id', 'colour', 'user', jsonb_build_object('case', CASE WHEN i < 3 THEN 'c1' ELSE 'c2' END)), 'v1', 'agents', 's1', '"Which colour?"' FROM generate_series(1, 3) i;
INSERT INTO :"schema".observations (id, trace_id, project_id, type, start_time, end_time, name, parent_observation_id, level, status_message, input, output)
	SELECT 'p' || v.t || v.id, 'p' || v.t, 'agents', v.type:::"schema"."ObservationType", at.at, at.at + interval '1 second', v.name, 'p' || v.t || v.parent, v.level:::"schema"."ObservationLevel", CASE v.level WHEN 'ERROR' THEN 'it failed' END, v.input::jsonb, v.output::jsonb
	FROM (VALUES
		(1, 'e', 'a', 'GENERATION', 'llm', 'DEFAULT', 5, '[]', '{"role": "assistant", "content": "It is red."}'),
		(1, 'a', NULL, 'SPAN', 'agent', 'DEFAULT', 0, NULL, NULL),
		(1, 'b', 'a', 'GENERATION', 'llm', 'DEFAULT', 1, '[]', '{"role": "assistant", "content": null}'),
		(1, 'c', 'a', 'SPAN', 'look', 'DEFAULT', 2, '{"at": "door"}', '"a red door"'),
		(1, 'd', 'a', 'SPAN', 'feel', 'ERROR', 3, '"no JSON"', NULL),
		(2, 'b', NULL, 'GENERATION', 'llm', 'DEFAULT', 1, '[]', '"Blue."'),
		(3, 'a', NULL, 'SPAN', 'agent', 'DEFAULT', 0, NULL, NULL),
		(3, 'b', 'a', 'GENERATION', 'llm', 'DEFAULT', 1, '[]', '{"content": null, "tool_calls": [{"function": {"name": "look", "arguments": "{\"at\": \"door\"}"}}]}'),
		(3, 'c', 'a', 'SPAN', 'look', 'DEFAULT', 2, '{"at": "door"}', '"a red door"'),
		(3, 'n', 'a', 'EVENT', 'note', 'DEFAULT', 3, NULL, NULL),
		(3, 'f', 'a', 'GENERATION', 'llm', 'ERROR', 5, '[]', NULL)) v(t, id, parent, type, name, level, s, input, output),
		LATERAL (SELECT timestamp '2026-02-01 10:00:00' + v.t * interval '1 minute' + v.s * interval '1 second' AS at) at;
INSERT INTO :"schema".scores (id, project_id, name, value, trace_id, observation_id, string_value)
	VALUES ('1', 'agents', 'reward', 1, 'p1', NULL, NULL), ('2', 'agents', 'style', 0.2, 'p1', NULL, NULL), ('3', 'agents', 'reward', 0, 'p2', NULL, NULL), ('4', 'agents', 'helpful', NULL, 'p3', NULL, 'pass'),
		('5', 'agents', 'reward', 0.25, 'p1', 'p1b', NULL), ('6', 'agents', 'correct', 1, 'p1', NULL, 'True');
