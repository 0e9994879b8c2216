/*
 * verl.c
 *		Lines of verl's rollout dumps (input, output, score, step): one step each, or
 *		where the output calls tools one for each call and each answer; with arrays of
 *		tokens, if there are some.
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/builtins.h"

#include "compat.h"
#include "import/about.h"
#include "import/names.h"
#include "import/token_lists.h"
#include "import/verl_talk.h"

PG_FUNCTION_INFO_V1(stepadv_import_verl);

/* What is no metadata. */
static const char *const used[] = {"input", "output", "score", "reward", "step", "request_id", "success", "model",
	"prompt_ids", "response_ids", "prompts", "responses", "prompt_token_ids", "response_token_ids", "response_mask", "loss_mask",
"rollout_log_probs", "rollout_logprobs", "response_logprobs", NULL};

static Words
joined(Words a, const char *separator, Words b)
{
	StringInfoData both;

	initStringInfo(&both);
	if (a.s != NULL)
		appendBinaryStringInfo(&both, a.s, a.length);
	if (a.s != NULL && b.s != NULL)
		appendStringInfoString(&both, separator);
	if (b.s != NULL)
		appendBinaryStringInfo(&both, b.s, b.length);
	return (Words) {both.data, both.len};
}

static void
push_step(JsonWriter *state, JsonbValue *input, JsonbValue *output, JsonbValue *score, const TokenLists *tokens)
{
	push_key(state, "steps");
	push_json(state, WJB_BEGIN_ARRAY, NULL);
	push_json(state, WJB_BEGIN_OBJECT, NULL);
	push_integer(state, "turn", 0);
	push_value(state, "observation", input);
	push_value(state, "action", output);
	push_value(state, "reward", score);
	push_token_lists(state, tokens);
	push_json(state, WJB_END_OBJECT, NULL);
	push_json(state, WJB_END_ARRAY, NULL);
}

static int
count_turns(const JsonbValue *steps, int n)
{
	int			n_turns = 0;

	for (int i = 0; i < n; i++)
		n_turns += i == 0 || !words_are_same(json_member_words(&steps[i], "turn"), json_member_words(&steps[i - 1], "turn"));
	return n_turns;
}

static void
push_members(JsonWriter *state, const JsonbValue *object)
{
	JsonbIterator *it = JsonbIteratorInit(object->val.binary.data);
	JsonbIteratorToken token;
	JsonbValue	value;

	while ((token = JsonbIteratorNext(&it, &value, true)) != WJB_DONE)
		if (token == WJB_KEY || token == WJB_VALUE)
			push_json(state, token, &value);
}

/*
 * Steps of a conversation.  The score is the last one's reward.  The tokens of turns are
 * the runs of true in the mask, if there are as many: the first step of each has them.
 */
static void
push_conversation_steps(JsonWriter *state, Conversation *talk, JsonbValue *score, const TokenLists *tokens)
{
	JsonbValue	whole = json_root(steps_of_conversation(talk));
	int			n;
	JsonbValue *steps = json_elements(&whole, &n);
	bool		is_told = count_token_runs(tokens) == count_turns(steps, n);
	int			first = 0;
	int			end = 0;

	push_key(state, "steps");
	push_json(state, WJB_BEGIN_ARRAY, NULL);
	for (int i = 0; i < n; i++)
	{
		push_json(state, WJB_BEGIN_OBJECT, NULL);
		push_members(state, &steps[i]);
		if (i == n - 1)
			push_value(state, "reward", score);
		if (is_told && (i == 0 || count_turns(&steps[i - 1], 2) == 2) && next_token_run(tokens, &first, &end))
			push_token_run(state, tokens, first, end);
		push_json(state, WJB_END_OBJECT, NULL);
	}
	push_json(state, WJB_END_ARRAY, NULL);
	if (tokens->elements[RESPONSE_TOKENS] != NULL && !is_told)
		note_repaired(talk, WORDS("tokens that no turn tells apart"));
	push_conversation_counts(state, talk);
}

static void
push_ids(JsonWriter *state, const JsonbValue *document, JsonbValue *input, Words source, const int64 *n)
{
	Words		task = digest_of(input);
	Words		step = json_member_words(document, "step");
	Words		uid = json_member_words(document, "uid");
	Words		request = json_member_words(document, "request_id");
	Words		line = NO_WORDS;

	push_words(state, "task_id", task);
	/* Prompts come again in later steps of the training, under another policy. */
	push_words(state, "group_id", joined(step.s != NULL ? joined(WORDS("step"), "", step) : step, "/", uid.s != NULL ? uid : task));
	if (n != NULL)
	{
		line.s = psprintf(INT64_FORMAT, *n);
		line.length = strlen(line.s);
	}
	push_words(state, "rollout_id", request.s != NULL ? request : joined(name_of_path(source), ":", line));
}

/* import_verl(document jsonb, source text, n bigint): the one rollout */
Datum
stepadv_import_verl(PG_FUNCTION_ARGS)
{
	JsonWriter state = {0};
	JsonbValue	document;
	JsonbValue	input;
	JsonbValue	output;
	JsonbValue	score;
	JsonbValue	value;
	Words		source = NO_WORDS;
	int64		n = PG_ARGISNULL(2) ? 0 : PG_GETARG_INT64(2);
	TokenLists	tokens;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	document = json_root(PG_GETARG_JSONB_P(0));
	if (!PG_ARGISNULL(1))
	{
		text	   *path = PG_GETARG_TEXT_PP(1);

		source = (Words) {VARDATA_ANY(path), VARSIZE_ANY_EXHDR(path)};
	}
	push_json(&state, WJB_BEGIN_OBJECT, NULL);
	if (!json_member(&document, "input", &input) || input.type != jbvString || !json_member(&document, "output", &output) || output.type != jbvString)
	{
		push_words(&state, "problem", WORDS("input and output must be given"));
		PG_RETURN_JSONB_P(JsonbValueToJsonb(end_json(&state, WJB_END_OBJECT)));
	}
	if (!json_member(&document, "score", &score) && !json_member(&document, "reward", &score))
		score.type = jbvNull;
	push_about(&state, &document, &score);
	push_given(&state, "policy_version", &document, "step");
	if (json_member(&document, "step", &value) && value.type == jbvNumeric)
		push_value(&state, "policy_step", &value);
	if (json_member(&document, "acc", &value) && value.type == jbvBool)
		push_value(&state, "success", &value);
	push_ids(&state, &document, &input, source, PG_ARGISNULL(2) ? NULL : &n);
	push_metadata(&state, &document, source, NULL, used);
	tokens = read_token_lists(&document);
	if (strstr(pnstrdup(output.val.string.val, output.val.string.len), CALL_BEGIN) == NULL)
		push_step(&state, &input, &output, &score, &tokens);
	else
	{
		Conversation talk = {0};

		hear_verl(&talk, json_words(&input), json_words(&output));
		push_conversation_steps(&state, &talk, &score, &tokens);
	}
	PG_RETURN_JSONB_P(JsonbValueToJsonb(end_json(&state, WJB_END_OBJECT)));
}
