/*
 * rollout_key.c
 *		The triggers of the canonical tables that tie steps to their rollouts.
 *
 * They do what FOREIGN KEY … ON DELETE CASCADE ON UPDATE CASCADE does, but look up a rollout once per statement,
 * not once per step:
 *
 * - check_rollout, AFTER INSERT and AFTER UPDATE of the key of a step, finds the
 *	 rollout and locks it FOR KEY SHARE; is_new_rollout is the condition of the trigger AFTER INSERT,
 *	 so that events are queued for the first step of each rollout alone;
 * - cascade_to_steps, AFTER DELETE and AFTER UPDATE of the key of a rollout, deletes
 *	 its steps or updates their key; AFTER TRUNCATE it refuses to leave steps behind.
 *
 * They are constraint triggers, which know the other table by OID (FROM), so renames, dumps and DROP need no care.
 * The key is the primary key of rollouts, of type text; that of steps begins with the same columns in the same
 * order.
 *
 * Statements, locks and snapshots are those of the server's own foreign keys (ri_triggers.c): rows committed before
 * the lock was granted are seen; in REPEATABLE READ, those that cannot be seen are an error.  Statements run as the
 * owner of the table that they change.  Both tables must therefore have the same owner, so that a trigger on one's
 * own table does not reach a table of another user.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/pg_index.h"
#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/hsearch.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "compat.h"
#include "hash.h"

PG_FUNCTION_INFO_V1(stepadv_is_new_rollout);
PG_FUNCTION_INFO_V1(stepadv_check_rollout);
PG_FUNCTION_INFO_V1(stepadv_cascade_to_steps);

typedef enum Statement
{
	DELETE_STEPS,
	RENAME_STEPS,
	FIND_STEP,
	FIND_STEP_OF_ROLLOUT
} Statement;

/* A key that was looked up, as bytes. */
typedef struct Seen
{
	int			length;
	char		bytes[FLEXIBLE_ARRAY_MEMBER];
} Seen;

/* How many keys are remembered, for rollouts whose steps alternate. */
#define N_SEEN 1024

/* Keys that were looked up, each in the slot of its hash. */
typedef struct SeenKeys
{
	StringInfoData key;			/* the current one */
	Seen	   *last;
	Seen	   *seen[N_SEEN];
} SeenKeys;

/* How the two tables are tied, looked up once per statement of the user. */
typedef struct Tie
{
	Oid			rollouts;
	Oid			rollouts_pkey;
	Oid			steps;
	int			n_columns;
	AttrNumber	of_rollouts[INDEX_MAX_KEYS];
	AttrNumber	of_steps[INDEX_MAX_KEYS];
	SeenKeys	keys;
} Tie;

/* Plans of the session.  A plan that becomes invalid while it runs is not freed. */
typedef struct KeptPlan
{
	struct
	{
		Oid			trigger;
		Statement	statement;
	}			of;
	SPIPlanPtr	plan;
	int			n_running;
	BlockNumber n_blocks;		/* of the table when it was planned */
} KeptPlan;

static HTAB *plans = NULL;

/* ----------
 * The tables and their keys
 * ----------
 */

static _Noreturn pg_noinline void
refuse_trigger(const TriggerData *data, const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
			 errmsg("trigger \"%s\" of table \"%s\" is not as stepadv.create_tables makes it",
					data->tg_trigger->tgname, RelationGetRelationName(data->tg_relation)),
			 errdetail_internal("%s", detail)));
}

/* Get the columns of a table's primary key; returns their number. */
static int
primary_key(const TriggerData *data, Relation table, AttrNumber *columns)
{
	HeapTuple	tuple;
	Form_pg_index index;
	int			n;

	list_free(RelationGetIndexList(table));
	if (table->rd_rel->relkind != RELKIND_RELATION || table->rd_rel->relispartition || !OidIsValid(table->rd_pkindex))
		refuse_trigger(data, psprintf("\"%s\" is no table with a primary key, or a partition.", RelationGetRelationName(table)));
	tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(table->rd_pkindex));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for index %u", table->rd_pkindex);
	index = (Form_pg_index) GETSTRUCT(tuple);
	n = index->indnkeyatts;
	for (int i = 0; i < n; i++)
		columns[i] = index->indkey.values[i];
	ReleaseSysCache(tuple);
	return n;
}

