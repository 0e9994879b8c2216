-- Companion tables: a group's value kept beside the rows that it is folded from.
--
-- maintain makes, beside the views <prefix>_… of attach:
--
--	<prefix>_fresh		view: what <prefix>_values was, the fold of the rows
--	<prefix>_folded		table: its rows, kept
--	<prefix>_changed	table: keys of groups that wait to be folded (not with 'triggers')
--	<prefix>_fold()		folds given groups again, or all of them
--	<prefix>_fresh_over_time, <prefix>_folded_over_time, <prefix>_fold_over_time()
--						the same of what the views over time add up, if there are any: it belongs
--						to the groups, and who may write it is who holds their rows in <prefix>_folded
--	<prefix>_on_change()	trigger function: which groups a statement changed
--
-- The functions are written out for the table, in the owner's schema and with
-- the owner's rights: nothing that a table's owner wrote into a view runs with
-- anybody else's.

-- The columns of the group come first in everything that is kept; in what is kept
-- over time other columns are beside them, so their names may differ.
CREATE FUNCTION maintain_keys(relation regclass, number integer) RETURNS text[]
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT array_agg(a.attname::text ORDER BY a.attnum) FROM pg_attribute a WHERE a.attrelid = maintain_keys.relation AND a.attnum BETWEEN 1 AND maintain_keys.number
$$;
COMMENT ON FUNCTION maintain_keys(regclass, integer) IS 'part of maintain: the first columns of a relation';

-- The tables that views read, at whatever depth, and the columns of theirs that
-- they read; NULL: cannot be told.
CREATE FUNCTION maintain_bases(VARIADIC views_read regclass[]) RETURNS TABLE (base regclass, reads text[])
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	WITH RECURSIVE views AS (
		SELECT u.view::oid AS oid FROM unnest(maintain_bases.views_read) u(view) WHERE u.view IS NOT NULL
		UNION
		SELECT c.oid
		FROM views v JOIN pg_rewrite w ON w.ev_class = v.oid
		JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid AND d.refclassid = 'pg_class'::regclass
		JOIN pg_class c ON c.oid = d.refobjid
		WHERE c.relkind = 'v'
	)
	SELECT c.oid::regclass,
		-- A whole row leaves no trace among the dependencies, but one in the text.
		CASE WHEN NOT bool_or(d.refobjsubid < 0 OR pg_get_viewdef(v.oid) LIKE '%.*%')
			THEN array_agg(DISTINCT a.attname::text ORDER BY a.attname::text) FILTER (WHERE a.attname IS NOT NULL) END
	FROM views v JOIN pg_rewrite w ON w.ev_class = v.oid
	JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid AND d.refclassid = 'pg_class'::regclass
	JOIN pg_class c ON c.oid = d.refobjid
	LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = d.refobjsubid AND a.attnum > 0
	WHERE c.relkind <> 'v'
	GROUP BY c.oid
$$;
COMMENT ON FUNCTION maintain_bases(regclass[]) IS 'part of maintain: the tables that views read, and which of their columns';

-- The sets of views and tables that maintain keeps, of one source or of all.
-- A view that says so is believed if its owner is the source's, or may act as
-- him, or has been, and what it is said to have beside it is his as well.
CREATE FUNCTION maintained(source regclass DEFAULT NULL, prefix text DEFAULT NULL)
RETURNS TABLE (source regclass, fresh regclass, folded regclass, changed regclass, fresh_over_time regclass, folded_over_time regclass,
	schema text, name text, group_by text[], keys text[], how text, attached jsonb, owner oid)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT s.source, v.oid::regclass, k.folded, k.changed, k.fresh_over_time, k.folded_over_time,
		n.nspname, p.name,
		ARRAY(SELECT jsonb_array_elements_text(m.made -> 'group_by')),
		@extschema@.maintain_keys(v.oid::regclass, jsonb_array_length(m.made -> 'group_by')),
		m.made ->> 'how', m.made -> 'attached', v.relowner
	FROM pg_class v
	JOIN pg_namespace n ON n.oid = v.relnamespace
	CROSS JOIN LATERAL (SELECT CASE WHEN v.relkind = 'v' THEN stepadv_internal.made_by(v.oid, 'maintain') END AS made) m
	CROSS JOIN LATERAL (SELECT left(v.relname, -length('_fresh')) AS name) p
	-- Not by to_regclass: the schema may be closed to the reader.
	CROSS JOIN LATERAL (SELECT
			max(c.oid) FILTER (WHERE c.relname = p.name || '_folded' AND c.relkind = 'r')::regclass AS folded,
			max(c.oid) FILTER (WHERE c.relname = p.name || '_changed' AND c.relkind = 'r' AND m.made ->> 'how' <> 'triggers')::regclass AS changed,
			max(c.oid) FILTER (WHERE c.relname = p.name || '_fresh_over_time' AND c.relkind = 'v' AND m.made -> 'over_time' = 'true')::regclass AS fresh_over_time,
			max(c.oid) FILTER (WHERE c.relname = p.name || '_folded_over_time' AND c.relkind = 'r' AND m.made -> 'over_time' = 'true')::regclass AS folded_over_time
		FROM pg_class c
		-- Relations of these names may be anybody's.
		WHERE c.relnamespace = v.relnamespace AND c.relowner = v.relowner
			AND c.relname IN (p.name || '_folded', p.name || '_changed', p.name || '_fresh_over_time', p.name || '_folded_over_time')) k
	-- The only relation that the fold reads.
	CROSS JOIN LATERAL (SELECT DISTINCT d.refobjid::regclass AS source FROM pg_rewrite w JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid
		WHERE w.ev_class = v.oid AND d.refclassid = 'pg_class'::regclass AND d.refobjid <> v.oid) s
	WHERE m.made IS NOT NULL
		AND (pg_has_role(v.relowner, (SELECT c.relowner FROM pg_class c WHERE c.oid = s.source), 'USAGE')
			-- The source has another owner now: that it is kept its triggers tell, which
			-- no stranger could make.
			OR EXISTS (SELECT FROM @extschema@.maintain_bases(v.oid::regclass) b JOIN pg_trigger t ON t.tgrelid = b.base JOIN pg_proc f ON f.oid = t.tgfoid
				WHERE t.tgname = p.name || '_maintain_truncate' AND f.proname = p.name || '_on_change' AND f.pronamespace = v.relnamespace AND f.proowner = v.relowner))
		AND (maintained.prefix IS NULL OR p.name = maintained.prefix)
		AND (maintained.source IS NULL OR s.source = maintained.source)
	ORDER BY n.nspname, p.name
$$;
COMMENT ON FUNCTION maintained(regclass, text) IS 'part of maintain: what it keeps over a source, or over any';

-- Whether the current user may read all rows of what a view reads, the columns
-- that it reads: an error if not.
CREATE FUNCTION stepadv_internal.may_read_all(fresh regclass) RETURNS boolean
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	b record;
BEGIN
	FOR b IN
		SELECT m.base, m.reads FROM @extschema@.maintain_bases(may_read_all.fresh) m
		UNION ALL
		-- A source that is a view.
		SELECT d.refobjid::regclass, array_agg(a.attname::text)
		FROM pg_rewrite w JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid AND d.refclassid = 'pg_class'::regclass
		JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid AND a.attnum > 0
		WHERE w.ev_class = may_read_all.fresh AND d.refobjid <> may_read_all.fresh
		GROUP BY 1
	LOOP
		IF row_security_active(b.base::oid) THEN
			RAISE EXCEPTION 'permission denied for kept groups of %', b.base
				USING ERRCODE = 'insufficient_privilege', DETAIL = 'It has row-level security, and a group''s value would show all its rows.';
		ELSIF NOT (CASE WHEN b.reads IS NULL THEN has_table_privilege(b.base::oid, 'SELECT')
			ELSE (SELECT bool_and(has_column_privilege(b.base::oid, r.name, 'SELECT')) FROM unnest(b.reads) r(name)) END)
		THEN
			RAISE EXCEPTION 'permission denied for kept groups of %', b.base
				USING ERRCODE = 'insufficient_privilege', DETAIL = 'They are for those who may read all that is folded.';
		END IF;
	END LOOP;
	RETURN true;
