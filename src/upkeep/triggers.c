/*
 * triggers.c
 *		The trigger functions that keep groups.
 *
 * A trigger's condition is always true and names its attachment as a constant of type regclass.  So the
 * reference follows renames, is dumped by name, and is a dependency.  The groups that a statement changed are
 * found from its transition tables, those of a row from logical replication from the row.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/pg_class.h"
#include "catalog/pg_subscription_rel.h"
#include "catalog/pg_trigger.h"
#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "fmgr.h"
#include "nodes/nodeFuncs.h"
#include "nodes/primnodes.h"
#include "replication/logicalworker.h"
#include "replication/worker_internal.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/hsearch.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"

#include "checked_arguments.h"
#include "attach/owner.h"
#include "attach/tables_read.h"
#include "compat.h"
#include "hash.h"
#include "upkeep/fold.h"

PG_FUNCTION_INFO_V1(stepadv_keep_groups);
PG_FUNCTION_INFO_V1(stepadv_drop_triggers);

/* A trigger; one that was replaced has the same OID. */
typedef struct TriggerKey
{
	Oid			trigger;
	Oid			relation;
	uint64		condition;		/* its hash */
} TriggerKey;

/* What a session caches of a trigger. */
typedef struct WatchingTrigger
{
	TriggerKey	key;
	Oid			attachment;
	uint64		generation;		/* the attachment's, for which the rest is valid */
	bool		is_watched;		/* the attachment's groups depend on the table */
	bool		is_known;		/* the changed groups can be found by its columns */
	AttrNumber *keys;			/* of a row trigger: the group's columns; valid as long as the attachment's cache */
	SPIPlanPtr	plan;			/* finds the changed groups, or adds them to the pending ones */
} WatchingTrigger;

static HTAB *triggers = NULL;

/* ----------
 * The attachment of a trigger
 * ----------
 */

static bool
find_attachment(Node *node, Oid *attachment)
{
	if (node == NULL)
		return false;
	if (IsA(node, Const) && ((Const *) node)->consttype == REGCLASSOID && !((Const *) node)->constisnull)
	{
		*attachment = DatumGetObjectId(((Const *) node)->constvalue);
		return true;
	}
	return expression_tree_walker(node, find_attachment, attachment);
}

static WatchingTrigger *
find_trigger(const TriggerData *data)
{
	const Trigger *trigger = data->tg_trigger;
	const char *condition = trigger->tgqual != NULL ? trigger->tgqual : "";
	TriggerKey	key = {.trigger = trigger->tgoid, .relation = RelationGetRelid(data->tg_relation)};
	Oid			attachment = InvalidOid;
	WatchingTrigger *watching;
	bool		found;

	if (triggers == NULL)
	{
		HASHCTL		control = {.keysize = sizeof(TriggerKey), .entrysize = sizeof(WatchingTrigger)};

		triggers = hash_create("stepadv triggers", 64, &control, HASH_ELEM | HASH_BLOBS);
	}
	key.condition = hash_bytes_64(condition, strlen(condition));
	watching = hash_search(triggers, &key, HASH_FIND, NULL);
	if (watching != NULL)
		return watching;
	if (!find_attachment(stringToNode(condition), &attachment))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("trigger \"%s\" names no attachment in its condition", trigger->tgname),
				 errhint("stepadv.maintain creates the triggers of this function.")));
	watching = hash_search(triggers, &key, HASH_ENTER, &found);
	watching->attachment = attachment;
	watching->generation = 0;
	watching->plan = NULL;
	return watching;
}

/* ----------
 * Which groups a statement changed
 * ----------
 */

/* The group's columns of a row t, as k1, k2, ..., in the order of the kept groups. */
static void
append_columns(StringInfo text, const Kept *kept, const WatchedTable *table)
{
	for (int i = 0; i < kept->n_keys; i++)
	{
		Oid			collation = TupleDescAttr(kept->groups, i)->attcollation;
		Oid			type;
		int32		typmod;
		Oid			own_collation;

		get_atttypetypmodcoll(table->relation, table->keys[i], &type, &typmod, &own_collation);
		appendStringInfo(text, "%st.%s", i > 0 ? ", " : "", quote_identifier(get_attname(table->relation, table->keys[i], false)));
		if (OidIsValid(collation) && collation != own_collation)
			appendStringInfo(text, " COLLATE %s", generate_collation_name(collation));
		appendStringInfo(text, " AS k%d", i + 1);
	}
}