static void
check_columns(const TriggerData *data, const Tie *tie, Relation rollouts, Relation steps)
{
	for (int i = 0; i < tie->n_columns; i++)
	{
		Form_pg_attribute one = TupleDescAttr(RelationGetDescr(rollouts), tie->of_rollouts[i] - 1);

		if (one->atttypid != TEXTOID || TupleDescAttr(RelationGetDescr(steps), tie->of_steps[i] - 1)->atttypid != TEXTOID)
			refuse_trigger(data, psprintf("Column \"%s\" of the key is no text.", NameStr(one->attname)));
		for (int j = 0; j < tie->n_columns; j++)
			if (j != i && namestrcmp(&TupleDescAttr(RelationGetDescr(steps), tie->of_steps[j] - 1)->attname, NameStr(one->attname)) == 0)
				refuse_trigger(data, psprintf("Column \"%s\" has another place in the primary key of each table.", NameStr(one->attname)));
	}
}

/* The trigger's own table is one of the two, its FROM table the other. */
static Tie *
make_tie(const TriggerData *data, Oid other, bool of_steps, MemoryContext context)
{
	Tie		   *tie = MemoryContextAllocZero(context, sizeof(Tie));
	AttrNumber	columns[INDEX_MAX_KEYS];
	Relation	table = OidIsValid(other) ? table_open(other, of_steps ? RowShareLock : RowExclusiveLock) : NULL;
	Relation	rollouts = of_steps ? table : data->tg_relation;
	Relation	steps = of_steps ? data->tg_relation : table;
	MemoryContext caller = MemoryContextSwitchTo(context);

	if (table == NULL)
		refuse_trigger(data, "It is no constraint trigger FROM another table.");
	if (rollouts->rd_rel->relowner != steps->rd_rel->relowner)
		refuse_trigger(data, psprintf("Tables \"%s\" and \"%s\" have different owners.", RelationGetRelationName(rollouts), RelationGetRelationName(steps)));
	tie->rollouts = RelationGetRelid(rollouts);
	tie->steps = RelationGetRelid(steps);
	tie->n_columns = primary_key(data, rollouts, tie->of_rollouts);
	tie->rollouts_pkey = rollouts->rd_pkindex;
	if (primary_key(data, steps, columns) <= tie->n_columns)
		refuse_trigger(data, "The primary key of the steps must have that of the rollouts and a column more.");
	memcpy(tie->of_steps, columns, sizeof(columns));
	check_columns(data, tie, rollouts, steps);
	initStringInfo(&tie->keys.key);
	MemoryContextSwitchTo(caller);
	table_close(table, NoLock);
	return tie;
}

/* ----------
 * Statements
 * ----------
 */

static void
append_columns(StringInfo text, Relation table, const AttrNumber *columns, int n, int first, const char *between)
{
	for (int i = 0; i < n; i++)
	{
		const char *name = NameStr(TupleDescAttr(RelationGetDescr(table), columns[i] - 1)->attname);

		appendStringInfo(text, "%s%s %s $%d", i > 0 ? between : "", quote_identifier(name),
						 strcmp(between, ", ") == 0 ? "=" : "OPERATOR(pg_catalog.=)", first + i);
	}
}

static char *
statement_text(const Tie *tie, Statement statement, Relation table)
{
	const char *name = quote_qualified_identifier(get_namespace_name(RelationGetNamespace(table)), RelationGetRelationName(table));
	StringInfoData text;

	initStringInfo(&text);
	switch (statement)
	{
		case DELETE_STEPS:
			appendStringInfo(&text, "DELETE FROM ONLY %s WHERE ", name);
			append_columns(&text, table, tie->of_steps, tie->n_columns, 1, " AND ");
			break;
		case RENAME_STEPS:
			appendStringInfo(&text, "UPDATE ONLY %s SET ", name);
			append_columns(&text, table, tie->of_steps, tie->n_columns, tie->n_columns + 1, ", ");
			appendStringInfoString(&text, " WHERE ");
			append_columns(&text, table, tie->of_steps, tie->n_columns, 1, " AND ");
			break;
		case FIND_STEP:
			appendStringInfo(&text, "SELECT 1 FROM ONLY %s", name);
			break;
		case FIND_STEP_OF_ROLLOUT:
			appendStringInfo(&text, "SELECT 1 FROM ONLY %s WHERE ", name);
			append_columns(&text, table, tie->of_steps, tie->n_columns, 1, " AND ");
			break;
	}
	return text.data;
}

