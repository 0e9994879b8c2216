/*
 * fill_identities.c
 *		The row trigger of the canonical tables that computes missing identities of a step.
 *
 * state := signature_hash(observation), next_state := signature_hash(next_observation); action_hash :=
 * signature_hash(action_signature(tool, args, ok)) if there is a tool, or signature_hash([tool, args]) if the
 * tool is unknown (its signature does not contain the arguments); else signature_hash(action).
 *
 * Given identities are kept.  Nothing records which identities were computed: one that equals the computed
 * value follows its text when an UPDATE changes that.
 *
 * The trigger's arguments are the roles of its UPDATE OF columns, in their order.  So columns are known by
 * number, and can be renamed.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/jsonb.h"
#include "utils/rel.h"

#include "compat.h"
#include "jsonb_hash.h"

PG_FUNCTION_INFO_V1(stepadv_fill_identities);
PG_FUNCTION_INFO_V1(stepadv_unique_state);

extern Datum stepadv_action_signature(PG_FUNCTION_ARGS);
extern Datum stepadv_signature_hash_text(PG_FUNCTION_ARGS);

typedef enum Role
{
	OBSERVATION,
	NEXT_OBSERVATION,
	ACTION,
	TOOL,
	ARGS,
	OK,
	STATE,
	NEXT_STATE,
	ACTION_HASH,
	N_ROLES
} Role;

static const struct
{
	const char *name;
	Oid			type;
}			roles[] = {
	{"observation", TEXTOID}, {"next_observation", TEXTOID}, {"action", TEXTOID}, {"tool", TEXTOID}, {"args", JSONBOID}, {"ok", BOOLOID},
	{"state", INT8OID}, {"next_state", INT8OID}, {"action_hash", INT8OID}
};

/* What a trigger computes, looked up once per query and table. */
typedef struct Filling
{
	int			place[N_ROLES]; /* in the row; -1: the table has none */
	Datum		options[3];		/* of action_signature: its defaults */
} Filling;

/* The old or the new row. */
typedef struct Row
{
	const Filling *filling;
	HeapTuple	tuple;
	Datum	   *values;
	bool	   *nulls;
} Row;

/* ----------
 * The trigger's arguments
 * ----------
 */

static _Noreturn pg_noinline void
refuse_trigger(const TriggerData *data, const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
			 errmsg("trigger \"%s\" of table \"%s\" is not as stepadv.create_tables makes it",
					data->tg_trigger->tgname, RelationGetRelationName(data->tg_relation)),
			 errdetail_internal("%s", detail),
			 errhint("Its arguments must say what the columns of its UPDATE OF are: observation, next_observation, action, tool, args, ok, state, next_state, action_hash.")));
}

static Role
role_of_argument(const TriggerData *data, const char *argument)
{
	for (int r = 0; r < N_ROLES; r++)
		if (strcmp(roles[r].name, argument) == 0)
			return r;
	refuse_trigger(data, psprintf("No column is known as \"%s\".", argument));
}

static Filling *
make_filling(const TriggerData *data, MemoryContext context)
{
	const Trigger *trigger = data->tg_trigger;
	Filling    *filling = MemoryContextAlloc(context, sizeof(Filling));
	MemoryContext caller = MemoryContextSwitchTo(context);

	memset(filling->place, -1, sizeof(filling->place));
	if (trigger->tgnattr == 0 || trigger->tgnattr != trigger->tgnargs)
		refuse_trigger(data, psprintf("It has %d arguments for %d columns.", trigger->tgnargs, trigger->tgnattr));
	for (int i = 0; i < trigger->tgnargs; i++)
	{
		Role		role = role_of_argument(data, trigger->tgargs[i]);
		Form_pg_attribute column = TupleDescAttr(RelationGetDescr(data->tg_relation), trigger->tgattr[i] - 1);

		if (column->atttypid != roles[role].type)
			refuse_trigger(data, psprintf("Column \"%s\" is of type %s, but %s must be of type %s.", NameStr(column->attname),
										  format_type_be(column->atttypid), roles[role].name, format_type_be(roles[role].type)));
		filling->place[role] = trigger->tgattr[i] - 1;
	}
	filling->options[0] = CStringGetTextDatum("md5");
	filling->options[1] = CStringGetTextDatum("relative");
	filling->options[2] = CStringGetTextDatum("/testbed");
	MemoryContextSwitchTo(caller);
	return filling;
}

