/*
 * write_documents.c
 *		Rollouts in our words straight into the canonical table of steps: the quick
 *		way of import_rollouts (see rollout_rows.c).
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "import/about.h"
#include "import/json_read.h"
#include "import/rollout_rows.h"
#include "import/write_steps.h"

PG_FUNCTION_INFO_V1(stepadv_write_documents);

typedef struct DocumentReceiver
{
	DestReceiver receiver;
	RolloutRows rollouts;
	SaidSteps	steps;
	Words		group_prefix;
	float8		success_at;
	bool		keeps_group;	/* beside a task */
	MemoryContext rollout;
} DocumentReceiver;

/* Where a rollout has the text under its own name. */
static const struct
{
	const char *name;
	RolloutColumn to;
}			texts[] = {
	{"run_id", ROLLOUT_RUN_ID}, {"policy_version", ROLLOUT_POLICY_VERSION}, {"model", ROLLOUT_MODEL}, {"channel", ROLLOUT_CHANNEL}, {"curation", ROLLOUT_CURATION}
};

static void
set_words(DocumentReceiver *to, RolloutColumn column, Words prefix, Words words)
{
	struct varlena *both;

	if (words.s == NULL)
		return;
	both = palloc(VARHDRSZ + prefix.length + words.length);
	SET_VARSIZE(both, VARHDRSZ + prefix.length + words.length);
	memcpy(VARDATA(both), prefix.s, prefix.length);
	memcpy(VARDATA(both) + prefix.length, words.s, words.length);
	set_rollout(&to->rollouts, column, PointerGetDatum(both));
}

static void
set_names(DocumentReceiver *to, const JsonbValue *rollout)
{
	Words		task = json_member_words(rollout, "task_id");
	Words		group = json_member_words(rollout, "group_id");
	Words		id = json_member_words(rollout, "rollout_id");
	Words		begins = group.s != NULL ? group : task;

	set_words(to, ROLLOUT_TASK_ID, to->group_prefix, task);
	/* Where a source tells tasks from groups, tables take what they are grouped by. */
	if (to->keeps_group || task.s == NULL)
		set_words(to, ROLLOUT_GROUP_ID, to->group_prefix, group);
	/* An id that begins with that of its group goes with it. */
	set_words(to, ROLLOUT_ID, id.length >= begins.length && memcmp(id.s, begins.s, begins.length) == 0 ? to->group_prefix : WORDS(""), id);
	for (int i = 0; i < lengthof(texts); i++)
		set_words(to, texts[i].to, WORDS(""), json_member_words(rollout, texts[i].name));
}

static void
set_outcome(DocumentReceiver *to, const JsonbValue *rollout)
{
	RolloutRows *rows = &to->rollouts;
	JsonbValue	value;

	if (json_member(rollout, "outcome", &value) && value.type == jbvNumeric)
	{
		set_rollout(rows, ROLLOUT_OUTCOME, DirectFunctionCall1(numeric_float8, NumericGetDatum(value.val.numeric)));
		/* Sums of scores miss 1 by the last digit. */
		set_rollout(rows, ROLLOUT_SUCCESS, BoolGetDatum(DatumGetFloat8(rows->values[ROLLOUT_OUTCOME]) >= to->success_at - 1e-9));
	}
	if (json_member(rollout, "success", &value) && value.type == jbvBool)
		set_rollout(rows, ROLLOUT_SUCCESS, BoolGetDatum(value.val.boolean));
	if (json_member(rollout, "truncated", &value) && value.type == jbvBool)
		set_rollout(rows, ROLLOUT_TRUNCATED, BoolGetDatum(value.val.boolean));
	if (json_member(rollout, "policy_step", &value) && value.type == jbvNumeric)
		set_rollout(rows, ROLLOUT_POLICY_STEP, DirectFunctionCall1(numeric_int8, NumericGetDatum(value.val.numeric)));
	if (json_member(rollout, "tags", &value) && value.type != jbvNull)
		set_rollout(rows, ROLLOUT_TAGS, JsonbPGetDatum(jsonb_of(&value)));
	if (json_member(rollout, "meta", &value) && value.type != jbvNull)
		set_rollout(rows, ROLLOUT_METADATA, JsonbPGetDatum(jsonb_of(&value)));
}

static void
set_time(DocumentReceiver *to, const JsonbValue *rollout, const char *name, RolloutColumn column)
{
	JsonbValue	value;

	if (!json_member(rollout, name, &value) || value.type == jbvNull)
		return;
	if (value.type != jbvString)
		leave_it_to_others("a time that is none");
	set_rollout(&to->rollouts, column, DirectFunctionCall3(timestamptz_in, CStringGetDatum(pnstrdup(value.val.string.val, value.val.string.len)),
														   ObjectIdGetDatum(TIMESTAMPTZOID), Int32GetDatum(-1)));
}

