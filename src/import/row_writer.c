/*
 * row_writer.c
 *		Rows into the canonical table of steps, many at a time.
 *
 * What an INSERT costs beside the rows and their indexes is its foreign key: a
 * query for every step, though the steps of a rollout come one after the other.
 * Here the key is looked up, and locked, once for each rollout, and the rows go to
 * their partitions in batches, as those of a COPY.
 *
 * That is the same only where an INSERT would do nothing else.  So tables with
 * triggers (but that of create_tables, which has nothing to fill in steps whose
 * identities are given, and that of the foreign key), rules, row security,
 * generated columns or partitions elsewhere are left to INSERT.  Defaults,
 * constraints, permissions and unique indexes are looked after here.
 *
 * Where Citus distributes the tables, rows go to a temporary table of this
 * session first, which has no key, no index and no default, and from there to
 * the workers by one INSERT of the caller's, which Citus makes a COPY.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/tupconvert.h"
#include "access/xact.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_trigger.h"
#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "executor/execPartition.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parse_func.h"
#include "parser/parse_node.h"
#include "parser/parse_relation.h"
#include "rewrite/rewriteHandler.h"
#include "storage/lmgr.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/rls.h"

#include "arrays.h"
#include "compat.h"
#include "import/row_writer.h"
#include "long_work.h"

/* Rows that are held back: enough for full pages, few enough for the cache. */
#define MAX_ROWS 512
#define MAX_BYTES (1024 * 1024)

/* A table that rows find their way through. */
typedef struct Routes
{
	Relation	table;			/* NULL: nothing is looked up */
	EState	   *estate;
	ModifyTableState *state;
	PartitionTupleRouting *routing; /* NULL: it has no partitions */
	TupleTableSlot *slot;
} Routes;

/* Rows that a partition is to get. */
typedef struct Batch
{
	ResultRelInfo *partition;
	TupleTableSlot *slots[MAX_ROWS];
	int			n_slots;		/* made */
	int			n_rows;			/* filled */
} Batch;

struct RowWriter
{
	MemoryContext context;
	MemoryContext writing;		/* what writing leaves behind */
	Routes		steps;
	Routes		rollouts;
	AttrNumber *places;			/* of the columns given */
	int			n_columns;
	ExprState **defaults;		/* of the other columns; NULL: none */
	const ForeignKeyCacheInfo *key; /* NULL: there is none */
	List	   *batches;
	Batch	   *last;
	int			n_rows;			/* in all batches */
	Size		n_bytes;
	uint64		n_written;
};

/* ----------
 * Whether it is as an INSERT would do it
 * ----------
 */

static bool
is_ours(const Trigger *trigger)
{
	Oid			function = LookupFuncName(list_make2(makeString("stepadv_internal"), makeString("fill_identities")), 0, NULL, true);

	return OidIsValid(function) && trigger->tgfoid == function;
}

/* The foreign key's trigger is counted, no other may have something to do. */
static bool
has_only_our_triggers(Relation table, Oid rollouts, Oid *key)
{
	const TriggerDesc *triggers = table->trigdesc;

	*key = InvalidOid;
	for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
	{
		const Trigger *trigger = &triggers->triggers[i];

		if (!TRIGGER_FOR_INSERT(trigger->tgtype) || trigger->tgenabled == TRIGGER_DISABLED)
			continue;
		if (trigger->tgisinternal && trigger->tgfoid == F_RI_FKEY_CHECK_INS)
		{
			if (OidIsValid(*key) || trigger->tgconstrrelid != rollouts || trigger->tgenabled != TRIGGER_FIRES_ON_ORIGIN)
				return false;
			*key = trigger->tgconstraint;
		}
		else if (!is_ours(trigger))
			return false;
	}
	return true;
}

static bool
has_generated_columns(Relation table)
{
	TupleDesc	desc = RelationGetDescr(table);

	for (int i = 0; i < desc->natts; i++)
		if (TupleDescAttr(desc, i)->attgenerated != '\0')
			return true;
	return false;
}

/* The foreign key to the rollouts by the table's own list of them. */
static Oid
listed_key(Relation table, Oid rollouts)
{
	ListCell   *cell;

	foreach(cell, RelationGetFKeyList(table))
		if (lfirst_node(ForeignKeyCacheInfo, cell)->confrelid == rollouts)
			return lfirst_node(ForeignKeyCacheInfo, cell)->conoid;
	return InvalidOid;
}

