-- Tables that create_tables of an earlier version made get what it makes now.

-- Further items at the end of the select list of a view over one relation, called
-- s as adapters call theirs; false where the view is not of that form.
CREATE FUNCTION stepadv_internal.widen_view(view regclass, items text[]) RETURNS boolean
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	-- As it is printed, what stands for itself is not indented further.
	branches CONSTANT text[] := regexp_split_to_array(rtrim(pg_get_viewdef(widen_view.view), ';'), E'\nUNION ALL\n');
	made text;
BEGIN
	IF cardinality(branches) <> cardinality(widen_view.items) OR EXISTS (SELECT FROM unnest(branches) b WHERE cardinality(regexp_split_to_array(b, E'\n   FROM ')) <> 2) THEN
		RETURN false;
	END IF;
	SELECT string_agg(replace(b.b, E'\n   FROM ', b.items || E'\n   FROM '), ' UNION ALL ' ORDER BY b.i) INTO made FROM unnest(branches, widen_view.items) WITH ORDINALITY b(b, items, i);
	EXECUTE format('CREATE OR REPLACE VIEW %s %s AS %s', stepadv_internal.relation_name(widen_view.view),
		CASE WHEN stepadv_internal.server_has('security_invoker'::text) THEN 'WITH (security_invoker = true)' ELSE '' END, made);
	RETURN true;
END
$$;
COMMENT ON FUNCTION stepadv_internal.widen_view(regclass, text[]) IS 'part of upgrade_tables: adds columns to a view, the items of each branch of its UNION ALL; false if it cannot';

-- Definitions and comments are those of the tables of today.
CREATE FUNCTION stepadv_internal.add_columns(schema text) RETURNS TABLE (relation regclass, column_name text)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	definition text;
	name record;
BEGIN
	FOR name IN
		SELECT c.of_table, c.of_column FROM (VALUES ('rollouts', 'task_id'), ('rollouts', 'run_id'), ('rollouts', 'policy_version'), ('rollouts', 'policy_step'), ('rollouts', 'tags'), ('rollouts', 'greedy'),
			('steps', 'ref_logprobs')) c(of_table, of_column)
	LOOP
		relation := format('%I.%I', add_columns.schema, name.of_table)::regclass;
		column_name := name.of_column;
		CONTINUE WHEN stepadv_internal.has_column(relation, column_name);
		-- Those that may be the group's are texts.
		definition := coalesce(substring(stepadv_internal.tables_ddl() FROM format(E'\n\\s*(?:%%\\d\\$s)?%s ([^\n]+),\n', column_name)), 'text');
		EXECUTE format('ALTER TABLE %s ADD COLUMN %I %s', stepadv_internal.relation_name(relation), column_name, definition);
		EXECUTE format(rtrim(substring(stepadv_internal.tables_comments() FROM format(E'COMMENT ON COLUMN %%1\\$I\\.%s\\.%s IS [^\n]+', name.of_table, column_name)), ';'), add_columns.schema);
		RETURN NEXT;
	END LOOP;
END
$$;
COMMENT ON FUNCTION stepadv_internal.add_columns(text) IS 'part of upgrade_tables: columns that the tables lack; a row each';

-- What attach would be told of them now. The adapters know their columns by number, so
-- what is new to them comes last.
CREATE FUNCTION stepadv_internal.add_roles(a stepadv_internal.attached, steps regclass) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	items text;
BEGIN
	SELECT string_agg(format(', s.%I', c.name), '' ORDER BY c.i) INTO items FROM unnest('{turn,truncated,greedy}'::text[]) WITH ORDINALITY c(name, i)
	WHERE stepadv_internal.has_column((a).source, c.name) AND NOT stepadv_internal.has_column((a).rows, c.name);
	IF items IS NOT NULL AND NOT stepadv_internal.widen_view((a).rows, ARRAY[items]) THEN
		RAISE EXCEPTION 'view % is no longer the one that attach made', stepadv_internal.relation_name((a).rows) USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Call detach and attach.';
	END IF;
	IF EXISTS (SELECT FROM stepadv_internal.view_columns((a).shown) v WHERE v.relation = add_roles.steps) AND stepadv_internal.has_column((a).shown, 'stepadv_logp_new'::text)
		AND NOT stepadv_internal.has_column((a).shown, 'stepadv_logp_ref'::text) AND NOT stepadv_internal.widen_view((a).shown, ARRAY[', s.ref_logprobs AS stepadv_logp_ref'])
	THEN
		RAISE EXCEPTION 'view % is no longer the one that attach made', stepadv_internal.relation_name((a).shown) USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Call detach and attach.';
	END IF;
	PERFORM stepadv.upgrade_attachment((a).attachment);
