-- Lookups in the catalog: attachments, what views read, ownership: src/attach/

-- An attachment is the only row of a table OF this type, which belongs to the user who attached.
CREATE TYPE stepadv.attachment AS (
	prefix text,
	rows regclass,
	stated regclass,
	shown regclass,
	shown_rollouts regclass,
	began regclass,
	n_group_columns integer,
	states text,
	options jsonb,
	methods text[],
	views regclass[],
	view_kinds text[],
	kept text,
	fresh regclass,
	folded regclass,
	changed regclass,
	fresh_digests regclass,
	made_digests regclass,
	digests regclass,
	digest_parts text[],
	unit text,
	rewards text[],
	dimensions text[],
	watermark text,
	overlap interval,
	seen regclass,
	seen_until timestamptz,
	as_of timestamptz,
	folded_from jsonb);
COMMENT ON TYPE stepadv.attachment IS
'the attachment of a table: each table of this type has one row and belongs to the user who attached the source';
COMMENT ON COLUMN stepadv.attachment.prefix IS
'prefix of the names of its views and tables';
COMMENT ON COLUMN stepadv.attachment.rows IS
'adapter view: the rows that are folded';
COMMENT ON COLUMN stepadv.attachment.stated IS
'adapter view: the same rows with states derived from tool calls; NULL: states are not derived';
COMMENT ON COLUMN stepadv.attachment.shown IS 'adapter view: what is shown beside a step';
COMMENT ON COLUMN stepadv.attachment.shown_rollouts IS
'adapter view: what is shown beside a rollout, and its task, run, policy version and step, start and dimensions, from '
'a table of rollouts; NULL: there is none';
COMMENT ON COLUMN stepadv.attachment.began IS
'adapter view: task, run, policy version and step, start and dimensions of each rollout, from the source''s own '
'rows; NULL: they have none of these';
COMMENT ON COLUMN stepadv.attachment.n_group_columns IS
'number of the group''s columns, which are the first columns of every view and kept table';
COMMENT ON COLUMN stepadv.attachment.states IS
'source of the states; NULL: the column';
COMMENT ON COLUMN stepadv.attachment.options IS 'options of attach';
COMMENT ON COLUMN stepadv.attachment.methods IS
'users'' methods that the caller named';
COMMENT ON COLUMN stepadv.attachment.views IS 'all other views, <prefix>_values first';
COMMENT ON COLUMN stepadv.attachment.view_kinds IS
'kind of each of these views: values, a method, compare, …; the end of the name under which it was created';
COMMENT ON COLUMN stepadv.attachment.kept IS
'how folded groups are kept: triggers, refresh; NULL: they are not';
COMMENT ON COLUMN stepadv.attachment.fresh IS
'view: the groups folded when queried, which is what is kept; NULL if nothing is kept';
COMMENT ON COLUMN stepadv.attachment.folded IS
'kept table: the folded groups';
COMMENT ON COLUMN stepadv.attachment.changed IS
'kept table: keys of groups that are pending, that is, to be folded again; NULL if groups are never pending';
COMMENT ON COLUMN stepadv.attachment.fresh_digests IS
'view: the digests of the groups, computed when queried, which is what is kept; NULL if no digests are kept';
COMMENT ON COLUMN stepadv.attachment.made_digests IS
'view: the same, computed from the kept groups; NULL if no digests are kept';
COMMENT ON COLUMN stepadv.attachment.digests IS 'kept table: the digests';
COMMENT ON COLUMN stepadv.attachment.digest_parts IS
'contents of the kept digests: counts, methods, calls, measures, horizons';
COMMENT ON COLUMN stepadv.attachment.unit IS
'what counts as a step for the methods: step, turn, turn_set; NULL: step';
COMMENT ON COLUMN stepadv.attachment.rewards IS
'names of the reward components, in the order of `rows`; NULL: none';
COMMENT ON COLUMN stepadv.attachment.dimensions IS
'names of the columns by which the views over time are further divided; NULL: none';
COMMENT ON COLUMN stepadv.attachment.watermark IS
'refreshed without triggers: the column with the time of a row''s last change; NULL: kept by triggers';
COMMENT ON COLUMN stepadv.attachment.overlap IS
'with a watermark: how long after its time a row may be committed';
COMMENT ON COLUMN stepadv.attachment.seen IS
'kept table, with a watermark: the number of rows seen of each group';
COMMENT ON COLUMN stepadv.attachment.seen_until IS 'with a watermark: rows that changed before this have been seen';
COMMENT ON COLUMN stepadv.attachment.as_of IS
'if groups are refreshed: what was committed by then is kept; NULL: triggers keep them up to date';
COMMENT ON COLUMN stepadv.attachment.folded_from IS
'the partitions, views and functions that the groups were folded from, as hashes';