/* ----------
 * Identities of a row
 * ----------
 */

static Row
read_row(const Filling *filling, HeapTuple tuple, TupleDesc desc)
{
	Row			row = {filling, tuple, palloc(desc->natts * sizeof(Datum)), palloc(desc->natts * sizeof(bool))};

	heap_deform_tuple(tuple, desc, row.values, row.nulls);
	return row;
}

static inline bool
has(const Row *row, Role role)
{
	int			place = row->filling->place[role];

	return place >= 0 && !row->nulls[place];
}

static inline Datum
get(const Row *row, Role role)
{
	return row->values[row->filling->place[role]];
}

/* signature_hash([tool, args]). */
static Datum
hash_of_unknown_call(const Row *row)
{
	text	   *tool = DatumGetTextPP(get(row, TOOL));

	return Int64GetDatum(hash_of_tool_call(VARDATA_ANY(tool), VARSIZE_ANY_EXHDR(tool), has(row, ARGS) ? DatumGetJsonbP(get(row, ARGS)) : NULL));
}

static Datum
hash_of_call(const Row *row)
{
	LOCAL_FCINFO(call, 7);
	text	   *signature;

	InitFunctionCallInfoData(*call, NULL, 7, InvalidOid, NULL, NULL);
	for (int i = 0; i < 3; i++)
	{
		Role		role = TOOL + i;

		call->args[i].isnull = !has(row, role);
		call->args[i].value = call->args[i].isnull ? (Datum) 0 : get(row, role);
		call->args[3 + i].isnull = false;
		call->args[3 + i].value = row->filling->options[i];
	}
	call->args[6].isnull = true;
	call->args[6].value = (Datum) 0;
	signature = DatumGetTextPP(stepadv_action_signature(call));
	if (VARSIZE_ANY_EXHDR(signature) >= 6 && memcmp(VARDATA_ANY(signature), "other:", 6) == 0)
		return hash_of_unknown_call(row);
	return DirectFunctionCall1(stepadv_signature_hash_text, PointerGetDatum(signature));
}

static bool
hash_of_column(const Row *row, Role role, Datum *hash)
{
	if (has(row, role))
		*hash = DirectFunctionCall1(stepadv_signature_hash_text, get(row, role));
	return has(row, role);
}

/* Compute an identity; false if there is nothing to compute it from. */
static bool
identity(const Row *row, Role role, Datum *hash)
{
	if (role == STATE)
		return hash_of_column(row, OBSERVATION, hash);
	if (role == NEXT_STATE)
		return hash_of_column(row, NEXT_OBSERVATION, hash);
	if (!has(row, TOOL))
		return hash_of_column(row, ACTION, hash);
	*hash = hash_of_call(row);
	return true;
}

/* ----------
 * Which ones to compute
 * ----------
 */

/* Compares bytes, so that a value that is stored differently may count as changed. */
static bool
is_same(const Row *old, const Row *new, Role role)
{
	if (has(old, role) != has(new, role))
		return false;
	return !has(old, role) || datumIsEqual(get(old, role), get(new, role), roles[role].type == BOOLOID, roles[role].type == BOOLOID ? 1 : -1);
}

static bool
is_made_of_the_same(const Row *old, const Row *new, Role role)
{
	if (role == STATE)
		return is_same(old, new, OBSERVATION);
	if (role == NEXT_STATE)
		return is_same(old, new, NEXT_OBSERVATION);
	return is_same(old, new, ACTION) && is_same(old, new, TOOL) && is_same(old, new, ARGS) && is_same(old, new, OK);
}

/* Whether an identity of the row was computed from a text that has changed. */
static bool
is_stale(const Row *old, const Row *new, Role role)
{
	Datum		hash;

	return old != NULL && has(old, role) && DatumGetInt64(get(old, role)) == DatumGetInt64(get(new, role)) &&
		!is_made_of_the_same(old, new, role) &&
		identity(old, role, &hash) && DatumGetInt64(hash) == DatumGetInt64(get(old, role));
}

/*
 * The tuple with numbers where it has NULLs: each is put between what is before and after it, if it begins at a
 * multiple of its length, so that what follows keeps its alignment.  This is faster than heap_form_tuple, for all
 * columns anew.  NULL: it cannot be done.
 */
