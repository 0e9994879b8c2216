/*
 * chat.c
 *		Documents of OpenAI chat messages: a list of messages, an object with messages
 *		or traj, or a list of such (results of tau-bench).
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/builtins.h"

#include "compat.h"
#include "import/about.h"
#include "import/messages.h"
#include "import/names.h"
#include "import/rollout_list.h"

PG_FUNCTION_INFO_V1(stepadv_import_openai_chat);

/* What is no metadata. */
static const char *const used[] = {"traj", "messages", "reward", "outcome", "score", "success", "truncated", "model", "policy_version", "run_id", "policy_step", NULL};

/* The first of the members that there is. */
static Words
first_member(const JsonbValue *record, const char *const *names)
{
	Words		words = NO_WORDS;

	for (; *names != NULL && words.s == NULL; names++)
		words = json_member_words(record, *names);
	return words;
}

/* Without an id of its own, a task is its prompt: what comes before the model's first word. */
static Words
digest_of_prompt(JsonbValue *messages, int n)
{
	JsonWriter state = {0};
	int			n_before = 0;

	while (n_before < n && !is_of_model(&messages[n_before]))
		n_before++;
	if (n_before == 0)
		return NO_WORDS;
	push_json(&state, WJB_BEGIN_ARRAY, NULL);
	for (int i = 0; i < n_before; i++)
		push_json(&state, WJB_ELEM, &messages[i]);
	return digest_of(end_json(&state, WJB_END_ARRAY));
}

static void
push_ids(JsonWriter *state, const JsonbValue *record, JsonbValue *list, JsonbValue *messages, int n)
{
	static const char *const of_group[] = {"group_id", "task_id", "instance_id", NULL};
	static const char *const of_trial[] = {"trial", "trial_id", "_ng_rollout_index", "rollout_index", "sample_index", "attempt", NULL};
	static const char *const of_rollout[] = {"rollout_id", "uuid", "session_id", NULL};
	Words		own = first_member(record, of_group);
	Words		group = own.s != NULL ? own : digest_of_prompt(messages, n);
	Words		trial = first_member(record, of_trial);
	Words		rollout = NO_WORDS;

	push_words(state, "group_id", group);
	if (group.s != NULL && trial.s != NULL)
	{
		rollout.s = psprintf("%.*s-t%.*s", group.length, group.s, trial.length, trial.s);
		rollout.length = strlen(rollout.s);
	}
	if (rollout.s == NULL)
		rollout = first_member(record, of_rollout);
	if (rollout.s == NULL && own.s != NULL)
		rollout = json_member_words(record, "id");
	push_words(state, "rollout_id", rollout.s != NULL ? rollout : digest_of(list));
}

static JsonbValue *
rollout_of(const JsonbValue *record, int number, Words source)
{
	JsonWriter state = {0};
	JsonbValue	list;
	JsonbValue *messages;
	int			n;
	Conversation talk = {0};
	KeptMessages kept;

	push_json(&state, WJB_BEGIN_OBJECT, NULL);
	if (!(json_member(record, "traj", &list) && json_is_array(&list)) && !(json_member(record, "messages", &list) && json_is_array(&list)))
	{
		char	   *problem = psprintf("record %d has no list of messages (traj or messages)", number);

		push_words(&state, "problem", (Words) {problem, strlen(problem)});
		return end_json(&state, WJB_END_OBJECT);
	}
	messages = json_elements(&list, &n);
	hear_and_keep(&talk, messages, n, &kept);
	push_about(&state, record, NULL);
	push_ids(&state, record, &list, messages, n);
	push_metadata(&state, record, source, &kept, used);
	push_conversation(&state, &talk);
	return end_json(&state, WJB_END_OBJECT);
}

/* A list of messages as a record of its own. */
static JsonbValue
record_of_messages(JsonbValue *messages)
{
	JsonWriter state = {0};

	push_json(&state, WJB_BEGIN_OBJECT, NULL);
	push_value(&state, "messages", messages);
	return json_root(JsonbValueToJsonb(end_json(&state, WJB_END_OBJECT)));
}

static JsonbValue *
records_of(JsonbValue *document, int *n)
{
	JsonbValue *records;
	JsonbValue	member;

	if (json_is_array(document))
	{
		records = json_elements(document, n);
		if (*n == 0 || !json_member(&records[0], "role", &member))
			return records;
		records[0] = record_of_messages(document);
	}
	else if (json_member(document, "simulations", &member) && json_is_array(&member))
		return json_elements(&member, n);
	else
		records = document;
	*n = 1;
	return records;
}

/* import_openai_chat(document jsonb, source text): the rollouts, as jsonb[] */
Datum
stepadv_import_openai_chat(PG_FUNCTION_ARGS)
{
	RolloutList rollouts;
	JsonbValue	document = {.type = jbvNull};
	JsonbValue *records;
	Words		source = NO_WORDS;
	int			n;

	if (!PG_ARGISNULL(0))
		document = json_root(PG_GETARG_JSONB_P(0));
	if (!PG_ARGISNULL(1))
	{
		text	   *path = PG_GETARG_TEXT_PP(1);

		source = (Words) {VARDATA_ANY(path), VARSIZE_ANY_EXHDR(path)};
	}
	records = records_of(&document, &n);
	begin_rollout_list(&rollouts);
	for (int i = 0; i < n; i++)
	{
		begin_rollout(&rollouts);
		add_rollout(&rollouts, rollout_of(&records[i], i + 1, source));
	}
	PG_RETURN_DATUM(end_rollout_list(&rollouts));
}
