-- Where people already have traces in PostgreSQL: steps as views over the tables of
-- Phoenix, MLflow and Langfuse, attached.  No row is copied.  Each tool has a query for
-- its spans (a call of the model, or of a tool) and one for its traces; what is made of
-- them is the same for all.

CREATE FUNCTION stepadv_internal.traced_json(content text) RETURNS jsonb
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_traced_json';
COMMENT ON FUNCTION stepadv_internal.traced_json(text) IS 'part of attach_phoenix and its like: the JSON that a text spells, or the text as a JSON string where it spells none (or such as jsonb cannot hold); NULL for NULL';

CREATE FUNCTION stepadv_internal.traced_score(value float8, label text) RETURNS float8
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT coalesce(CASE WHEN traced_score.value = traced_score.value AND abs(traced_score.value) < 1e300 THEN traced_score.value END,
		CASE WHEN lower(traced_score.label) IN ('correct', 'pass', 'passed', 'success', 'true', 'yes') THEN 1 WHEN lower(traced_score.label) IN ('incorrect', 'fail', 'failed', 'failure', 'false', 'no') THEN 0 END)
$$;
COMMENT ON FUNCTION stepadv_internal.traced_score(float8, text) IS 'part of attach_phoenix and its like: a score as a number: its value, or 1 and 0 of a label that says correct, pass, success or the contrary; else NULL';

-- Which of a trace's scores is its outcome, of a query (name, value, label, at).
CREATE FUNCTION stepadv_internal.traced_verdict(scores text, score text) RETURNS text
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT format($q$SELECT (array_agg(x.value ORDER BY x.place, x.at DESC NULLS LAST) FILTER (WHERE x.place < 9 OR x.n = 1 AND %2$L::text IS NULL))[1] AS outcome,
			(array_agg(x.value = 1 ORDER BY x.at DESC NULLS LAST) FILTER (WHERE x.value IN (0, 1) AND x.name IN ('success', 'resolved', 'solved', 'passed', 'correct', 'correctness')))[1] AS success
		FROM (SELECT y.*, max(y.rank) OVER () AS n, CASE WHEN %2$L::text IS NOT NULL THEN CASE WHEN y.own_name = %2$L::text THEN 1 ELSE 9 END ELSE coalesce(array_position('{reward,outcome,return,score}'::text[], y.name), 9) END AS place
			FROM (SELECT z.name AS own_name, lower(z.name) AS name, stepadv_internal.traced_score(z.value, z.label) AS value, z.at, dense_rank() OVER (ORDER BY lower(z.name)) AS rank FROM (%1$s) z
				WHERE stepadv_internal.traced_score(z.value, z.label) IS NOT NULL) y) x$q$, traced_verdict.scores, traced_verdict.score)
$$;
COMMENT ON FUNCTION stepadv_internal.traced_verdict(text, text) IS
'part of attach_phoenix and its like: the query for outcome and success of a trace''s scores (a query for name text, value float8, label text, at): the score of that name, or else the one called reward, outcome, return or score, or the only one';

-- Names under which people note what a trace is about, in an object.
CREATE FUNCTION stepadv_internal.traced_task(about text, task text) RETURNS text
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT CASE WHEN traced_task.task IS NOT NULL THEN format('(jsonb_path_query_first(%s, %L::jsonpath, ''{}''::jsonb, true) #>> ''{}''::text[])', traced_task.about, traced_task.task)
		ELSE (SELECT format('coalesce(%s)', string_agg(format('%s ->> %L::text', traced_task.about, k.key), ', ' ORDER BY k.i)) FROM unnest('{task_id,task,group_id,instance_id,problem_id,example_id}'::text[]) WITH ORDINALITY k(key, i)) END
$$;
COMMENT ON FUNCTION stepadv_internal.traced_task(text, text) IS 'part of attach_phoenix and its like: the expression for a trace''s task, of the expression of an object: what the path task finds in it, or the first key that often names one';