END
$$;
COMMENT ON FUNCTION stepadv_internal.may_read_all(regclass) IS 'part of maintain: who may read kept groups; an error for others';

-- Statement triggers fire for the table that the statement names: one is needed
-- on each partition and child, and on each parent, through which rows may come.
CREATE FUNCTION maintain_family(base regclass) RETURNS SETOF regclass
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	WITH RECURSIVE below AS (
		SELECT maintain_family.base::oid AS oid
		UNION
		SELECT i.inhrelid FROM below b JOIN pg_inherits i ON i.inhparent = b.oid
	), above AS (
		SELECT maintain_family.base::oid AS oid
		UNION
		SELECT i.inhparent FROM above a JOIN pg_inherits i ON i.inhrelid = a.oid
	)
	SELECT oid::regclass FROM below UNION SELECT oid::regclass FROM above
$$;
COMMENT ON FUNCTION maintain_family(regclass) IS 'part of maintain: a table with its partitions or children, and its parents';

-- Why the groups of a table cannot be kept: an error that says so, or nothing.
CREATE FUNCTION maintain_refuse(base regclass, relation regclass, fresh regclass, owner oid, group_by text[], keys text[], reads text[]) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	c pg_class;
	column_name text;
	wanted text;
	found text;
BEGIN
	SELECT * INTO c FROM pg_class p WHERE p.oid = maintain_refuse.relation;
	IF c.relkind NOT IN ('r', 'p') THEN
		RAISE EXCEPTION 'cannot maintain groups of %: it is a %', relation, CASE c.relkind
				WHEN 'm' THEN 'materialized view' WHEN 'f' THEN 'foreign table' ELSE 'relation of another kind' END
			USING ERRCODE = 'wrong_object_type', HINT = 'Changes are seen by triggers, which only tables have.';
	END IF;
	IF c.relpersistence = 't' THEN
		RAISE EXCEPTION 'cannot maintain groups of temporary table %', relation USING ERRCODE = 'feature_not_supported';
	END IF;
	IF c.relrowsecurity THEN
		RAISE EXCEPTION 'cannot maintain groups of %: it has row-level security', relation
			USING ERRCODE = 'feature_not_supported', DETAIL = 'A group''s value would show all its rows to whoever may read it.';
	END IF;
	IF c.relowner <> maintain_refuse.owner THEN
		RAISE EXCEPTION 'cannot maintain groups of %: its owner is another than that of the source', relation
			USING ERRCODE = 'insufficient_privilege', DETAIL = 'Groups are folded with the rights of the source''s owner.';
	END IF;
	FOR i IN 1 .. cardinality(group_by) LOOP
		column_name := group_by[i];
		SELECT format_type(a.atttypid, NULL) INTO wanted FROM pg_attribute a WHERE a.attrelid = maintain_refuse.fresh AND a.attname = keys[i];
		SELECT format_type(a.atttypid, NULL) INTO found FROM pg_attribute a
		WHERE a.attrelid = maintain_refuse.relation AND a.attname = column_name AND a.attnum > 0 AND NOT a.attisdropped;
		IF found IS NULL THEN
			RAISE EXCEPTION 'cannot maintain groups of %: it has no column "%"', relation, column_name
				USING ERRCODE = 'undefined_column', DETAIL = 'The source reads it; a change of it must tell by its own columns which groups change.';
		ELSIF found <> wanted THEN
			RAISE EXCEPTION 'cannot maintain groups of %: its column "%" is of type %, that of the source is of type %', relation, column_name, found, wanted
				USING ERRCODE = 'datatype_mismatch';
		ELSIF relation = base AND NOT column_name = ANY (reads) THEN
			RAISE EXCEPTION 'cannot maintain groups of %: the source does not read its column "%"', relation, column_name
				USING ERRCODE = 'feature_not_supported', DETAIL = 'A change of the table must tell by its own columns which groups change.';
		END IF;
	END LOOP;
END
$$;
COMMENT ON FUNCTION maintain_refuse(regclass, regclass, regclass, oid, text[], text[], text[]) IS 'part of maintain: error if the groups of a table cannot be kept';

-- The triggers on the tables below a view that do not have them yet; how many tables.
CREATE FUNCTION maintain_triggers(fresh regclass) RETURNS integer
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	m record;
	target record;
	detail text;
	hint text;
	number integer := 0;
BEGIN
	SELECT * INTO STRICT m FROM @extschema@.maintained() s WHERE s.fresh = maintain_triggers.fresh;
	FOR target IN
		SELECT f.relation, format('%I.%I', n.nspname, c.relname) AS name, array_agg(b.base) AS bases,
			-- What an update must touch to change a group.
			CASE WHEN bool_or(b.reads IS NULL) THEN 't.*' ELSE (
				SELECT string_agg(DISTINCT format('t.%I', a.attname), ', ') FROM pg_attribute a, @extschema@.maintain_bases(m.fresh, m.fresh_over_time) r
				WHERE a.attrelid = f.relation AND a.attnum > 0 AND r.base = ANY (array_agg(b.base)) AND a.attname = ANY (r.reads)) END AS columns
		FROM @extschema@.maintain_bases(m.fresh, m.fresh_over_time) b, @extschema@.maintain_family(b.base) f(relation)
		JOIN pg_class c ON c.oid = f.relation JOIN pg_namespace n ON n.oid = c.relnamespace
		GROUP BY 1, 2 ORDER BY 2
	LOOP
		BEGIN
			PERFORM @extschema@.maintain_refuse(b.base, target.relation, m.fresh, (SELECT c.relowner FROM pg_class c WHERE c.oid = m.source), m.group_by, m.keys, b.reads)
			FROM @extschema@.maintain_bases(m.fresh, m.fresh_over_time) b WHERE b.base = ANY (target.bases);
		EXCEPTION WHEN OTHERS THEN
			IF EXISTS (SELECT FROM @extschema@.maintain_bases(m.fresh) b WHERE b.base = ANY (target.bases)) THEN
				RAISE;
			END IF;
			GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
			RAISE EXCEPTION '%', SQLERRM USING ERRCODE = SQLSTATE, DETAIL = coalesce(nullif(detail, ''), nullif(hint, ''), 'Changes of it cannot be seen.'),
				HINT = 'Only the views over time read it: with over_time => false they go on folding, and the groups can be maintained.';
		END;
		CONTINUE WHEN EXISTS (SELECT FROM pg_trigger t WHERE t.tgrelid = target.relation AND t.tgname = m.name || '_maintain_truncate');
		-- The condition is always true; it is there for the dependency: who drops the
		-- companion with CASCADE must not leave triggers that fail.
		EXECUTE (
			SELECT string_agg(format('CREATE TRIGGER %I AFTER %s ON %s %s FOR EACH STATEMENT WHEN (%L::regclass IS NOT NULL) EXECUTE FUNCTION %I.%I(%s)',
				m.name || '_maintain_' || lower(e.event), e.event, target.name, e.tables, m.folded,
				m.schema, m.name || '_on_change', CASE e.event WHEN 'UPDATE' THEN quote_literal(target.columns) END), '; ')
			FROM (VALUES ('INSERT', 'REFERENCING NEW TABLE AS new_rows'), ('UPDATE', 'REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows'),
				('DELETE', 'REFERENCING OLD TABLE AS old_rows'), ('TRUNCATE', '')) e(event, tables));
		number := number + 1;
	END LOOP;
	RETURN number;
END
$$;
COMMENT ON FUNCTION maintain_triggers(regclass) IS 'part of maintain: makes the triggers that are missing';

-- format(template, name) of each name: its place is %1$I, its number %2$s.
CREATE FUNCTION maintain_list(names text[], template text, separator text DEFAULT ', ') RETURNS text
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT string_agg(format(maintain_list.template, u.name, u.i), maintain_list.separator ORDER BY u.i) FROM unnest(maintain_list.names) WITH ORDINALITY u(name, i)
$$;
COMMENT ON FUNCTION maintain_list(text[], text, text) IS 'part of maintain: a list of columns as SQL';

