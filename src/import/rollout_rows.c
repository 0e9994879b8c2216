/*
 * rollout_rows.c
 *		Rollouts whose steps are written as they are read, as rows of a function.
 *
 * The quick way of the importers reads every line or document once, writes its
 * steps, and gives its rollout, which the caller writes.  It is for what gives no
 * occasion to say anything: rollouts whose lines stand together, none of which the
 * tables have, without a value to be doubted or kept elsewhere.  Of all else it
 * knows nothing: it raises an error that is caught, so that nothing has happened,
 * and the long way, which looks at everything before it writes, does the work.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "nodes/execnodes.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "compat.h"
#include "import/rollout_rows.h"
#include "import/row_writer.h"
#include "rows.h"

void
leave_it_to_others(const char *reason)
{
	ereport(ERROR,
			(errcode(MAKE_SQLSTATE('S', 'A', '0', '0', '2')),
			 errmsg_internal("the quick way is left: %s", reason)));
}

/* Which column of a rollout has the name; N_ROLLOUT_COLUMNS: none that says of which run it is. */
static RolloutColumn
column_named(Datum name)
{
	static const char *const names[] = {"task_id", "group_id", "run_id", "policy_version", "policy_step", "tags"};
	char	   *s = TextDatumGetCString(name);

	for (int i = 0; i < lengthof(names); i++)
		if (strcmp(names[i], s) == 0)
			return ROLLOUT_TASK_ID + i;
	return N_ROLLOUT_COLUMNS;
}

static void
read_keys(RolloutRows *to, ArrayType *keys, ArrayType *otherwise)
{
	Datum	   *names;
	Datum	   *values;
	bool	   *nulls;
	int			n;

	deconstruct_array(keys, TEXTOID, -1, false, TYPALIGN_INT, &names, NULL, &to->n_keys);
	deconstruct_array(otherwise, TEXTOID, -1, false, TYPALIGN_INT, &values, &nulls, &n);
	if (to->n_keys > MAX_ROLLOUT_KEYS || n != to->n_keys)
		leave_it_to_others("other columns of the group");
	for (int i = 0; i < n; i++)
	{
		to->key_names[i] = TextDatumGetCString(names[i]);
		to->keys[i] = column_named(names[i]);
		if (to->keys[i] > ROLLOUT_POLICY_VERSION)
			leave_it_to_others("a column of the group of the user's own");
		to->otherwise[i] = nulls[i] ? 0 : values[i];
	}
	to->key_names[n] = "rollout_id";
}

void
begin_rollouts(RolloutRows *to, FunctionCallInfo fcinfo)
{
	Datum	   *lacking;
	int			n_lacking;

	for (int i = 0; i < 5; i++)
		if (PG_ARGISNULL(i))
			leave_it_to_others("an argument is NULL");
	memset(to, 0, sizeof(RolloutRows));
	to->rows = begin_rows(fcinfo, N_ROLLOUT_COLUMNS);
	to->desc = ((ReturnSetInfo *) fcinfo->resultinfo)->expectedDesc;
	read_keys(to, PG_GETARG_ARRAYTYPE_P(2), PG_GETARG_ARRAYTYPE_P(3));
	deconstruct_array(PG_GETARG_ARRAYTYPE_P(4), TEXTOID, -1, false, TYPALIGN_INT, &lacking, NULL, &n_lacking);
	for (int i = 0; i < n_lacking; i++)
	{
		RolloutColumn column = column_named(lacking[i]);

		if (column == N_ROLLOUT_COLUMNS)
			elog(ERROR, "unknown column \"%s\"", TextDatumGetCString(lacking[i]));
		to->lacks[column] = true;
	}
	for (int i = 0; i < 3; i++)
		to->given[ROLLOUT_RUN_ID + i] = PG_ARGISNULL(5 + i) ? 0 : i < 2 ? PointerGetDatum(PG_GETARG_TEXT_PP(5 + i)) : PG_GETARG_DATUM(7);
	if (!inserts_rollouts_as_they_are(PG_GETARG_OID(1)))
		leave_it_to_others("a trigger or rule on rollouts");
	clear_rollout(to);
}

void
clear_rollout(RolloutRows *to)
{
	memset(to->nulls, true, sizeof(to->nulls));
}

static bool
are_same_texts(Datum a, Datum b)
{
	text	   *x = DatumGetTextPP(a);
	text	   *y = DatumGetTextPP(b);

	return VARSIZE_ANY_EXHDR(x) == VARSIZE_ANY_EXHDR(y) && memcmp(VARDATA_ANY(x), VARDATA_ANY(y), VARSIZE_ANY_EXHDR(x)) == 0;
}

/* Of a group and a task that are one thing, one column is enough. */
static bool
has_column_for_all(const RolloutRows *to, const Datum *values, const bool *nulls)
{
	for (int c = ROLLOUT_RUN_ID; c <= ROLLOUT_TAGS; c++)
		if (to->lacks[c] && !nulls[c])
			return false;
	return (!to->lacks[ROLLOUT_TASK_ID] && !to->lacks[ROLLOUT_GROUP_ID]) || nulls[ROLLOUT_TASK_ID] || nulls[ROLLOUT_GROUP_ID] ||
		are_same_texts(values[ROLLOUT_TASK_ID], values[ROLLOUT_GROUP_ID]);
}

void
keys_of_rollout(const RolloutRows *to, const Datum *values, const bool *nulls, Datum *keys)
{
	if (!has_column_for_all(to, values, nulls))
		leave_it_to_others("what has no column of its own");
	for (int i = 0; i < to->n_keys; i++)
	{
		RolloutColumn column = to->keys[i];

		/* A task is what many call a group. */
		if (nulls[column] && column <= ROLLOUT_GROUP_ID)
			column = column == ROLLOUT_TASK_ID ? ROLLOUT_GROUP_ID : ROLLOUT_TASK_ID;
		keys[i] = nulls[column] ? to->otherwise[i] : values[column];
		if (keys[i] == 0)
			leave_it_to_others("a column of the group is not given");
	}
	keys[to->n_keys] = values[ROLLOUT_ID];
}

void
give_rollout(RolloutRows *to, Datum *keys, StepCounts counts)
{
	set_rollout(to, ROLLOUT_N_ACTIONS, Int64GetDatum(counts.actions));
	set_rollout(to, ROLLOUT_N_STATES, Int64GetDatum(counts.states));
	set_rollout(to, ROLLOUT_N_TOKENS, Int64GetDatum(counts.tokens));
	for (int c = ROLLOUT_RUN_ID; c <= ROLLOUT_POLICY_STEP; c++)
		if (to->nulls[c] && to->given[c] != 0)
			set_rollout(to, c, to->given[c]);
	set_rollout(to, ROLLOUT_KEYS, PointerGetDatum(construct_array(keys, to->n_keys, TEXTOID, -1, false, TYPALIGN_INT)));
	tuplestore_putvalues(to->rows, to->desc, to->values, to->nulls);
	to->n_rollouts++;
}
