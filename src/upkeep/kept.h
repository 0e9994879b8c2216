/*
 * kept.h
 *		Groups that maintain keeps: what a session knows of an attachment, and
 *		the statements that keep its tables right.
 */
#ifndef STEPADV_KEPT_H
#define STEPADV_KEPT_H

#include "executor/spi.h"

/* When the groups that a statement changed are folded. */
typedef enum KeptHow
{
	KEPT_BY_STATEMENT,
	KEPT_AT_COMMIT,
	KEPT_BY_REFRESH
} KeptHow;

/*
 * The statements, see their texts in kept_text.c.  ONE is given a group's columns as
 * parameters; SET reads the groups in the relation GROUPS_NAME.
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
	KEPT_PARTS_ONE,
	KEPT_PARTS_SET,
	KEPT_CLEAR_PARTS_ONE,
	KEPT_CLEAR_PARTS_SET,
	KEPT_ADD_PARTS,
	KEPT_MARK_PARTS,
	KEPT_ANY_MARKED,
	KEPT_TAKE_WAITING,
	KEPT_ANY_WAITING,
	KEPT_SHARE,
	KEPT_ALL_WAIT,
	KEPT_CLEAR_ALL,
	KEPT_FOLD_ALL,
	KEPT_CLEAR_ALL_PARTS,
	KEPT_ALL_PARTS,
	KEPT_ALL_KEYS,
	KEPT_LET_WAIT,
	KEPT_ALL_LET_WAIT,
	KEPT_TAKE_UNSIGNED,
	KEPT_CLEAR_UNSIGNED,
	KEPT_EVERYTHING_ONE,
	KEPT_EVERYTHING_SET,
	KEPT_EVERYTHING,
	KEPT_ADD_SUMS,
	KEPT_CLEAR_SIGNS_ONE,
	KEPT_CLEAR_SIGNS_SET,
	KEPT_CLEAR_ALL_SIGNS,
	KEPT_ADD_SIGNS,
	KEPT_CLEAR_BINS_ONE,
	KEPT_CLEAR_BINS_SET,
	KEPT_CLEAR_ALL_BINS,
	KEPT_ADD_BINS,
	KEPT_CLEAR_BEHAVIOUR_ONE,
	KEPT_CLEAR_BEHAVIOUR_SET,
	KEPT_ADD_BEHAVIOUR,
	KEPT_CLEAR_PROBLEMS_ONE,
	KEPT_CLEAR_PROBLEMS_SET,
	KEPT_CLEAR_ALL_PROBLEMS,
	KEPT_ADD_PROBLEMS_ONE,
	KEPT_ADD_PROBLEMS_SET,
	KEPT_ADD_ALL_PROBLEMS,
	KEPT_STILL_WAIT,
	KEPT_LET_SET_WAIT,
	KEPT_END_WAIT_SET,
	KEPT_ANY_UNSIGNED,
	KEPT_FORGET_ALL_DIVISIONS,
	KEPT_SUMS_STATEMENTS,
	KEPT_ADD_ANSWERS,
	KEPT_ALL_ANSWERS,
	N_KEPT_STATEMENTS
} KeptStatement;

#define GROUPS_NAME "groups"
#define PARTS_NAME "parts"

typedef struct Kept
{
	Oid			attachment;		/* hash key */
	Oid			owner;
	Oid			source;
	KeptHow		how;
	bool		compares;		/* what a refresh folds is found by comparing all rows */
	int			n_keys;
	Oid			fresh;			/* view: the groups folded when asked */
	Oid			folded;			/* table: the groups kept */
	Oid			changed;		/* table: groups that wait */
	Oid			fresh_over_time;	/* the same of what the views over time add up, */
	Oid			folded_over_time;	/* or both InvalidOid */
	Oid			waiting;		/* table: groups that changed since these were kept: */
	Oid			fresh_signs;	/* the signs of their steps, or both InvalidOid, */
	Oid			folded_signs;
	Oid			fresh_bins;		/* the distribution of their advantages, likewise */
	Oid			folded_bins;
	Oid			fresh_problems; /* what is wrong with their rows, likewise */
	Oid			folded_problems;
	Oid			parts;			/* view: all of these, computed of the kept groups; or InvalidOid */
	Oid			fresh_behaviour;	/* view: what is counted of their calls and rollouts; or InvalidOid */
	Oid			folded_behaviour;	/* the same, kept, where the view of the parts computes it; or InvalidOid */
	Oid			fresh_lineage;	/* view: what is counted of their tokens; or InvalidOid */
	bool		has_answers;	/* answers about each are kept: see sql/upkeep/kept_answers.sql */
	Oid			summed[3];		/* tables of sums by division, */
	bool		is_summed;		/* which are kept: see sql/attach/summed.sql */
	bool		lacks_sums;		/* those of some division are to be added */
	bool		by_index;		/* an index leads to the rows of a group */
	List	   *forget_sums;	/* texts of statements about these: before what is kept of groups that wait */
	List	   *add_sums;		/* is kept anew, and after it; NIL as long as nobody needed them */
	Oid			unreadable;		/* a table below that the owner may not read, or InvalidOid */
	TupleDesc	groups;			/* k1, k2, ...: the columns of the group */
	uint64		generation;		/* a number of its own for each time it is looked up */
	MemoryContext context;
	SPIPlanPtr	watch;			/* never run; valid as long as all of this is */
	SPIPlanPtr	plans[N_KEPT_STATEMENTS];	/* made when needed */
} Kept;

typedef void (*KeptWork) (Kept *kept, void *argument);

/*
 * Do the work with the rights of the attachment's owner and settings of our own,
 * connected to SPI.  Nothing is done if the attachment keeps no groups.
 */
extern void with_kept(Oid attachment, KeptWork work, void *argument);

/* The views that kept groups are folded by, and others whose changes change what is kept. */
extern List *kept_views(const Kept *kept);

/*
 * Run a statement; the group's columns are its parameters where it has some.  How
 * many rows it was about.  kept_query leaves what it found in SPI_tuptable.
 */
extern uint64 kept_execute(Kept *kept, KeptStatement statement, SPITupleTable *groups, uint64 group);
extern uint64 kept_query(Kept *kept, KeptStatement statement, SPITupleTable *groups, uint64 group);

/* Run one that is planned for the tables as they are now. */
extern uint64 kept_execute_once(Kept *kept, KeptStatement statement);

/* The template of one. */
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