CREATE FUNCTION maintain_match(view regclass, keys text[], one text, other text, other_keys text[] DEFAULT NULL) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT string_agg(format('%s.%I %s %s.%I', maintain_match.one, k.key, @extschema@.attach_equal(a.atttypid), maintain_match.other,
		coalesce(maintain_match.other_keys[k.i], k.key)), ' AND ' ORDER BY k.i)
	FROM unnest(maintain_match.keys) WITH ORDINALITY k(key, i) JOIN pg_attribute a ON a.attrelid = maintain_match.view AND a.attname = k.key
$$;
COMMENT ON FUNCTION maintain_match(regclass, text[], text, text, text[]) IS 'part of maintain: the condition that two aliases have the same group';

-- The view of values that attach made over a source.
CREATE FUNCTION maintain_attached(source regclass, prefix text) RETURNS TABLE (view regclass, schema text, name text, definition jsonb)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT v.oid::regclass, s.nspname, m.definition ->> 'prefix', m.definition
	FROM pg_class v JOIN pg_namespace s ON s.oid = v.relnamespace
	CROSS JOIN LATERAL (SELECT CASE WHEN v.relkind = 'v' THEN stepadv_internal.made_by(v.oid, 'attach') END AS definition) m
	WHERE v.relname = (m.definition ->> 'prefix') || '_values'
		-- What others attached, or say so, is not to be maintained for them.
		AND pg_has_role(v.relowner, (SELECT c.relowner FROM pg_class c WHERE c.oid = maintain_attached.source), 'USAGE')
		AND (maintain_attached.prefix IS NULL OR m.definition ->> 'prefix' = maintain_attached.prefix)
		AND EXISTS (SELECT FROM pg_rewrite w JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid
			WHERE w.ev_class = v.oid AND d.refclassid = 'pg_class'::regclass AND d.refobjid = maintain_attached.source)
$$;
COMMENT ON FUNCTION maintain_attached(regclass, text) IS 'part of maintain: the view of values that attach made over a source';

-- A value that is kept must not depend on who folded it: an error if an id or a
-- state is known by a text that the session's settings decide.
CREATE FUNCTION maintain_refuse_texts(source regclass, mapping jsonb) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	plain CONSTANT regtype[] := '{bool,int2,int4,int8,float4,float8,numeric,text,varchar,bpchar,bytea,uuid,json,jsonb,bit,varbit,inet,cidr,macaddr,macaddr8}';
	role text;
	type oid;
BEGIN
	FOR role, type IN
		SELECT r.role, a.atttypid
		FROM unnest('{rollout_id,step_id,state,action,next_state}'::text[]) r(role)
		JOIN pg_attribute a ON a.attrelid = maintain_refuse_texts.source AND a.attname = mapping ->> r.role
	LOOP
		WHILE (SELECT t.typtype FROM pg_type t WHERE t.oid = type) = 'd' LOOP
			SELECT t.typbasetype INTO type FROM pg_type t WHERE t.oid = type;
		END LOOP;
		IF type <> ALL (plain::oid[]) AND NOT EXISTS (SELECT FROM pg_type t WHERE t.oid = type AND (t.typtype = 'e' OR t.typcategory = 'S')) THEN
			RAISE EXCEPTION 'cannot maintain groups of %: its % is known by the text of a %, which depends on settings of the session',
				source, role, format_type(type, NULL)
				USING ERRCODE = 'feature_not_supported', HINT = 'Attach a view that makes a text of it, for example by to_char, or a number.';
		END IF;
	END LOOP;
END
$$;
COMMENT ON FUNCTION maintain_refuse_texts(regclass, jsonb) IS 'part of maintain: error if ids or states depend on settings of the session';

-- The body of <prefix>_fold.  Whoever changes a group locks its row first and
-- folds it then, in a snapshot that has what the one before committed.  The row
-- is written in any case: a transaction with an older snapshot that changes the
-- same group must fail, and this is how it finds out.
CREATE FUNCTION maintain_fold_body(fresh regclass, folded text, primary_key text, keys text[], kept_at text, by_index boolean, over_time text, folded_over_time text) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $outer$
	SELECT format($body$
DECLARE
	number_of_groups bigint := cardinality($1);
	changed_group record;
	is_empty boolean;
BEGIN
	IF $1 IS NULL THEN
		IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
			RAISE EXCEPTION 'all groups can be folded only in a transaction of isolation level read committed'
				USING ERRCODE = 'invalid_transaction_state',
					DETAIL = 'Rows that were committed after the transaction''s snapshot would be missed.',
					HINT = 'TRUNCATE of a table whose groups are maintained folds them all.';
		END IF;
		LOCK TABLE %1$s IN SHARE ROW EXCLUSIVE MODE;
		PERFORM set_config('enable_seqscan', 'on', true);
		DELETE FROM %1$s;
		INSERT INTO %1$s (%2$s, rollouts, %3$I) SELECT %4$s, f.rollouts, clock_timestamp() FROM %5$s f;
		GET DIAGNOSTICS number_of_groups = ROW_COUNT;
	ELSIF number_of_groups > 0 THEN
		-- A row that an older snapshot shows, but is gone, is found here alone.
		IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
			FOR changed_group IN SELECT %6$s FROM unnest($1) g ORDER BY %6$s LOOP
				PERFORM FROM %1$s c WHERE %9$s FOR UPDATE;
			END LOOP;
		END IF;
		-- In order, so that two writers of the same groups do not wait for each other.
		INSERT INTO %1$s AS c (%2$s) SELECT %6$s FROM unnest($1) g ORDER BY %6$s
		ON CONFLICT ON CONSTRAINT %7$I DO UPDATE SET rollouts = c.rollouts WHERE false;
%8$s
	END IF;%10$s
	RETURN number_of_groups;
END
$body$, folded, @extschema@.maintain_list(keys, '%1$I'), kept_at, @extschema@.maintain_list(keys, 'f.%1$I'), fresh_name,
		@extschema@.maintain_list(keys, 'g.%1$I'), primary_key,
		CASE WHEN by_index THEN format($body$
		-- One by one: the plan is the same whether the tables are empty, as they may
		-- have been when the session planned, or not.
		FOR changed_group IN SELECT %6$s FROM unnest($1) g LOOP
			UPDATE %1$s c SET %2$I = clock_timestamp(), rollouts = (SELECT f.rollouts FROM %3$s f WHERE %4$s) WHERE %5$s
			RETURNING c.rollouts IS NULL INTO is_empty;
			IF is_empty THEN
				DELETE FROM %1$s c WHERE %5$s;
			END IF;
		END LOOP;$body$, folded, kept_at, fresh_name, @extschema@.maintain_match(fresh, keys, 'f', 'changed_group'), c_is_changed,
				@extschema@.maintain_list(keys, 'g.%1$I'))
		ELSE format($body$
		UPDATE %1$s c SET %2$I = clock_timestamp(), rollouts = f.rollouts FROM unnest($1) g LEFT JOIN %3$s f ON %4$s WHERE %5$s;
		DELETE FROM %1$s c USING unnest($1) g WHERE %5$s AND c.rollouts IS NULL;$body$, folded, kept_at, fresh_name,
				@extschema@.maintain_match(fresh, keys, 'f', 'g'), g_is_c) END,
		c_is_changed,
		-- Who drops that table with CASCADE drops the views over time, and the groups
		-- are kept on.
		CASE WHEN over_time IS NOT NULL THEN format($body$
	IF to_regclass(%L) IS NOT NULL THEN
		PERFORM %s($1);
	END IF;$body$, folded_over_time, over_time) END)
	FROM @extschema@.maintain_match(fresh, keys, 'g', 'c') g_is_c, @extschema@.maintain_match(fresh, keys, 'c', 'changed_group') c_is_changed,
		(SELECT format('%I.%I', n.nspname, c.relname) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = fresh) f(fresh_name)