/*
 * A row with NULL in a group column belongs to no group.  (A composite value whose fields are all NULL is a
 * value, which IS NOT NULL would not see.)
 */
static void
append_filter(StringInfo text, const Kept *kept, const WatchedTable *table)
{
	for (int i = 0; i < kept->n_keys; i++)
		appendStringInfo(text, "%st.%s IS DISTINCT FROM NULL", i > 0 ? " AND " : "",
						 quote_identifier(get_attname(table->relation, table->keys[i], false)));
}

static void
append_rows(StringInfo text, const Kept *kept, const WatchedTable *table, const char *rows)
{
	appendStringInfoString(text, "SELECT DISTINCT ");
	append_columns(text, kept, table);
	appendStringInfo(text, " FROM %s t WHERE ", rows);
	append_filter(text, kept, table);
}

/* A column, or an array of numbers as stored, since tokens are long and rarely change. */
static char *
compared_column(const Kept *kept, const WatchedTable *table, AttrNumber number)
{
	const char *name = quote_identifier(get_attname(table->relation, number, false));
	Oid			type = get_atttype(table->relation, number);

	if (type == INT4ARRAYOID || type == INT8ARRAYOID || type == INT2ARRAYOID)
		return psprintf("stepadv_internal.stored_image(t.%s)", name);
	return psprintf("t.%s", name);
}

/* One side of an update: its rows, with the columns read by the fold as a text. */
static void
append_images(StringInfo text, const Kept *kept, const WatchedTable *table, const char *rows, int side)
{
	int			number = -1;
	const char *separator = "";

	appendStringInfoString(text, "SELECT ");
	append_columns(text, kept, table);
	appendStringInfo(text, ", %d AS side, ROW(", side);
	if (table->whole_row)
		appendStringInfoString(text, "t.*");
	while (!table->whole_row && (number = bms_next_member(table->reads, number)) >= 0)
	{
		appendStringInfo(text, "%s%s", separator, compared_column(kept, table, number));
		separator = ", ";
	}
	appendStringInfo(text, ")::pg_catalog.text AS image FROM %s t WHERE ", rows);
	append_filter(text, kept, table);
}

/* A group is unchanged if no row changed in the columns that the fold reads. */
static void
append_changed(StringInfo text, const Kept *kept, const WatchedTable *table)
{
	char	   *keys = kept_text(kept, "{g*}");

	appendStringInfo(text, "SELECT DISTINCT %s FROM (SELECT %s FROM (", keys, keys);
	append_images(text, kept, table, "old_rows", 1);
	appendStringInfoString(text, " UNION ALL ");
	append_images(text, kept, table, "new_rows", -1);
	appendStringInfo(text, ") u GROUP BY %s, image HAVING pg_catalog.sum(side) OPERATOR(pg_catalog.<>) 0) v", keys);
}

static char *
statement_text(const Kept *kept, const WatchedTable *table, TriggerEvent event)
{
	StringInfoData text;

	initStringInfo(&text);
	if (kept->how != KEPT_BY_STATEMENT)
		appendStringInfo(&text, "INSERT INTO %s (%s) SELECT d.* FROM (", kept_text(kept, "{W}"), kept_text(kept, "{w*}"));
	if (TRIGGER_FIRED_BY_UPDATE(event))
		append_changed(&text, kept, table);
	else
		append_rows(&text, kept, table, TRIGGER_FIRED_BY_INSERT(event) ? "new_rows" : "old_rows");
	if (kept->how == KEPT_BY_REFRESH)
		appendStringInfoString(&text, ") d");
	else
		appendStringInfo(&text, " ORDER BY %s", kept_text(kept, "{g*}"));
	return text.data;
}

/* The same for one row, whose group columns are the parameters, not NULL. */
static char *
row_text(const Kept *kept)
{
	StringInfoData text;

	initStringInfo(&text);
	if (kept->how != KEPT_BY_STATEMENT)
		appendStringInfo(&text, "INSERT INTO %s (%s) ", kept_text(kept, "{W}"), kept_text(kept, "{w*}"));
	for (int i = 1; i <= kept->n_keys; i++)
		appendStringInfo(&text, "%s$%d AS k%d", i > 1 ? ", " : "SELECT ", i, i);
	return text.data;
}