static KeptPlan *
plan_of(const TriggerData *data, const Tie *tie, Statement statement, Relation table)
{
	Oid			types[2 * INDEX_MAX_KEYS];
	KeptPlan	wanted = {.of = {data->tg_trigger->tgoid, statement}};
	bool		found;
	KeptPlan	   *plan;
	BlockNumber n_blocks;

	if (plans == NULL)
	{
		HASHCTL		control = {.keysize = sizeof(wanted.of), .entrysize = sizeof(KeptPlan)};

		plans = hash_create("stepadv plans of rollout keys", 16, &control, HASH_ELEM | HASH_BLOBS);
	}
	plan = hash_search(plans, &wanted.of, HASH_ENTER, &found);
	/* While there are few steps, a plan may read all of them; make another when the table has grown. */
	n_blocks = RelationGetNumberOfBlocks(table);
	if (found && plan->plan != NULL && SPI_plan_is_valid(plan->plan) &&
		(plan->n_running > 0 || n_blocks / 8 <= plan->n_blocks))
		return plan;
	if (found && plan->plan != NULL && plan->n_running == 0)
		SPI_freeplan(plan->plan);
	plan->plan = NULL;
	plan->n_blocks = n_blocks;
	if (!found)
		plan->n_running = 0;
	for (int i = 0; i < lengthof(types); i++)
		types[i] = TEXTOID;
	plan->plan = SPI_prepare(statement_text(tie, statement, table), statement == FIND_STEP ? 0 : statement == RENAME_STEPS ? 2 * tie->n_columns : tie->n_columns, types);
	if (plan->plan == NULL)
		elog(ERROR, "SPI_prepare failed: %s", SPI_result_code_string(SPI_result));
	SPI_keepplan(plan->plan);
	return plan;
}

/*
 * Run a statement on the steps as the owner of the tables; returns the number of rows.  Triggers that it
 * fires wait for the end of the user's own statement.
 */
static uint64
run(const TriggerData *data, const Tie *tie, Statement statement, Datum *values)
{
	bool		finds = statement == FIND_STEP || statement == FIND_STEP_OF_ROLLOUT;
	Relation	table = table_open(tie->steps, finds ? RowShareLock : RowExclusiveLock);
	Snapshot	snapshot = InvalidSnapshot;
	Snapshot	crosscheck = InvalidSnapshot;
	uint64		n;
	KeptPlan	   *plan;
	Oid			user;
	int			context;
	int			result;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	GetUserIdAndSecContext(&user, &context);
	SetUserIdAndSecContext(table->rd_rel->relowner, context | SECURITY_LOCAL_USERID_CHANGE | SECURITY_NOFORCE_RLS);
	plan = plan_of(data, tie, statement, table);
	/* Steps that others committed since this transaction began must cause an error, not be left behind. */
	if (IsolationUsesXactSnapshot())
	{
		CommandCounterIncrement();
		snapshot = GetLatestSnapshot();
		crosscheck = finds ? InvalidSnapshot : GetTransactionSnapshot();
	}
	plan->n_running++;
	PG_TRY();
	{
		result = SPI_execute_snapshot(plan->plan, values, NULL, snapshot, crosscheck, false, false, finds ? 1 : 0);
	}
	PG_FINALLY();
	{
		plan->n_running--;
	}
	PG_END_TRY();
	n = SPI_processed;
	SetUserIdAndSecContext(user, context);
	if (result != (finds ? SPI_OK_SELECT : statement == DELETE_STEPS ? SPI_OK_DELETE : SPI_OK_UPDATE))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("a rule of table \"%s\" rewrites what ties steps to rollouts", RelationGetRelationName(table))));
	SPI_finish();
	table_close(table, NoLock);
	return n;
}

/* ----------
 * Steps
 * ----------
 */