-- An attachment with its table, owner, source and schema.
CREATE TYPE stepadv_internal.attached AS (
	attachment regclass, owner oid, source regclass, schema text,
	prefix text, rows regclass, stated regclass, shown regclass, shown_rollouts regclass, began regclass,
	n_group_columns integer, states text, options jsonb, methods text[], views regclass[], view_kinds text[],
	kept text, fresh regclass, folded regclass, changed regclass,
	fresh_digests regclass, made_digests regclass, digests regclass, digest_parts text[],
	unit text, rewards text[], dimensions text[],
	watermark text, overlap interval, seen regclass, seen_until timestamptz, as_of timestamptz, folded_from jsonb);
COMMENT ON TYPE stepadv_internal.attached IS
'the public form of an attachment: its table, its owner, its source, and its row';

CREATE FUNCTION stepadv_internal.attachments(of_owner oid DEFAULT NULL, of_source regclass DEFAULT NULL)
RETURNS SETOF stepadv_internal.attached
LANGUAGE c STABLE PARALLEL RESTRICTED ROWS 10
AS 'MODULE_PATHNAME', 'stepadv_attachments';
COMMENT ON FUNCTION stepadv_internal.attachments(oid, regclass) IS
'the row of each table OF stepadv.attachment whose owner also owns its view `rows`: tables of a role, or else of roles '
'whose rights the caller has; of_source: only over this source. Relations that are gone or have another owner are '
'NULL';

-- Users name the table that they write even if a view over it is attached, as rollout_rows of
-- create_tables is over steps.
CREATE FUNCTION stepadv_internal.reads(view regclass, relation regclass) RETURNS boolean
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT EXISTS (
		SELECT FROM pg_rewrite r JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid
		WHERE r.ev_class = reads.view AND d.refclassid = 'pg_class'::regclass AND d.refobjid = reads.relation
			AND r.ev_class <> d.refobjid)
$$;
COMMENT ON FUNCTION stepadv_internal.reads(regclass, regclass) IS 'whether a view''s query names a relation';

CREATE FUNCTION stepadv_internal.owns(relation regclass, by_rights boolean) RETURNS boolean
LANGUAGE c STABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_owns';
COMMENT ON FUNCTION stepadv_internal.owns(regclass, boolean) IS
'whether a relation belongs to the current user; by_rights: or to a role whose rights they have (a superuser has all), '
'for statements to run as that role; false if it does not exist';

CREATE FUNCTION stepadv_internal.own_attachments(source regclass, prefix text) RETURNS SETOF stepadv_internal.attached
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	found stepadv_internal.attached[] := ARRAY(SELECT a
		FROM stepadv_internal.attachments(NULL::oid, own_attachments.source) a
		WHERE own_attachments.source IS NOT NULL);
	one stepadv_internal.attached;
BEGIN
	IF cardinality(found) = 0 THEN
		found := ARRAY(SELECT a FROM pg_class t, stepadv_internal.attachments(t.relowner, NULL::regclass) a
			WHERE t.oid = own_attachments.source AND stepadv_internal.owns(t.oid::regclass, true)
				AND a.owner = t.relowner AND stepadv_internal.reads(a.source, t.oid::regclass));
	END IF;
	IF cardinality(found) > 1 THEN
		found := ARRAY(SELECT f FROM unnest(found) f
			ORDER BY (SELECT c.relnamespace::regnamespace::text FROM pg_class c WHERE c.oid = f.attachment), f.prefix);
	END IF;
	FOREACH one IN ARRAY found LOOP
		IF own_attachments.prefix IS NULL OR (one).prefix = own_attachments.prefix THEN
			RETURN NEXT one;
		END IF;
	END LOOP;