static HeapTuple
tuple_with_numbers(const Row *row, TupleDesc desc, int n_numbers)
{
	HeapTupleHeader old = row->tuple->t_data;
	char	   *from = (char *) old + old->t_hoff;
	HeapTuple	tuple = palloc(HEAPTUPLESIZE + row->tuple->t_len + n_numbers * sizeof(int64));
	char	   *to;
	int			n_copied = 0;
	int			offset = 0;

	if (HeapTupleHeaderGetNatts(old) != desc->natts)
		return NULL;
	*tuple = *row->tuple;
	tuple->t_len += n_numbers * sizeof(int64);
	tuple->t_data = (HeapTupleHeader) ((char *) tuple + HEAPTUPLESIZE);
	memcpy(tuple->t_data, old, old->t_hoff);
	to = (char *) tuple->t_data + old->t_hoff;
	for (int i = 0; i < desc->natts && n_numbers > 0; i++)
	{
		Form_pg_attribute column = TupleDescAttr(desc, i);

		if (!att_isnull(i, old->t_bits))
		{
			offset = att_align_pointer(offset, column->attalign, column->attlen, from + offset);
			offset = att_addlength_pointer(offset, column->attlen, from + offset);
		}
		else if (!row->nulls[i])
		{
			int64		number = DatumGetInt64(row->values[i]);

			if (offset % sizeof(number) != 0)
				return NULL;
			memcpy(to + n_copied, from + n_copied, offset - n_copied);
			to += sizeof(number);
			memcpy(to + offset - sizeof(number), &number, sizeof(number));
			tuple->t_data->t_bits[i / 8] |= 1 << (i % 8);
			n_copied = offset;
			n_numbers--;
		}
	}
	memcpy(to + n_copied, from + n_copied, row->tuple->t_len - old->t_hoff - n_copied);
	return tuple;
}

/* The row with its missing and stale identities computed. */
static HeapTuple
filled(const Row *old, Row *new, TupleDesc desc)
{
	int			n_new = 0;
	bool		changed = false;
	HeapTuple	tuple;

	for (Role role = STATE; role < N_ROLES; role++)
	{
		int			place = new->filling->place[role];
		Datum		hash = (Datum) 0;
		bool		is_known;

		if (place < 0 || (has(new, role) && !is_stale(old, new, role)))
			continue;
		is_known = identity(new, role, &hash);
		n_new += is_known && !has(new, role);
		changed |= has(new, role);
		new->values[place] = hash;
		new->nulls[place] = !is_known;
	}
	if (!changed && n_new == 0)
		return new->tuple;
	tuple = changed ? NULL : tuple_with_numbers(new, desc, n_new);
	if (tuple != NULL)
		return tuple;
	tuple = heap_form_tuple(desc, new->values, new->nulls);
	tuple->t_data->t_ctid = new->tuple->t_data->t_ctid;
	tuple->t_self = new->tuple->t_self;
	tuple->t_tableOid = new->tuple->t_tableOid;
	return tuple;
}

Datum
stepadv_fill_identities(PG_FUNCTION_ARGS)
{
	TriggerData *data = (TriggerData *) fcinfo->context;
	TupleDesc	desc;
	Filling    *filling;
	Row			old;
	Row			new;

	if (!CALLED_AS_TRIGGER(fcinfo) || !TRIGGER_FIRED_BEFORE(data->tg_event) || !TRIGGER_FIRED_FOR_ROW(data->tg_event) ||
		TRIGGER_FIRED_BY_DELETE(data->tg_event))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function %s must be called by a trigger BEFORE INSERT OR UPDATE, FOR EACH ROW", "fill_identities")));
	if (fcinfo->flinfo->fn_extra == NULL)
		fcinfo->flinfo->fn_extra = make_filling(data, fcinfo->flinfo->fn_mcxt);
	filling = fcinfo->flinfo->fn_extra;
	desc = RelationGetDescr(data->tg_relation);
	if (!TRIGGER_FIRED_BY_UPDATE(data->tg_event))
	{
		new = read_row(filling, data->tg_trigtuple, desc);
		return PointerGetDatum(filled(NULL, &new, desc));
	}
	old = read_row(filling, data->tg_trigtuple, desc);
	new = read_row(filling, data->tg_newtuple, desc);
	return PointerGetDatum(filled(&old, &new, desc));
}

/* unique_state(): an identity that no other step shares. */
Datum
stepadv_unique_state(PG_FUNCTION_ARGS)
{
	int64		state;

	if (!pg_strong_random(&state, sizeof(state)))
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("could not generate random values")));
	PG_RETURN_INT64(state);
}
