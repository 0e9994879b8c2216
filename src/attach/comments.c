/*
 * comments.c
 *		comment_on_columns(relation, comments): COMMENT ON COLUMN for all columns of a relation.
 *
 * The views of attach have more than two hundred columns, and each SQL command takes time.
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "commands/comment.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "attach/owner.h"
#include "compat.h"

PG_FUNCTION_INFO_V1(stepadv_comment_on_columns);

/* comment_on_columns(relation regclass, comments text[]): by the number of the column; NULL: unchanged. */
Datum
stepadv_comment_on_columns(PG_FUNCTION_ARGS)
{
	Oid			relation = PG_GETARG_OID(0);
	char		kind;
	Datum	   *comments;
	bool	   *nulls;
	int			n;

	PreventCommandIfReadOnly("COMMENT");
	deconstruct_array(PG_GETARG_ARRAYTYPE_P(1), TEXTOID, -1, false, TYPALIGN_INT, &comments, &nulls, &n);
	/* As for COMMENT: it is the owner's right, and excludes concurrent changes. */
	LockRelationOid(relation, ShareUpdateExclusiveLock);
	require_owner(relation);
	kind = get_rel_relkind(relation);
	if (kind != RELKIND_VIEW && kind != RELKIND_RELATION)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a table or view", get_rel_name(relation))));
	for (int i = 0; i < n; i++)
	{
		if (nulls[i])
			continue;
		if (i >= MaxAttrNumber || get_attname(relation, i + 1, true) == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_COLUMN),
					 errmsg("relation \"%s\" has no column %d", get_rel_name(relation), i + 1)));
		CreateComments(relation, RelationRelationId, i + 1, TextDatumGetCString(comments[i]));
	}
	PG_RETURN_VOID();
}