/* Is it so for the table and all below it? */
static bool
is_plain_table(Relation root, Oid rollouts, Oid *key)
{
	List	   *all = find_all_inheritors(RelationGetRelid(root), RowExclusiveLock, NULL);
	ListCell   *cell;

	if (root->rd_rel->relkind != RELKIND_PARTITIONED_TABLE || root->rd_rel->relispartition || root->rd_rules != NULL ||
		check_enable_rls(RelationGetRelid(root), InvalidOid, true) == RLS_ENABLED)
		return false;
	foreach(cell, all)
	{
		Relation	table = table_open(lfirst_oid(cell), NoLock);
		Oid			own_key;
		bool		is_plain = (table->rd_rel->relkind == RELKIND_PARTITIONED_TABLE || table->rd_rel->relkind == RELKIND_RELATION) &&
			(table->rd_rel->relkind == RELKIND_PARTITIONED_TABLE || table->rd_rel->relam == HEAP_TABLE_AM_OID) &&
			has_only_our_triggers(table, rollouts, &own_key) && (OidIsValid(own_key) || !has_key_triggers(table)) && !has_generated_columns(table);

		if (table == root && is_plain)
			*key = OidIsValid(own_key) ? own_key : listed_key(root, rollouts);
		table_close(table, NoLock);
		if (!is_plain)
			return false;
	}
	return true;
}

/* A temporary table of this session: the caller's, where steps wait. */
static bool
is_waiting_room(Relation table)
{
	return table->rd_rel->relkind == RELKIND_RELATION && RELATION_IS_LOCAL(table) && table->rd_rel->relpersistence == RELPERSISTENCE_TEMP &&
		table->rd_rel->relam == HEAP_TABLE_AM_OID && !table->rd_rel->relispartition && table->rd_rules == NULL && table->trigdesc == NULL &&
		!table->rd_rel->relhasindex && !has_generated_columns(table);
}

bool
inserts_rollouts_as_they_are(Oid rollouts)
{
	ListCell   *cell;

	/* Those below it are locked when they are found, not the table itself. */
	LockRelationOid(rollouts, RowExclusiveLock);
	foreach(cell, find_all_inheritors(rollouts, RowExclusiveLock, NULL))
	{
		Relation	table = table_open(lfirst_oid(cell), NoLock);
		Oid			key;
		bool		is_plain = table->rd_rules == NULL && has_only_our_triggers(table, InvalidOid, &key) && !OidIsValid(key);

		table_close(table, NoLock);
		if (!is_plain)
			return false;
	}
	return true;
}

/* The foreign key, where rollouts can be looked up by it in their primary key. */
static const ForeignKeyCacheInfo *
find_key(Relation steps, Relation rollouts, Oid constraint)
{
	ListCell   *cell;

	foreach(cell, RelationGetFKeyList(steps))
	{
		ForeignKeyCacheInfo *key = lfirst_node(ForeignKeyCacheInfo, cell);
		Bitmapset  *referenced = NULL;

		if (key->conoid != constraint)
			continue;
		for (int i = 0; i < key->nkeys; i++)
			referenced = bms_add_member(referenced, key->confkey[i] - FirstLowInvalidHeapAttributeNumber);
		return bms_equal(referenced, RelationGetIndexAttrBitmap(rollouts, INDEX_ATTR_BITMAP_PRIMARY_KEY)) ? copyObject(key) : NULL;
	}
	return NULL;
}

/* The one thing that an INSERT would look after, where that is all; else NULL. */
static const ForeignKeyCacheInfo *
key_of_steps(Relation steps, Relation rollouts)
{
	Oid			key = InvalidOid;

	if (!is_plain_table(steps, RelationGetRelid(rollouts), &key) || rollouts->rd_rel->relkind != RELKIND_PARTITIONED_TABLE || rollouts->rd_rel->relispartition)
		return NULL;
	return find_key(steps, rollouts, key);
}

/* ----------
 * Beginning
 * ----------
 */

