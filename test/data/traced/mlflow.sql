-- The tables of MLflow (3.4 and later, those with spans) that attach_mlflow reads: columns
-- used, and keys.  The same three traces as in phoenix.sql.
CREATE TABLE :"schema".experiments (experiment_id integer PRIMARY KEY, name varchar(256) NOT NULL UNIQUE);
CREATE TABLE :"schema".trace_info (request_id varchar(50) PRIMARY KEY, experiment_id integer NOT NULL REFERENCES :"schema".experiments, timestamp_ms bigint NOT NULL, execution_time_ms bigint, status varchar(50) NOT NULL,
	client_request_id varchar(50), request_preview varchar(1000), response_preview varchar(1000));
CREATE TABLE :"schema".trace_tags (key varchar(250), value varchar(8000), request_id varchar(50) NOT NULL REFERENCES :"schema".trace_info ON DELETE CASCADE, PRIMARY KEY (request_id, key));
CREATE TABLE :"schema".trace_request_metadata (key varchar(250), value varchar(8000), request_id varchar(50) NOT NULL REFERENCES :"schema".trace_info ON DELETE CASCADE, PRIMARY KEY (request_id, key));
CREATE TABLE :"schema".spans (trace_id varchar(50) NOT NULL REFERENCES :"schema".trace_info ON DELETE CASCADE, experiment_id integer NOT NULL REFERENCES :"schema".experiments, span_id varchar(50) NOT NULL, parent_span_id varchar(50),
	name text, type varchar(500), status varchar(50) NOT NULL, start_time_unix_nano bigint NOT NULL, end_time_unix_nano bigint, duration_ns bigint GENERATED ALWAYS AS (end_time_unix_nano - start_time_unix_nano) STORED, content text NOT NULL,
	PRIMARY KEY (trace_id, span_id));
CREATE TABLE :"schema".assessments (assessment_id varchar(50) PRIMARY KEY, trace_id varchar(50) NOT NULL REFERENCES :"schema".trace_info ON DELETE CASCADE, name varchar(250) NOT NULL, assessment_type varchar(50) NOT NULL, value text NOT NULL, error text,
	created_timestamp bigint NOT NULL, last_updated_timestamp bigint NOT NULL, source_type varchar(50) NOT NULL, span_id varchar(50), valid boolean NOT NULL);
INSERT INTO :"schema".experiments VALUES (7, 'agents');
INSERT INTO :"schema".trace_info (request_id, experiment_id, timestamp_ms, execution_time_ms, status, request_preview)
	SELECT 'p' || i, 7, extract(epoch FROM timestamptz '2026-02-01 10:00:00Z' + i * interval '1 minute') * 1000, 10000, 'OK', 'Which colour?' FROM generate_series(1, 3) i;
INSERT INTO :"schema".trace_tags SELECT 'task_id', 'colour', 'p' || i FROM generate_series(1, 3) i;
INSERT INTO :"schema".trace_tags SELECT 'user.case', CASE WHEN i < 3 THEN 'c1' ELSE 'c2' END, 'p' || i FROM generate_series(1, 3) i;
INSERT INTO :"schema".trace_request_metadata SELECT k.key, k.value, 'p' || i FROM generate_series(1, 3) i, (VALUES ('mlflow.trace.session', 's1'), ('policy_version', 'v1')) k(key, value);
INSERT INTO :"schema".spans (trace_id, experiment_id, span_id, parent_span_id, name, type, status, start_time_unix_nano, end_time_unix_nano, content)
	SELECT 'p' || v.t, 7, v.span, v.parent, v.name, v.type, v.status, at.ns, at.ns + 1000000000, jsonb_build_object('span_id', v.span, 'status', jsonb_build_object('code', 'STATUS_CODE_' || v.status, 'message', CASE v.status WHEN 'ERROR' THEN 'it failed' ELSE '' END),
		-- Values of attributes are JSON in strings.
		'attributes', jsonb_strip_nulls(jsonb_build_object('mlflow.spanInputs', v.inputs, 'mlflow.spanOutputs', v.outputs)))::text
	FROM (VALUES
		(1, 'e', 'a', 'Completions', 'CHAT_MODEL', 'OK', 5, '{"messages": []}', '{"choices": [{"message": {"role": "assistant", "content": "It is red."}}]}'),
		(1, 'a', NULL, 'agent', 'AGENT', 'OK', 0, '{"question": "Which colour?"}', '"It is red."'),
		(1, 'b', 'a', 'Completions', 'CHAT_MODEL', 'OK', 1, '{"messages": []}', '{"choices": [{"message": {"role": "assistant", "content": null}}]}'),
		(1, 'c', 'a', 'look', 'TOOL', 'OK', 2, '{"at": "door"}', '"a red door"'),
		(1, 'd', 'a', 'feel', 'TOOL', 'ERROR', 3, '"no JSON"', NULL),
		(2, 'a', NULL, 'agent', 'AGENT', 'OK', 0, '{}', NULL),
		(2, 'b', 'a', 'llm', 'LLM', 'OK', 1, '"Which colour?"', '"Blue."'),
		(3, 'a', NULL, 'agent', 'AGENT', 'OK', 0, '{}', NULL),
		(3, 'b', 'a', 'Completions', 'CHAT_MODEL', 'OK', 1, '{}', '{"choices": [{"message": {"content": null, "tool_calls": [{"id": "1", "function": {"name": "look", "arguments": "{\"at\": \"door\"}"}}]}}]}'),
		(3, 'c', 'a', 'look', 'TOOL', 'OK', 2, '{"at": "door"}', '"a red door"'),
		(3, 'd', 'c', 'chain', 'CHAIN', 'OK', 3, '{}', NULL),
		(3, 'e', 'd', 'llm', 'LLM', 'OK', 4, '{}', '"within"'),
		(3, 'f', 'a', 'llm', 'LLM', 'ERROR', 5, '{}', NULL)) v(t, span, parent, name, type, status, s, inputs, outputs),
		LATERAL (SELECT (extract(epoch FROM timestamptz '2026-02-01 10:00:00Z' + v.t * interval '1 minute' + v.s * interval '1 second') * 1000000000)::bigint AS ns) at;
INSERT INTO :"schema".assessments SELECT 'a-' || v.i, v.trace, v.name, v.type, v.value, NULL, v.i, v.i, 'HUMAN', v.span, v.valid
	FROM (VALUES (1, 'p1', 'reward', 'feedback', '1', NULL, true), (2, 'p1', 'style', 'feedback', '0.2', NULL, true), (3, 'p2', 'reward', 'feedback', '0', NULL, true), (4, 'p3', 'helpful', 'feedback', '"pass"', NULL, true),
		(5, 'p1', 'reward', 'feedback', '0.25', 'b', true), (6, 'p1', 'correct', 'feedback', 'true', 'a', true), (7, 'p1', 'reward', 'feedback', '-5', NULL, false), (8, 'p2', 'correct', 'expectation', '"blue"', NULL, true)) v(i, trace, name, type, value, span, valid);
