/*
 * kept.h
 *		Groups kept by maintain: the session's cache of an attachment, and the statements that update its
 *		tables.
 */
#ifndef STEPADV_KEPT_H
#define STEPADV_KEPT_H

#include "executor/spi.h"

/* When the groups that a statement changed are folded. */
typedef enum KeptHow
{
	KEPT_BY_STATEMENT,
	KEPT_BY_REFRESH
} KeptHow;

/*
 * The statements; kept_text.c has their texts.  ONE has a group's columns as parameters; SET reads the groups
 * in the relation GROUPS_NAME.
 */
typedef enum KeptStatement
{
	KEPT_LOOK,
	KEPT_CLAIM,
	KEPT_FOLD_ONE,
	KEPT_FOLD_GROWN,
	KEPT_FOLD_SET,
	KEPT_FORGET_ONE,
	KEPT_FORGET_SET,
	KEPT_TAKE_WAITING,
	KEPT_ALL_WAIT,
	KEPT_CLEAR_ALL,
	KEPT_FOLD_ALL,
	KEPT_ANALYZE,
	KEPT_ALL_KEYS,
	KEPT_MAKE_DIGESTS_ONE,
	KEPT_MAKE_DIGESTS_SET,
	KEPT_MAKE_ALL_DIGESTS,
	KEPT_MAKE_PART_OF_DIGESTS,
	KEPT_ANALYZE_DIGESTS,
	KEPT_CLEAR_DIGESTS_ONE,
	KEPT_CLEAR_DIGESTS_SET,
	KEPT_CLEAR_ALL_DIGESTS,
	KEPT_ADD_DIGESTS,
	KEPT_MARK_DIGEST,
	KEPT_LEFT_TO_READERS,
	N_KEPT_STATEMENTS
} KeptStatement;

#define GROUPS_NAME "groups"
#define DIGESTS_NAME "digests"

typedef struct Kept
{
	Oid			attachment;		/* hash key */
	Oid			owner;
	Oid			source;
	KeptHow		how;
	int			n_keys;
	Oid			fresh;			/* view: the groups folded on demand */
	Oid			folded;			/* table: the groups kept */
	Oid			changed;		/* table: pending groups */
	Oid			seen;			/* table: rows seen of each group; or InvalidOid */
	Oid			fresh_digests;	/* view: their digests, computed on demand; or InvalidOid */
	Oid			made_digests;	/* view: the same, computed from the kept groups */
	Oid			digests;		/* table: the digests kept; or InvalidOid */
	bool		by_index;		/* an index leads to the rows of a group */
	Oid			unreadable;		/* a table below that the owner cannot read, or InvalidOid */
	TupleDesc	groups;			/* k1, k2, ...: the columns of the group in the kept table */
	uint64		generation;		/* different each time it is looked up */
	MemoryContext context;
	SPIPlanPtr	watch;			/* never run; valid as long as this entry */
	SPIPlanPtr	plans[N_KEPT_STATEMENTS];	/* made when needed */
} Kept;

typedef void (*KeptWork) (Kept *kept, void *argument);

/*
 * Do the work with the privileges of the attachment's owner and settings of our own, connected to SPI.  Does
 * nothing if the attachment keeps no groups.
 */
extern void with_kept(Oid attachment, KeptWork work, void *argument);

/* Change a setting for the work. */
extern void kept_set(const char *name, const char *value);

/* May tables be scanned sequentially although an index leads to groups? */
extern void allow_sequential_scans(const Kept *kept, bool allow);

/* The views whose changes change what is kept: the one that folds groups, and that of their digests. */
extern List *kept_views(const Kept *kept);

/*
 * Run a statement, with the group's columns as its parameters if it has any.  Returns the number of rows
 * processed.  kept_query leaves its result in SPI_tuptable.
 */
extern uint64 kept_execute(Kept *kept, KeptStatement statement, SPITupleTable *groups, uint64 group);
extern uint64 kept_query(Kept *kept, KeptStatement statement, SPITupleTable *groups, uint64 group);

/* Run a statement that is planned for the current state of the tables. */
extern uint64 kept_execute_once(Kept *kept, KeptStatement statement);

/* The template of a statement. */
extern const char *kept_statement_text(KeptStatement statement);

/* The source as messages show it. */
extern char *kept_source(const Kept *kept);

/* A statement about kept groups from a template; see kept_text.c. */
extern char *kept_text(const Kept *kept, const char *template);

/* A relation in such a text, with its schema. */
extern char *kept_relation_name(Oid relation);

/* A plan that stays, for such a text with this many parameters of the group's types. */
extern SPIPlanPtr kept_prepare(const Kept *kept, const char *text, int n_parameters);

/* Free such a plan, unless it may be running. */
extern void kept_forget_plan(SPIPlanPtr plan);

#endif							/* STEPADV_KEPT_H */
