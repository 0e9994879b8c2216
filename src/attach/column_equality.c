#include "postgres.h"

#include "access/stratnum.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pg_list.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "attach/column_equality.h"
#include "compat.h"

/* Is a FROM item on the nullable side of an outer join below this node? */
static bool
is_filled_up(Node *node, int entry, bool filled)
{
	ListCell   *cell;
	JoinExpr   *join;

	if (IsA(node, RangeTblRef))
		return filled && ((RangeTblRef *) node)->rtindex == entry;
	if (IsA(node, FromExpr))
	{
		foreach(cell, ((FromExpr *) node)->fromlist)
			if (is_filled_up(lfirst(cell), entry, filled))
				return true;
		return false;
	}
	join = castNode(JoinExpr, node);
	return is_filled_up(join->larg, entry, filled || join->jointype == JOIN_RIGHT || join->jointype == JOIN_FULL) ||
		is_filled_up(join->rarg, entry, filled || join->jointype == JOIN_LEFT || join->jointype == JOIN_FULL);
}

/*
 * A LATERAL subquery without FROM and WHERE renames columns of the items beside it.  Returns the column that
 * its column renames; NULL if the entry is something else.
 */
static Node *
renamed_column(const Query *query, const Var *var)
{
	RangeTblEntry *entry = rt_fetch(var->varno, query->rtable);
	Query	   *subquery = entry->subquery;
	TargetEntry *target;
	Var		   *outer;

	if (entry->rtekind != RTE_SUBQUERY || !entry->lateral || subquery->jointree == NULL || subquery->jointree->fromlist != NIL ||
		subquery->jointree->quals != NULL || subquery->havingQual != NULL || subquery->groupingSets != NIL ||
		subquery->setOperations != NULL || subquery->limitCount != NULL || subquery->limitOffset != NULL ||
		is_filled_up((Node *) query->jointree, var->varno, false))
		return NULL;
	target = get_tle_by_resno(subquery->targetList, var->varattno);
	outer = target == NULL ? NULL : (Var *) without_relabel((Node *) target->expr);
	if (outer == NULL || !IsA(outer, Var) || outer->varlevelsup == 0)
		return NULL;
	outer = copyObject(outer);
	outer->varlevelsup--;
	return (Node *) outer;
}

/* The Var that a column expression resolves to, and how many levels out it is; NULL if it is none. */
static const Var *
find_var(Node *expression, const Level *level, int *levels)
{
	*levels = 0;
	for (;;)
	{
		const Var  *var = (const Var *) without_relabel(expression);
		RangeTblEntry *entry;

		if (var == NULL || !IsA(var, Var) || var->varattno <= 0)
			return NULL;
		*levels += var->varlevelsup;
		level = level_up(level, var->varlevelsup);
		entry = rt_fetch(var->varno, level->query->rtable);
		if (entry->rtekind == RTE_JOIN || group_expressions(entry) != NIL)
			expression = entry_expression(entry, var->varattno);
		else
		{
			expression = renamed_column(level->query, var);
			if (expression == NULL)
				return var;
		}
	}
}

/* Arrays, rows and enums share the operators of all such types, so that their operator family proves nothing. */
static bool
is_of_many_types(Oid type)
{
	char		category;
	bool		preferred;

	get_type_category_preferred(type, &category, &preferred);
	return category == TYPCATEGORY_ARRAY || category == TYPCATEGORY_COMPOSITE ||
		category == TYPCATEGORY_ENUM || category == TYPCATEGORY_RANGE || category == TYPCATEGORY_PSEUDOTYPE;
}

bool
same_equality(Oid type, Oid other)
{
	Oid			family;

	type = getBaseType(type);
	other = getBaseType(other);
	if (type == other)
		return true;
	if (is_of_many_types(type) || is_of_many_types(other))
		return false;
	family = lookup_type_cache(type, TYPECACHE_BTREE_OPFAMILY)->btree_opf;
	return OidIsValid(family) && lookup_type_cache(other, TYPECACHE_BTREE_OPFAMILY)->btree_opf == family;
}

bool
column_of(Node *expression, const Level *level, Column *column)
{
	int			levels;
	const Var  *var = find_var(expression, level, &levels);

	if (var == NULL || !same_equality(var->vartype, exprType(expression)))
		return false;
	column->levels = levels;
	column->entry = var->varno;
	column->column = var->varattno;
	return true;
}

/* Is an operator the equality of a type's default operator classes? */
static bool
is_equality_of(Oid operator, Oid type)
{
	TypeCacheEntry *entry = lookup_type_cache(getBaseType(type), TYPECACHE_BTREE_OPFAMILY | TYPECACHE_HASH_OPFAMILY);

	return (OidIsValid(entry->btree_opf) &&
			get_op_opfamily_strategy(operator, entry->btree_opf) == BTEqualStrategyNumber) ||
		(OidIsValid(entry->hash_opf) &&
		 get_op_opfamily_strategy(operator, entry->hash_opf) == HTEqualStrategyNumber);
}

static bool
is_deterministic(Oid collation)
{
	return !OidIsValid(collation) || get_collation_isdeterministic(collation);
}

/* Different texts can be equal in a nondeterministic collation; then all collations must be the same. */
static bool
same_collation(Oid operation, Oid left, Oid right)
{
	return (operation == left && operation == right) ||
		(is_deterministic(operation) && is_deterministic(left) && is_deterministic(right));
}

/*
 * The operator must be strict, so that null-extended rows do not pass it, and immutable: whether a date
 * equals a timestamp with time zone depends on the time zone.
 */
bool
equated_columns(Node *condition, const Level *level, Column *left, Column *right)
{
	OpExpr	   *operation = (OpExpr *) condition;
	const Var  *one;
	const Var  *other;

	if (!IsA(condition, OpExpr) || list_length(operation->args) != 2)
		return false;
	one = find_var(linitial(operation->args), level, &left->levels);
	other = find_var(lsecond(operation->args), level, &right->levels);
	if (one == NULL || other == NULL ||
		!is_equality_of(operation->opno, one->vartype) || !is_equality_of(operation->opno, other->vartype) ||
		!same_equality(one->vartype, other->vartype) ||
		!same_collation(operation->inputcollid, one->varcollid, other->varcollid) ||
		!op_strict(operation->opno) || op_volatile(operation->opno) != PROVOLATILE_IMMUTABLE)
		return false;
	left->entry = one->varno;
	left->column = one->varattno;
	right->entry = other->varno;
	right->column = other->varattno;
	return true;
}
