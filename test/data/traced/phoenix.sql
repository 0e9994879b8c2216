-- The tables of Phoenix (arize-phoenix 3.2) that attach_phoenix reads: columns used, and
-- keys.  Three traces of one task: two tools and an answer; an answer at once; a tool
-- within which a model is asked, and a model that failed.
CREATE TABLE :"schema".projects (id serial PRIMARY KEY, name varchar NOT NULL UNIQUE);
CREATE TABLE :"schema".project_sessions (id serial PRIMARY KEY, session_id varchar NOT NULL UNIQUE, project_id integer NOT NULL REFERENCES :"schema".projects ON DELETE CASCADE);
CREATE TABLE :"schema".traces (id serial PRIMARY KEY, project_rowid integer NOT NULL REFERENCES :"schema".projects ON DELETE CASCADE, trace_id varchar NOT NULL UNIQUE,
	project_session_rowid integer REFERENCES :"schema".project_sessions ON DELETE CASCADE, start_time timestamptz NOT NULL, end_time timestamptz NOT NULL);
CREATE TABLE :"schema".spans (id serial PRIMARY KEY, trace_rowid integer NOT NULL REFERENCES :"schema".traces ON DELETE CASCADE, span_id varchar NOT NULL UNIQUE, parent_id varchar, name varchar NOT NULL,
	span_kind varchar NOT NULL, start_time timestamptz NOT NULL, end_time timestamptz NOT NULL, attributes jsonb NOT NULL, events jsonb NOT NULL DEFAULT '[]',
	status_code varchar NOT NULL DEFAULT 'OK' CHECK (status_code IN ('OK', 'ERROR', 'UNSET')), status_message varchar NOT NULL DEFAULT '');
CREATE INDEX ON :"schema".spans (trace_rowid);
CREATE INDEX ON :"schema".spans (parent_id);
CREATE TABLE :"schema".span_annotations (id serial PRIMARY KEY, span_rowid integer NOT NULL REFERENCES :"schema".spans ON DELETE CASCADE, name varchar NOT NULL, label varchar, score double precision, updated_at timestamptz NOT NULL DEFAULT now());
CREATE TABLE :"schema".trace_annotations (id serial PRIMARY KEY, trace_rowid integer NOT NULL REFERENCES :"schema".traces ON DELETE CASCADE, name varchar NOT NULL, label varchar, score double precision, updated_at timestamptz NOT NULL DEFAULT now());
INSERT INTO :"schema".projects (name) VALUES ('agents');
INSERT INTO :"schema".project_sessions (session_id, project_id) VALUES ('s1', 1);
INSERT INTO :"schema".traces (project_rowid, trace_id, project_session_rowid, start_time, end_time)
	SELECT 1, 'p' || i, 1, timestamptz '2026-02-01 10:00:00Z' + i * interval '1 minute', timestamptz '2026-02-01 10:00:10Z' + i * interval '1 minute' FROM generate_series(1, 3) i;
INSERT INTO :"schema".spans (trace_rowid, span_id, parent_id, name, span_kind, start_time, end_time, attributes, status_code, status_message)
	SELECT v.t, 'p' || v.t || v.span, 'p' || v.t || v.parent, v.name, v.kind, timestamptz '2026-02-01 10:00:00Z' + v.t * interval '1 minute' + v.s * interval '1 second',
		timestamptz '2026-02-01 10:00:01Z' + v.t * interval '1 minute' + v.s * interval '1 second', v.attributes::jsonb, v.status, CASE v.status WHEN 'ERROR' THEN 'it failed' ELSE '' END
	FROM (VALUES
		-- Out of order.
		(1, 'e', 'a', 'llm', 'LLM', 5, '{"output": {"value": "raw"}, "llm": {"output_messages": [{"message": {"role": "assistant", "content": "It is red."}}]}}', 'OK'),
		(1, 'a', NULL, 'agent', 'AGENT', 0, '{"input": {"value": "Which colour?"}, "metadata": {"task_id": "colour", "policy_version": "v1"}, "user": {"case": "c1"}}', 'OK'),
		(1, 'b', 'a', 'llm', 'LLM', 1, '{"output": {"value": "calls"}}', 'OK'),
		(1, 'c', 'a', 'look', 'TOOL', 2, '{"input": {"value": "{\"at\": \"door\"}"}, "output": {"value": "a red door"}}', 'OK'),
		(1, 'd', 'a', 'touch', 'TOOL', 3, '{"input": {"value": "no JSON"}, "tool": {"name": "feel"}}', 'ERROR'),
		(2, 'a', NULL, 'agent', 'AGENT', 0, '{"input": {"value": "Which colour?"}, "metadata": "{\"task_id\": \"colour\", \"policy_version\": \"v1\"}", "user": {"case": "c1"}}', 'OK'),
		(2, 'b', 'a', 'llm', 'LLM', 1, '{"output": {"value": "Blue."}}', 'OK'),
		(3, 'a', NULL, 'agent', 'AGENT', 0, '{"input": {"value": "Which colour?"}, "metadata": {"task_id": "colour", "policy_version": "v1"}, "user": {"case": "c2"}}', 'OK'),
		(3, 'b', 'a', 'llm', 'LLM', 1, '{"llm": {"output_messages": [{"message": {"tool_calls": [{"tool_call": {"function": {"name": "look", "arguments": "{\"at\": \"door\"}"}}}]}}]}}', 'OK'),
		(3, 'c', 'a', 'look', 'TOOL', 2, '{"input": {"value": "{\"at\": \"door\"}"}, "output": {"value": "a red door"}}', 'OK'),
		(3, 'd', 'c', 'chain', 'CHAIN', 3, '{}', 'OK'),
		(3, 'e', 'd', 'llm', 'LLM', 4, '{"output": {"value": "within"}}', 'OK'),
		(3, 'f', 'a', 'llm', 'LLM', 5, '{}', 'ERROR')) v(t, span, parent, name, kind, s, attributes, status);
INSERT INTO :"schema".trace_annotations (trace_rowid, name, label, score) VALUES (1, 'reward', NULL, 1), (1, 'style', NULL, 0.2), (2, 'reward', NULL, 0), (3, 'helpful', 'pass', NULL);
INSERT INTO :"schema".span_annotations (span_rowid, name, score) SELECT id, 'reward', 0.25 FROM :"schema".spans WHERE span_id = 'p1b';
INSERT INTO :"schema".span_annotations (span_rowid, name, label) SELECT id, 'correct', 'yes' FROM :"schema".spans WHERE span_id = 'p1a';
