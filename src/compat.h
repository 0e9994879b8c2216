/*
 * compat.h
 *		What differs between PostgreSQL 14 and 19, in one place.
 */
#ifndef STEPADV_COMPAT_H
#define STEPADV_COMPAT_H

#if PG_VERSION_NUM < 140000
#error "stepadv needs PostgreSQL 14 or later"
#endif

/* 16 moved the varlena macros out of postgres.h. */
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

/* Memory that is filled and reset many times: from 15 on one block of this size stays, which takes large pieces, too. */
#if PG_VERSION_NUM >= 150000
#define create_keeping_context(parent, name, size) GenerationContextCreate(parent, name, size, size, size)
#else
#define create_keeping_context(parent, name, size) AllocSetContextCreate(parent, name, 0, 64 * 1024, ALLOCSET_DEFAULT_MAXSIZE)
#endif

/* Readers of kept groups need a grant on the views below but the adapter in 14, where attach grants none on it. */
#define FIRST_VIEW_TO_REQUIRE (PG_VERSION_NUM >= 150000 ? 0 : 1)

/*
 * Up to 14 every custom scan was assumed to project; 15 checks, and has
 * the other name for the reservation of a prefix.
 */
#if PG_VERSION_NUM >= 150000
#define CUSTOM_PATH_FLAGS CUSTOMPATH_SUPPORT_PROJECTION
#define reserve_guc_prefix(prefix) MarkGUCPrefixReserved(prefix)
#else
#define CUSTOM_PATH_FLAGS 0
#define reserve_guc_prefix(prefix) EmitWarningsOnPlaceholders(prefix)
#endif

/* Where ExplainPropertyList and ExplainState are: 18 keeps what extensions print, and what is explained, in headers of their own. */
#if PG_VERSION_NUM >= 180000
#define EXPLAIN_PROPERTIES_HEADER "commands/explain_format.h"
#define EXPLAIN_STATE_HEADER "commands/explain_state.h"
#else
#define EXPLAIN_PROPERTIES_HEADER "commands/explain.h"
#define EXPLAIN_STATE_HEADER "commands/explain.h"
#endif

/* 18 has the grouping itself among the tables of a query, and counts them without it. */
#if PG_VERSION_NUM >= 180000
#define explain_n_tables(es) ((es)->rtable_size)
#else
#define explain_n_tables(es) list_length((es)->rtable)
#endif

/* 18 counts the disabled nodes of a plan apart from its cost. */
#if PG_VERSION_NUM >= 180000
#define copy_disabled_nodes(path, input) ((path)->disabled_nodes = (input)->disabled_nodes)
#else
#define copy_disabled_nodes(path, input) ((void) 0)
#endif

/* Up to 14 a part of a subquery's rows, which one process of several has, is counted as all of them. */
#if PG_VERSION_NUM >= 150000
#define part_counts_as_all(path) false
#else
#define part_counts_as_all(path) (IsA(path, SubqueryScanPath) && (path)->param_info == NULL)
#endif

/* What a hash table may take: bytes from 15 on. */
#if PG_VERSION_NUM >= 150000
#define hash_memory_limit() get_hash_memory_limit()
#else
#define hash_memory_limit() ((size_t) get_hash_mem() * 1024)
#endif

/* Files that processes share: in 15 a set of files can be one process's, too. */
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
 * Hash tables of tuples: 18 needs the type of the input's slots, and
 * keeps what is stored with an entry before the tuple instead of apart.
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

/* 16 looks permissions on any object up by its catalog. */
#if PG_VERSION_NUM >= 160000
#define may_execute(function, role) object_aclcheck(ProcedureRelationId, function, role, ACL_EXECUTE)
#else
#define may_execute(function, role) pg_proc_aclcheck(function, role, ACL_EXECUTE)
#endif

/* 18 has an entry among the tables of a query for the expressions that it groups by. */
#if PG_VERSION_NUM >= 180000
#define group_expressions(rte) ((rte)->rtekind == RTE_GROUP ? (rte)->groupexprs : NIL)
#else
#define group_expressions(rte) NIL
#endif

/* Which columns of a table a query reads: 16 keeps that apart from the table's entry. */
#if PG_VERSION_NUM >= 160000
#include "parser/parse_relation.h"
#define columns_read(query, rte) \
	((rte)->perminfoindex == 0 ? NULL : getRTEPermissionInfo((query)->rteperminfos, rte)->selectedCols)
#else
#define columns_read(query, rte) ((rte)->selectedCols)
#endif

/* 19 requires a call when a descriptor made by hand is complete. */
#if PG_VERSION_NUM >= 190000
#define finish_tuple_desc(desc) TupleDescFinalize(desc)
#else
#define finish_tuple_desc(desc) ((void) 0)
#endif

/* 16 has two ways to count the sessions' entries. */
#if PG_VERSION_NUM >= 160000
#define local_backend_status(i) pgstat_get_local_beentry_by_index(i)
#else
#define local_backend_status(i) pgstat_fetch_stat_local_beentry(i)
#endif

/* Is a column declared NOT NULL?  From 17 on the planner removes such tests itself. */
#if PG_VERSION_NUM >= 170000
#define is_never_null(table, column) false
#else
#define is_never_null(table, column) (TupleDescAttr(table, (column) - 1)->attnotnull)
#endif

#endif							/* STEPADV_COMPAT_H */