static void
read_key(TupleTableSlot *slot, const AttrNumber *columns, int n, Datum *values)
{
	for (int i = 0; i < n; i++)
	{
		bool		isnull;

		values[i] = slot_getattr(slot, columns[i], &isnull);
		if (isnull)
			elog(ERROR, "column %d of a primary key is null", columns[i]);
	}
}

/* Whether a key is the last one that was seen, which most are, without its hash. */
static bool
is_last(const SeenKeys *keys, const Datum *values, int n)
{
	const char *bytes;

	if (keys->last == NULL)
		return false;
	bytes = keys->last->bytes;
	for (int i = 0; i < n; i++)
	{
		text	   *value = DatumGetTextPP(values[i]);
		int			length = VARSIZE_ANY_EXHDR(value);

		if (memcmp(bytes, &length, sizeof(length)) != 0 ||
			memcmp(bytes + sizeof(length), VARDATA_ANY(value), length) != 0)
			return false;
		bytes += sizeof(length) + length;
	}
	return true;
}

/* The slot for a key that was not seen yet, which becomes the current one; NULL if it was. */
static Seen **
unseen_slot(SeenKeys *keys, const Datum *values, int n)
{
	Seen	  **slot;

	if (is_last(keys, values, n))
		return NULL;
	resetStringInfo(&keys->key);
	for (int i = 0; i < n; i++)
	{
		text	   *value = DatumGetTextPP(values[i]);
		int			length = VARSIZE_ANY_EXHDR(value);

		appendBinaryStringInfo(&keys->key, (char *) &length, sizeof(length));
		appendBinaryStringInfo(&keys->key, VARDATA_ANY(value), length);
	}
	slot = &keys->seen[(uint64) hash_bytes_64(keys->key.data, keys->key.len) % N_SEEN];
	if (*slot == NULL || (*slot)->length != keys->key.len || memcmp((*slot)->bytes, keys->key.data, keys->key.len) != 0)
		return slot;
	keys->last = *slot;
	return NULL;
}

/* Remember the current key in its slot, in place of another one. */
static void
see(SeenKeys *keys, Seen **slot, MemoryContext context)
{
	if (*slot != NULL)
		pfree(*slot);
	keys->last = *slot = MemoryContextAlloc(context, offsetof(Seen, bytes) + keys->key.len);
	(*slot)->length = keys->key.len;
	memcpy((*slot)->bytes, keys->key.data, keys->key.len);
}

/*
 * Find a rollout and lock it as SELECT … FOR KEY SHARE does (nodeLockRows.c); false if there is none.  Always
 * uses the primary key, whatever the planner estimates for a table that has grown since a statement was
 * planned.
 */
static bool
lock_rollout(const Tie *tie, const Datum *values)
{
	Relation	rollouts = table_open(tie->rollouts, RowShareLock);
	TupleTableSlot *slot = table_slot_create(rollouts, NULL);
	int			flags = TUPLE_LOCK_FLAG_LOCK_UPDATE_IN_PROGRESS | (IsolationUsesXactSnapshot() ? 0 : TUPLE_LOCK_FLAG_FIND_LAST_VERSION);
	TM_Result	result;
	TM_FailureData changed;

	do
	{
		ScanKeyData keys[INDEX_MAX_KEYS];
		SysScanDesc scan;
		HeapTuple	found;
		Snapshot	snapshot;

		for (int i = 0; i < tie->n_columns; i++)
			ScanKeyEntryInitialize(&keys[i], 0, tie->of_rollouts[i], BTEqualStrategyNumber, InvalidOid,
								   TupleDescAttr(RelationGetDescr(rollouts), tie->of_rollouts[i] - 1)->attcollation, F_TEXTEQ, values[i]);
		/* See rollouts inserted by the same statement. */
		CommandCounterIncrement();
		snapshot = RegisterSnapshot(GetTransactionSnapshot());
		scan = systable_beginscan(rollouts, tie->rollouts_pkey, true, snapshot, tie->n_columns, keys);
		found = systable_getnext(scan);
		changed.traversed = false;
		result = found == NULL ? TM_Deleted :
			table_tuple_lock(rollouts, &found->t_self, snapshot, slot, GetCurrentCommandId(true), LockTupleKeyShare, LockWaitBlock, flags, &changed);
		if (found != NULL && result != TM_Ok && IsolationUsesXactSnapshot())
			ereport(ERROR,
					(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
					 errmsg("could not serialize access due to concurrent update")));
		systable_endscan(scan);
		UnregisterSnapshot(snapshot);
		/* A later version may have another key. */
	} while (result == TM_Updated || (result == TM_Ok && changed.traversed));
	ExecDropSingleTupleTableSlot(slot);
	table_close(rollouts, NoLock);
	return result == TM_Ok;
}

