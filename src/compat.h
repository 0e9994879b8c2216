/*
 * compat.h
 *		All differences between PostgreSQL 14 and 19.
 */
#ifndef STEPADV_COMPAT_H
#define STEPADV_COMPAT_H

#if PG_VERSION_NUM < 140000
#error "stepadv needs PostgreSQL 14 or later"
#endif

/* 16 moved the varlena macros from postgres.h to this header. */
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

/* A context that is filled and reset many times.  From 15 on, it keeps one block of this size for all pieces. */
#if PG_VERSION_NUM >= 150000
#define create_keeping_context(parent, name, size) GenerationContextCreate(parent, name, size, size, size)
#else
#define create_keeping_context(parent, name, size) AllocSetContextCreate(parent, name, 0, 64 * 1024, ALLOCSET_DEFAULT_MAXSIZE)
#endif

/* In 14, attach grants no rights on the adapter, so readers of kept groups need them only on the views below it. */
#define FIRST_VIEW_TO_REQUIRE (PG_VERSION_NUM >= 150000 ? 0 : 1)

/* 14 assumed that every custom scan can project; 15 checks. 15 also renamed the function that reserves a prefix. */
#if PG_VERSION_NUM >= 150000
#define CUSTOM_PATH_FLAGS CUSTOMPATH_SUPPORT_PROJECTION
#define reserve_guc_prefix(prefix) MarkGUCPrefixReserved(prefix)
#else
#define CUSTOM_PATH_FLAGS 0
#define reserve_guc_prefix(prefix) EmitWarningsOnPlaceholders(prefix)
#endif

/* Headers of ExplainPropertyList and ExplainState; 18 moved them. */
#if PG_VERSION_NUM >= 180000
#define EXPLAIN_PROPERTIES_HEADER "commands/explain_format.h"
#define EXPLAIN_STATE_HEADER "commands/explain_state.h"
#else
#define EXPLAIN_PROPERTIES_HEADER "commands/explain.h"
#define EXPLAIN_STATE_HEADER "commands/explain.h"
#endif

/* The number of tables in a query. 18 adds a range table entry for grouping, and provides the number without it. */
#if PG_VERSION_NUM >= 180000
#define explain_n_tables(es) ((es)->rtable_size)
#else
#define explain_n_tables(es) list_length((es)->rtable)
#endif

/* 18 counts the disabled nodes of a plan separately from its cost. */
#if PG_VERSION_NUM >= 180000
#define copy_disabled_nodes(path, input) ((path)->disabled_nodes = (input)->disabled_nodes)
#else
#define copy_disabled_nodes(path, input) ((void) 0)
#endif

/* In 14, a partial path of a subquery has the row estimate of all its rows. */
#if PG_VERSION_NUM >= 150000
#define part_counts_as_all(path) false
#else
#define part_counts_as_all(path) (IsA(path, SubqueryScanPath) && (path)->param_info == NULL)
#endif

/* The memory limit of a hash table; 15 returns it in bytes. */
#if PG_VERSION_NUM >= 150000
#define hash_memory_limit() get_hash_memory_limit()
#else
#define hash_memory_limit() ((size_t) get_hash_mem() * 1024)
#endif

/* Files shared by processes. 15 moved these functions to file sets, which may also belong to one process. */
#if PG_VERSION_NUM >= 150000
#define create_shared_file(set, name) BufFileCreateFileSet(&(set)->fs, name)
#define export_shared_file(file) BufFileExportFileSet(file)
#define open_shared_file(set, name) BufFileOpenFileSet(&(set)->fs, name, O_RDONLY, false)
#else
#define create_shared_file(set, name) BufFileCreateShared(set, name)
#define export_shared_file(file) BufFileExportShared(file)
#define open_shared_file(set, name) BufFileOpenShared(set, name, O_RDONLY)
#endif

/*
 * Hash tables of tuples. 18 needs the slot type of the input, and stores additional data before the tuple
 * instead of in the entry.
 */
#if PG_VERSION_NUM >= 180000
#define build_tuple_hash_table(parent, slot, n_keys, positions, equal, hash, collations, n_buckets, table_context, temporary) \
	BuildTupleHashTable(parent, (slot)->tts_tupleDescriptor, (slot)->tts_ops, n_keys, positions, equal, hash, collations, \
						n_buckets, sizeof(void *), table_context, table_context, temporary, false)
#define tuple_hash_place(table, entry) ((void **) TupleHashEntryGetAdditional(table, entry))
#define tuple_hash_first(entry) TupleHashEntryGetTuple(entry)
#else
#define build_tuple_hash_table(parent, slot, n_keys, positions, equal, hash, collations, n_buckets, table_context, temporary) \
	BuildTupleHashTableExt(parent, (slot)->tts_tupleDescriptor, n_keys, positions, equal, hash, collations, \
						   n_buckets, sizeof(void *), table_context, table_context, temporary, false)
#define tuple_hash_place(table, entry) (&(entry)->additional)
#define tuple_hash_first(entry) ((entry)->firstTuple)
#endif

/* Checks the right to execute a function. 16 has one function for all kinds of objects. */
#if PG_VERSION_NUM >= 160000
#define may_execute(function, role) object_aclcheck(ProcedureRelationId, function, role, ACL_EXECUTE)
#else
#define may_execute(function, role) pg_proc_aclcheck(function, role, ACL_EXECUTE)
#endif

/* The grouping expressions of a range table entry; 18 adds such an entry. */
#if PG_VERSION_NUM >= 180000
#define group_expressions(rte) ((rte)->rtekind == RTE_GROUP ? (rte)->groupexprs : NIL)
#else
#define group_expressions(rte) NIL
#endif

/* The columns of a table that a query reads; 16 moved them from the range table entry. */
#if PG_VERSION_NUM >= 160000
#include "parser/parse_relation.h"
#define columns_read(query, rte) \
	((rte)->perminfoindex == 0 ? NULL : getRTEPermissionInfo((query)->rteperminfos, rte)->selectedCols)
#else
#define columns_read(query, rte) ((rte)->selectedCols)
#endif

/* 19 requires a call when a manually built tuple descriptor is complete. */
#if PG_VERSION_NUM >= 190000
#define finish_tuple_desc(desc) TupleDescFinalize(desc)
#else
#define finish_tuple_desc(desc) ((void) 0)
#endif

/* 16 renamed the function that returns an entry by its index. */
#if PG_VERSION_NUM >= 160000
#define local_backend_status(i) pgstat_get_local_beentry_by_index(i)
#else
#define local_backend_status(i) pgstat_fetch_stat_local_beentry(i)
#endif

/* Is a column declared NOT NULL?  From 17 on, the planner removes such tests itself. */
#if PG_VERSION_NUM >= 170000
#define is_never_null(table, column) false
#else
#define is_never_null(table, column) (TupleDescAttr(table, (column) - 1)->attnotnull)
#endif

#endif							/* STEPADV_COMPAT_H */