static void
open_routes(Routes *routes, Relation table, List *columns)
{
	ParseState *names = make_parsestate(NULL);
	ParseNamespaceItem *item = addRangeTableEntryForRelation(names, table, RowExclusiveLock, NULL, false, false);
	ResultRelInfo *root;
	ListCell   *cell;

	/* Rollouts are only looked at, as a foreign key looks at them. */
	foreach(cell, columns)
		note_inserted_column(item, lfirst_int(cell) - FirstLowInvalidHeapAttributeNumber);
	if (columns != NIL)
		check_insert_permission(names, item);
	routes->table = table;
	routes->estate = CreateExecutorState();
	init_range_table(routes->estate, names);
	root = makeNode(ResultRelInfo);
	ExecInitResultRelation(routes->estate, root, 1);
	routes->state = makeNode(ModifyTableState);
	routes->state->ps.state = routes->estate;
	routes->state->operation = CMD_INSERT;
	routes->state->mt_nrels = 1;
	routes->state->resultRelInfo = root;
	routes->state->rootResultRelInfo = root;
	if (table->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
		routes->routing = ExecSetupPartitionTupleRouting(routes->estate, table);
	routes->slot = MakeSingleTupleTableSlot(RelationGetDescr(table), &TTSOpsVirtual);
	free_parsestate(names);
}

static void
close_routes(Routes *routes)
{
	if (routes->table == NULL)
		return;
	ExecDropSingleTupleTableSlot(routes->slot);
	if (routes->routing != NULL)
		ExecCleanupTupleRouting(routes->state, routes->routing);
	ExecCloseResultRelations(routes->estate);
	ExecCloseRangeTableRelations(routes->estate);
	FreeExecutorState(routes->estate);
	table_close(routes->table, NoLock);
}

/* Where the row belongs: the slot that is returned is as the partition has it. */
static ResultRelInfo *
find_partition(Routes *routes, TupleTableSlot **row)
{
	ResultRelInfo *partition = routes->state->rootResultRelInfo;
	TupleConversionMap *map;

	if (routes->routing == NULL)
		return partition;
	partition = ExecFindPartition(routes->state, partition, routes->routing, *row, routes->estate);
	map = root_to_partition_map(partition, routes->estate);
	if (map != NULL)
		*row = execute_attr_map_slot(map->attrMap, *row, partition->ri_PartitionTupleSlot);
	return partition;
}

/* The column's place, if it is of that type. */
static AttrNumber
place_of(Relation table, const char *name, Oid type)
{
	AttrNumber	place = get_attnum(RelationGetRelid(table), name);

	if (place <= 0 || TupleDescAttr(RelationGetDescr(table), place - 1)->atttypid != type ||
		TupleDescAttr(RelationGetDescr(table), place - 1)->atttypmod != -1)
		return InvalidAttrNumber;
	return place;
}

/* Defaults of what is not given; false where a type has something to say on NULL. */
static bool
find_defaults(RowWriter *writer, Relation table)
{
	TupleDesc	desc = RelationGetDescr(table);

	writer->defaults = ALLOCATE_ZEROED_ARRAY(ExprState *, desc->natts);
	for (int i = 0; i < desc->natts; i++)
	{
		bool		is_given = TupleDescAttr(desc, i)->attisdropped;
		Node	   *expression;

		for (int c = 0; c < writer->n_columns && !is_given; c++)
			is_given = writer->places[c] == i + 1;
		if (is_given)
			continue;
		expression = build_column_default(table, i + 1);
		if (expression != NULL)
			writer->defaults[i] = ExecInitExpr(expression_planner((Expr *) expression), NULL);
		else if (get_typtype(TupleDescAttr(desc, i)->atttypid) == TYPTYPE_DOMAIN)
			return false;
	}
	return true;
}

static bool
find_columns(RowWriter *writer, Relation table, char **columns, const Oid *types)
{
	writer->places = ALLOCATE_ARRAY(AttrNumber, writer->n_columns);
	for (int c = 0; c < writer->n_columns; c++)
	{
		writer->places[c] = place_of(table, columns[c], types[c]);
		if (writer->places[c] == InvalidAttrNumber)
			return false;
	}
	return find_defaults(writer, table);
}

/* Are the columns of the foreign key texts, and given among the first? */
static bool
is_told_by(const RowWriter *writer, Relation steps, Relation rollouts, int n_keys)
{
	for (int i = 0; i < writer->key->nkeys; i++)
	{
		int			c = 0;

		while (c < n_keys && writer->places[c] != writer->key->conkey[i])
			c++;
		if (c == n_keys || TupleDescAttr(RelationGetDescr(steps), writer->key->conkey[i] - 1)->atttypid != TEXTOID ||
			TupleDescAttr(RelationGetDescr(rollouts), writer->key->confkey[i] - 1)->atttypid != TEXTOID)
			return false;
	}
	return true;
}

RowWriter *
begin_step_rows(Oid steps, Oid rollouts, int n_columns, char **columns, const Oid *types, int n_keys)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "stepadv rows", ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(context);
	RowWriter  *writer = palloc0(sizeof(RowWriter));
	Relation	table = table_open(steps, RowExclusiveLock);
	Relation	referenced = NULL;
	List	   *given = NIL;
	bool		can_write;

	PreventCommandIfReadOnly("INSERT");
	writer->context = context;
	writer->writing = AllocSetContextCreate(context, "stepadv rows written", ALLOCSET_DEFAULT_SIZES);
	writer->n_columns = n_columns;
	if (is_waiting_room(table))
		can_write = find_columns(writer, table, columns, types);
	else
	{
		referenced = table_open(rollouts, RowExclusiveLock);
		writer->key = key_of_steps(table, referenced);
		can_write = writer->key != NULL && find_columns(writer, table, columns, types) && is_told_by(writer, table, referenced, n_keys);
	}
	if (!can_write)
	{
		table_close(table, NoLock);
		if (referenced != NULL)
			table_close(referenced, NoLock);
		MemoryContextSwitchTo(caller);
		MemoryContextDelete(context);
		return NULL;
	}
	for (int c = 0; c < n_columns; c++)
		given = lappend_int(given, writer->places[c]);
	open_routes(&writer->steps, table, given);
	if (referenced != NULL)
		open_routes(&writer->rollouts, referenced, NIL);
	MemoryContextSwitchTo(caller);
	return writer;
}