/* Raise the error of the server's own foreign keys, with the values if the user may read them. */
static _Noreturn pg_noinline void
refuse_step(const TriggerData *data, const Tie *tie, const Datum *values)
{
	Relation	steps = data->tg_relation;
	bool		may_read = check_enable_rls(tie->steps, InvalidOid, true) != RLS_ENABLED &&
		pg_class_aclcheck(tie->steps, GetUserId(), ACL_SELECT) == ACLCHECK_OK;
	StringInfoData names;
	StringInfoData texts;

	initStringInfo(&names);
	initStringInfo(&texts);
	for (int i = 0; i < tie->n_columns; i++)
	{
		appendStringInfo(&names, "%s%s", i > 0 ? ", " : "", NameStr(TupleDescAttr(RelationGetDescr(steps), tie->of_steps[i] - 1)->attname));
		appendStringInfo(&texts, "%s%s", i > 0 ? ", " : "", TextDatumGetCString(values[i]));
	}
	ereport(ERROR,
			(errcode(ERRCODE_FOREIGN_KEY_VIOLATION),
			 errmsg("insert or update on table \"%s\" violates foreign key constraint \"%s\"", RelationGetRelationName(steps), data->tg_trigger->tgname),
			 may_read ? errdetail("Key (%s)=(%s) is not present in table \"%s\".", names.data, texts.data, get_rel_name(tie->rollouts)) :
			 errdetail("Key is not present in table \"%s\".", get_rel_name(tie->rollouts)),
			 errtableconstraint(steps, data->tg_trigger->tgname)));
}

static void
require_trigger(FunctionCallInfo fcinfo, bool is_one, const char *name, const char *how)
{
	if (!CALLED_AS_TRIGGER(fcinfo) || !is_one)
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function %s must be called by a trigger AFTER %s", name, how)));
}

static SeenKeys *
new_keys(FunctionCallInfo fcinfo)
{
	SeenKeys   *keys = MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt, sizeof(SeenKeys));
	MemoryContext caller = MemoryContextSwitchTo(fcinfo->flinfo->fn_mcxt);

	for (int i = 0; i < PG_NARGS(); i++)
		if (get_fn_expr_argtype(fcinfo->flinfo, i) != TEXTOID)
			ereport(ERROR,
					(errcode(ERRCODE_DATATYPE_MISMATCH),
					 errmsg("argument %d of is_new_rollout must be text", i + 1)));
	initStringInfo(&keys->key);
	MemoryContextSwitchTo(caller);
	return keys;
}

/* Whether this query has not called with this key yet, as far as it remembers: false only if it has. */
Datum
stepadv_is_new_rollout(PG_FUNCTION_ARGS)
{
	Datum		values[FUNC_MAX_ARGS];
	SeenKeys   *keys = fcinfo->flinfo->fn_extra;
	Seen	  **slot;

	if (keys == NULL)
		fcinfo->flinfo->fn_extra = keys = new_keys(fcinfo);
	for (int i = 0; i < PG_NARGS(); i++)
	{
		if (PG_ARGISNULL(i))
			PG_RETURN_BOOL(true);
		values[i] = PG_GETARG_DATUM(i);
	}
	slot = unseen_slot(keys, values, PG_NARGS());
	if (slot == NULL)
		PG_RETURN_BOOL(false);
	see(keys, slot, fcinfo->flinfo->fn_mcxt);
	PG_RETURN_BOOL(true);
}