$outer$;
COMMENT ON FUNCTION maintain_fold_body(regclass, text, text, text[], text, boolean, text, text) IS 'part of maintain: writes the function <prefix>_fold';

-- The body of <prefix>_fold_over_time, which <prefix>_fold calls when the groups'
-- rows are its own.  A method that does not know what to do with a group (gae, of
-- one where only some of the steps have a value yet) must not keep anybody from
-- writing it: such a group gets a row with nothing but its key, for which the views
-- compute what they are asked for.  Which of many it is, is found by halves.
CREATE FUNCTION maintain_fold_over_time_body(fresh regclass, keys text[], fresh_over_time regclass, folded_over_time text, over_time_keys text[], fold_over_time text, folded text, by_index boolean) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $outer$
	SELECT format($body$
DECLARE
	half CONSTANT integer := cardinality($1) / 2;
	fresh_rows %1$s[];
	changed_group record;
BEGIN
	IF $1 IS NULL THEN
		PERFORM set_config('enable_seqscan', 'on', true);
		DELETE FROM %2$s;
		BEGIN
			INSERT INTO %2$s SELECT f.* FROM %1$s f;
		EXCEPTION WHEN data_exception THEN
			PERFORM %3$s(ARRAY(SELECT ROW(%4$s, NULL)::%5$s FROM %6$s c));
		END;
		RETURN;
	END IF;
	-- Only read here: what writes nothing is undone at no cost.
	BEGIN
		fresh_rows := ARRAY(%7$s);
	EXCEPTION WHEN data_exception THEN
		IF half > 0 THEN
			PERFORM %3$s($1[:half]), %3$s($1[half + 1:]);
			RETURN;
		END IF;
		fresh_rows := NULL;
	END;
%8$s
	IF fresh_rows IS NULL THEN
		INSERT INTO %2$s (%9$s) SELECT %10$s FROM unnest($1) g;
	ELSE
		INSERT INTO %2$s SELECT f.* FROM unnest(fresh_rows) f;
	END IF;
END
$body$, fresh_over_time, folded_over_time, fold_over_time, @extschema@.maintain_list(keys, 'c.%1$I'), fresh, folded,
		-- By the index for each group, whatever the tables held when the session planned.
		format(CASE WHEN by_index THEN 'SELECT ROW(f.*)::%1$s FROM unnest($1) g CROSS JOIN LATERAL (SELECT f.* FROM %1$s f WHERE %2$s OFFSET 0) f'
				ELSE 'SELECT ROW(f.*)::%1$s FROM %1$s f JOIN unnest($1) g ON %2$s' END,
			fresh_over_time, @extschema@.maintain_match(fresh_over_time, over_time_keys, 'f', 'g', keys)),
		CASE WHEN by_index THEN format($body$	FOR changed_group IN SELECT %1$s FROM unnest($1) g LOOP
		DELETE FROM %2$s c WHERE %3$s;
	END LOOP;$body$, @extschema@.maintain_list(keys, 'g.%1$I'), folded_over_time, @extschema@.maintain_match(fresh_over_time, over_time_keys, 'c', 'changed_group', keys))
		ELSE format('	DELETE FROM %s c USING unnest($1) g WHERE %s;', folded_over_time, @extschema@.maintain_match(fresh_over_time, over_time_keys, 'c', 'g', keys)) END,
		@extschema@.maintain_list(over_time_keys, '%1$I'), @extschema@.maintain_list(keys, 'g.%1$I'))
$outer$;
COMMENT ON FUNCTION maintain_fold_over_time_body(regclass, text[], regclass, text, text[], text, text, boolean) IS 'part of maintain: writes the function <prefix>_fold_over_time';

-- The body of <prefix>_on_change: do_groups, around a query of the changed
-- groups, is an expression or a statement.
CREATE FUNCTION maintain_on_change_body(group_by text[], do_groups text[], do_all text, is_expression boolean) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $outer$
	SELECT format($body$
BEGIN
	IF TG_OP = 'INSERT' THEN
		%1$s;
	ELSIF TG_OP = 'DELETE' THEN
		%2$s;
	ELSIF TG_OP = 'UPDATE' THEN
		-- The argument: the columns that the fold reads.  A group none of whose rows
		-- changed in these is as it was.
		EXECUTE concat(%3$L, TG_ARGV[0], %4$L, TG_ARGV[0], %5$L);
	ELSE
		%6$s;
	END IF;
	RETURN NULL;
END
$body$,
		concat(CASE WHEN is_expression THEN 'PERFORM ' END, do_groups[1], 'SELECT DISTINCT ', keys, ' FROM new_rows t WHERE ', filter, do_groups[2]),
		concat(CASE WHEN is_expression THEN 'PERFORM ' END, do_groups[1], 'SELECT DISTINCT ', keys, ' FROM old_rows t WHERE ', filter, do_groups[2]),
		concat(CASE WHEN is_expression THEN 'SELECT ' END, do_groups[1], 'SELECT DISTINCT ', k, ' FROM (SELECT ', k, ' FROM (SELECT ', keys, ', 1 AS side, ROW('),
		concat(')::text AS image FROM old_rows t WHERE ', filter, ' UNION ALL SELECT ', keys, ', -1, ROW('),
		concat(')::text FROM new_rows t WHERE ', filter, ') u GROUP BY ', k, ', image HAVING sum(side) <> 0) v', do_groups[2]),
		concat(CASE WHEN is_expression THEN 'PERFORM ' END, do_all))
	FROM @extschema@.maintain_list(group_by, 't.%1$I AS k%2$s') keys, @extschema@.maintain_list(group_by, 'k%2$s') k,
		@extschema@.maintain_list(group_by, 't.%1$I IS DISTINCT FROM NULL', ' AND ') filter
$outer$;
COMMENT ON FUNCTION maintain_on_change_body(text[], text[], text, boolean) IS 'part of maintain: writes the function <prefix>_on_change';

-- Folds the groups that wait in <prefix>_changed, or all of them if one of its
-- rows is NULL or everything is asked for.  Changes are committed together with
-- their row there, and fold takes a later snapshot than the DELETE.
CREATE FUNCTION maintain_fold_waiting(changed text, keys text[], fresh regclass, fold text, everything boolean) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT format('WITH gone AS (DELETE FROM %1$s g RETURNING %2$s) '
		'SELECT %3$s(CASE WHEN %4$L OR bool_or(d.%5$I IS NOT DISTINCT FROM NULL) THEN NULL ELSE coalesce(array_agg(ROW(d.*, NULL)::%6$s), ''{}'') END) '
		'FROM (SELECT DISTINCT gone.* FROM gone) d',
		changed, @extschema@.maintain_list(keys, 'g.%1$I'), fold, everything, keys[1], fresh)
$$;
COMMENT ON FUNCTION maintain_fold_waiting(text, text[], regclass, text, boolean) IS 'part of maintain: writes the statement that folds the groups that wait';

-- Makes the views of attach anew, with what it was given, so that they read the
-- companion or, given the source, fold again.
CREATE FUNCTION maintain_views(fresh regclass, fold_from regclass) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	m record;
	c jsonb;		-- role -> column
BEGIN
	SELECT * INTO STRICT m FROM @extschema@.maintained() s WHERE s.fresh = maintain_views.fresh;
	c := m.attached -> 'columns';
	PERFORM @extschema@.attach(source => m.source, group_by => m.group_by, rollout_id => c ->> 'rollout_id', step_no => c ->> 'step_no',
		state => c ->> 'state', action => c ->> 'action', reward => c ->> 'reward', step_id => c ->> 'step_id', success => c ->> 'success',
		next_state => c ->> 'next_state', value => c ->> 'value', turn_reward => c ->> 'turn_reward', cost => c ->> 'cost',
		prefix => m.name, schema => m.schema, options => m.attached -> 'options',
		columns => CASE WHEN m.attached ? 'shown' THEN ARRAY(SELECT jsonb_array_elements_text(m.attached -> 'shown')) END,
		show_steps => (m.attached ->> 'show_steps')::regclass, show_rollouts => (m.attached ->> 'show_rollouts')::regclass,
		logp_new => c ->> 'logp_new', logp_old => c ->> 'logp_old', token_mask => c ->> 'token_mask',
		states => m.attached ->> 'states', tool => c ->> 'tool', args => c ->> 'args', ok => c ->> 'ok',
		policy_version => m.attached ->> 'policy_version', started_at => m.attached ->> 'started_at',
		features => c ->> 'features', contribution => c ->> 'contribution', grounded => c ->> 'grounded', fold_from => maintain_views.fold_from,
		over_time_from => CASE WHEN maintain_views.fold_from <> m.source THEN m.folded_over_time END);