-- A call of the model is a turn.  Calls of tools between it and the next are its steps;
-- without one, it is a step itself.  What happens within a tool is none, and a model within
-- a model is the same call noted twice.  What was seen is what the tools of the turn
-- before gave, and at first what was asked.
CREATE FUNCTION stepadv_internal.traced_query(spans text, parents text, traces text) RETURNS text
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT format($q$SELECT c.step_id, c.project, c.task_id, c.policy_version, c.session_id, c.trace AS rollout_id, row_number() OVER w AS step_no, c.turn - c.first_turn AS turn,
		CASE WHEN c.turn = c.first_turn THEN c.asked ELSE c.seen END AS observation,
		CASE WHEN c.tool IS NULL THEN c.output ELSE jsonb_build_object('name', c.tool, 'arguments', c.args)::text END AS action, c.tool, c.args, c.ok,
		CASE WHEN lead(c.step_id) OVER w IS NULL THEN coalesce(c.outcome + coalesce(c.turn_reward, 0), c.turn_reward) WHEN lead(c.turn) OVER w > c.turn THEN c.turn_reward END AS reward,
		c.success, c.started_at, c.ended_at, c.span AS span_id, c.at AS span_started_at, c.until AS span_ended_at
	FROM (
		SELECT b.*, max(b.results) OVER (PARTITION BY b.project, b.task_id, b.policy_version, b.trace ORDER BY b.turn RANGE BETWEEN 1::bigint PRECEDING AND 1::bigint PRECEDING) AS seen,
			min(b.turn) OVER (PARTITION BY b.project, b.task_id, b.policy_version, b.trace) AS first_turn
		FROM (
			SELECT a.*, bool_or(a.kind = 'tool') OVER u AS has_tools, sum(a.span_reward) OVER u AS turn_reward, string_agg(a.output, E'\n') FILTER (WHERE a.kind = 'tool') OVER u AS results
			FROM (
				SELECT s.*, t.task_id, t.policy_version, t.session_id, t.asked, t.outcome, t.success, t.started_at, t.ended_at,
					count(*) FILTER (WHERE s.kind = 'llm') OVER (PARTITION BY s.project, t.task_id, t.policy_version, s.trace ORDER BY s.at, s.span ROWS UNBOUNDED PRECEDING) AS turn
				FROM (%1$s) s JOIN (%3$s) t ON t.trace_key = s.trace_key
				WHERE NOT EXISTS (
					WITH RECURSIVE up AS (
						SELECT p.parent, p.kind FROM (%2$s) p WHERE p.trace_key = s.trace_key AND p.span = s.parent
						UNION
						SELECT p.parent, p.kind FROM up JOIN (%2$s) p ON p.span = up.parent WHERE p.trace_key = s.trace_key
					)
					SELECT FROM up WHERE up.kind = 'tool' OR up.kind = 'llm' AND s.kind = 'llm')
			) a
			WINDOW u AS (PARTITION BY a.project, a.task_id, a.policy_version, a.trace, a.turn ORDER BY a.at, a.span ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
		) b
	) c
	WHERE c.kind = 'tool' OR NOT c.has_tools
	WINDOW w AS (PARTITION BY c.project, c.task_id, c.policy_version, c.trace ORDER BY c.at, c.span)$q$, traced_query.spans, traced_query.parents, traced_query.traces)
$$;
COMMENT ON FUNCTION stepadv_internal.traced_query(text, text, text) IS
'part of attach_phoenix and its like: the query for steps of one for spans (trace_key, project, trace, span, parent, step_id, kind, tool, args, output, ok, at, until, span_reward), of all spans as parents (trace_key, span, parent, kind), and of traces (trace_key, project, task_id, policy_version, session_id, asked, outcome, success, started_at, ended_at)';

-- Their tables, by the schema that the caller names, and nobody else's.
CREATE FUNCTION stepadv_internal.check_traced(what text, schema text, wanted jsonb) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	missing record;
BEGIN
	IF schema IS NULL THEN
		RAISE EXCEPTION 'schema must be given' USING ERRCODE = 'null_value_not_allowed';
	ELSIF NOT EXISTS (SELECT FROM pg_namespace n WHERE n.nspname = schema) THEN
		RAISE EXCEPTION 'schema "%" does not exist', schema USING ERRCODE = 'invalid_schema_name';
	END IF;
	SELECT e.key AS name, c.oid, k.name AS column_name INTO missing
	FROM jsonb_each(wanted) e LEFT JOIN (pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname = check_traced.schema) ON c.relname = e.key AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
	CROSS JOIN LATERAL jsonb_array_elements_text(e.value) WITH ORDINALITY k(name, i)
	WHERE NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = k.name AND a.attnum > 0 AND NOT a.attisdropped)
	ORDER BY c.oid IS NOT NULL, e.key COLLATE "C", k.i LIMIT 1;
	IF missing.oid IS NOT NULL THEN
		RAISE EXCEPTION 'table %.% has no column "%"', quote_ident(schema), quote_ident(missing.name), missing.column_name USING ERRCODE = 'undefined_column', HINT = format('It is not the table of %s.', what);
	ELSIF missing.name IS NOT NULL THEN
		RAISE EXCEPTION 'schema "%" has no table "%"', schema, missing.name USING ERRCODE = 'undefined_table', HINT = format('schema must be the one in which %s keeps its tables.', what);
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.check_traced(text, text, jsonb) IS 'part of attach_phoenix and its like: error where the schema lacks a table, or one of them a column, of those wanted: {"table": ["column", …]}';