/* ----------
 * The foreign key
 * ----------
 */

static Oid
primary_key_of(const ResultRelInfo *partition)
{
	for (int i = 0; i < partition->ri_NumIndices; i++)
		if (partition->ri_IndexRelationDescs[i]->rd_index->indisprimary)
			return RelationGetRelid(partition->ri_IndexRelationDescs[i]);
	elog(ERROR, "table \"%s\" has no primary key", RelationGetRelationName(partition->ri_RelationDesc));
}

/* Is there the row's rollout?  It is kept from being deleted or renamed then. */
static bool
lock_rollout(RowWriter *writer, const TupleTableSlot *step)
{
	Routes	   *routes = &writer->rollouts;
	TupleTableSlot *slot = ExecClearTuple(routes->slot);
	ResultRelInfo *partition;
	TupleTableSlot *found;
	bool		is_there;

	memset(slot->tts_isnull, true, slot->tts_tupleDescriptor->natts * sizeof(bool));
	for (int i = 0; i < writer->key->nkeys; i++)
	{
		slot->tts_values[writer->key->confkey[i] - 1] = step->tts_values[writer->key->conkey[i] - 1];
		slot->tts_isnull[writer->key->confkey[i] - 1] = step->tts_isnull[writer->key->conkey[i] - 1];
	}
	ExecStoreVirtualTuple(slot);
	partition = find_partition(routes, &slot);
	found = table_slot_create(partition->ri_RelationDesc, NULL);
	is_there = find_by_index(partition->ri_RelationDesc, primary_key_of(partition), LockTupleKeyShare, slot, found);
	ExecDropSingleTupleTableSlot(found);
	ResetPerTupleExprContext(routes->estate);
	return is_there;
}

bool
has_rollout(RowWriter *writer, const Datum *values, int n_keys)
{
	TupleTableSlot *step = ExecClearTuple(writer->steps.slot);

	if (writer->key == NULL)
		return false;
	memset(step->tts_isnull, true, step->tts_tupleDescriptor->natts * sizeof(bool));
	for (int c = 0; c < n_keys; c++)
	{
		step->tts_values[writer->places[c] - 1] = values[c];
		step->tts_isnull[writer->places[c] - 1] = false;
	}
	return lock_rollout(writer, ExecStoreVirtualTuple(step));
}

/* As the foreign key would say it; who asked asks an INSERT, which says it itself. */
static _Noreturn void
refuse_orphan(const RowWriter *writer)
{
	ereport(ERROR,
			(errcode(ERRCODE_FOREIGN_KEY_VIOLATION),
			 errmsg("insert or update on table \"%s\" violates foreign key constraint \"%s\"",
					RelationGetRelationName(writer->steps.table), get_constraint_name(writer->key->conoid))));
}

/* ----------
 * Writing
 * ----------
 */