END
$$;
COMMENT ON FUNCTION maintain_views(regclass, regclass) IS 'part of maintain: lets the views of attach read the companion, or fold again';

-- The type of what <prefix>_fold is given.
CREATE FUNCTION maintain_rows_type(fresh regclass) RETURNS oid
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT t.typarray FROM pg_class c JOIN pg_type t ON t.oid = c.reltype WHERE c.oid = maintain_rows_type.fresh
$$;
COMMENT ON FUNCTION maintain_rows_type(regclass) IS 'part of maintain: the type of an array of a view''s rows';

-- Drops all that maintain made, but for the views of attach.
CREATE FUNCTION maintain_drop(fresh regclass) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
DECLARE
	m record;
	item text;
BEGIN
	SELECT * INTO STRICT m FROM @extschema@.maintained() s WHERE s.fresh = maintain_drop.fresh;
	FOR item IN
		SELECT format('DROP TRIGGER %I ON %I.%I', t.tgname, n.nspname, c.relname)
		FROM pg_proc p JOIN pg_trigger t ON t.tgfoid = p.oid JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE p.pronamespace = (SELECT s.oid FROM pg_namespace s WHERE s.nspname = m.schema) AND p.pronargs = 0 AND p.proowner = m.owner
			AND p.proname IN (m.name || '_on_change', m.name || '_at_commit')
		ORDER BY n.nspname, c.relname, t.tgname
	LOOP
		EXECUTE item;
	END LOOP;
	FOR item IN
		SELECT format('DROP FUNCTION %s', string_agg(p.oid::regprocedure::text, ', '))
		FROM pg_proc p
		WHERE p.pronamespace = (SELECT s.oid FROM pg_namespace s WHERE s.nspname = m.schema) AND p.proowner = m.owner
			AND (p.pronargs = 0 AND p.proname IN (m.name || '_on_change', m.name || '_at_commit')
				OR p.pronargs = 1 AND p.proname IN (m.name || '_fold', m.name || '_fold_over_time') AND p.proargtypes[0] = @extschema@.maintain_rows_type(m.fresh))
		HAVING count(*) > 0
	LOOP
		EXECUTE item;
	END LOOP;
	FOR item IN
		SELECT format('DROP TABLE %s', string_agg(k.kept::text, ', ')) FROM unnest(ARRAY[m.folded, m.changed, m.folded_over_time]) k(kept) WHERE k.kept IS NOT NULL HAVING count(*) > 0
	LOOP
		EXECUTE item;
	END LOOP;
	EXECUTE format('DROP VIEW %s', concat_ws(', ', m.fresh, m.fresh_over_time));
END
$$;
COMMENT ON FUNCTION maintain_drop(regclass) IS 'part of unmaintain: drops the table of groups, the triggers and their functions';

CREATE FUNCTION maintain(source regclass, prefix text DEFAULT NULL, how text DEFAULT 'triggers', over_time boolean DEFAULT true) RETURNS regclass
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET jit = off
AS $maintain$
DECLARE
	max_length CONSTANT integer := current_setting('max_identifier_length')::integer;
	security text := CASE WHEN current_setting('server_version_num')::integer >= 150000
		THEN 'WITH (security_invoker = true) ' ELSE '' END;
	settings CONSTANT text := 'LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp '
		'SET plan_cache_mode = force_generic_plan SET jit = off SET extra_float_digits = 1';
	settings_of_fold text;
	owner text;
	made record;			-- by attach
	keys text[];			-- the group's columns in the views
	group_by text[];		-- and in the tables
	kept_at text := 'refreshed_at';
	fresh regclass;
	folded text;			-- quoted names
	changed text;
	fold text;
	divided regclass;		-- the view of what the views over time add up
	fresh_over_time regclass;
	folded_over_time text;
	fold_over_time text;
	over_time_keys text[];
	on_change text;
	at_commit text;
	unlogged text;
	by_index boolean;
	item text;
	names text;