END
$$;
COMMENT ON FUNCTION stepadv_internal.add_roles(stepadv_internal.attached, regclass) IS 'part of upgrade_tables: gives an attachment over rollout_rows the roles that it has columns for now, and makes its views anew';

CREATE FUNCTION stepadv_internal.check_own_tables(schema text) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	relation record;
BEGIN
	IF check_own_tables.schema IS NULL THEN
		RAISE EXCEPTION 'schema must be given' USING ERRCODE = 'null_value_not_allowed';
	END IF;
	FOR relation IN
		SELECT t.name, c.oid, c.relowner, position(c.relkind IN t.kinds) > 0 AS fits FROM (VALUES ('rollouts', 'pr'), ('steps', 'pr'), ('rollout_rows', 'v')) t(name, kinds)
		LEFT JOIN pg_namespace n ON n.nspname = check_own_tables.schema LEFT JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = t.name
	LOOP
		IF relation.fits IS NOT TRUE OR (relation.name <> 'rollout_rows') IS DISTINCT FROM (stepadv_internal.has_column(relation.oid, 'metadata'::text)) THEN
			RAISE EXCEPTION 'schema "%" has no tables that create_tables made: % is missing, or another', check_own_tables.schema, relation.name
				USING ERRCODE = 'undefined_table', HINT = 'Give the schema that create_tables was given.';
		ELSIF relation.relowner <> quote_ident(current_user)::regrole THEN
			RAISE EXCEPTION 'must be owner of %', stepadv_internal.relation_name(relation.oid) USING ERRCODE = 'insufficient_privilege', HINT = format('Call it after SET ROLE %s.', relation.relowner::regrole);
		END IF;
	END LOOP;
END
$$;
COMMENT ON FUNCTION stepadv_internal.check_own_tables(text) IS 'part of upgrade_tables: error where a schema has no tables of create_tables, or another''s';

CREATE FUNCTION stepadv.upgrade_tables(schema text) RETURNS TABLE (relation regclass, column_name text)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	steps regclass;
	rows_view regclass;
	names text[];
	of_steps text;
	of_rollouts text;
	a stepadv_internal.attached;
BEGIN
	PERFORM stepadv_internal.check_own_tables(upgrade_tables.schema);
	steps := format('%I.steps', upgrade_tables.schema)::regclass;
	rows_view := format('%I.rollout_rows', upgrade_tables.schema)::regclass;
	RETURN QUERY SELECT c.relation, c.column_name FROM stepadv_internal.add_columns(upgrade_tables.schema) c;
	SELECT array_agg(c.name ORDER BY c.i), string_agg(', ' || c.of_step, '' ORDER BY c.i), string_agg(', ' || c.of_rollout, '' ORDER BY c.i) INTO names, of_steps, of_rollouts
	FROM (VALUES (1, 'turn', 's.turn', 'NULL::integer AS turn'), (2, 'truncated', 'NULL::boolean AS truncated', 'r.truncated'),
		(3, 'policy_step', 'NULL::bigint AS policy_step', 'r.policy_step'), (4, 'greedy', 'NULL::boolean AS greedy', 'r.greedy')) c(i, name, of_step, of_rollout)
	WHERE NOT stepadv_internal.has_column(rows_view, c.name);
	IF names IS NOT NULL AND pg_get_viewdef(rows_view) ~ format(E'\n   FROM (\\S+\\.)?steps s\nUNION ALL\n(.*\n)*   FROM (\\S+\\.)?rollouts r;$')
		AND stepadv_internal.widen_view(rows_view, ARRAY[of_steps, of_rollouts])
	THEN
		RETURN QUERY SELECT rows_view, n FROM unnest(names) n;
	ELSIF names IS NOT NULL THEN
		RAISE WARNING 'view % is no longer the one that create_tables made: it stays without %', stepadv_internal.relation_name(rows_view), array_to_string(names, ', ')
			USING HINT = 'Add these columns at its end: of steps what it knows of them, and of rollouts.';
	END IF;
	FOR a IN SELECT k.* FROM stepadv_internal.attachments(quote_ident(current_user)::regrole, NULL::regclass) k WHERE k.source = rows_view ORDER BY k.prefix LOOP
		PERFORM stepadv_internal.add_roles(a, steps);
	END LOOP;
END
$$;
COMMENT ON FUNCTION stepadv.upgrade_tables(text) IS
'gives the tables that create_tables of an earlier version made in the schema what it makes now: the columns that rollouts and steps lack (task_id, run_id, policy_step, tags, greedy; ref_logprobs), those of the view rollout_rows (turn, truncated, policy_step, greedy), and of these the views of the caller''s attachments over it, which are made anew as by upgrade_attachment: _remax, kl_to_reference of _ratios; the group and all rows stay as they are; a row per column added, none the second time; a rollout_rows that was rewritten stays as it is, with a warning; error for a schema without such tables, or of another owner';
