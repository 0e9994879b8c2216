/*
 * about.c
 *		What records of all formats say of a rollout, and whether a rollout in our
 *		words can be loaded as it is.
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/numeric.h"

#include "compat.h"
#include "import/about.h"

PG_FUNCTION_INFO_V1(stepadv_import_about);
PG_FUNCTION_INFO_V1(stepadv_import_is_plain);

static bool
given(const JsonbValue *record, const char *name, JsonbValue *value)
{
	return json_member(record, name, value) && value->type != jbvNull;
}

void
push_given(JsonWriter *state, const char *key, const JsonbValue *record, const char *name)
{
	JsonbValue	value;

	if (given(record, name, &value))
		push_value(state, key, &value);
}

static void
push_outcome(JsonWriter *state, const JsonbValue *record, const JsonbValue *score)
{
	JsonbValue	outcome;
	JsonbValue	info;

	if (score != NULL && score->type != jbvNull)
		outcome = *score;
	else if (score == NULL && (given(record, "reward", &outcome) || given(record, "score", &outcome)))
		 /* found */ ;
	else if (!given(record, "outcome", &outcome) &&
			 !(json_member(record, "reward_info", &info) && given(&info, "reward", &outcome)))
		return;
	push_value(state, "outcome", &outcome);
}

void
push_about(JsonWriter *state, const JsonbValue *record, const JsonbValue *score)
{
	static const char *const names[] = {"policy_version", "run_id", "policy_step"};
	JsonbValue	value;

	push_outcome(state, record, score);
	if ((json_member(record, "success", &value) && value.type == jbvBool) || (json_member(record, "resolved", &value) && value.type == jbvBool))
		push_value(state, "success", &value);
	if (json_member(record, "truncated", &value) && value.type == jbvBool)
		push_value(state, "truncated", &value);
	if (json_member(record, "model", &value) && value.type == jbvString && value.val.string.len > 0)
		push_value(state, "model", &value);
	for (int i = 0; i < lengthof(names); i++)
		if (json_member(record, names[i], &value) && (value.type == jbvNumeric || (value.type == jbvString && i < 2)))
			push_value(state, names[i], &value);
}

void
push_metadata(JsonWriter *state, const JsonbValue *record, Words source, const KeptMessages *kept,
			  const char *const *used)
{
	JsonbIterator *it;
	JsonbIteratorToken token = WJB_DONE;
	JsonbValue	key;
	JsonbValue	value;
	bool		any = source.s != NULL;

	push_key(state, "meta");
	push_json(state, WJB_BEGIN_OBJECT, NULL);
	if (source.s != NULL)
		push_words(state, "source", source);
	if (kept != NULL)
		any |= push_kept_messages(state, kept);
	if (json_is_object(record))
	{
		it = JsonbIteratorInit(record->val.binary.data);
		token = JsonbIteratorNext(&it, &key, true);
	}
	for (; token != WJB_DONE; token = JsonbIteratorNext(&it, &key, true))
	{
		if (token != WJB_KEY)
			continue;
		(void) JsonbIteratorNext(&it, &value, true);
		if (words_are_one_of(json_words(&key), used))
			continue;
		push_json(state, WJB_KEY, &key);
		push_json(state, WJB_VALUE, &value);
		any = true;
	}
	push_json(state, WJB_END_OBJECT, NULL);
	/* Of two members with one key the later counts. */
	if (!any)
		push_words(state, "meta", NO_WORDS);
}

/* import_about(record jsonb) */
Datum
stepadv_import_about(PG_FUNCTION_ARGS)
{
	JsonWriter state = {0};
	JsonbValue	record = json_root(PG_GETARG_JSONB_P(0));

	push_json(&state, WJB_BEGIN_OBJECT, NULL);
	push_about(&state, &record, NULL);
	PG_RETURN_JSONB_P(JsonbValueToJsonb(end_json(&state, WJB_END_OBJECT)));
}