BEGIN
	IF maintain.source IS NULL THEN
		RAISE EXCEPTION 'source must be given' USING ERRCODE = 'null_value_not_allowed';
	END IF;
	IF maintain.how IS NULL OR maintain.how NOT IN ('triggers', 'commit', 'refresh') THEN
		RAISE EXCEPTION 'unknown way to maintain: %', coalesce(quote_literal(maintain.how), 'NULL') USING ERRCODE = 'invalid_parameter_value',
			HINT = 'how is ''triggers'' (each statement folds the groups that it changed), ''commit'' (each transaction does so at its end) or ''refresh'' (the function refresh does).';
	END IF;
	IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
		RAISE EXCEPTION 'maintain must run in a transaction of isolation level read committed'
			USING ERRCODE = 'invalid_transaction_state', DETAIL = 'Rows that were committed after the transaction''s snapshot would be missed.';
	END IF;
	SELECT quote_ident(r.rolname) INTO owner FROM pg_class c JOIN pg_roles r ON r.oid = c.relowner WHERE c.oid = maintain.source;
	IF owner IS NULL THEN
		RAISE EXCEPTION 'relation % does not exist', maintain.source::oid USING ERRCODE = 'undefined_table';
	END IF;
	IF NOT pg_has_role(owner::regrole, 'USAGE') THEN
		RAISE EXCEPTION 'must be owner of %', maintain.source USING ERRCODE = 'insufficient_privilege';
	END IF;

	-- What attach made, and nobody maintains yet.
	SELECT string_agg(quote_ident(m.name), ', ' ORDER BY m.name) INTO names FROM @extschema@.maintained(maintain.source, maintain.prefix) m;
	FOR made IN SELECT * FROM @extschema@.maintain_attached(maintain.source, maintain.prefix) a ORDER BY a.schema, a.name LOOP
		IF group_by IS NOT NULL THEN
			RAISE EXCEPTION 'several sets of views are attached to %', maintain.source
				USING ERRCODE = 'ambiguous_parameter', HINT = format('Name one by its prefix: %s.', (
					SELECT string_agg(quote_ident(a.name), ', ' ORDER BY a.name) FROM @extschema@.maintain_attached(maintain.source, NULL) a));
		END IF;
		group_by := ARRAY(SELECT jsonb_array_elements_text(made.definition -> 'group_by'));
	END LOOP;
	IF group_by IS NULL AND names IS NOT NULL THEN
		RAISE EXCEPTION 'groups of % are maintained already, with prefix %', maintain.source, names
			USING ERRCODE = 'duplicate_object', HINT = 'To do it in another way, call unmaintain first.';
	ELSIF group_by IS NULL THEN
		RAISE EXCEPTION 'no views of attach over %', concat(maintain.source, ' with prefix ' || quote_ident(maintain.prefix))
			USING ERRCODE = 'undefined_object',
				HINT = 'Call attach first: it says which columns make a group. For the tables of create_tables the source is the view rollout_rows.';
	END IF;
	SELECT * INTO STRICT made FROM @extschema@.maintain_attached(maintain.source, maintain.prefix);
	PERFORM @extschema@.maintain_refuse_texts(maintain.source, made.definition -> 'columns');
	keys := @extschema@.maintain_keys(made.view, cardinality(group_by));
	WHILE kept_at = ANY (keys) LOOP
		kept_at := '_' || kept_at;
	END LOOP;

	-- What the views over time add up is in a view of its own.
	IF maintain.over_time THEN
		SELECT v.oid::regclass INTO divided
		FROM pg_class v JOIN pg_namespace n ON n.oid = v.relnamespace
		WHERE n.nspname = made.schema AND v.relname = made.name || '_groups_over_time' AND v.relkind = 'v'
			AND v.relowner = (SELECT c.relowner FROM pg_class c WHERE c.oid = made.view) AND stepadv_internal.made_by(v.oid, 'attach') IS NOT NULL;
	END IF;

	-- Names.
	IF octet_length(made.name || '_maintain_truncate') > max_length THEN
		RAISE EXCEPTION 'the name of trigger "%" is longer than % bytes', made.name || '_maintain_truncate', max_length
			USING ERRCODE = 'name_too_long', HINT = 'Attach with a shorter prefix.';
	END IF;
	SELECT c.relname INTO item FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
	WHERE n.nspname = made.schema AND c.relname IN (made.name || '_fresh', made.name || '_folded', made.name || '_changed', made.name || '_folded_pkey',
		made.name || '_fresh_over_time', made.name || '_folded_over_time')
	LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'relation "%" already exists in schema "%"', item, made.schema
			USING ERRCODE = 'duplicate_table', HINT = 'Rename it, or attach with another prefix.';
	END IF;
	folded := format('%I.%I', made.schema, made.name || '_folded');
	changed := format('%I.%I', made.schema, made.name || '_changed');
	fold := format('%I.%I', made.schema, made.name || '_fold');
	fold_over_time := CASE WHEN divided IS NOT NULL THEN format('%I.%I', made.schema, made.name || '_fold_over_time') END;
	folded_over_time := format('%I.%I', made.schema, made.name || '_folded_over_time');
	on_change := format('%I.%I', made.schema, made.name || '_on_change');
	at_commit := format('%I.%I', made.schema, made.name || '_at_commit');

	-- The fold as it was, under a name of its own.
	item := format('%I.%I', made.schema, made.name || '_fresh');
	EXECUTE format('CREATE VIEW %s %sAS %s', item, security, rtrim(pg_get_viewdef(made.view), '; '));
	fresh := item::regclass;
	EXECUTE format('COMMENT ON VIEW %s IS %L', fresh, concat_ws(E'\n',
		'made by stepadv.maintain',
		jsonb_build_object('how', maintain.how, 'group_by', group_by, 'attached', made.definition, 'over_time', divided IS NOT NULL),
		'the groups of ' || maintain.source || ', folded when asked'));
	IF divided IS NOT NULL THEN
		item := format('%I.%I', made.schema, made.name || '_fresh_over_time');
		EXECUTE format('CREATE VIEW %s %sAS %s', item, security, rtrim(pg_get_viewdef(divided), '; '));
		fresh_over_time := item::regclass;
		EXECUTE format('COMMENT ON VIEW %s IS %L', fresh_over_time, 'what the views over time add up of the groups of ' || maintain.source || ', folded when asked');
		over_time_keys := @extschema@.maintain_keys(fresh_over_time, cardinality(group_by));
	END IF;

	-- After a crash unlogged tables are empty: all of them, or the companion would be wrong.
	SELECT string_agg(DISTINCT c.relpersistence::text, '' ORDER BY c.relpersistence::text) INTO unlogged
	FROM @extschema@.maintain_bases(fresh, fresh_over_time) b, @extschema@.maintain_family(b.base) f(relation) JOIN pg_class c ON c.oid = f.relation
	WHERE c.relkind = 'r';
	IF unlogged = 'pu' THEN
		RAISE EXCEPTION 'cannot maintain groups of %: some of its tables are unlogged, others are not', maintain.source
			USING ERRCODE = 'feature_not_supported';
	END IF;
	unlogged := CASE unlogged WHEN 'u' THEN 'UNLOGGED ' ELSE '' END;
	SELECT bool_and(@extschema@.attach_has_group_index(b.base, group_by)) INTO by_index FROM @extschema@.maintain_bases(fresh, fresh_over_time) b;

	-- Values stay in line as long as a page has room, and as they are: they are
	-- read more often than written, and hashes do not compress.
	EXECUTE format('CREATE %sTABLE %s WITH (toast_tuple_target = 8160) AS SELECT %s, f.rollouts, clock_timestamp() AS %I FROM %s f WITH NO DATA',
		unlogged, folded, @extschema@.maintain_list(keys, 'f.%1$I'), kept_at, fresh);
	EXECUTE format('ALTER TABLE %s ADD CONSTRAINT %I PRIMARY KEY (%s), ALTER rollouts SET STORAGE EXTERNAL',
		folded, made.name || '_folded_pkey', @extschema@.maintain_list(keys, '%1$I'));
	EXECUTE format('COMMENT ON TABLE %s IS %L', folded, 'groups of ' || maintain.source || ', kept by stepadv.maintain; nobody else should write to it');
	EXECUTE format('COMMENT ON COLUMN %s.%I IS %L', folded, kept_at, 'when the group was last folded');
	IF divided IS NOT NULL THEN
		EXECUTE format('CREATE %sTABLE %s AS SELECT f.* FROM %s f WITH NO DATA', unlogged, folded_over_time, fresh_over_time);
		EXECUTE format('CREATE INDEX ON %s (%s)', folded_over_time, @extschema@.maintain_list(over_time_keys, '%1$I'));
		EXECUTE format('COMMENT ON TABLE %s IS %L', folded_over_time, 'what the views over time add up of the groups of ' || maintain.source
			|| ', kept by stepadv.maintain; nobody else should write to it. Nothing but a key: a group that one of the methods cannot be computed of');
	END IF;
	-- A session that began with empty tables must not read all of them for each
	-- group when they have grown.
	settings_of_fold := settings || CASE WHEN by_index THEN ' SET enable_seqscan = off' ELSE '' END;
	IF divided IS NOT NULL THEN
		EXECUTE format('CREATE FUNCTION %s(%s[]) RETURNS void %s AS %L', fold_over_time, fresh, settings_of_fold,
			@extschema@.maintain_fold_over_time_body(fresh, keys, fresh_over_time, folded_over_time, over_time_keys, fold_over_time, folded, by_index));
		EXECUTE format('COMMENT ON FUNCTION %s IS %L', fold_over_time, 'part of stepadv.maintain: the same for ' || folded_over_time);
	END IF;
	EXECUTE format('CREATE FUNCTION %s(%s[]) RETURNS bigint %s AS %L', fold, fresh, settings_of_fold,
		@extschema@.maintain_fold_body(fresh, folded, made.name || '_folded_pkey', keys, kept_at, by_index, fold_over_time, folded_over_time));
	EXECUTE format('COMMENT ON FUNCTION %s IS %L', fold, 'part of stepadv.maintain: folds these groups of ' || maintain.source || ' again, or for NULL all of them; how many');

	IF maintain.how = 'triggers' THEN
		item := @extschema@.maintain_on_change_body(group_by,
			ARRAY[format('%s(ARRAY(SELECT ROW(d.*, NULL)::%s FROM (', fold, fresh), ') d))'], format('%s(NULL::%s[])', fold, fresh), true);
	ELSE
		EXECUTE format('CREATE %sTABLE %s AS SELECT %s FROM %s f WITH NO DATA', unlogged, changed, @extschema@.maintain_list(keys, 'f.%1$I'), fresh);
		EXECUTE format('COMMENT ON TABLE %s IS %L', changed, 'groups of ' || maintain.source || ' that wait to be folded again; NULL: all');
		-- With 'commit' nobody sees the rows of another transaction there: once is enough.
		item := @extschema@.maintain_on_change_body(group_by,
			ARRAY[format('INSERT INTO %s SELECT d.* FROM (', changed), ') d' || CASE maintain.how WHEN 'commit' THEN
				format(' WHERE NOT EXISTS (SELECT FROM %s w JOIN (SELECT %s) g ON %s)', changed,
					@extschema@.maintain_list(keys, 'd.k%2$s AS %1$I'), @extschema@.maintain_match(fresh, keys, 'w', 'g')) ELSE '' END],
			format('INSERT INTO %s DEFAULT VALUES', changed), false);
	END IF;
	EXECUTE format('CREATE FUNCTION %s() RETURNS trigger %s AS %L', on_change, settings, item);
	EXECUTE format('COMMENT ON FUNCTION %s IS %L', on_change, 'part of stepadv.maintain: trigger function of the tables of ' || maintain.source);
	IF maintain.how = 'commit' THEN
		EXECUTE format('CREATE FUNCTION %s() RETURNS trigger %s AS %L', at_commit, settings, format($body$
DECLARE
	number_of_groups bigint;
BEGIN
	PERFORM FROM %s LIMIT 1;
	-- The first of a transaction's rows takes the others along.
	IF FOUND THEN
		%s INTO number_of_groups;
	END IF;
	RETURN NULL;
END
$body$, changed, @extschema@.maintain_fold_waiting(changed, keys, fresh, fold, false)));
		EXECUTE format('COMMENT ON FUNCTION %s IS %L', at_commit, 'part of stepadv.maintain: trigger function of ' || changed);
		EXECUTE format('CREATE CONSTRAINT TRIGGER %I AFTER INSERT ON %s DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION %s()',
			made.name || '_at_commit', changed, at_commit);
	END IF;

	-- All of it is the source's owner's, whoever called, and nobody else's to call:
	-- it folds with the owner's rights.
	EXECUTE format('ALTER VIEW %s OWNER TO %s; ALTER TABLE %s OWNER TO %s', fresh, owner, folded, owner);
	IF maintain.how <> 'triggers' THEN
		EXECUTE format('ALTER TABLE %s OWNER TO %s', changed, owner);
	END IF;
	IF divided IS NOT NULL THEN
		EXECUTE format('ALTER VIEW %s OWNER TO %s; ALTER TABLE %s OWNER TO %s', fresh_over_time, owner, folded_over_time, owner);
	END IF;
	FOREACH item IN ARRAY ARRAY[format('%s(%s[])', fold, fresh), on_change || '()'] || CASE maintain.how WHEN 'commit' THEN ARRAY[at_commit || '()'] END
		|| CASE WHEN divided IS NOT NULL THEN ARRAY[format('%s(%s[])', fold_over_time, fresh)] END
	LOOP
		EXECUTE format('REVOKE ALL ON FUNCTION %1$s FROM PUBLIC; ALTER FUNCTION %1$s OWNER TO %2$s; ALTER FUNCTION %1$s DEPENDS ON EXTENSION stepadv', item, owner);
	END LOOP;
	-- Who may read all that a value is folded from may read the value: now, and not
	-- only when it was folded.  Asked once in a query, not per row; IS NOT NULL tells
	-- the planner that all rows stay.
	FOR item, names IN
		SELECT k.kept, k.fresh FROM (VALUES (folded, fresh), (folded_over_time, fresh_over_time)) k(kept, fresh) WHERE k.fresh IS NOT NULL
	LOOP
		EXECUTE format('ALTER TABLE %1$s ENABLE ROW LEVEL SECURITY; CREATE POLICY readers_of_all_rows ON %1$s FOR SELECT USING ((SELECT stepadv_internal.may_read_all(%2$L::regclass)) IS NOT NULL);'
			' GRANT SELECT ON %1$s TO PUBLIC', item, names);
	END LOOP;

	-- From here on no change is missed: making a trigger waits for writers.
	PERFORM @extschema@.maintain_triggers(fresh);
	EXECUTE format('SELECT %s(NULL::%s[])', fold, fresh);
	EXECUTE format('ANALYZE %s', concat_ws(', ', folded, CASE WHEN divided IS NOT NULL THEN folded_over_time END));
	PERFORM @extschema@.maintain_views(fresh, folded::regclass);
	IF NOT by_index THEN
		RAISE WARNING 'a table below % has no index that begins with the columns of the group', maintain.source
			USING DETAIL = 'To fold one group, all of it is read.', HINT = 'Make the index, then call unmaintain and maintain again.';
	END IF;
	RETURN folded::regclass;