static void
refuse_shard(Oid relation)
{
	Oid			type = REGCLASSOID;
	Datum		value = ObjectIdGetDatum(relation);

	if (SPI_execute_with_args("SELECT stepadv_internal.refuse_shard($1)", 1, &type, &value, NULL, true, 0) != SPI_OK_SELECT)
		elog(ERROR, "stepadv_internal.refuse_shard failed");
}

/* Look up what the trigger has to do. */
static void
look_up_trigger(WatchingTrigger *watching, const Kept *kept, const TriggerData *data)
{
	WatchedTable *table = watched_table(kept_views(kept), kept->n_keys, watching->key.relation);

	refuse_shard(watching->key.relation);
	kept_forget_plan(watching->plan);
	watching->plan = NULL;
	watching->is_watched = table != NULL;
	watching->is_known = true;
	for (int i = 0; table != NULL && i < kept->n_keys; i++)
		watching->is_known &= table->keys[i] > 0;
	if (table != NULL && watching->is_known && TRIGGER_FIRED_FOR_ROW(data->tg_event))
	{
		watching->keys = MemoryContextAlloc(kept->context, sizeof(AttrNumber) * kept->n_keys);
		memcpy(watching->keys, table->keys, sizeof(AttrNumber) * kept->n_keys);
		watching->plan = kept_prepare(kept, row_text(kept), kept->n_keys);
	}
	else if (table != NULL && watching->is_known && !TRIGGER_FIRED_BY_TRUNCATE(data->tg_event))
		watching->plan = kept_prepare(kept, statement_text(kept, table, data->tg_event), 0);
	watching->generation = kept->generation;
}

/* ----------
 * The functions
 * ----------
 */

/*
 * Can groups be folded?  If their owner lost the right to read a table below, as when that got another owner,
 * writes to it must not fail: there is a warning (once per transaction), and readers get an error.
 */
static bool
is_readable(const Kept *kept)
{
	static TransactionId said_in = InvalidTransactionId;
	TransactionId now;

	if (!OidIsValid(kept->unreadable))
		return true;
	now = GetTopTransactionId();
	if (said_in != now)
		ereport(WARNING,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("groups are no longer kept in %s: its owner may not read table %s",
						kept_text(kept, "{C}"), get_rel_name(kept->unreadable)),
				 errhint("Call stepadv.unmaintain, or stepadv.refresh with full => true when they may read it again.")));
	said_in = now;
	return false;
}

/*
 * Does the trigger have a query that finds the changed groups?  If it is watched without one, all groups are
 * folded or marked as pending.
 */
static bool
is_told_by_groups(Kept *kept, WatchingTrigger *watching, TriggerData *data)
{
	if (watching->generation != kept->generation)
		look_up_trigger(watching, kept, data);
	if (!watching->is_watched)
		return false;
	if (watching->plan != NULL)
		return true;
	if (kept->how == KEPT_BY_STATEMENT)
		fold_all(kept, false);
	else
		kept_execute(kept, KEPT_ALL_WAIT, NULL, 0);
	return false;
}

/* Keep the groups that the trigger's query finds. */
static void
keep_found(Kept *kept, const WatchingTrigger *watching, Datum *values, bool have_grown)
{
	int			result = SPI_execute_plan(watching->plan, values, NULL, false, 0);

	if (result < 0)
		elog(ERROR, "SPI_execute_plan failed: %s", SPI_result_code_string(result));
	if (kept->how == KEPT_BY_STATEMENT)
		fold_these(kept, SPI_tuptable, have_grown, NULL);
}

/* ----------
 * Rows that logical replication applies
 *
 * The apply worker fires no statement triggers.  It fires row triggers that are enabled for replicas, as ours are.
 * Users' statements do not fire them, or to no effect: the statement triggers, which are always enabled, do the
 * work.
 * ----------
 */

/* Will no statement trigger see the row?  The initial copy of a table fires them. */
static bool
is_applied_alone(void)
{
	return IsLogicalWorker() && MyLogicalRepWorker->relstate != SUBREL_STATE_DATASYNC;
}

