/*
 * intercode.c
 *		InterCode's logs: an object of episodes (or one with such an object as logs, beside
 *		meta), each with a query and a turn_history of lists: actions, observations, rewards, valid_action.
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/builtins.h"

#include "compat.h"
#include "import/about.h"
#include "import/names.h"
#include "import/rollout_list.h"

PG_FUNCTION_INFO_V1(stepadv_import_intercode);

typedef struct History
{
	bool		is_list;
	int			n;
	JsonbValue *elements;
} History;

typedef struct Episode
{
	Words		key;
	JsonbValue	json;
	JsonbValue	history;
	Words		environment;
	History		actions;
	History		observations;
	History		rewards;
	History		valid;
} Episode;

static History
list_of(const JsonbValue *history, const char *name)
{
	History		list = {0};
	JsonbValue	value;

	if (json_member(history, name, &value) && json_is_array(&value))
	{
		list.is_list = true;
		list.elements = json_elements(&value, &list.n);
	}
	return list;
}

/* list -> i, or null */
static JsonbValue *
element(const History *list, int i)
{
	static JsonbValue null = {.type = jbvNull};

	return i < list->n ? &list->elements[i] : &null;
}

/* Task ids are those of one file of the data set: the question tells tasks apart. */
static void
push_ids(JsonWriter *state, Episode *episode, Words base)
{
	Words		query = json_member_words(&episode->json, "query");
	char	   *md5;
	StringInfoData id;

	if (query.s == NULL)
		query = episode->key;
	md5 = TextDatumGetCString(DirectFunctionCall1(md5_text, PointerGetDatum(text_of_words(query))));
	initStringInfo(&id);
	appendBinaryStringInfo(&id, episode->environment.s, episode->environment.length);
	appendStringInfo(&id, "-%.10s", md5);
	push_words(state, "group_id", (Words) {id.data, id.len});
	if (base.s == NULL)
		base = digest_of(&episode->history);
	initStringInfo(&id);
	appendBinaryStringInfo(&id, base.s, base.length);
	appendStringInfoChar(&id, '-');
	appendBinaryStringInfo(&id, episode->key.s, episode->key.length);
	push_words(state, "rollout_id", (Words) {id.data, id.len});
}

static void
push_summary(JsonWriter *state, const Episode *episode)
{
	JsonbValue	summary;
	JsonbValue	most = {.type = jbvNull};
	bool		truncated = false;

	if (json_member(&episode->json, "summary", &summary))
	{
		Words		score;

		json_member(&summary, "max_reward", &most);
		score = json_words(&most);
		truncated = score.s != NULL && !(score.length > 0 && score.s[0] == '1') &&
			words_are_same(json_member_words(&summary, "turns_taken"), json_member_words(&summary, "turns_max"));
	}
	push_value(state, "outcome", &most);
	push_boolean(state, "truncated", truncated);
}

static void
push_episode_metadata(JsonWriter *state, const Episode *episode, Words source)
{
	static const char *const names[] = {"environment", "dataset", "task_id", "query", "hardness"};

	push_key(state, "meta");
	push_json(state, WJB_BEGIN_OBJECT, NULL);
	if (source.s != NULL)
		push_words(state, "source", source);
	for (int i = 0; i < lengthof(names); i++)
		push_given(state, names[i], &episode->json, names[i]);
	push_json(state, WJB_END_OBJECT, NULL);
}

