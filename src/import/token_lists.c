/*
 * token_lists.c
 *		Arrays of tokens of a record, by the names that trainers use.
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/numeric.h"

#include "compat.h"
#include "import/token_lists.h"

PG_FUNCTION_INFO_V1(stepadv_import_tokens);

/* Of each column, its own name first. */
static const char *const token_list_names[] = {
	"prompt_token_ids", "prompt_ids", "prompts",
	"response_token_ids", "response_ids", "responses", "completion_ids",
	"response_mask", "completion_mask", "loss_mask",
	"rollout_logprobs", "rollout_log_probs", "response_logprobs", "completion_logprobs"};
static const int n_names[] = {3, 4, 3, 4};

static bool
is_number(const JsonbValue *value, Datum number)
{
	return value->type == jbvNumeric && DatumGetBool(DirectFunctionCall2(numeric_eq, NumericGetDatum(value->val.numeric), number));
}

static void
make_truths(JsonbValue *elements, int n)
{
	Datum		zero = DirectFunctionCall1(int4_numeric, Int32GetDatum(0));
	Datum		one = DirectFunctionCall1(int4_numeric, Int32GetDatum(1));

	for (int i = 0; i < n; i++)
		if (is_number(&elements[i], one))
			elements[i] = (JsonbValue) {.type = jbvBool, .val.boolean = true};
		else if (is_number(&elements[i], zero))
			elements[i] = (JsonbValue) {.type = jbvBool, .val.boolean = false};
}

TokenLists
read_token_lists(const JsonbValue *record)
{
	TokenLists	lists = {0};
	const char *const *name = token_list_names;

	for (int k = 0; k < N_TOKEN_LISTS; k++)
		for (int i = 0; i < n_names[k]; i++, name++)
		{
			JsonbValue	list;

			if (lists.elements[k] == NULL && json_member(record, *name, &list) && json_is_array(&list))
				lists.elements[k] = json_elements(&list, &lists.n[k]);
		}
	make_truths(lists.elements[RESPONSE_MASK], lists.n[RESPONSE_MASK]);
	return lists;
}

static void
push_elements(JsonWriter *state, const TokenLists *lists, TokenList k, int first, int end)
{
	for (int i = first; i < Min(end, lists->n[k]); i++)
		push_json(state, WJB_ELEM, &lists->elements[k][i]);
}

static const char *
name_of_list(TokenList k)
{
	const char *const *name = token_list_names;

	for (int i = 0; i < (int) k; i++)
		name += n_names[i];
	return *name;
}

static void
begin_list(JsonWriter *state, TokenList k)
{
	push_key(state, name_of_list(k));
	push_json(state, WJB_BEGIN_ARRAY, NULL);
}

void
push_token_lists(JsonWriter *state, const TokenLists *lists)
{
	for (int k = 0; k < N_TOKEN_LISTS; k++)
		if (lists->elements[k] != NULL)
		{
			begin_list(state, k);
			push_elements(state, lists, k, 0, lists->n[k]);
			push_json(state, WJB_END_ARRAY, NULL);
		}
}

static bool
is_own(const TokenLists *lists, int i)
{
	const JsonbValue *truth = &lists->elements[RESPONSE_MASK][i];

	return truth->type == jbvBool && truth->val.boolean;
}

bool
next_token_run(const TokenLists *lists, int *first, int *end)
{
	int			n = lists->n[RESPONSE_MASK];
	int			i = *end;

	while (i < n && !is_own(lists, i))
		i++;
	*first = i;
	while (i < n && is_own(lists, i))
		i++;
	*end = i;
	return *first < n;
}

int
count_token_runs(const TokenLists *lists)
{
	int			first = 0;
	int			end = 0;
	int			n = 0;

	while (next_token_run(lists, &first, &end))
		n++;
	return n;
}

void
push_token_run(JsonWriter *state, const TokenLists *lists, int first, int end)
{
	if (lists->elements[PROMPT_TOKENS] != NULL)
	{
		begin_list(state, PROMPT_TOKENS);
		push_elements(state, lists, PROMPT_TOKENS, 0, lists->n[PROMPT_TOKENS]);
		push_elements(state, lists, RESPONSE_TOKENS, 0, first);
		push_json(state, WJB_END_ARRAY, NULL);
	}
	for (int k = RESPONSE_TOKENS; k < N_TOKEN_LISTS; k++)
	{
		begin_list(state, k);
		push_elements(state, lists, k, first, end);
		push_json(state, WJB_END_ARRAY, NULL);
	}
}

/* import_tokens(record jsonb) */
Datum
stepadv_import_tokens(PG_FUNCTION_ARGS)
{
	JsonWriter	state = {0};
	JsonbValue	record = json_root(PG_GETARG_JSONB_P(0));
	TokenLists	lists = read_token_lists(&record);

	push_json(&state, WJB_BEGIN_OBJECT, NULL);
	push_token_lists(&state, &lists);
	PG_RETURN_JSONB_P(JsonbValueToJsonb(end_json(&state, WJB_END_OBJECT)));
}