END
$maintain$;
COMMENT ON FUNCTION maintain(regclass, text, text, boolean) IS
'keeps the groups of an attached source in a table, <prefix>_folded (the group''s columns, rollouts, refreshed_at), where the views of attach then read them; how: ''triggers'' (each statement folds the groups that it changed), ''commit'' (each transaction does so at its end), ''refresh'' (the function refresh does, those changed since); over_time: also what the views over time add up, if there are such, in <prefix>_folded_over_time; for owners of the source and its tables; returns the table';

CREATE FUNCTION unmaintain(source regclass, prefix text DEFAULT NULL) RETURNS integer
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET jit = off
AS $$
DECLARE
	m record;
	number integer := 0;
BEGIN
	IF unmaintain.source IS NULL THEN
		RAISE EXCEPTION 'source must be given' USING ERRCODE = 'null_value_not_allowed';
	END IF;
	FOR m IN SELECT * FROM @extschema@.maintained(unmaintain.source, unmaintain.prefix) LOOP
		PERFORM @extschema@.maintain_views(m.fresh, m.source);
		PERFORM @extschema@.maintain_drop(m.fresh);
		number := number + 1;
	END LOOP;
	RETURN number;
END
$$;
COMMENT ON FUNCTION unmaintain(regclass, text) IS
'ends what maintain began for the source (with the prefix, if given): the views of attach fold again, the table of groups and the triggers are dropped; how many sets of views; error when something else depends on the table';

-- Which of the groups that wait is the one that cannot be folded: an error like
-- the one there was, with the group.
CREATE FUNCTION maintain_blame(changed text, keys text[], fresh regclass) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	waiting record;
	hint text;
BEGIN
	FOR waiting IN EXECUTE format('SELECT DISTINCT ROW(%s, NULL)::%s::text AS key, jsonb_build_object(%s) AS shown FROM %s g',
		@extschema@.maintain_list(keys, 'g.%1$I'), fresh, @extschema@.maintain_list(keys, '%1$L, g.%1$I'), changed)
	LOOP
		BEGIN
			EXECUTE format('SELECT count(f.rollouts) FROM %1$s f, (SELECT (%2$L::%1$s).*) g WHERE %3$s', fresh, waiting.key,
				@extschema@.maintain_match(fresh, keys, 'f', 'g'));
		EXCEPTION WHEN OTHERS THEN
			GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
			RAISE EXCEPTION 'group %: %', waiting.shown, SQLERRM USING ERRCODE = SQLSTATE, HINT = hint;
		END;
	END LOOP;
END
$$;
COMMENT ON FUNCTION maintain_blame(text, text[], regclass) IS 'part of refresh: names the group that cannot be folded';

CREATE FUNCTION refresh(source regclass, prefix text DEFAULT NULL, everything boolean DEFAULT false) RETURNS bigint
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET jit = off
AS $$
DECLARE
	m record;
	fold text;
	number bigint;
	total bigint := 0;