static void
write_batch(RowWriter *writer, Batch *batch)
{
	EState	   *estate = writer->steps.estate;
	MemoryContext caller = MemoryContextSwitchTo(writer->writing);

	CHECK_FOR_INTERRUPTS();
	table_multi_insert(batch->partition->ri_RelationDesc, batch->slots, batch->n_rows, GetCurrentCommandId(true), 0, NULL);
	MemoryContextSwitchTo(caller);
	for (int i = 0; i < batch->n_rows; i++)
	{
		if (batch->partition->ri_NumIndices > 0)
			list_free(insert_index_tuples(batch->partition, batch->slots[i], estate));
		ResetPerTupleExprContext(estate);
		ExecClearTuple(batch->slots[i]);
		note_row_written();
	}
	MemoryContextReset(writer->writing);
	batch->n_rows = 0;
}

static void
write_batches(RowWriter *writer)
{
	ListCell   *cell;

	foreach(cell, writer->batches)
	{
		Batch	   *batch = lfirst(cell);

		if (batch->n_rows > 0)
			write_batch(writer, batch);
	}
	writer->n_rows = 0;
	writer->n_bytes = 0;
}

static Batch *
batch_of(RowWriter *writer, ResultRelInfo *partition)
{
	ListCell   *cell;

	if (writer->last != NULL && writer->last->partition == partition)
		return writer->last;
	foreach(cell, writer->batches)
	{
		writer->last = lfirst(cell);
		if (writer->last->partition == partition)
			return writer->last;
	}
	writer->last = MemoryContextAllocZero(writer->context, sizeof(Batch));
	writer->last->partition = partition;
	MemoryContextSwitchTo(writer->context);
	writer->batches = lappend(writer->batches, writer->last);
	return writer->last;
}

/* The next free slot of the batch. */
static TupleTableSlot *
next_slot(RowWriter *writer, Batch *batch)
{
	if (batch->n_rows == batch->n_slots)
	{
		MemoryContext caller = MemoryContextSwitchTo(writer->context);

		batch->slots[batch->n_slots++] = table_slot_create(batch->partition->ri_RelationDesc, NULL);
		MemoryContextSwitchTo(caller);
	}
	return batch->slots[batch->n_rows++];
}

/* The whole row, with defaults. */
static TupleTableSlot *
fill_row(RowWriter *writer, const Datum *values, const bool *nulls)
{
	TupleTableSlot *slot = ExecClearTuple(writer->steps.slot);
	ExprContext *context = GetPerTupleExprContext(writer->steps.estate);

	for (int i = 0; i < slot->tts_tupleDescriptor->natts; i++)
		if (writer->defaults[i] == NULL)
			slot->tts_isnull[i] = true;
		else
			slot->tts_values[i] = ExecEvalExprSwitchContext(writer->defaults[i], context, &slot->tts_isnull[i]);
	for (int c = 0; c < writer->n_columns; c++)
	{
		slot->tts_values[writer->places[c] - 1] = values[c];
		slot->tts_isnull[writer->places[c] - 1] = nulls[c];
	}
	return ExecStoreVirtualTuple(slot);
}

void
write_step_row(RowWriter *writer, const Datum *values, const bool *nulls, bool same_rollout)
{
	Routes	   *routes = &writer->steps;
	TupleTableSlot *row = fill_row(writer, values, nulls);
	TupleTableSlot *held;
	ResultRelInfo *partition;
	MemoryContext caller = CurrentMemoryContext;

	if (!same_rollout && writer->key != NULL && !lock_rollout(writer, row))
		refuse_orphan(writer);
	partition = find_partition(routes, &row);
	row->tts_tableOid = RelationGetRelid(partition->ri_RelationDesc);
	if (partition->ri_RelationDesc->rd_att->constr != NULL)
		ExecConstraints(partition, row, routes->estate);
	held = next_slot(writer, batch_of(writer, partition));
	ExecCopySlot(held, row);
	MemoryContextSwitchTo(caller);
	ResetPerTupleExprContext(routes->estate);
	writer->n_rows++;
	writer->n_written++;
	writer->n_bytes += ((HeapTupleTableSlot *) held)->tuple->t_len;
	if (writer->n_rows == MAX_ROWS || writer->n_bytes > MAX_BYTES)
		write_batches(writer);
}

uint64
end_step_rows(RowWriter *writer)
{
	uint64		n_written = writer->n_written;
	ListCell   *cell;

	write_batches(writer);
	foreach(cell, writer->batches)
	{
		Batch	   *batch = lfirst(cell);

		for (int i = 0; i < batch->n_slots; i++)
			ExecDropSingleTupleTableSlot(batch->slots[i]);
	}
	close_routes(&writer->steps);
	close_routes(&writer->rollouts);
	MemoryContextDelete(writer->context);
	return n_written;
}
