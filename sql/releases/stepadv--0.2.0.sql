-- stepadv: made from sql/[0-9]*.sql by make; do not edit the joined file.
-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION stepadv" to load this file. \quit

-- Whoever administers a table calls functions of this schema with his rights:
-- nobody else may have put something there, nor may he later.  So the schema is a
-- superuser's, also where the extension is not.
DO $$
DECLARE
	path CONSTANT text := pg_catalog.current_setting('search_path');
	room record;
BEGIN
	PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
	SELECT n.oid, n.nspowner, n.nspacl, e.oid AS extension, e.extowner INTO STRICT room
	FROM pg_namespace n, pg_extension e WHERE n.oid = '@extschema@'::regnamespace AND e.extname = 'stepadv';
	IF room.nspowner <> room.extowner AND NOT (SELECT r.rolsuper FROM pg_roles r WHERE r.oid = room.nspowner) THEN
		RAISE EXCEPTION 'schema "%" belongs to %', '@extschema@', room.nspowner::regrole
			USING ERRCODE = 'insufficient_privilege', HINT = 'CREATE EXTENSION makes a schema that is not there.';
	ELSIF EXISTS (SELECT FROM pg_depend d WHERE d.refclassid = 'pg_namespace'::regclass AND d.refobjid = room.oid
		AND NOT (d.classid = 'pg_extension'::regclass AND d.objid = room.extension))
	THEN
		RAISE EXCEPTION 'schema "%" is not empty', '@extschema@'
			USING ERRCODE = 'duplicate_object', HINT = 'CREATE EXTENSION makes a schema that is not there.';
	ELSIF EXISTS (SELECT FROM aclexplode(room.nspacl) a LEFT JOIN pg_roles r ON r.oid = a.grantee
		WHERE a.privilege_type = 'CREATE' AND a.grantee NOT IN (room.nspowner, room.extowner) AND r.rolsuper IS NOT TRUE)
	THEN
		RAISE EXCEPTION 'others may create objects in schema "%"', '@extschema@'
			USING ERRCODE = 'insufficient_privilege', HINT = 'Revoke that, or drop the schema: CREATE EXTENSION makes it.';
	END IF;
	IF NOT (SELECT r.rolsuper FROM pg_roles r WHERE r.oid = room.nspowner) THEN
		ALTER SCHEMA @extschema@ OWNER TO CURRENT_USER;
	END IF;
	PERFORM set_config('search_path', path, true);
END
$$;

-- Everything here computes on what it is given: let every role use it.
GRANT USAGE ON SCHEMA @extschema@ TO PUBLIC;

-- No name is looked up in the schema that does not say so, here and in all parts
-- that follow: what somebody has put there is not taken for one of ours.
SET LOCAL search_path = pg_catalog, pg_temp;

-- What the views, the aggregates and the functions are made of, out of sight.
-- A schema of this name that is there already is somebody else's: an error.
CREATE SCHEMA stepadv_internal;
GRANT USAGE ON SCHEMA stepadv_internal TO PUBLIC;
COMMENT ON SCHEMA stepadv_internal IS 'inner parts of the extension stepadv: nothing here is meant to be called by hand';

-- Set-returning functions that can leave their rows as columns: src/plan/step_scan.c
CREATE FUNCTION stepadv_internal.row_support(internal) RETURNS internal
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_row_support';
COMMENT ON FUNCTION stepadv_internal.row_support(internal) IS
'part of every function of a rollout_group that returns rows: makes the planner consider scans that read its columns in place';
-- What there is, by the catalog: attachments, what views read, who owns what: src/catalog/

-- An attachment is the one row of a table OF this type, which belongs to whoever made it.
CREATE TYPE stepadv.attachment AS (
	prefix text,
	rows regclass,
	stated regclass,
	shown regclass,
	shown_rollouts regclass,
	runs regclass,
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
	fresh_over_time regclass,
	folded_over_time regclass);
COMMENT ON TYPE stepadv.attachment IS
'what attach made over a table: tables of this type, each with one row, belong to their makers';
COMMENT ON COLUMN stepadv.attachment.prefix IS 'with which the names of its views and tables begin';
COMMENT ON COLUMN stepadv.attachment.rows IS 'adapter view: what is folded';
COMMENT ON COLUMN stepadv.attachment.stated IS 'adapter view: the same with states made of tool calls; NULL: they are not';
COMMENT ON COLUMN stepadv.attachment.shown IS 'adapter view: what is shown beside a step';
COMMENT ON COLUMN stepadv.attachment.shown_rollouts IS 'adapter view: what is shown beside a rollout; NULL: nothing';
COMMENT ON COLUMN stepadv.attachment.runs IS 'adapter view: policy version and start of each rollout, from a table of rollouts; NULL: it says nothing';
COMMENT ON COLUMN stepadv.attachment.began IS 'adapter view: the same from the source''s own rows; NULL: they say nothing';
COMMENT ON COLUMN stepadv.attachment.n_group_columns IS 'the first columns of every view and kept table are the group''s: so many';
COMMENT ON COLUMN stepadv.attachment.states IS 'where states come from; NULL: the column';
COMMENT ON COLUMN stepadv.attachment.options IS 'options of attach';
COMMENT ON COLUMN stepadv.attachment.methods IS 'users'' methods that the caller named';
COMMENT ON COLUMN stepadv.attachment.views IS 'all other views, <prefix>_values first';
COMMENT ON COLUMN stepadv.attachment.view_kinds IS 'what each of them is: values, a method, compare, …; the end of its name when it was made';
COMMENT ON COLUMN stepadv.attachment.kept IS 'how folded groups are kept: triggers, commit, refresh; NULL: they are not';
COMMENT ON COLUMN stepadv.attachment.fresh IS 'view: the groups folded when asked, which is what is kept; NULL where nothing is';
COMMENT ON COLUMN stepadv.attachment.folded IS 'kept table: the groups, folded';
COMMENT ON COLUMN stepadv.attachment.changed IS 'kept table: keys of groups that wait to be folded again; NULL where none ever wait';
COMMENT ON COLUMN stepadv.attachment.fresh_over_time IS 'view: what the views over time add up, computed when asked';
COMMENT ON COLUMN stepadv.attachment.folded_over_time IS 'kept table: the same, kept';

-- The same as it is known to others: which table it is, whose, and over what.
CREATE TYPE stepadv_internal.attached AS (
	attachment regclass, owner oid, source regclass,
	prefix text, rows regclass, stated regclass, shown regclass, shown_rollouts regclass, runs regclass, began regclass,
	n_group_columns integer, states text, options jsonb, methods text[], views regclass[], view_kinds text[],
	kept text, fresh regclass, folded regclass, changed regclass, fresh_over_time regclass, folded_over_time regclass);
COMMENT ON TYPE stepadv_internal.attached IS 'an attachment as it is known to others: its table, whose it is, over what, and its row';

CREATE FUNCTION stepadv_internal.attachments(of_owner oid DEFAULT NULL) RETURNS SETOF stepadv_internal.attached
LANGUAGE c STABLE PARALLEL RESTRICTED ROWS 10
AS 'MODULE_PATHNAME', 'stepadv_attachments';
COMMENT ON FUNCTION stepadv_internal.attachments(oid) IS
'attachments of all users, or of one role: the row of each table OF stepadv.attachment that has exactly one, if `rows` is a view of the table''s owner; other relations in it that are gone or another''s are NULL. source: the one relation that `rows` reads, whoever owns it; NULL if it is not one. Unless one role''s are asked for, tables of roles that the caller is no member of are left out while they are locked';

CREATE FUNCTION stepadv_internal.equality_operator(type oid) RETURNS text
LANGUAGE c STABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_equality_operator';
COMMENT ON FUNCTION stepadv_internal.equality_operator(oid) IS
'OPERATOR(schema.=): the equality of the type''s default btree or hash operator class; an error if it has none';

CREATE FUNCTION stepadv_internal.view_columns(view regclass)
RETURNS TABLE (number integer, name text, relation regclass, column_number integer, column_name text, plain boolean)
LANGUAGE c STABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_view_columns';
COMMENT ON FUNCTION stepadv_internal.view_columns(regclass) IS
'for each column of a view, the columns of the relations named in its query that it is computed from (column 0: the whole row), with one row of NULLs where there are none; plain: it is that column and nothing else. Nothing for what is no view';

CREATE FUNCTION stepadv_internal.tables_read(views regclass[], n_keys integer)
RETURNS TABLE (relation regclass, keys smallint[], reads smallint[])
LANGUAGE c STABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_tables_read';
COMMENT ON FUNCTION stepadv_internal.tables_read(regclass[], integer) IS
'the tables below views, at whatever depth. keys[i]: the column of the table that decides to which values of a view''s column i a row matters, because it is that column or a condition equates them; 0: none, or it cannot be told. reads: the columns that the views mention; NULL: the whole row. What functions read is not known; partitions and children are not named';
-- Identity: src/hash.c

CREATE FUNCTION stepadv.signature_hash(value text) RETURNS bigint
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1
AS 'MODULE_PATHNAME', 'stepadv_signature_hash_text';

CREATE FUNCTION stepadv.signature_hash(value bytea) RETURNS bigint
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1
AS 'MODULE_PATHNAME', 'stepadv_signature_hash_bytea';

CREATE FUNCTION stepadv.signature_hash(value jsonb) RETURNS bigint
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 10
AS 'MODULE_PATHNAME', 'stepadv_signature_hash_jsonb';

CREATE FUNCTION stepadv.signature_hash(value uuid) RETURNS bigint
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1
AS 'MODULE_PATHNAME', 'stepadv_signature_hash_uuid';

COMMENT ON FUNCTION stepadv.signature_hash(text) IS
'64-bit identity (XXH3-64, seed 0) of a text''s bytes in UTF-8; NULL for NULL; the same on every machine and in every version, so it can be stored';
COMMENT ON FUNCTION stepadv.signature_hash(bytea) IS
'64-bit identity (XXH3-64, seed 0) of the bytes; equals signature_hash of a text with the same bytes in UTF-8; NULL for NULL';
COMMENT ON FUNCTION stepadv.signature_hash(jsonb) IS
'64-bit identity of a jsonb by content: key order, duplicate keys, white space and the scale of numbers (1.0 and 1) make no difference; NULL for NULL';
COMMENT ON FUNCTION stepadv.signature_hash(uuid) IS
'64-bit identity (XXH3-64, seed 0) of the 16 bytes of a uuid; NULL for NULL';


-- What an agent did: src/signatures/{action_signature,call,patch,arguments,vocabulary,render}.c, src/signatures/shell/

CREATE FUNCTION stepadv.action_signature(
	tool text,
	args jsonb,
	ok boolean DEFAULT NULL,
	content_hash text DEFAULT 'md5',
	path text DEFAULT 'relative',
	root text DEFAULT '/testbed',
	vocabulary jsonb DEFAULT NULL)
RETURNS text
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 100
AS 'MODULE_PATHNAME', 'stepadv_action_signature';

COMMENT ON FUNCTION stepadv.action_signature(text, jsonb, boolean, text, text, text, jsonb) IS
'signature category[:scope][@target][:result] of a tool call (RTMC, section 4.1); args: an object, a JSON or XML text, or the bare command; ok NULL = result unknown; content_hash of edits: md5, xxh3 or none; path: relative (to root, a directory; NULL = no root) or basename; vocabulary: tools of one''s own, see user_vocabulary(). No tool and no args = think; never NULL, never an error because of a call';

CREATE FUNCTION stepadv.action_category(tool text, args jsonb, vocabulary jsonb DEFAULT NULL)
RETURNS text
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 80
AS 'MODULE_PATHNAME', 'stepadv_action_category';

COMMENT ON FUNCTION stepadv.action_category(text, jsonb, jsonb) IS
'category of a tool call (RTMC, table 1): view, search, modify, create, execute, test, install, fileop, think, finish; other for a tool that nobody knows; never NULL';

CREATE FUNCTION stepadv.builtin_vocabulary(OUT scaffold text, OUT tool text, OUT subcommand text, OUT meaning text)
RETURNS SETOF record
LANGUAGE c IMMUTABLE PARALLEL SAFE ROWS 100
AS 'MODULE_PATHNAME', 'stepadv_builtin_vocabulary';

COMMENT ON FUNCTION stepadv.builtin_vocabulary() IS
'the tools that action_signature knows of itself, a row each; subcommand is '''' where the tool alone tells the meaning';

-- Rows of the extension show what is built in; rows of users are configuration,
-- so pg_dump carries them.
CREATE TABLE stepadv.tool_vocabulary (
	builtin boolean NOT NULL DEFAULT false,
	scaffold text NOT NULL DEFAULT '',
	tool text NOT NULL CHECK (tool <> ''),
	subcommand text NOT NULL DEFAULT '',
	meaning text NOT NULL CHECK (meaning IN ('shell', 'line', 'view', 'open', 'scroll', 'search', 'replace', 'insert', 'create',
		'patch', 'code', 'execute', 'test', 'install', 'fileop', 'think', 'finish', 'other')),
	arguments jsonb NOT NULL DEFAULT '{}' CHECK (pg_catalog.jsonb_typeof(arguments) = 'object'),
	PRIMARY KEY (builtin, scaffold, tool, subcommand)
);

INSERT INTO stepadv.tool_vocabulary (builtin, scaffold, tool, subcommand, meaning)
SELECT true, b.scaffold, b.tool, b.subcommand, b.meaning FROM stepadv.builtin_vocabulary() b;

SELECT pg_catalog.pg_extension_config_dump('stepadv.tool_vocabulary', 'WHERE NOT builtin');

GRANT SELECT ON stepadv.tool_vocabulary TO PUBLIC;
-- The extension is trusted: whoever creates it owns no object of it.
GRANT SELECT, INSERT, UPDATE, DELETE ON stepadv.tool_vocabulary TO @extowner@;

COMMENT ON TABLE stepadv.tool_vocabulary IS
'what tools mean: rows with builtin = true show the compiled-in vocabulary (changing them has no effect), the others are yours and are used through user_vocabulary()';
COMMENT ON COLUMN stepadv.tool_vocabulary.builtin IS 'compiled in; a row of yours goes before a built-in one with the same tool';
COMMENT ON COLUMN stepadv.tool_vocabulary.scaffold IS 'agent scaffold that the tool belongs to, to choose by in user_vocabulary(scaffold)';
COMMENT ON COLUMN stepadv.tool_vocabulary.tool IS 'the tool''s name; case makes no difference';
COMMENT ON COLUMN stepadv.tool_vocabulary.subcommand IS 'value of the argument that chooses what the tool does (command, action, operation or mode; see arguments); empty = any';
COMMENT ON COLUMN stepadv.tool_vocabulary.meaning IS
'shell (runs a command), line (a command that starts with the tool''s name), view, open (100 lines around one), scroll, search, replace, insert, create, patch, code, execute, test, install, fileop, think, finish, other';
COMMENT ON COLUMN stepadv.tool_vocabulary.arguments IS
'names of the tool''s arguments by role, where they are not the usual ones: command, path, old, new, range, first, last, count, subcommand';

CREATE FUNCTION stepadv.user_vocabulary(scaffold text DEFAULT NULL)
RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE COST 1000
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT coalesce(jsonb_agg(jsonb_build_object('scaffold', v.scaffold, 'tool', v.tool, 'subcommand', v.subcommand,
												 'meaning', v.meaning, 'arguments', v.arguments)
							  ORDER BY v.scaffold, v.tool, v.subcommand), '[]')
	FROM stepadv.tool_vocabulary v
	WHERE NOT v.builtin AND (user_vocabulary.scaffold IS NULL OR v.scaffold = user_vocabulary.scaffold)
$$;

COMMENT ON FUNCTION stepadv.user_vocabulary(text) IS
'the users'' rows of tool_vocabulary (of one scaffold, or all) as the value that action_signature takes as vocabulary; [] if there are none. Pass it as (SELECT user_vocabulary()), so that it is read once per query';

-- What was done so far: src/signatures/{state,signature,bonus}.c

CREATE FUNCTION stepadv_internal.state_accum(internal, text) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 10
AS 'MODULE_PATHNAME', 'stepadv_state_accum';

CREATE FUNCTION stepadv_internal.state_accum(internal, text, text) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 10
AS 'MODULE_PATHNAME', 'stepadv_state_accum';

CREATE FUNCTION stepadv_internal.state_accum(internal, text, text, text) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 10
AS 'MODULE_PATHNAME', 'stepadv_state_accum';

CREATE FUNCTION stepadv_internal.state_combine(internal, internal) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_state_combine';

CREATE FUNCTION stepadv_internal.state_serialize(internal) RETURNS bytea
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_state_serialize';

CREATE FUNCTION stepadv_internal.state_deserialize(bytea, internal) RETURNS internal
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_state_deserialize';

CREATE FUNCTION stepadv_internal.state_signature_final(internal) RETURNS text
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 100
AS 'MODULE_PATHNAME', 'stepadv_state_signature';

CREATE FUNCTION stepadv_internal.state_hash_final(internal) RETURNS bigint
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_state_hash';

COMMENT ON FUNCTION stepadv_internal.state_accum(internal, text) IS 'transition function of state_signature and state_hash';
COMMENT ON FUNCTION stepadv_internal.state_accum(internal, text, text) IS 'transition function of state_signature and state_hash';
COMMENT ON FUNCTION stepadv_internal.state_accum(internal, text, text, text) IS 'transition function of state_signature and state_hash';
COMMENT ON FUNCTION stepadv_internal.state_combine(internal, internal) IS 'combine function of state_signature and state_hash';
COMMENT ON FUNCTION stepadv_internal.state_serialize(internal) IS 'serialization function of state_signature and state_hash';
COMMENT ON FUNCTION stepadv_internal.state_deserialize(bytea, internal) IS 'deserialization function of state_signature and state_hash';
COMMENT ON FUNCTION stepadv_internal.state_signature_final(internal) IS 'final function of state_signature';
COMMENT ON FUNCTION stepadv_internal.state_hash_final(internal) IS 'final function of state_hash';

CREATE AGGREGATE stepadv.state_signature(action_signature text) (
	SFUNC = stepadv_internal.state_accum, STYPE = internal, FINALFUNC = stepadv_internal.state_signature_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = stepadv_internal.state_combine, SERIALFUNC = stepadv_internal.state_serialize, DESERIALFUNC = stepadv_internal.state_deserialize, PARALLEL = SAFE);
CREATE AGGREGATE stepadv.state_signature(action_signature text, flags text) (
	SFUNC = stepadv_internal.state_accum, STYPE = internal, FINALFUNC = stepadv_internal.state_signature_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = stepadv_internal.state_combine, SERIALFUNC = stepadv_internal.state_serialize, DESERIALFUNC = stepadv_internal.state_deserialize, PARALLEL = SAFE);
CREATE AGGREGATE stepadv.state_signature(action_signature text, flags text, views text) (
	SFUNC = stepadv_internal.state_accum, STYPE = internal, FINALFUNC = stepadv_internal.state_signature_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = stepadv_internal.state_combine, SERIALFUNC = stepadv_internal.state_serialize, DESERIALFUNC = stepadv_internal.state_deserialize, PARALLEL = SAFE);

CREATE AGGREGATE stepadv.state_hash(action_signature text) (
	SFUNC = stepadv_internal.state_accum, STYPE = internal, FINALFUNC = stepadv_internal.state_hash_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = stepadv_internal.state_combine, SERIALFUNC = stepadv_internal.state_serialize, DESERIALFUNC = stepadv_internal.state_deserialize, PARALLEL = SAFE);
CREATE AGGREGATE stepadv.state_hash(action_signature text, flags text) (
	SFUNC = stepadv_internal.state_accum, STYPE = internal, FINALFUNC = stepadv_internal.state_hash_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = stepadv_internal.state_combine, SERIALFUNC = stepadv_internal.state_serialize, DESERIALFUNC = stepadv_internal.state_deserialize, PARALLEL = SAFE);
CREATE AGGREGATE stepadv.state_hash(action_signature text, flags text, views text) (
	SFUNC = stepadv_internal.state_accum, STYPE = internal, FINALFUNC = stepadv_internal.state_hash_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = stepadv_internal.state_combine, SERIALFUNC = stepadv_internal.state_serialize, DESERIALFUNC = stepadv_internal.state_deserialize, PARALLEL = SAFE);

COMMENT ON AGGREGATE stepadv.state_signature(text) IS
'readable record of everything done by the given actions (RTMC, section 4.2): path:op+op|path:op||flag=count+flag=count, in any order of the rows; NULL actions do nothing, failed edits change nothing, no rows give ''||''. Over the rows BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING: the state in which each step was taken';
COMMENT ON AGGREGATE stepadv.state_signature(text, text) IS 'state_signature with flags => ''count'' (default) or ''set'' (names without counts)';
COMMENT ON AGGREGATE stepadv.state_signature(text, text, text) IS
'state_signature with flags, and views => ''range'' (default: each viewed range is an operation of its own) or ''bucket'' (each 100 lines are)';
COMMENT ON AGGREGATE stepadv.state_hash(text) IS
'64-bit identity of state_signature of the same rows, in constant time per row; never NULL; no rows give signature_hash(''||'')';
COMMENT ON AGGREGATE stepadv.state_hash(text, text) IS 'state_hash with flags => ''count'' (default) or ''set''';
COMMENT ON AGGREGATE stepadv.state_hash(text, text, text) IS 'state_hash with flags, and views => ''range'' (default) or ''bucket''';

CREATE FUNCTION stepadv.validation_bonus(action_signature text, bonus float8, executions boolean DEFAULT false)
RETURNS float8
LANGUAGE c WINDOW IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_validation_bonus';

COMMENT ON FUNCTION stepadv.validation_bonus(text, float8, boolean) IS
'window function over a rollout''s steps in order (RTMC, equation 12): bonus for a test action (executions: for an execute action, too) if a modify or create that did not fail came earlier in the rollout, else 0; NULL for a NULL bonus; the frame makes no difference';

-- States from observations: src/signatures/{normalize_observation,observation,cluster,sequence_matcher}.c

CREATE FUNCTION stepadv.normalize_observation(
	observation text,
	whitespace boolean DEFAULT true,
	ansi boolean DEFAULT true,
	lowercase boolean DEFAULT false,
	digits boolean DEFAULT false,
	addresses boolean DEFAULT true,
	timestamps boolean DEFAULT true,
	root text DEFAULT NULL)
RETURNS text
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 100
AS 'MODULE_PATHNAME', 'stepadv_normalize_observation';

COMMENT ON FUNCTION stepadv.normalize_observation(text, boolean, boolean, boolean, boolean, boolean, boolean, text) IS
'an observation without what differs from run to run: whitespace (runs become one blank), ansi (terminal escapes go), lowercase (ASCII), digits (runs become 0), addresses (0x and at least 6 digits become <address>), timestamps (<time>, and 1.2s becomes <duration>), root (a directory that goes from the front of paths); NULL for NULL';

CREATE FUNCTION stepadv.text_similarity(a text, b text) RETURNS float8
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1000
AS 'MODULE_PATHNAME', 'stepadv_text_similarity';

COMMENT ON FUNCTION stepadv.text_similarity(text, text) IS
'likeness of two texts by characters, 0 to 1: 2 * matching / (length(a) + length(b)), as SequenceMatcher(None, a, b).ratio() of Python''s difflib (not symmetric); 1 for two empty texts; NULL for NULL';

CREATE FUNCTION stepadv.state_cluster(embedding real[], threshold float8 DEFAULT 0.95)
RETURNS bigint
LANGUAGE c WINDOW IMMUTABLE PARALLEL SAFE COST 1000
AS 'MODULE_PATHNAME', 'stepadv_state_cluster_embedding';

CREATE FUNCTION stepadv.state_cluster(observation text, threshold float8 DEFAULT 0.95)
RETURNS bigint
LANGUAGE c WINDOW IMMUTABLE PARALLEL SAFE COST 10000
AS 'MODULE_PATHNAME', 'stepadv_state_cluster_text';

COMMENT ON FUNCTION stepadv.state_cluster(real[], float8) IS
'window function: number (from 1) of the embedding''s cluster in the partition; in the window''s order each row joins the first cluster whose first member has a cosine of at least threshold (-1 to 1), or begins one; the vector 0 is similar to itself only; NULL for NULL';
COMMENT ON FUNCTION stepadv.state_cluster(text, float8) IS
'window function: number (from 1) of the text''s cluster in the partition; in the window''s order each row joins the first cluster for whose first member text_similarity(text, member) is at least threshold (0 to 1), or begins one (GiGPO''s similarity grouping); NULL for NULL';
-- The group: src/group/, src/plan/group_fold.c

CREATE TYPE stepadv.rollout_group;

CREATE FUNCTION stepadv_internal.rollout_group_in(cstring) RETURNS stepadv.rollout_group
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_rollout_group_in';

CREATE FUNCTION stepadv_internal.rollout_group_out(stepadv.rollout_group) RETURNS cstring
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_rollout_group_out';

CREATE FUNCTION stepadv_internal.rollout_group_recv(internal) RETURNS stepadv.rollout_group
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_rollout_group_recv';

CREATE FUNCTION stepadv_internal.rollout_group_send(stepadv.rollout_group) RETURNS bytea
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_rollout_group_send';

CREATE TYPE stepadv.rollout_group (
	INPUT = stepadv_internal.rollout_group_in,
	OUTPUT = stepadv_internal.rollout_group_out,
	RECEIVE = stepadv_internal.rollout_group_recv,
	SEND = stepadv_internal.rollout_group_send,
	INTERNALLENGTH = VARIABLE,
	ALIGNMENT = double,
	STORAGE = extended
);

COMMENT ON TYPE stepadv.rollout_group IS
'all rollouts of one task as packed columns, sorted by rollout_id and step_no; made by rollout_agg, merged by rollup, read by the estimators; text form JSON, at most 1 GB';
COMMENT ON FUNCTION stepadv_internal.rollout_group_in(cstring) IS 'I/O: a JSON object with "version" and one array per column; error 22P02 on anything else';
COMMENT ON FUNCTION stepadv_internal.rollout_group_out(stepadv.rollout_group) IS 'I/O: lossless JSON text';
COMMENT ON FUNCTION stepadv_internal.rollout_group_recv(internal) IS 'I/O: versioned little-endian columns; error 22P03 on anything else';
COMMENT ON FUNCTION stepadv_internal.rollout_group_send(stepadv.rollout_group) IS 'I/O: versioned little-endian columns';

-- rollout_agg: three forms, one transition function

CREATE FUNCTION stepadv_internal.fold_support(internal) RETURNS internal
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_fold_support';
COMMENT ON FUNCTION stepadv_internal.fold_support(internal) IS
'part of the transition functions of rollout_agg: makes the planner load the library before it looks for plans, in the first query of a connection, too';

CREATE FUNCTION stepadv_internal.rollout_agg_trans(internal, bigint, bigint, integer, bigint, bigint, float8) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 4 SUPPORT stepadv_internal.fold_support
AS 'MODULE_PATHNAME', 'stepadv_rollout_agg_trans';

CREATE FUNCTION stepadv_internal.rollout_agg_trans(internal, bigint, bigint, integer, bigint, bigint, float8, boolean) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 4 SUPPORT stepadv_internal.fold_support
AS 'MODULE_PATHNAME', 'stepadv_rollout_agg_trans';

CREATE FUNCTION stepadv_internal.rollout_agg_trans(internal, bigint, bigint, integer, bigint, bigint, float8, boolean, bigint, float8, float8, float8) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 5 SUPPORT stepadv_internal.fold_support
AS 'MODULE_PATHNAME', 'stepadv_rollout_agg_trans';

CREATE FUNCTION stepadv_internal.rollout_agg_combine(internal, internal) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 200
AS 'MODULE_PATHNAME', 'stepadv_rollout_agg_combine';

CREATE FUNCTION stepadv_internal.rollout_agg_serial(internal) RETURNS bytea
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 200
AS 'MODULE_PATHNAME', 'stepadv_rollout_agg_serial';

CREATE FUNCTION stepadv_internal.rollout_agg_deserial(bytea, internal) RETURNS internal
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 200
AS 'MODULE_PATHNAME', 'stepadv_rollout_agg_deserial';

CREATE FUNCTION stepadv_internal.rollout_agg_final(internal) RETURNS stepadv.rollout_group
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 200
AS 'MODULE_PATHNAME', 'stepadv_rollout_agg_final';

CREATE AGGREGATE stepadv.rollout_agg(
	step_id bigint, rollout_id bigint, step_no integer, state bigint, action bigint, reward float8
) (
	SFUNC = stepadv_internal.rollout_agg_trans, STYPE = internal, SSPACE = 4096,
	FINALFUNC = stepadv_internal.rollout_agg_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = stepadv_internal.rollout_agg_combine, SERIALFUNC = stepadv_internal.rollout_agg_serial, DESERIALFUNC = stepadv_internal.rollout_agg_deserial,
	PARALLEL = SAFE
);

CREATE AGGREGATE stepadv.rollout_agg(
	step_id bigint, rollout_id bigint, step_no integer, state bigint, action bigint, reward float8,
	success boolean
) (
	SFUNC = stepadv_internal.rollout_agg_trans, STYPE = internal, SSPACE = 4096,
	FINALFUNC = stepadv_internal.rollout_agg_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = stepadv_internal.rollout_agg_combine, SERIALFUNC = stepadv_internal.rollout_agg_serial, DESERIALFUNC = stepadv_internal.rollout_agg_deserial,
	PARALLEL = SAFE
);

CREATE AGGREGATE stepadv.rollout_agg(
	step_id bigint, rollout_id bigint, step_no integer, state bigint, action bigint, reward float8,
	success boolean, next_state bigint, value float8, turn_reward float8, cost float8
) (
	SFUNC = stepadv_internal.rollout_agg_trans, STYPE = internal, SSPACE = 6144,
	FINALFUNC = stepadv_internal.rollout_agg_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = stepadv_internal.rollout_agg_combine, SERIALFUNC = stepadv_internal.rollout_agg_serial, DESERIALFUNC = stepadv_internal.rollout_agg_deserial,
	PARALLEL = SAFE
);

COMMENT ON AGGREGATE stepadv.rollout_agg(bigint, bigint, integer, bigint, bigint, float8) IS
'folds the steps of one group into a rollout_group, whatever their order; a row whose step_no is NULL stands for the rollout itself; NULL reward: none received; NULL state or action: one that no other step shares; NULL over no rows; error on NULL rollout_id or step_id, NaN or infinite reward, two rows of one rollout and step_no';
COMMENT ON AGGREGATE stepadv.rollout_agg(bigint, bigint, integer, bigint, bigint, float8, boolean) IS
'rollout_agg with success: a rollout reached its goal if any of its rows says so';
COMMENT ON AGGREGATE stepadv.rollout_agg(bigint, bigint, integer, bigint, bigint, float8, boolean, bigint, float8, float8, float8) IS
'rollout_agg in full: also next_state (where the last step of a rollout led), value (the critic''s V(s)), turn_reward, cost (of the edge, for graphs)';

-- rollup: the union of groups; transition and combine function are one

CREATE FUNCTION stepadv_internal.rollup_merge(stepadv.rollout_group, stepadv.rollout_group) RETURNS stepadv.rollout_group
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 200
AS 'MODULE_PATHNAME', 'stepadv_rollup_merge';

CREATE AGGREGATE stepadv.rollup(stepadv.rollout_group) (
	SFUNC = stepadv_internal.rollup_merge, STYPE = stepadv.rollout_group, SSPACE = 4096,
	COMBINEFUNC = stepadv_internal.rollup_merge, PARALLEL = SAFE
);

COMMENT ON AGGREGATE stepadv.rollup(stepadv.rollout_group) IS
'the union of groups: steps and outcomes of one rollout may lie in several of them, but each only in one; NULLs are ignored, NULL over none; error when two groups have the same step of the same rollout';

DO $$
DECLARE f regprocedure;
BEGIN
	FOR f IN
		SELECT oid FROM pg_catalog.pg_proc
		WHERE pronamespace = 'stepadv_internal'::pg_catalog.regnamespace
		  AND proname IN ('rollout_agg_trans', 'rollout_agg_combine', 'rollout_agg_serial',
						  'rollout_agg_deserial', 'rollout_agg_final', 'rollup_merge')
	LOOP
		EXECUTE pg_catalog.format('COMMENT ON FUNCTION %s IS %L', f, 'aggregate support');
	END LOOP;
END $$;

-- what a group holds

CREATE FUNCTION stepadv.steps(rollouts stepadv.rollout_group)
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, state bigint, action bigint, reward float8,
			   success boolean, next_state bigint, value float8, turn_reward float8, cost float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 500 ROWS 100 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_steps';
COMMENT ON FUNCTION stepadv.steps(stepadv.rollout_group) IS
'the steps of a group, one row each, by rollout_id and step_no; success is the rollout''s; columns never given are NULL';

CREATE FUNCTION stepadv.rollouts(rollouts stepadv.rollout_group, success_above float8 DEFAULT 0)
RETURNS TABLE (rollout_id bigint, n_steps integer, outcome float8, return float8, success boolean, judged boolean)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 300 ROWS 8 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_rollouts';
COMMENT ON FUNCTION stepadv.rollouts(stepadv.rollout_group, float8) IS
'the rollouts of a group, one row each, those without steps included: number of steps, outcome (reward of the rollout''s own row), undiscounted return, success (given, else return > success_above), judged; return and success are NULL where no row has a reward or a success';

CREATE FUNCTION stepadv.history_states(rollouts stepadv.rollout_group, mode text DEFAULT 'sequence') RETURNS stepadv.rollout_group
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 500
AS 'MODULE_PATHNAME', 'stepadv_history_states';
COMMENT ON FUNCTION stepadv.history_states(stepadv.rollout_group, text) IS
'the group with each state replaced by a hash of the actions that the rollout took before it: ''sequence'' in their order (prefix tree), ''set'' the distinct ones in any order, ''root'' none (one state); next_state, where given, becomes the state after the step';

CREATE FUNCTION stepadv.group_summary(rollouts stepadv.rollout_group, success_above float8 DEFAULT 0)
RETURNS TABLE (n_rollouts integer, n_judged integer, n_steps integer,
			   mean_return float8, sd_return float8, success_rate float8, uniform boolean,
			   n_states integer, n_shared_states integer, shared_step_share float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1000 ROWS 1 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_group_summary';
COMMENT ON FUNCTION stepadv.group_summary(stepadv.rollout_group, float8) IS
'one row about a group: rollouts, those judged, steps; over the judged ones mean and sd (ddof 1) of the return, success rate, whether all returns are equal, distinct states, states that two or more rollouts visited, and the share of steps in these';

-- Returns and trajectory-level baselines: src/estimators/returns.c, baselines.c

CREATE FUNCTION stepadv.returns(rollouts stepadv.rollout_group, gamma float8 DEFAULT 1.0, masked boolean DEFAULT false)
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, return float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 500 ROWS 100 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_returns';
COMMENT ON FUNCTION stepadv.returns(stepadv.rollout_group, float8, boolean) IS
'discounted return of every step, G_t = r_t + gamma G_{t+1}; masked: steps whose action is NULL are observations, which G passes undiscounted and whose rewards go to the action before; NULL for rollouts not judged yet; error on gamma outside [0, 1]';

CREATE FUNCTION stepadv.reinforce(rollouts stepadv.rollout_group, gamma float8 DEFAULT 1.0, to_go boolean DEFAULT false)
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, return float8, advantage float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 500 ROWS 100 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_reinforce';
COMMENT ON FUNCTION stepadv.reinforce(stepadv.rollout_group, float8, boolean) IS
'REINFORCE: advantage is the rollout''s undiscounted return, or with to_go the discounted return from the step on; NULL for rollouts not judged yet';

CREATE FUNCTION stepadv.rloo(rollouts stepadv.rollout_group, singleton text DEFAULT 'zero')
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, return float8, baseline float8, advantage float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 500 ROWS 100 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_rloo';
COMMENT ON FUNCTION stepadv.rloo(stepadv.rollout_group, text) IS
'RLOO: the rollout''s return less the mean of the other judged rollouts'' returns (baseline); a lone rollout has 0 (singleton ''zero'') or its return (''raw''); NULL for rollouts not judged yet';

CREATE FUNCTION stepadv.grpo(rollouts stepadv.rollout_group, normalise text DEFAULT 'std', epsilon float8 DEFAULT 1e-6,
	singleton text DEFAULT 'zero', weighting text DEFAULT 'rollout',
	step_rewards boolean DEFAULT false, gamma float8 DEFAULT 0.95, pool text DEFAULT 'group')
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, return float8, baseline float8, advantage float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 600 ROWS 100 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_grpo';
COMMENT ON FUNCTION stepadv.grpo(stepadv.rollout_group, text, float8, text, text, boolean, float8, text) IS
'GRPO: (R - mean) / (sd + epsilon) over the group''s judged rollouts, sd with ddof 1, exactly 0 when all R are equal; normalise ''mean'' omits the division, ''none'' also the mean; weighting ''step'' counts a rollout once per step; step_rewards normalises discounted returns of steps instead, over all steps of the group (pool ''group'') or those of equal rank (''step''); NULL for rollouts not judged yet';

-- Rollout-tree Monte Carlo: src/estimators/rtmc.c, tree.c, src/render/tree_dot.c
-- baseline may be NULL (its default), so these are not STRICT: a NULL group gives no rows.

CREATE FUNCTION stepadv.rtmc(rollouts stepadv.rollout_group, gamma float8 DEFAULT 0.99, prior float8 DEFAULT 2,
	baseline float8 DEFAULT NULL, normalise boolean DEFAULT false, visit text DEFAULT 'first',
	success_above float8 DEFAULT 0)
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, return float8, n_state integer, n_action integer,
			   q float8, v float8, stderr float8, advantage float8)
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 1500 ROWS 100 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_rtmc';
COMMENT ON FUNCTION stepadv.rtmc(stepadv.rollout_group, float8, float8, float8, boolean, text, float8) IS
'RTMC (section 4, eq. 11): Q(s,a) is the mean return of the rollouts'' first (or every) visits, V(s) its mean over actions, v = (N V + prior p) / (N + prior) with p the success rate or baseline, advantage = q - v; n_state, n_action: visits; stderr: of q, NULL below two visits; normalise divides by the sd (ddof 0) of the group''s advantages; NULL for rollouts not judged yet';

CREATE FUNCTION stepadv.rtmc_tree(rollouts stepadv.rollout_group, gamma float8 DEFAULT 0.99, prior float8 DEFAULT 2,
	baseline float8 DEFAULT NULL, normalise boolean DEFAULT false, visit text DEFAULT 'first',
	success_above float8 DEFAULT 0)
RETURNS TABLE (state bigint, action bigint, next_state bigint, visits integer, successes integer,
			   q float8, v float8, advantage float8, step_id bigint)
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 2000 ROWS 50 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_rtmc_tree';
COMMENT ON FUNCTION stepadv.rtmc_tree(stepadv.rollout_group, float8, float8, float8, boolean, text, float8) IS
'the rollout tree of rtmc with the same parameters, a row per edge: action taken in state, next_state (NULL: rollouts end here), visits and successes in rollouts, q, v, advantage, and the step_id of one step on the edge; judged rollouts only';

CREATE FUNCTION stepadv.rtmc_tree_dot(rollouts stepadv.rollout_group, labels jsonb DEFAULT NULL, cut_off bigint[] DEFAULT NULL,
	min_visits integer DEFAULT 1, max_edges integer DEFAULT 100, label_length integer DEFAULT 40,
	gamma float8 DEFAULT 0.99, prior float8 DEFAULT 2,
	baseline float8 DEFAULT NULL, normalise boolean DEFAULT false, visit text DEFAULT 'first',
	success_above float8 DEFAULT 0)
RETURNS text
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 5000
AS 'MODULE_PATHNAME', 'stepadv_rtmc_tree_dot';
COMMENT ON FUNCTION stepadv.rtmc_tree_dot(stepadv.rollout_group, jsonb, bigint[], integer, integer, integer, float8, float8, float8, boolean, text, float8) IS
'the rollout tree as Graphviz text: circles are states (V, visits), edges actions (label, visits, advantage), green where rollouts end in success, red in failure, grey for those whose rollout_id is in cut_off; labels: an object of texts by step_id, as jsonb_object_agg(step_id, text) makes it; only edges with min_visits, at most max_edges of them';

-- Step-level groups and the state graph: src/estimators/gigpo.c, graph.c, graphgpo.c, graph_table.c,
-- hgpo.c, tempo.c

CREATE FUNCTION stepadv.gigpo(rollouts stepadv.rollout_group, gamma float8 DEFAULT 0.95, step_weight float8 DEFAULT 1.0,
	normalise text DEFAULT 'std', epsilon float8 DEFAULT 1e-6, weighting text DEFAULT 'rollout',
	visit text DEFAULT 'every')
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, return float8, n_state integer,
			   episode_advantage float8, step_advantage float8, advantage float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1200 ROWS 100 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_gigpo';
COMMENT ON FUNCTION stepadv.gigpo(stepadv.rollout_group, float8, float8, text, float8, text, text) IS
'GiGPO: episode_advantage is the rollout''s return normalised over the group, step_advantage the discounted return G_t normalised over the n_state steps of the group in the same state (0 where there is one), advantage = episode_advantage + step_weight * step_advantage; normalise ''std'' (ddof 1), ''mean'', ''none''; weighting ''step'' counts a rollout once per step in the episode part; visit ''first'': only a rollout''s first step in a state enters that state''s statistics; NULL for rollouts not judged yet';

CREATE FUNCTION stepadv.graphgpo(rollouts stepadv.rollout_group, discount float8 DEFAULT 0.1, success_reward float8 DEFAULT 10,
	graph_weight float8 DEFAULT 1, episode_weight float8 DEFAULT 1, epsilon float8 DEFAULT 1e-6,
	convention text DEFAULT 'paper', weighting text DEFAULT 'rollout', success_above float8 DEFAULT 0)
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, distance float8, next_distance float8,
			   step_reward float8, n_state integer, episode_advantage float8, graph_advantage float8, advantage float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 2000 ROWS 100 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_graphgpo';
COMMENT ON FUNCTION stepadv.graphgpo(stepadv.rollout_group, float8, float8, float8, float8, float8, text, text, float8) IS
'GraphGPO (eq. 4): distance is the least cost from the step''s state to the goal over the steps of all judged rollouts, next_distance that after the step (NULL: no way; a last step leads to the goal if the rollout succeeded, else to next_state); step_reward = success_reward * discount ^ x with x = next_distance + cost (convention ''paper''), next_distance (''recipe'', the authors'' code), next_distance - distance + 1 (''progress''), no way counting as the largest distance + 1; graph_advantage is step_reward normalised over the n_state steps from the same state, 0 for the only one and in a group without success; advantage = graph_weight * graph_advantage + episode_weight * episode_advantage; error on a cost that is not positive; NULL for rollouts not judged yet';

CREATE FUNCTION stepadv.hgpo(rollouts stepadv.rollout_group, gamma float8 DEFAULT 0.95, history_length integer DEFAULT 2,
	alpha float8 DEFAULT 1.0, normalise text DEFAULT 'std', epsilon float8 DEFAULT 1e-6,
	base_group boolean DEFAULT false, weighting text DEFAULT 'rollout', convention text DEFAULT 'recipe')
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, return float8, n_state integer,
			   n_levels integer, advantage float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 2500 ROWS 100 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_hgpo';
COMMENT ON FUNCTION stepadv.hgpo(stepadv.rollout_group, float8, integer, float8, text, float8, boolean, text, text) IS
'HGPO: the discounted return normalised (ddof 0) over the steps of the group with the same last k states, for k = 1 to history_length + 1, and averaged with weights (k + 1) ^ alpha (convention ''recipe'', verl-agent''s) or k ^ alpha (''original'', the authors''); levels where no other step shares the history, or whose value is exactly 0, are left out; n_levels were not; base_group adds the episode''s advantage as level 0 (recipe only); NULL for rollouts not judged yet';

CREATE FUNCTION stepadv.tempo(rollouts stepadv.rollout_group, normalise text DEFAULT 'std', epsilon float8 DEFAULT 1e-6)
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, return float8, value float8, next_value float8,
			   advantage float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1500 ROWS 100 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_tempo';
COMMENT ON FUNCTION stepadv.tempo(stepadv.rollout_group, text, float8) IS
'TEMPO at the granularity of steps: value and next_value are the mean undiscounted returns of the rollouts that begin with the same actions before and after the step, advantage = (return - mean + next_value - value) / (sd + epsilon), sd with ddof 1; normalise ''mean'' omits the division; NULL for rollouts not judged yet';

CREATE FUNCTION stepadv.graph_nodes(rollouts stepadv.rollout_group, success_above float8 DEFAULT 0)
RETURNS TABLE (state bigint, visits integer, rollouts integer, distance float8, is_goal boolean, is_start boolean,
			   dead_end boolean, on_cycle boolean, step_id bigint)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 2000 ROWS 50 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_graph_nodes';
COMMENT ON FUNCTION stepadv.graph_nodes(stepadv.rollout_group, float8) IS
'the states of a group''s judged rollouts, and one row for the goal (is_goal, state NULL) if a rollout reached it: visits, rollouts that were there, distance (least cost to the goal), is_start (a rollout began there), dead_end (no way from it to the goal: distance is NULL), on_cycle (a walk leads back to it), step_id of one step taken there; a NULL state is a node of its own';

CREATE FUNCTION stepadv.graph_edges(rollouts stepadv.rollout_group, discount float8 DEFAULT 0.1, success_reward float8 DEFAULT 10,
	epsilon float8 DEFAULT 1e-6, convention text DEFAULT 'paper', success_above float8 DEFAULT 0)
RETURNS TABLE (state bigint, action bigint, next_state bigint, visits integer, rollouts integer, cost float8,
			   distance float8, next_distance float8, step_reward float8, graph_advantage float8, step_id bigint)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 2500 ROWS 100 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_graph_edges';
COMMENT ON FUNCTION stepadv.graph_edges(stepadv.rollout_group, float8, float8, float8, text, float8) IS
'the edges of a group''s state graph, one per state, action and state it led to (next_state NULL: the goal if next_distance is 0, else an end that nothing is known of): visits (steps), rollouts, cost (the least), distances to the goal before and after (NULL: no way), step_reward and graph_advantage of graphgpo (means over the steps), step_id of one step';

CREATE FUNCTION stepadv.distances(rollouts stepadv.rollout_group, success_above float8 DEFAULT 0)
RETURNS TABLE (state bigint, distance float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1500 ROWS 50 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_distances';
COMMENT ON FUNCTION stepadv.distances(stepadv.rollout_group, float8) IS
'least cost from every state of a group''s judged rollouts to the goal (NULL: no way); the goal itself is the row with state NULL and distance 0';

CREATE FUNCTION stepadv.contribution(rollouts stepadv.rollout_group, success_above float8 DEFAULT 0)
RETURNS TABLE (rollout_id bigint, n_steps integer, n_contributing integer, share float8, success boolean)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1500 ROWS 8 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_contribution';
COMMENT ON FUNCTION stepadv.contribution(stepadv.rollout_group, float8) IS
'per rollout, the steps that reduce the distance to the goal (n_contributing) and their share (GraphGPO, figure 1); both NULL where no rollout of the group reached the goal and for rollouts not judged yet; share is NULL for a rollout without steps';

-- labels may be NULL (their default), so this is not STRICT: NULL of a NULL group.

CREATE FUNCTION stepadv.graph_dot(rollouts stepadv.rollout_group, labels jsonb DEFAULT NULL, state_labels jsonb DEFAULT NULL,
	min_visits integer DEFAULT 1, max_edges integer DEFAULT 100, label_length integer DEFAULT 40,
	discount float8 DEFAULT 0.1, success_reward float8 DEFAULT 10, epsilon float8 DEFAULT 1e-6,
	convention text DEFAULT 'paper', success_above float8 DEFAULT 0)
RETURNS text
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 5000
AS 'MODULE_PATHNAME', 'stepadv_graph_dot';
COMMENT ON FUNCTION stepadv.graph_dot(stepadv.rollout_group, jsonb, jsonb, integer, integer, integer, float8, float8, float8, text, float8) IS
'the state graph as Graphviz text: boxes are states (distance to the goal, visits), green near the goal to orange far from it, dead ends red, where rollouts began with a thick rim; edges are actions (label, visits, graph advantage), as wide as they are travelled, green if they come nearer to the goal, red if they lead to a dead end; labels, state_labels: objects of texts by step_id, as jsonb_object_agg(step_id, text) makes them, for actions and for the states they were taken in; only edges with min_visits, at most max_edges of them';

-- Contribution of a whole group, plain SQL over contribution()

CREATE FUNCTION stepadv.contribution_summary(rollouts stepadv.rollout_group, success_above float8 DEFAULT 0)
RETURNS TABLE (success boolean, n_rollouts integer, n_steps integer, n_contributing integer, share float8)
LANGUAGE sql IMMUTABLE PARALLEL SAFE COST 1500 ROWS 2
-- Bound now, whatever the search_path of who calls it; with one of its own it
-- would not be merged into the query around it.
BEGIN ATOMIC
	SELECT c.success, count(*)::integer, sum(c.n_steps)::integer, sum(c.n_contributing)::integer,
		sum(c.n_contributing) / nullif(sum(c.n_steps), 0)::float8
	FROM stepadv.contribution(contribution_summary.rollouts, contribution_summary.success_above) c
	GROUP BY c.success;
END;
COMMENT ON FUNCTION stepadv.contribution_summary(stepadv.rollout_group, float8) IS
'contribution over a whole group: a row for its successful rollouts, one for the failed ones and one (success NULL) for those not judged yet, where there are any: n_rollouts, n_steps, n_contributing and share of steps that reduce the distance to the goal (GraphGPO, figure 1); n_contributing and share are NULL where no rollout of the group reached the goal and for rollouts not judged yet; share is NULL without steps';
-- Turns and values: src/estimators/turns.c, gae.c

CREATE FUNCTION stepadv.mt_grpo(rollouts stepadv.rollout_group, lambda float8 DEFAULT 1.0, turn_coef float8 DEFAULT 1.0,
	discount float8 DEFAULT 1.0, epsilon float8 DEFAULT 1e-4, unequal text DEFAULT 'zero_pad')
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer,
			   turn_advantage float8, outcome_advantage float8, advantage float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 700 ROWS 100 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_mt_grpo';
COMMENT ON FUNCTION stepadv.mt_grpo(stepadv.rollout_group, float8, float8, float8, float8, text) IS
'MT-GRPO (eq. 9 and 10, any number of turns K): turn_advantage is the discounted sum, from this turn to turn K - 1, of turn_reward normalised over the group at equal turn (NULL turn_reward: 0), outcome_advantage the rollout''s normalised return; advantage = turn_coef turn_advantage + (lambda, at the rollout''s last turn 1) discount^(turns left) outcome_advantage; the paper weighs with lambda, its code with turn_coef; unequal: turns that a shorter rollout did not take count as reward 0 (''zero_pad''), not at all (''skip''), or are an error (''error''); NULL for rollouts not judged yet';

CREATE FUNCTION stepadv.mt_rloo(rollouts stepadv.rollout_group, lambda float8 DEFAULT 1.0, turn_coef float8 DEFAULT 1.0,
	discount float8 DEFAULT 1.0, epsilon float8 DEFAULT 1e-4, unequal text DEFAULT 'zero_pad')
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer,
			   turn_advantage float8, outcome_advantage float8, advantage float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 700 ROWS 100 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_mt_rloo';
COMMENT ON FUNCTION stepadv.mt_rloo(stepadv.rollout_group, float8, float8, float8, float8, text) IS
'MT-GRPO''s leave-one-out form (appendix C): as mt_grpo, with x less the mean of the others in place of (x - mean) / (sd + epsilon), so that epsilon changes nothing; alone in its turn or group: 0; NULL for rollouts not judged yet';

CREATE FUNCTION stepadv.gae(rollouts stepadv.rollout_group, gamma float8 DEFAULT 0.99, lambda float8 DEFAULT 1.0,
	masked boolean DEFAULT false)
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer,
			   value float8, td_error float8, return float8, advantage float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 500 ROWS 100 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_gae';
COMMENT ON FUNCTION stepadv.gae(stepadv.rollout_group, float8, float8, boolean) IS
'GAE over the steps of each rollout (StepPO; over a table of tokens PPO''s): td_error = r + gamma V'' - V with V'' = 0 after the last step, advantage = td_error + gamma lambda advantage'', return = advantage + value; masked: steps whose action is NULL are observations, which V and advantage pass undiscounted, whose rewards go to the action before and whose td_error is NULL; error on a NULL value, which only an observation may have; NULL for rollouts not judged yet';
-- Policies: src/policy/whiten.c, logprobs.c, ratio.c, objective.c, averages.c, effective.c, broadcast.c

CREATE FUNCTION stepadv.whiten(x float8, epsilon float8 DEFAULT 1e-8, convention text DEFAULT 'std') RETURNS float8
LANGUAGE c WINDOW IMMUTABLE PARALLEL SAFE COST 20
AS 'MODULE_PATHNAME', 'stepadv_whiten';

CREATE FUNCTION stepadv.whiten(x float8, mask boolean, epsilon float8 DEFAULT 1e-8, convention text DEFAULT 'std') RETURNS float8
LANGUAGE c WINDOW IMMUTABLE PARALLEL SAFE COST 30
AS 'MODULE_PATHNAME', 'stepadv_whiten';

COMMENT ON FUNCTION stepadv.whiten(float8, float8, text) IS
'window function: x whitened over the partition, whatever the frame: (x - mean) / (sd + epsilon), sd with ddof 1 (StepPO), or with convention ''verl'' (x - mean) / sqrt(variance + epsilon) and 1e-8 added to each count (REINFORCE++, PPO); 0 where all x are equal or there is but one; NULL for NULL, which is in no statistic; error on NaN or infinity; parameters are those of the partition''s first row';
COMMENT ON FUNCTION stepadv.whiten(float8, boolean, float8, text) IS
'window function: whiten with the statistics of the rows whose mask is true (NULL is false); the other rows are transformed with them, a NaN or infinity among these is NULL';

CREATE FUNCTION stepadv.step_ratio(logp_new anycompatiblearray, logp_old anycompatiblearray, mask boolean[] DEFAULT NULL) RETURNS float8
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 50
AS 'MODULE_PATHNAME', 'stepadv_step_ratio';

CREATE FUNCTION stepadv.sequence_ratio(logp_new anycompatiblearray, logp_old anycompatiblearray, mask boolean[] DEFAULT NULL) RETURNS float8
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 50
AS 'MODULE_PATHNAME', 'stepadv_sequence_ratio';

CREATE FUNCTION stepadv.approximate_kl(logp_new anycompatiblearray, logp_old anycompatiblearray, mask boolean[] DEFAULT NULL,
	estimator text DEFAULT 'k3') RETURNS float8
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 500
AS 'MODULE_PATHNAME', 'stepadv_approximate_kl';

COMMENT ON FUNCTION stepadv.step_ratio(anycompatiblearray, anycompatiblearray, boolean[]) IS
'importance ratio of a step, exp of the mean over its tokens of logp_new - logp_old (StepPO eq. 7, GSPO); arrays are real[] or double precision[]; mask: tokens that count; 1 without any; NULL if an array is; infinity on overflow; error on unequal lengths, on NULL, NaN or infinite elements where the mask is true';
COMMENT ON FUNCTION stepadv.sequence_ratio(anycompatiblearray, anycompatiblearray, boolean[]) IS
'importance ratio of a whole token sequence, exp of the sum of logp_new - logp_old; otherwise as step_ratio';
COMMENT ON FUNCTION stepadv.approximate_kl(anycompatiblearray, anycompatiblearray, boolean[], text) IS
'estimate of KL(old || new), the mean over tokens of -d (''k1''), d^2/2 (''k2'') or exp(d) - 1 - d (''k3''), where d = logp_new - logp_old; 0 without tokens; otherwise as step_ratio';

CREATE FUNCTION stepadv.clipped_objective(ratio float8, advantage float8, clip_low float8 DEFAULT 0.2,
	clip_high float8 DEFAULT NULL, dual_clip float8 DEFAULT NULL) RETURNS float8
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 10
AS 'MODULE_PATHNAME', 'stepadv_clipped_objective';

CREATE FUNCTION stepadv.is_clipped(ratio float8, advantage float8, clip_low float8 DEFAULT 0.2,
	clip_high float8 DEFAULT NULL, dual_clip float8 DEFAULT NULL) RETURNS boolean
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 10
AS 'MODULE_PATHNAME', 'stepadv_is_clipped';

COMMENT ON FUNCTION stepadv.clipped_objective(float8, float8, float8, float8, float8) IS
'PPO''s objective of a step, to be maximised: min(w A, clip(w, 1 - clip_low, 1 + clip_high) A); clip_high NULL: clip_low; dual_clip c: where A < 0 at least c A; NULL for a NULL ratio or advantage, 0 for advantage 0; error on a negative or NaN ratio, NaN or infinite advantage';
COMMENT ON FUNCTION stepadv.is_clipped(float8, float8, float8, float8, float8) IS
'whether clipped_objective of these arguments has stopped to depend on the ratio: w > 1 + clip_high where A > 0, w < 1 - clip_low or w > dual_clip where A < 0; false for advantage 0, NULL for a NULL ratio or advantage; its mean is the clip fraction';

-- Averages over a batch

CREATE FUNCTION stepadv_internal.mean_of_steps_trans(float8[], float8) RETURNS float8[]
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_mean_of_steps_trans';

CREATE FUNCTION stepadv_internal.mean_of_steps_combine(float8[], float8[]) RETURNS float8[]
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_mean_of_steps_combine';

CREATE FUNCTION stepadv_internal.mean_of_steps_final(float8[]) RETURNS float8
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_mean_of_steps_final';

CREATE AGGREGATE stepadv.mean_of_steps(value float8) (
	SFUNC = stepadv_internal.mean_of_steps_trans, STYPE = float8[], INITCOND = '{0,0,0}',
	FINALFUNC = stepadv_internal.mean_of_steps_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = stepadv_internal.mean_of_steps_combine, PARALLEL = SAFE
);

CREATE FUNCTION stepadv_internal.mean_of_rollout_means_trans(internal, bigint, float8) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_mean_of_rollout_means_trans';

CREATE FUNCTION stepadv_internal.mean_of_rollout_means_combine(internal, internal) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_mean_of_rollout_means_combine';

CREATE FUNCTION stepadv_internal.mean_of_rollout_means_serial(internal) RETURNS bytea
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_mean_of_rollout_means_serial';

CREATE FUNCTION stepadv_internal.mean_of_rollout_means_deserial(bytea, internal) RETURNS internal
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_mean_of_rollout_means_deserial';

CREATE FUNCTION stepadv_internal.mean_of_rollout_means_final(internal) RETURNS float8
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_mean_of_rollout_means_final';

CREATE AGGREGATE stepadv.mean_of_rollout_means(rollout_id bigint, value float8) (
	SFUNC = stepadv_internal.mean_of_rollout_means_trans, STYPE = internal, SSPACE = 4096,
	FINALFUNC = stepadv_internal.mean_of_rollout_means_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = stepadv_internal.mean_of_rollout_means_combine,
	SERIALFUNC = stepadv_internal.mean_of_rollout_means_serial, DESERIALFUNC = stepadv_internal.mean_of_rollout_means_deserial,
	PARALLEL = SAFE
);

CREATE FUNCTION stepadv_internal.effective_sample_size_trans(float8[], float8) RETURNS float8[]
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_effective_sample_size_trans';

CREATE FUNCTION stepadv_internal.effective_sample_size_combine(float8[], float8[]) RETURNS float8[]
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_effective_sample_size_combine';

CREATE FUNCTION stepadv_internal.effective_sample_size_final(float8[]) RETURNS float8
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_effective_sample_size_final';

CREATE AGGREGATE stepadv.effective_sample_size(weight float8) (
	SFUNC = stepadv_internal.effective_sample_size_trans, STYPE = float8[], INITCOND = '{0,0,0,0,0,0}',
	FINALFUNC = stepadv_internal.effective_sample_size_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = stepadv_internal.effective_sample_size_combine, PARALLEL = SAFE
);

COMMENT ON AGGREGATE stepadv.effective_sample_size(float8) IS
'how many equally weighted samples the samples with these importance weights (ratios) are worth: (sum w)^2 / sum w^2 (Kish; Kong, Liu and Wong), between 1 and their number, 0 if all weights are 0; computed without overflow; NULLs are left out, NULL over none or where a weight is infinite; error on a negative weight or NaN';
COMMENT ON AGGREGATE stepadv.mean_of_steps(float8) IS
'mean over the steps of a batch or of a rollout, sum compensated; long rollouts weigh more (StepPO''s code); NULLs are left out, NULL over none';
COMMENT ON AGGREGATE stepadv.mean_of_rollout_means(bigint, float8) IS
'mean over rollouts of the mean over their steps, sums compensated; every rollout weighs the same (StepPO eq. 8); rollout_id must tell the rollouts of the batch apart; NULL values are left out, NULL over none; error on a NULL rollout_id with a value';

DO $$
DECLARE f regprocedure;
BEGIN
	FOR f IN
		SELECT oid FROM pg_catalog.pg_proc
		WHERE pronamespace = 'stepadv_internal'::pg_catalog.regnamespace
		  AND proname ~ '^(mean_of_(steps|rollout_means)|effective_sample_size)_'
	LOOP
		EXECUTE pg_catalog.format('COMMENT ON FUNCTION %s IS %L', f, 'aggregate support');
	END LOOP;
END $$;

-- Advantages to tokens

CREATE FUNCTION stepadv.broadcast(advantage float8, mask boolean[]) RETURNS real[]
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 10
AS 'MODULE_PATHNAME', 'stepadv_broadcast_mask';

CREATE FUNCTION stepadv.broadcast(advantage float8, n integer) RETURNS real[]
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 10
AS 'MODULE_PATHNAME', 'stepadv_broadcast_n';

COMMENT ON FUNCTION stepadv.broadcast(float8, boolean[]) IS
'a step''s advantage on its tokens: an array as long as the mask, the advantage where it is true, else 0; never divided by their number; NULL for NULL; error on a NULL in the mask or an advantage beyond real';
COMMENT ON FUNCTION stepadv.broadcast(float8, integer) IS
'a step''s advantage on each of its n tokens, never divided by their number; NULL for NULL; error on n < 0 or an advantage beyond real';
-- Verifiable rewards of MT-GRPO: src/rewards/rewards.c, markup.c
-- messages: the assistant's, in order; replies: what followed each, NULL where nothing did.

CREATE FUNCTION stepadv.reward_tool_execution(messages text[], replies text[], tool_tag text DEFAULT 'tool',
	result_tag text DEFAULT 'result', error_prefix text DEFAULT 'Error:', weight float8 DEFAULT 0.2) RETURNS float8
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 100
AS 'MODULE_PATHNAME', 'stepadv_reward_tool_execution';
COMMENT ON FUNCTION stepadv.reward_tool_execution(text[], text[], text, text, text, float8) IS
'MT-GRPO turn reward: weight times the share of messages with a <tool> field and a reply whose reply has a <result> field that does not begin with error_prefix (empty: whatever it begins with); 0 without such messages; NULL elements: no message, no reply; NULL for a NULL argument';

CREATE FUNCTION stepadv.reward_answer_in_results(messages text[], replies text[], answers text[], tool_tag text DEFAULT 'tool',
	result_tag text DEFAULT 'result', weight float8 DEFAULT 0.5) RETURNS float8
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 100
AS 'MODULE_PATHNAME', 'stepadv_reward_answer_in_results';
COMMENT ON FUNCTION stepadv.reward_answer_in_results(text[], text[], text[], text, text, float8) IS
'MT-GRPO turn reward: weight if an accepted answer stands, whatever its case, in the first <result> that replied to a message with a <tool> field, else 0; NULLs among the answers accept nothing; NULL for a NULL argument';

CREATE FUNCTION stepadv.reward_answer_present(messages text[], answers text[], answer_tag text DEFAULT 'answer',
	weight float8 DEFAULT 0.5) RETURNS float8
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 100
AS 'MODULE_PATHNAME', 'stepadv_reward_answer_present';
COMMENT ON FUNCTION stepadv.reward_answer_present(text[], text[], text, float8) IS
'MT-GRPO outcome reward: weight if an accepted answer stands, whatever its case, in the <answer> field of the last message that has one, else 0; NULL for a NULL argument';

CREATE FUNCTION stepadv.reward_exact_match(messages text[], answers text[], answer_tag text DEFAULT 'answer',
	weight float8 DEFAULT 1.0) RETURNS float8
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 100
AS 'MODULE_PATHNAME', 'stepadv_reward_exact_match';
COMMENT ON FUNCTION stepadv.reward_exact_match(text[], text[], text, float8) IS
'MT-GRPO outcome reward: weight if the <answer> field of the last message that has one equals an accepted answer but for case and white space around, else 0; NULL for a NULL argument';

CREATE FUNCTION stepadv.reward_xml_format(messages text[], fields text[] DEFAULT '{reasoning,tool|answer}',
	spacing text DEFAULT 'always', weight float8 DEFAULT 0.2) RETURNS float8
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 100
AS 'MODULE_PATHNAME', 'stepadv_reward_xml_format';
COMMENT ON FUNCTION stepadv.reward_xml_format(text[], text[], text, float8) IS
'MT-GRPO outcome reward: weight times the mean over messages of 0.4 x share of fields with a tag in the message, if any field can be parsed, + 0.2 spacing + 0.2 if it begins with a tag of the first field + 0.2 if it ends with one of the last; fields: alternatives separated by |; spacing ''always'' grants it (as the public code does), ''lines'' if every parsed field''s content stands on lines of its own; 0 without messages; NULL for a NULL argument';

CREATE FUNCTION stepadv.reward_xml_tags(messages text[], fields text[] DEFAULT '{reasoning,tool|answer}',
	weight float8 DEFAULT 0.2) RETURNS float8
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 100
AS 'MODULE_PATHNAME', 'stepadv_reward_xml_tags';
COMMENT ON FUNCTION stepadv.reward_xml_tags(text[], text[], float8) IS
'MT-GRPO outcome reward: weight times the mean over messages, at least 0, of how well each tag used opens and closes exactly once (1 for once, 1 less for every time more); 0 without messages; NULL for a NULL argument';
-- Stepwise progress attribution (SPA): src/progress/

CREATE FUNCTION stepadv.hash_features(atoms text[], dim integer DEFAULT 256, ngrams integer DEFAULT 1) RETURNS real[]
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 100
AS 'MODULE_PATHNAME', 'stepadv_hash_features';
COMMENT ON FUNCTION stepadv.hash_features(text[], integer, integer) IS
'features of a step by signed feature hashing: each atom, and each run of up to ngrams atoms in a row, adds +1 or -1 to one of dim places by its XXH3 hash; no atoms: zeros; the same on every machine and in every version; NULL for NULL; error on a NULL atom';

-- Types

CREATE TYPE stepadv.progress_statistics;
CREATE FUNCTION stepadv_internal.progress_statistics_in(cstring) RETURNS stepadv.progress_statistics
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stepadv_progress_statistics_in';
CREATE FUNCTION stepadv_internal.progress_statistics_out(stepadv.progress_statistics) RETURNS cstring
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stepadv_progress_statistics_out';
CREATE FUNCTION stepadv_internal.progress_statistics_recv(internal) RETURNS stepadv.progress_statistics
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stepadv_progress_statistics_recv';
CREATE FUNCTION stepadv_internal.progress_statistics_send(stepadv.progress_statistics) RETURNS bytea
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stepadv_progress_value_send';
CREATE TYPE stepadv.progress_statistics (
	INPUT = stepadv_internal.progress_statistics_in, OUTPUT = stepadv_internal.progress_statistics_out,
	RECEIVE = stepadv_internal.progress_statistics_recv, SEND = stepadv_internal.progress_statistics_send,
	INTERNALLENGTH = VARIABLE, ALIGNMENT = double, STORAGE = extended
);
COMMENT ON TYPE stepadv.progress_statistics IS
'all that a linear fit of progress needs to know of its rollouts (sums of products of features and outcomes): solved for any lambda by progress_solve, merged by rollup';

CREATE TYPE stepadv.progress_model;
CREATE FUNCTION stepadv_internal.progress_model_in(cstring) RETURNS stepadv.progress_model
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stepadv_progress_model_in';
CREATE FUNCTION stepadv_internal.progress_model_out(stepadv.progress_model) RETURNS cstring
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stepadv_progress_model_out';
CREATE FUNCTION stepadv_internal.progress_model_recv(internal) RETURNS stepadv.progress_model
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stepadv_progress_model_recv';
CREATE FUNCTION stepadv_internal.progress_model_send(stepadv.progress_model) RETURNS bytea
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stepadv_progress_value_send';
-- Weights do not compress: trying would cost time at every read.
CREATE TYPE stepadv.progress_model (
	INPUT = stepadv_internal.progress_model_in, OUTPUT = stepadv_internal.progress_model_out,
	RECEIVE = stepadv_internal.progress_model_recv, SEND = stepadv_internal.progress_model_send,
	INTERNALLENGTH = VARIABLE, ALIGNMENT = double, STORAGE = external
);
COMMENT ON TYPE stepadv.progress_model IS
'an estimator of progress (SPA): kind, weights, intercept, lambda, the number of rollouts and steps it was fitted on; text form JSON, binary form little-endian, both lossless';

CREATE FUNCTION stepadv_internal.progress_model_eq(stepadv.progress_model, stepadv.progress_model) RETURNS boolean
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stepadv_progress_model_eq';
CREATE FUNCTION stepadv_internal.progress_model_ne(stepadv.progress_model, stepadv.progress_model) RETURNS boolean
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stepadv_progress_model_ne';
CREATE OPERATOR stepadv.= (
	LEFTARG = stepadv.progress_model, RIGHTARG = stepadv.progress_model, FUNCTION = stepadv_internal.progress_model_eq,
	COMMUTATOR = OPERATOR(stepadv.=), NEGATOR = OPERATOR(stepadv.<>),
	RESTRICT = pg_catalog.eqsel, JOIN = pg_catalog.eqjoinsel
);
CREATE OPERATOR stepadv.<> (
	LEFTARG = stepadv.progress_model, RIGHTARG = stepadv.progress_model, FUNCTION = stepadv_internal.progress_model_ne,
	COMMUTATOR = OPERATOR(stepadv.<>), NEGATOR = OPERATOR(stepadv.=),
	RESTRICT = pg_catalog.neqsel, JOIN = pg_catalog.neqjoinsel
);
COMMENT ON OPERATOR stepadv.= (stepadv.progress_model, stepadv.progress_model) IS 'the same model, bit for bit';
COMMENT ON OPERATOR stepadv.<> (stepadv.progress_model, stepadv.progress_model) IS 'not the same model, bit for bit';

CREATE TYPE stepadv.progress_score AS (
	rollouts bigint, steps bigint, mse float8, r2 float8, rank_correlation float8, calibration_error float8
);
CREATE TYPE stepadv.progress_bin AS (bin integer, rollouts bigint, predicted float8, outcome float8);
COMMENT ON TYPE stepadv.progress_bin IS
'a tenth of the rollouts in the order of the sums of their contributions (bin 1: the smallest): their number, mean sum and mean outcome, which a calibrated estimator makes equal';
CREATE TYPE stepadv.progress_validation AS (lambda float8, fold integer, train stepadv.progress_score, held_out stepadv.progress_score);
COMMENT ON TYPE stepadv.progress_validation IS
'a linear fit with that lambda on the rollouts of all folds but one: its score on these and on the fold held out';
COMMENT ON TYPE stepadv.progress_score IS
'how well contributions add up to outcomes, by rollout: mean squared error (SPA''s loss), R2 (NULL: all outcomes equal), Spearman''s rank correlation (NULL: one of the two does not vary), mean distance of mean outcome and mean sum over the tenths of the rollouts in the order of their sums';

-- Fitting

CREATE FUNCTION stepadv_internal.progress_trans(internal, bigint, real[], float8) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 10 AS 'MODULE_PATHNAME', 'stepadv_progress_trans';
CREATE FUNCTION stepadv_internal.progress_trans(internal, bigint, real[], float8, float8) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 10 AS 'MODULE_PATHNAME', 'stepadv_progress_trans';
CREATE FUNCTION stepadv_internal.progress_trans(internal, bigint, real[], float8, float8, boolean) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 10 AS 'MODULE_PATHNAME', 'stepadv_progress_trans';
CREATE FUNCTION stepadv_internal.progress_combine(internal, internal) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'stepadv_progress_combine';
CREATE FUNCTION stepadv_internal.progress_serial(internal) RETURNS bytea
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stepadv_progress_serial';
CREATE FUNCTION stepadv_internal.progress_deserial(bytea, internal) RETURNS internal
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stepadv_progress_deserial';
CREATE FUNCTION stepadv_internal.progress_statistics_final(internal) RETURNS stepadv.progress_statistics
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 10000 AS 'MODULE_PATHNAME', 'stepadv_progress_statistics_final';
CREATE FUNCTION stepadv_internal.progress_fit_final(internal) RETURNS stepadv.progress_model
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 10000 AS 'MODULE_PATHNAME', 'stepadv_progress_fit_final';
CREATE FUNCTION stepadv_internal.progress_quality_trans(internal, bigint, float8, float8) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'stepadv_progress_quality_trans';
CREATE FUNCTION stepadv_internal.progress_quality_trans(internal, stepadv.progress_model, bigint, real[], float8) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 10 AS 'MODULE_PATHNAME', 'stepadv_progress_quality_of_model_trans';
CREATE FUNCTION stepadv_internal.progress_quality_final(internal) RETURNS stepadv.progress_score
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 1000 AS 'MODULE_PATHNAME', 'stepadv_progress_quality_final';
CREATE FUNCTION stepadv_internal.progress_calibration_final(internal) RETURNS stepadv.progress_bin[]
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 1000 AS 'MODULE_PATHNAME', 'stepadv_progress_calibration_final';
CREATE FUNCTION stepadv_internal.progress_cross_validate_trans(internal, bigint, real[], float8, bigint, float8[]) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 10 AS 'MODULE_PATHNAME', 'stepadv_progress_cross_validate_trans';
CREATE FUNCTION stepadv_internal.progress_cross_validate_trans(internal, bigint, real[], float8, bigint, float8[], integer, integer, boolean) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 10 AS 'MODULE_PATHNAME', 'stepadv_progress_cross_validate_trans';
CREATE FUNCTION stepadv_internal.progress_cross_validate_final(internal) RETURNS stepadv.progress_validation[]
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 100000 AS 'MODULE_PATHNAME', 'stepadv_progress_cross_validate_final';
CREATE FUNCTION stepadv_internal.progress_statistics_merge(stepadv.progress_statistics, stepadv.progress_statistics) RETURNS stepadv.progress_statistics
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'stepadv_progress_statistics_merge';

DO $$
DECLARE f regprocedure;
BEGIN
	FOR f IN
		SELECT oid FROM pg_catalog.pg_proc
		WHERE pronamespace = 'stepadv_internal'::pg_catalog.regnamespace
		  AND proname ~ '^progress_(trans|combine|serial|deserial|statistics_final|fit_final|quality_trans|quality_final|calibration_final|cross_validate_trans|cross_validate_final|statistics_merge)$'
	LOOP
		EXECUTE pg_catalog.format('COMMENT ON FUNCTION %s IS %L', f, 'aggregate support');
	END LOOP;
	FOR f IN
		SELECT oid FROM pg_catalog.pg_proc
		WHERE pronamespace = 'stepadv_internal'::pg_catalog.regnamespace
		  AND proname ~ '^progress_(statistics|model)_(in|out|recv|send|eq|ne)$'
	LOOP
		EXECUTE pg_catalog.format('COMMENT ON FUNCTION %s IS %L', f, 'type support');
	END LOOP;
END $$;

CREATE AGGREGATE stepadv.progress_statistics(rollout_id bigint, features real[], outcome float8) (
	SFUNC = stepadv_internal.progress_trans, STYPE = internal, SSPACE = 65536,
	FINALFUNC = stepadv_internal.progress_statistics_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = stepadv_internal.progress_combine, SERIALFUNC = stepadv_internal.progress_serial, DESERIALFUNC = stepadv_internal.progress_deserial,
	PARALLEL = SAFE
);
CREATE AGGREGATE stepadv.progress_fit(rollout_id bigint, features real[], outcome float8, lambda float8) (
	SFUNC = stepadv_internal.progress_trans, STYPE = internal, SSPACE = 65536,
	FINALFUNC = stepadv_internal.progress_fit_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = stepadv_internal.progress_combine, SERIALFUNC = stepadv_internal.progress_serial, DESERIALFUNC = stepadv_internal.progress_deserial,
	PARALLEL = SAFE
);
CREATE AGGREGATE stepadv.progress_fit(rollout_id bigint, features real[], outcome float8, lambda float8, intercept boolean) (
	SFUNC = stepadv_internal.progress_trans, STYPE = internal, SSPACE = 65536,
	FINALFUNC = stepadv_internal.progress_fit_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = stepadv_internal.progress_combine, SERIALFUNC = stepadv_internal.progress_serial, DESERIALFUNC = stepadv_internal.progress_deserial,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE stepadv.progress_statistics(bigint, real[], float8) IS
'a row per step, in any order: sufficient statistics of a linear fit (SPA); outcome is that of the whole rollout, on each of its rows or on some; rollouts without one are left out; NULL over none; error on NULL, NaN, infinite or unequally long features, on two outcomes of a rollout; needs 8 bytes per rollout and feature while it runs';
COMMENT ON AGGREGATE stepadv.progress_fit(bigint, real[], float8, float8) IS
'progress_solve(progress_statistics(rollout_id, features, outcome), lambda)';
COMMENT ON AGGREGATE stepadv.progress_fit(bigint, real[], float8, float8, boolean) IS
'progress_solve(progress_statistics(rollout_id, features, outcome), lambda, intercept)';

CREATE AGGREGATE stepadv.rollup(statistics stepadv.progress_statistics) (
	SFUNC = stepadv_internal.progress_statistics_merge, STYPE = stepadv.progress_statistics,
	COMBINEFUNC = stepadv_internal.progress_statistics_merge, PARALLEL = SAFE
);
COMMENT ON AGGREGATE stepadv.rollup(stepadv.progress_statistics) IS
'statistics of the rollouts of all, which must not share any; NULL are left out; error on statistics of another number of features';

CREATE FUNCTION stepadv.progress_solve(statistics stepadv.progress_statistics, lambda float8, intercept boolean DEFAULT true) RETURNS stepadv.progress_model
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 100000
AS 'MODULE_PATHNAME', 'stepadv_progress_solve';
COMMENT ON FUNCTION stepadv.progress_solve(stepadv.progress_statistics, float8, boolean) IS
'the linear estimator c(s,a) = w x + b that minimises the mean over rollouts of (sum of c over the steps - outcome)^2 (SPA) plus lambda |w|^2, exactly; intercept false: b = 0; NULL for NULL statistics; error where lambda is 0 or too small and the features of the rollouts are linearly dependent';

-- One hidden layer: src/progress/mlp.c, mlp_fit.c

CREATE FUNCTION stepadv_internal.progress_mlp_trans(internal, bigint, real[], float8) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 10 AS 'MODULE_PATHNAME', 'stepadv_progress_mlp_trans';
CREATE FUNCTION stepadv_internal.progress_mlp_trans(internal, bigint, real[], float8, integer, integer, float8, integer, float8, integer) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 10 AS 'MODULE_PATHNAME', 'stepadv_progress_mlp_trans';
CREATE FUNCTION stepadv_internal.progress_mlp_final(internal) RETURNS stepadv.progress_model
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 1000000 AS 'MODULE_PATHNAME', 'stepadv_progress_mlp_final';
COMMENT ON FUNCTION stepadv_internal.progress_mlp_trans(internal, bigint, real[], float8) IS 'aggregate support';
COMMENT ON FUNCTION stepadv_internal.progress_mlp_trans(internal, bigint, real[], float8, integer, integer, float8, integer, float8, integer) IS 'aggregate support';
COMMENT ON FUNCTION stepadv_internal.progress_mlp_final(internal) IS 'aggregate support';

CREATE AGGREGATE stepadv.progress_fit_mlp(rollout_id bigint, features real[], outcome float8) (
	SFUNC = stepadv_internal.progress_mlp_trans, STYPE = internal, SSPACE = 65536,
	FINALFUNC = stepadv_internal.progress_mlp_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
CREATE AGGREGATE stepadv.progress_fit_mlp(rollout_id bigint, features real[], outcome float8,
	width integer, epochs integer, learning_rate float8, batch_size integer, lambda float8, seed integer) (
	SFUNC = stepadv_internal.progress_mlp_trans, STYPE = internal, SSPACE = 65536,
	FINALFUNC = stepadv_internal.progress_mlp_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE stepadv.progress_fit_mlp(bigint, real[], float8) IS
'progress_fit_mlp with width 16, epochs 100, learning_rate 0.01, batch_size 64, lambda 0.0001, seed 0';
COMMENT ON AGGREGATE stepadv.progress_fit_mlp(bigint, real[], float8, integer, integer, float8, integer, float8, integer) IS
'an estimator of progress with one hidden layer of rectifiers (SPA), trained by mini-batch Adam on the mean over rollouts of (sum of c over the steps - outcome)^2 plus lambda |weights|^2; batch_size in rollouts; notices tell of the error; the same rollouts and seed give the same model in whatever order the rows come; epochs 0: the model before training; rows and errors as progress_statistics; error if training diverges; keeps all features in memory';

-- Using a model

CREATE FUNCTION stepadv.progress_predict(model stepadv.progress_model, features real[]) RETURNS float8
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 20
AS 'MODULE_PATHNAME', 'stepadv_progress_predict';
COMMENT ON FUNCTION stepadv.progress_predict(stepadv.progress_model, real[]) IS
'a step''s contribution to the outcome as the model sees it (SPA''s c); NULL for NULL; error on features of another length, with NULL, NaN or infinity';

CREATE FUNCTION stepadv.progress_attribution(model stepadv.progress_model, features real[], outcome float8, redistribute boolean DEFAULT false) RETURNS float8
LANGUAGE c WINDOW IMMUTABLE PARALLEL SAFE COST 50
AS 'MODULE_PATHNAME', 'stepadv_progress_attribution';
COMMENT ON FUNCTION stepadv.progress_attribution(stepadv.progress_model, real[], float8, boolean) IS
'window function over a rollout (the partition, whatever the frame): a step''s contribution; redistribute adds equal shares of the residual, the last row takes what rounding leaves, so that contributions add up to the outcome, and is NULL without an outcome; NULL for a NULL model; error on NULL features or two outcomes';

CREATE FUNCTION stepadv.progress_residual(model stepadv.progress_model, features real[], outcome float8) RETURNS float8
LANGUAGE c WINDOW IMMUTABLE PARALLEL SAFE COST 50
AS 'MODULE_PATHNAME', 'stepadv_progress_residual';
COMMENT ON FUNCTION stepadv.progress_residual(stepadv.progress_model, real[], float8) IS
'window function over a rollout (the partition, whatever the frame): outcome less the sum of the contributions, the same on every row; NULL without an outcome or for a NULL model; errors as progress_attribution';

CREATE AGGREGATE stepadv.progress_quality(rollout_id bigint, contribution float8, outcome float8) (
	SFUNC = stepadv_internal.progress_quality_trans, STYPE = internal, SSPACE = 16384,
	FINALFUNC = stepadv_internal.progress_quality_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = stepadv_internal.progress_combine, SERIALFUNC = stepadv_internal.progress_serial, DESERIALFUNC = stepadv_internal.progress_deserial,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE stepadv.progress_quality(bigint, float8, float8) IS
'a row per step, in any order: how well contributions, whoever made them, add up to the outcomes of their rollouts, see type progress_score; rollouts without an outcome are left out; NULL over none; error on a NULL, NaN or infinite contribution, on two outcomes of a rollout';

CREATE AGGREGATE stepadv.progress_quality(model stepadv.progress_model, rollout_id bigint, features real[], outcome float8) (
	SFUNC = stepadv_internal.progress_quality_trans, STYPE = internal, SSPACE = 16384,
	FINALFUNC = stepadv_internal.progress_quality_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = stepadv_internal.progress_combine, SERIALFUNC = stepadv_internal.progress_serial, DESERIALFUNC = stepadv_internal.progress_deserial,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE stepadv.progress_quality(stepadv.progress_model, bigint, real[], float8) IS
'progress_quality(rollout_id, progress_predict(model, features), outcome); which rollouts it is given decides whether that is the error of training or held out; error on a NULL model and on the features that progress_predict refuses';

CREATE AGGREGATE stepadv.progress_calibration(rollout_id bigint, contribution float8, outcome float8) (
	SFUNC = stepadv_internal.progress_quality_trans, STYPE = internal, SSPACE = 16384,
	FINALFUNC = stepadv_internal.progress_calibration_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = stepadv_internal.progress_combine, SERIALFUNC = stepadv_internal.progress_serial, DESERIALFUNC = stepadv_internal.progress_deserial,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE stepadv.progress_calibration(bigint, float8, float8) IS
'a row per step, as progress_quality: calibration by decile, an array of progress_bin in the order of their bins, to be read with unnest; tenths as ntile(10) cuts them, as many as there are judged rollouts if these are fewer than ten; NULL and errors as progress_quality';

CREATE AGGREGATE stepadv.progress_cross_validate(rollout_id bigint, features real[], outcome float8, group_id bigint, lambdas float8[]) (
	SFUNC = stepadv_internal.progress_cross_validate_trans, STYPE = internal, SSPACE = 65536,
	FINALFUNC = stepadv_internal.progress_cross_validate_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = stepadv_internal.progress_combine, SERIALFUNC = stepadv_internal.progress_serial, DESERIALFUNC = stepadv_internal.progress_deserial,
	PARALLEL = SAFE
);
CREATE AGGREGATE stepadv.progress_cross_validate(rollout_id bigint, features real[], outcome float8, group_id bigint, lambdas float8[],
	folds integer, seed integer, intercept boolean) (
	SFUNC = stepadv_internal.progress_cross_validate_trans, STYPE = internal, SSPACE = 65536,
	FINALFUNC = stepadv_internal.progress_cross_validate_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = stepadv_internal.progress_combine, SERIALFUNC = stepadv_internal.progress_serial, DESERIALFUNC = stepadv_internal.progress_deserial,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE stepadv.progress_cross_validate(bigint, real[], float8, bigint, float8[]) IS
'progress_cross_validate with folds 5, seed 0, intercept true';
COMMENT ON AGGREGATE stepadv.progress_cross_validate(bigint, real[], float8, bigint, float8[], integer, integer, boolean) IS
'a row per step, in any order: cross-validation of the linear fit by group, never by step, in one pass: an array of progress_validation, to be read with unnest, one for each of up to 100 lambdas and each fold that has judged rollouts; a group''s fold is progress_fold(group_id, folds, seed); rows and errors as progress_statistics and progress_solve; error on a NULL group_id, on a rollout in two groups, and where all judged rollouts are in one fold; NULL over no judged rollout';

CREATE FUNCTION stepadv.progress_fold(group_id bigint, folds integer DEFAULT 5, seed bigint DEFAULT 0) RETURNS integer
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1
AS 'MODULE_PATHNAME', 'stepadv_progress_fold';
COMMENT ON FUNCTION stepadv.progress_fold(bigint, integer, bigint) IS
'the fold, 0 to folds - 1, that a group falls into by a hash of its id and the seed: for evaluation on groups that were held out, never on steps of groups that were not';

-- Models by name

CREATE TABLE stepadv.progress_models (
	name text PRIMARY KEY CHECK (name <> ''),
	model stepadv.progress_model NOT NULL,
	fitted_at timestamptz NOT NULL DEFAULT pg_catalog.now()
);
-- They are data of users, so pg_dump carries them.
SELECT pg_catalog.pg_extension_config_dump('stepadv.progress_models', '');
GRANT SELECT ON stepadv.progress_models TO PUBLIC;
-- The extension is trusted: whoever creates it owns no object of it.
GRANT SELECT, INSERT, UPDATE, DELETE ON stepadv.progress_models TO @extowner@;
COMMENT ON TABLE stepadv.progress_models IS
'estimators of progress by name, for the view _spa of attach and for user_model; all rows are yours, and everybody may read them';
COMMENT ON COLUMN stepadv.progress_models.name IS 'what the option {"spa": {"model": …}} of attach says';
COMMENT ON COLUMN stepadv.progress_models.model IS 'an estimator; views that use it follow when it is replaced';
COMMENT ON COLUMN stepadv.progress_models.fitted_at IS 'when it was put here';

CREATE FUNCTION stepadv.user_model(name text) RETURNS stepadv.progress_model
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE COST 1000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	model stepadv.progress_model;
BEGIN
	SELECT m.model INTO model FROM stepadv.progress_models m WHERE m.name = user_model.name;
	IF NOT FOUND THEN
		RAISE EXCEPTION 'there is no progress model %', quote_literal(user_model.name)
			USING ERRCODE = 'undefined_object', HINT = 'Models are rows of the table progress_models.';
	END IF;
	RETURN model;
END
$$;
COMMENT ON FUNCTION stepadv.user_model(text) IS
'the model of that name in progress_models; error if there is none; NULL for NULL. Pass it as (SELECT user_model(…)), so that it is read once per query';

-- Rewards

CREATE FUNCTION stepadv.fused_reward(contribution float8, grounded boolean, alpha float8 DEFAULT 1, beta float8 DEFAULT 0.5) RETURNS float8
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1
AS 'MODULE_PATHNAME', 'stepadv_fused_reward';
COMMENT ON FUNCTION stepadv.fused_reward(float8, boolean, float8, float8) IS
'alpha * contribution + beta if grounded, that is, if the action could be executed (SPA); NULL for NULL; error on NaN or infinity';

CREATE FUNCTION stepadv.progress_mean(outcome float8, n_steps bigint) RETURNS float8
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1
AS 'MODULE_PATHNAME', 'stepadv_progress_mean';
COMMENT ON FUNCTION stepadv.progress_mean(float8, bigint) IS
'SPA''s baseline ''mean'': the outcome in equal shares, outcome / n_steps; NULL for NULL; error below one step';

CREATE FUNCTION stepadv.progress_random(step_id bigint, seed bigint DEFAULT 0) RETURNS float8
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1
AS 'MODULE_PATHNAME', 'stepadv_progress_random';
COMMENT ON FUNCTION stepadv.progress_random(bigint, bigint) IS
'SPA''s baseline ''random'': uniform in [0, 1) by a hash of the step''s id and the seed, the same on every machine; NULL for NULL';
-- Canonical tables: plain SQL over what section 3 of the design names.

-- Up to 14 an UPDATE that takes a row to another partition is a DELETE to the
-- foreign keys that refer to it: the cascade would delete the steps that it
-- should rename.  Asked at run time, as a dump takes the trigger to 15.
CREATE FUNCTION stepadv_internal.refuse_lossy_move() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	stays boolean;
BEGIN
	IF current_setting('server_version_num')::integer < 150000 THEN
		EXECUTE format('SELECT %s FROM (SELECT $1 AS group_id) moved', pg_get_partition_constraintdef(TG_RELID)) INTO stays USING NEW.group_id;
		IF NOT stays THEN
			RAISE EXCEPTION 'rollout "%" of group "%" cannot be moved to group "%" by an UPDATE', OLD.rollout_id, OLD.group_id, NEW.group_id
				USING ERRCODE = 'feature_not_supported',
					DETAIL = 'The groups are in different partitions: up to PostgreSQL 14 the rollout''s steps would be deleted.',
					HINT = 'Insert the rollout under its new group, update group_id of its steps, then delete the old rollout.';
		END IF;
	END IF;
	RETURN NEW;
END
$$;
COMMENT ON FUNCTION stepadv_internal.refuse_lossy_move() IS 'part of create_tables: up to PostgreSQL 14, refuses the UPDATE of a rollout that would delete its steps';

-- The tables themselves; %1$I: the schema, %2$L: the sequence.
CREATE FUNCTION stepadv_internal.tables_ddl() RETURNS text
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $ddl$
	SELECT $$
		CREATE TABLE %1$I.rollouts (
			group_id text NOT NULL,
			rollout_id text NOT NULL,
			policy_version text,
			model text,
			outcome float8 CHECK (outcome > '-Infinity' AND outcome < 'Infinity'),
			success boolean,
			truncated boolean NOT NULL DEFAULT false,
			channel text NOT NULL DEFAULT 'train' CHECK (channel IN ('train', 'validation')),
			curation text,
			started_at timestamptz,
			ended_at timestamptz,
			metadata jsonb,
			PRIMARY KEY (group_id, rollout_id)
		) PARTITION BY HASH (group_id);

		-- A sequence of its own rather than an identity column, which partitions
		-- inherit only from PostgreSQL 17 on.
		CREATE SEQUENCE %1$I.steps_step_id_seq;

		CREATE TABLE %1$I.steps (
			step_id bigint NOT NULL DEFAULT nextval(%2$L::regclass),
			group_id text NOT NULL,
			rollout_id text NOT NULL,
			step_no integer NOT NULL,
			turn integer,
			observation text,
			action text,
			tool text,
			args jsonb,
			ok boolean,
			next_observation text,
			state bigint,
			action_hash bigint,
			next_state bigint,
			reward float8 CHECK (reward > '-Infinity' AND reward < 'Infinity'),
			turn_reward float8 CHECK (turn_reward > '-Infinity' AND turn_reward < 'Infinity'),
			value float8 CHECK (value > '-Infinity' AND value < 'Infinity'),
			cost float8 CHECK (cost > 0 AND cost < 'Infinity'),
			prompt_token_ids integer[],
			response_token_ids integer[],
			response_mask boolean[] CHECK (cardinality(response_mask) = cardinality(response_token_ids)),
			rollout_logprobs real[] CHECK (cardinality(rollout_logprobs) = cardinality(response_token_ids)),
			policy_logprobs real[] CHECK (cardinality(policy_logprobs) = cardinality(response_token_ids)),
			metadata jsonb,
			PRIMARY KEY (group_id, rollout_id, step_no),
			UNIQUE (group_id, step_id),
			FOREIGN KEY (group_id, rollout_id) REFERENCES %1$I.rollouts ON UPDATE CASCADE ON DELETE CASCADE
		) PARTITION BY HASH (group_id);

		ALTER SEQUENCE %1$I.steps_step_id_seq OWNED BY %1$I.steps.step_id;
		$$
$ddl$;
COMMENT ON FUNCTION stepadv_internal.tables_ddl() IS 'part of create_tables: the tables, as a template for format()';

CREATE FUNCTION stepadv_internal.tables_comments() RETURNS text
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $ddl$
	SELECT $$
		COMMENT ON TABLE %1$I.rollouts IS 'rollouts: one row each; the group is the task (or the task within a policy version) whose rollouts are compared';
		COMMENT ON COLUMN %1$I.rollouts.outcome IS 'score of the whole rollout; NULL: not judged yet';
		COMMENT ON COLUMN %1$I.rollouts.success IS 'whether it reached its goal; NULL: not known';
		COMMENT ON COLUMN %1$I.rollouts.truncated IS 'cut off before it ended by itself';
		COMMENT ON COLUMN %1$I.rollouts.channel IS 'train or validation; give validation rollouts groups of their own';
		COMMENT ON COLUMN %1$I.rollouts.curation IS 'label of whoever selects rollouts for training';
		COMMENT ON TABLE %1$I.steps IS 'steps of rollouts: one decision each';
		COMMENT ON COLUMN %1$I.steps.step_id IS 'number of the step, from a sequence';
		COMMENT ON COLUMN %1$I.steps.step_no IS 'order of the steps within the rollout';
		COMMENT ON COLUMN %1$I.steps.turn IS 'turn of the conversation; several steps may share one (parallel tool calls)';
		COMMENT ON COLUMN %1$I.steps.observation IS 'what the agent saw before it acted';
		COMMENT ON COLUMN %1$I.steps.ok IS 'whether the tool call succeeded; NULL: not known';
		COMMENT ON COLUMN %1$I.steps.next_observation IS 'what it saw after the action, where that is not the observation of the next step';
		COMMENT ON COLUMN %1$I.steps.state IS 'identity of the state before the action; steps with equal state are compared; NULL: like no other';
		COMMENT ON COLUMN %1$I.steps.action_hash IS 'identity of the action; NULL: like no other';
		COMMENT ON COLUMN %1$I.steps.next_state IS 'identity of the state after the action';
		COMMENT ON COLUMN %1$I.steps.reward IS 'reward of the step alone; see the view rollout_rows for whether it counts';
		COMMENT ON COLUMN %1$I.steps.turn_reward IS 'turn-level reward, for mt_grpo and mt_rloo';
		COMMENT ON COLUMN %1$I.steps.value IS 'the critic''s V(state), for gae';
		COMMENT ON COLUMN %1$I.steps.cost IS 'cost of the step as an edge, for graphgpo; NULL: 1';
		COMMENT ON COLUMN %1$I.steps.prompt_token_ids IS 'the step''s prompt as the policy saw it';
		COMMENT ON COLUMN %1$I.steps.response_token_ids IS 'what the policy generated';
		COMMENT ON COLUMN %1$I.steps.response_mask IS 'which response tokens are trained on; as long as response_token_ids';
		COMMENT ON COLUMN %1$I.steps.rollout_logprobs IS 'log-probabilities of the response tokens under the policy that acted; as long as response_token_ids';
		COMMENT ON COLUMN %1$I.steps.policy_logprobs IS 'the same under the policy as it is now, for the view steps_ratios; as long as response_token_ids';
		$$
$ddl$;
COMMENT ON FUNCTION stepadv_internal.tables_comments() IS 'part of create_tables: what the tables and columns are, as a template for format()';

-- What counts as reward is decided here, in the open, and nowhere else.
CREATE FUNCTION stepadv_internal.make_rollout_rows(schema text, reward text) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $rows$
DECLARE
	outcome_reward text;
	step_reward text;
BEGIN
	outcome_reward := 'coalesce(r.outcome, r.success::integer::float8)';
	step_reward := 's.reward';
	IF make_rollout_rows.reward = 'steps' THEN
		outcome_reward := 'NULL::float8';
	ELSIF make_rollout_rows.reward = 'outcome' THEN
		step_reward := 'NULL::float8';
	END IF;
	EXECUTE format($$
		CREATE VIEW %1$I.rollout_rows %4$s AS
		SELECT s.group_id, s.rollout_id, s.step_no, s.step_id, s.state, s.action_hash, s.next_state,
			%2$s AS reward, NULL::boolean AS success, s.turn_reward, s.value, s.cost, s.tool, s.args, s.ok
		FROM %1$I.steps s
		UNION ALL
		SELECT r.group_id, r.rollout_id, NULL::integer, NULL::bigint, NULL::bigint, NULL::bigint, NULL::bigint,
			%3$s, r.success, NULL::float8, NULL::float8, NULL::float8, NULL::text, NULL::jsonb, NULL::boolean
		FROM %1$I.rollouts r
		$$, make_rollout_rows.schema, step_reward, outcome_reward,
		CASE WHEN current_setting('server_version_num')::integer >= 150000 THEN 'WITH (security_invoker = true)' ELSE '' END);
	EXECUTE format('COMMENT ON VIEW %I.rollout_rows IS %L', make_rollout_rows.schema,
		'what rollout_agg is fed: one row per step, and per rollout one with step_no NULL that carries its success; reward: '
		|| CASE make_rollout_rows.reward
			WHEN 'outcome' THEN 'the outcome (or, where it is NULL, success as 1 or 0), as terminal reward; rewards of steps are left out'
			WHEN 'steps' THEN 'that of the steps; the outcome is left out'
			ELSE 'those of the steps and the outcome (or, where it is NULL, success as 1 or 0) as terminal reward' END);
END
$rows$;
COMMENT ON FUNCTION stepadv_internal.make_rollout_rows(text, text) IS 'part of create_tables: the view rollout_rows, which rollout_agg is fed from';

CREATE FUNCTION stepadv_internal.check_tables(schema text, reward text, partitions integer) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	names text[] := ARRAY['rollouts', 'steps', 'rollout_rows', 'steps_step_id_seq'];
	taken text;
BEGIN
	IF check_tables.schema IS NULL OR check_tables.schema = '' THEN
		RAISE EXCEPTION 'schema must be given' USING ERRCODE = 'null_value_not_allowed';
	END IF;
	IF check_tables.reward IS NULL OR check_tables.reward NOT IN ('outcome', 'steps', 'sum') THEN
		RAISE EXCEPTION 'unknown kind of reward: %', coalesce(quote_literal(check_tables.reward), 'NULL')
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'reward is ''outcome'' (of the rollout), ''steps'' (their own rewards) or ''sum'' (both).';
	END IF;
	IF check_tables.partitions IS NULL OR check_tables.partitions NOT BETWEEN 1 AND 1000 THEN
		RAISE EXCEPTION 'partitions must be between 1 and 1000, not %', coalesce(check_tables.partitions::text, 'NULL')
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	FOR i IN 0 .. check_tables.partitions - 1 LOOP
		names := names || ARRAY['rollouts_p' || i, 'steps_p' || i];
	END LOOP;
	SELECT c.relname INTO taken
	FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
	WHERE n.nspname = check_tables.schema AND c.relname = ANY (names)
	ORDER BY array_position(names, c.relname::text) LIMIT 1;
	IF taken IS NOT NULL THEN
		RAISE EXCEPTION 'relation "%" already exists in schema "%"', taken, check_tables.schema
			USING ERRCODE = 'duplicate_table', HINT = 'Choose another schema for the tables.';
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.check_tables(text, text, integer) IS 'part of create_tables: error where what was given cannot be meant, or a name is taken';

CREATE FUNCTION stepadv.create_tables(schema text, reward text DEFAULT 'outcome', partitions integer DEFAULT 8, states text DEFAULT NULL)
RETURNS TABLE (view_name regclass, shows text)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $create_tables$
BEGIN
	PERFORM stepadv_internal.check_tables(schema, reward, partitions);
	IF NOT EXISTS (SELECT FROM pg_namespace n WHERE n.nspname = create_tables.schema) THEN
		EXECUTE format('CREATE SCHEMA %I', create_tables.schema);
	END IF;
	EXECUTE format(stepadv_internal.tables_ddl(), create_tables.schema, format('%I.steps_step_id_seq', create_tables.schema));
	FOR i IN 0 .. create_tables.partitions - 1 LOOP
		EXECUTE format($$
			CREATE TABLE %1$I.%2$I PARTITION OF %1$I.rollouts FOR VALUES WITH (MODULUS %4$s, REMAINDER %5$s);
			CREATE TABLE %1$I.%3$I PARTITION OF %1$I.steps FOR VALUES WITH (MODULUS %4$s, REMAINDER %5$s);
			$$, create_tables.schema, 'rollouts_p' || i, 'steps_p' || i, create_tables.partitions, i);
	END LOOP;
	IF current_setting('server_version_num')::integer < 150000 THEN
		EXECUTE format('CREATE TRIGGER refuse_lossy_move BEFORE UPDATE OF group_id ON %I.rollouts '
			'FOR EACH ROW WHEN (OLD.group_id <> NEW.group_id) EXECUTE FUNCTION stepadv_internal.refuse_lossy_move()', create_tables.schema);
	END IF;
	EXECUTE format('CREATE INDEX ON %1$I.rollouts (policy_version, model); CREATE INDEX ON %1$I.steps (step_id)', create_tables.schema);
	EXECUTE format(stepadv_internal.tables_comments(), create_tables.schema);
	PERFORM stepadv_internal.make_rollout_rows(schema, reward);
	RETURN QUERY SELECT a.view_name, a.shows
	FROM stepadv.attach(
		source => format('%I.rollout_rows', create_tables.schema)::regclass,
		group_by => ARRAY['group_id'], rollout_id => 'rollout_id'::text, step_no => 'step_no'::text,
		-- States of signatures go with actions that are.
		state => 'state'::text, action => CASE WHEN create_tables.states = 'signature' THEN NULL ELSE 'action_hash' END, reward => 'reward'::text, step_id => 'step_id'::text, success => 'success'::text,
		next_state => 'next_state'::text, value => 'value'::text, turn_reward => 'turn_reward'::text, cost => 'cost'::text,
		prefix => 'steps'::text, schema => NULL::text, options => '{}'::jsonb, columns => NULL::text[],
		show_steps => format('%I.steps', create_tables.schema)::regclass,
		show_rollouts => format('%I.rollouts', create_tables.schema)::regclass,
		logp_new => 'policy_logprobs'::text, logp_old => 'rollout_logprobs'::text, token_mask => 'response_mask'::text,
		states => create_tables.states, tool => 'tool'::text, args => 'args'::text, ok => 'ok'::text,
		policy_version => 'policy_version'::text, started_at => 'started_at'::text,
		features => NULL::text, contribution => NULL::text, grounded => NULL::text) a;
END
$create_tables$;

COMMENT ON FUNCTION stepadv.create_tables(text, text, integer, text) IS
'creates the tables rollouts and steps in the schema (made if it is not there), hash-partitioned by group_id, the view rollout_rows, which decides what counts as reward (''outcome'' of the rollout, ''steps'' their own, or the ''sum''), and on it the views of attach, named steps_…; states as in attach (the default is the column state; with ''signature'' actions are signatures too, of tool, args and ok); one row per view made; error when one of the names is taken';
-- Roles: what a column of the user's means, which types can serve, and how they
-- are cast.  Whoever adds a role or lets one more type serve adds a row here.

-- A kind of column accepts types by name, by category ("category S" is every
-- string type), by what they can be cast to, or any; the name goes first.
CREATE TABLE stepadv_internal.role_types (
	kind text NOT NULL,
	accepts text NOT NULL,
	expression text,		-- of %s, the column; NULL: refused
	PRIMARY KEY (kind, accepts)
);
COMMENT ON TABLE stepadv_internal.role_types IS 'which types serve as which kind of column, and the expression that makes of them what stepadv reads';
INSERT INTO stepadv_internal.role_types VALUES
	-- Integers need no cast to be compared with a bigint, and without one an index serves.
	('identity', 'smallint', '%s'), ('identity', 'integer', '%s'), ('identity', 'bigint', '%s'),
	('identity', 'text', 'stepadv.signature_hash(%s)'), ('identity', 'bytea', 'stepadv.signature_hash(%s)'),
	('identity', 'jsonb', 'stepadv.signature_hash(%s)'), ('identity', 'uuid', 'stepadv.signature_hash(%s)'),
	-- 1.0 and 1.00 are one number with two texts.
	('identity', 'numeric', 'stepadv.signature_hash(pg_catalog.trim_scale(%s)::text)'), ('identity', 'any', 'stepadv.signature_hash(%s::text)'),
	('order', 'smallint', '%s::integer'), ('order', 'integer', '%s::integer'), ('order', 'bigint', '%s::integer'),
	('number', 'double precision', '%s'), ('number', 'real', '%s::float8'), ('number', 'numeric', '%s::float8'), ('number', 'smallint', '%s::float8'),
	('number', 'integer', '%s::float8'), ('number', 'bigint', '%s::float8'), ('number', 'boolean', '%s::integer::float8'),
	('truth', 'boolean', '%s'),
	('word', 'category S', '%s::text'), ('word', 'category E', '%s::text'),
	('json', 'jsonb', '%s'), ('json', 'json', '%s::jsonb'), ('json', 'category S', 'pg_catalog.to_jsonb(%s::text)'),
	('version', 'category A', NULL), ('version', 'any', '%s'),
	-- A time without a zone is taken as UTC, whatever the session's zone is.
	('time', 'timestamp with time zone', '%s'), ('time', 'timestamp without time zone', '(%s AT TIME ZONE ''UTC'')'),
	('time', 'date', '(%s::timestamp AT TIME ZONE ''UTC'')'),
	('numbers', 'real[]', '%s'), ('numbers', 'double precision[]', '%s'), ('numbers', 'numeric[]', '%s::float8[]'),
	-- Trainers write masks of 0 and 1.
	('mask', 'boolean[]', '%s'), ('mask', 'smallint[]', '%s::integer[]::boolean[]'), ('mask', 'integer[]', '%s::boolean[]'), ('mask', 'bigint[]', '%s::integer[]::boolean[]'),
	('vector', 'real[]', '%s'), ('vector', 'double precision[]', '%s::real[]'), ('vector', 'numeric[]', '%s::real[]'), ('vector', 'smallint[]', '%s::real[]'),
	('vector', 'integer[]', '%s::real[]'), ('vector', 'bigint[]', '%s::real[]'),
	-- Such as that of pgvector.
	('vector', 'castable to real[]', '%s::real[]'),
	('share', 'double precision', '%s'), ('share', 'real', '%s::float8'), ('share', 'numeric', '%s::float8'), ('share', 'smallint', '%s::float8'),
	('share', 'integer', '%s::float8'), ('share', 'bigint', '%s::float8'),
	-- An element per token, or their number.
	('length', 'smallint', '%s::integer'), ('length', 'integer', '%s'), ('length', 'bigint', '%s::integer'), ('length', 'category A', 'pg_catalog.cardinality(%s)');

CREATE TABLE stepadv_internal.roles (
	role text PRIMARY KEY,
	place integer NOT NULL,	-- order of the roles of rollout_agg, which come first
	lives_in text NOT NULL,	-- 'source', 'steps' (that are shown), 'rollouts' or 'advantages' (of curation)
	kind text NOT NULL,
	must_be text			-- said where a type does not serve
);
COMMENT ON TABLE stepadv_internal.roles IS 'what a column can be for attach, where it is looked for, and what it must be';
INSERT INTO stepadv_internal.roles VALUES
	('step_id', 1, 'source', 'identity', NULL), ('rollout_id', 2, 'source', 'identity', NULL),
	('step_no', 3, 'source', 'order', 'step_no must be an integer; attach a view with, say, row_number() OVER (PARTITION BY group, rollout ORDER BY time).'),
	('state', 4, 'source', 'identity', NULL), ('action', 5, 'source', 'identity', NULL), ('reward', 6, 'source', 'number', 'reward must be a number or boolean.'),
	('success', 7, 'source', 'truth', 'success must be boolean; attach a view that says when a value means success.'),
	('next_state', 8, 'source', 'identity', NULL), ('value', 9, 'source', 'number', 'value must be a number or boolean.'),
	('turn_reward', 10, 'source', 'number', 'turn_reward must be a number or boolean.'), ('cost', 11, 'source', 'number', 'cost must be a number or boolean.'),
	('tool', 12, 'source', 'word', 'tool must be text.'), ('args', 13, 'source', 'json', 'args must be jsonb, json or text.'), ('ok', 14, 'source', 'truth', 'ok must be boolean.'),
	('logp_new', 15, 'steps', 'numbers', 'logp_new must be an array of real or double precision.'),
	('logp_old', 16, 'steps', 'numbers', 'logp_old must be an array of real or double precision.'),
	('token_mask', 17, 'steps', 'mask', 'token_mask must be an array of booleans, or of 0 and 1.'),
	('features', 18, 'steps', 'vector', 'features must be an array of numbers, or of a type with a cast to real[].'),
	('contribution', 19, 'steps', 'share', 'contribution must be a number.'), ('grounded', 20, 'steps', 'truth', 'grounded must be boolean.'),
	('policy_version', 21, 'rollouts', 'version', 'A rollout is of one version.'),
	('started_at', 22, 'rollouts', 'time', 'started_at must be a timestamp or a date; attach a view that converts it, say by to_timestamp().'),
	('advantage', 23, 'advantages', 'share', 'advantage must be a number.'), ('stderr', 24, 'advantages', 'share', 'stderr must be a number.'),
	('min_visits', 25, 'advantages', 'share', 'min_visits must be a number.'), ('outcome', 26, 'advantages', 'number', 'outcome must be a number or boolean.'),
	('tokens', 27, 'advantages', 'length', 'tokens must be an array with an element per token, or their number.');
GRANT SELECT ON stepadv_internal.role_types, stepadv_internal.roles TO PUBLIC;

-- What lies under a type's domains.
CREATE FUNCTION stepadv_internal.base_type(type oid) RETURNS oid
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	WITH RECURSIVE under(oid, typtype, typbasetype) AS (
		SELECT t.oid, t.typtype, t.typbasetype FROM pg_type t WHERE t.oid = base_type.type
		UNION ALL
		SELECT t.oid, t.typtype, t.typbasetype FROM under u JOIN pg_type t ON t.oid = u.typbasetype WHERE u.typtype = 'd'
	)
	SELECT u.oid FROM under u WHERE u.typtype <> 'd'
$$;
COMMENT ON FUNCTION stepadv_internal.base_type(oid) IS 'the type under a domain, at whatever depth; any other type itself';

-- NULL: there is no such column.
CREATE FUNCTION stepadv_internal.column_type(relation regclass, name text) RETURNS oid
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT a.atttypid FROM pg_attribute a
	WHERE a.attrelid = column_type.relation AND a.attname = column_type.name AND a.attnum > 0 AND NOT a.attisdropped
$$;
COMMENT ON FUNCTION stepadv_internal.column_type(regclass, text) IS 'declared type of a column; NULL when there is no such column';

CREATE FUNCTION stepadv_internal.relation_name(relation regclass) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT format('%I.%I', n.nspname, c.relname) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = relation_name.relation
$$;
COMMENT ON FUNCTION stepadv_internal.relation_name(regclass) IS 'qualified and quoted name of a relation; NULL when there is none';

-- The expression that makes of a value of a type what a kind of column is; NULL: it cannot serve.
CREATE FUNCTION stepadv_internal.role_expression(kind text, type oid) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT r.expression
	FROM stepadv_internal.role_types r JOIN pg_type t ON t.oid = role_expression.type
	WHERE r.kind = role_expression.kind
		AND (r.accepts IN (format_type(t.oid, NULL), 'category ' || t.typcategory::text, 'any')
			OR r.accepts = 'castable to real[]' AND EXISTS (SELECT FROM pg_cast c WHERE c.castsource = t.oid AND c.casttarget = 'real[]'::regtype))
	ORDER BY array_position(ARRAY[format_type(t.oid, NULL), 'category ' || t.typcategory::text, 'castable to real[]', 'any'], r.accepts)
	LIMIT 1
$$;
COMMENT ON FUNCTION stepadv_internal.role_expression(text, oid) IS 'the expression (of %s) that makes of a type''s value what a kind of column is; NULL where the type cannot serve';

-- The bigint, or integer, by which an expression is known.
CREATE FUNCTION stepadv_internal.identity(expression text, type oid) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT format(stepadv_internal.role_expression('identity'::text, b.type), CASE WHEN b.type <> identity.type THEN format('%s::%s', expression, format_type(b.type, NULL)) ELSE expression END)
	FROM stepadv_internal.base_type(identity.type) b(type)
$$;
COMMENT ON FUNCTION stepadv_internal.identity(text, oid) IS 'the expression that makes a bigint identity of an expression of the given type: integers as they are, all else hashed';

-- A column as what its role needs, over an alias; an error says why it cannot serve.
CREATE FUNCTION stepadv_internal.role_column(role text, relation regclass, name text, alias text) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	declared CONSTANT oid := stepadv_internal.column_type(relation, role_column.name);
	type CONSTANT oid := stepadv_internal.base_type(declared);
	r stepadv_internal.roles;
	expression text;
BEGIN
	SELECT * INTO STRICT r FROM stepadv_internal.roles o WHERE o.role = role_column.role;
	IF declared IS NULL AND r.role = 'state' AND role_column.name IN ('history', 'history_set', 'root', 'signature') THEN
		RAISE EXCEPTION 'column "%" given as % does not exist in %', role_column.name, r.role, stepadv_internal.relation_name(relation)
			USING ERRCODE = 'undefined_column', HINT = format('To have states made, write states => %L.', role_column.name);
	ELSIF declared IS NULL AND r.role IN ('features', 'contribution', 'grounded') THEN
		RAISE EXCEPTION 'column "%" given as % does not exist in %', role_column.name, r.role, stepadv_internal.relation_name(relation)
			USING ERRCODE = 'undefined_column', HINT = 'What _spa reads are columns of the relation of the shown steps.';
	ELSIF declared IS NULL THEN
		RAISE EXCEPTION 'column "%" given as % does not exist in %', role_column.name, r.role, stepadv_internal.relation_name(relation)
			USING ERRCODE = 'undefined_column';
	END IF;
	expression := stepadv_internal.role_expression(r.kind, type);
	IF expression IS NULL THEN
		RAISE EXCEPTION 'column "%" of % cannot serve as %: its type is %', role_column.name, stepadv_internal.relation_name(relation), r.role, format_type(type, NULL)
			USING ERRCODE = 'datatype_mismatch', HINT = r.must_be;
	END IF;
	RETURN format(expression, format('%s.%I', alias, role_column.name) || CASE WHEN type <> declared THEN '::' || format_type(type, NULL) ELSE '' END);
END
$$;
COMMENT ON FUNCTION stepadv_internal.role_column(text, regclass, text, text) IS 'a column, over an alias, as the expression that its role needs; error where it does not exist or its type cannot serve';
-- Methods: functions of a rollout_group that attach makes views of.

-- A table OF this type has a row per method: one is the extension's, others are
-- made by register_method for whoever calls it, and found by their row type.
CREATE TYPE stepadv.method AS (
	method text,			-- suffix of its view, name of its column where methods stand side by side
	function text,			-- with its argument types, as regprocedure writes it
	requires text[],		-- roles without which there is no such view
	uses text[],			-- what else it reads, of states and actions that must be made and of the full form of rollout_agg
	options_of text,		-- whose options it takes where it has none of its own
	shape text,				-- what a row is, for people
	place integer			-- among the extension's
);
COMMENT ON TYPE stepadv.method IS 'a method that attach makes a view of: suffix of the view, function of a rollout_group, roles that it requires and uses, whose options it borrows, what a row of it is';

CREATE TABLE stepadv_internal.methods OF stepadv.method (PRIMARY KEY (method));
COMMENT ON TABLE stepadv_internal.methods IS 'the methods of the extension, in the order in which _compare has them';
GRANT SELECT ON stepadv_internal.methods TO PUBLIC;
-- Functions by their qualified names, as the search_path has none of them.
INSERT INTO stepadv_internal.methods
SELECT v.method, p.oid::regprocedure::text, v.requires::text[], v.uses::text[], v.options_of, v.shape, v.place
FROM (VALUES
	('groups', 'group_summary', '{}', '{state}', NULL, 'a row per group', 10),
	('rollouts', 'rollouts', '{}', '{}', NULL, 'a row per rollout', 20),
	('returns', 'returns', '{reward}', '{}', NULL, 'a row per step', 30),
	('grpo', 'grpo', '{reward}', '{}', NULL, 'a row per step', 40),
	('rloo', 'rloo', '{reward}', '{}', NULL, 'a row per step', 50),
	('mt_grpo', 'mt_grpo', '{reward,turn_reward}', '{turn_reward}', NULL, 'a row per step', 60),
	('mt_rloo', 'mt_rloo', '{reward,turn_reward}', '{turn_reward}', NULL, 'a row per step', 70),
	('gae', 'gae', '{reward,value}', '{value}', NULL, 'a row per step', 80),
	('gigpo', 'gigpo', '{reward,state}', '{}', NULL, 'a row per step', 90),
	('graphgpo', 'graphgpo', '{reward,state}', '{next_state,cost}', NULL, 'a row per step', 100),
	('graph_nodes', 'graph_nodes', '{reward,state}', '{next_state,cost}', 'graphgpo', 'a row per state, with an example step', 110),
	('graph_edges', 'graph_edges', '{reward,state,action}', '{next_state,cost}', 'graphgpo', 'a row per edge of the state graph, with an example step', 120),
	('contribution', 'contribution', '{reward,state}', '{next_state,cost}', 'graphgpo', 'a row per rollout', 130),
	('contribution_summary', 'contribution_summary', '{reward,state}', '{next_state,cost}', 'graphgpo', 'a row per group and success', 140),
	('hgpo', 'hgpo', '{reward,state}', '{}', NULL, 'a row per step', 150),
	('tempo', 'tempo', '{reward,action}', '{}', NULL, 'a row per step', 160),
	('rtmc', 'rtmc', '{reward,state,action}', '{}', NULL, 'a row per step', 170),
	('rtmc_tree', 'rtmc_tree', '{reward,state,action}', '{}', 'rtmc', 'a row per edge of the rollout tree, with an example step', 180)
) AS v(method, function, requires, uses, options_of, shape, place)
JOIN pg_proc p ON p.pronamespace = 'stepadv'::regnamespace AND p.proname = v.function
	AND p.proargtypes[0] = 'stepadv.rollout_group'::regtype;

-- What a function of a group says of itself, and what is known of it as a method.
CREATE TYPE stepadv_internal.known_method AS (
	method text, function regprocedure, requires text[], uses text[], options_of text, shape text,
	ours boolean,			-- one of the extension's
	results text[],			-- columns that it returns
	parameters text[]		-- what can be said to it, by name
);
COMMENT ON TYPE stepadv_internal.known_method IS 'part of attach: a method, with what its function returns and takes';

-- What is written in a table of somebody's is no error for others: a function is
-- found by comparing its name with what is written, which is never parsed.
CREATE FUNCTION stepadv_internal.known_methods(methods regclass) RETURNS SETOF stepadv_internal.known_method
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	-- A table and nothing else, that may be read: reading it runs nobody's code.
	IF EXISTS (SELECT FROM pg_class c WHERE c.oid = known_methods.methods AND c.relkind = 'r' AND NOT c.relrowsecurity
		AND c.reloftype = 'stepadv.method'::regtype AND has_table_privilege(c.oid, 'SELECT') AND has_schema_privilege(c.relnamespace, 'USAGE'))
	THEN
		RETURN QUERY EXECUTE format($query$
			SELECT m.method, p.oid::regprocedure, coalesce(m.requires, '{}'), coalesce(m.uses, '{}'), m.options_of, coalesce(m.shape, ''), o.ours, r.names,
				coalesce(p.proargnames[2:p.pronargs], '{}')
			FROM (SELECT %L::boolean AS ours) o CROSS JOIN ONLY %s m JOIN pg_proc p ON p.oid::regprocedure::text = m.function
			CROSS JOIN LATERAL (SELECT array_agg(p.proargnames[i.i] ORDER BY i.i) AS names FROM generate_subscripts(p.proargmodes, 1) i(i) WHERE p.proargmodes[i.i] = 't') r
			WHERE p.proargtypes[0] = 'stepadv.rollout_group'::regtype AND r.names IS NOT NULL
				AND (o.ours OR m.method ~ '^[a-z_][a-z0-9_]*$' AND NOT EXISTS (SELECT FROM stepadv_internal.combined_views v WHERE v.suffix = m.method))
			ORDER BY CASE WHEN o.ours THEN m.place END, m.method$query$,
			known_methods.methods = 'stepadv_internal.methods'::regclass, stepadv_internal.relation_name(known_methods.methods));
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.known_methods(regclass) IS 'the methods in a table OF stepadv.method whose functions exist, with what they return and take; nothing for any other relation, or one that may not be read';

-- The methods for views of a role, by name: the extension's first, then those that
-- the role itself or a superuser registered, then those that the caller of attach
-- names ("schema.method").  A stranger's function gets into nobody's views; his
-- table is not even looked at.
CREATE FUNCTION stepadv_internal.methods_for(owner oid, named text[]) RETURNS SETOF stepadv_internal.known_method
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT (k).method, (k).function, (k).requires, (k).uses, (k).options_of, (k).shape, (k).ours, (k).results, (k).parameters
	FROM (
		SELECT DISTINCT ON ((k.k).method) k.k, c.believed, k.i
		FROM (
			SELECT t.oid, n.nspname, b.believed,
				b.believed < 4 OR t.relname = 'stepadv_methods' AND EXISTS (SELECT FROM unnest(methods_for.named) m(name) WHERE left(m.name, length(n.nspname) + 1) = n.nspname || '.') AS is_read
			FROM pg_class t JOIN pg_roles o ON o.oid = t.relowner JOIN pg_namespace n ON n.oid = t.relnamespace
			CROSS JOIN LATERAL (SELECT CASE WHEN t.oid = 'stepadv_internal.methods'::regclass THEN 1 WHEN t.relowner = methods_for.owner THEN 2 WHEN o.rolsuper THEN 3 ELSE 4 END AS believed) b
			WHERE t.reloftype = 'stepadv.method'::regtype
		) c
		CROSS JOIN LATERAL (SELECT k, row_number() OVER () AS i FROM stepadv_internal.known_methods(CASE WHEN c.is_read THEN c.oid::regclass END) k) k
		WHERE c.believed < 4 OR format('%s.%s', c.nspname, (k.k).method) = ANY (methods_for.named)
		ORDER BY (k.k).method, c.believed, c.nspname, k.i
	) m
	ORDER BY m.believed, m.i, (k).method
$$;
COMMENT ON FUNCTION stepadv_internal.methods_for(oid, text[]) IS 'the methods that attach makes views of, for views of a role';

CREATE FUNCTION stepadv.register_method(function regprocedure, requires text[] DEFAULT '{reward}', uses text[] DEFAULT '{}',
	method text DEFAULT NULL, options_of text DEFAULT NULL, shape text DEFAULT 'a row per step', schema text DEFAULT NULL) RETURNS regclass
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	known CONSTANT text[] := ARRAY(SELECT r.role FROM stepadv_internal.roles r WHERE r.lives_in = 'source' ORDER BY r.place);
	p pg_proc;
	name text;
	registry text;
	role text;
BEGIN
	SELECT * INTO p FROM pg_proc f WHERE f.oid = register_method.function;
	IF p.oid IS NULL THEN
		RAISE EXCEPTION 'function must be given' USING ERRCODE = 'null_value_not_allowed';
	END IF;
	name := coalesce(register_method.method, p.proname);
	IF p.proargtypes[0] IS DISTINCT FROM 'stepadv.rollout_group'::regtype OR 't' <> ALL (coalesce(p.proargmodes, '{i}')) THEN
		RAISE EXCEPTION 'function % is no method', register_method.function USING ERRCODE = 'wrong_object_type',
			HINT = 'Its first argument must be a stepadv.rollout_group, and it must be declared with RETURNS TABLE.';
	ELSIF shape = 'a row per step' AND 4 <> (
		SELECT count(*) FROM unnest(p.proargnames, p.proargmodes, p.proallargtypes) c(name, mode, type)
		WHERE c.mode = 't' AND (c.name, c.type) IN (('step_id', 'bigint'::regtype), ('rollout_id', 'bigint'::regtype), ('step_no', 'integer'::regtype), ('advantage', 'float8'::regtype)))
	THEN
		RAISE EXCEPTION 'function % does not return a row per step', register_method.function USING ERRCODE = 'wrong_object_type',
			HINT = 'A method with an advantage per step returns the columns step_id bigint, rollout_id bigint, step_no integer and advantage float8; for another, say by shape what a row is.';
	ELSIF p.pronargdefaults < p.pronargs - 1 OR '' = ANY (p.proargnames[2:p.pronargs]) OR 'v' = ANY (p.proargmodes) THEN
		RAISE EXCEPTION 'function % has a parameter without a name and a default', register_method.function USING ERRCODE = 'wrong_object_type',
			HINT = 'Options name parameters; whoever gives none gets the defaults.';
	ELSIF name !~ '^[a-z_][a-z0-9_]{0,47}$' THEN
		RAISE EXCEPTION 'method "%" cannot be the end of a view''s name', name USING ERRCODE = 'invalid_name', HINT = 'Use at most 48 lower-case letters, digits and underscores.';
	ELSIF name = ANY ('{rows,rows_with_states,shown_steps,shown_rollouts,known_runs,begun_runs,attachment,fresh,folded,changed,fresh_over_time,folded_over_time,step_id,rollout_id,step_no,success,return,policy_version,bucket,method}') THEN
		RAISE EXCEPTION 'method "%" would be taken for something else', name USING ERRCODE = 'invalid_name', HINT = 'Give another name by method => ''…''.';
	ELSIF EXISTS (SELECT FROM stepadv_internal.methods m WHERE m.method = name) OR name IN (SELECT v.suffix FROM stepadv_internal.combined_views v) THEN
		RAISE EXCEPTION 'method "%" is one of stepadv''s own', name USING ERRCODE = 'duplicate_object', HINT = 'Give another name by method => ''…''.';
	END IF;
	SELECT r INTO role FROM unnest(requires || uses) r WHERE r IS NULL OR r <> ALL (known) LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'unknown role: %', coalesce(quote_literal(role), 'NULL') USING ERRCODE = 'invalid_parameter_value', HINT = format('Roles: %s.', array_to_string(known, ', '));
	END IF;

	registry := format('%I.stepadv_methods', coalesce(register_method.schema, (SELECT n.nspname FROM pg_namespace n WHERE n.oid = p.pronamespace)));
	IF to_regclass(registry) IS NULL THEN
		EXECUTE format('CREATE TABLE %s OF stepadv.method (PRIMARY KEY (method))', registry);
		EXECUTE format('COMMENT ON TABLE %s IS %L', registry, 'methods of users, made by stepadv.register_method and read by stepadv.attach');
		-- It says no more than the catalog of functions, which everybody can read.
		EXECUTE format('GRANT SELECT ON %s TO PUBLIC', registry);
	ELSIF NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = registry::regclass AND c.relkind = 'r' AND c.reloftype = 'stepadv.method'::regtype
		AND pg_has_role(c.relowner, 'USAGE'))
	THEN
		RAISE EXCEPTION 'relation % is no table of methods of yours', registry USING ERRCODE = 'wrong_object_type', HINT = 'Name another schema by schema => ''…''.';
	END IF;
	EXECUTE format('INSERT INTO %s (method, function, requires, uses, options_of, shape) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (method) DO UPDATE SET function = $2, requires = $3, uses = $4, options_of = $5, shape = $6', registry)
		USING name, register_method.function::text, requires, uses, options_of, shape;
	RETURN registry::regclass;
END
$$;
COMMENT ON FUNCTION stepadv.register_method(regprocedure, text[], text[], text, text, text, text) IS
'lets a function of your own (rollout_group first, named parameters with defaults after it, RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, …, advantage float8), a row per step, in any language) take part in attach, _compare, _quadrants, _disagreements and the views over time; requires: roles without which there is no such view; uses: other roles that it reads; kept in the table stepadv_methods of the function''s schema (or of the one named), which is yours and is dumped with the database; attach takes those that whoever the views will belong to or a superuser registered, or that options => {"methods": ["schema.method"]} names; returns the table';

-- Options of a method, from those of attach: for all methods that know the
-- parameter and can take the value, then its own, or those of the one it follows.
CREATE FUNCTION stepadv_internal.method_options(m stepadv_internal.known_method, options jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	settings jsonb := '{}';
	own CONSTANT jsonb := CASE WHEN jsonb_typeof(options -> (m).method) = 'object' THEN options -> (m).method END;
	option record;
BEGIN
	FOR option IN
		SELECT e.key, e.value, e.value #>> '{}' AS word, t.type FROM jsonb_each(options) e
		JOIN LATERAL (SELECT p.proargtypes[i.i] AS type FROM pg_proc p, generate_series(1, p.pronargs - 1) i(i)
			WHERE p.oid = (m).function AND p.proargnames[i.i + 1] = e.key) t ON true
		-- normalise is a choice for most, and yes or no for rtmc.
		WHERE jsonb_typeof(e.value) NOT IN ('object', 'array') AND NOT (jsonb_typeof(e.value) = 'boolean' AND t.type = 'text'::regtype)
	LOOP
		BEGIN
			EXECUTE format('SELECT %L::%s', option.word, format_type(option.type, NULL));
			settings := settings || jsonb_build_object(option.key, option.value);
		EXCEPTION WHEN data_exception OR check_violation OR not_null_violation THEN
			NULL;
		END;
	END LOOP;
	IF own IS NOT NULL THEN
		RETURN settings || own;
	END IF;
	RETURN settings || (SELECT coalesce(jsonb_object_agg(e.key, e.value), '{}')
		FROM jsonb_each(CASE WHEN jsonb_typeof(options -> (m).options_of) = 'object' THEN options -> (m).options_of END) e
		WHERE e.key = ANY ((m).parameters));
END
$$;
COMMENT ON FUNCTION stepadv_internal.method_options(stepadv_internal.known_method, jsonb) IS 'what the options of attach say to one method';

-- Arguments of an estimator as the options give them: ", gamma => '0.9'::double
-- precision".  Those of a user's function are all written, by place and with their
-- types: no other function of the name, in a schema where others can make some, is
-- what the call means then.
CREATE FUNCTION stepadv_internal.arguments(estimator regprocedure, options jsonb) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	f pg_proc;
	made text := '';
	option record;
	type oid;
BEGIN
	SELECT * INTO STRICT f FROM pg_proc p WHERE p.oid = estimator;
	FOR option IN SELECT e.key, e.value, e.value #>> '{}' AS word FROM jsonb_each(arguments.options) e LOOP
		SELECT f.proargtypes[a.i - 1] INTO type FROM generate_series(2, f.pronargs) a(i) WHERE f.proargnames[a.i] = option.key;
		IF type IS NULL THEN
			RAISE EXCEPTION 'function % has no parameter "%"', f.proname, option.key
				USING ERRCODE = 'invalid_parameter_value',
					HINT = format('Its parameters: %s.', coalesce(nullif(array_to_string(f.proargnames[2:f.pronargs], ', '), ''), 'none'));
		ELSIF jsonb_typeof(option.value) IN ('object', 'array') THEN
			RAISE EXCEPTION 'option "%" must be a single value, not an %', option.key, jsonb_typeof(option.value)
				USING ERRCODE = 'invalid_parameter_value';
		END IF;
		made := made || format(', %I => %L::%s', option.key, option.word, format_type(type, NULL));
	END LOOP;
	IF f.pronamespace <> 'stepadv'::regnamespace THEN
		SELECT coalesce(string_agg(format(', (%s)::%s', CASE WHEN arguments.options ? f.proargnames[p.i] THEN quote_nullable(arguments.options ->> f.proargnames[p.i])
			ELSE pg_get_function_arg_default(f.oid, p.i) END, format_type(f.proargtypes[p.i - 1], NULL)), '' ORDER BY p.i), '')
		INTO made FROM generate_series(2, f.pronargs) p(i);
	END IF;
	-- The function itself knows which values it refuses: better now than in every
	-- query on the view.  A group of one step costs nothing.
	EXECUTE format('SELECT count(*) FROM %s((SELECT stepadv.rollout_agg(1::bigint, 1::bigint, 0, 1::bigint, 1::bigint, 1::float8,
		true, 1::bigint, 0::float8, 0::float8, 1::float8))%s)',
		(SELECT format('%I.%I', n.nspname, f.proname) FROM pg_namespace n WHERE n.oid = f.pronamespace), made);
	RETURN made;
END
$$;
COMMENT ON FUNCTION stepadv_internal.arguments(regprocedure, jsonb) IS 'options as named arguments of a function of a group, checked against its parameters and by a call';
-- Adapters: views that give the user's columns the names and types that stepadv
-- reads.  Columns are checked, hashed and cast here and nowhere else; and because
-- a view knows its columns by number, what a column means follows every rename.
--
--	<prefix>_rows				what is folded: a row per step, or rollout, of the source
--	<prefix>_rows_with_states	the same with states made of tool calls
--	<prefix>_shown_steps		what is shown beside a step
--	<prefix>_shown_rollouts		what is shown beside a rollout
--	<prefix>_known_runs			of a table of rollouts: policy version and start
--	<prefix>_begun_runs			of the source: policy version and start of each rollout
--
-- The columns of the group come first in all of them.  In _rows the others have
-- the names of the roles; elsewhere, beside columns of the user's, stepadv_….

-- What attach was told, and has checked.
CREATE TYPE stepadv_internal.given AS (
	source regclass, group_by text[],
	roles jsonb,			-- role -> column
	states text, options jsonb,
	columns text[],			-- base columns to show, NULL for all
	steps regclass, rollouts regclass
);
COMMENT ON TYPE stepadv_internal.given IS 'part of attach: what it was told, and has checked';

-- The group's columns as adapters call them: by their own names, unless a role's is the same.
CREATE FUNCTION stepadv_internal.group_names(group_by text[]) RETURNS text[]
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT array_agg(CASE WHEN c.name IN ('raw_rollout_id', 'action_signature') OR EXISTS (SELECT FROM stepadv_internal.roles r WHERE r.place <= 11 AND r.role = c.name)
		THEN 'base_' || c.name ELSE c.name END ORDER BY c.i)
	FROM unnest(group_names.group_by) WITH ORDINALITY c(name, i)
$$;
COMMENT ON FUNCTION stepadv_internal.group_names(text[]) IS 'part of attach: names of the group''s columns in the adapters';

CREATE FUNCTION stepadv_internal.group_items(g stepadv_internal.given) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT string_agg(format('s.%I AS %I', c.own, c.name), ', ' ORDER BY c.i)
	FROM unnest((g).group_by, stepadv_internal.group_names((g).group_by)) WITH ORDINALITY c(own, name, i)
$$;
COMMENT ON FUNCTION stepadv_internal.group_items(stepadv_internal.given) IS 'part of attach: the group''s columns in the select list of an adapter';

-- Rows of no group would otherwise make up one of their own.  A composite value
-- with NULLs in it is a group like any other, which IS NOT NULL denies.
CREATE FUNCTION stepadv_internal.group_filter(relation regclass, group_by text[]) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT ' WHERE ' || string_agg(format('s.%I IS DISTINCT FROM NULL', a.attname), ' AND ' ORDER BY array_position(group_filter.group_by, a.attname::text))
	FROM pg_attribute a WHERE a.attrelid = group_filter.relation AND a.attname = ANY (group_filter.group_by) AND NOT a.attnotnull
$$;
COMMENT ON FUNCTION stepadv_internal.group_filter(regclass, text[]) IS 'part of attach: the condition that a row has a group; NULL where all have';

-- How the rollout and the step of a row of s are known; raw: as the user knows
-- them, where they are hashed.  Without an id of its own a step is known by its
-- rollout and number.
CREATE FUNCTION stepadv_internal.keys(g stepadv_internal.given, relation regclass, OUT rollout text, OUT raw_rollout text, OUT step text, OUT raw_step text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	rollout := stepadv_internal.role_column('rollout_id'::text, relation, (g).roles ->> 'rollout_id', 's'::text);
	raw_rollout := format('s.%I', (g).roles ->> 'rollout_id');
	IF (g).roles ? 'step_id' THEN
		step := CASE WHEN stepadv_internal.column_type(relation, (g).roles ->> 'step_id') IS NOT NULL THEN
			stepadv_internal.role_column('step_id'::text, relation, (g).roles ->> 'step_id', 's'::text) END;
		raw_step := format('s.%I', (g).roles ->> 'step_id');
	ELSE
		step := format('stepadv.signature_hash(pg_catalog.int8send(%s::bigint) OPERATOR(pg_catalog.||) pg_catalog.int8send(s.%I::bigint))', rollout, (g).roles ->> 'step_no');
	END IF;
	raw_rollout := CASE WHEN rollout LIKE 'stepadv.%' THEN raw_rollout END;
	raw_step := CASE WHEN step LIKE 'stepadv.%' THEN raw_step END;
END
$$;
COMMENT ON FUNCTION stepadv_internal.keys(stepadv_internal.given, regclass) IS 'part of attach: the expressions by which a row''s rollout and step are known';

-- Options of signatures, checked: arguments of action_signature, and of state_hash.
CREATE FUNCTION stepadv_internal.signature_options(options jsonb, OUT of_action text, OUT of_state text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	settings CONSTANT jsonb := CASE WHEN jsonb_typeof(options -> 'signature') = 'object' THEN options -> 'signature' ELSE '{}' END;
	unknown text;
	vocabulary CONSTANT text := stepadv.user_vocabulary(settings ->> 'vocabulary')::text;
BEGIN
	SELECT o INTO unknown FROM jsonb_object_keys(settings) o WHERE o NOT IN ('flags', 'views', 'content_hash', 'path', 'root', 'vocabulary');
	IF FOUND THEN
		RAISE EXCEPTION 'signature has no parameter "%"', unknown USING ERRCODE = 'invalid_parameter_value',
			HINT = 'Its parameters: content_hash, path, root and vocabulary of action_signature, flags and views of state_hash.';
	ELSIF vocabulary = '[]' AND settings ->> 'vocabulary' IS NOT NULL THEN
		RAISE EXCEPTION 'tool_vocabulary has no tools of scaffold %', quote_literal(settings ->> 'vocabulary') USING ERRCODE = 'invalid_parameter_value';
	END IF;
	SELECT coalesce(string_agg(format(', %I => %L::text', e.key, e.value), '' ORDER BY e.key), '') INTO of_action
	FROM jsonb_each_text(settings) e WHERE e.key IN ('content_hash', 'path', 'root');
	-- The user's tools become a literal, as all options do.
	of_action := of_action || CASE WHEN vocabulary <> '[]' THEN format(', vocabulary => %L::jsonb', vocabulary) ELSE '' END;
	of_state := CASE WHEN settings ?| '{flags,views}' THEN
		format(', %L::text, %L::text', coalesce(settings ->> 'flags', 'count'), coalesce(settings ->> 'views', 'range')) ELSE '' END;
	EXECUTE format('SELECT stepadv.state_hash(stepadv.action_signature(''bash''::text, NULL::jsonb%s)%s)', of_action, of_state);
END
$$;
COMMENT ON FUNCTION stepadv_internal.signature_options(jsonb) IS 'part of attach: the options of signatures as arguments';

-- The action signature of a row of s; NULL where there is no tool.
CREATE FUNCTION stepadv_internal.signature_expression(g stepadv_internal.given) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	tool text;
	args text := 'NULL';
	ok text := 'NULL';
BEGIN
	IF NOT (g).roles ? 'tool' THEN
		RETURN NULL;
	END IF;
	tool := stepadv_internal.role_column('tool'::text, (g).source, (g).roles ->> 'tool', 's'::text);
	IF (g).roles ? 'args' THEN
		args := stepadv_internal.role_column('args'::text, (g).source, (g).roles ->> 'args', 's'::text);
	END IF;
	IF (g).roles ? 'ok' THEN
		ok := stepadv_internal.role_column('ok'::text, (g).source, (g).roles ->> 'ok', 's'::text);
	END IF;
	RETURN format('CASE WHEN s.%I IS NOT NULL THEN stepadv.action_signature(%s::text, %s::jsonb, %s::boolean%s) END', (g).roles ->> 'step_no', tool, args, ok,
		(stepadv_internal.signature_options((g).options)).of_action);
END
$$;
COMMENT ON FUNCTION stepadv_internal.signature_expression(stepadv_internal.given) IS 'part of attach: the expression for the action signature of a row of the source';

CREATE FUNCTION stepadv_internal.rows_query(g stepadv_internal.given) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	k record;
	signature text;
	items text;
	role text;
BEGIN
	-- In the order in which a user would look for what is wrong.
	items := stepadv_internal.group_items(g);
	FOR role IN SELECT r.role FROM stepadv_internal.roles r WHERE r.place <= 11 AND (g).roles ? r.role ORDER BY r.place LOOP
		PERFORM stepadv_internal.role_column(role, (g).source, (g).roles ->> role, 's'::text);
	END LOOP;
	signature := stepadv_internal.signature_expression(g);
	k := stepadv_internal.keys(g, (g).source);
	items := concat_ws(', ', items, k.step || ' AS step_id', k.rollout || ' AS rollout_id', stepadv_internal.role_column('step_no'::text, (g).source, (g).roles ->> 'step_no', 's'::text) || ' AS step_no');
	FOR role IN SELECT r.role FROM stepadv_internal.roles r WHERE r.place BETWEEN 4 AND 11 ORDER BY r.place LOOP
		IF role = 'state' AND coalesce((g).states, 'observation') <> 'observation' THEN
			CONTINUE;
		ELSIF (g).roles ? role THEN
			items := items || format(', %s AS %I', stepadv_internal.role_column(role, (g).source, (g).roles ->> role, 's'::text), role);
		ELSIF role = 'action' AND signature IS NOT NULL THEN
			items := items || format(', stepadv.signature_hash(%s) AS action', signature);
		END IF;
	END LOOP;
	items := items || coalesce(', ' || k.raw_rollout || ' AS raw_rollout_id', '');
	IF (g).states = 'signature' THEN
		items := items || format(', %s AS action_signature', signature);
	END IF;
	FOR role IN SELECT r.role FROM stepadv_internal.roles r WHERE r.lives_in = 'rollouts' AND (g).roles ->> r.role = ANY ((g).group_by) ORDER BY r.place LOOP
		items := items || format(', %s AS %I', stepadv_internal.role_column(role, (g).source, (g).roles ->> role, 's'::text), 'stepadv_' || role);
	END LOOP;
	RETURN format('SELECT %s FROM %s s%s', items, stepadv_internal.relation_name((g).source), stepadv_internal.group_filter((g).source, (g).group_by));
END
$$;
COMMENT ON FUNCTION stepadv_internal.rows_query(stepadv_internal.given) IS 'part of attach: the query of <prefix>_rows, a row per row of the source that has a group';

-- The group's columns come first in the window, so that a condition on them goes
-- below it.  The signature comes last in its order, not to order, but because
-- what stands there is computed once, for the window and the action.
CREATE FUNCTION stepadv_internal.states_query(g stepadv_internal.given, rows_view regclass) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT format('SELECT %1$s, stepadv.state_hash(x.action_signature%2$s) OVER (w ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS state%3$s'
			' FROM %4$s x WINDOW w AS (PARTITION BY %5$s, x.rollout_id ORDER BY x.step_no, x.action_signature)',
		string_agg(CASE
			WHEN a.attname = 'action' AND NOT (g).roles ? 'action' THEN 'stepadv.signature_hash(x.action_signature) AS action'
			ELSE format('x.%I', a.attname) END, ', ' ORDER BY a.attnum) FILTER (WHERE a.attname NOT IN ('next_state', 'action_signature')),
		o.of_state,
		CASE WHEN (g).roles ? 'next_state' THEN format(', CASE WHEN x.next_state IS NOT NULL THEN stepadv.state_hash(x.action_signature%s)'
			' OVER (w ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) END AS next_state', o.of_state) END,
		stepadv_internal.relation_name(rows_view),
		string_agg(format('x.%I', a.attname), ', ' ORDER BY a.attnum) FILTER (WHERE a.attnum <= cardinality((g).group_by)))
	FROM pg_attribute a, stepadv_internal.signature_options((g).options) o
	WHERE a.attrelid = rows_view AND a.attnum > 0
	GROUP BY o.of_state
$$;
COMMENT ON FUNCTION stepadv_internal.states_query(stepadv_internal.given, regclass) IS 'part of attach: the query of <prefix>_rows_with_states, the rows with states made of their tool calls';

-- The user's own columns of a relation that is shown, under their own names.
CREATE FUNCTION stepadv_internal.shown_items(g stepadv_internal.given, relation regclass, but text[]) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT string_agg(format(', s.%I AS %I', a.attname, CASE WHEN a.attname LIKE 'stepadv\_%' THEN 'base_' ELSE '' END || a.attname), '' ORDER BY a.attnum)
	FROM pg_attribute a
	WHERE a.attrelid = shown_items.relation AND a.attnum > 0 AND NOT a.attisdropped AND a.attname <> ALL ((g).group_by || but)
		AND ((g).columns IS NULL OR a.attname = ANY ((g).columns))
$$;
COMMENT ON FUNCTION stepadv_internal.shown_items(stepadv_internal.given, regclass, text[]) IS 'part of attach: the columns of the user''s to show, in the select list of an adapter';

CREATE FUNCTION stepadv_internal.shown_query(g stepadv_internal.given) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	k CONSTANT record := stepadv_internal.keys(g, (g).steps);
	items text := concat_ws(', ', stepadv_internal.group_items(g), k.rollout || ' AS stepadv_rollout', k.step || ' AS stepadv_step',
		format('s.%I AS stepadv_no', (g).roles ->> 'step_no'), k.raw_rollout || ' AS stepadv_rollout_id', k.raw_step || ' AS stepadv_step_id');
	role text;
BEGIN
	FOR role IN
		SELECT r.role FROM stepadv_internal.roles r
		WHERE (g).roles ? r.role AND (r.lives_in = 'steps' OR r.role = 'value' AND (g).roles ?| '{features,contribution}') ORDER BY r.place
	LOOP
		items := items || format(', %s AS %I', stepadv_internal.role_column(role, (g).steps, (g).roles ->> role, 's'::text), 'stepadv_' || role);
	END LOOP;
	RETURN format('SELECT %s%s FROM %s s', items, stepadv_internal.shown_items(g, (g).steps, '{}'::text[]), stepadv_internal.relation_name((g).steps));
END
$$;
COMMENT ON FUNCTION stepadv_internal.shown_query(stepadv_internal.given) IS 'part of attach: the query of <prefix>_shown_steps, what is shown beside a step, with what is known of the step there';

CREATE FUNCTION stepadv_internal.shown_rollouts_query(g stepadv_internal.given) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT format('SELECT %s%s FROM %s s', concat_ws(', ', stepadv_internal.group_items(g), k.rollout || ' AS stepadv_rollout', k.raw_rollout || ' AS stepadv_rollout_id'),
		stepadv_internal.shown_items(g, (g).rollouts, ARRAY[(g).roles ->> 'rollout_id']), stepadv_internal.relation_name((g).rollouts))
	FROM stepadv_internal.keys(ROW((g).source, (g).group_by, (g).roles - 'step_id', NULL, NULL, NULL, NULL, NULL)::stepadv_internal.given, (g).rollouts) k
$$;
COMMENT ON FUNCTION stepadv_internal.shown_rollouts_query(stepadv_internal.given) IS 'part of attach: the query of <prefix>_shown_rollouts, what is shown beside a rollout';

-- Where policy_version and started_at are: in the group, in the table of rollouts, in the source.
CREATE FUNCTION stepadv_internal.run_place(g stepadv_internal.given, role text) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	name CONSTANT text := (g).roles ->> role;
BEGIN
	IF name = ANY ((g).group_by) THEN
		RETURN 'group';
	ELSIF stepadv_internal.column_type((g).rollouts, name) IS NOT NULL THEN
		RETURN 'rollouts';
	ELSIF stepadv_internal.column_type((g).source, name) IS NOT NULL THEN
		RETURN 'source';
	ELSIF name IS NOT NULL THEN
		RAISE EXCEPTION 'column "%" given as % does not exist in %', name, role,
			concat_ws(' or ', stepadv_internal.relation_name((g).rollouts), stepadv_internal.relation_name((g).source)) USING ERRCODE = 'undefined_column';
	END IF;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION stepadv_internal.run_place(stepadv_internal.given, text) IS 'part of attach: where a column that says something of a rollout is found; error where it is not';

CREATE FUNCTION stepadv_internal.runs_query(g stepadv_internal.given) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	k record;
	items text := '';
	role text;
BEGIN
	FOR role IN SELECT r.role FROM stepadv_internal.roles r WHERE r.lives_in = 'rollouts' AND stepadv_internal.run_place(g, r.role) = 'rollouts' ORDER BY r.place LOOP
		items := items || format(', %s AS %I', stepadv_internal.role_column(role, (g).rollouts, (g).roles ->> role, 's'::text), 'stepadv_' || role);
	END LOOP;
	IF items = '' THEN
		RETURN NULL;
	END IF;
	k := stepadv_internal.keys(ROW((g).source, (g).group_by, (g).roles - 'step_id', NULL, NULL, NULL, NULL, NULL)::stepadv_internal.given, (g).rollouts);
	RETURN format('SELECT %s%s FROM %s s', concat_ws(', ', stepadv_internal.group_items(g), k.rollout || ' AS stepadv_rollout', k.raw_rollout || ' AS stepadv_rollout_id'),
		items, stepadv_internal.relation_name((g).rollouts));
END
$$;
COMMENT ON FUNCTION stepadv_internal.runs_query(stepadv_internal.given) IS 'part of attach: the query of <prefix>_known_runs, what the table of rollouts knows of their runs; NULL where it says nothing';

-- Rows of one rollout need not agree: it is of the policy that began it, and
-- started with its earliest row.
CREATE FUNCTION stepadv_internal.began_query(g stepadv_internal.given) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	k record;
	items text := '';
BEGIN
	IF stepadv_internal.run_place(g, 'policy_version'::text) = 'source' THEN
		items := format(', (pg_catalog.array_agg(%1$s ORDER BY s.%2$I) FILTER (WHERE %1$s IS NOT NULL))[1] AS stepadv_policy_version',
			stepadv_internal.role_column('policy_version'::text, (g).source, (g).roles ->> 'policy_version', 's'::text), (g).roles ->> 'step_no');
	END IF;
	IF stepadv_internal.run_place(g, 'started_at'::text) = 'source' THEN
		items := items || format(', pg_catalog.min(%s) AS stepadv_started_at', stepadv_internal.role_column('started_at'::text, (g).source, (g).roles ->> 'started_at', 's'::text));
	END IF;
	IF items = '' THEN
		RETURN NULL;
	END IF;
	k := stepadv_internal.keys(g, (g).source);
	RETURN format('SELECT %1$s, %2$s AS stepadv_rollout%3$s FROM %4$s s%5$s GROUP BY %6$s, %2$s', stepadv_internal.group_items(g), k.rollout, items,
		stepadv_internal.relation_name((g).source), stepadv_internal.group_filter((g).source, (g).group_by),
		(SELECT string_agg(format('s.%I', c.name), ', ' ORDER BY c.i) FROM unnest((g).group_by) WITH ORDINALITY c(name, i)));
END
$$;
COMMENT ON FUNCTION stepadv_internal.began_query(stepadv_internal.given) IS 'part of attach: the query of <prefix>_begun_runs, what the source''s rows say of the run that their rollout is of; NULL where they say nothing';
-- Views over the adapters: what every one of them is made of.  All that these
-- functions know is the attachment and the catalog, so that views can be made
-- anew at any time: by maintain, by unmaintain, after an update of the extension.
--
-- Aliases: x a row of an adapter, g a group, a what an estimator says, b what is
-- shown beside a step, r beside a rollout, w the run of a rollout.

CREATE FUNCTION stepadv_internal.has_column(relation regclass, name text) RETURNS boolean
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$ SELECT stepadv_internal.column_type(relation, name) IS NOT NULL $$;
COMMENT ON FUNCTION stepadv_internal.has_column(regclass, text) IS 'whether a relation has a column; false for no relation';

-- The group's columns, as the adapters and what is kept call them.
CREATE FUNCTION stepadv_internal.group_columns(relation regclass, number integer) RETURNS text[]
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$ SELECT array_agg(a.attname::text ORDER BY a.attnum) FROM pg_attribute a WHERE a.attrelid = relation AND a.attnum BETWEEN 1 AND number $$;
COMMENT ON FUNCTION stepadv_internal.group_columns(regclass, integer) IS 'the first columns of a relation of an attachment: those of the group';

CREATE FUNCTION stepadv_internal.list(names text[], template text, separator text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$ SELECT string_agg(format(list.template, u.name, u.i), list.separator ORDER BY u.i) FROM unnest(list.names) WITH ORDINALITY u(name, i) $$;
COMMENT ON FUNCTION stepadv_internal.list(text[], text, text) IS 'names as SQL: each in the place of %1$I of the template, its number in that of %2$s';

-- The condition that two aliases are of one group.
CREATE FUNCTION stepadv_internal.same_group(one text, one_view regclass, other text, other_view regclass, number integer) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT string_agg(format('%s.%I %s %s.%I', one, o.attname, stepadv_internal.equality_operator(o.atttypid), other, t.attname), ' AND ' ORDER BY o.attnum)
	FROM pg_attribute o JOIN pg_attribute t ON t.attrelid = other_view AND t.attnum = o.attnum
	WHERE o.attrelid = one_view AND o.attnum BETWEEN 1 AND number
$$;
COMMENT ON FUNCTION stepadv_internal.same_group(text, regclass, text, regclass, integer) IS 'the condition that rows of two relations of an attachment are of one group, by the equality of the columns'' types';

CREATE FUNCTION stepadv_internal.free_name(taken text[], name text, prefix text) RETURNS text
LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	WHILE name = ANY (taken) LOOP
		name := prefix || name;
	END LOOP;
	RETURN name;
END
$$;
COMMENT ON FUNCTION stepadv_internal.free_name(text[], text, text) IS 'a name that is not taken: what comes first keeps its name, the later takes a prefix';

-- What feeds a column of an adapter, where that is one column as it is.
CREATE FUNCTION stepadv_internal.feeds(view regclass, name text, OUT relation regclass, OUT number integer)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT c.relation, c.column_number FROM stepadv_internal.view_columns(feeds.view) c WHERE c.name = feeds.name AND c.plain
$$;
COMMENT ON FUNCTION stepadv_internal.feeds(regclass, text) IS 'the column that a column of an adapter is, under another name; NULL where it is computed';

-- Whether an index leads to the rows of one group: its first columns are those
-- of the group, in any order.
CREATE FUNCTION stepadv_internal.by_group(view regclass, number integer) RETURNS boolean
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	WITH key AS (SELECT c.relation, c.column_number FROM stepadv_internal.view_columns(by_group.view) c WHERE c.number <= by_group.number AND c.plain)
	SELECT EXISTS (
		SELECT FROM pg_index i
		WHERE i.indrelid = (SELECT min(k.relation::oid) FROM key k) AND i.indisvalid AND i.indpred IS NULL AND i.indnkeyatts >= by_group.number
			AND (SELECT count(DISTINCT k.column_number) FROM key k JOIN generate_series(0, by_group.number - 1) p(p) ON i.indkey[p.p] = k.column_number) = by_group.number)
$$;
COMMENT ON FUNCTION stepadv_internal.by_group(regclass, integer) IS 'whether an index of what an adapter reads begins with the columns of the group';

-- The row of a step is found again by an integer key that an index vouches for,
-- or else by rollout and number, which rollout_agg has made sure are unique.
CREATE FUNCTION stepadv_internal.step_is_key(shown regclass, number integer) RETURNS boolean
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	WITH key AS (
		SELECT c.relation, c.column_number, c.name = 'stepadv_step' AS is_step FROM stepadv_internal.view_columns(step_is_key.shown) c
		WHERE c.plain AND (c.number <= step_is_key.number OR c.name = 'stepadv_step')
	)
	SELECT EXISTS (
		SELECT FROM pg_index i
		WHERE i.indrelid = (SELECT k.relation FROM key k WHERE k.is_step) AND i.indisunique AND i.indimmediate AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL
			AND (SELECT bool_and(k.column_number IS NOT NULL) AND bool_or(k.is_step)
				FROM generate_series(0, i.indnkeyatts - 1) p(p) LEFT JOIN key k ON k.column_number = i.indkey[p.p]))
$$;
COMMENT ON FUNCTION stepadv_internal.step_is_key(regclass, integer) IS 'whether an index vouches for the step''s key in what an adapter of steps reads';

-- The relation g: a row per group, with its columns and the group as a value,
-- fed with the roles that are read.  over: the rows to fold instead of the
-- adapter's, with further columns that divide the groups.
CREATE FUNCTION stepadv_internal.fold(a stepadv_internal.attached, reads text[], over text, divided_by text[]) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	keys CONSTANT text[] := stepadv_internal.group_columns((a).rows, (a).n_group_columns);
	reads_state CONSTANT boolean := 'state' = ANY (reads);
	history CONSTANT text := CASE (a).states WHEN 'history' THEN 'sequence' WHEN 'history_set' THEN 'set' WHEN 'root' THEN 'root' END;
	relation CONSTANT regclass := stepadv_internal.rows_for(a, reads);
	-- In the order of rollout_agg's arguments: the shortest of its forms that will do.
	roles text[] := '{step_id,rollout_id,step_no,state,action,reward,success,next_state,value,turn_reward,cost}';
	types CONSTANT text[] := '{bigint,bigint,integer,bigint,bigint,float8,boolean,bigint,float8,float8,float8}';
	value text;
BEGIN
	-- A value that is kept has every role that any function reads.
	IF (a).folded IS NOT NULL AND over IS NULL THEN
		RETURN format('(SELECT %s, c.rollouts AS %s FROM %s c) g', (SELECT string_agg(format('c.%I AS %I', k.kept, k.name), ', ' ORDER BY k.i)
			FROM unnest(stepadv_internal.group_columns((a).folded, (a).n_group_columns), keys) WITH ORDINALITY k(kept, name, i)),
			stepadv_internal.value_name(a), stepadv_internal.relation_name((a).folded));
	END IF;
	roles := roles[1:CASE
		WHEN EXISTS (SELECT FROM unnest(roles[8:]) r WHERE r = ANY (reads) AND stepadv_internal.has_column(relation, r)) THEN 11
		WHEN stepadv_internal.has_column(relation, 'success'::text) THEN 7
		ELSE 6 END];
	SELECT string_agg(CASE
			WHEN stepadv_internal.has_column(relation, r.role) AND (r.i <= 3 OR r.role IN ('reward', 'success') OR r.role = ANY (reads)
				-- A history of states is one of actions.
				OR r.role = 'action' AND reads_state AND history IS NOT NULL) THEN format('x.%I::%s', r.role, types[r.i])
			ELSE 'NULL::' || types[r.i] END, ', ' ORDER BY r.i)
	INTO value FROM unnest(roles) WITH ORDINALITY r(role, i);
	value := format('stepadv.rollout_agg(%s)', value);
	IF reads_state AND history IS NOT NULL THEN
		value := format('stepadv.history_states(%s, %L::text)', value, history);
	END IF;
	RETURN format('(SELECT %1$s, %2$s AS %3$s FROM %4$s x GROUP BY %1$s) g', stepadv_internal.list(keys || divided_by, 'x.%1$I'::text, ', '::text), value,
		stepadv_internal.value_name(a), coalesce(over, stepadv_internal.relation_name(relation)));
END
$$;

-- Rows with states made of tool calls where states are read, else without.
CREATE FUNCTION stepadv_internal.rows_for(a stepadv_internal.attached, reads text[]) RETURNS regclass
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$ SELECT CASE WHEN 'state' = ANY (reads) THEN coalesce((a).stated, (a).rows) ELSE (a).rows END $$;
COMMENT ON FUNCTION stepadv_internal.rows_for(stepadv_internal.attached, text[]) IS 'part of attach: the adapter to fold for functions that read these roles';

CREATE FUNCTION stepadv_internal.value_name(a stepadv_internal.attached) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$ SELECT CASE WHEN 'rollouts' = ANY (stepadv_internal.group_columns((a).rows, (a).n_group_columns)) THEN 'rollouts_of_group' ELSE 'rollouts' END $$;
COMMENT ON FUNCTION stepadv_internal.value_name(stepadv_internal.attached) IS 'part of attach: what the group as a value is called in g';
COMMENT ON FUNCTION stepadv_internal.fold(stepadv_internal.attached, text[], text, text[]) IS 'part of attach: the relation g, a row per group with its columns and the group as a value, fed with the roles that are read';

-- The join that brings an adapter's columns to rows that know the group g.
--
-- Flat, it lets the planner choose; but it does not know that a list of groups
-- is a list of few, and would read the whole relation for them.  So where an
-- index leads to a group's rows they are fetched group by group.  DISTINCT ON
-- the keys (which are unique anyway) makes the planner see that the join adds
-- no rows, so that it leaves it out when nobody asks for these columns.
CREATE FUNCTION stepadv_internal.join_to(a stepadv_internal.attached, alias text, view regclass, keys text[], targets text[]) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT CASE WHEN stepadv_internal.by_group(view, (a).n_group_columns) THEN
		format(' LEFT JOIN LATERAL (SELECT DISTINCT ON (%s) s.* FROM %s s WHERE %s) %s ON %s', stepadv_internal.list(keys, 's.%1$I'::text, ', '::text), stepadv_internal.relation_name(view),
			stepadv_internal.same_group('s'::text, view, 'g'::text, (a).rows, (a).n_group_columns), alias, c.same_key)
		ELSE format(' LEFT JOIN %s %s ON %s AND %s', stepadv_internal.relation_name(view), alias,
			stepadv_internal.same_group(alias, view, 'g'::text, (a).rows, (a).n_group_columns), c.same_key) END
	FROM (SELECT string_agg(format('%s.%I OPERATOR(pg_catalog.=) %s', alias, k.key, k.target), ' AND ' ORDER BY k.i)
		FROM unnest(keys, targets) WITH ORDINALITY k(key, target, i)) c(same_key)
$$;
COMMENT ON FUNCTION stepadv_internal.join_to(stepadv_internal.attached, text, regclass, text[], text[]) IS 'part of attach: the join that brings an adapter''s columns to rows of a group g';

-- Columns of the user's to show, of an adapter: all that are not stepadv's, but
-- for those that stand there already, under the very name.
CREATE FUNCTION stepadv_internal.own_columns(a stepadv_internal.attached, view regclass, but text[]) RETURNS text[]
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT coalesce(array_agg(c.attname::text ORDER BY c.attnum), '{}')
	FROM pg_attribute c
	CROSS JOIN LATERAL (SELECT CASE c.attname WHEN 'rollout_id' THEN '{stepadv_rollout_id,stepadv_rollout}' WHEN 'step_id' THEN '{stepadv_step_id,stepadv_step}'
		WHEN 'step_no' THEN '{stepadv_no}' ELSE ARRAY['stepadv_' || c.attname] END::text[] AS same) n
	WHERE c.attrelid = own_columns.view AND c.attnum > (a).n_group_columns AND NOT c.attisdropped AND c.attname NOT LIKE 'stepadv\_%'
		AND NOT (c.attname = ANY (own_columns.but) AND EXISTS (SELECT FROM unnest(n.same) s
			WHERE stepadv_internal.feeds(own_columns.view, s) = stepadv_internal.feeds(own_columns.view, c.attname::text)))
$$;
COMMENT ON FUNCTION stepadv_internal.own_columns(stepadv_internal.attached, regclass, text[]) IS 'part of attach: the user''s columns of an adapter that a view shows beside the given ones';
-- One view per method, and how a view is made.

-- The condition that rows of two adapters are of one rollout: by the user's own
-- id where it can be compared, so that an index serves and vouches for there
-- being but one, else by what it is known by.
CREATE FUNCTION stepadv_internal.same_rollout(one text, one_view regclass, other text, other_view regclass) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT CASE WHEN t.type = u.type AND stepadv_internal.base_type(t.type) IN ('text'::regtype, 'varchar'::regtype, 'uuid'::regtype)
		THEN format('%s.%I %s %s.%I', one, n.raw, stepadv_internal.equality_operator(t.type), other, m.raw)
		ELSE format('%s.%I OPERATOR(pg_catalog.=) %s.%I', one, n.key, other, m.key) END
	FROM (VALUES (one_view, other_view)) v(n, m)
	CROSS JOIN LATERAL (SELECT CASE WHEN stepadv_internal.has_column(v.n, 'stepadv_rollout'::text) THEN 'stepadv_rollout' ELSE 'rollout_id' END AS key,
		CASE WHEN stepadv_internal.has_column(v.n, 'stepadv_rollout'::text) THEN 'stepadv_rollout_id' ELSE 'raw_rollout_id' END AS raw) n
	CROSS JOIN LATERAL (SELECT CASE WHEN stepadv_internal.has_column(v.m, 'stepadv_rollout'::text) THEN 'stepadv_rollout' ELSE 'rollout_id' END AS key,
		CASE WHEN stepadv_internal.has_column(v.m, 'stepadv_rollout'::text) THEN 'stepadv_rollout_id' ELSE 'raw_rollout_id' END AS raw) m
	CROSS JOIN LATERAL (SELECT stepadv_internal.column_type(v.n, n.raw) AS type) t
	CROSS JOIN LATERAL (SELECT stepadv_internal.column_type(v.m, m.raw) AS type) u
$$;
COMMENT ON FUNCTION stepadv_internal.same_rollout(text, regclass, text, regclass) IS 'part of attach: the condition that rows of two adapters are of one rollout';

-- The columns that a view shows of the user's, and of which relation: alias b of
-- steps, r of rollouts; and what each is called, after what is called so already.
CREATE FUNCTION stepadv_internal.shown_columns(a stepadv_internal.attached, kind text, taken text[])
RETURNS TABLE (alias text, name text, called text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	results CONSTANT text[] := taken;
	run CONSTANT record := stepadv_internal.feeds((a).runs, 'stepadv_policy_version'::text);
BEGIN
	IF kind IN ('step', 'row', 'edge') THEN
		alias := CASE kind WHEN 'row' THEN 'g' ELSE 'b' END;
		FOR name IN SELECT unnest(stepadv_internal.own_columns(a, (a).shown, ARRAY(SELECT r FROM unnest(results) r WHERE r IN ('rollout_id', 'step_no', 'step_id')))) LOOP
			called := stepadv_internal.free_name(taken, name, 'base_'::text);
			taken := taken || called;
			RETURN NEXT;
		END LOOP;
	END IF;
	IF kind IN ('step', 'row', 'rollout') AND (a).shown_rollouts IS NOT NULL THEN
		alias := 'r';
		FOR name IN SELECT unnest(stepadv_internal.own_columns(a, (a).shown_rollouts, '{}'::text[])) LOOP
			CONTINUE WHEN name = 'policy_version' AND name = ANY (results) AND stepadv_internal.feeds((a).shown_rollouts, name) = run;
			called := stepadv_internal.free_name(taken, name, CASE kind WHEN 'rollout' THEN 'base_' ELSE 'rollout_' END);
			taken := taken || called;
			RETURN NEXT;
		END LOOP;
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.shown_columns(stepadv_internal.attached, text, text[]) IS 'part of attach: the user''s columns beside a view''s own';

-- The joins that bring what is shown.
CREATE FUNCTION stepadv_internal.shown_joins(a stepadv_internal.attached, kind text, aliases text[]) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	joins text := '';
	group_list CONSTANT text := stepadv_internal.list(stepadv_internal.group_columns((a).rows, (a).n_group_columns), 's.%1$I'::text, ', '::text);
BEGIN
	IF 'b' = ANY (aliases) AND (kind = 'edge' OR kind = 'step' AND stepadv_internal.step_is_key((a).shown, (a).n_group_columns)) THEN
		joins := stepadv_internal.join_to(a, 'b'::text, (a).shown, '{stepadv_step}'::text[], '{a.step_id}'::text[]);
	ELSIF 'b' = ANY (aliases) AND kind = 'step' THEN
		joins := stepadv_internal.join_to(a, 'b'::text, (a).shown, '{stepadv_rollout,stepadv_no}'::text[], '{a.rollout_id,a.step_no}'::text[]);
	ELSIF 'b' = ANY (aliases) AND kind = 'rollout' THEN
		-- One row per rollout must first be made.
		joins := CASE WHEN stepadv_internal.by_group((a).shown, (a).n_group_columns) THEN
			format(' LEFT JOIN LATERAL (SELECT DISTINCT ON (s.rollout_id) s.rollout_id, s.raw_rollout_id FROM %s s WHERE %s) b ON b.rollout_id OPERATOR(pg_catalog.=) a.rollout_id',
				stepadv_internal.relation_name((a).rows), stepadv_internal.same_group('s'::text, (a).rows, 'g'::text, (a).rows, (a).n_group_columns))
			ELSE format(' LEFT JOIN (SELECT DISTINCT %s, s.rollout_id, s.raw_rollout_id FROM %s s) b ON %s AND b.rollout_id OPERATOR(pg_catalog.=) a.rollout_id',
				group_list, stepadv_internal.relation_name((a).rows), stepadv_internal.same_group('b'::text, (a).rows, 'g'::text, (a).rows, (a).n_group_columns)) END;
	END IF;
	IF 'r' = ANY (aliases) AND kind = 'row' THEN
		joins := format(' LEFT JOIN %s r ON %s AND %s', stepadv_internal.relation_name((a).shown_rollouts),
			stepadv_internal.same_group('r'::text, (a).shown_rollouts, 'g'::text, (a).shown, (a).n_group_columns),
			stepadv_internal.same_rollout('r'::text, (a).shown_rollouts, 'g'::text, (a).shown));
	ELSIF 'r' = ANY (aliases) THEN
		joins := joins || stepadv_internal.join_to(a, 'r'::text, (a).shown_rollouts, '{stepadv_rollout}'::text[], '{a.rollout_id}'::text[]);
	END IF;
	RETURN joins;
END
$$;
COMMENT ON FUNCTION stepadv_internal.shown_joins(stepadv_internal.attached, text, text[]) IS 'part of attach: the joins that bring what a view shows beside its own columns';

-- The select list of a view, and the joins that it needs: the columns of the
-- group, those of the function (results), ids as the user knows them first, then
-- what is shown.  What comes first keeps its name, the later takes base_ or rollout_.
--
-- kind says what a row is: step, edge (with an example step), rollout, group,
-- value (the group itself), or row (a step of the adapter, with no group folded).
-- made: a column of the results -> its expression, where it is none of a's;
-- aliases: of b and r those that these expressions read.
CREATE FUNCTION stepadv_internal.beside(a stepadv_internal.attached, kind text, results text[], made jsonb, aliases text[], OUT items text, OUT joins text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	max_length CONSTANT integer := current_setting('max_identifier_length')::integer;
	steps CONSTANT text := CASE kind WHEN 'row' THEN 'g' ELSE 'b' END;
	names text[] := results;
	list text[] := '{}';
	name text;
	shown record;
BEGIN
	FOREACH name IN ARRAY stepadv_internal.group_columns((a).rows, (a).n_group_columns) LOOP
		names := names || stepadv_internal.free_name(names, name, 'base_'::text);
		list := list || format('g.%I AS %I', name, names[cardinality(names)]);
	END LOOP;
	FOR name IN
		SELECT n FROM unnest(results) WITH ORDINALITY e(n, i) ORDER BY CASE WHEN kind <> 'edge' THEN array_position('{rollout_id,step_no,step_id}', n) END, i
	LOOP
		IF kind = 'value' THEN
			list := list || format('g.%I AS %I', stepadv_internal.value_name(a), name);
		ELSIF name = 'rollout_id' AND kind = 'rollout' AND stepadv_internal.has_column((a).shown_rollouts, 'stepadv_rollout_id'::text) THEN
			list := list || 'r.stepadv_rollout_id AS rollout_id'::text;
			aliases := aliases || 'r'::text;
		ELSIF name = 'rollout_id' AND kind = 'rollout' AND stepadv_internal.has_column((a).rows, 'raw_rollout_id'::text) THEN
			list := list || 'b.raw_rollout_id AS rollout_id'::text;
			aliases := aliases || 'b'::text;
		ELSIF name = 'rollout_id' AND kind <> 'rollout' AND stepadv_internal.has_column((a).shown, 'stepadv_rollout_id'::text) THEN
			list := list || (steps || '.stepadv_rollout_id AS rollout_id');
			aliases := aliases || steps;
		ELSIF name = 'step_id' AND stepadv_internal.has_column((a).shown, 'stepadv_step_id'::text) THEN
			list := list || (steps || '.stepadv_step_id AS step_id');
			aliases := aliases || steps;
		ELSE
			list := list || CASE WHEN made ? name THEN format('%s AS %I', made ->> name, name) ELSE format('a.%I', name) END;
		END IF;
	END LOOP;
	FOR shown IN SELECT * FROM stepadv_internal.shown_columns(a, kind, names) LOOP
		list := list || format('%s.%I AS %I', shown.alias, shown.name, shown.called);
		names := names || shown.called;
		aliases := aliases || shown.alias;
	END LOOP;
	SELECT n INTO name FROM unnest(names) n WHERE octet_length(n) > max_length;
	IF FOUND THEN
		RAISE EXCEPTION 'column "%" of a view over % would have a name longer than % bytes', name, stepadv_internal.relation_name((a).source), max_length
			USING ERRCODE = 'name_too_long', HINT = 'Leave the column out with columns =>.';
	END IF;
	items := array_to_string(list, ', ');
	joins := stepadv_internal.shown_joins(a, kind, aliases);
END
$$;
COMMENT ON FUNCTION stepadv_internal.beside(stepadv_internal.attached, text, text[], jsonb, text[]) IS 'part of attach: the select list of a view, what is shown beside a function''s results included, and the joins that bring it';

-- What a row of a function is, by what it returns.
CREATE FUNCTION stepadv_internal.row_kind(results text[]) RETURNS text
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT CASE WHEN 'step_no' = ANY (results) THEN 'step' WHEN 'step_id' = ANY (results) THEN 'edge' WHEN 'rollout_id' = ANY (results) THEN 'rollout' ELSE 'group' END
$$;
COMMENT ON FUNCTION stepadv_internal.row_kind(text[]) IS 'part of attach: what a row of a function is, by the columns that it returns';

-- The roles that there are: columns of the adapters, and what is made of others.
CREATE FUNCTION stepadv_internal.available_roles(a stepadv_internal.attached) RETURNS text[]
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT array_agg(c.attname::text) || CASE WHEN (a).states IS NOT NULL THEN ARRAY['state'] ELSE '{}' END
	FROM pg_attribute c WHERE c.attrelid = (a).rows AND c.attnum > (a).n_group_columns
$$;
COMMENT ON FUNCTION stepadv_internal.available_roles(stepadv_internal.attached) IS 'part of attach: the roles that functions can read';

-- The methods that an attachment's columns allow: for each how it is called, the
-- roles that it reads and its place.
CREATE TYPE stepadv_internal.made_method AS (
	number integer, method text, function regprocedure, ours boolean, settings jsonb, arguments text,
	call text,				-- in its own view, where it refuses a group that it cannot be computed of
	call_beside text,		-- beside others: a group without a critic's values has no rows then
	reads text[], needs_value boolean, results text[], kind text, shape text
);
COMMENT ON TYPE stepadv_internal.made_method IS 'part of attach: a method that an attachment''s columns allow, and how it is called there';
CREATE FUNCTION stepadv_internal.made_methods(a stepadv_internal.attached) RETURNS SETOF stepadv_internal.made_method
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT m.i::integer, m.method, m.function, m.ours, s.settings, c.arguments,
		format('%I.%I(g.%s%s)', n.nspname, p.proname, stepadv_internal.value_name(a), c.arguments),
		format(CASE WHEN 'value' = ANY (m.requires) THEN '%I.%I(stepadv_internal.with_values(g.%s)%s)' ELSE '%I.%I(g.%s%s)' END,
			n.nspname, p.proname, stepadv_internal.value_name(a), c.arguments),
		-- What is masked is told by the action, which tells steps from observations.
		m.requires || m.uses || CASE WHEN (s.settings ->> 'masked')::boolean THEN ARRAY['action'] ELSE '{}' END,
		'value' = ANY (m.requires), m.results, stepadv_internal.row_kind(m.results), m.shape
	FROM stepadv_internal.methods_for((a).owner, (a).methods) WITH ORDINALITY m(method, function, requires, uses, options_of, shape, ours, results, parameters, i)
	JOIN pg_proc p ON p.oid = m.function JOIN pg_namespace n ON n.oid = p.pronamespace
	CROSS JOIN LATERAL (SELECT stepadv_internal.method_options(ROW(m.method, m.function, m.requires, m.uses, m.options_of, m.shape, m.ours, m.results, m.parameters)::stepadv_internal.known_method,
		coalesce((a).options, '{}')) AS settings) s
	CROSS JOIN LATERAL (SELECT stepadv_internal.arguments(m.function, s.settings) AS arguments) c
	WHERE m.requires <@ stepadv_internal.available_roles(a)
	ORDER BY m.i
$$;
COMMENT ON FUNCTION stepadv_internal.made_methods(stepadv_internal.attached) IS 'part of attach: the methods that an attachment''s columns allow, in their order, with the call of each';

CREATE FUNCTION stepadv_internal.method_query(a stepadv_internal.attached, m stepadv_internal.made_method) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT format('SELECT %s FROM %s CROSS JOIN LATERAL %s a%s', b.items, stepadv_internal.fold(a, (m).reads, NULL::text, '{}'::text[]),
		(m).call, b.joins)
	FROM stepadv_internal.beside(a, (m).kind, (m).results, '{}'::jsonb, '{}'::text[]) b
$$;
COMMENT ON FUNCTION stepadv_internal.method_query(stepadv_internal.attached, stepadv_internal.made_method) IS 'part of attach: the query of a method''s view';

CREATE FUNCTION stepadv_internal.values_query(a stepadv_internal.attached, made stepadv_internal.made_method[]) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT format('SELECT %s FROM %s', b.items, stepadv_internal.fold(a, '{state,action,next_state,value,turn_reward,cost}'::text[], NULL::text, '{}'::text[]))
	FROM stepadv_internal.beside(a, 'value'::text, '{rollouts}'::text[], '{}'::jsonb, '{}'::text[]) b
$$;
COMMENT ON FUNCTION stepadv_internal.values_query(stepadv_internal.attached, stepadv_internal.made_method[]) IS 'part of attach: the query of the view _values: the group as a value, with every role that any function reads';

-- Ratios are of each step alone; a mask that is NULL leaves out nothing.
CREATE FUNCTION stepadv_internal.ratios_query(a stepadv_internal.attached, made stepadv_internal.made_method[]) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT format('SELECT %1$s FROM %2$s g CROSS JOIN LATERAL (SELECT g.stepadv_rollout::bigint AS rollout_id, g.stepadv_no::integer AS step_no, g.stepadv_step::bigint AS step_id, %3$s AS n_tokens,'
			' stepadv.step_ratio(%4$s) AS ratio, stepadv.sequence_ratio(%4$s) AS sequence_ratio, stepadv.approximate_kl(%4$s) AS approximate_kl) a%5$s WHERE %6$s AND g.stepadv_no IS NOT NULL',
		b.items, stepadv_internal.relation_name((a).shown),
		CASE WHEN stepadv_internal.has_column((a).shown, 'stepadv_token_mask'::text)
			THEN 'coalesce(pg_catalog.cardinality(pg_catalog.array_positions(g.stepadv_token_mask, true)), pg_catalog.cardinality(g.stepadv_logp_old))'
			ELSE 'pg_catalog.cardinality(g.stepadv_logp_old)' END,
		stepadv_internal.logprobs(a), b.joins,
		stepadv_internal.list(stepadv_internal.group_columns((a).shown, (a).n_group_columns), 'g.%1$I IS DISTINCT FROM NULL'::text, ' AND '::text))
	FROM stepadv_internal.beside(a, 'row'::text, '{rollout_id,step_no,step_id,n_tokens,ratio,sequence_ratio,approximate_kl}'::text[], '{}'::jsonb, '{}'::text[]) b
	WHERE stepadv_internal.has_column((a).shown, 'stepadv_logp_new'::text)
$$;
COMMENT ON FUNCTION stepadv_internal.ratios_query(stepadv_internal.attached, stepadv_internal.made_method[]) IS 'part of attach: the query of the view _ratios; NULL without log-probabilities';

CREATE FUNCTION stepadv_internal.logprobs(a stepadv_internal.attached) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT 'g.stepadv_logp_new, g.stepadv_logp_old' || CASE WHEN stepadv_internal.has_column((a).shown, 'stepadv_token_mask'::text) THEN ', g.stepadv_token_mask' ELSE '' END
$$;
COMMENT ON FUNCTION stepadv_internal.logprobs(stepadv_internal.attached) IS 'part of attach: what step_ratio and its like are given';
-- Methods side by side: _compare, _quadrants, _disagreements; and the list of
-- the views that are more than one function of the folded group.

CREATE FUNCTION stepadv.outcomes(rollouts stepadv.rollout_group, success_above float8 DEFAULT 0)
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, success integer, return float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 400 ROWS 100 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_outcomes';
COMMENT ON FUNCTION stepadv.outcomes(stepadv.rollout_group, float8) IS
'what became of each step''s rollout: success as 1 or 0 (its own word, else whether its undiscounted return exceeds success_above) and the return; both NULL for rollouts not judged yet; error on success_above that is not finite';

CREATE FUNCTION stepadv_internal.with_values(rollouts stepadv.rollout_group) RETURNS stepadv.rollout_group
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 50
AS 'MODULE_PATHNAME', 'stepadv_with_values';
COMMENT ON FUNCTION stepadv_internal.with_values(stepadv.rollout_group) IS
'the group, or NULL if none of its steps has a value of a critic: then a method that needs one has no rows, rather than an error, beside others';

-- builder(attached, made_method[]) gives the query, of the methods that the columns allow, or NULL where what it needs is not there.
-- A regprocedure as text: pg_upgrade refuses databases that have one in a table.
CREATE TABLE stepadv_internal.combined_views (
	place integer NOT NULL, suffix text PRIMARY KEY, builder text NOT NULL, options text[] NOT NULL, shape text NOT NULL
);
COMMENT ON TABLE stepadv_internal.combined_views IS 'the views of attach that are more than one function of the folded group: who writes their query, which options they have';
GRANT SELECT ON stepadv_internal.combined_views TO PUBLIC;

-- Options of such a view: an object under its name with only these in it.
CREATE FUNCTION stepadv_internal.view_options(a stepadv_internal.attached, suffix text) RETURNS jsonb
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	known CONSTANT text[] := (SELECT v.options FROM stepadv_internal.combined_views v WHERE v.suffix = view_options.suffix);
	settings CONSTANT jsonb := (a).options -> view_options.suffix;
	option record;
BEGIN
	IF settings IS NULL OR jsonb_typeof(settings) <> 'object' THEN
		RETURN '{}';	-- attach refuses it, as it does every single value that no function takes
	END IF;
	FOR option IN SELECT e.key, e.value FROM jsonb_each(settings) e LOOP
		IF option.key <> ALL (known) THEN
			RAISE EXCEPTION '% has no parameter "%"', view_options.suffix, option.key
				USING ERRCODE = 'invalid_parameter_value', HINT = format('Its parameters: %s.', array_to_string(known, ', '));
		ELSIF jsonb_typeof(option.value) IN ('object', 'array') THEN
			RAISE EXCEPTION 'option "%" must be a single value, not an %', option.key, jsonb_typeof(option.value)
				USING ERRCODE = 'invalid_parameter_value';
		END IF;
	END LOOP;
	RETURN settings;
END
$$;
COMMENT ON FUNCTION stepadv_internal.view_options(stepadv_internal.attached, text) IS 'part of attach: the options of a view that a builder makes, checked against its parameters';

-- The methods with an advantage per step, in the order of attach's list.
CREATE FUNCTION stepadv_internal.advantage_methods(made stepadv_internal.made_method[]) RETURNS SETOF stepadv_internal.made_method
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$ SELECT m.* FROM unnest(made) m WHERE '{step_no,advantage}' <@ m.results ORDER BY m.number $$;
COMMENT ON FUNCTION stepadv_internal.advantage_methods(stepadv_internal.made_method[]) IS 'part of attach: the methods that give an advantage per step';

-- Those that the option compare names, or all.
CREATE FUNCTION stepadv_internal.compared_methods(a stepadv_internal.attached, made stepadv_internal.made_method[]) RETURNS SETOF stepadv_internal.made_method
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	settings CONSTANT jsonb := stepadv_internal.view_options(a, 'compare'::text);
	methods CONSTANT text[] := ARRAY(SELECT m.method FROM stepadv_internal.advantage_methods(made) m ORDER BY m.number);
	wanted CONSTANT text[] := coalesce(regexp_split_to_array(btrim(settings ->> 'methods'), '\s*,\s*'), methods);
	unknown text;
BEGIN
	SELECT w INTO unknown FROM unnest(wanted) w WHERE w <> ALL (methods) LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'no method "%" to compare', unknown
			USING ERRCODE = 'invalid_parameter_value',
				HINT = format('Methods that the given columns allow: %s.', coalesce(nullif(array_to_string(methods, ', '), ''), 'none'));
	END IF;
	RETURN QUERY SELECT m.* FROM stepadv_internal.advantage_methods(made) m WHERE m.method = ANY (wanted) ORDER BY m.number;
END
$$;
COMMENT ON FUNCTION stepadv_internal.compared_methods(stepadv_internal.attached, stepadv_internal.made_method[]) IS 'part of attach: the methods that stand side by side';

-- What the three views have in common: which methods, over which fold, and the
-- rows f of all of them.
--
-- Every function of ours that has a row per step returns its rows in one order,
-- that of the value: by rollout_id and step_no.  So the n-th rows of all of them
-- are about the same step, and ROWS FROM puts them side by side with neither a
-- join nor a second look at the group.  A function without rows (gae, of a group
-- without values) has NULLs there.  Users' functions may order their rows as they
-- like, and are joined.
CREATE FUNCTION stepadv_internal.compare_source(a stepadv_internal.attached, made stepadv_internal.made_method[], OUT methods text[], OUT fold text, OUT estimates text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	settings CONSTANT jsonb := stepadv_internal.view_options(a, 'compare'::text);
	success_above CONSTANT text := stepadv_internal.arguments('stepadv.outcomes(stepadv.rollout_group, float8)'::regprocedure, jsonb_strip_nulls(jsonb_build_object('success_above',
		coalesce(settings -> 'success_above', CASE WHEN jsonb_typeof((a).options -> 'success_above') <> 'object' THEN (a).options -> 'success_above' END))));
	reads text[];
	joined text;
BEGIN
	SELECT array_agg(m.method ORDER BY m.number), array_agg(DISTINCT r.r) FILTER (WHERE r.r IS NOT NULL) INTO methods, reads
	FROM stepadv_internal.compared_methods(a, made) m LEFT JOIN LATERAL unnest(m.reads) r(r) ON true;
	IF methods IS NULL THEN
		RETURN;
	END IF;
	methods := ARRAY(SELECT m.method FROM stepadv_internal.compared_methods(a, made) m ORDER BY m.number);
	fold := stepadv_internal.fold(a, coalesce(reads, '{}'), NULL::text, '{}'::text[]);
	-- Those of the same argument next to each other: a stored group is unpacked once for them.
	SELECT format('ROWS FROM (stepadv.outcomes(g.%1$I%2$s)%3$s) AS f(step_id, rollout_id, step_no, success, return%4$s)', stepadv_internal.value_name(a), success_above,
		coalesce(string_agg(', ' || m.call_beside, '' ORDER BY m.needs_value, m.number), ''), coalesce(string_agg(', ' || c.list, '' ORDER BY m.needs_value, m.number), ''))
	INTO estimates
	FROM stepadv_internal.compared_methods(a, made) m CROSS JOIN LATERAL (
		-- A method's advantage has its name; its other columns are not needed, and have none that a method could have.
		SELECT string_agg(format('%I', m.method || CASE WHEN n.n = 'advantage' THEN '' ELSE ' ' || n.n END), ', ' ORDER BY n.i) AS list
		FROM unnest(m.results) WITH ORDINALITY n(n, i)) c
	WHERE m.ours;
	SELECT string_agg(format(' LEFT JOIN %s u%s ON u%2$s.rollout_id OPERATOR(pg_catalog.=) f.rollout_id AND u%2$s.step_no OPERATOR(pg_catalog.=) f.step_no', m.call_beside, m.number), '' ORDER BY m.number)
	INTO joined FROM stepadv_internal.compared_methods(a, made) m WHERE NOT m.ours;
	IF joined IS NOT NULL THEN
		estimates := format('(SELECT f.*%s FROM %s%s) f', (SELECT string_agg(format(', u%s.advantage AS %I', m.number, m.method), '' ORDER BY m.number)
			FROM stepadv_internal.compared_methods(a, made) m WHERE NOT m.ours), estimates, joined);
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.compare_source(stepadv_internal.attached, stepadv_internal.made_method[]) IS 'part of attach: the methods to compare, the fold that feeds them all, and their rows side by side; no method: NULL';

-- Pairs of methods, each once, the one that comes first in _compare first.
CREATE FUNCTION stepadv_internal.method_pairs(methods text[], OUT i integer, OUT method_a text, OUT method_b text, OUT place_a integer, OUT place_b integer) RETURNS SETOF record
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT (row_number() OVER (ORDER BY a.i, b.i))::integer, a.m, b.m, a.i::integer - 1, b.i::integer - 1
	FROM unnest(methods) WITH ORDINALITY a(m, i) JOIN unnest(methods) WITH ORDINALITY b(m, i) ON a.i < b.i
	ORDER BY 1
$$;
COMMENT ON FUNCTION stepadv_internal.method_pairs(text[]) IS 'part of attach: all pairs of methods, with the places of both in the list';

CREATE FUNCTION stepadv_internal.threshold(a stepadv_internal.attached, suffix text, otherwise float8) RETURNS float8
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	threshold CONSTANT float8 := coalesce((stepadv_internal.view_options(a, suffix) ->> 'threshold')::float8, otherwise);
BEGIN
	IF NOT (threshold >= 0 AND threshold < 'Infinity') THEN
		RAISE EXCEPTION 'threshold must be a finite number of at least 0, not %', threshold USING ERRCODE = 'invalid_parameter_value';
	END IF;
	RETURN threshold;
END
$$;
COMMENT ON FUNCTION stepadv_internal.threshold(stepadv_internal.attached, text, float8) IS 'part of attach: the option threshold, checked';

CREATE FUNCTION stepadv_internal.compare_query(a stepadv_internal.attached, made stepadv_internal.made_method[]) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT format('SELECT %s FROM %s CROSS JOIN LATERAL (SELECT f.rollout_id, f.step_no, f.step_id, f.success = 1 AS success, %s FROM %s) a%s',
		b.items, s.fold, stepadv_internal.list(s.methods, 'f.%1$I'::text, ', '::text), s.estimates, b.joins)
	FROM stepadv_internal.compare_source(a, made) s CROSS JOIN LATERAL stepadv_internal.beside(a, 'step'::text, '{rollout_id,step_no,step_id,success}' || s.methods, '{}'::jsonb, '{}'::text[]) b
	WHERE s.fold IS NOT NULL
$$;
COMMENT ON FUNCTION stepadv_internal.compare_query(stepadv_internal.attached, stepadv_internal.made_method[]) IS 'part of attach: the query of the view _compare';

-- The policy version of a rollout, where attach was told it and the group's own
-- columns do not show it by that name.  The advantages stay those of the whole
-- group, so it is found by the rollout: by a relation w of those of g where an
-- index leads to them, else by one of all.
--
--	expression	over g and w
--	inside		join of w to rows f below g, for which g must be joined with
--	beside		what this needs
CREATE FUNCTION stepadv_internal.version_of_run(a stepadv_internal.attached, OUT expression text, OUT inside text, OUT beside text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	view CONSTANT regclass := CASE WHEN stepadv_internal.has_column((a).runs, 'stepadv_policy_version'::text) THEN (a).runs
		WHEN stepadv_internal.has_column((a).began, 'stepadv_policy_version'::text) THEN (a).began END;
	n CONSTANT integer := (a).n_group_columns;
	keys text[];
BEGIN
	inside := '';
	beside := '';
	IF stepadv_internal.has_column((a).rows, 'stepadv_policy_version'::text) THEN
		SELECT format('g.%I', c.name) INTO expression FROM stepadv_internal.view_columns((a).rows) c
		WHERE c.number <= n AND c.plain AND c.name <> 'policy_version' AND c.column_number = (stepadv_internal.feeds((a).rows, 'stepadv_policy_version'::text)).number;
	ELSIF view IS NOT NULL AND stepadv_internal.by_group(view, n) THEN
		expression := 'w.stepadv_policy_version';
		inside := format(' LEFT JOIN LATERAL (SELECT DISTINCT ON (s.stepadv_rollout) s.* FROM %s s WHERE %s) w ON w.stepadv_rollout OPERATOR(pg_catalog.=) f.rollout_id',
			stepadv_internal.relation_name(view), stepadv_internal.same_group('s'::text, view, 'g'::text, (a).rows, n));
	ELSIF view IS NOT NULL THEN
		keys := stepadv_internal.group_columns(view, n);
		expression := 'w.stepadv_policy_version';
		inside := ' LEFT JOIN ROWS FROM (pg_catalog.unnest(o.rollouts), pg_catalog.unnest(o.versions)) w(stepadv_rollout, stepadv_policy_version) ON w.stepadv_rollout OPERATOR(pg_catalog.=) f.rollout_id';
		beside := format(' LEFT JOIN (SELECT %1$s, pg_catalog.array_agg(s.stepadv_rollout) AS rollouts, pg_catalog.array_agg(s.stepadv_policy_version) AS versions FROM %2$s s GROUP BY %1$s) o ON %3$s',
			stepadv_internal.list(keys, 's.%1$I'::text, ', '::text), stepadv_internal.relation_name(view), stepadv_internal.same_group('o'::text, view, 'g'::text, (a).rows, n));
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.version_of_run(stepadv_internal.attached) IS 'part of attach: the policy version of a rollout of g, and the joins that bring it; NULL where attach was not told, or the key has it';

-- A step falls into one of nine fields of a pair of methods, and of as many
-- others of every other pair.  It is counted once for all of them: the signs that
-- its advantages have are the digits (0 to 3 for -, 0, +, NULL) of a number to base
-- 4, so steps are counted by that number (which has room for 15 methods, or 31), and every
-- pair is given these counts.
CREATE FUNCTION stepadv_internal.quadrants_query(a stepadv_internal.attached, made stepadv_internal.made_method[]) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $query$
DECLARE
	threshold CONSTANT float8 := stepadv_internal.threshold(a, 'quadrants'::text, 0::float8);
	source CONSTANT record := stepadv_internal.compare_source(a, made);
	version CONSTANT record := stepadv_internal.version_of_run(a);
	-- A group's steps are counted by version, unless all of it are of one.
	divided CONSTANT boolean := version.inside <> '';
	beside record;
	digits CONSTANT text := CASE WHEN cardinality(source.methods) > 15 THEN 'bigint' ELSE 'integer' END;
	signs text;
	pairs text;
BEGIN
	IF source.fold IS NULL OR cardinality(source.methods) < 2 THEN
		RETURN NULL;
	ELSIF cardinality(source.methods) > 31 THEN
		RAISE EXCEPTION 'cannot compare % methods', cardinality(source.methods) USING ERRCODE = 'program_limit_exceeded',
			HINT = 'Choose up to 31 by the option {"compare": {"methods": "…, …"}}.';
	END IF;
	beside := stepadv_internal.beside(a, 'group'::text, CASE WHEN version.expression IS NOT NULL THEN '{policy_version}' ELSE '{}' END::text[] || '{method_a,method_b,success,quadrant,n_steps,share}',
		CASE WHEN divided OR version.expression IS NULL THEN '{}' ELSE jsonb_build_object('policy_version', version.expression) END, '{}'::text[]);
	SELECT string_agg(format('%1$s * CASE WHEN abs(f.%2$I) <= %3$L::float8 THEN 1 WHEN f.%2$I > 0 THEN 2 WHEN f.%2$I < 0 THEN 0 ELSE 3 END',
		power(4::numeric, m.i - 1)::bigint || '::' || digits, m.m, threshold), ' + ' ORDER BY m.i)
	INTO signs FROM unnest(source.methods) WITH ORDINALITY m(m, i);
	SELECT string_agg(format('(%L::text, %L::text, %s, %s)', p.method_a, p.method_b, power(4::numeric, p.place_a)::bigint || '::' || digits, power(4::numeric, p.place_b)::bigint || '::' || digits), ', ' ORDER BY p.i)
	INTO pairs FROM stepadv_internal.method_pairs(source.methods) p;
	RETURN format($view$
		SELECT %1$s FROM %2$s%3$s CROSS JOIN LATERAL (
			SELECT %4$s q.method_a, q.method_b, q.success = 1 AS success, q.quadrant, q.n_steps,
				CASE WHEN q.quadrant IS NOT NULL THEN q.n_steps / (sum(q.n_steps) FILTER (WHERE q.quadrant IS NOT NULL) OVER (PARTITION BY %4$s q.method_a, q.method_b, q.success))::float8 END AS share
			FROM (
				SELECT %5$s p.method_a, p.method_b, c.success, sum(c.n_steps)::bigint AS n_steps,
					-- By the two digits; no quadrant where either method has no advantage.
					('{--,-0,-+,NULL,0-,00,0+,NULL,+-,+0,++,NULL}'::text[])[(c.signs / p.place_a %% 4 * 4 + c.signs / p.place_b %% 4 + 1)::integer] AS quadrant
				FROM (SELECT %6$s f.success, %7$s AS signs, count(*) AS n_steps FROM %8$s%9$s GROUP BY %10$s f.success, signs) c
				CROSS JOIN (VALUES %11$s) p(method_a, method_b, place_a, place_b)
				GROUP BY %5$s p.method_a, p.method_b, c.success, quadrant) q) a$view$,
		beside.items, source.fold, version.beside,
		CASE WHEN divided THEN 'q.policy_version,' END, CASE WHEN divided THEN 'c.policy_version,' END, CASE WHEN divided THEN version.expression || ' AS policy_version,' END,
		signs, source.estimates, version.inside, CASE WHEN divided THEN version.expression || ',' END, pairs);
END
$query$;
COMMENT ON FUNCTION stepadv_internal.quadrants_query(stepadv_internal.attached, stepadv_internal.made_method[]) IS 'part of attach: the query of the view _quadrants';

-- Advantages of different methods have different units, so they are compared in
-- units of their own root mean square over the steps of the group.  One that is
-- at or below the threshold is rounding error: such a method says nothing here.
-- (Squares of less than 1e-300 would be an error, not 0.)
CREATE FUNCTION stepadv_internal.disagreements_query(a stepadv_internal.attached, made stepadv_internal.made_method[]) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $query$
DECLARE
	threshold CONSTANT float8 := stepadv_internal.threshold(a, 'disagreements'::text, 1e-9::float8);
	source CONSTANT record := stepadv_internal.compare_source(a, made);
	version CONSTANT record := stepadv_internal.version_of_run(a);
	run CONSTANT regclass := CASE WHEN version.expression LIKE 'w.%' THEN CASE WHEN stepadv_internal.has_column((a).runs, 'stepadv_policy_version'::text) THEN (a).runs ELSE (a).began END END;
	beside record;
	scaled text;
	pairs text;
BEGIN
	IF source.fold IS NULL OR cardinality(source.methods) < 2 THEN
		RETURN NULL;
	END IF;
	beside := stepadv_internal.beside(a, 'step'::text, CASE WHEN version.expression IS NOT NULL THEN '{policy_version}' ELSE '{}' END::text[]
			|| '{rollout_id,step_no,step_id,success,method_a,method_b,advantage_a,advantage_b,scaled_a,scaled_b,difference,opposite_sign}',
		CASE WHEN version.expression IS NOT NULL THEN jsonb_build_object('policy_version', version.expression) ELSE '{}' END, '{}'::text[]);
	SELECT string_agg(format('f.%1$I, sqrt(sum(CASE WHEN abs(f.%1$I) > 1e-150 THEN f.%1$I * f.%1$I END) OVER () / count(f.%1$I) OVER ()) AS %2$I', m.m, m.m || '_scale'), ', ' ORDER BY m.i)
	INTO scaled FROM unnest(source.methods) WITH ORDINALITY m(m, i);
	-- A branch per pair rather than VALUES: a condition on the methods then leaves
	-- only the branches that it is true of.  No two steps have the same advantages by
	-- all methods, yet the planner would like to remember what became of each; of a
	-- column whose type has no equality it cannot.
	SELECT string_agg(format('SELECT %L::text AS method_a, %L::text AS method_b, CASE WHEN c.never_equal IS NULL THEN c.%1$I END AS advantage_a, c.%2$I AS advantage_b,'
			' CASE WHEN c.%3$I > %5$L::float8 THEN c.%1$I / c.%3$I ELSE 0 END AS scaled_a, CASE WHEN c.%4$I > %5$L::float8 THEN c.%2$I / c.%4$I ELSE 0 END AS scaled_b',
			p.method_a, p.method_b, p.method_a || '_scale', p.method_b || '_scale', threshold), ' UNION ALL ' ORDER BY p.i)
	INTO pairs FROM stepadv_internal.method_pairs(source.methods) p;
	RETURN format($view$
		SELECT %1$s FROM %2$s CROSS JOIN LATERAL (
			SELECT c.rollout_id, c.step_no, c.step_id, c.success = 1 AS success, p.method_a, p.method_b, p.advantage_a, p.advantage_b, p.scaled_a, p.scaled_b,
				p.scaled_a - p.scaled_b AS difference, p.scaled_a > 0 AND p.scaled_b < 0 OR p.scaled_a < 0 AND p.scaled_b > 0 AS opposite_sign
			FROM (SELECT f.rollout_id, f.step_no, f.step_id, f.success, NULL::json AS never_equal, %3$s FROM %4$s) c CROSS JOIN LATERAL (%5$s) p
			-- Of rollouts not judged yet, and where a method has nothing to say.
			WHERE p.advantage_a IS NOT NULL AND p.advantage_b IS NOT NULL) a%6$s%7$s$view$,
		beside.items, source.fold, scaled, source.estimates, pairs, beside.joins,
		CASE WHEN run IS NOT NULL THEN stepadv_internal.join_to(a, 'w'::text, run, '{stepadv_rollout}'::text[], '{a.rollout_id}'::text[]) END);
END
$query$;
COMMENT ON FUNCTION stepadv_internal.disagreements_query(stepadv_internal.attached, stepadv_internal.made_method[]) IS 'part of attach: the query of the view _disagreements';
-- A run over time: views that attach makes where it is told which policy a
-- rollout is of, or when it started.

-- The start of the bucket of a time.  Every bucket begins in UTC, so that a view
-- says the same in every session; weeks begin on Monday.
CREATE FUNCTION stepadv_internal.bucket(expression text, bucket text) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	width interval;
	months integer;
BEGIN
	BEGIN
		width := bucket.bucket::interval;
	EXCEPTION WHEN data_exception THEN
		RAISE EXCEPTION 'bucket is not an interval: %', quote_literal(bucket.bucket)
			USING ERRCODE = 'invalid_parameter_value', HINT = 'For example "1 day", "1 week", "6 hours" or "1 month".';
	END;
	months := extract(year FROM width) * 12 + extract(month FROM width);
	IF months = 0 AND width > interval '0' THEN
		RETURN format('pg_catalog.date_bin(%L::interval, %s, ''2001-01-01 00:00:00+00''::timestamptz)', width, expression);
	ELSIF width IN (interval '1 month', interval '3 months', interval '1 year') AND extract(day FROM width) = 0 AND extract(epoch FROM width::time) = 0 THEN
		RETURN format('pg_catalog.date_trunc(%L::text, %s, ''UTC''::text)', CASE months WHEN 1 THEN 'month' WHEN 3 THEN 'quarter' ELSE 'year' END, expression);
	END IF;
	RAISE EXCEPTION 'bucket cannot be %', coalesce(quote_literal(bucket.bucket), 'NULL')
		USING ERRCODE = 'invalid_parameter_value', HINT = 'A bucket is longer than 0 and without months, or "1 month", "3 months" or "1 year".';
END
$$;
COMMENT ON FUNCTION stepadv_internal.bucket(text, text) IS 'part of attach: the SQL expression for the start of a time''s bucket';

-- For rows of an adapter: the joins that lead to what is known of their rollout,
-- its policy version and the bucket of its start.
CREATE FUNCTION stepadv_internal.run_columns(a stepadv_internal.attached, alias text, view regclass, OUT joins text, OUT policy_version text, OUT bucket text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	width CONSTANT text := coalesce(stepadv_internal.view_options(a, 'progress_over_time'::text) ->> 'bucket', '1 day');
	other regclass;
	other_alias text;
BEGIN
	joins := '';
	policy_version := 'NULL::text';
	bucket := 'NULL::timestamptz';
	FOR other_alias, other IN SELECT v.alias, v.view FROM (VALUES (alias, (a).rows), ('r', (a).runs), ('q', (a).began)) v(alias, view) WHERE v.view IS NOT NULL LOOP
		IF stepadv_internal.has_column(other, 'stepadv_policy_version'::text) THEN
			policy_version := other_alias || '.stepadv_policy_version';
		END IF;
		IF stepadv_internal.has_column(other, 'stepadv_started_at'::text) THEN
			bucket := stepadv_internal.bucket(other_alias || '.stepadv_started_at', width);
		END IF;
		CONTINUE WHEN other = (a).rows;
		joins := joins || format(' LEFT JOIN %s %s ON %s AND %s', stepadv_internal.relation_name(other), other_alias,
			stepadv_internal.same_group(other_alias, other, alias, view, (a).n_group_columns), stepadv_internal.same_rollout(other_alias, other, alias, view));
	END LOOP;
END
$$;
COMMENT ON FUNCTION stepadv_internal.run_columns(stepadv_internal.attached, text, regclass) IS 'part of attach: the joins from an adapter to its rollouts'' policy version and time bucket, and the two expressions';

-- Whether anything is known of when or under which policy rollouts were made.
CREATE FUNCTION stepadv_internal.has_runs(a stepadv_internal.attached) RETURNS boolean
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT (a).runs IS NOT NULL OR (a).began IS NOT NULL
		OR stepadv_internal.has_column((a).rows, 'stepadv_policy_version'::text) OR stepadv_internal.has_column((a).rows, 'stepadv_started_at'::text)
$$;
COMMENT ON FUNCTION stepadv_internal.has_runs(stepadv_internal.attached) IS 'part of attach: whether there are views over time';

-- The relation g of fold, with a row per group, policy version and time bucket:
-- rollouts of another version are no part of the comparison.  With what maintain
-- keeps, the groups that it has nothing but the key of (alias c): one by one, and
-- so that conditions go below the fold.
CREATE FUNCTION stepadv_internal.fold_over_time(a stepadv_internal.attached, reads text[], kept regclass) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	rows_view CONSTANT regclass := stepadv_internal.rows_for(a, reads);
	run CONSTANT record := stepadv_internal.run_columns(a, 'x'::text, rows_view);
	rows_of_runs CONSTANT text := format('(SELECT x.*, %s AS stepadv_version, %s AS stepadv_bucket FROM %s x%s%s)', run.policy_version, run.bucket,
		stepadv_internal.relation_name(rows_view), run.joins, ' WHERE ' || stepadv_internal.same_group('x'::text, rows_view, 'c'::text, kept, (a).n_group_columns));
	relation CONSTANT text := stepadv_internal.fold(a, reads, rows_of_runs, '{stepadv_version,stepadv_bucket}'::text[]);
BEGIN
	RETURN CASE WHEN kept IS NULL THEN relation
		ELSE format('(SELECT c.* FROM %s c WHERE c.n_rollouts IS NULL) c CROSS JOIN LATERAL %s', stepadv_internal.relation_name(kept), relation) END;
END
$$;
COMMENT ON FUNCTION stepadv_internal.fold_over_time(stepadv_internal.attached, text[], regclass) IS 'part of attach: the relation g, a row per group, policy version (stepadv_version) and time bucket (stepadv_bucket)';

-- The roles that the methods with an advantage read.
CREATE FUNCTION stepadv_internal.roles_read(made stepadv_internal.made_method[], more text[]) RETURNS text[]
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$ SELECT ARRAY(SELECT DISTINCT r FROM stepadv_internal.advantage_methods(made) m CROSS JOIN LATERAL unnest(m.reads) r UNION SELECT unnest(more)) $$;
COMMENT ON FUNCTION stepadv_internal.roles_read(stepadv_internal.made_method[], text[]) IS 'part of attach: the roles that the methods with an advantage per step read';

-- Every step by every method, one below the other.  A condition on the method
-- leaves the others' branches out.
CREATE FUNCTION stepadv_internal.advantages_query(a stepadv_internal.attached, made stepadv_internal.made_method[]) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT format('SELECT %s FROM %s CROSS JOIN LATERAL (SELECT g.stepadv_version AS policy_version, g.stepadv_bucket AS bucket, e.* FROM (%s) e) a%s',
		b.items, stepadv_internal.fold_over_time(a, stepadv_internal.roles_read(made, '{}'::text[]), NULL::regclass), m.branches, b.joins)
	FROM (SELECT string_agg(format('SELECT %L::text AS method, e.rollout_id, e.step_no, e.step_id, e.advantage FROM %s e', m.method, m.call_beside), ' UNION ALL ' ORDER BY m.number) AS branches
		FROM stepadv_internal.advantage_methods(made) m) m
	CROSS JOIN LATERAL stepadv_internal.beside(a, 'step'::text, '{rollout_id,step_no,step_id,policy_version,bucket,method,advantage}'::text[], '{}'::jsonb, '{}'::text[]) b
	WHERE stepadv_internal.has_runs(a) AND m.branches IS NOT NULL
$$;
COMMENT ON FUNCTION stepadv_internal.advantages_query(stepadv_internal.attached, stepadv_internal.made_method[]) IS 'part of attach: the query of the view _advantages';

-- What the advantages of a method add up to within a group: columns of e, and
-- what is made of them.  Sums of sums are sums, so parts can be kept.
CREATE FUNCTION stepadv_internal.method_sums() RETURNS TABLE (name text, expression text)
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
	VALUES ('n', 'count(e.advantage)::integer'), ('sum', 'sum(e.advantage)'), ('abs_sum', 'sum(abs(e.advantage))'), ('square_sum', 'sum(e.advantage * e.advantage)'),
		('least', 'min(e.advantage)'), ('greatest', 'max(e.advantage)'),
		('n_positive', '(count(*) FILTER (WHERE e.advantage > 0))::integer'), ('n_negative', '(count(*) FILTER (WHERE e.advantage < 0))::integer')
$$;
COMMENT ON FUNCTION stepadv_internal.method_sums() IS 'part of attach: what is added up of the advantages of a method, by name';

-- The relation a, with a row per group, policy version and time bucket: the
-- group's columns as k1, k2, ..., and what the views over time add up (columns).
-- Each method is a join of its own that adds no rows, so that the planner leaves
-- out what nobody asks for.
CREATE FUNCTION stepadv_internal.groups_divided(a stepadv_internal.attached, made stepadv_internal.made_method[], OUT relation text, OUT columns text[])
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $query$
DECLARE
	methods record;
BEGIN
	SELECT coalesce(array_agg(format('%s_%s', m.method, s.name) ORDER BY m.number, s.i), '{}') AS columns,
		coalesce(string_agg(format(', m%s.%s', m.number, s.name), '' ORDER BY m.number, s.i), '') AS items
	INTO methods
	FROM stepadv_internal.advantage_methods(made) m, stepadv_internal.method_sums() WITH ORDINALITY s(name, expression, i);
	columns := '{policy_version,bucket,n_rollouts,n_judged,n_successes,n_steps,n_judged_steps,n_shared_steps,return_sum,uniform}' || methods.columns;
	relation := format($view$
		SELECT %1$s, g.stepadv_version, g.stepadv_bucket, u.n_rollouts, u.n_judged, u.n_successes, u.n_steps, j.n_steps,
			round(coalesce(u.shared_step_share, 0) * j.n_steps)::integer, u.mean_return * u.n_judged, u.uniform%2$s
		FROM %3$s
		LEFT JOIN LATERAL (
			SELECT max(e.n_rollouts) AS n_rollouts, max(e.n_judged) AS n_judged, coalesce(max(round(e.success_rate * e.n_judged)::integer), 0) AS n_successes,
				max(e.n_steps) AS n_steps, max(e.mean_return) AS mean_return, bool_and(e.uniform) AS uniform, max(e.shared_step_share) AS shared_step_share
			FROM %4$s e) u ON true
		LEFT JOIN LATERAL (SELECT coalesce(sum(e.n_steps) FILTER (WHERE e.judged), 0)::integer AS n_steps FROM stepadv.rollouts(g.%5$I) e) j ON true%6$s$view$,
		stepadv_internal.list(stepadv_internal.group_columns((a).rows, (a).n_group_columns), 'g.%1$I'::text, ', '::text), methods.items,
		stepadv_internal.fold_over_time(a, stepadv_internal.roles_read(made, '{state}'::text[]), (a).folded_over_time),
		(SELECT m.call FROM unnest(made) m WHERE m.method = 'groups'), stepadv_internal.value_name(a),
		(SELECT string_agg(format(' LEFT JOIN LATERAL (SELECT %s FROM %s e) m%s ON true', s.sums, m.call_beside, m.number), '' ORDER BY m.number)
		 FROM stepadv_internal.advantage_methods(made) m,
			(SELECT string_agg(format('%s AS %s', s.expression, s.name), ', ' ORDER BY s.i) AS sums FROM stepadv_internal.method_sums() WITH ORDINALITY s(name, expression, i)) s));
	-- Rows that maintain keeps.  Where a method does not know what to do with a
	-- group, none is kept but one that says so: to ask for the method is an error
	-- then, as it is without maintain, and to ask for others is not.
	IF (a).folded_over_time IS NOT NULL THEN
		relation := format('SELECT c.* FROM %s c WHERE c.n_rollouts IS NOT NULL UNION ALL %s', stepadv_internal.relation_name((a).folded_over_time), relation);
	END IF;
	relation := format('(%s) a(%s, %s)', relation, (SELECT string_agg('k' || i, ', ' ORDER BY i) FROM generate_series(1, (a).n_group_columns) i), stepadv_internal.list(columns, '%1$I'::text, ', '::text));
END
$query$;
COMMENT ON FUNCTION stepadv_internal.groups_divided(stepadv_internal.attached, stepadv_internal.made_method[]) IS 'part of attach: the relation a, a row per group, policy version and time bucket with what can be added up, and its columns after those of the group';

CREATE FUNCTION stepadv_internal.groups_over_time_query(a stepadv_internal.attached, made stepadv_internal.made_method[]) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT format('SELECT %s FROM %s CROSS JOIN LATERAL (SELECT %s) g(%s)', b.items, d.relation,
		(SELECT string_agg('a.k' || i, ', ' ORDER BY i) FROM generate_series(1, (a).n_group_columns) i),
		stepadv_internal.list(stepadv_internal.group_columns((a).rows, (a).n_group_columns), '%1$I'::text, ', '::text))
	FROM stepadv_internal.groups_divided(a, made) d CROSS JOIN LATERAL stepadv_internal.beside(a, 'group'::text, d.columns, '{}'::jsonb, '{}'::text[]) b
	WHERE stepadv_internal.has_runs(a) AND stepadv_internal.view_options(a, 'groups_over_time'::text) IS NOT NULL
$$;
COMMENT ON FUNCTION stepadv_internal.groups_over_time_query(stepadv_internal.attached, stepadv_internal.made_method[]) IS 'part of attach: the query of the view _groups_over_time';

-- Added up within each group first: there a method's rows need no hash table.
-- A condition on the method leaves the others' branches out.
CREATE FUNCTION stepadv_internal.advantage_over_time_query(a stepadv_internal.attached, made stepadv_internal.made_method[]) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $query$
DECLARE
	methods record;
	relation text;
BEGIN
	SELECT string_agg(format('SELECT %L::text AS method, %s FROM %s e', m.method, s.made, m.call_beside), ' UNION ALL ' ORDER BY m.number) AS made,
		string_agg(format('SELECT %L::text AS method, %s', m.method, s.kept), ' UNION ALL ' ORDER BY m.number) AS kept
	INTO methods
	FROM stepadv_internal.advantage_methods(made) m
	CROSS JOIN LATERAL (SELECT string_agg(format('%s AS %s', s.expression, s.name), ', ' ORDER BY s.i) AS made,
			string_agg(format('a.%I AS %I', m.method || '_' || s.name, s.name), ', ' ORDER BY s.i) AS kept
		FROM stepadv_internal.method_sums() WITH ORDINALITY s(name, expression, i)) s;
	IF NOT stepadv_internal.has_runs(a) OR methods.made IS NULL THEN
		RETURN NULL;
	END IF;
	relation := format('SELECT g.stepadv_version AS policy_version, g.stepadv_bucket AS bucket, s.* FROM %s CROSS JOIN LATERAL (%s) s',
		stepadv_internal.fold_over_time(a, stepadv_internal.roles_read(made, '{}'::text[]), (a).folded_over_time), methods.made);
	IF (a).folded_over_time IS NOT NULL THEN
		relation := format('SELECT a.policy_version, a.bucket, s.* FROM %s a CROSS JOIN LATERAL (%s) s WHERE a.n_rollouts IS NOT NULL UNION ALL %s',
			stepadv_internal.relation_name((a).folded_over_time), methods.kept, relation);
	END IF;
	RETURN format($view$
		SELECT s.policy_version, s.bucket, s.method, sum(s.n) AS n_steps,
			sum(s.abs_sum) / nullif(sum(s.n), 0)::float8 AS mean_abs_advantage, sum(s.sum) / nullif(sum(s.n), 0)::float8 AS mean_advantage,
			CASE WHEN sum(s.n) > 1 THEN sqrt(greatest(sum(s.square_sum) - sum(s.sum) ^ 2 / sum(s.n)::float8, 0) / (sum(s.n) - 1)::float8) END AS sd_advantage,
			min(s.least) AS least_advantage, max(s.greatest) AS greatest_advantage,
			sum(s.n_positive) AS n_positive, sum(s.n_negative) AS n_negative
		FROM (%s) s GROUP BY 1, 2, 3 HAVING sum(s.n) > 0$view$, relation);
END
$query$;
COMMENT ON FUNCTION stepadv_internal.advantage_over_time_query(stepadv_internal.attached, stepadv_internal.made_method[]) IS 'part of attach: the query of the view _advantage_over_time';

-- The relation w: what the ratios of a version and bucket say; NULL without log-probabilities.
CREATE FUNCTION stepadv_internal.ratios_over_time(a stepadv_internal.attached) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $query$
	SELECT format($view$
		LEFT JOIN (SELECT jsonb_build_array(%1$s, %2$s) AS key, count(*) AS n_ratios,
			stepadv.effective_sample_size(stepadv.step_ratio(%3$s)) / count(*) AS ess_share,
			stepadv.effective_sample_size(stepadv.sequence_ratio(%3$s)) / count(*) AS sequence_ess_share
			FROM %4$s g%5$s WHERE %6$s AND g.stepadv_no IS NOT NULL AND g.stepadv_logp_new IS NOT NULL AND g.stepadv_logp_old IS NOT NULL GROUP BY 1) w
		ON w.key = jsonb_build_array(v.policy_version, v.bucket)$view$,
		r.policy_version, r.bucket, stepadv_internal.logprobs(a), stepadv_internal.relation_name((a).shown), r.joins,
		stepadv_internal.list(stepadv_internal.group_columns((a).shown, (a).n_group_columns), 'g.%1$I IS DISTINCT FROM NULL'::text, ' AND '::text))
	FROM stepadv_internal.run_columns(a, 'g'::text, (a).shown) r
	WHERE stepadv_internal.has_column((a).shown, 'stepadv_logp_new'::text)
$query$;
COMMENT ON FUNCTION stepadv_internal.ratios_over_time(stepadv_internal.attached) IS 'part of attach: the join that brings the effective sample size of a version and bucket; NULL without log-probabilities';

CREATE FUNCTION stepadv_internal.progress_over_time_query(a stepadv_internal.attached, made stepadv_internal.made_method[]) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $query$
DECLARE
	ratios CONSTANT text := stepadv_internal.ratios_over_time(a);
	methods CONSTANT text[] := ARRAY(SELECT m.method FROM stepadv_internal.advantage_methods(made) m ORDER BY m.number);
BEGIN
	-- Also where there will be no view: a wrong option is an error all the same.
	PERFORM stepadv_internal.view_options(a, 'progress_over_time'::text);
	IF NOT stepadv_internal.has_runs(a) THEN
		RETURN NULL;
	END IF;
	RETURN format($view$
		SELECT v.policy_version, v.bucket, v.n_groups, v.n_judged_groups, v.n_informative_groups, v.n_rollouts, v.n_judged, v.n_successes,
			v.n_steps, v.n_judged_steps, v.n_shared_steps, v.success_rate, v.mean_return, v.informative_share, v.shared_step_share%1$s, %2$s
		FROM (
			SELECT a.policy_version, a.bucket, count(*) AS n_groups, count(*) FILTER (WHERE a.n_judged > 0) AS n_judged_groups,
				count(*) FILTER (WHERE NOT a.uniform) AS n_informative_groups, sum(a.n_rollouts) AS n_rollouts, sum(a.n_judged) AS n_judged,
				sum(a.n_successes) AS n_successes, sum(a.n_steps) AS n_steps, sum(a.n_judged_steps) AS n_judged_steps, sum(a.n_shared_steps) AS n_shared_steps,
				sum(a.n_successes)::float8 / nullif(sum(a.n_judged), 0) AS success_rate,
				sum(a.return_sum) / nullif(sum(a.n_judged), 0) AS mean_return,
				(count(*) FILTER (WHERE NOT a.uniform))::float8 / nullif(count(*) FILTER (WHERE a.n_judged > 0), 0) AS informative_share,
				sum(a.n_shared_steps)::float8 / nullif(sum(a.n_judged_steps), 0) AS shared_step_share%3$s
			FROM %4$s GROUP BY 1, 2) v%5$s$view$,
		coalesce(stepadv_internal.list(methods, ', v.mean_abs_%1$s'::text, ''::text), ''),
		CASE WHEN ratios IS NULL THEN '0::bigint AS n_ratios, NULL::float8 AS ess_share, NULL::float8 AS sequence_ess_share'
			ELSE 'coalesce(w.n_ratios, 0) AS n_ratios, w.ess_share, w.sequence_ess_share' END,
		coalesce(stepadv_internal.list(methods, ', sum(a.%1$s_abs_sum) / nullif(sum(a.%1$s_n), 0) AS mean_abs_%1$s'::text, ''::text), ''),
		(SELECT d.relation FROM stepadv_internal.groups_divided(a, made) d), ratios);
END
$query$;
COMMENT ON FUNCTION stepadv_internal.progress_over_time_query(stepadv_internal.attached, stepadv_internal.made_method[]) IS 'part of attach: the query of the view _progress_over_time';
-- The view _spa of attach: contributions of steps as rewards (SPA).

-- A step's contribution, whether it is grounded, and what both are fused to: over
-- an alias of the adapter of shown steps.
CREATE FUNCTION stepadv_internal.spa_expressions(a stepadv_internal.attached, alias text, OUT contribution text, OUT grounded text, OUT fused text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	settings CONSTANT jsonb := stepadv_internal.view_options(a, 'spa'::text);
	has_features CONSTANT boolean := stepadv_internal.has_column((a).shown, 'stepadv_features'::text);
	arguments text;			-- of fused_reward
BEGIN
	IF NOT has_features AND NOT stepadv_internal.has_column((a).shown, 'stepadv_contribution'::text) THEN
		IF stepadv_internal.has_column((a).shown, 'stepadv_grounded'::text) THEN
			RAISE EXCEPTION 'grounded is given without features or contribution' USING ERRCODE = 'null_value_not_allowed';
		END IF;
		RETURN;
	ELSIF has_features AND stepadv_internal.has_column((a).shown, 'stepadv_contribution'::text) THEN
		RAISE EXCEPTION 'features and contribution are both given' USING ERRCODE = 'invalid_parameter_value',
			HINT = 'Contributions are either stored, or predicted from features.';
	ELSIF has_features <> (settings ->> 'model' IS NOT NULL) THEN
		RAISE EXCEPTION '%', CASE WHEN has_features THEN 'features are given, but no model for them' ELSE 'a model is named, but no features for it' END
			USING ERRCODE = 'null_value_not_allowed', HINT = 'A model is named by the option {"spa": {"model": "…"}}, and is a row of progress_models.';
	END IF;
	IF has_features THEN
		PERFORM stepadv.user_model(settings ->> 'model');
		contribution := format('stepadv.progress_predict((SELECT stepadv.user_model(%L::text)), %s.stepadv_features)', settings ->> 'model', alias);
	ELSE
		contribution := alias || '.stepadv_contribution';
	END IF;
	grounded := CASE WHEN stepadv_internal.has_column((a).shown, 'stepadv_grounded'::text) THEN alias || '.stepadv_grounded' ELSE 'NULL::boolean' END;
	SELECT coalesce(string_agg(format(', %I => %L::float8', o.key, settings ->> o.key), '' ORDER BY o.key), '') INTO arguments
	FROM unnest('{alpha,beta}'::text[]) o(key) WHERE settings ? o.key;
	EXECUTE format('SELECT stepadv.fused_reward(0::float8, true%s)', arguments);
	-- What is not known to have been executed earns nothing for it.
	fused := format('stepadv.fused_reward(%s, coalesce(%s, false)%s)', contribution, grounded, arguments);
END
$$;
COMMENT ON FUNCTION stepadv_internal.spa_expressions(stepadv_internal.attached, text) IS 'part of attach: contribution, grounding and fused reward of a step; NULL where there is neither a contribution nor features; error where they do not fit';

CREATE FUNCTION stepadv_internal.spa_query(a stepadv_internal.attached, made stepadv_internal.made_method[]) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $query$
DECLARE
	settings CONSTANT jsonb := stepadv_internal.view_options(a, 'spa'::text);
	folded CONSTANT record := stepadv_internal.spa_expressions(a, 's'::text);
	shown CONSTANT record := stepadv_internal.spa_expressions(a, 'b'::text);
	keys CONSTANT text[] := stepadv_internal.group_columns((a).shown, (a).n_group_columns);
	beside record;
BEGIN
	IF folded.contribution IS NULL THEN
		RETURN NULL;
	END IF;
	beside := stepadv_internal.beside(a, 'step'::text, '{rollout_id,step_no,step_id,contribution,grounded,fused_reward,return,advantage}'::text[],
		jsonb_build_object('contribution', shown.contribution, 'grounded', shown.grounded, 'fused_reward', shown.fused), '{b}'::text[]);
	RETURN format($view$
		SELECT %1$s FROM (
			SELECT %2$s, stepadv.rollout_agg(s.stepadv_step::bigint, s.stepadv_rollout::bigint, s.stepadv_no::integer, NULL::bigint, NULL::bigint, %3$s, NULL::boolean,
				NULL::bigint, %4$s::float8, NULL::float8, NULL::float8) AS %5$I
			FROM %6$s s WHERE %7$s AND s.stepadv_no IS NOT NULL GROUP BY %2$s) g
		CROSS JOIN LATERAL stepadv.gae(g.%5$I%8$s) a%9$s$view$,
		beside.items, stepadv_internal.list(keys, 's.%1$I'::text, ', '::text), folded.fused,
		CASE WHEN stepadv_internal.has_column((a).shown, 'stepadv_value'::text) THEN 's.stepadv_value' ELSE '0' END,
		stepadv_internal.value_name(a), stepadv_internal.relation_name((a).shown), stepadv_internal.list(keys, 's.%1$I IS DISTINCT FROM NULL'::text, ' AND '::text),
		-- What is said of gae holds here too, unless SPA has settings of its own.
		stepadv_internal.arguments('stepadv.gae(stepadv.rollout_group, float8, float8, boolean)'::regprocedure, (
			SELECT coalesce(jsonb_object_agg(e.key, e.value), '{}')
			FROM jsonb_each((a).options || coalesce(CASE WHEN jsonb_typeof((a).options -> 'gae') = 'object' THEN (a).options -> 'gae' END, '{}') || settings) e
			WHERE e.key IN ('gamma', 'lambda'))), beside.joins);
END
$query$;
COMMENT ON FUNCTION stepadv_internal.spa_query(stepadv_internal.attached, stepadv_internal.made_method[]) IS 'part of attach: the query of the view _spa: contributions, grounding, their fused reward, and gae of it';
-- attach, detach: adapters over a relation that somebody has, and the views over them.

-- In the order in which attach gives them; place 0 comes before the methods.
INSERT INTO stepadv_internal.combined_views VALUES
	(0, 'values', 'stepadv_internal.values_query(stepadv_internal.attached, stepadv_internal.made_method[])', '{}', 'the group as a value, for any function of rollout_group'),
	(1, 'ratios', 'stepadv_internal.ratios_query(stepadv_internal.attached, stepadv_internal.made_method[])', '{}', 'a row per step'),
	(2, 'spa', 'stepadv_internal.spa_query(stepadv_internal.attached, stepadv_internal.made_method[])', '{model,alpha,beta,gamma,lambda}', 'a row per step'),
	(3, 'compare', 'stepadv_internal.compare_query(stepadv_internal.attached, stepadv_internal.made_method[])', '{methods,success_above}', 'a row per step, an advantage per method'),
	(4, 'quadrants', 'stepadv_internal.quadrants_query(stepadv_internal.attached, stepadv_internal.made_method[])', '{threshold}', 'a row per group, pair of methods, success and quadrant'),
	(5, 'disagreements', 'stepadv_internal.disagreements_query(stepadv_internal.attached, stepadv_internal.made_method[])', '{threshold}', 'a row per step and pair of methods'),
	(6, 'groups_over_time', 'stepadv_internal.groups_over_time_query(stepadv_internal.attached, stepadv_internal.made_method[])', '{}', 'a row per group, policy version and time bucket, with counts and sums'),
	(7, 'progress_over_time', 'stepadv_internal.progress_over_time_query(stepadv_internal.attached, stepadv_internal.made_method[])', '{bucket}', 'a row per policy version and time bucket'),
	(8, 'advantage_over_time', 'stepadv_internal.advantage_over_time_query(stepadv_internal.attached, stepadv_internal.made_method[])', '{}', 'a row per policy version, time bucket and method'),
	(9, 'advantages', 'stepadv_internal.advantages_query(stepadv_internal.attached, stepadv_internal.made_method[])', '{}', 'a row per step and method, of groups divided by policy version and time bucket');

-- ---- What attach was told

-- Errors where what was given cannot be meant.
CREATE FUNCTION stepadv_internal.check_given(g stepadv_internal.given) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	r CONSTANT jsonb := g.roles;
	needs text;
BEGIN
	IF g.source IS NULL THEN
		RAISE EXCEPTION 'source must be given' USING ERRCODE = 'null_value_not_allowed';
	ELSIF jsonb_typeof(g.options) <> 'object' THEN
		RAISE EXCEPTION 'options must be a JSON object, not %', g.options
			USING ERRCODE = 'invalid_parameter_value', HINT = 'For example {"rtmc": {"gamma": 0.9}}.';
	ELSIF coalesce(cardinality(g.group_by), 0) = 0 THEN
		RAISE EXCEPTION 'group_by must name at least one column' USING ERRCODE = 'invalid_parameter_value';
	ELSIF cardinality(g.group_by) <> (SELECT count(DISTINCT c) FROM unnest(g.group_by) c) THEN
		RAISE EXCEPTION 'group_by names a column twice, or NULL: %', g.group_by USING ERRCODE = 'invalid_parameter_value';
	ELSIF NOT r ?& '{rollout_id,step_no}' THEN
		RAISE EXCEPTION '% must be given', CASE WHEN r ? 'rollout_id' THEN 'step_no' ELSE 'rollout_id' END USING ERRCODE = 'null_value_not_allowed';
	ELSIF NOT r ?| '{reward,success}' THEN
		RAISE EXCEPTION 'reward or success must be given' USING ERRCODE = 'null_value_not_allowed', HINT = 'Without either no rollout is ever judged.';
	ELSIF g.states NOT IN ('observation', 'history', 'history_set', 'root', 'signature') THEN
		RAISE EXCEPTION 'unknown states: %', quote_literal(g.states) USING ERRCODE = 'invalid_parameter_value',
			HINT = 'states is ''observation'' (the column state), ''history'', ''history_set'', ''root'' or ''signature''.';
	ELSIF r ?| '{args,ok}' AND NOT r ? 'tool' THEN
		RAISE EXCEPTION '% is given without tool', CASE WHEN r ? 'args' THEN 'args' ELSE 'ok' END
			USING ERRCODE = 'null_value_not_allowed', HINT = 'A tool call is signed by tool, args and ok; they are columns.';
	ELSIF (r ? 'logp_new') <> (r ? 'logp_old') OR r ? 'token_mask' AND NOT r ? 'logp_new' THEN
		RAISE EXCEPTION '% must be given', CASE WHEN r ? 'logp_new' THEN 'logp_old' ELSE 'logp_new' END
			USING ERRCODE = 'null_value_not_allowed', HINT = 'A ratio needs both logp_new and logp_old; token_mask is for them.';
	END IF;
	needs := CASE WHEN g.states = 'observation' AND NOT r ? 'state' THEN 'a column given as state'
		WHEN g.states = 'signature' AND NOT r ? 'tool' THEN 'a column given as tool'
		WHEN g.states LIKE 'history%' AND NOT r ?| '{action,tool}' THEN 'a column given as action or as tool' END;
	IF needs IS NOT NULL THEN
		RAISE EXCEPTION 'states => % needs %', quote_literal(g.states), needs USING ERRCODE = 'null_value_not_allowed';
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.check_given(stepadv_internal.given) IS 'part of attach: error where what was given cannot be meant';

-- The relations are there, are tables or views, may be read, and have the columns
-- of the group and those that they are joined by.
CREATE FUNCTION stepadv_internal.check_relations(g stepadv_internal.given) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	c record;
BEGIN
	IF stepadv_internal.relation_name(g.source) IS NULL THEN
		RAISE EXCEPTION 'relation % does not exist', g.source::oid USING ERRCODE = 'undefined_table';
	END IF;
	SELECT p.oid INTO c FROM pg_class p WHERE p.oid IN (g.source, g.steps, g.rollouts) AND p.relkind NOT IN ('r', 'p', 'v', 'm', 'f');
	IF FOUND THEN
		RAISE EXCEPTION '% is not a table or view', stepadv_internal.relation_name(c.oid::regclass) USING ERRCODE = 'wrong_object_type';
	ELSIF NOT has_any_column_privilege(g.source, 'SELECT') THEN
		RAISE EXCEPTION 'permission denied for %', stepadv_internal.relation_name(g.source) USING ERRCODE = 'insufficient_privilege';
	END IF;
	SELECT n.n INTO c FROM unnest(g.group_by) n(n) WHERE stepadv_internal.column_type(g.source, n.n) IS NULL LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'column "%" given as % does not exist in %', c.n, 'group_by', stepadv_internal.relation_name(g.source) USING ERRCODE = 'undefined_column';
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.check_relations(stepadv_internal.given) IS 'part of attach: error where a relation cannot be read or has not the group''s columns';

CREATE FUNCTION stepadv_internal.check_shown(g stepadv_internal.given) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	c record;
BEGIN
	SELECT n.relation, n.given_as, n.name INTO c
	FROM (
		SELECT g.steps AS relation, 'show_steps' AS given_as, s AS name FROM unnest(g.group_by || ARRAY[g.roles ->> 'rollout_id', g.roles ->> 'step_no', g.roles ->> 'step_id']) s
		WHERE g.steps <> g.source
		UNION ALL
		SELECT g.rollouts, 'show_rollouts', s FROM unnest(g.group_by || (g.roles ->> 'rollout_id')) s WHERE g.rollouts IS NOT NULL
	) n
	WHERE n.name IS NOT NULL AND stepadv_internal.column_type(n.relation, n.name) IS NULL LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'column "%" does not exist in %, given as %', c.name, stepadv_internal.relation_name(c.relation), c.given_as
			USING ERRCODE = 'undefined_column', HINT = 'Its rows are found by the columns of the group, the rollout and the step.';
	END IF;
	SELECT n.name INTO c FROM unnest(g.columns) n(name)
	WHERE n.name IS NULL OR coalesce(stepadv_internal.column_type(g.steps, n.name), stepadv_internal.column_type(g.rollouts, n.name)) IS NULL LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'column "%" given in columns does not exist in %', c.name,
			concat_ws(' or ', stepadv_internal.relation_name(g.steps), stepadv_internal.relation_name(g.rollouts)) USING ERRCODE = 'undefined_column';
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.check_shown(stepadv_internal.given) IS 'part of attach: error where the relations to show rows from lack a column';

-- An option that no view took is a mistake.
CREATE FUNCTION stepadv_internal.check_options(a stepadv_internal.attached, has_tool boolean) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	methods CONSTANT stepadv_internal.known_method[] := ARRAY(SELECT m FROM stepadv_internal.methods_for((a).owner, (a).methods) m);
	known text[];
	option record;
BEGIN
	known := CASE WHEN has_tool THEN '{signature}' ELSE '{}' END::text[] || ARRAY(SELECT m.method FROM unnest(methods) m)
		|| ARRAY(SELECT v.suffix FROM stepadv_internal.combined_views v WHERE v.place > 1 ORDER BY v.place);
	SELECT e.key, e.value INTO option FROM jsonb_each((a).options) e
	WHERE e.key <> 'methods' AND CASE WHEN jsonb_typeof(e.value) = 'object' THEN e.key <> ALL (known)
		ELSE NOT EXISTS (SELECT FROM unnest(methods) m WHERE stepadv_internal.method_options(m, jsonb_build_object(e.key, e.value)) <> '{}') END
	LIMIT 1;
	IF NOT FOUND THEN
		RETURN;
	ELSIF jsonb_typeof(option.value) <> 'object' AND EXISTS (SELECT FROM unnest(methods) m WHERE option.key = ANY (m.parameters)) THEN
		RAISE EXCEPTION 'option "%" cannot be % for any function', option.key, option.value USING ERRCODE = 'invalid_parameter_value';
	END IF;
	RAISE EXCEPTION 'option "%" is neither a function that attach makes a view of nor a parameter of one', option.key
		USING ERRCODE = 'invalid_parameter_value', HINT = format('Functions: %s.', array_to_string(known, ', '));
END
$$;
COMMENT ON FUNCTION stepadv_internal.check_options(stepadv_internal.attached, boolean) IS 'part of attach: error on an option that no view takes';

-- ---- Making views

-- A view in its place, for people with a comment that says what it is: readers
-- come with their own rights, where the server knows such views.
CREATE FUNCTION stepadv_internal.create_view(schema text, name text, query text, shows text) RETURNS regclass
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	max_length CONSTANT integer := current_setting('max_identifier_length')::integer;
BEGIN
	IF octet_length(name) > max_length THEN
		RAISE EXCEPTION 'the name of view "%" is longer than % bytes', name, max_length
			USING ERRCODE = 'name_too_long', HINT = 'Give a shorter prefix.';
	ELSIF EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = schema AND c.relname = create_view.name) THEN
		RAISE EXCEPTION 'relation "%" already exists in schema "%"', name, schema
			USING ERRCODE = 'duplicate_table', HINT = 'Detach what was attached before, or give another prefix.';
	END IF;
	EXECUTE format('CREATE VIEW %I.%I %s AS %s', schema, name,
		CASE WHEN current_setting('server_version_num')::integer >= 150000 THEN 'WITH (security_invoker = true)' ELSE '' END, query);
	EXECUTE format('COMMENT ON VIEW %I.%I IS %L', schema, name, shows);
	RETURN (SELECT c.oid::regclass FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = schema AND c.relname = create_view.name);
END
$$;
COMMENT ON FUNCTION stepadv_internal.create_view(text, text, text, text) IS 'part of attach: creates a view; error if its name is taken';

-- Adapters are for whoever may read what they read, which is what decides.
CREATE FUNCTION stepadv_internal.create_adapter(schema text, name text, query text, shows text) RETURNS regclass
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	view regclass;
BEGIN
	IF query IS NULL THEN
		RETURN NULL;
	END IF;
	view := stepadv_internal.create_view(schema, name, query, shows);
	IF current_setting('server_version_num')::integer >= 150000 THEN
		EXECUTE format('GRANT SELECT ON %s TO PUBLIC', stepadv_internal.relation_name(view));
	END IF;
	RETURN view;
END
$$;
COMMENT ON FUNCTION stepadv_internal.create_adapter(text, text, text, text) IS 'part of attach: creates an adapter; NULL for no query';

-- The views of an attachment, with what each shows and reads.
CREATE FUNCTION stepadv_internal.view_queries(a stepadv_internal.attached, methods text[]) RETURNS TABLE (kind text, query text, shows text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	made CONSTANT stepadv_internal.made_method[] := ARRAY(SELECT m FROM stepadv_internal.made_methods(a) m WHERE view_queries.methods IS NULL OR m.method = ANY (view_queries.methods));
	v record;
BEGIN
	FOR v IN
		SELECT NULL::stepadv_internal.made_method AS m, c.* FROM stepadv_internal.combined_views c WHERE c.place = 0
		UNION ALL (SELECT m, NULL, m.method, NULL, NULL, m.shape FROM unnest(made) m ORDER BY m.number)
		UNION ALL (SELECT NULL, c.* FROM stepadv_internal.combined_views c WHERE c.place > 0 ORDER BY c.place)
	LOOP
		kind := v.suffix;
		IF v.builder IS NULL THEN
			query := stepadv_internal.method_query(a, v.m);
			shows := format('%s(%s): %s', split_part((v.m).call, '(g.', 1), CASE WHEN (v.m).ours THEN substr((v.m).arguments, 3)
				ELSE (SELECT string_agg(format('%s => %L', e.key, e.value), ', ' ORDER BY e.key) FROM jsonb_each_text((v.m).settings) e) END, v.shape);
			shows := regexp_replace(shows, '^stepadv\.', '');
		ELSE
			EXECUTE format('SELECT %s($1, $2)', v.builder::regprocedure::regproc) INTO query USING a, made;
			shows := format('%s: %s', CASE kind WHEN 'values' THEN 'rollout_agg' WHEN 'ratios' THEN 'step_ratio, sequence_ratio, approximate_kl' ELSE kind END, v.shape);
		END IF;
		CONTINUE WHEN query IS NULL;
		RETURN NEXT;
	END LOOP;
END
$$;
COMMENT ON FUNCTION stepadv_internal.view_queries(stepadv_internal.attached, text[]) IS 'part of attach: the views that an attachment''s columns and options allow, of these methods or all, with their queries';

CREATE FUNCTION stepadv_internal.known(attachment regclass) RETURNS stepadv_internal.attached
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$ SELECT k FROM stepadv_internal.attachments((SELECT c.relowner FROM pg_class c WHERE c.oid = known.attachment)) k WHERE k.attachment = known.attachment $$;
COMMENT ON FUNCTION stepadv_internal.known(regclass) IS 'an attachment by its table; NULL if it is none to be believed';

-- A view with another query; false if it cannot take it.  Its columns keep the
-- names that they have, which its owner may have changed, and their places: those
-- of methods that are later than the view, which would stand between others if it
-- were new, come last.
CREATE FUNCTION stepadv_internal.replace_view(view regclass, query text, later text[]) RETURNS boolean
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	name CONSTANT text := stepadv_internal.relation_name(view);
	scratch CONSTANT text := (SELECT format('%I.%I', n.nspname, 'stepadv_new_' || c.oid) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = view);
	options CONSTANT text := CASE WHEN current_setting('server_version_num')::integer >= 150000 THEN 'WITH (security_invoker = true)' ELSE '' END;
	names text[] := stepadv_internal.group_columns(view, 10000);
	columns text[];
	types oid[];
BEGIN
	-- What differs in nothing, or has columns more at its end.
	BEGIN
		EXECUTE format('CREATE OR REPLACE VIEW %s %s AS %s', name, options, query);
		RETURN true;
	EXCEPTION WHEN invalid_table_definition THEN
		EXECUTE format('CREATE VIEW %s AS %s', scratch, query);
	END;
	SELECT array_agg(c.attname::text ORDER BY l.i NULLS FIRST, c.attnum), array_agg(c.atttypid ORDER BY l.i NULLS FIRST, c.attnum) INTO columns, types
	FROM pg_attribute c LEFT JOIN (
		SELECT n.name, min(m.i) AS i FROM unnest(later) WITH ORDINALITY m(m, i)
		CROSS JOIN LATERAL (SELECT m.m UNION ALL SELECT 'mean_abs_' || m.m UNION ALL SELECT m.m || '_' || s.name FROM stepadv_internal.method_sums() s) n(name)
		GROUP BY 1) l ON l.name = c.attname
	WHERE c.attrelid = scratch::regclass AND c.attnum > 0;
	EXECUTE format('DROP VIEW %s', scratch);
	-- Columns more, or less, that no later method explains, of other types, or the
	-- same in another order: which is which nobody can tell.
	IF later = '{}' AND (cardinality(columns) <> cardinality(names) OR columns <> names AND columns <@ names)
		OR types[1:cardinality(names)] IS DISTINCT FROM (SELECT array_agg(c.atttypid ORDER BY c.attnum) FROM pg_attribute c WHERE c.attrelid = view AND c.attnum > 0)
	THEN
		RETURN false;
	END IF;
	query := format('SELECT %s FROM (%s) q', stepadv_internal.list(columns, 'q.%1$I'::text, ', '::text), query);
	FOR i IN cardinality(names) + 1 .. cardinality(columns) LOOP
		names := names || stepadv_internal.free_name(names, columns[i], 'method_'::text);
	END LOOP;
	EXECUTE format('CREATE OR REPLACE VIEW %s (%s) %s AS %s', name, stepadv_internal.list(names, '%1$I'::text, ', '::text), options, query);
	RETURN true;
END
$$;
COMMENT ON FUNCTION stepadv_internal.replace_view(regclass, text, text[]) IS 'gives a view another query, with columns of later methods after those that it has; false if its columns do not allow it';

-- With the grants and the comment that it had; an error where something reads it.
CREATE FUNCTION stepadv_internal.recreate_view(view regclass, query text) RETURNS regclass
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	old record;
	given record;
	made regclass;
BEGIN
	SELECT n.nspname, c.relname, c.relowner, c.relacl, obj_description(c.oid, 'pg_class') AS comment INTO old
	FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = recreate_view.view;
	EXECUTE format('DROP VIEW %I.%I', old.nspname, old.relname);
	made := stepadv_internal.create_view(old.nspname::text, old.relname::text, query, old.comment);
	FOR given IN SELECT a.privilege_type, a.is_grantable, a.grantee, r.rolname FROM aclexplode(old.relacl) a LEFT JOIN pg_roles r ON r.oid = a.grantee WHERE a.grantee <> old.relowner LOOP
		EXECUTE format('GRANT %s ON %I.%I TO %s%s', given.privilege_type, old.nspname, old.relname,
			CASE WHEN given.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(given.rolname) END, CASE WHEN given.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END);
	END LOOP;
	RETURN made;
END
$$;
COMMENT ON FUNCTION stepadv_internal.recreate_view(regclass, text) IS 'part of upgrade_attachments: drops a view and creates it with another query';

-- Makes the views of an attachment, or makes them anew: they read then what its
-- row says is kept, or fold.  A view that was dropped stays away.  Methods and
-- views that are not there yet are made if add says so.
CREATE FUNCTION stepadv_internal.make_views(attachment regclass, add boolean) RETURNS TABLE (view_name regclass, shows text)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	a stepadv_internal.attached := stepadv_internal.known(attachment);
	schema CONSTANT text := (SELECT n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = make_views.attachment);
	views regclass[] := coalesce((a).views, '{}');
	kinds text[] := coalesce((a).view_kinds, '{}');
	had CONSTANT text[] := kinds;
	made CONSTANT text[] := CASE WHEN had <> '{}' THEN ARRAY(SELECT m.method FROM stepadv_internal.made_methods(a) m WHERE add OR m.method = ANY (had)) END;
	v record;
	i integer;
BEGIN
	-- What is kept of time has columns for the methods that there were.
	IF add AND (a).folded_over_time IS NOT NULL AND NOT made <@ had THEN
		RAISE EXCEPTION 'a method was registered that has no columns in what is kept' USING ERRCODE = 'object_not_in_prerequisite_state',
			HINT = 'Call unmaintain, upgrade_attachments and maintain.';
	END IF;
	FOR v IN SELECT * FROM stepadv_internal.view_queries(a, made) LOOP
		i := array_position(kinds, v.kind);
		shows := v.shows;
		IF views[i] IS NOT NULL THEN
			-- Methods that were made after this view stand after it in the list of kinds.
			IF NOT stepadv_internal.replace_view(views[i], v.query, ARRAY(
				SELECT m.method FROM unnest(made) WITH ORDINALITY m(method, number) CROSS JOIN LATERAL array_position(had, m.method) p(place)
				WHERE (p.place > i OR p.place IS NULL) AND v.kind <> ALL (made) AND v.kind <> 'values' ORDER BY p.place, m.number))
			THEN
				IF NOT add THEN
					RAISE EXCEPTION 'columns of view % are no longer those that attach made', views[i] USING ERRCODE = 'object_not_in_prerequisite_state',
						HINT = 'Call upgrade_attachments, or detach and attach again.';
				END IF;
				views[i] := stepadv_internal.recreate_view(views[i], v.query);
			END IF;
			view_name := views[i];
			RETURN NEXT;
		ELSIF add AND i IS NULL THEN
			view_name := stepadv_internal.create_view(schema, (a).prefix || '_' || v.kind, v.query, format('%s of %s', v.shows, stepadv_internal.relation_name((a).source)));
			views := views || view_name;
			kinds := kinds || v.kind;
			RETURN NEXT;
		END IF;
	END LOOP;
	EXECUTE format('UPDATE %s SET views = $1, view_kinds = $2', stepadv_internal.relation_name(attachment)) USING views, kinds;
END
$$;
COMMENT ON FUNCTION stepadv_internal.make_views(regclass, boolean) IS 'makes the views of an attachment anew by its row; with add also those that it has not; what was made';

-- ---- attach

-- What is left of an attachment whose adapter is gone (it was dropped with its
-- source) is in nobody's way: its table, and what its row names, was called so by
-- attach and is still of the same owner.  Another role's row is not read.
CREATE FUNCTION stepadv_internal.drop_orphan(schema text, name text) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	orphan record;
	a stepadv.attachment;
	left_over record;
BEGIN
	SELECT c.oid, c.relowner INTO orphan FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
	WHERE n.nspname = schema AND c.relname = name AND c.relkind = 'r' AND c.reloftype = 'stepadv.attachment'::regtype AND pg_has_role(c.relowner, 'USAGE');
	IF NOT FOUND OR (stepadv_internal.known(orphan.oid::regclass)).attachment IS NOT NULL THEN
		RETURN;
	END IF;
	IF pg_get_userbyid(orphan.relowner) = current_user THEN
		EXECUTE format('SELECT * FROM ONLY %s LIMIT 1', stepadv_internal.relation_name(orphan.oid::regclass)) INTO a;
	END IF;
	SELECT string_agg(stepadv_internal.relation_name(c.oid::regclass), ', ') FILTER (WHERE c.relkind = 'v') AS views,
		string_agg(stepadv_internal.relation_name(c.oid::regclass), ', ') FILTER (WHERE c.relkind = 'r') AS tables
	INTO left_over
	FROM pg_class c
	WHERE c.oid = ANY (a.views || ARRAY[a.rows, a.stated, a.shown, a.shown_rollouts, a.runs, a.began, a.fresh, a.folded, a.changed, a.fresh_over_time, a.folded_over_time])
		AND c.relowner = orphan.relowner AND left(c.relname, length(a.prefix) + 1) = a.prefix || '_';
	IF left_over.views IS NOT NULL THEN
		EXECUTE 'DROP VIEW ' || left_over.views;
	END IF;
	EXECUTE 'DROP TABLE ' || concat_ws(', ', stepadv_internal.relation_name(orphan.oid::regclass), left_over.tables);
END
$$;
COMMENT ON FUNCTION stepadv_internal.drop_orphan(text, text) IS 'part of attach: drops what is left of an attachment whose adapter is gone';

-- Adapters, the attachment's table and its row, then the views.
CREATE FUNCTION stepadv_internal.make_attachment(g stepadv_internal.given, schema text, prefix text) RETURNS regclass
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	source_name CONSTANT text := stepadv_internal.relation_name(g.source);
	table_name CONSTANT text := format('%I.%I', schema, prefix || '_attachment');
	a stepadv.attachment;
	query text;
BEGIN
	IF octet_length(prefix || '_attachment') > current_setting('max_identifier_length')::integer THEN
		RAISE EXCEPTION 'the name of table "%" is longer than % bytes', prefix || '_attachment', current_setting('max_identifier_length')
			USING ERRCODE = 'name_too_long', HINT = 'Give a shorter prefix.';
	END IF;
	PERFORM stepadv_internal.drop_orphan(schema, prefix || '_attachment');
	a.prefix := prefix;
	a.n_group_columns := cardinality(g.group_by);
	a.states := g.states;
	a.options := g.options;
	a.methods := ARRAY(SELECT jsonb_array_elements_text(CASE WHEN jsonb_typeof(g.options -> 'methods') = 'array' THEN g.options -> 'methods' ELSE '[]' END));
	-- All that was given is looked at before anything is made.
	query := stepadv_internal.rows_query(g);
	PERFORM stepadv_internal.check_shown(g);
	a.rows := stepadv_internal.create_adapter(schema, prefix || '_rows', query, 'what is folded of ' || source_name);
	a.stated := stepadv_internal.create_adapter(schema, prefix || '_rows_with_states', CASE WHEN g.states = 'signature' THEN stepadv_internal.states_query(g, a.rows) END,
		'what is folded of ' || source_name || ', with states made of tool calls');
	a.shown := stepadv_internal.create_adapter(schema, prefix || '_shown_steps', stepadv_internal.shown_query(g), 'what is shown beside a step of ' || source_name);
	a.shown_rollouts := stepadv_internal.create_adapter(schema, prefix || '_shown_rollouts',
		CASE WHEN g.rollouts IS NOT NULL THEN stepadv_internal.shown_rollouts_query(g) END, 'what is shown beside a rollout of ' || source_name);
	a.runs := stepadv_internal.create_adapter(schema, prefix || '_known_runs', stepadv_internal.runs_query(g), 'policy version and start of the rollouts of ' || source_name);
	a.began := stepadv_internal.create_adapter(schema, prefix || '_begun_runs', stepadv_internal.began_query(g),
		'policy version and start of the rollouts of ' || source_name || ', as its own rows say');
	EXECUTE format('CREATE TABLE %s OF stepadv.attachment', table_name);
	EXECUTE format('COMMENT ON TABLE %s IS %L', table_name, 'what stepadv.attach made over ' || source_name || '; dropped by stepadv.detach');
	EXECUTE format('INSERT INTO %s SELECT ($1).*', table_name) USING a;
	RETURN table_name::regclass;
END
$$;
COMMENT ON FUNCTION stepadv_internal.make_attachment(stepadv_internal.given, text, text) IS 'part of attach: makes the adapters and the attachment''s table, with its row';

CREATE FUNCTION stepadv_internal.attach(
	source regclass, group_by text[], rollout_id text, step_no text,
	state text, action text, reward text, step_id text, success text, next_state text, value text, turn_reward text, cost text,
	prefix text, schema text, options jsonb, columns text[], show_steps regclass, show_rollouts regclass,
	logp_new text, logp_old text, token_mask text, states text, tool text, args text, ok text,
	policy_version text, started_at text, features text, contribution text, grounded text)
RETURNS TABLE (view_name regclass, shows text)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
	g stepadv_internal.given;
	attachment regclass;
	a stepadv_internal.attached;
BEGIN
	g := ROW(source, group_by, jsonb_strip_nulls(jsonb_build_object('step_id', step_id, 'rollout_id', rollout_id, 'step_no', step_no, 'state', state, 'action', action,
			'reward', reward, 'success', success, 'next_state', next_state, 'value', value, 'turn_reward', turn_reward, 'cost', cost, 'tool', tool, 'args', args, 'ok', ok,
			'logp_new', logp_new, 'logp_old', logp_old, 'token_mask', token_mask, 'features', features, 'contribution', contribution, 'grounded', grounded,
			'policy_version', policy_version, 'started_at', started_at)),
		states, coalesce(options, '{}'), columns, coalesce(show_steps, source), show_rollouts);
	PERFORM stepadv_internal.check_given(g);
	PERFORM stepadv_internal.check_relations(g);
	SELECT coalesce(attach.schema, n.nspname), coalesce(attach.prefix, c.relname) INTO schema, prefix
	FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = source;
	IF NOT EXISTS (SELECT FROM pg_namespace n WHERE n.nspname = schema) THEN
		RAISE EXCEPTION 'schema "%" does not exist', schema USING ERRCODE = 'invalid_schema_name';
	END IF;
	-- A primary key of one column identifies a step.
	IF step_id IS NULL THEN
		g.roles := g.roles || coalesce((SELECT jsonb_build_object('step_id', c.attname) FROM pg_index i JOIN pg_attribute c ON c.attrelid = i.indrelid AND c.attnum = i.indkey[0]
			WHERE i.indrelid = source AND i.indisprimary AND i.indnkeyatts = 1), '{}');
	END IF;
	-- Whether the action could be executed is what ok says of a tool call.
	IF grounded IS NULL AND g.roles ?| '{features,contribution}' AND stepadv_internal.column_type(g.steps, ok) IS NOT NULL THEN
		g.roles := g.roles || jsonb_build_object('grounded', ok);
	END IF;
	attachment := stepadv_internal.make_attachment(g, schema, prefix);
	a := stepadv_internal.known(attachment);
	RETURN QUERY SELECT v.view, obj_description(v.view, 'pg_class') FROM unnest(ARRAY[a.rows, a.stated, a.shown, a.shown_rollouts, a.runs, a.began]) WITH ORDINALITY v(view, i)
		WHERE v.view IS NOT NULL ORDER BY v.i;
	RETURN QUERY SELECT m.view_name, m.shows FROM stepadv_internal.make_views(attachment, true) m;
	PERFORM stepadv_internal.check_options(stepadv_internal.known(attachment), tool IS NOT NULL);
END
$$;
COMMENT ON FUNCTION stepadv_internal.attach(regclass, text[], text, text, text, text, text, text, text, text, text, text, text, text, text, jsonb, text[], regclass, regclass, text, text, text, text, text, text, text, text, text, text, text, text) IS 'what attach does, as the owner of the source where the caller has his rights';

CREATE FUNCTION stepadv.attach(
	source regclass, group_by text[], rollout_id text, step_no text,
	state text DEFAULT NULL, action text DEFAULT NULL, reward text DEFAULT NULL,
	step_id text DEFAULT NULL, success text DEFAULT NULL, next_state text DEFAULT NULL,
	value text DEFAULT NULL, turn_reward text DEFAULT NULL, cost text DEFAULT NULL,
	prefix text DEFAULT NULL, schema text DEFAULT NULL, options jsonb DEFAULT '{}',
	columns text[] DEFAULT NULL, show_steps regclass DEFAULT NULL, show_rollouts regclass DEFAULT NULL,
	logp_new text DEFAULT NULL, logp_old text DEFAULT NULL, token_mask text DEFAULT NULL,
	states text DEFAULT NULL, tool text DEFAULT NULL, args text DEFAULT NULL, ok text DEFAULT NULL,
	policy_version text DEFAULT NULL, started_at text DEFAULT NULL,
	features text DEFAULT NULL, contribution text DEFAULT NULL, grounded text DEFAULT NULL)
RETURNS TABLE (view_name regclass, shows text)
LANGUAGE c ROWS 30
AS 'MODULE_PATHNAME', 'stepadv_as_owner';
COMMENT ON FUNCTION stepadv.attach(regclass, text[], text, text, text, text, text, text, text, text, text, text, text, text, text, jsonb, text[], regclass, regclass, text, text, text, text, text, text, text, text, text, text, text, text) IS
'creates views over a table (or view) of steps: adapters (<prefix>_rows: your columns by their roles; _shown and others), <prefix>_values, _groups, _rollouts, _returns, and one per method (_grpo, _rloo, _mt_grpo, _mt_rloo, _gae, _ratios, _gigpo, _graphgpo, _graph_nodes, _graph_edges, _contribution, _contribution_summary, _hgpo, _tempo, _rtmc, _rtmc_tree, _spa, and those of register_method), those whose columns are given, and of several methods _compare, _quadrants, _disagreements; the columns are named by role; ids and states of any type (integers as they are, others by signature_hash); options, e.g. {"rtmc": {"gamma": 0.9}}, become literals in the views; columns: base columns to show (default all), show_steps and show_rollouts: relations to show them from; logp_new, logp_old, token_mask: for _ratios, columns of the relation of the shown steps; states: where states come from, ''observation'' (the column state), ''history'' (the actions before the step), ''history_set'' (the same in any order), ''root'' (one state), ''signature'' (state_hash over the tool calls before the step); tool, args, ok: columns of the tool call, of which action signatures are made, for states and where there is no column action; policy_version, started_at: columns of show_rollouts or else of the source, by which (and by option {"progress_over_time": {"bucket": "1 day"}}) the views _groups_over_time, _progress_over_time, _advantage_over_time and _advantages divide the rollouts, policy_version also a column of _quadrants and _disagreements; features (an array of numbers, or what has a cast to real[]) or contribution, and grounded (default ok): for _spa, columns of the relation of the shown steps; what was made is recorded in the table <prefix>_attachment, and belongs to the source''s owner where the caller has his rights, else to the caller; one row per view made; an error changes nothing';

-- ---- attachments, for people

CREATE FUNCTION stepadv.attachments()
RETURNS TABLE (source regclass, prefix text, schema name, owner regrole, group_columns text[], states text, kept text, views jsonb)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT k.source, k.prefix, n.nspname, k.owner::regrole, stepadv_internal.group_columns(k.rows, k.n_group_columns), coalesce(k.states, CASE WHEN stepadv_internal.has_column(k.rows, 'state'::text) THEN 'observation' END), k.kept,
		(SELECT coalesce(jsonb_object_agg(v.kind, stepadv_internal.relation_name(v.view)), '{}') FROM unnest(k.view_kinds, k.views) v(kind, view) WHERE v.kind IS NOT NULL AND v.view IS NOT NULL)
	FROM stepadv_internal.attachments(NULL::oid) k JOIN pg_class t ON t.oid = k.attachment JOIN pg_namespace n ON n.oid = t.relnamespace
	WHERE pg_has_role(k.owner, 'USAGE')
	ORDER BY stepadv_internal.relation_name(k.source), n.nspname, k.prefix
$$;
COMMENT ON FUNCTION stepadv.attachments() IS
'what attach made for the caller, or for roles whose rights he has, a row each: over which source, with which prefix, in which schema, whose, by which columns a group is known, where states come from (NULL: there are none), how groups are kept (triggers, commit, refresh; NULL: they are not), and its views by kind ("rtmc", "compare", …), whatever they are called by now';

-- ---- detach, upgrade_attachments

-- A stranger's attachment is his own business, and in nobody's way.  That of
-- somebody who owned the source before is known by triggers below it, which only
-- an owner makes.
CREATE FUNCTION stepadv_internal.is_of_source(attachment regclass, owner oid, source regclass) RETURNS boolean
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT is_of_source.owner = quote_ident(current_user)::regrole OR pg_has_role(is_of_source.owner, s.relowner, 'USAGE')
		OR EXISTS (SELECT FROM stepadv_internal.kept_triggers(is_of_source.attachment) t JOIN pg_class r ON r.oid = t.relation WHERE r.relowner = s.relowner)
	FROM pg_class s WHERE s.oid = is_of_source.source
$$;
COMMENT ON FUNCTION stepadv_internal.is_of_source(regclass, oid, regclass) IS 'whether an attachment is the caller''s or of the source''s owner, or has triggers on his tables';

CREATE FUNCTION stepadv.detach(source regclass, prefix text DEFAULT NULL) RETURNS integer
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET jit = off
AS $$
DECLARE
	a stepadv_internal.attached;
	views text[];
	number integer := 0;
BEGIN
	IF detach.source IS NULL THEN
		RAISE EXCEPTION 'source must be given' USING ERRCODE = 'null_value_not_allowed';
	END IF;
	FOR a IN
		SELECT k.* FROM stepadv_internal.attachments(NULL::oid) k
		WHERE k.source = detach.source AND (detach.prefix IS NULL OR k.prefix = detach.prefix) AND pg_has_role(k.owner, 'USAGE')
			AND stepadv_internal.is_of_source(k.attachment, k.owner, k.source)
		ORDER BY k.attachment
	LOOP
		-- In one command: they read each other.
		views := ARRAY(SELECT stepadv_internal.relation_name(v) FROM unnest(a.views) v WHERE v IS NOT NULL);
		IF views <> '{}' THEN
			EXECUTE 'DROP VIEW ' || array_to_string(views, ', ');
		END IF;
		number := number + cardinality(views);
		IF a.kept IS NOT NULL THEN
			PERFORM stepadv_internal.drop_kept(a.attachment, false);
		END IF;
		views := ARRAY(SELECT stepadv_internal.relation_name(v) FROM unnest(ARRAY[a.rows, a.stated, a.shown, a.shown_rollouts, a.runs, a.began]) v WHERE v IS NOT NULL);
		EXECUTE 'DROP VIEW ' || array_to_string(views, ', ');
		number := number + cardinality(views);
		EXECUTE format('DROP TABLE %s', stepadv_internal.relation_name(a.attachment));
	END LOOP;
	RETURN number;
END
$$;
COMMENT ON FUNCTION stepadv.detach(regclass, text) IS
'drops the views that attach made over the source (with the prefix, if given) for the caller or a role whose rights he has, what maintain keeps for them, and nothing else; the number of views; error when something depends on one of them';

CREATE FUNCTION stepadv_internal.upgrade_attachment(attachment regclass) RETURNS bigint
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF (stepadv_internal.known(attachment)).attachment IS NULL THEN
		RAISE EXCEPTION '% is not the table of an attachment', attachment USING ERRCODE = 'wrong_object_type';
	END IF;
	RETURN (SELECT count(*) FROM stepadv_internal.make_views(attachment, true));
END
$$;
COMMENT ON FUNCTION stepadv_internal.upgrade_attachment(regclass) IS 'what upgrade_attachment does, as the owner of the attachment where the caller has his rights';

CREATE FUNCTION stepadv.upgrade_attachment(attachment regclass) RETURNS bigint
LANGUAGE c AS 'MODULE_PATHNAME', 'stepadv_as_owner';
COMMENT ON FUNCTION stepadv.upgrade_attachment(regclass) IS
'makes the views of one attachment, given by its table, anew, with those that a later version of stepadv or register_method added; a view whose columns are others now is dropped and created, with its grants; error when something reads such a view; the number of views';

-- Each as its owner: what is made anew tries his methods and writes his table.
-- What is wrong with one keeps nobody from his.
CREATE FUNCTION stepadv.upgrade_attachments() RETURNS TABLE (attachment regclass, n_views bigint, problem text)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET jit = off
AS $$
DECLARE
	detail text;
BEGIN
	FOR attachment IN SELECT k.attachment FROM stepadv_internal.attachments(NULL::oid) k WHERE pg_has_role(k.owner, 'USAGE') ORDER BY k.attachment::text LOOP
		problem := NULL;
		BEGIN
			n_views := stepadv.upgrade_attachment(attachment);
		EXCEPTION WHEN OTHERS THEN
			GET STACKED DIAGNOSTICS problem = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL;
			problem := concat_ws('; ', problem, nullif(detail, ''));
			n_views := NULL;
		END;
		RETURN NEXT;
	END LOOP;
END
$$;
COMMENT ON FUNCTION stepadv.upgrade_attachments() IS
'upgrade_attachment for all attachments of the caller and of roles whose rights he has, each with the rights of its owner; after ALTER EXTENSION stepadv UPDATE, and after register_method; a row per attachment, with the number of views, or the problem for which its views are as they were';
-- Choosing the steps to train on, and writing them out: plain SQL over any
-- relation of advantages.

-- The type of a relation's column, or what lies under its domain; NULL: there is
-- no such column.
CREATE FUNCTION stepadv_internal.curation_type(relation regclass, name text) RETURNS oid
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$ SELECT stepadv_internal.base_type(stepadv_internal.column_type(relation, name)) $$;
COMMENT ON FUNCTION stepadv_internal.curation_type(regclass, text) IS 'part of select_steps: type of a column, under its domains; NULL when there is no such column';

-- Stands in the condition of a selection, where it costs nothing, and says what
-- its columns are: with the view through every dump, whatever its comment becomes.
CREATE FUNCTION stepadv_internal.selection_of(group_by text[], columns jsonb) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT true $$;
COMMENT ON FUNCTION stepadv_internal.selection_of(text[], jsonb) IS 'part of create_selection: true; the arguments say which columns of the view are the group''s, and which have a role';

-- What a selection says of its columns; NULLs for any other view.
CREATE FUNCTION stepadv_internal.selection_says(view regclass, OUT group_by text[], OUT columns jsonb)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT replace(m.m[1], '''''', '''')::text[], replace(m.m[2], '''''', '''')::jsonb
	FROM regexp_matches(pg_get_viewdef(view), 'stepadv_internal\.selection_of\(''((?:[^'']|'''')*)''::text\[\], ''((?:[^'']|'''')*)''::jsonb\)') m(m)
$$;
COMMENT ON FUNCTION stepadv_internal.selection_says(regclass) IS 'part of select_steps: the columns of the group, and those with a role, of a view made by create_selection';

-- The columns of a view of attach that are the user's state, action, …: those
-- that feed these roles.  Where two could be meant, none is taken; and what attach
-- makes of several columns is nobody's column.
CREATE FUNCTION stepadv_internal.shown_roles(view regclass, a stepadv_internal.attached) RETURNS jsonb
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT coalesce(jsonb_object_agg(x.role, x.names[1]), '{}')
	FROM (
		SELECT r.role, array_agg(v.name) AS names
		FROM (
			SELECT c.name AS role, min(c.column_name) AS column_name FROM stepadv_internal.view_columns((a).rows) c WHERE c.name IN ('state', 'action') GROUP BY 1 HAVING count(*) = 1
			UNION ALL
			SELECT substr(c.name, length('stepadv_') + 1), c.column_name FROM stepadv_internal.view_columns((a).shown) c WHERE c.name IN ('stepadv_logp_old', 'stepadv_token_mask')
		) r
		JOIN stepadv_internal.view_columns((a).shown) s ON s.plain AND s.column_name = r.column_name AND s.name NOT LIKE 'stepadv\_%'
		JOIN stepadv_internal.view_columns(view) v ON v.plain AND v.relation = (a).shown AND v.column_name = s.name
		GROUP BY r.role
	) x
	WHERE cardinality(x.names) = 1
$$;
COMMENT ON FUNCTION stepadv_internal.shown_roles(regclass, stepadv_internal.attached) IS 'part of select_steps: the columns of a view of attach that are the user''s state, action and log-probabilities, by role';

-- What a value is ordered by, the same in every database: numbers as numbers,
-- everything else by the bytes of its text.
CREATE FUNCTION stepadv_internal.curation_key(expression text, type oid) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT CASE WHEN curation_key.type IN ('int2'::regtype, 'int4'::regtype, 'int8'::regtype, 'numeric'::regtype)
		THEN curation_key.expression
		ELSE format('%s::text COLLATE "C"', curation_key.expression) END
$$;
COMMENT ON FUNCTION stepadv_internal.curation_key(text, oid) IS 'part of select_steps: the SQL expression that steps are ordered by, for an expression of the given type';

CREATE FUNCTION stepadv_internal.curation_refuse(problem text) RETURNS float8
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RAISE EXCEPTION '%', curation_refuse.problem USING ERRCODE = 'data_exception';
END
$$;
COMMENT ON FUNCTION stepadv_internal.curation_refuse(text) IS 'part of select_steps: an error, raised from within a query';

-- The SQL expression for a column of s as a finite number, NULL for NULL.
CREATE FUNCTION stepadv_internal.curation_number(relation regclass, name text, role text) RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	type oid := stepadv_internal.curation_type(curation_number.relation, curation_number.name);
	number text;
BEGIN
	IF curation_number.name IS NULL THEN
		RAISE EXCEPTION '% must be given', CASE curation_number.role WHEN 'advantage' THEN 'advantage_column' ELSE curation_number.role END
			USING ERRCODE = 'null_value_not_allowed';
	ELSIF type IS NULL THEN
		RAISE EXCEPTION 'column "%" given as % does not exist in %', curation_number.name, curation_number.role, curation_number.relation
			USING ERRCODE = 'undefined_column',
				HINT = CASE curation_number.role
					WHEN 'advantage' THEN 'A relation of advantages is needed, such as a view made by attach; another column is named by advantage_column => ''…''.'
					WHEN 'min_visits' THEN 'The views of gigpo, graphgpo, hgpo and rtmc have it.'
					WHEN 'stderr' THEN 'The t-value is advantage over standard error, which the views of rtmc have; another column is named by stderr => ''…''.'
					ELSE format('Name a column by %s => ''…''.', curation_number.role) END;
	END IF;
	number := stepadv_internal.role_column(curation_number.role, curation_number.relation, curation_number.name, 's'::text);
	-- Integers are finite.
	IF type IN ('float4'::regtype, 'float8'::regtype, 'numeric'::regtype) THEN
		number := format('CASE WHEN abs(%1$s) = ''Infinity'' OR %1$s = ''NaN'' THEN stepadv_internal.curation_refuse(format(%2$L, s.step_no, s.rollout_id, %1$s)) ELSE %1$s END',
			number, replace(curation_number.role, '%', '%%') || ' of step %s of rollout %s is not a finite number: %s');
	END IF;
	RETURN number;
END
$$;
COMMENT ON FUNCTION stepadv_internal.curation_number(regclass, text, text) IS 'part of select_steps: the SQL expression for a column as a finite number';

-- What is known of a relation of advantages, as names of its own columns:
-- group_by, columns by role, and the view that sums up its groups.
CREATE FUNCTION stepadv_internal.curation_source(advantages regclass, group_by text[]) RETURNS jsonb
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	source record;
	a stepadv_internal.attached;
	made jsonb;
	by_attach boolean := false;
	columns jsonb := '{}';
	groups oid;
	name text;
	type oid;
BEGIN
	IF curation_source.advantages IS NULL THEN
		RAISE EXCEPTION 'advantages must be given' USING ERRCODE = 'null_value_not_allowed', HINT = 'For example ''rl.steps_rtmc''.';
	END IF;
	SELECT format('%I.%I', n.nspname, c.relname) AS full_name, c.relkind, c.relowner INTO source
	FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = curation_source.advantages;
	IF source.full_name IS NULL THEN
		RAISE EXCEPTION 'relation % does not exist', curation_source.advantages::oid USING ERRCODE = 'undefined_table';
	ELSIF source.relkind NOT IN ('r', 'p', 'v', 'm', 'f') THEN
		RAISE EXCEPTION '% is not a table or view', source.full_name USING ERRCODE = 'wrong_object_type';
	ELSIF NOT has_any_column_privilege(curation_source.advantages, 'SELECT') THEN
		RAISE EXCEPTION 'permission denied for %', source.full_name USING ERRCODE = 'insufficient_privilege';
	END IF;

	SELECT k.* INTO a FROM stepadv_internal.attachments(source.relowner) k WHERE curation_source.advantages = ANY (k.views);
	IF FOUND THEN
		by_attach := true;
		columns := stepadv_internal.shown_roles(curation_source.advantages, a);
		groups := a.views[array_position(a.view_kinds, 'groups')];
		-- The columns of the group come first in every view.
		made := to_jsonb(stepadv_internal.group_columns(curation_source.advantages, a.n_group_columns));
	ELSIF (stepadv_internal.selection_says(curation_source.advantages)).group_by IS NOT NULL THEN
		SELECT to_jsonb(y.group_by), y.columns INTO made, columns FROM stepadv_internal.selection_says(curation_source.advantages) y;
	ELSIF curation_source.group_by IS NULL THEN
		RAISE EXCEPTION 'the columns of the group of % are not known', source.full_name
			USING ERRCODE = 'null_value_not_allowed',
				HINT = 'Name them by group_by => ''{…}''. They are known of views made by attach or create_selection.';
	END IF;
	IF curation_source.group_by = '{}' THEN
		RAISE EXCEPTION 'group_by must name at least one column' USING ERRCODE = 'invalid_parameter_value';
	ELSIF curation_source.group_by IS NOT NULL AND to_jsonb(curation_source.group_by) <> coalesce(made, '[]') THEN
		-- A group of one's own choice is not that of the view beside it.
		groups := NULL;
		made := to_jsonb(curation_source.group_by);
		IF jsonb_array_length(made) <> (SELECT count(DISTINCT g) FROM unnest(curation_source.group_by) g) THEN
			RAISE EXCEPTION 'group_by names a column twice, or NULL: %', curation_source.group_by USING ERRCODE = 'invalid_parameter_value';
		END IF;
	END IF;
	FOR name IN SELECT jsonb_array_elements_text(made) UNION ALL SELECT unnest('{rollout_id,step_no,step_id}'::text[]) LOOP
		type := stepadv_internal.curation_type(curation_source.advantages, name);
		IF type IS NULL THEN
			RAISE EXCEPTION 'column "%" does not exist in %', name, source.full_name
				USING ERRCODE = 'undefined_column',
					HINT = 'A relation of advantages has the columns of the group, rollout_id, step_no, step_id and advantage.';
		ELSIF name = 'step_no' AND type NOT IN ('int2'::regtype, 'int4'::regtype, 'int8'::regtype) THEN
			RAISE EXCEPTION 'column "%" of % cannot serve as %: its type is %', name, source.full_name, name, format_type(type, NULL)
				USING ERRCODE = 'datatype_mismatch', HINT = 'step_no must be an integer.';
		END IF;
	END LOOP;
	RETURN jsonb_build_object('name', source.full_name, 'group_by', made, 'columns', columns, 'groups', groups::bigint, 'by_attach', by_attach);
END
$$;
COMMENT ON FUNCTION stepadv_internal.curation_source(regclass, text[]) IS 'part of select_steps: what a relation of advantages says of its columns';

-- Whether the rules asked for make sense, before anything is looked at.
CREATE FUNCTION stepadv_internal.curation_check(settings jsonb) RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	name text;
	threshold float8;
	most integer;
BEGIN
	FOREACH name IN ARRAY '{min_advantage,min_t}'::text[] LOOP
		threshold := (settings ->> name)::float8;
		IF NOT (threshold >= 0 AND threshold < 'Infinity') THEN
			RAISE EXCEPTION '% must be a finite number of at least 0, not %', name, threshold USING ERRCODE = 'invalid_parameter_value';
		END IF;
	END LOOP;
	FOREACH name IN ARRAY '{min_visits,per_state,per_rollout,per_group}'::text[] LOOP
		most := (settings ->> name)::integer;
		IF most < 1 THEN
			RAISE EXCEPTION '% must be at least 1, not %', name, most
				USING ERRCODE = 'invalid_parameter_value', HINT = 'NULL, the default, sets no limit.';
		END IF;
	END LOOP;
	IF settings ->> 'drop_uniform' NOT IN ('dapo', 'verl_agent', 'rtmc') THEN
		RAISE EXCEPTION 'unknown rule for uniform groups: %', quote_literal(settings ->> 'drop_uniform')
			USING ERRCODE = 'invalid_parameter_value', HINT = 'drop_uniform is ''dapo'', ''verl_agent'' or ''rtmc''.';
	ELSIF settings ->> 'balance' NOT IN ('group', 'all') THEN
		RAISE EXCEPTION 'unknown balance: %', quote_literal(settings ->> 'balance')
			USING ERRCODE = 'invalid_parameter_value', HINT = 'balance is ''group'' or ''all''.';
	ELSIF settings ->> 'balance' = 'group' AND most % 2 = 1 THEN
		RAISE EXCEPTION 'per_group must be even where every group is balanced, not %', most
			USING ERRCODE = 'invalid_parameter_value', HINT = 'Half of the steps are positive, half negative.';
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.curation_check(jsonb) IS 'part of select_steps: an error where a rule''s parameter makes no sense';

-- The rules that were asked for, in their order.  keep and reason are
-- expressions over a step s.  A rule that compares steps with one another does
-- so among those that agree in what is compared: rank<i> is the step's place
-- there, number<i> how many there are.
CREATE FUNCTION stepadv_internal.curation_rules(settings jsonb)
RETURNS TABLE (i integer, rule text, setting text, keep text, compared text[], reason text)
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $rules$
	SELECT r.i, r.rule, r.setting, r.keep, r.compared, r.reason
	FROM (SELECT settings ->> 'balance' = 'group' AS by_group, (settings ->> 'per_group')::integer AS per_group) b,
	LATERAL (VALUES
		(1, 'judged', '', 's.advantage IS NOT NULL', NULL::text[], NULL),
		(2, 'drop_uniform', settings ->> 'drop_uniform', 's.mixed', NULL,
			CASE settings ->> 'drop_uniform' WHEN 'dapo' THEN $$'group is mixed or of one rollout'$$ ELSE $$'group is mixed'$$ END),
		(3, 'min_advantage', settings ->> 'min_advantage',
			format('abs(s.advantage) >= %L::float8', settings ->> 'min_advantage'), NULL,
			quote_literal('|advantage| >= ' || (settings ->> 'min_advantage'))),
		(4, 'min_t', settings ->> 'min_t',
			-- Where no return differs from another, a difference is beyond doubt.
			format('CASE WHEN s.stderr > 0 THEN abs(s.advantage) / s.stderr >= %L::float8 ELSE s.stderr = 0 AND s.advantage <> 0 END', settings ->> 'min_t'), NULL,
			format($$CASE WHEN s.stderr > 0 THEN format('t = %%s >= %%s', round((abs(s.advantage) / s.stderr)::numeric, 2), %L) ELSE 'stderr is 0' END$$, settings ->> 'min_t')),
		(5, 'min_visits', settings ->> 'min_visits',
			format('s.visits >= %s', settings ->> 'min_visits'), NULL,
			$$format('%s visits to its state', s.visits)$$),
		(6, 'deduplicate', CASE WHEN (settings ->> 'deduplicate')::boolean THEN 'state, action' END,
			's.rank6 = 1 OR s.state IS NULL OR s.action IS NULL', '{s.state,s.action}',
			$$CASE WHEN s.state IS NULL OR s.action IS NULL THEN 'state or action like no other' ELSE format('1 of %s with its state and action', s.number6) END$$),
		(7, 'per_state', settings ->> 'per_state',
			format('s.rank7 <= %s OR s.state IS NULL', settings ->> 'per_state'), '{s.state}',
			$$CASE WHEN s.state IS NULL THEN 'state like no other' ELSE format('rank %s of %s in its state', s.rank7, s.number7) END$$),
		(8, 'per_rollout', settings ->> 'per_rollout',
			format('s.rank8 <= %s', settings ->> 'per_rollout'), '{s.rollout}',
			$$format('rank %s of %s in its rollout', s.rank8, s.number8)$$),
		(9, 'per_group', settings ->> 'per_group',
			format('s.rank9 <= %s', CASE WHEN b.by_group THEN b.per_group / 2 ELSE b.per_group END),
			CASE WHEN b.by_group THEN '{sign(s.advantage)}' ELSE '{}' END::text[],
			CASE WHEN b.by_group THEN $$format('rank %s of %s %s in its group', s.rank9, s.number9, CASE WHEN s.advantage > 0 THEN 'positive' ELSE 'negative' END)$$
				ELSE $$format('rank %s of %s in its group', s.rank9, s.number9)$$ END),
		(10, 'balance', settings ->> 'balance',
			's.advantage <> 0 AND s.rank10 <= least(s.positive, s.negative)', '{sign(s.advantage)}',
			format($$CASE WHEN s.advantage > 0 THEN format('rank %%s of %%s positive against %%s negative %1$s', s.rank10, s.positive, s.negative)
				ELSE format('rank %%s of %%s negative against %%s positive %1$s', s.rank10, s.negative, s.positive) END$$,
				CASE WHEN b.by_group THEN 'in its group' ELSE 'of all' END))
	) r(i, rule, setting, keep, compared, reason)
	WHERE r.setting IS NOT NULL
	ORDER BY r.i
$rules$;
COMMENT ON FUNCTION stepadv_internal.curation_rules(jsonb) IS 'part of select_steps: the rules asked for, in their order, as SQL expressions';

-- The steps as the rules see them: the columns of the group as g1, g2, …, those
-- States and actions, where a rule compares them, as bigints over s.
CREATE FUNCTION stepadv_internal.curation_identities(advantages regclass, settings jsonb, source jsonb) RETURNS TABLE (role text, expression text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	needed record;
	type oid;
BEGIN
	FOR needed IN
		SELECT r.role, coalesce(settings ->> r.role, source -> 'columns' ->> r.role) AS name,
			CASE WHEN (settings ->> 'deduplicate')::boolean THEN 'deduplicate' ELSE 'per_state' END AS needed_by
		FROM unnest('{state,action}'::text[]) r(role)
		WHERE (settings ->> 'deduplicate')::boolean OR r.role = 'state' AND settings ->> 'per_state' IS NOT NULL
	LOOP
		type := stepadv_internal.curation_type(advantages, needed.name);
		IF needed.name IS NULL THEN
			RAISE EXCEPTION '% needs to know which column of % is the %', needed.needed_by, source ->> 'name', needed.role
				USING ERRCODE = 'null_value_not_allowed',
					HINT = format('Name it by %s => ''…''. What attach makes of tool calls or of histories is not shown by its views.', needed.role);
		ELSIF type IS NULL THEN
			RAISE EXCEPTION 'column "%" given as % does not exist in %', needed.name, needed.role, source ->> 'name'
				USING ERRCODE = 'undefined_column';
		END IF;
		role := needed.role;
		expression := stepadv_internal.identity(format('s.%I::%s', needed.name, format_type(type, NULL)), type);
		RETURN NEXT;
	END LOOP;
END
$$;
COMMENT ON FUNCTION stepadv_internal.curation_identities(regclass, jsonb, jsonb) IS 'part of select_steps: the states and actions that rules compare';

-- The join to the view that sums up the groups.
CREATE FUNCTION stepadv_internal.curation_groups(source jsonb) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	groups CONSTANT regclass := (source ->> 'groups')::oid::regclass;
BEGIN
	IF groups IS NULL THEN
		RAISE EXCEPTION 'drop_uniform needs to know the outcomes of the rollouts of %', source ->> 'name'
			USING ERRCODE = 'null_value_not_allowed',
				HINT = 'Name a column by outcome => ''…'', a number or boolean that is the same on all steps of a rollout.';
	END IF;
	RETURN (SELECT format(' LEFT JOIN %s u ON %s', stepadv_internal.relation_name(groups),
			string_agg(format('u.%I %s s.%I', c.attname, stepadv_internal.equality_operator(c.atttypid), g.name), ' AND ' ORDER BY g.i))
		FROM jsonb_array_elements_text(source -> 'group_by') WITH ORDINALITY g(name, i) JOIN pg_attribute c ON c.attrelid = groups AND c.attnum = g.i);
END
$$;
COMMENT ON FUNCTION stepadv_internal.curation_groups(jsonb) IS 'part of select_steps: the join to the view that sums up the groups; error where it is not known';

-- asked for as c1, c2, …, so that no name can be taken, and what the rules read.
CREATE FUNCTION stepadv_internal.curation_input(advantages regclass, settings jsonb, source jsonb, columns text[], OUT query text, OUT names text[])
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	by_outcome boolean := settings ->> 'drop_uniform' IS NOT NULL AND settings ->> 'outcome' IS NOT NULL;
	items text[];
	relation text := format('%s s', source ->> 'name');
	expression text;
	role text;
BEGIN
	SELECT array_agg(format('s.%I', u.name) ORDER BY u.alias, u.i), array_agg(u.alias || u.i ORDER BY u.alias, u.i)
	INTO items, names
	FROM (SELECT 'g' AS alias, g.name, g.i FROM jsonb_array_elements_text(source -> 'group_by') WITH ORDINALITY g(name, i)
		UNION ALL SELECT 'c', c.name, c.i FROM unnest(curation_input.columns) WITH ORDINALITY c(name, i)) u;
	expression := stepadv_internal.curation_number(curation_input.advantages, settings ->> 'advantage', 'advantage'::text);
	items := items || ARRAY[expression, stepadv_internal.curation_key('s.rollout_id'::text, stepadv_internal.curation_type(curation_input.advantages, 'rollout_id'::text)), 's.step_no::integer'];
	names := names || '{advantage,rollout,no}'::text[];
	IF NOT (source ->> 'by_attach')::boolean THEN
		-- attach has made sure that no two steps of a rollout share a number.
		items := items || stepadv_internal.curation_key('s.step_id'::text, stepadv_internal.curation_type(curation_input.advantages, 'step_id'::text));
		names := names || 'id'::text;
	END IF;
	IF settings ->> 'min_t' IS NOT NULL THEN
		expression := stepadv_internal.curation_number(curation_input.advantages, settings ->> 'stderr', 'stderr'::text);
		items := items || format('CASE WHEN %1$s < 0 THEN stepadv_internal.curation_refuse(format(''stderr of step %%s of rollout %%s is negative: %%s'', s.step_no, s.rollout_id, %1$s)) ELSE %1$s END',
			expression);
		names := names || 'stderr'::text;
	END IF;
	IF settings ->> 'min_visits' IS NOT NULL THEN
		items := items || stepadv_internal.curation_number(curation_input.advantages, 'n_state'::text, 'min_visits'::text);
		names := names || 'visits'::text;
	END IF;
	FOR role, expression IN SELECT i.role, i.expression FROM stepadv_internal.curation_identities(curation_input.advantages, settings, source) i LOOP
		items := items || expression;
		names := names || role;
	END LOOP;
	IF by_outcome THEN
		expression := stepadv_internal.curation_number(curation_input.advantages, settings ->> 'outcome', 'outcome'::text);
		items := items || CASE settings ->> 'drop_uniform' WHEN 'rtmc' THEN format('(%s > 0)::integer', expression) ELSE expression END;
		names := names || 'outcome'::text;
	ELSIF settings ->> 'drop_uniform' IS NOT NULL THEN
		-- What the group's own view says of it.
		relation := relation || stepadv_internal.curation_groups(source);
		items := items || CASE settings ->> 'drop_uniform'
			WHEN 'dapo' THEN 'NOT u.uniform OR u.n_judged = 1'
			WHEN 'verl_agent' THEN 'NOT u.uniform'
			ELSE 'u.success_rate > 0 AND u.success_rate < 1' END;
		names := names || 'mixed'::text;
	END IF;
	SELECT format('SELECT %s FROM %s', string_agg(format('%s AS %s', u.item, u.name), ', ' ORDER BY u.i), relation) INTO query
	FROM unnest(items, names) WITH ORDINALITY u(item, name, i);

	IF by_outcome THEN
		-- A reward that differs from step to step is no outcome of the rollout.
		query := format('SELECT s.*, CASE WHEN lag(s.rollout) OVER in_rollout = s.rollout AND lag(s.outcome) OVER in_rollout IS DISTINCT FROM s.outcome'
				' THEN stepadv_internal.curation_refuse(format(%3$L, s.rollout, s.no)) = 0 ELSE %4$s END AS mixed'
				' FROM (%1$s) s WINDOW in_group AS (PARTITION BY %2$s), in_rollout AS (in_group ORDER BY s.rollout, s.no)',
			query,
			(SELECT string_agg('s.' || n, ', ') FROM unnest(names) n WHERE n ~ '^g[0-9]'),
			format('column %s given as outcome differs within rollout %%s, from step %%s on', replace(quote_ident(settings ->> 'outcome'), '%', '%%')),
			'min(s.outcome) FILTER (WHERE s.advantage IS NOT NULL) OVER in_group < max(s.outcome) FILTER (WHERE s.advantage IS NOT NULL) OVER in_group'
			|| CASE settings ->> 'drop_uniform' WHEN 'dapo' THEN
				' OR min(s.rollout) FILTER (WHERE s.advantage IS NOT NULL AND s.outcome IS NOT NULL) OVER in_group'
				' = max(s.rollout) FILTER (WHERE s.advantage IS NOT NULL AND s.outcome IS NOT NULL) OVER in_group' ELSE '' END);
		names := names || 'mixed'::text;
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.curation_input(regclass, jsonb, jsonb, text[]) IS 'part of select_steps: the query that gives the steps as the rules see them';

-- The steps of a query that pass the conditions kept, which are those of the
-- rules from first on; or with mark_removed all steps, with the number of the
-- rule that each failed.
CREATE FUNCTION stepadv_internal.curation_apply(query text, names text[], kept text[], first integer, mark_removed boolean) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT CASE WHEN curation_apply.mark_removed
		THEN format('(SELECT %s, CASE %s%s END AS removed FROM (%s) s) s',
			(SELECT string_agg('s.' || u.name, ', ' ORDER BY u.i) FROM unnest(curation_apply.names) WITH ORDINALITY u(name, i)),
			CASE WHEN curation_apply.first > 1 THEN 'WHEN s.removed IS NOT NULL THEN s.removed ' END,
			string_agg(format('WHEN (%s) IS NOT TRUE THEN %s', k.condition, curation_apply.first + k.i - 1), ' ' ORDER BY k.i), curation_apply.query)
		ELSE format('(%s) s WHERE %s', curation_apply.query, string_agg(format('(%s)', k.condition), ' AND ' ORDER BY k.i)) END
	FROM unnest(curation_apply.kept) WITH ORDINALITY k(condition, i)
$$;
COMMENT ON FUNCTION stepadv_internal.curation_apply(text, text[], text[], integer, boolean) IS 'part of select_steps: applies conditions to a query, as an item of a FROM list';

-- What select_steps and its like select from, a FROM item named s.  Rules that
-- compare steps are windows over what the rules before them left.  Each begins
-- with the columns of the group: one sort by group serves them all, and a
-- condition on the group goes down to the relation.  reason is an expression.
CREATE FUNCTION stepadv_internal.curation_query(advantages regclass, settings jsonb, columns text[], mark_removed boolean,
	OUT steps text, OUT reason text, OUT source jsonb)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	query text;
	names text[];			-- its columns
	groups text;			-- those of the group
	same text;
	best_first text;
	kept text[] := '{}';	-- conditions still to be applied
	reasons text[] := '{}';
	number integer := 0;
	rule record;
BEGIN
	PERFORM stepadv_internal.curation_check(settings);
	source := stepadv_internal.curation_source(curation_query.advantages,
		CASE WHEN jsonb_typeof(settings -> 'group_by') = 'array' THEN ARRAY(SELECT jsonb_array_elements_text(settings -> 'group_by')) END);
	SELECT i.query, i.names INTO query, names
	FROM stepadv_internal.curation_input(curation_query.advantages, settings, source, curation_query.columns) i;
	SELECT string_agg('s.' || n, ', ') INTO groups FROM unnest(names) n WHERE n ~ '^g[0-9]';

	FOR rule IN SELECT * FROM stepadv_internal.curation_rules(settings) LOOP
		number := number + 1;
		IF rule.compared IS NOT NULL THEN
			steps := stepadv_internal.curation_apply(query, names, kept, number - cardinality(kept), curation_query.mark_removed);
			kept := '{}';
			same := concat_ws(', ', CASE WHEN rule.rule <> 'balance' OR rule.setting = 'group' THEN groups END,
				CASE WHEN curation_query.mark_removed THEN 's.removed IS NULL' END);
			-- Rollouts are told apart only within their group.
			best_first := concat_ws(', ', 'abs(s.advantage) DESC', CASE WHEN rule.rule = 'balance' AND rule.setting = 'all' THEN (
					SELECT string_agg(stepadv_internal.curation_key('s.g' || g.i, stepadv_internal.curation_type(curation_query.advantages, g.name)), ', ' ORDER BY g.i)
					FROM jsonb_array_elements_text(source -> 'group_by') WITH ORDINALITY g(name, i)) END,
				's.rollout, s.no', CASE WHEN 'id' = ANY (names) THEN 's.id' END);
			query := format('SELECT s.*, row_number() OVER (PARTITION BY %2$s ORDER BY %3$s) AS rank%4$s, count(*) OVER (PARTITION BY %2$s) AS number%4$s%5$s FROM %1$s',
				steps, concat_ws(', ', nullif(same, ''), nullif(array_to_string(rule.compared, ', '), '')), best_first, rule.i,
				CASE WHEN rule.rule = 'balance' THEN
					format(', count(*) FILTER (WHERE s.advantage > 0) OVER (%1$s) AS positive, count(*) FILTER (WHERE s.advantage < 0) OVER (%1$s) AS negative',
						'PARTITION BY ' || nullif(same, '')) END);
			names := names || ARRAY['rank' || rule.i, 'number' || rule.i] || CASE WHEN rule.rule = 'balance' THEN '{positive,negative}'::text[] END;
		END IF;
		kept := kept || rule.keep;
		IF rule.reason IS NOT NULL THEN
			reasons := reasons || rule.reason;
		END IF;
	END LOOP;
	steps := stepadv_internal.curation_apply(query, names, kept, number - cardinality(kept) + 1, curation_query.mark_removed);
	reason := CASE WHEN reasons = '{}' THEN '''judged''' ELSE format('concat_ws(''; '', %s)', array_to_string(reasons, ', ')) END;
END
$$;
COMMENT ON FUNCTION stepadv_internal.curation_query(regclass, jsonb, text[], boolean) IS 'part of select_steps: writes the query that applies the rules in their order';

CREATE FUNCTION stepadv.select_steps(advantages regclass,
	drop_uniform text DEFAULT NULL, min_advantage float8 DEFAULT NULL, min_t float8 DEFAULT NULL, min_visits integer DEFAULT NULL,
	deduplicate boolean DEFAULT false, per_state integer DEFAULT NULL, per_rollout integer DEFAULT NULL, per_group integer DEFAULT NULL, balance text DEFAULT NULL,
	group_by text[] DEFAULT NULL, advantage_column text DEFAULT 'advantage', stderr text DEFAULT 'stderr', outcome text DEFAULT NULL,
	state text DEFAULT NULL, action text DEFAULT NULL)
RETURNS TABLE (group_key jsonb, rollout_id text, step_no integer, step_id text, advantage float8, reason text)
LANGUAGE plpgsql STABLE ROWS 10000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	made record;
BEGIN
	SELECT * INTO made FROM stepadv_internal.curation_query(select_steps.advantages, jsonb_build_object(
		'drop_uniform', select_steps.drop_uniform, 'min_advantage', select_steps.min_advantage, 'min_t', select_steps.min_t, 'min_visits', select_steps.min_visits,
		'deduplicate', select_steps.deduplicate, 'per_state', select_steps.per_state, 'per_rollout', select_steps.per_rollout,
		'per_group', select_steps.per_group, 'balance', select_steps.balance, 'group_by', select_steps.group_by,
		'advantage', select_steps.advantage_column, 'stderr', select_steps.stderr, 'outcome', select_steps.outcome,
		'state', select_steps.state, 'action', select_steps.action), '{rollout_id,step_id}'::text[], false);
	RETURN QUERY EXECUTE format('SELECT jsonb_build_object(%s), s.c1::text, s.no, s.c2::text, s.advantage, %s FROM %s',
		(SELECT string_agg(format('%L::text, s.g%s', g.name, g.i), ', ' ORDER BY g.i)
		FROM jsonb_array_elements_text(made.source -> 'group_by') WITH ORDINALITY g(name, i)), made.reason, made.steps);
END
$$;
COMMENT ON FUNCTION stepadv.select_steps(regclass, text, float8, float8, integer, boolean, integer, integer, integer, text, text[], text, text, text, text, text) IS
'the steps of a relation of advantages (a step view of attach, or any with columns for the group, rollout_id, step_no, step_id and advantage) that pass the rules given, applied in this order to what is left: steps of rollouts not judged (advantage NULL) go; drop_uniform: groups whose rollouts all ended alike go, ''dapo'' (equal returns, unless there is one rollout), ''verl_agent'' (equal returns), ''rtmc'' (all successes or all failures); min_advantage: least |advantage|; min_t: least |advantage| / stderr (NULL: goes; 0: infinite); min_visits: least n_state; deduplicate: one step for each state and action of a group; per_state, per_rollout, per_group: so many of each; balance: as many positive as negative ones per ''group'' or of ''all'', zeros go, and per_group is halved by sign for ''group''; wherever some are kept they are those of largest |advantage|, then first by rollout_id (numbers as numbers, else by the bytes of the text) and step_no; NULL: no such rule; group_by, state, action: columns, known of attached views; outcome: a number or boolean by rollout (success: above 0), else what the view _groups says; group_key, rollout_id and step_id as jsonb and text; reason: why it was kept';

CREATE FUNCTION stepadv.explain_selection(advantages regclass,
	drop_uniform text DEFAULT NULL, min_advantage float8 DEFAULT NULL, min_t float8 DEFAULT NULL, min_visits integer DEFAULT NULL,
	deduplicate boolean DEFAULT false, per_state integer DEFAULT NULL, per_rollout integer DEFAULT NULL, per_group integer DEFAULT NULL, balance text DEFAULT NULL,
	group_by text[] DEFAULT NULL, advantage_column text DEFAULT 'advantage', stderr text DEFAULT 'stderr', outcome text DEFAULT NULL,
	state text DEFAULT NULL, action text DEFAULT NULL)
RETURNS TABLE (rule_no integer, rule text, setting text, before bigint, removed bigint, kept bigint,
	positive bigint, negative bigint, rollouts bigint, groups bigint)
LANGUAGE plpgsql STABLE ROWS 10
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	settings jsonb;
	made record;
	grouped text;
BEGIN
	settings := jsonb_build_object(
		'drop_uniform', explain_selection.drop_uniform, 'min_advantage', explain_selection.min_advantage, 'min_t', explain_selection.min_t, 'min_visits', explain_selection.min_visits,
		'deduplicate', explain_selection.deduplicate, 'per_state', explain_selection.per_state, 'per_rollout', explain_selection.per_rollout,
		'per_group', explain_selection.per_group, 'balance', explain_selection.balance, 'group_by', explain_selection.group_by,
		'advantage', explain_selection.advantage_column, 'stderr', explain_selection.stderr, 'outcome', explain_selection.outcome,
		'state', explain_selection.state, 'action', explain_selection.action);
	SELECT * INTO made FROM stepadv_internal.curation_query(explain_selection.advantages, settings, '{}'::text[], true);
	SELECT string_agg('s.g' || i, ', ') INTO grouped FROM generate_series(1, jsonb_array_length(made.source -> 'group_by')) i;
	-- A step that passed every rule fails none of a number that is reached.
	RETURN QUERY EXECUTE format($q$
		WITH parts AS MATERIALIZED (
			SELECT %1$s, s.rollout, coalesce(s.removed, 100) AS fails, count(*) AS steps,
				count(*) FILTER (WHERE s.advantage > 0) AS positive, count(*) FILTER (WHERE s.advantage < 0) AS negative
			FROM %2$s GROUP BY %1$s, s.rollout, s.removed),
		of_rollouts AS MATERIALIZED (SELECT %1$s, max(s.fails) AS fails FROM parts s GROUP BY %1$s, s.rollout),
		of_groups AS (SELECT max(s.fails) AS fails FROM of_rollouts s GROUP BY %1$s),
		steps AS (SELECT s.fails, sum(s.steps) AS steps, sum(s.positive) AS positive, sum(s.negative) AS negative FROM parts s GROUP BY s.fails),
		rollouts AS (SELECT s.fails, count(*) AS n FROM of_rollouts s GROUP BY s.fails),
		groups AS (SELECT s.fails, count(*) AS n FROM of_groups s GROUP BY s.fails),
		rules AS (
			SELECT 0 AS n, 'all' AS rule, '' AS setting
			UNION ALL SELECT row_number() OVER (ORDER BY r.i)::integer, r.rule, r.setting FROM stepadv_internal.curation_rules($1) r)
		SELECT r.n, r.rule, r.setting, x.before::bigint, x.removed::bigint, (x.before - x.removed)::bigint, x.positive::bigint, x.negative::bigint,
			(SELECT coalesce(sum(s.n), 0)::bigint FROM rollouts s WHERE s.fails > r.n),
			(SELECT coalesce(sum(s.n), 0)::bigint FROM groups s WHERE s.fails > r.n)
		FROM rules r CROSS JOIN LATERAL (
			SELECT coalesce(sum(s.steps) FILTER (WHERE s.fails >= r.n), 0) AS before, coalesce(sum(s.steps) FILTER (WHERE s.fails = r.n), 0) AS removed,
				coalesce(sum(s.positive) FILTER (WHERE s.fails > r.n), 0) AS positive, coalesce(sum(s.negative) FILTER (WHERE s.fails > r.n), 0) AS negative
			FROM steps s) x
		ORDER BY r.n
		$q$, grouped, made.steps) USING settings;
END
$$;
COMMENT ON FUNCTION stepadv.explain_selection(regclass, text, float8, float8, integer, boolean, integer, integer, integer, text, text[], text, text, text, text, text) IS
'what select_steps with the same arguments does: a row for all steps (rule_no 0) and one per rule in the order of their application, with the steps before it, removed by it and kept, and of what is kept the positive and negative ones, the rollouts and the groups';

CREATE FUNCTION stepadv.create_selection(advantages regclass, name text,
	drop_uniform text DEFAULT NULL, min_advantage float8 DEFAULT NULL, min_t float8 DEFAULT NULL, min_visits integer DEFAULT NULL,
	deduplicate boolean DEFAULT false, per_state integer DEFAULT NULL, per_rollout integer DEFAULT NULL, per_group integer DEFAULT NULL, balance text DEFAULT NULL,
	group_by text[] DEFAULT NULL, advantage_column text DEFAULT 'advantage', stderr text DEFAULT 'stderr', outcome text DEFAULT NULL,
	state text DEFAULT NULL, action text DEFAULT NULL, schema text DEFAULT NULL)
RETURNS regclass
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	settings jsonb;
	made record;
	columns text[];
	in_schema text;
	full_name text;
	reason_name text := 'reason';
BEGIN
	settings := jsonb_build_object(
		'drop_uniform', create_selection.drop_uniform, 'min_advantage', create_selection.min_advantage, 'min_t', create_selection.min_t, 'min_visits', create_selection.min_visits,
		'deduplicate', create_selection.deduplicate, 'per_state', create_selection.per_state, 'per_rollout', create_selection.per_rollout,
		'per_group', create_selection.per_group, 'balance', create_selection.balance, 'group_by', create_selection.group_by,
		'advantage', create_selection.advantage_column, 'stderr', create_selection.stderr, 'outcome', create_selection.outcome,
		'state', create_selection.state, 'action', create_selection.action);
	SELECT array_agg(a.attname ORDER BY a.attnum) INTO columns FROM pg_attribute a
	WHERE a.attrelid = create_selection.advantages AND a.attnum > 0 AND NOT a.attisdropped;
	SELECT * INTO made FROM stepadv_internal.curation_query(create_selection.advantages, settings, columns, false);
	SELECT coalesce(create_selection.schema, n.nspname) INTO in_schema
	FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = create_selection.advantages;
	IF create_selection.name IS NULL OR create_selection.name = '' THEN
		RAISE EXCEPTION 'name must be given' USING ERRCODE = 'null_value_not_allowed';
	ELSIF octet_length(create_selection.name) > current_setting('max_identifier_length')::integer THEN
		RAISE EXCEPTION 'the name of view "%" is longer than % bytes', create_selection.name, current_setting('max_identifier_length')
			USING ERRCODE = 'name_too_long';
	ELSIF NOT EXISTS (SELECT FROM pg_namespace n WHERE n.nspname = in_schema) THEN
		RAISE EXCEPTION 'schema "%" does not exist', in_schema USING ERRCODE = 'invalid_schema_name';
	END IF;
	full_name := format('%I.%I', in_schema, create_selection.name);
	-- The steps of a selection may be selected from again.
	WHILE reason_name = ANY (columns) LOOP
		reason_name := reason_name || '_too';
	END LOOP;
	EXECUTE format('CREATE VIEW %s %sAS SELECT %s, %s AS %I FROM %s AND stepadv_internal.selection_of(%L::text[], %L::jsonb)', full_name,
		CASE WHEN current_setting('server_version_num')::integer >= 150000 THEN 'WITH (security_invoker = true) ' ELSE '' END,
		-- Those of the group by the name that windows know, so that conditions pass.
		(SELECT string_agg(format('s.%s AS %I', coalesce('g' || g.i, 'c' || c.i), c.name), ', ' ORDER BY c.i)
		FROM unnest(columns) WITH ORDINALITY c(name, i)
		LEFT JOIN jsonb_array_elements_text(made.source -> 'group_by') WITH ORDINALITY g(name, i) ON g.name = c.name),
		made.reason, reason_name, made.steps, ARRAY(SELECT jsonb_array_elements_text(made.source -> 'group_by')),
		made.source -> 'columns' || jsonb_strip_nulls(jsonb_build_object('state', create_selection.state, 'action', create_selection.action)));
	EXECUTE format('COMMENT ON VIEW %s IS %L', full_name, format('steps of %s: %s', made.source ->> 'name',
		(SELECT string_agg(concat_ws(' ', r.rule, nullif(r.setting, '')), ', ' ORDER BY r.i) FROM stepadv_internal.curation_rules(settings) r)));
	RETURN full_name::regclass;
END
$$;
COMMENT ON FUNCTION stepadv.create_selection(regclass, text, text, float8, float8, integer, boolean, integer, integer, integer, text, text[], text, text, text, text, text, text) IS
'creates an ordinary view of the steps that select_steps would return, with all columns of the relation of advantages and reason, in its schema unless another is given; a condition on the columns of the group is applied before anything else, unless balance is ''all''; DROP VIEW removes it; error when the name is taken';

-- One advantage per token: where the mask is true, or without a mask on all; a
-- step whose mask is of another length than its tokens is an error.
CREATE FUNCTION stepadv_internal.token_advantages(advantages regclass, source jsonb, advantage text, token_mask text, tokens text, OUT item text, OUT condition text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	-- Expressions over s.
	mask CONSTANT text := CASE WHEN token_advantages.token_mask IS NOT NULL THEN
		stepadv_internal.role_column('token_mask'::text, token_advantages.advantages, token_advantages.token_mask, 's'::text) END;
	n_tokens CONSTANT text := CASE WHEN token_advantages.tokens IS NOT NULL THEN
		stepadv_internal.role_column('tokens'::text, token_advantages.advantages, token_advantages.tokens, 's'::text) END;
	-- Where both are known the mask says which token.
	broadcasts CONSTANT text := concat_ws(', ', 'stepadv.broadcast(' || advantage || ', ' || mask || ')', 'stepadv.broadcast(' || advantage || ', ' || n_tokens || ')');
BEGIN
	IF mask IS NULL AND n_tokens IS NULL THEN
		RETURN;
	ELSIF mask IS NOT NULL AND n_tokens IS NOT NULL THEN
		condition := format(' AND CASE WHEN cardinality(s.%I) <> %s THEN stepadv_internal.curation_refuse(format(%L, s.step_no, s.rollout_id)) = 0 ELSE true END',
			token_advantages.token_mask, n_tokens,
			replace(format('token_mask %I and tokens %I are not of one length', token_advantages.token_mask, token_advantages.tokens), '%', '%%') || ': step %s of rollout %s');
	END IF;
	item := ', coalesce(' || broadcasts || ') AS advantages';
END
$$;
COMMENT ON FUNCTION stepadv_internal.token_advantages(regclass, jsonb, text, text, text) IS 'part of training_rows: the advantage on each token, as an item of the select list, and the condition that mask and tokens are of one length; NULLs where neither is known';

CREATE FUNCTION stepadv.training_rows(advantages regclass, columns text[] DEFAULT NULL, token_mask text DEFAULT NULL, tokens text DEFAULT NULL,
	group_by text[] DEFAULT NULL, advantage_column text DEFAULT 'advantage')
RETURNS SETOF jsonb
LANGUAGE plpgsql STABLE ROWS 10000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	source jsonb := stepadv_internal.curation_source(training_rows.advantages, training_rows.group_by);
	advantage text := stepadv_internal.curation_number(training_rows.advantages, training_rows.advantage_column, 'advantage'::text);
	keys text[] := ARRAY(SELECT jsonb_array_elements_text(source -> 'group_by')) || '{rollout_id,step_no,step_id}'::text[];
	known text[];		-- columns of the relation
	name text;
	per_token record;
BEGIN
	SELECT array_agg(a.attname) INTO known FROM pg_attribute a
	WHERE a.attrelid = training_rows.advantages AND a.attnum > 0 AND NOT a.attisdropped;
	-- Columns as the canonical tables call them, and what attach was told.
	training_rows.token_mask := coalesce(training_rows.token_mask, source -> 'columns' ->> 'token_mask',
		CASE WHEN 'response_mask' = ANY (known) THEN 'response_mask' END);
	training_rows.tokens := coalesce(training_rows.tokens,
		CASE WHEN 'response_token_ids' = ANY (known) THEN 'response_token_ids' END, source -> 'columns' ->> 'logp_old');
	training_rows.columns := coalesce(training_rows.columns, ARRAY(
		SELECT c FROM unnest('{observation,action,tool,args,prompt_token_ids,response_token_ids,response_mask,rollout_logprobs}'::text[]
			-- A state or action of the user's own says something; beside their texts the hashes do not.
			|| ARRAY[CASE WHEN NOT 'observation' = ANY (known) THEN source -> 'columns' ->> 'state' END,
				CASE WHEN NOT 'action' = ANY (known) THEN source -> 'columns' ->> 'action' END,
				source -> 'columns' ->> 'logp_old', training_rows.token_mask, training_rows.tokens, 'reason']) c
		WHERE c = ANY (known)));
	IF array_position(training_rows.columns, NULL) IS NOT NULL THEN
		RAISE EXCEPTION 'columns has a NULL: %', training_rows.columns USING ERRCODE = 'null_value_not_allowed';
	END IF;
	FOREACH name IN ARRAY training_rows.columns || training_rows.token_mask || training_rows.tokens LOOP
		IF name <> ALL (known) THEN
			RAISE EXCEPTION 'column "%" does not exist in %', name, source ->> 'name' USING ERRCODE = 'undefined_column';
		ELSIF name = 'advantages' AND name = ANY (training_rows.columns) OR name = 'advantage' AND name <> training_rows.advantage_column
			AND name = ANY (training_rows.columns)
		THEN
			RAISE EXCEPTION 'column "%" of % has the name of what training_rows adds', name, source ->> 'name'
				USING ERRCODE = 'duplicate_column', HINT = 'Leave it out with columns =>, or give a view that calls it something else.';
		END IF;
	END LOOP;

	per_token := stepadv_internal.token_advantages(training_rows.advantages, source, advantage, training_rows.token_mask, training_rows.tokens);
	RETURN QUERY EXECUTE format('SELECT to_jsonb(t) FROM (SELECT %s, %s AS advantage%s%s FROM %s s WHERE %s IS NOT NULL%s ORDER BY %s) t',
		(SELECT string_agg(format('s.%I', k), ', ') FROM unnest(keys) k), advantage,
		(SELECT string_agg(format(', s.%I', c.name), '' ORDER BY c.i) FROM (
			SELECT u.name, min(u.i) AS i FROM unnest(training_rows.columns) WITH ORDINALITY u(name, i)
			WHERE u.name <> ALL (keys || 'advantage'::text) GROUP BY u.name) c),
		per_token.item, source ->> 'name', advantage, per_token.condition,
		(SELECT string_agg(stepadv_internal.curation_key(format('s.%I', k.name), stepadv_internal.curation_type(training_rows.advantages, k.name)), ', ' ORDER BY k.i)
		FROM unnest(keys) WITH ORDINALITY k(name, i)));
END
$$;
COMMENT ON FUNCTION stepadv.training_rows(regclass, text[], text, text, text[], text) IS
'a JSON object per step of a relation of advantages, such as a view of create_selection or of attach, to be written as JSON Lines: the columns of the group, rollout_id, step_no, step_id, advantage; the columns named, or else those called observation, action, tool, args, prompt_token_ids, response_token_ids, response_mask, rollout_logprobs and reason and those that attach was told as state, action, logp_old and token_mask; and advantages, the advantage on each token (see broadcast), where token_mask (default: attach''s, or response_mask) or the number of tokens is known (tokens: an array or a number, default response_token_ids or attach''s logp_old); ordered by group, rollout and step; steps without an advantage are left out; error when mask and tokens differ in length';
-- Companion tables: a group's value kept beside the rows that it is folded from.
--
-- maintain makes, beside the views <prefix>_… of attach, and writes into the attachment:
--
--	<prefix>_fresh		view: what <prefix>_values was, the fold of the rows
--	<prefix>_folded		table: its rows, kept
--	<prefix>_changed	table: keys of groups that wait to be folded (not with 'triggers')
--	<prefix>_fresh_over_time, <prefix>_folded_over_time
--						the same of what the views over time add up, if there are any: it belongs
--						to the groups, and who may write it is who holds their rows in <prefix>_folded
--
-- and triggers on the tables below.  What they do is in src/upkeep/: everything is
-- folded with the rights of the attachment's owner, who owns all of these.
-- The columns of the group come first in everything that is kept.

-- What the C half gives.
CREATE FUNCTION stepadv_internal.keep_groups() RETURNS trigger
LANGUAGE c AS 'MODULE_PATHNAME', 'stepadv_keep_groups';
COMMENT ON FUNCTION stepadv_internal.keep_groups() IS 'statement trigger of the tables below an attachment whose groups are kept; its condition names the attachment';

CREATE FUNCTION stepadv_internal.fold_at_commit() RETURNS trigger
LANGUAGE c AS 'MODULE_PATHNAME', 'stepadv_fold_at_commit';
COMMENT ON FUNCTION stepadv_internal.fold_at_commit() IS 'deferred trigger of the groups that wait for the end of a transaction; its condition names the attachment';

CREATE FUNCTION stepadv_internal.fold_groups(attachment regclass, everything boolean) RETURNS bigint
LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'stepadv_fold_groups';
COMMENT ON FUNCTION stepadv_internal.fold_groups(regclass, boolean) IS 'folds the kept groups of an attachment that wait, or everything; how many; for its owner';

CREATE FUNCTION stepadv_internal.drop_triggers(attachment regclass) RETURNS integer
LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'stepadv_drop_triggers';
COMMENT ON FUNCTION stepadv_internal.drop_triggers(regclass) IS 'drops the triggers that keep the groups of an attachment, whoever owns their tables by now; how many; for its owner';

CREATE FUNCTION stepadv_internal.watched_tables(views regclass[], n_keys integer)
RETURNS TABLE (relation regclass, base regclass, keys smallint[], reads smallint[])
LANGUAGE c STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stepadv_watched_tables';
COMMENT ON FUNCTION stepadv_internal.watched_tables(regclass[], integer) IS
'the tables below views (base), each with its partitions or children and its parents: the numbers of their columns that are the group''s (0: cannot be told) and of those that are read (NULL: all)';

CREATE FUNCTION stepadv_internal.has_group_index(relation regclass, keys smallint[]) RETURNS boolean
LANGUAGE c STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stepadv_has_group_index';
COMMENT ON FUNCTION stepadv_internal.has_group_index(regclass, smallint[]) IS 'whether an index of a table begins with these columns, in any order';

CREATE FUNCTION stepadv_internal.may_read_kept_support(internal) RETURNS internal
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stepadv_may_read_kept_support';
COMMENT ON FUNCTION stepadv_internal.may_read_kept_support(internal) IS 'tells the planner that may_read_kept leaves out no row';

CREATE FUNCTION stepadv_internal.may_read_kept(view regclass) RETURNS boolean
LANGUAGE c STABLE STRICT PARALLEL SAFE SUPPORT stepadv_internal.may_read_kept_support AS 'MODULE_PATHNAME', 'stepadv_may_read_kept';
COMMENT ON FUNCTION stepadv_internal.may_read_kept(regclass) IS
'policy of kept tables: true if the current user may read the columns of the tables below the view, and row security does not apply to him there; otherwise an error';

-- The columns of the group as k1, k2, ...: an alias for whatever relation.
CREATE FUNCTION stepadv_internal.k_columns(number integer, template text) RETURNS text
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT string_agg(format(k_columns.template, i), ', ' ORDER BY i) FROM generate_series(1, k_columns.number) i
$$;
COMMENT ON FUNCTION stepadv_internal.k_columns(integer, text) IS 'a list of k1, k2, ..., as which the columns of the group are known';

CREATE FUNCTION stepadv_internal.same_group(one text, other text, types_of regclass, number integer) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT string_agg(format('%1$s.k%2$s %3$s %4$s.k%2$s', same_group.one, a.attnum, stepadv_internal.equality_operator(a.atttypid), same_group.other), ' AND ' ORDER BY a.attnum)
	FROM pg_attribute a WHERE a.attrelid = same_group.types_of AND a.attnum BETWEEN 1 AND same_group.number
$$;
COMMENT ON FUNCTION stepadv_internal.same_group(text, text, regclass, integer) IS 'the condition that two aliases with columns k1, k2, ... have the same group';

-- The attachments over a relation that the caller may change.  What may run code of
-- their owners is done as these, for each.
CREATE FUNCTION stepadv_internal.own_attachments(source regclass, prefix text) RETURNS TABLE (attachment regclass, name text, is_kept boolean, owner oid)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT a.attachment, a.prefix, a.kept IS NOT NULL, a.owner
	FROM stepadv_internal.attachments(NULL::oid) a JOIN pg_class c ON c.oid = a.attachment JOIN pg_namespace n ON n.oid = c.relnamespace
	WHERE a.source = own_attachments.source AND (own_attachments.prefix IS NULL OR a.prefix = own_attachments.prefix) AND pg_has_role(a.owner, 'USAGE')
		AND stepadv_internal.is_of_source(a.attachment, a.owner, a.source)
	ORDER BY n.nspname, a.prefix
$$;
COMMENT ON FUNCTION stepadv_internal.own_attachments(regclass, text) IS 'the attachments over a source, with a prefix if given, of roles whose rights the current user has';

-- Those of them that are kept; an error if there are none, unless none will do.
CREATE FUNCTION stepadv_internal.own_maintained(source regclass, prefix text, or_none boolean) RETURNS regclass[]
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	kept CONSTANT regclass[] := ARRAY(SELECT o.attachment FROM stepadv_internal.own_attachments(own_maintained.source, own_maintained.prefix) o WHERE o.is_kept);
BEGIN
	IF own_maintained.source IS NULL THEN
		RAISE EXCEPTION 'source must be given' USING ERRCODE = 'null_value_not_allowed';
	END IF;
	IF kept = '{}' AND NOT pg_has_role((SELECT c.relowner FROM pg_class c WHERE c.oid = own_maintained.source), 'USAGE') THEN
		RAISE EXCEPTION 'must be owner of %', own_maintained.source USING ERRCODE = 'insufficient_privilege';
	ELSIF kept = '{}' AND NOT own_maintained.or_none THEN
		RAISE EXCEPTION 'groups of % are not maintained', concat(own_maintained.source, ' with prefix ' || quote_ident(own_maintained.prefix))
			USING ERRCODE = 'undefined_object', HINT = 'Call maintain first.';
	END IF;
	RETURN kept;
END
$$;
COMMENT ON FUNCTION stepadv_internal.own_maintained(regclass, text, boolean) IS 'the attachments over a source whose groups are kept, of roles whose rights the current user has; error if none';

CREATE FUNCTION stepadv_internal.kept_triggers(attachment regclass) RETURNS TABLE (relation regclass, event text, is_disabled boolean)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT t.tgrelid::regclass, e.event, t.tgenabled = 'D'
	FROM pg_depend d JOIN pg_trigger t ON t.oid = d.objid
	JOIN (VALUES ('INSERT', 4), ('DELETE', 8), ('UPDATE', 16), ('TRUNCATE', 32)) e(event, bit) ON t.tgtype & e.bit <> 0
	WHERE d.classid = 'pg_trigger'::regclass AND d.refclassid = 'pg_class'::regclass AND d.refobjid = kept_triggers.attachment
		AND t.tgfoid = 'stepadv_internal.keep_groups()'::regprocedure
$$;
COMMENT ON FUNCTION stepadv_internal.kept_triggers(regclass) IS 'the triggers that keep the groups of an attachment';

-- What cannot be maintained

-- A value that is kept must not depend on who folded it: an error if an id or a
-- state is known by a text that the session's settings decide.
CREATE FUNCTION stepadv_internal.refuse_texts(attachment regclass) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	plain CONSTANT regtype[] := '{bool,int2,int4,int8,float4,float8,numeric,text,varchar,bpchar,bytea,uuid,json,jsonb,bit,varbit,inet,cidr,macaddr,macaddr8}';
	source regclass;
	role text;
	type oid;
BEGIN
	FOR source, role, type IN
		SELECT a.source, c.name, stepadv_internal.base_type(t.atttypid)
		FROM stepadv_internal.attachments(NULL::oid) a CROSS JOIN LATERAL stepadv_internal.view_columns(a.rows) c
		JOIN pg_attribute t ON t.attrelid = c.relation AND t.attnum = c.column_number
		WHERE a.attachment = refuse_texts.attachment AND c.number > a.n_group_columns AND c.name IN ('rollout_id', 'step_id', 'state', 'action', 'next_state')
		ORDER BY c.number
	LOOP
		IF type <> ALL (plain::oid[]) AND NOT EXISTS (SELECT FROM pg_type t WHERE t.oid = type AND (t.typtype = 'e' OR t.typcategory = 'S')) THEN
			RAISE EXCEPTION 'cannot maintain groups of %: its % is known by the text of a %, which depends on settings of the session',
				source, role, format_type(type, NULL)
				USING ERRCODE = 'feature_not_supported', HINT = 'Attach a view that makes a text of it, for example by to_char, or a number.';
		END IF;
	END LOOP;
END
$$;
COMMENT ON FUNCTION stepadv_internal.refuse_texts(regclass) IS 'part of maintain: error if ids or states depend on settings of the session';

-- Why the groups of a table cannot be kept; message NULL: they can.
CREATE FUNCTION stepadv_internal.refusal_of_table(relation regclass, owner oid, OUT code text, OUT message text, OUT detail text, OUT hint text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	c pg_class;
BEGIN
	SELECT * INTO c FROM pg_class p WHERE p.oid = refusal_of_table.relation;
	IF c.relkind NOT IN ('r', 'p') THEN
		code := 'wrong_object_type';
		message := format('cannot maintain groups of %s: it is a %s', relation, CASE c.relkind
			WHEN 'm' THEN 'materialized view' WHEN 'f' THEN 'foreign table' ELSE 'relation of another kind' END);
		hint := 'Changes are seen by triggers, which only tables have.';
	ELSIF c.relpersistence = 't' THEN
		code := 'feature_not_supported';
		message := format('cannot maintain groups of temporary table %s', relation);
	ELSIF c.relrowsecurity THEN
		code := 'feature_not_supported';
		message := format('cannot maintain groups of %s: it has row-level security', relation);
		detail := 'A group''s value would show all its rows to whoever may read it.';
	ELSIF c.relowner <> refusal_of_table.owner THEN
		code := 'insufficient_privilege';
		message := format('cannot maintain groups of %s: its owner is another than that of the source', relation);
		detail := 'Groups are folded with the rights of the source''s owner.';
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.refusal_of_table(regclass, oid) IS 'part of maintain: why the groups of a table cannot be kept';

-- The same of its columns: they must tell which groups a change of a row changes.
CREATE FUNCTION stepadv_internal.refusal_of_columns(relation regclass, keys smallint[], group_from regclass, OUT code text, OUT message text, OUT detail text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	wanted record;
	found record;
BEGIN
	FOR wanted IN
		SELECT a.attname AS name, format_type(a.atttypid, NULL) AS type, refusal_of_columns.keys[a.attnum] AS key
		FROM pg_attribute a WHERE a.attrelid = refusal_of_columns.group_from AND a.attnum BETWEEN 1 AND cardinality(refusal_of_columns.keys) ORDER BY a.attnum
	LOOP
		SELECT a.attname AS name, format_type(a.atttypid, NULL) AS type INTO found FROM pg_attribute a
		WHERE a.attrelid = refusal_of_columns.relation AND a.attnum > 0 AND NOT a.attisdropped
			AND (a.attnum = wanted.key OR wanted.key = 0 AND a.attname = wanted.name);
		IF found.type <> wanted.type THEN
			code := 'datatype_mismatch';
			message := format('cannot maintain groups of %s: its column "%s" is of type %s, that of the source is of type %s', relation, found.name, found.type, wanted.type);
		ELSIF found.name IS NULL THEN
			code := 'undefined_column';
			message := format('cannot maintain groups of %s: it has no column "%s"', relation, wanted.name);
			detail := 'The source reads it; a change of it must tell by its own columns which groups change.';
		ELSIF wanted.key = 0 THEN
			code := 'feature_not_supported';
			message := format('cannot maintain groups of %s: the source does not read its column "%s"', relation, wanted.name);
			detail := 'A change of the table must tell by its own columns which groups change.';
		END IF;
		EXIT WHEN message IS NOT NULL;
	END LOOP;
END
$$;
COMMENT ON FUNCTION stepadv_internal.refusal_of_columns(regclass, smallint[], regclass) IS 'part of maintain: why the groups of a table cannot be kept, by its columns';

-- An error if any of the tables below cannot be watched.
CREATE FUNCTION stepadv_internal.refuse_tables(attachment regclass) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	r record;
BEGIN
	SELECT coalesce(t.code, k.code) AS code, coalesce(t.message, k.message) AS message,
		CASE WHEN t.message IS NOT NULL THEN t.detail ELSE k.detail END AS detail, t.hint AS hint,
		w.base NOT IN (SELECT b.base FROM stepadv_internal.watched_tables(ARRAY[a.fresh], a.n_group_columns) b) AS is_over_time
	INTO r
	FROM stepadv_internal.attachments(NULL::oid) a
	CROSS JOIN LATERAL stepadv_internal.watched_tables(ARRAY[a.fresh, a.fresh_over_time], a.n_group_columns) w
	CROSS JOIN LATERAL stepadv_internal.refusal_of_table(w.relation, a.owner) t
	CROSS JOIN LATERAL stepadv_internal.refusal_of_columns(w.relation, w.keys, a.rows) k
	WHERE a.attachment = refuse_tables.attachment AND coalesce(t.message, k.message) IS NOT NULL
	ORDER BY w.relation::text LIMIT 1;
	IF r.is_over_time THEN
		RAISE EXCEPTION '%', r.message USING ERRCODE = r.code, DETAIL = coalesce(r.detail, r.hint, 'Changes of it cannot be seen.'),
			HINT = 'Only the views over time read it: with over_time => false they go on folding, and the groups can be maintained.';
	ELSIF r.detail IS NOT NULL THEN
		RAISE EXCEPTION '%', r.message USING ERRCODE = r.code, DETAIL = r.detail;
	ELSIF r.hint IS NOT NULL THEN
		RAISE EXCEPTION '%', r.message USING ERRCODE = r.code, HINT = r.hint;
	ELSIF r.message IS NOT NULL THEN
		RAISE EXCEPTION '%', r.message USING ERRCODE = r.code;
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.refuse_tables(regclass) IS 'part of maintain: error if a table below cannot be watched';

-- What is kept

CREATE FUNCTION stepadv_internal.set_kept(attachment regclass, kept text, fresh regclass, folded regclass, changed regclass, fresh_over_time regclass, folded_over_time regclass) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	EXECUTE format('UPDATE %s SET kept = $1, fresh = $2, folded = $3, changed = $4, fresh_over_time = $5, folded_over_time = $6', set_kept.attachment)
		USING set_kept.kept, set_kept.fresh, set_kept.folded, set_kept.changed, set_kept.fresh_over_time, set_kept.folded_over_time;
END
$$;
COMMENT ON FUNCTION stepadv_internal.set_kept(regclass, text, regclass, regclass, regclass, regclass, regclass) IS 'part of maintain: writes into an attachment what is kept';

-- Statement triggers fire for the table that the statement names: one is needed
-- on each partition and child, and on each parent, through which rows may come.
-- The condition is always true: it says whose trigger it is, and is there for the
-- dependencies: who drops a companion with CASCADE must not leave triggers that fail.
CREATE FUNCTION stepadv_internal.make_triggers(attachment regclass) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	item text;
BEGIN
	PERFORM stepadv_internal.refuse_tables(make_triggers.attachment);
	FOR item IN
		SELECT format('CREATE TRIGGER %I AFTER %s ON %I.%I %s FOR EACH STATEMENT WHEN (%s) EXECUTE FUNCTION stepadv_internal.keep_groups()',
			a.prefix || '_maintain_' || lower(e.event), e.event, n.nspname, c.relname, e.tables,
			(SELECT string_agg(format('%L::regclass IS NOT NULL', k), ' AND ') FROM unnest(ARRAY[a.attachment, a.folded, a.changed]) k WHERE k IS NOT NULL))
		FROM stepadv_internal.attachments(NULL::oid) a
		CROSS JOIN LATERAL (SELECT DISTINCT w.relation FROM stepadv_internal.watched_tables(ARRAY[a.fresh, a.fresh_over_time], a.n_group_columns) w) w
		JOIN pg_class c ON c.oid = w.relation JOIN pg_namespace n ON n.oid = c.relnamespace
		CROSS JOIN (VALUES ('INSERT', 'REFERENCING NEW TABLE AS new_rows'), ('UPDATE', 'REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows'),
			('DELETE', 'REFERENCING OLD TABLE AS old_rows'), ('TRUNCATE', '')) e(event, tables)
		WHERE a.attachment = make_triggers.attachment
			AND NOT EXISTS (SELECT FROM stepadv_internal.kept_triggers(a.attachment) t WHERE t.relation = w.relation AND t.event = e.event)
		ORDER BY n.nspname, c.relname, e.event
	LOOP
		EXECUTE item;
	END LOOP;
END
$$;
COMMENT ON FUNCTION stepadv_internal.make_triggers(regclass) IS 'part of maintain: makes the triggers that are missing';

-- A view's query under another name.
CREATE FUNCTION stepadv_internal.copy_view(view regclass, schema text, name text, comment text) RETURNS regclass
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	copy CONSTANT text := format('%I.%I', copy_view.schema, copy_view.name);
BEGIN
	EXECUTE format('CREATE VIEW %s %sAS %s', copy, CASE WHEN current_setting('server_version_num')::integer >= 150000 THEN 'WITH (security_invoker = true) ' END,
		rtrim(pg_get_viewdef(copy_view.view), '; '));
	EXECUTE format('COMMENT ON VIEW %s IS %L', copy, copy_view.comment);
	RETURN copy::regclass;
END
$$;
COMMENT ON FUNCTION stepadv_internal.copy_view(regclass, text, text, text) IS 'part of maintain: the fold as it was, under a name of its own';

-- Who may read all that a value is folded from may read the value, as long as he may.
CREATE FUNCTION stepadv_internal.let_readers(kept regclass, fresh regclass) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	EXECUTE format('ALTER TABLE %1$s ENABLE ROW LEVEL SECURITY; GRANT SELECT ON %1$s TO PUBLIC; '
		'CREATE POLICY readers ON %1$s FOR SELECT TO PUBLIC USING (stepadv_internal.may_read_kept(%2$L::regclass))', kept, fresh);
END
$$;
COMMENT ON FUNCTION stepadv_internal.let_readers(regclass, regclass) IS 'part of maintain: lets those read a kept table who may read what it is folded from';

-- Values stay in line as long as a page has room, and as they are: they are
-- read more often than written, and hashes do not compress.
CREATE FUNCTION stepadv_internal.make_folded(fresh regclass, n_keys integer, schema text, name text, unlogged text, source regclass) RETURNS regclass
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	folded CONSTANT text := format('%I.%I', make_folded.schema, make_folded.name);
	kept_at text := 'refreshed_at';
BEGIN
	WHILE EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = make_folded.fresh AND a.attname = kept_at) LOOP
		kept_at := '_' || kept_at;
	END LOOP;
	EXECUTE format('CREATE %sTABLE %s WITH (toast_tuple_target = 8160) AS SELECT %s, f.rollouts, clock_timestamp() AS %I FROM %s f WITH NO DATA',
		unlogged, folded, stepadv_internal.list(stepadv_internal.group_columns(fresh, n_keys), 'f.%1$I'::text, ', '::text), kept_at, fresh);
	EXECUTE format('ALTER TABLE %s ADD CONSTRAINT %I PRIMARY KEY (%s), ALTER rollouts SET STORAGE EXTERNAL',
		folded, make_folded.name || '_pkey', stepadv_internal.list(stepadv_internal.group_columns(fresh, n_keys), '%1$I'::text, ', '::text));
	EXECUTE format('COMMENT ON TABLE %s IS %L', folded, 'groups of ' || make_folded.source || ', kept by stepadv.maintain; nobody else should write to it');
	EXECUTE format('COMMENT ON COLUMN %s.%I IS %L', folded, kept_at, 'when the group was last folded');
	PERFORM stepadv_internal.let_readers(folded::regclass, fresh);
	RETURN folded::regclass;
END
$$;
COMMENT ON FUNCTION stepadv_internal.make_folded(regclass, integer, text, text, text, regclass) IS 'part of maintain: the table of groups';

CREATE FUNCTION stepadv_internal.make_folded_over_time(fresh regclass, n_keys integer, schema text, name text, unlogged text, source regclass) RETURNS regclass
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	folded CONSTANT text := format('%I.%I', make_folded_over_time.schema, make_folded_over_time.name);
BEGIN
	EXECUTE format('CREATE %sTABLE %s AS SELECT f.* FROM %s f WITH NO DATA', unlogged, folded, fresh);
	EXECUTE format('CREATE INDEX ON %s (%s)', folded, stepadv_internal.list(stepadv_internal.group_columns(fresh, n_keys), '%1$I'::text, ', '::text));
	EXECUTE format('COMMENT ON TABLE %s IS %L', folded, 'what the views over time add up of the groups of ' || make_folded_over_time.source
		|| ', kept by stepadv.maintain; nobody else should write to it. Nothing but a key: a group that one of the methods cannot be computed of');
	PERFORM stepadv_internal.let_readers(folded::regclass, fresh);
	RETURN folded::regclass;
END
$$;
COMMENT ON FUNCTION stepadv_internal.make_folded_over_time(regclass, integer, text, text, text, regclass) IS 'part of maintain: the table of what the views over time add up';

CREATE FUNCTION stepadv_internal.make_changed(attachment regclass, fresh regclass, n_keys integer, schema text, prefix text, unlogged text, how text, folded regclass, source regclass) RETURNS regclass
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	changed CONSTANT text := format('%I.%I', make_changed.schema, make_changed.prefix || '_changed');
BEGIN
	EXECUTE format('CREATE %sTABLE %s AS SELECT %s FROM %s f WITH NO DATA', unlogged, changed, stepadv_internal.list(stepadv_internal.group_columns(fresh, n_keys), 'f.%1$I'::text, ', '::text), fresh);
	EXECUTE format('COMMENT ON TABLE %s IS %L', changed, 'groups of ' || make_changed.source || ' that wait to be folded again; NULL: all');
	IF make_changed.how = 'commit' THEN
		EXECUTE format('CREATE CONSTRAINT TRIGGER %I AFTER INSERT ON %s DEFERRABLE INITIALLY DEFERRED FOR EACH ROW '
			'WHEN (%L::regclass IS NOT NULL AND %L::regclass IS NOT NULL) EXECUTE FUNCTION stepadv_internal.fold_at_commit()',
			make_changed.prefix || '_at_commit', changed, make_changed.attachment, folded);
	END IF;
	RETURN changed::regclass;
END
$$;
COMMENT ON FUNCTION stepadv_internal.make_changed(regclass, regclass, integer, text, text, text, text, regclass, regclass) IS 'part of maintain: the table of groups that wait';

-- After a crash unlogged tables are empty: all of them, or the companion would be wrong.
CREATE FUNCTION stepadv_internal.unlogged_as(views regclass[], source regclass) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	kinds text;
BEGIN
	SELECT string_agg(DISTINCT c.relpersistence::text, '' ORDER BY c.relpersistence::text) INTO kinds
	FROM stepadv_internal.watched_tables(unlogged_as.views, 0) w JOIN pg_class c ON c.oid = w.relation WHERE c.relkind = 'r';
	IF kinds = 'pu' THEN
		RAISE EXCEPTION 'cannot maintain groups of %: some of its tables are unlogged, others are not', unlogged_as.source
			USING ERRCODE = 'feature_not_supported';
	END IF;
	RETURN CASE kinds WHEN 'u' THEN 'UNLOGGED ' ELSE '' END;
END
$$;
COMMENT ON FUNCTION stepadv_internal.unlogged_as(regclass[], regclass) IS 'part of maintain: UNLOGGED if the tables below are';

-- An error if a name is taken, or too long.
CREATE FUNCTION stepadv_internal.refuse_names(schema text, prefix text) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	max_length CONSTANT integer := current_setting('max_identifier_length')::integer;
	item text;
BEGIN
	IF octet_length(refuse_names.prefix || '_maintain_truncate') > max_length THEN
		RAISE EXCEPTION 'the name of trigger "%" is longer than % bytes', refuse_names.prefix || '_maintain_truncate', max_length
			USING ERRCODE = 'name_too_long', HINT = 'Attach with a shorter prefix.';
	END IF;
	SELECT c.relname INTO item
	FROM unnest('{_fresh,_folded,_changed,_folded_pkey,_fresh_over_time,_folded_over_time}'::text[]) s
	JOIN pg_class c ON c.relname = refuse_names.prefix || s JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname = refuse_names.schema
	LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'relation "%" already exists in schema "%"', item, refuse_names.schema
			USING ERRCODE = 'duplicate_table', HINT = 'Rename it, or attach with another prefix.';
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.refuse_names(text, text) IS 'part of maintain: error if a name of what is to be made is taken';

-- The companion, empty, and nobody who fills it yet.
CREATE FUNCTION stepadv_internal.make_kept(attachment regclass, how text, over_time boolean) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	a record;
	schema text;
	unlogged text;
	divided regclass;	-- the view of what the views over time add up
	fresh regclass;
	folded regclass;
	changed regclass;
	fresh_over_time regclass;
	folded_over_time regclass;
BEGIN
	SELECT * INTO STRICT a FROM stepadv_internal.attachments(NULL::oid) s WHERE s.attachment = make_kept.attachment;
	SELECT n.nspname INTO STRICT schema FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = make_kept.attachment;
	PERFORM stepadv_internal.refuse_names(schema, a.prefix);
	divided := CASE WHEN make_kept.over_time THEN a.views[array_position(a.view_kinds, 'groups_over_time')] END;
	fresh := stepadv_internal.copy_view(a.views[array_position(a.view_kinds, 'values')], schema, a.prefix || '_fresh', 'the groups of ' || a.source || ', folded when asked');
	IF divided IS NOT NULL THEN
		fresh_over_time := stepadv_internal.copy_view(divided, schema, a.prefix || '_fresh_over_time',
			'what the views over time add up of the groups of ' || a.source || ', folded when asked');
	END IF;
	unlogged := stepadv_internal.unlogged_as(ARRAY[fresh, fresh_over_time], a.source);
	folded := stepadv_internal.make_folded(fresh, a.n_group_columns, schema, a.prefix || '_folded', unlogged, a.source);
	IF divided IS NOT NULL THEN
		folded_over_time := stepadv_internal.make_folded_over_time(fresh_over_time, a.n_group_columns, schema, a.prefix || '_folded_over_time', unlogged, a.source);
	END IF;
	IF make_kept.how <> 'triggers' THEN
		changed := stepadv_internal.make_changed(make_kept.attachment, fresh, a.n_group_columns, schema, a.prefix, unlogged, make_kept.how, folded, a.source);
	END IF;
	PERFORM stepadv_internal.set_kept(make_kept.attachment, make_kept.how, fresh, folded, changed, fresh_over_time, folded_over_time);
END
$$;
COMMENT ON FUNCTION stepadv_internal.make_kept(regclass, text, boolean) IS 'part of maintain: the views and tables of an attachment''s kept groups';

-- All that maintain made goes, and what is there of it goes: a table may have been dropped before.
CREATE FUNCTION stepadv_internal.drop_kept(attachment regclass, views_again boolean) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
DECLARE
	a record;
	item text;
BEGIN
	SELECT * INTO STRICT a FROM stepadv_internal.attachments(NULL::oid) s WHERE s.attachment = drop_kept.attachment;
	-- Otherwise the attachment is about to be dropped: nothing is written into
	-- somebody's table, which may have triggers, with the rights of who detaches.
	IF drop_kept.views_again THEN
		PERFORM stepadv_internal.set_kept(a.attachment, NULL::text, NULL::regclass, NULL::regclass, NULL::regclass, NULL::regclass, NULL::regclass);
		PERFORM stepadv_internal.make_views(a.attachment, false);
	END IF;
	PERFORM stepadv_internal.drop_triggers(a.attachment);
	FOR item IN
		SELECT format('DROP %s %s', k.kind, string_agg(k.relation::text, ', '))
		FROM (VALUES (1, 'TABLE', a.folded), (1, 'TABLE', a.changed), (1, 'TABLE', a.folded_over_time), (2, 'VIEW', a.fresh), (2, 'VIEW', a.fresh_over_time)) k(i, kind, relation)
		WHERE k.relation IS NOT NULL GROUP BY k.i, k.kind ORDER BY k.i
	LOOP
		EXECUTE item;
	END LOOP;
END
$$;
COMMENT ON FUNCTION stepadv_internal.drop_kept(regclass, boolean) IS 'part of unmaintain and detach: drops what maintain made for an attachment; views_again: and makes its views fold again';

-- maintain

-- The attachment that is meant, which nobody maintains yet.
CREATE FUNCTION stepadv_internal.to_maintain(source regclass, prefix text) RETURNS regclass
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	meant regclass[];
	names text;
	kept text;
BEGIN
	SELECT array_agg(o.attachment) FILTER (WHERE NOT o.is_kept), string_agg(quote_ident(o.name), ', ') FILTER (WHERE NOT o.is_kept),
		string_agg(quote_ident(o.name), ', ') FILTER (WHERE o.is_kept)
	INTO meant, names, kept
	FROM stepadv_internal.own_attachments(to_maintain.source, to_maintain.prefix) o
	WHERE o.owner = (SELECT c.relowner FROM pg_class c WHERE c.oid = to_maintain.source);
	IF cardinality(meant) > 1 THEN
		RAISE EXCEPTION 'several sets of views are attached to %', to_maintain.source
			USING ERRCODE = 'ambiguous_parameter', HINT = format('Name one by its prefix: %s.', names);
	ELSIF meant IS NULL AND kept IS NOT NULL THEN
		RAISE EXCEPTION 'groups of % are maintained already, with prefix %', to_maintain.source, kept
			USING ERRCODE = 'duplicate_object', HINT = 'To do it in another way, call unmaintain first.';
	ELSIF meant IS NULL THEN
		RAISE EXCEPTION 'no views of attach over %', concat(to_maintain.source, ' with prefix ' || quote_ident(to_maintain.prefix))
			USING ERRCODE = 'undefined_object',
				HINT = 'Call attach first: it says which columns make a group. For the tables of create_tables the source is the view rollout_rows.';
	END IF;
	RETURN meant[1];
END
$$;
COMMENT ON FUNCTION stepadv_internal.to_maintain(regclass, text) IS 'part of maintain: the attachment that is meant; error if there is none, or several';

CREATE FUNCTION stepadv_internal.maintain(source regclass, prefix text, how text, over_time boolean) RETURNS regclass
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET jit = off
AS $$
DECLARE
	meant regclass;
	a record;
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
	IF NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = maintain.source) THEN
		RAISE EXCEPTION 'relation % does not exist', maintain.source::oid USING ERRCODE = 'undefined_table';
	END IF;
	IF NOT pg_has_role((SELECT c.relowner FROM pg_class c WHERE c.oid = maintain.source), 'USAGE') THEN
		RAISE EXCEPTION 'must be owner of %', maintain.source USING ERRCODE = 'insufficient_privilege';
	END IF;
	meant := stepadv_internal.to_maintain(maintain.source, maintain.prefix);
	PERFORM stepadv_internal.refuse_texts(meant);
	PERFORM stepadv_internal.make_kept(meant, maintain.how, coalesce(maintain.over_time, false));
	-- From here on no change is missed: making a trigger waits for writers.
	PERFORM stepadv_internal.make_triggers(meant);
	PERFORM stepadv_internal.fold_groups(meant, true);
	SELECT * INTO STRICT a FROM stepadv_internal.attachments(NULL::oid) s WHERE s.attachment = meant;
	EXECUTE format('ANALYZE %s', concat_ws(', ', a.folded, a.folded_over_time));
	PERFORM stepadv_internal.make_views(meant, false);
	IF EXISTS (SELECT FROM stepadv_internal.watched_tables(ARRAY[a.fresh, a.fresh_over_time], a.n_group_columns) w
		WHERE w.relation = w.base AND NOT stepadv_internal.has_group_index(w.base, w.keys))
	THEN
		RAISE WARNING 'a table below % has no index that begins with the columns of the group', maintain.source
			USING DETAIL = 'To fold one group, all of it is read.', HINT = 'Make the index.';
	END IF;
	RETURN a.folded;
END
$$;
COMMENT ON FUNCTION stepadv_internal.maintain(regclass, text, text, boolean) IS 'stepadv.maintain, as the owner of the source';

CREATE FUNCTION stepadv.maintain(source regclass, prefix text DEFAULT NULL, how text DEFAULT 'triggers', over_time boolean DEFAULT true) RETURNS regclass
LANGUAGE c AS 'MODULE_PATHNAME', 'stepadv_as_owner';
COMMENT ON FUNCTION stepadv.maintain(regclass, text, text, boolean) IS
'keeps the groups of an attached source in a table, <prefix>_folded (the group''s columns, rollouts, refreshed_at), where the views of attach then read them; how: ''triggers'' (each statement folds the groups that it changed), ''commit'' (each transaction does so at its end), ''refresh'' (the function refresh does, those changed since); over_time: also what the views over time add up, if there are such, in <prefix>_folded_over_time; for owners of the source and its tables; returns the table';

-- unmaintain

CREATE FUNCTION stepadv_internal.end_kept_as_owner(attachment regclass) RETURNS void
LANGUAGE sql
SET search_path = pg_catalog, pg_temp
AS $$ SELECT stepadv_internal.drop_kept(end_kept_as_owner.attachment, views_again => true) $$;
COMMENT ON FUNCTION stepadv_internal.end_kept_as_owner(regclass) IS 'part of unmaintain, as the owner of the attachment';

CREATE FUNCTION stepadv_internal.end_kept(attachment regclass) RETURNS void
LANGUAGE c AS 'MODULE_PATHNAME', 'stepadv_as_owner';
COMMENT ON FUNCTION stepadv_internal.end_kept(regclass) IS 'part of unmaintain: becomes the owner of the attachment for it';

CREATE FUNCTION stepadv.unmaintain(source regclass, prefix text DEFAULT NULL) RETURNS integer
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET jit = off
AS $$
DECLARE
	kept CONSTANT regclass[] := stepadv_internal.own_maintained(unmaintain.source, unmaintain.prefix, or_none => true);
	attachment regclass;
BEGIN
	FOREACH attachment IN ARRAY kept LOOP
		PERFORM stepadv_internal.end_kept(attachment);
	END LOOP;
	RETURN cardinality(kept);
END
$$;
COMMENT ON FUNCTION stepadv.unmaintain(regclass, text) IS
'ends what maintain began for the source (with the prefix, if given): the views of attach fold again, the table of groups and the triggers are dropped; how many sets of views; error when something else depends on the table';

-- refresh

-- Which of the groups that wait is the one that cannot be folded: an error like
-- the one there was, with the group.
CREATE FUNCTION stepadv_internal.blame_group(attachment regclass) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	a record;
	waiting record;
	hint text;
BEGIN
	SELECT * INTO STRICT a FROM stepadv_internal.attachments(NULL::oid) s WHERE s.attachment = blame_group.attachment;
	FOR waiting IN EXECUTE format('SELECT DISTINCT ROW(%s, NULL)::%s::text AS key, jsonb_build_object(%s) AS shown FROM %s g(%s)',
		stepadv_internal.k_columns(a.n_group_columns, 'g.k%1$s'::text), a.fresh,
		stepadv_internal.list(stepadv_internal.group_columns(a.fresh, a.n_group_columns), '%1$L, g.k%2$s'::text, ', '::text), a.changed, stepadv_internal.k_columns(a.n_group_columns, 'k%1$s'::text))
	LOOP
		BEGIN
			EXECUTE format('SELECT count(f.value) FROM %1$s f(%2$s, value), (SELECT (%3$L::%1$s).*) g(%2$s) WHERE %4$s', a.fresh,
				stepadv_internal.k_columns(a.n_group_columns, 'k%1$s'::text), waiting.key, stepadv_internal.same_group('f'::text, 'g'::text, a.fresh, a.n_group_columns));
		EXCEPTION WHEN OTHERS THEN
			GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
			RAISE EXCEPTION 'group %: %', waiting.shown, SQLERRM USING ERRCODE = SQLSTATE, HINT = hint;
		END;
	END LOOP;
END
$$;
COMMENT ON FUNCTION stepadv_internal.blame_group(regclass) IS 'part of refresh: names the group that cannot be folded';

CREATE FUNCTION stepadv_internal.refresh_kept_as_owner(attachment regclass, everything boolean) RETURNS bigint
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET jit = off
AS $$
BEGIN
	IF refresh_kept_as_owner.everything THEN
		PERFORM stepadv_internal.make_triggers(refresh_kept_as_owner.attachment);
	END IF;
	RETURN stepadv_internal.fold_groups(refresh_kept_as_owner.attachment, refresh_kept_as_owner.everything);
EXCEPTION WHEN data_exception OR cardinality_violation THEN
	IF EXISTS (SELECT FROM stepadv_internal.attachments(NULL::oid) a WHERE a.attachment = refresh_kept_as_owner.attachment AND a.changed IS NOT NULL) THEN
		PERFORM stepadv_internal.blame_group(refresh_kept_as_owner.attachment);
	END IF;
	RAISE;
END
$$;
COMMENT ON FUNCTION stepadv_internal.refresh_kept_as_owner(regclass, boolean) IS 'part of refresh, as the owner of the attachment';

CREATE FUNCTION stepadv_internal.refresh_kept(attachment regclass, everything boolean) RETURNS bigint
LANGUAGE c AS 'MODULE_PATHNAME', 'stepadv_as_owner';
COMMENT ON FUNCTION stepadv_internal.refresh_kept(regclass, boolean) IS 'part of refresh: becomes the owner of the attachment for it';

CREATE FUNCTION stepadv.refresh(source regclass, prefix text DEFAULT NULL, everything boolean DEFAULT false) RETURNS bigint
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET jit = off
AS $$
DECLARE
	attachment regclass;
	total bigint := 0;
BEGIN
	FOREACH attachment IN ARRAY stepadv_internal.own_maintained(refresh.source, refresh.prefix, false) LOOP
		total := total + stepadv_internal.refresh_kept(attachment, coalesce(refresh.everything, false));
	END LOOP;
	RETURN total;
END
$$;
COMMENT ON FUNCTION stepadv.refresh(regclass, text, boolean) IS
'folds the groups of a maintained source that changed since the last refresh; everything: all of them, and triggers for partitions that have come since; how many groups; with how => ''triggers'' or ''commit'' only everything has something to do';

-- check_maintained

-- Changes that are not seen, and what has become of the tables below.
CREATE FUNCTION stepadv_internal.check_tables(attachment regclass) RETURNS TABLE ("group" jsonb, problem text)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	WITH kept AS (
		SELECT * FROM stepadv_internal.attachments(NULL::oid) a WHERE a.attachment = check_tables.attachment
	), watched AS (
		SELECT w.relation, bool_or(w.relation = w.base) AS is_read
		FROM kept a CROSS JOIN LATERAL stepadv_internal.watched_tables(ARRAY[a.fresh, a.fresh_over_time], a.n_group_columns) w GROUP BY w.relation
	)
	SELECT NULL::jsonb, format('changes of %s are not seen: %s', w.relation, CASE WHEN count(t.relation) < 4 THEN 'it lacks triggers' ELSE 'triggers are disabled' END)
	FROM watched w LEFT JOIN stepadv_internal.kept_triggers(check_tables.attachment) t ON t.relation = w.relation
	GROUP BY w.relation HAVING count(t.relation) < 4 OR bool_or(t.is_disabled)
	UNION ALL
	SELECT NULL::jsonb, p.problem
	FROM watched w JOIN pg_class c ON c.oid = w.relation
	CROSS JOIN kept a CROSS JOIN LATERAL (VALUES
		(c.relrowsecurity, format('groups of %s are kept for all of its rows: it has row-level security now', w.relation)),
		(c.relowner <> a.owner, format('groups of %s are kept by %s: its owner is another now', w.relation, a.owner::regrole))) p(is_so, problem)
	WHERE w.is_read AND p.is_so
	UNION ALL
	SELECT NULL::jsonb, 'the table of groups is gone' FROM kept a WHERE a.folded IS NULL
$$;
COMMENT ON FUNCTION stepadv_internal.check_tables(regclass) IS 'part of check_maintained: what is wrong with the tables below';

CREATE FUNCTION stepadv_internal.waits(changed regclass, n_keys integer, one_group text) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT format('EXISTS (SELECT FROM %1$s w(%2$s) JOIN (SELECT %3$s) o(%2$s) ON w.k1 IS NOT DISTINCT FROM NULL OR %4$s)', waits.changed,
		stepadv_internal.k_columns(waits.n_keys, 'k%1$s'::text), waits.one_group, stepadv_internal.same_group('w'::text, 'o'::text, waits.changed, waits.n_keys))
	WHERE waits.changed IS NOT NULL
$$;
COMMENT ON FUNCTION stepadv_internal.waits(regclass, integer, text) IS 'part of check_maintained: the condition that a group, given as a list, waits to be folded; NULL where none does';

-- In one snapshot.  What came through a dump has other bytes, perhaps, but its
-- text is the same.  What waits for a refresh is as it should be.
CREATE FUNCTION stepadv_internal.check_groups(attachment regclass) RETURNS TABLE ("group" jsonb, problem text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	a record;
BEGIN
	SELECT * INTO STRICT a FROM stepadv_internal.attachments(NULL::oid) s WHERE s.attachment = check_groups.attachment;
	IF a.folded IS NULL OR a.fresh IS NULL THEN
		RETURN;
	END IF;
	RETURN QUERY EXECUTE format(
		'SELECT jsonb_build_object(%1$s),
			CASE WHEN c.value IS NULL THEN ''is missing'' WHEN f.value IS NULL THEN ''has no rows'' ELSE ''differs from a fresh fold'' END
		FROM %2$s f(%4$s, value) FULL JOIN %3$s c(%4$s, value) ON %5$s
		WHERE record_image_ne(ROW(f.value), ROW(c.value)) AND f.value::text IS DISTINCT FROM c.value::text%6$s',
		stepadv_internal.list(stepadv_internal.group_columns(a.fresh, a.n_group_columns), '%1$L, coalesce(f.k%2$s, c.k%2$s)'::text, ', '::text), a.fresh, a.folded,
		stepadv_internal.k_columns(a.n_group_columns, 'k%1$s'::text), stepadv_internal.same_group('f'::text, 'c'::text, a.folded, a.n_group_columns),
		' AND NOT ' || stepadv_internal.waits(a.changed, a.n_group_columns, stepadv_internal.k_columns(a.n_group_columns, 'coalesce(f.k%1$s, c.k%1$s)'::text)));
END
$$;
COMMENT ON FUNCTION stepadv_internal.check_groups(regclass) IS 'part of check_maintained: groups that are not those of a fresh fold';

-- Groups that a method cannot be computed of are computed when they are read:
-- nothing is kept of them that could be wrong, and to look would be an error.
-- So it may be of those that wait.
CREATE FUNCTION stepadv_internal.check_over_time(attachment regclass) RETURNS TABLE ("group" jsonb, problem text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	a record;
	by_group boolean;
	keys text;
	waits text;			-- whether the group g does
	asked text;			-- the fresh rows that can be compared
BEGIN
	SELECT * INTO STRICT a FROM stepadv_internal.attachments(NULL::oid) s WHERE s.attachment = check_over_time.attachment;
	IF a.folded IS NULL OR a.folded_over_time IS NULL OR a.fresh_over_time IS NULL THEN
		RETURN;
	END IF;
	keys := stepadv_internal.k_columns(a.n_group_columns, 'k%1$s'::text);
	waits := coalesce(stepadv_internal.waits(a.changed, a.n_group_columns, stepadv_internal.k_columns(a.n_group_columns, 'g.k%1$s'::text)), 'false');
	EXECUTE format('SELECT EXISTS (SELECT FROM %s c WHERE c.n_rollouts IS NULL)%s', a.folded_over_time,
		' OR EXISTS (SELECT FROM ' || a.changed || ')') INTO by_group;
	asked := a.fresh_over_time || ' f';
	IF by_group THEN
		asked := format('(SELECT %1$s FROM %2$s g(%1$s) WHERE NOT EXISTS (SELECT FROM %3$s c(%1$s) WHERE c.n_rollouts IS NULL AND %4$s) AND NOT %5$s OFFSET 0) g'
			' CROSS JOIN LATERAL (SELECT f.* FROM %6$s f(%1$s) WHERE %7$s OFFSET 0) f',
			keys, a.folded, a.folded_over_time, stepadv_internal.same_group('c'::text, 'g'::text, a.folded, a.n_group_columns), waits,
			a.fresh_over_time, stepadv_internal.same_group('f'::text, 'g'::text, a.folded, a.n_group_columns));
	END IF;
	BEGIN
		RETURN QUERY EXECUTE format(
			'WITH f AS MATERIALIZED (SELECT f.* FROM %1$s), c AS MATERIALIZED (SELECT * FROM %2$s WHERE n_rollouts IS NOT NULL)
			SELECT jsonb_build_object(%3$s), ''differs over time from a fresh fold''
			FROM (SELECT DISTINCT %4$s FROM ((TABLE f EXCEPT ALL TABLE c) UNION ALL (TABLE c EXCEPT ALL TABLE f)) d(%4$s)) g WHERE NOT %5$s',
			asked, a.folded_over_time, stepadv_internal.list(stepadv_internal.group_columns(a.fresh, a.n_group_columns), '%1$L, g.k%2$s'::text, ', '::text), keys, waits);
	EXCEPTION WHEN data_exception THEN
		RETURN QUERY SELECT NULL::jsonb, format('groups cannot be compared over time: %s', SQLERRM);
	END;
END
$$;
COMMENT ON FUNCTION stepadv_internal.check_over_time(regclass) IS 'part of check_maintained: groups whose sums over time are not those of a fresh fold';

CREATE FUNCTION stepadv_internal.check_kept_as_owner(attachment regclass) RETURNS TABLE ("group" jsonb, problem text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp SET jit = off
AS $$
BEGIN
	RETURN QUERY SELECT * FROM stepadv_internal.check_tables(check_kept_as_owner.attachment);
	RETURN QUERY SELECT * FROM stepadv_internal.check_groups(check_kept_as_owner.attachment);
	RETURN QUERY SELECT * FROM stepadv_internal.check_over_time(check_kept_as_owner.attachment);
EXCEPTION WHEN insufficient_privilege THEN
	RETURN QUERY SELECT * FROM stepadv_internal.check_tables(check_kept_as_owner.attachment);
	RETURN QUERY SELECT NULL::jsonb, format('groups cannot be compared: %s', SQLERRM);
END
$$;
COMMENT ON FUNCTION stepadv_internal.check_kept_as_owner(regclass) IS 'part of check_maintained, as the owner of the attachment';

CREATE FUNCTION stepadv_internal.check_kept(attachment regclass) RETURNS TABLE ("group" jsonb, problem text)
LANGUAGE c STABLE AS 'MODULE_PATHNAME', 'stepadv_as_owner';
COMMENT ON FUNCTION stepadv_internal.check_kept(regclass) IS 'part of check_maintained: becomes the owner of the attachment for it';

CREATE FUNCTION stepadv.check_maintained(source regclass, prefix text DEFAULT NULL) RETURNS TABLE ("group" jsonb, problem text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp SET jit = off
AS $$
DECLARE
	attachment regclass;
BEGIN
	FOREACH attachment IN ARRAY stepadv_internal.own_maintained(check_maintained.source, check_maintained.prefix, false) LOOP
		RETURN QUERY SELECT * FROM stepadv_internal.check_kept(attachment);
	END LOOP;
END
$$;
COMMENT ON FUNCTION stepadv.check_maintained(regclass, text) IS
'compares the table of groups of a maintained source, and that of what the views over time add up, with a fresh fold: a row per group that differs, lacks or has no rows any more, and (group NULL) per table whose changes are not seen, or that has row-level security or another owner by now; none if all is right; reads everything';