CREATE FUNCTION stepadv_internal.attach_traced(what text, query text, schema text, prefix text, states text, options jsonb) RETURNS TABLE (view_name regclass, shows text)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	view regclass;
BEGIN
	IF prefix IS NULL THEN
		RAISE EXCEPTION 'prefix must be given' USING ERRCODE = 'null_value_not_allowed';
	END IF;
	view := stepadv_internal.create_view(schema, prefix || '_steps', query, format('steps of the traces of %s: a row for each call of a tool, and for each call of the model after which no tool was called', what));
	RETURN QUERY SELECT view, 'the steps, from the tables of ' || what;
	RETURN QUERY SELECT a.view_name, a.shows
	FROM stepadv.attach(
		source => view, group_by => '{project,task_id,policy_version}'::text[], rollout_id => 'rollout_id'::text, step_no => 'step_no'::text,
		state => 'observation'::text, action => CASE WHEN attach_traced.states = 'signature' THEN NULL ELSE 'action' END, reward => 'reward'::text, step_id => 'step_id'::text, success => 'success'::text,
		next_state => NULL::text, value => NULL::text, turn_reward => NULL::text, cost => NULL::text,
		prefix => attach_traced.prefix, schema => NULL::text, options => attach_traced.options, columns => NULL::text[], show_steps => NULL::regclass, show_rollouts => NULL::regclass,
		logp_new => NULL::text, logp_old => NULL::text, logp_ref => NULL::text, token_mask => NULL::text,
		states => attach_traced.states, tool => 'tool'::text, args => 'args'::text, ok => 'ok'::text,
		policy_version => 'policy_version'::text, started_at => 'started_at'::text,
		features => NULL::text, contribution => NULL::text, grounded => NULL::text,
		unit => NULL::text, turn => 'turn'::text, task_id => 'task_id'::text, run_id => 'project'::text, policy_step => NULL::text,
		rewards => NULL::text[], dimensions => NULL::text[], truncated => NULL::text,
		prompt_token_ids => NULL::text, response_token_ids => NULL::text, ended_at => 'ended_at'::text, category => 'tool'::text, greedy => NULL::text) a;
END
$$;
COMMENT ON FUNCTION stepadv_internal.attach_traced(text, text, text, text, text, jsonb) IS 'part of attach_phoenix and its like: makes the view <prefix>_steps of a query, and attaches it';

-- ----------
-- Phoenix
-- ----------