/* Get the group of a row; false if it has none, or if it equals another row's. */
static bool
take_keys(const Kept *kept, const WatchingTrigger *watching, HeapTuple row, TupleDesc desc, Datum *values, const Datum *others)
{
	bool		is_same = others != NULL;

	for (int i = 0; i < kept->n_keys; i++)
	{
		Form_pg_attribute column = TupleDescAttr(desc, watching->keys[i] - 1);
		bool		isnull;

		values[i] = heap_getattr(row, watching->keys[i], desc, &isnull);
		if (isnull)
			return false;
		is_same = is_same && datum_image_eq(values[i], others[i], column->attbyval, column->attlen);
	}
	return !is_same;
}

static void
keep_groups_of_row(Kept *kept, const WatchingTrigger *watching, const TriggerData *data)
{
	TupleDesc	desc = RelationGetDescr(data->tg_relation);
	Datum	   *values = palloc(sizeof(Datum) * kept->n_keys);
	Datum	   *new_values = palloc(sizeof(Datum) * kept->n_keys);
	bool		has_group = take_keys(kept, watching, data->tg_trigtuple, desc, values, NULL);

	if (has_group)
		keep_found(kept, watching, values, false);
	if (TRIGGER_FIRED_BY_UPDATE(data->tg_event) &&
		take_keys(kept, watching, data->tg_newtuple, desc, new_values, has_group ? values : NULL))
		keep_found(kept, watching, new_values, false);
}

static void
keep_groups(Kept *kept, void *argument)
{
	TriggerData *data = argument;
	WatchingTrigger *watching = find_trigger(data);
	int			result;

	if (kept->how == KEPT_BY_STATEMENT && !is_readable(kept))
		return;
	result = SPI_register_trigger_data(data);
	if (result < 0)
		elog(ERROR, "SPI_register_trigger_data failed: %s", SPI_result_code_string(result));
	if (!is_told_by_groups(kept, watching, data))
		return;
	if (TRIGGER_FIRED_FOR_ROW(data->tg_event))
		keep_groups_of_row(kept, watching, data);
	else
		keep_found(kept, watching, NULL, TRIGGER_FIRED_BY_INSERT(data->tg_event));
}

/* Trigger of the tables below an attachment's views, for statements and for rows. */
Datum
stepadv_keep_groups(PG_FUNCTION_ARGS)
{
	TriggerData *data = (TriggerData *) fcinfo->context;

	if (!CALLED_AS_TRIGGER(fcinfo) || !TRIGGER_FIRED_AFTER(data->tg_event))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function keep_groups must be called by a trigger AFTER")));
	if (TRIGGER_FIRED_FOR_STATEMENT(data->tg_event) || is_applied_alone())
		with_kept(find_trigger(data)->attachment, keep_groups, data);
	return PointerGetDatum(NULL);
}

/* ----------
 * Dropping triggers
 * ----------
 */

/*
 * drop_triggers(attachment regclass, tables regclass[]): called by the attachment's owner, and also drops
 * triggers on tables that now have another owner, as DROP TABLE … CASCADE of the attachment would.  Other
 * users' objects that depend on the attachment are left alone, and their tables are not locked.
 */
Datum
stepadv_drop_triggers(PG_FUNCTION_ARGS)
{
	Oid			attachment = PG_GETARG_OID(0);
	int			n_tables;
	const Oid  *tables = list_argument(fcinfo, 1, "tables", REGCLASSOID, &n_tables);
	ObjectAddresses *doomed = new_object_addresses();
	int			n = 0;
	ListCell   *cell;

	require_owner(attachment);
	foreach(cell, triggers_of(attachment))
	{
		ObjectAddress trigger;
		Oid			table = kept_table(lfirst_oid(cell));
		bool		is_meant = is_owned(table, relation_owner(attachment));

		for (int i = 0; i < n_tables && !is_meant; i++)
			is_meant = OidIsValid(table) && tables[i] == table;
		if (!is_meant)
			continue;
		ObjectAddressSet(trigger, TriggerRelationId, lfirst_oid(cell));
		add_exact_object_address(&trigger, doomed);
		n++;
	}
	performMultipleDeletions(doomed, DROP_RESTRICT, 0);
	free_object_addresses(doomed);
	PG_RETURN_INT32(n);
}