END
$$;
COMMENT ON FUNCTION stepadv_internal.own_attachments(regclass, text) IS
'the attachments over a source, with a prefix if given, that the caller may change, or if there are none, those of its '
'owner over a view of it; statements that may run code of their owners run as these';

CREATE FUNCTION stepadv_internal.equality_operator(type oid) RETURNS text
LANGUAGE c STABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_equality_operator';
COMMENT ON FUNCTION stepadv_internal.equality_operator(oid) IS
'OPERATOR(schema.=): the equality of the type''s default btree or hash operator class; an error if it has none';

CREATE FUNCTION stepadv_internal.view_columns(view regclass)
RETURNS TABLE (number integer, name text, relation regclass, column_number integer, column_name text, plain boolean,
	alone boolean)
LANGUAGE c STABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_view_columns';
COMMENT ON FUNCTION stepadv_internal.view_columns(regclass) IS
'for each column of a view, the columns of the relations in its query from which it is computed (column 0: the whole '
'row), or one row of NULLs if there are none; plain: it is that column unchanged; alone: so it is in all branches of '
'a UNION. No rows for other relations';

CREATE FUNCTION stepadv_internal.tables_read(views regclass[], n_keys integer, families boolean)
RETURNS TABLE (relation regclass, base regclass, keys smallint[], reads smallint[])
LANGUAGE c STABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_tables_read';
COMMENT ON FUNCTION stepadv_internal.tables_read(regclass[], integer, boolean) IS
'the tables below views (base), except those that functions read; families: with partitions, children and parents. '
'keys[i]: the column of the relation that is or equals column i of the views; 0: none, or unknown. reads: the columns '
'used in the views; NULL: the whole row';

CREATE FUNCTION stepadv_internal.nearest_name(name text, names text[]) RETURNS text
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_nearest_name';
COMMENT ON FUNCTION stepadv_internal.nearest_name(text, text[]) IS
'the most similar of several names to a name that is none of them: it differs in one letter, or in at most three '
'letters and a third of them; the first of equally similar ones; NULL: none';

-- Functions that write call this before they look up or lock a table.
CREATE FUNCTION stepadv_internal.must_write(what text) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF pg_is_in_recovery() THEN
		RAISE EXCEPTION 'cannot execute % during recovery', must_write.what USING ERRCODE = 'read_only_sql_transaction',
			HINT = 'This server is a standby. Call the function on the primary; its changes are replicated.';
	ELSIF current_setting('transaction_read_only')::boolean THEN
		RAISE EXCEPTION 'cannot execute % in a read-only transaction',
			must_write.what USING ERRCODE = 'read_only_sql_transaction';
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.must_write(text) IS
'error on a standby and in a transaction that is READ ONLY; what: the function called';

-- Statements for a caller who named a relation; they may run code of its owner.
CREATE FUNCTION stepadv_internal.run_as_owner(relation regclass, statement text) RETURNS SETOF record
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN QUERY EXECUTE run_as_owner.statement;
END
$$;
COMMENT ON FUNCTION stepadv_internal.run_as_owner(regclass, text) IS
'part of run: as the caller';

CREATE FUNCTION stepadv_internal.run(relation regclass, statement text) RETURNS SETOF record
LANGUAGE c AS 'MODULE_PATHNAME', 'stepadv_as_owner';
COMMENT ON FUNCTION stepadv_internal.run(regclass, text) IS
'the rows of a statement, run as the owner of the relation where the caller has their rights, as the caller otherwise';

-- Differences between versions of PostgreSQL, in one place, as in src/compat.h for C: the
-- first version with the feature.
CREATE FUNCTION stepadv_internal.server_has(feature text) RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT current_setting('server_version_num'::text)::integer >= CASE server_has.feature
		-- Views that check the privileges of their readers.
		WHEN 'security_invoker' THEN 150000
		-- Foreign keys that treat a move to another partition as an UPDATE.
		WHEN 'moves between partitions' THEN 150000
	END
$$;
COMMENT ON FUNCTION stepadv_internal.server_has(text) IS
'whether this version of PostgreSQL has a feature: ''security_invoker'' of views, ''moves between partitions'' that '
'foreign keys follow (both from 15 on); NULL for any other';