/* ----------
 * Whether import_problem can have nothing to say
 * ----------
 */

typedef enum Wanted
{
	NOTHING,					/* nor null */
	NAME,						/* string, number or null */
	STRING,
	NUMBER,
	WHOLE_NUMBER,
	TRUTH,
	CHANNEL,
	LATER						/* or null: it is looked at when it is read, or not plain */
} Wanted;

typedef struct Member
{
	const char *name;
	Wanted		wanted;
	int			most_digits;
} Member;

static const Member of_rollout[] = {
	{"problem", NOTHING}, {"started_at", LATER}, {"ended_at", LATER}, {"task_id", NAME}, {"run_id", NAME}, {"policy_step", WHOLE_NUMBER, 18},
	{"outcome", NUMBER}, {"success", TRUTH}, {"truncated", TRUTH}, {"channel", CHANNEL}
};

static const Member of_step[] = {
	{"reward", NUMBER}, {"turn_reward", NUMBER}, {"value", NUMBER}, {"ok", TRUTH}, {"tool", STRING}, {"turn", WHOLE_NUMBER, 9}, {"cost", NOTHING}, {"step_no", NOTHING},
	{"prompt_token_ids", LATER}, {"response_token_ids", LATER}, {"response_mask", LATER}, {"rollout_logprobs", LATER}
};

static bool
is_wanted(const JsonbValue *value, const Member *member, bool is_read_later)
{
	Words		digits;

	if (member->wanted == NOTHING)
		return false;
	if (value->type == jbvNull)
		return true;
	switch (member->wanted)
	{
		case LATER:
			return is_read_later;
		case NAME:
			return value->type == jbvString || value->type == jbvNumeric;
		case STRING:
			return value->type == jbvString;
		case TRUTH:
			return value->type == jbvBool;
		case CHANNEL:
			return value->type == jbvString && (words_are(json_words(value), "train") || words_are(json_words(value), "validation"));
		default:
			if (value->type != jbvNumeric)
				return false;
			digits = json_words(value);
			/* Below 1e300, as it is written out. */
			if (member->wanted == NUMBER)
				return digits.length < 300;
			return digits.length <= member->most_digits && strspn(digits.s, "-0123456789") == digits.length;
	}
}

static bool
are_wanted(const JsonbValue *object, const Member *members, int n, bool is_read_later)
{
	JsonbValue	value;

	if (!json_is_object(object))
		return false;
	for (int i = 0; i < n; i++)
		if (json_member(object, members[i].name, &value) && !is_wanted(&value, &members[i], is_read_later))
			return false;
	return true;
}

static bool
is_name(const JsonbValue *rollout, const char *key, const char *otherwise)
{
	JsonbValue	value;

	if (!json_member(rollout, key, &value) && !(otherwise != NULL && json_member(rollout, otherwise, &value)))
		return false;
	return value.type == jbvString || value.type == jbvNumeric;
}

bool
is_plain_rollout(const JsonbValue *rollout, bool is_read_later)
{
	JsonbValue	steps;
	JsonbValue *list;
	int			n;

	if (!are_wanted(rollout, of_rollout, lengthof(of_rollout), is_read_later) || !is_name(rollout, "group_id", "task_id") || !is_name(rollout, "rollout_id", NULL))
		return false;
	if (!json_member(rollout, "steps", &steps) || !json_is_array(&steps))
		return false;
	list = json_elements(&steps, &n);
	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!are_wanted(&list[i], of_step, lengthof(of_step), is_read_later))
			return false;
	}
	return true;
}

/*
 * import_is_plain(rollout jsonb): true only where import_problem gives NULL.  What
 * is rare (times, tokens, costs, numbers of steps) is left to it.
 */
Datum
stepadv_import_is_plain(PG_FUNCTION_ARGS)
{
	JsonbValue	rollout = json_root(PG_GETARG_JSONB_P(0));

	PG_RETURN_BOOL(is_plain_rollout(&rollout, false));
}