Datum
stepadv_check_rollout(PG_FUNCTION_ARGS)
{
	TriggerData *data = (TriggerData *) fcinfo->context;
	Datum		values[INDEX_MAX_KEYS];
	TupleTableSlot *slot;
	Seen	  **unseen;
	Tie		   *tie;

	require_trigger(fcinfo, CALLED_AS_TRIGGER(fcinfo) && TRIGGER_FIRED_AFTER(data->tg_event) && TRIGGER_FIRED_FOR_ROW(data->tg_event) &&
					(TRIGGER_FIRED_BY_INSERT(data->tg_event) || TRIGGER_FIRED_BY_UPDATE(data->tg_event)), "check_rollout", "INSERT OR UPDATE, FOR EACH ROW");
	tie = fcinfo->flinfo->fn_extra;
	if (tie == NULL)
		fcinfo->flinfo->fn_extra = tie = make_tie(data, data->tg_trigger->tgconstrrelid, true, fcinfo->flinfo->fn_mcxt);
	slot = TRIGGER_FIRED_BY_INSERT(data->tg_event) ? data->tg_trigslot : data->tg_newslot;
	read_key(slot, tie->of_steps, tie->n_columns, values);
	unseen = unseen_slot(&tie->keys, values, tie->n_columns);
	if (unseen == NULL)
		return PointerGetDatum(NULL);
	/* Without its rollout, a step that was deleted or updated since is no error, but another one of the rollout is. */
	if (!lock_rollout(tie, values))
	{
		if (table_tuple_satisfies_snapshot(data->tg_relation, slot, SnapshotSelf) ||
			run(data, tie, FIND_STEP_OF_ROLLOUT, values) > 0)
			refuse_step(data, tie, values);
		return PointerGetDatum(NULL);
	}
	see(&tie->keys, unseen, fcinfo->flinfo->fn_mcxt);
	return PointerGetDatum(NULL);
}

/* ----------
 * Rollouts
 * ----------
 */

/* TRUNCATE has only statement triggers, which have no FROM table: take that of a row trigger beside it. */
static Oid
table_of_steps(const TriggerData *data)
{
	const TriggerDesc *triggers = data->tg_relation->trigdesc;

	for (int i = 0; i < triggers->numtriggers; i++)
		if (triggers->triggers[i].tgfoid == data->tg_trigger->tgfoid && OidIsValid(triggers->triggers[i].tgconstrrelid))
			return triggers->triggers[i].tgconstrrelid;
	return InvalidOid;
}

static void
refuse_truncate(const Tie *tie)
{
	const char *rollouts = get_rel_name(tie->rollouts);
	const char *steps = get_rel_name(tie->steps);

	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("cannot truncate table \"%s\" without \"%s\", which has steps of its rollouts", rollouts, steps),
			 errhint("Truncate table \"%s\" at the same time.", steps)));
}

Datum
stepadv_cascade_to_steps(PG_FUNCTION_ARGS)
{
	TriggerData *data = (TriggerData *) fcinfo->context;
	Datum		values[2 * INDEX_MAX_KEYS];
	bool		of_rows = CALLED_AS_TRIGGER(fcinfo) && TRIGGER_FIRED_FOR_ROW(data->tg_event);
	Tie		   *tie;

	require_trigger(fcinfo, CALLED_AS_TRIGGER(fcinfo) && TRIGGER_FIRED_AFTER(data->tg_event) &&
					(of_rows ? !TRIGGER_FIRED_BY_INSERT(data->tg_event) : TRIGGER_FIRED_BY_TRUNCATE(data->tg_event)), "cascade_to_steps", "DELETE OR UPDATE, FOR EACH ROW, or TRUNCATE");
	tie = fcinfo->flinfo->fn_extra;
	if (tie == NULL)
		fcinfo->flinfo->fn_extra = tie = make_tie(data, of_rows ? data->tg_trigger->tgconstrrelid : table_of_steps(data), false, fcinfo->flinfo->fn_mcxt);
	if (of_rows)
		read_key(data->tg_trigslot, tie->of_rollouts, tie->n_columns, values);
	if (!of_rows && run(data, tie, FIND_STEP, NULL) > 0)
		refuse_truncate(tie);
	if (TRIGGER_FIRED_BY_DELETE(data->tg_event))
		run(data, tie, DELETE_STEPS, values);
	if (TRIGGER_FIRED_BY_UPDATE(data->tg_event))
	{
		read_key(data->tg_newslot, tie->of_rollouts, tie->n_columns, values + tie->n_columns);
		run(data, tie, RENAME_STEPS, values);
	}
	return PointerGetDatum(NULL);
}
