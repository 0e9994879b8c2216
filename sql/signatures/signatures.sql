
-- Tool calls: src/signatures/{action_signature,read_call,call,call_arguments,effects,patch,vocabulary,render}.c,
-- src/signatures/shell/

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
'signatures category[:scope][@target][:result] of a tool call''s effects (call_effects), joined by '' ; ''; args: an '
'object, JSON or XML text, or the bare command; content_hash: md5, xxh3 or none; path: relative (to root) or '
'basename; vocabulary: see user_vocabulary(); never NULL';

CREATE FUNCTION stepadv.call_effects(
	tool text,
	args jsonb,
	ok boolean DEFAULT NULL,
	content_hash text DEFAULT 'md5',
	path text DEFAULT 'relative',
	root text DEFAULT '/testbed',
	vocabulary jsonb DEFAULT NULL,
	OUT effect_no integer,
	OUT signature text,
	OUT category text,
	OUT target text,
	OUT succeeded boolean)
RETURNS SETOF record
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 120 ROWS 2
AS 'MODULE_PATHNAME', 'stepadv_call_effects';

COMMENT ON FUNCTION stepadv.call_effects(text, jsonb, boolean, text, text, text, jsonb) IS
'one row per effect of a tool call, in order, at most 256; a shell line has one for each command and file; target: '
'the file, program or tests, NULL if none; succeeded: NULL if ok does not determine it; parameters as for '
'action_signature';

CREATE FUNCTION stepadv.action_category(tool text, args jsonb, vocabulary jsonb DEFAULT NULL)
RETURNS text
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 80
AS 'MODULE_PATHNAME', 'stepadv_action_category';

COMMENT ON FUNCTION stepadv.action_category(text, jsonb, jsonb) IS
'category of a tool call (RTMC, table 1): that of its strongest effect, in the order finish, modify or create, test, '
'execute, install, fileop, view, search, think; other for an unknown tool; never NULL';

CREATE FUNCTION stepadv.builtin_vocabulary(OUT scaffold text, OUT tool text, OUT subcommand text, OUT meaning text)
RETURNS SETOF record
LANGUAGE c IMMUTABLE PARALLEL SAFE ROWS 100
AS 'MODULE_PATHNAME', 'stepadv_builtin_vocabulary';

COMMENT ON FUNCTION stepadv.builtin_vocabulary() IS
'the tools that action_signature recognizes, one row each; subcommand is '''' if the tool alone determines the meaning';

-- Rows of the extension show the built-in vocabulary; rows of users are
-- configuration, which pg_dump includes.
CREATE TABLE stepadv.tool_vocabulary (
	builtin boolean NOT NULL DEFAULT false,
	scaffold text NOT NULL DEFAULT '',
	tool text NOT NULL CHECK (tool <> ''),
	subcommand text NOT NULL DEFAULT '',
	meaning text NOT NULL CHECK (meaning IN ('shell', 'line', 'view', 'open', 'scroll', 'search', 'replace', 'insert',
	'create',
		'patch', 'code', 'execute', 'test', 'install', 'fileop', 'think', 'finish', 'other')),
	arguments jsonb NOT NULL DEFAULT '{}' CHECK (pg_catalog.jsonb_typeof(arguments) = 'object'),
	PRIMARY KEY (builtin, scaffold, tool, subcommand)
);

INSERT INTO stepadv.tool_vocabulary (builtin, scaffold, tool, subcommand, meaning)
SELECT true, b.scaffold, b.tool, b.subcommand, b.meaning FROM stepadv.builtin_vocabulary() b;

SELECT pg_catalog.pg_extension_config_dump('stepadv.tool_vocabulary', 'WHERE NOT builtin');

GRANT SELECT ON stepadv.tool_vocabulary TO PUBLIC;
-- Objects of a trusted extension are not owned by the user who creates it.
GRANT SELECT, INSERT, UPDATE, DELETE ON stepadv.tool_vocabulary TO @extowner@;

COMMENT ON TABLE stepadv.tool_vocabulary IS
'what tools mean: rows with builtin = true show the compiled-in vocabulary (changing them has no effect), the '
'others are yours and are used through user_vocabulary()';
COMMENT ON COLUMN stepadv.tool_vocabulary.builtin IS
'compiled in; a row of yours goes before a built-in one with the same tool';
COMMENT ON COLUMN stepadv.tool_vocabulary.scaffold IS
'agent scaffold that the tool belongs to, to choose by in user_vocabulary(scaffold)';
COMMENT ON COLUMN stepadv.tool_vocabulary.tool IS 'the tool''s name; case makes no difference';
COMMENT ON COLUMN stepadv.tool_vocabulary.subcommand IS
'value of the argument that chooses what the tool does (command, action, operation or mode; see arguments); '
'empty = any';
COMMENT ON COLUMN stepadv.tool_vocabulary.meaning IS
'shell (runs a command), line (a command that starts with the tool''s name), view, open (100 lines around one), '
'scroll, search, replace, insert, create, patch, code, execute, test, install, fileop, think, finish, other';
COMMENT ON COLUMN stepadv.tool_vocabulary.arguments IS
'names of the tool''s arguments by role, where they are not the usual ones: command, path, old, new, range, '
'first, last, count, subcommand';

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
'the rows of tool_vocabulary added by users (for one scaffold, or all) as the vocabulary argument of '
'action_signature; [] if there are none. Pass it as (SELECT user_vocabulary()), so that it is read once per query';