CREATE FUNCTION stepadv_internal.phoenix_query(schema text, task text, score text) RETURNS text
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT stepadv_internal.traced_query(
		format($q$SELECT s.trace_rowid::bigint AS trace_key, p.name::text AS project, r.trace_id::text AS trace, s.span_id::text AS span, s.parent_id::text AS parent, s.id::bigint AS step_id,
				CASE upper(s.span_kind::text) WHEN 'LLM' THEN 'llm' ELSE 'tool' END AS kind,
				-- Of a tool that nobody traces the model's first call tells.
				CASE upper(s.span_kind::text) WHEN 'LLM' THEN s.attributes::jsonb #>> '{llm,output_messages,0,message,tool_calls,0,tool_call,function,name}'::text[] ELSE coalesce(s.attributes::jsonb #>> '{tool,name}'::text[], s.name::text) END AS tool,
				CASE upper(s.span_kind::text) WHEN 'LLM' THEN stepadv_internal.traced_json(s.attributes::jsonb #>> '{llm,output_messages,0,message,tool_calls,0,tool_call,function,arguments}'::text[])
					ELSE stepadv_internal.traced_json(coalesce(s.attributes::jsonb #>> '{input,value}'::text[], s.attributes::jsonb #>> '{tool,parameters}'::text[])) END AS args,
				coalesce(CASE upper(s.span_kind::text) WHEN 'LLM' THEN s.attributes::jsonb #>> '{llm,output_messages,0,message,content}'::text[] END, s.attributes::jsonb #>> '{output,value}'::text[], nullif(s.status_message::text, '')) AS output,
				CASE WHEN upper(s.span_kind::text) <> 'LLM' THEN s.status_code::text <> 'ERROR' END AS ok, s.start_time::timestamptz AS at, s.end_time::timestamptz AS until,
				CASE WHEN s.parent_id IS NOT NULL THEN (SELECT sum(stepadv_internal.traced_score(a.score::float8, a.label::text)) FROM %1$I.span_annotations a WHERE a.span_rowid = s.id AND lower(a.name::text) IN ('reward', 'step_reward')) END AS span_reward
			FROM %1$I.spans s JOIN %1$I.traces r ON r.id = s.trace_rowid JOIN %1$I.projects p ON p.id = r.project_rowid
			WHERE upper(s.span_kind::text) IN ('TOOL', 'RETRIEVER') OR upper(s.span_kind::text) = 'LLM' AND NOT (s.status_code::text = 'ERROR' AND s.attributes::jsonb #> '{llm,output_messages}'::text[] IS NULL)$q$, phoenix_query.schema),
		format($q$SELECT q.trace_rowid::bigint AS trace_key, q.span_id::text AS span, q.parent_id::text AS parent, CASE upper(q.span_kind::text) WHEN 'LLM' THEN 'llm' WHEN 'TOOL' THEN 'tool' WHEN 'RETRIEVER' THEN 'tool' ELSE 'other' END AS kind FROM %1$I.spans q$q$, phoenix_query.schema),
		format($q$SELECT r.id::bigint AS trace_key, p.name::text AS project, coalesce(%2$s, e.session_id::text, md5(o.attributes #>> '{input,value}'::text[])) AS task_id, coalesce(o.about ->> 'policy_version'::text, '') AS policy_version,
				e.session_id::text AS session_id, o.attributes #>> '{input,value}'::text[] AS asked, v.outcome, v.success, r.start_time::timestamptz AS started_at, r.end_time::timestamptz AS ended_at
			FROM %1$I.traces r JOIN %1$I.projects p ON p.id = r.project_rowid LEFT JOIN %1$I.project_sessions e ON e.id = r.project_session_rowid
			LEFT JOIN LATERAL (SELECT s.id, s.attributes::jsonb AS attributes, CASE jsonb_typeof(s.attributes::jsonb -> 'metadata'::text) WHEN 'string' THEN stepadv_internal.traced_json(s.attributes::jsonb ->> 'metadata'::text) ELSE s.attributes::jsonb -> 'metadata'::text END AS about
				FROM %1$I.spans s WHERE s.trace_rowid = r.id AND s.parent_id IS NULL ORDER BY s.start_time, s.id LIMIT 1) o ON true
			CROSS JOIN LATERAL (%3$s) v$q$, phoenix_query.schema, stepadv_internal.traced_task(CASE WHEN phoenix_query.task IS NULL THEN 'o.about' ELSE 'o.attributes' END, phoenix_query.task),
			stepadv_internal.traced_verdict(format($q$SELECT a.name::text AS name, a.score::float8 AS value, a.label::text AS label, a.updated_at AS at FROM %1$I.trace_annotations a WHERE a.trace_rowid = r.id
				UNION ALL SELECT a.name::text, a.score::float8, a.label::text, a.updated_at FROM %1$I.span_annotations a WHERE a.span_rowid = o.id$q$, phoenix_query.schema), phoenix_query.score)))
$$;
COMMENT ON FUNCTION stepadv_internal.phoenix_query(text, text, text) IS 'part of attach_phoenix: the query for steps, over the tables in this schema';

CREATE FUNCTION stepadv.attach_phoenix(schema text DEFAULT 'public', view_schema text DEFAULT NULL, prefix text DEFAULT 'phoenix', task text DEFAULT NULL, score text DEFAULT NULL, states text DEFAULT 'observation', options jsonb DEFAULT '{}')
RETURNS TABLE (view_name regclass, shows text)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM stepadv_internal.check_traced('Phoenix'::text, attach_phoenix.schema, '{"projects": ["id", "name"], "project_sessions": ["id", "session_id"], "traces": ["id", "project_rowid", "trace_id", "project_session_rowid", "start_time", "end_time"],
		"spans": ["id", "trace_rowid", "span_id", "parent_id", "name", "span_kind", "start_time", "end_time", "attributes", "status_code", "status_message"],
		"span_annotations": ["span_rowid", "name", "label", "score", "updated_at"], "trace_annotations": ["trace_rowid", "name", "label", "score", "updated_at"]}'::jsonb);
	PERFORM attach_phoenix.task::jsonpath;
	RETURN QUERY SELECT a.view_name, a.shows FROM stepadv_internal.attach_traced('Phoenix'::text, stepadv_internal.phoenix_query(attach_phoenix.schema, attach_phoenix.task, attach_phoenix.score),
		coalesce(attach_phoenix.view_schema, attach_phoenix.schema), attach_phoenix.prefix, attach_phoenix.states, attach_phoenix.options) a;
END
$$;
COMMENT ON FUNCTION stepadv.attach_phoenix(text, text, text, text, text, text, jsonb) IS
'makes the view <prefix>_steps over the tables of Phoenix (Arize, version 3.2 of arize-phoenix''s server schema) in the schema, and attaches it (see attach), without copying a row; returns the views. A trace is a rollout, spans TOOL and RETRIEVER are steps, and LLM spans after which no tool was called. Groups are the project, the task (what the path task finds in the attributes of the root, else task_id and its like of their metadata, else the session, else a hash of the input) and policy_version of the metadata. The outcome is the annotation of trace or root called score, or else reward, outcome, return or score, or the only one; annotations of other spans called reward are the reward of their turn. view_schema: where the views are made (default: schema); error where the schema lacks a table or column';

-- ----------
-- MLflow
-- ----------

CREATE FUNCTION stepadv_internal.mlflow_query(schema text, task text, score text) RETURNS text
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT stepadv_internal.traced_query(
		format($q$SELECT s.trace_key, s.project, s.trace_key AS trace, s.span, s.parent, stepadv.signature_hash(s.trace_key || '/' || s.span) AS step_id, s.kind,
				CASE s.kind WHEN 'llm' THEN s.said #>> '{choices,0,message,tool_calls,0,function,name}'::text[] ELSE s.name END AS tool,
				CASE s.kind WHEN 'llm' THEN stepadv_internal.traced_json(s.said #>> '{choices,0,message,tool_calls,0,function,arguments}'::text[]) ELSE stepadv_internal.traced_json(s.content #>> '{attributes,mlflow.spanInputs}'::text[]) END AS args,
				coalesce(CASE s.kind WHEN 'llm' THEN s.said #>> '{choices,0,message,content}'::text[] END, s.said #>> '{}'::text[], s.content #>> '{status,message}'::text[]) AS output,
				CASE s.kind WHEN 'tool' THEN s.status <> 'ERROR' END AS ok, s.at, s.until,
				CASE WHEN s.parent IS NOT NULL THEN (SELECT sum(stepadv_internal.traced_score(CASE WHEN a.value::text ~ '^-?[0-9]{1,15}([.][0-9]{1,15})?$' THEN a.value::text::float8 END, btrim(a.value::text, '"'))) FROM %1$I.assessments a
					WHERE a.trace_id = s.trace_key AND a.span_id = s.span AND a.valid AND a.assessment_type::text = 'feedback' AND lower(a.name::text) IN ('reward', 'step_reward')) END AS span_reward
			FROM (SELECT x.trace_id::text AS trace_key, y.name::text AS project, x.span_id::text AS span, x.parent_span_id::text AS parent, x.name::text AS name, x.status::text AS status, CASE WHEN x.type::text IN ('LLM', 'CHAT_MODEL') THEN 'llm' ELSE 'tool' END AS kind,
					timestamptz 'epoch' + (x.start_time_unix_nano / 1000) * interval '1 microsecond' AS at, timestamptz 'epoch' + (x.end_time_unix_nano / 1000) * interval '1 microsecond' AS until,
					z.content, stepadv_internal.traced_json(z.content #>> '{attributes,mlflow.spanOutputs}'::text[]) AS said
				FROM %1$I.spans x JOIN %1$I.experiments y ON y.experiment_id = x.experiment_id CROSS JOIN LATERAL (SELECT stepadv_internal.traced_json(replace(x.content::text, '\u0000', '\ufffd')) AS content) z
				WHERE x.type::text IN ('TOOL', 'RETRIEVER') OR x.type::text IN ('LLM', 'CHAT_MODEL') AND NOT (x.status::text = 'ERROR' AND strpos(x.content::text, 'mlflow.spanOutputs') = 0)) s$q$, mlflow_query.schema),
		format($q$SELECT q.trace_id::text AS trace_key, q.span_id::text AS span, q.parent_span_id::text AS parent, CASE WHEN q.type::text IN ('LLM', 'CHAT_MODEL') THEN 'llm' WHEN q.type::text IN ('TOOL', 'RETRIEVER') THEN 'tool' ELSE 'other' END AS kind FROM %1$I.spans q$q$, mlflow_query.schema),
		format($q$SELECT r.request_id::text AS trace_key, y.name::text AS project, coalesce(%2$s, o.about ->> 'mlflow.trace.session'::text, md5(r.request_preview::text)) AS task_id, coalesce(o.about ->> 'policy_version'::text, o.about ->> 'mlflow.modelId'::text, '') AS policy_version,
				o.about ->> 'mlflow.trace.session'::text AS session_id, r.request_preview::text AS asked, v.outcome, v.success, timestamptz 'epoch' + r.timestamp_ms * interval '1 millisecond' AS started_at,
				timestamptz 'epoch' + (r.timestamp_ms + r.execution_time_ms) * interval '1 millisecond' AS ended_at
			FROM %1$I.trace_info r JOIN %1$I.experiments y ON y.experiment_id = r.experiment_id
			CROSS JOIN LATERAL (SELECT coalesce(jsonb_object_agg(m.key, m.value), '{}'::jsonb) AS about FROM (SELECT t.key::text AS key, t.value::text AS value FROM %1$I.trace_request_metadata t WHERE t.request_id = r.request_id
				UNION ALL SELECT t.key::text, t.value::text FROM %1$I.trace_tags t WHERE t.request_id = r.request_id) m) o
			CROSS JOIN LATERAL (%3$s) v$q$, mlflow_query.schema, stepadv_internal.traced_task('o.about'::text, mlflow_query.task),
			stepadv_internal.traced_verdict(format($q$SELECT a.name::text AS name, CASE WHEN a.value::text ~ '^-?[0-9]{1,15}([.][0-9]{1,15})?$' THEN a.value::text::float8 END AS value, btrim(a.value::text, '"') AS label, a.last_updated_timestamp AS at
				FROM %1$I.assessments a WHERE a.trace_id = r.request_id AND a.valid AND a.assessment_type::text = 'feedback' AND a.error IS NULL
					AND (a.span_id IS NULL OR EXISTS (SELECT FROM %1$I.spans s WHERE s.trace_id = a.trace_id AND s.span_id = a.span_id AND s.parent_span_id IS NULL))$q$, mlflow_query.schema), mlflow_query.score)))
$$;
COMMENT ON FUNCTION stepadv_internal.mlflow_query(text, text, text) IS 'part of attach_mlflow: the query for steps, over the tables in this schema';

CREATE FUNCTION stepadv.attach_mlflow(schema text DEFAULT 'public', view_schema text DEFAULT NULL, prefix text DEFAULT 'mlflow', task text DEFAULT NULL, score text DEFAULT NULL, states text DEFAULT 'observation', options jsonb DEFAULT '{}')
RETURNS TABLE (view_name regclass, shows text)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM stepadv_internal.check_traced('MLflow'::text, attach_mlflow.schema, '{"experiments": ["experiment_id", "name"], "trace_info": ["request_id", "experiment_id", "timestamp_ms", "execution_time_ms", "request_preview"],
		"trace_tags": ["request_id", "key", "value"], "trace_request_metadata": ["request_id", "key", "value"],
		"spans": ["trace_id", "experiment_id", "span_id", "parent_span_id", "name", "type", "status", "start_time_unix_nano", "end_time_unix_nano", "content"],
		"assessments": ["trace_id", "name", "assessment_type", "value", "error", "valid", "span_id", "last_updated_timestamp"]}'::jsonb);
	PERFORM attach_mlflow.task::jsonpath;
	RETURN QUERY SELECT a.view_name, a.shows FROM stepadv_internal.attach_traced('MLflow'::text, stepadv_internal.mlflow_query(attach_mlflow.schema, attach_mlflow.task, attach_mlflow.score),
		coalesce(attach_mlflow.view_schema, attach_mlflow.schema), attach_mlflow.prefix, attach_mlflow.states, attach_mlflow.options) a;
END
$$;
COMMENT ON FUNCTION stepadv.attach_mlflow(text, text, text, text, text, text, jsonb) IS
'makes the view <prefix>_steps over the tables of MLflow (3.4 or later: those with spans) in the schema, and attaches it (see attach), without copying a row; returns the views. A trace is a rollout, spans TOOL and RETRIEVER are steps, and LLM and CHAT_MODEL spans after which no tool was called. Groups are the experiment, the task (what the path task finds in the tags and metadata of the trace, one object, else task_id and its like of them, else the session, else a hash of the request) and policy_version of them, or their mlflow.modelId. The outcome is the feedback on trace or root called score, or else reward, outcome, return or score, or the only one; feedback on other spans called reward is the reward of their turn. view_schema: where the views are made (default: schema); error where the schema lacks a table or column';

-- ----------
-- Langfuse
-- ----------

CREATE FUNCTION stepadv_internal.langfuse_query(schema text, task text, score text) RETURNS text
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT stepadv_internal.traced_query(
		format($q$SELECT s.project_id || '/' || s.trace_id AS trace_key, s.project_id::text AS project, s.trace_id::text AS trace, s.id::text AS span, s.parent_observation_id::text AS parent, stepadv.signature_hash(s.project_id || '/' || s.id) AS step_id,
				CASE s.type::text WHEN 'GENERATION' THEN 'llm' ELSE 'tool' END AS kind,
				CASE s.type::text WHEN 'GENERATION' THEN coalesce(s.output::jsonb #>> '{tool_calls,0,function,name}'::text[], s.output::jsonb #>> '{tool_calls,0,name}'::text[]) ELSE s.name::text END AS tool,
				CASE s.type::text WHEN 'GENERATION' THEN coalesce(stepadv_internal.traced_json(s.output::jsonb #>> '{tool_calls,0,function,arguments}'::text[]), s.output::jsonb #> '{tool_calls,0,args}'::text[]) ELSE s.input::jsonb END AS args,
				coalesce(CASE s.type::text WHEN 'GENERATION' THEN s.output::jsonb ->> 'content'::text END, s.output::jsonb #>> '{}'::text[], s.status_message::text) AS output,
				CASE WHEN s.type::text <> 'GENERATION' THEN s.level::text <> 'ERROR' END AS ok, s.start_time AT TIME ZONE 'UTC' AS at, s.end_time AT TIME ZONE 'UTC' AS until,
				(SELECT sum(stepadv_internal.traced_score(a.value::float8, a.string_value::text)) FROM %1$I.scores a WHERE a.trace_id = s.trace_id AND a.observation_id = s.id AND a.project_id = s.project_id AND lower(a.name::text) IN ('reward', 'step_reward')) AS span_reward
			FROM %1$I.observations s
			-- Before there were types of tools, a SPAN was one: what nothing is observed in.
			WHERE s.type::text IN ('TOOL', 'RETRIEVER') OR s.type::text = 'GENERATION' AND NOT (s.level::text = 'ERROR' AND s.output IS NULL)
				OR s.type::text = 'SPAN' AND NOT EXISTS (SELECT FROM %1$I.observations i WHERE i.parent_observation_id = s.id AND i.project_id = s.project_id)$q$, langfuse_query.schema),
		format($q$SELECT q.project_id || '/' || q.trace_id AS trace_key, q.id::text AS span, q.parent_observation_id::text AS parent, CASE q.type::text WHEN 'GENERATION' THEN 'llm' WHEN 'TOOL' THEN 'tool' WHEN 'RETRIEVER' THEN 'tool' ELSE 'other' END AS kind FROM %1$I.observations q$q$, langfuse_query.schema),
		format($q$SELECT r.project_id || '/' || r.id AS trace_key, r.project_id::text AS project, coalesce(%2$s, r.session_id::text, md5(r.input::text)) AS task_id, coalesce(r.metadata::jsonb ->> 'policy_version'::text, r.version::text, '') AS policy_version,
				r.session_id::text AS session_id, r.input::jsonb #>> '{}'::text[] AS asked, v.outcome, v.success, r."timestamp" AT TIME ZONE 'UTC' AS started_at,
				(SELECT max(coalesce(o.end_time, o.start_time)) FROM %1$I.observations o WHERE o.trace_id = r.id AND o.project_id = r.project_id) AT TIME ZONE 'UTC' AS ended_at
			FROM %1$I.traces r
			CROSS JOIN LATERAL (%3$s) v$q$, langfuse_query.schema, stepadv_internal.traced_task('r.metadata::jsonb'::text, langfuse_query.task),
			stepadv_internal.traced_verdict(format($q$SELECT a.name::text AS name, a.value::float8 AS value, a.string_value::text AS label, a."timestamp" AS at FROM %1$I.scores a WHERE a.trace_id = r.id AND a.project_id = r.project_id AND a.observation_id IS NULL$q$, langfuse_query.schema), langfuse_query.score)))
$$;
COMMENT ON FUNCTION stepadv_internal.langfuse_query(text, text, text) IS 'part of attach_langfuse: the query for steps, over the tables in this schema';

CREATE FUNCTION stepadv.attach_langfuse(schema text DEFAULT 'public', view_schema text DEFAULT NULL, prefix text DEFAULT 'langfuse', task text DEFAULT NULL, score text DEFAULT NULL, states text DEFAULT 'observation', options jsonb DEFAULT '{}')
RETURNS TABLE (view_name regclass, shows text)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM stepadv_internal.check_traced('Langfuse 2'::text, attach_langfuse.schema, '{"traces": ["id", "project_id", "timestamp", "session_id", "metadata", "version", "input"],
		"observations": ["id", "trace_id", "project_id", "type", "start_time", "end_time", "name", "parent_observation_id", "level", "status_message", "input", "output"],
		"scores": ["trace_id", "observation_id", "project_id", "name", "value", "string_value", "timestamp"]}'::jsonb);
	PERFORM attach_langfuse.task::jsonpath;
	RETURN QUERY SELECT a.view_name, a.shows FROM stepadv_internal.attach_traced('Langfuse'::text, stepadv_internal.langfuse_query(attach_langfuse.schema, attach_langfuse.task, attach_langfuse.score),
		coalesce(attach_langfuse.view_schema, attach_langfuse.schema), attach_langfuse.prefix, attach_langfuse.states, attach_langfuse.options) a;
END
$$;
COMMENT ON FUNCTION stepadv.attach_langfuse(text, text, text, text, text, text, jsonb) IS
'makes the view <prefix>_steps over the tables of Langfuse 2 (2.95; version 3 keeps them in ClickHouse) in the schema, and attaches it (see attach), without copying a row; returns the views. A trace is a rollout; steps are observations TOOL and RETRIEVER, a SPAN that nothing is observed in, and a GENERATION after which there is none of these. Groups are the project, the task (what the path task finds in the metadata of the trace, else task_id and its like of it, else the session, else a hash of the input) and policy_version of the metadata, or the trace''s version. The outcome is the score of the trace called score, or else reward, outcome, return or score, or the only one; scores of observations called reward are the reward of their turn. view_schema: where the views are made (default: schema); error where the schema lacks a table or column';
