-- Verifiable rewards of MT-GRPO: src/rewards/rewards.c, markup.c
-- messages: the assistant's, in order; replies: the reply to each, NULL if there was none.
-- Case is converted by Unicode's rules, regardless of the collation of the arguments.

CREATE FUNCTION stepadv.reward_tool_execution(messages text[], replies text[], tool_tag text DEFAULT 'tool',
	result_tag text DEFAULT 'result', error_prefix text DEFAULT 'Error:', weight float8 DEFAULT 0.2) RETURNS float8
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 100
AS 'MODULE_PATHNAME', 'stepadv_reward_tool_execution';
COMMENT ON FUNCTION stepadv.reward_tool_execution(text[], text[], text, text, text, float8) IS
'MT-GRPO turn reward: weight times the share of tool calls (messages with a <tool> field and a reply) whose reply '
'has a <result> field that does not begin with error_prefix (empty: any result counts); 0 without tool calls; NULL '
'elements: no message, no reply; NULL for a NULL argument';

CREATE FUNCTION stepadv.reward_answer_in_results(messages text[], replies text[], answers text[],
	tool_tag text DEFAULT 'tool',
	result_tag text DEFAULT 'result', weight float8 DEFAULT 0.5) RETURNS float8
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 100
AS 'MODULE_PATHNAME', 'stepadv_reward_answer_in_results';
COMMENT ON FUNCTION stepadv.reward_answer_in_results(text[], text[], text[], text, text, float8) IS
'MT-GRPO turn reward: weight if the first <result> that replied to a message with a <tool> field contains an '
'accepted answer, in lower case by Unicode, else 0; NULL answers accept nothing; NULL for a NULL '
'argument';

CREATE FUNCTION stepadv.reward_answer_present(messages text[], answers text[], answer_tag text DEFAULT 'answer',
	weight float8 DEFAULT 0.5) RETURNS float8
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 100
AS 'MODULE_PATHNAME', 'stepadv_reward_answer_present';
COMMENT ON FUNCTION stepadv.reward_answer_present(text[], text[], text, float8) IS
'MT-GRPO outcome reward: weight if the <answer> field of the last message that has one contains an accepted answer, '
'in lower case by Unicode, else 0; NULL for a NULL argument';

CREATE FUNCTION stepadv.reward_exact_match(messages text[], answers text[], answer_tag text DEFAULT 'answer',
	weight float8 DEFAULT 1.0) RETURNS float8
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 100
AS 'MODULE_PATHNAME', 'stepadv_reward_exact_match';
COMMENT ON FUNCTION stepadv.reward_exact_match(text[], text[], text, float8) IS
'MT-GRPO outcome reward: weight if the <answer> field of the last message that has one equals an accepted answer, '
'ignoring case (as in Python, in any locale) and surrounding white space, else 0; NULL for a NULL argument';

CREATE FUNCTION stepadv.reward_xml_format(messages text[], fields text[] DEFAULT '{reasoning,tool|answer}',
	spacing text DEFAULT 'always', weight float8 DEFAULT 0.2, convention text DEFAULT 'code') RETURNS float8
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 100
AS 'MODULE_PATHNAME', 'stepadv_reward_xml_format';
COMMENT ON FUNCTION stepadv.reward_xml_format(text[], text[], text, float8, text) IS
'MT-GRPO outcome reward: weight times the mean over messages of 0.4 x share of fields with a tag, + 0.2 spacing, '
'+ 0.2 if it begins with a tag of the first field, + 0.2 if it ends with one of the last; fields: alternatives '
'separated by |; convention: the ''paper'' or its ''code''; 0 without messages';

CREATE FUNCTION stepadv.reward_xml_tags(messages text[], fields text[] DEFAULT '{reasoning,tool|answer}',
	weight float8 DEFAULT 0.2, convention text DEFAULT 'code') RETURNS float8
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 100
AS 'MODULE_PATHNAME', 'stepadv_reward_xml_tags';
COMMENT ON FUNCTION stepadv.reward_xml_tags(text[], text[], float8, text) IS
'MT-GRPO outcome reward: weight times the mean over messages, at least 0, of how well each used tag opens and closes '
'exactly once; convention ''paper'': the share of the used tags that do, or its ''code''; 0 without messages; NULL '
'for a NULL argument';