/* What is to be told at the end, if anything is. */
static void
set_told(DocumentReceiver *to, const JsonbValue *rollout, const char *name, RolloutColumn column)
{
	JsonbValue	counts;

	if (!json_member(rollout, name, &counts) || counts.type == jbvNull || (json_is_object(&counts) && JsonContainerSize(counts.val.binary.data) == 0))
		return;
	if (!json_is_object(&counts))
		leave_it_to_others("counts that are none");
	set_rollout(&to->rollouts, column, JsonbPGetDatum(jsonb_of(&counts)));
}

/* A rollout and whether it is the first of its document, (v jsonb, is_first boolean). */
static bool
receive_document(TupleTableSlot *slot, DestReceiver *self)
{
	DocumentReceiver *to = (DocumentReceiver *) self;
	MemoryContext caller = MemoryContextSwitchTo(to->rollout);
	JsonbValue	rollout;
	JsonbValue	list;

	CHECK_FOR_INTERRUPTS();
	slot_getallattrs(slot);
	if (slot->tts_isnull[0])
		leave_it_to_others("a document that cannot be used");
	rollout = json_root(DatumGetJsonbP(slot->tts_values[0]));
	if (!is_plain_rollout(&rollout, true))
		leave_it_to_others("a rollout that is not plain");
	if (!json_member(&rollout, "steps", &list))
		leave_it_to_others("there are no steps");
	clear_rollout(&to->rollouts);
	set_names(to, &rollout);
	set_outcome(to, &rollout);
	set_time(to, &rollout, "started_at", ROLLOUT_STARTED_AT);
	set_time(to, &rollout, "ended_at", ROLLOUT_ENDED_AT);
	set_told(to, &rollout, "dropped", ROLLOUT_DROPPED);
	set_told(to, &rollout, "repaired", ROLLOUT_REPAIRED);
	keys_of_rollout(&to->rollouts, to->rollouts.values, to->rollouts.nulls, to->steps.values);
	memset(to->steps.nulls, false, to->steps.n_keys * sizeof(bool));
	if (to->rollouts.n_rollouts == 0 && has_rollout(to->steps.writer, to->steps.values, to->steps.n_keys))
		leave_it_to_others("the tables have the first rollout");
	set_rollout(&to->rollouts, ROLLOUT_N_READ, Int64GetDatum(DatumGetBool(slot->tts_values[1]) ? 1 : 0));
	set_rollout(&to->rollouts, ROLLOUT_N_STEPS, Int64GetDatum(JsonContainerSize(list.val.binary.data)));
	write_said_steps(&to->steps, &list, NULL, true);
	give_rollout(&to->rollouts, to->steps.values, to->steps.counts);
	MemoryContextSwitchTo(caller);
	MemoryContextReset(to->rollout);
	return true;
}

/*
 * write_documents(steps regclass, rollouts regclass, keys text[], otherwise text[],
 * lacking text[], run_id text, policy_version text, policy_step bigint, group_prefix
 * text, success_at float8, query text)
 */
Datum
stepadv_write_documents(PG_FUNCTION_ARGS)
{
	DocumentReceiver *to = palloc0(sizeof(DocumentReceiver));
	text	   *prefix;

	to->receiver = (DestReceiver) {receive_document, begin_receiving, end_receiving, end_receiving, DestIntoRel};
	begin_rollouts(&to->rollouts, fcinfo);
	if (PG_ARGISNULL(8) || PG_ARGISNULL(9))
		leave_it_to_others("an argument is NULL");
	prefix = PG_GETARG_TEXT_PP(8);
	to->group_prefix = (Words) {VARDATA_ANY(prefix), VARSIZE_ANY_EXHDR(prefix)};
	to->success_at = PG_GETARG_FLOAT8(9);
	for (int i = 0; i < to->rollouts.n_keys; i++)
		to->keeps_group |= to->rollouts.keys[i] == ROLLOUT_GROUP_ID;
	begin_said_steps(&to->steps, PG_GETARG_OID(0), PG_GETARG_OID(1), to->rollouts.key_names, to->rollouts.n_keys + 1);
	if (to->steps.writer == NULL)
		leave_it_to_others("an INSERT must do it");
	to->rollout = AllocSetContextCreate(CurrentMemoryContext, "stepadv rollout", ALLOCSET_DEFAULT_SIZES);
	receive_query(text_to_cstring(PG_GETARG_TEXT_PP(10)), &to->receiver);
	end_step_rows(to->steps.writer);
	return (Datum) 0;
}