BEGIN
	IF refresh.source IS NULL THEN
		RAISE EXCEPTION 'source must be given' USING ERRCODE = 'null_value_not_allowed';
	END IF;
	IF NOT EXISTS (SELECT FROM @extschema@.maintained(refresh.source, refresh.prefix)) THEN
		RAISE EXCEPTION 'groups of % are not maintained', concat(refresh.source, ' with prefix ' || quote_ident(refresh.prefix))
			USING ERRCODE = 'undefined_object', HINT = 'Call maintain first.';
	END IF;
	FOR m IN SELECT * FROM @extschema@.maintained(refresh.source, refresh.prefix) LOOP
		-- It shall run with its owner's rights, not with the caller's.
		IF m.folded IS NULL OR NOT EXISTS (SELECT FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
			WHERE n.nspname = m.schema AND p.proname = m.name || '_fold' AND p.pronargs = 1 AND p.proargtypes[0] = @extschema@.maintain_rows_type(m.fresh)
				AND p.proowner = m.owner AND p.prosecdef)
		THEN
			RAISE EXCEPTION 'what maintain made for % is not as it made it', m.source USING ERRCODE = 'object_not_in_prerequisite_state',
				HINT = 'Call unmaintain and maintain.';
		END IF;
		-- One at a time; readers go on.
		EXECUTE format('LOCK TABLE %s IN SHARE ROW EXCLUSIVE MODE', m.folded);
		IF refresh.everything THEN
			PERFORM @extschema@.maintain_triggers(m.fresh);
		END IF;
		fold := format('%I.%I', m.schema, m.name || '_fold');
		IF m.changed IS NOT NULL THEN
			BEGIN
				EXECUTE @extschema@.maintain_fold_waiting(m.changed::text, m.keys, m.fresh, fold, refresh.everything) INTO number;
			EXCEPTION WHEN data_exception OR cardinality_violation THEN
				PERFORM @extschema@.maintain_blame(m.changed::text, m.keys, m.fresh);
				RAISE;
			END;
		ELSIF refresh.everything THEN
			EXECUTE format('SELECT %s(NULL::%s[])', fold, m.fresh) INTO number;
		ELSE
			number := 0;
		END IF;
		total := total + number;
	END LOOP;
	RETURN total;
END
$$;
COMMENT ON FUNCTION refresh(regclass, text, boolean) IS
'folds the groups of a maintained source that changed since the last refresh; everything: all of them, and triggers for partitions that have come since; how many groups; with how => ''triggers'' or ''commit'' only everything has something to do';

CREATE FUNCTION check_maintained(source regclass, prefix text DEFAULT NULL)
RETURNS TABLE ("group" jsonb, problem text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp SET jit = off
AS $$
DECLARE
	m record;
	over_time_keys text[];
	by_group boolean;
	waits text;			-- whether the group g does
BEGIN
	IF check_maintained.source IS NULL THEN
		RAISE EXCEPTION 'source must be given' USING ERRCODE = 'null_value_not_allowed';
	END IF;
	IF NOT EXISTS (SELECT FROM @extschema@.maintained(check_maintained.source, check_maintained.prefix)) THEN
		RAISE EXCEPTION 'groups of % are not maintained', concat(check_maintained.source, ' with prefix ' || quote_ident(check_maintained.prefix))
			USING ERRCODE = 'undefined_object', HINT = 'Call maintain first.';
	END IF;
	FOR m IN SELECT * FROM @extschema@.maintained(check_maintained.source, check_maintained.prefix) LOOP
		RETURN QUERY
			SELECT NULL::jsonb, format('changes of %s are not seen: %s', f.relation, CASE WHEN count(t.oid) < 4 THEN 'it lacks triggers' ELSE 'triggers are disabled' END)
			FROM @extschema@.maintain_bases(m.fresh, m.fresh_over_time) b CROSS JOIN @extschema@.maintain_family(b.base) f(relation)
			LEFT JOIN pg_proc p ON p.proname = m.name || '_on_change' AND p.pronargs = 0 AND p.pronamespace = (SELECT s.oid FROM pg_namespace s WHERE s.nspname = m.schema) AND p.proowner = m.owner
			LEFT JOIN pg_trigger t ON t.tgrelid = f.relation AND t.tgfoid = p.oid
			GROUP BY b.base, f.relation
			HAVING count(t.oid) < 4 OR bool_or(t.tgenabled = 'D');
		RETURN QUERY
			SELECT NULL::jsonb, format('%s has row-level security now: whom it applies to cannot read the kept groups', b.base)
			FROM @extschema@.maintain_bases(m.fresh, m.fresh_over_time) b JOIN pg_class c ON c.oid = b.base WHERE c.relrowsecurity;
		-- In one snapshot.  What came through a dump has other bytes, perhaps, but its
		-- text is the same.  What waits for a refresh is as it should be.
		RETURN QUERY EXECUTE format(
			'SELECT jsonb_build_object(%1$s),
				CASE WHEN c.rollouts IS NULL THEN ''is missing'' WHEN f.rollouts IS NULL THEN ''has no rows'' ELSE ''differs from a fresh fold'' END
			FROM %2$s f FULL JOIN %3$s c ON %4$s
			WHERE record_image_ne(ROW(f.rollouts), ROW(c.rollouts)) AND f.rollouts::text IS DISTINCT FROM c.rollouts::text%5$s',
			@extschema@.maintain_list(m.keys, '%1$L, coalesce(f.%1$I, c.%1$I)'), m.fresh, m.folded, @extschema@.maintain_match(m.fresh, m.keys, 'f', 'c'),
			CASE WHEN m.changed IS NOT NULL THEN format(' AND NOT EXISTS (SELECT FROM %s w JOIN (SELECT %s) g ON w.%I IS NOT DISTINCT FROM NULL OR %s)', m.changed,
				@extschema@.maintain_list(m.keys, 'coalesce(f.%1$I, c.%1$I) AS %1$I'), m.keys[1], @extschema@.maintain_match(m.fresh, m.keys, 'w', 'g')) END);
		CONTINUE WHEN m.folded_over_time IS NULL;
		over_time_keys := @extschema@.maintain_keys(m.folded_over_time, cardinality(m.keys));
		-- Groups that a method cannot be computed of are computed when they are read:
		-- nothing is kept of them that could be wrong, and to look would be an error.
		-- So it may be of those that wait.
		waits := CASE WHEN m.changed IS NOT NULL THEN format('EXISTS (SELECT FROM %s w WHERE w.%I IS NOT DISTINCT FROM NULL OR %s)', m.changed, m.keys[1],
			@extschema@.maintain_match(m.fresh, m.keys, 'w', 'g')) ELSE 'false' END;
		EXECUTE format('SELECT EXISTS (SELECT FROM %s c WHERE c.n_rollouts IS NULL)%s', m.folded_over_time,
			CASE WHEN m.changed IS NOT NULL THEN format(' OR EXISTS (SELECT FROM %s)', m.changed) END) INTO by_group;
		BEGIN
			RETURN QUERY EXECUTE format(
				'WITH f AS MATERIALIZED (SELECT f.* FROM %1$s), c AS MATERIALIZED (SELECT * FROM %2$s WHERE n_rollouts IS NOT NULL)
				SELECT jsonb_build_object(%3$s), ''differs over time from a fresh fold''
				FROM (SELECT DISTINCT %4$s FROM ((TABLE f EXCEPT ALL TABLE c) UNION ALL (TABLE c EXCEPT ALL TABLE f)) d) g WHERE NOT %5$s',
				CASE WHEN by_group THEN format('(SELECT g.* FROM %s g WHERE NOT EXISTS (SELECT FROM %s c WHERE c.n_rollouts IS NULL AND %s) AND NOT %s OFFSET 0) g CROSS JOIN LATERAL (SELECT f.* FROM %s f WHERE %s OFFSET 0) f',
						m.folded, m.folded_over_time, @extschema@.maintain_match(m.fresh_over_time, over_time_keys, 'c', 'g', m.keys), waits,
						m.fresh_over_time, @extschema@.maintain_match(m.fresh_over_time, over_time_keys, 'f', 'g', m.keys))
					ELSE m.fresh_over_time || ' f' END,
				m.folded_over_time, @extschema@.maintain_list(m.keys, '%1$L, g.%1$I'),
				(SELECT string_agg(format('d.%I AS %I', k.other, k.key), ', ') FROM unnest(m.keys, over_time_keys) k(key, other)), waits);
		EXCEPTION WHEN data_exception THEN
			RETURN QUERY SELECT NULL::jsonb, format('groups cannot be compared over time: %s', SQLERRM);
		END;
	END LOOP;
END
$$;
COMMENT ON FUNCTION check_maintained(regclass, text) IS
'compares the table of groups of a maintained source, and that of what the views over time add up, with a fresh fold: a row per group that differs, lacks or has no rows any more, and (group NULL) per table whose changes are not seen; none if all is right; reads everything';
