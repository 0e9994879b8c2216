
-- States from observations: src/signatures/{normalise_observation,observation,cluster,sequence_matcher}.c

CREATE FUNCTION stepadv.normalise_observation(
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
AS 'MODULE_PATHNAME', 'stepadv_normalise_observation';

COMMENT ON FUNCTION stepadv.normalise_observation(text, boolean, boolean, boolean, boolean, boolean, boolean, text) IS
'an observation without text that differs from run to run: whitespace (runs become one blank), ansi (terminal '
'escapes), lowercase (ASCII), digits (runs become 0), addresses (0x… becomes <address>), timestamps (<time>, '
'<duration>), root (a directory at the start of paths); NULL for NULL';

CREATE FUNCTION stepadv.text_similarity(a text, b text) RETURNS float8
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1000
AS 'MODULE_PATHNAME', 'stepadv_text_similarity';

COMMENT ON FUNCTION stepadv.text_similarity(text, text) IS
'similarity of two texts by characters, 0 to 1: 2 * matching / (length(a) + length(b)), as SequenceMatcher(None, a, '
'b).ratio() of Python''s difflib (not symmetric); 1 for two empty texts; NULL for NULL';

CREATE FUNCTION stepadv.state_cluster(observation text, threshold float8 DEFAULT 0.95)
RETURNS bigint
LANGUAGE c WINDOW IMMUTABLE PARALLEL SAFE COST 10000
AS 'MODULE_PATHNAME', 'stepadv_state_cluster_text';

COMMENT ON FUNCTION stepadv.state_cluster(text, float8) IS
'window function: number (from 1) of the text''s cluster in the partition; in the window''s order each row joins '
'the first cluster for whose first member text_similarity(text, member) is at least threshold (0 to 1), or '
'begins one (GiGPO''s similarity grouping); NULL for NULL';