static void
push_steps(JsonWriter *state, const Episode *episode)
{
	JsonbValue	null = {.type = jbvNull};
	JsonbValue	query;

	if (!json_member(&episode->json, "query", &query))
		query = null;
	push_key(state, "steps");
	push_json(state, WJB_BEGIN_ARRAY, NULL);
	for (int i = 0; i < episode->actions.n; i++)
	{
		JsonbValue *valid = element(&episode->valid, i);

		push_json(state, WJB_BEGIN_OBJECT, NULL);
		push_integer(state, "turn", i);
		push_value(state, "observation", i == 0 ? &query : element(&episode->observations, i - 1));
		push_value(state, "next_observation", element(&episode->observations, i));
		push_value(state, "action", &episode->actions.elements[i]);
		push_words(state, "tool", episode->environment);
		push_key(state, "args");
		push_json(state, WJB_BEGIN_OBJECT, NULL);
		push_value(state, "command", &episode->actions.elements[i]);
		push_json(state, WJB_END_OBJECT, NULL);
		push_value(state, "ok", valid->type == jbvBool ? valid : &null);
		push_value(state, "reward", element(&episode->rewards, i));
		push_json(state, WJB_END_OBJECT, NULL);
	}
	push_json(state, WJB_END_ARRAY, NULL);
	push_key(state, "repaired");
	push_json(state, WJB_BEGIN_OBJECT, NULL);
	if (episode->actions.n > episode->observations.n)
		push_integer(state, "actions without an observation", episode->actions.n - episode->observations.n);
	push_json(state, WJB_END_OBJECT, NULL);
}

static JsonbValue *
rollout_of(Words key, const JsonbValue *json, Words source, Words base)
{
	JsonWriter state = {0};
	Episode		episode = {key, *json};

	if (json_member(json, "turn_history", &episode.history))
	{
		episode.actions = list_of(&episode.history, "actions");
		episode.observations = list_of(&episode.history, "observations");
		episode.rewards = list_of(&episode.history, "rewards");
		episode.valid = list_of(&episode.history, "valid_action");
	}
	push_json(&state, WJB_BEGIN_OBJECT, NULL);
	if (!episode.actions.is_list)
	{
		char	   *problem = psprintf("episode %.*s has no list turn_history.actions", key.length, key.s);

		push_words(&state, "problem", (Words) {problem, strlen(problem)});
	}
	else
	{
		episode.environment = json_member_words(json, "environment");
		if (episode.environment.s == NULL)
			episode.environment = WORDS("intercode");
		else if (episode.environment.length >= 3 && memcmp(episode.environment.s, "ic_", 3) == 0)
		{
			episode.environment.s += 3;
			episode.environment.length -= 3;
		}
		push_ids(&state, &episode, base);
		push_summary(&state, &episode);
		push_episode_metadata(&state, &episode, source);
		push_steps(&state, &episode);
	}
	return end_json(&state, WJB_END_OBJECT);
}

static Datum
rollouts_of(const JsonbValue *document, Words source)
{
	RolloutList rollouts;
	JsonbIterator *it;
	JsonbIteratorToken token;
	JsonbValue	key;
	JsonbValue	value;
	JsonbValue	logs;
	Words		base = name_of_path(source);

	begin_rollout_list(&rollouts);
	if (json_member(document, "turn_history", &value))
	{
		Words		task = json_member_words(document, "task_id");

		begin_rollout(&rollouts);
		add_rollout(&rollouts, rollout_of(task.s != NULL ? task : WORDS("0"), document, source, base));
	}
	else if (json_is_object(document))
	{
		if (json_member(document, "logs", &logs) && json_is_object(&logs))
			document = &logs;
		it = JsonbIteratorInit(document->val.binary.data);
		while ((token = JsonbIteratorNext(&it, &key, true)) != WJB_DONE)
		{
			if (token != WJB_KEY)
				continue;
			(void) JsonbIteratorNext(&it, &value, true);
			begin_rollout(&rollouts);
			add_rollout(&rollouts, rollout_of(json_words(&key), &value, source, base));
		}
	}
	return end_rollout_list(&rollouts);
}

/* import_intercode(document jsonb, source text): the rollouts, as jsonb[] */
Datum
stepadv_import_intercode(PG_FUNCTION_ARGS)
{
	JsonbValue	document;
	Words		source = NO_WORDS;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	document = json_root(PG_GETARG_JSONB_P(0));
	if (!PG_ARGISNULL(1))
	{
		text	   *path = PG_GETARG_TEXT_PP(1);

		source = (Words) {VARDATA_ANY(path), VARSIZE_ANY_EXHDR(path)};
	}
	PG_RETURN_DATUM(rollouts_of(&document, source));
}
