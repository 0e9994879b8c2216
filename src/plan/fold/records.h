/*
 * records.h
 *		Rows and values on their way to a part of all groups: see parts.h.
 *
 * A record is its kind, a byte; the keys of its group as they are written
 * there, their image; and a row as group/row_codec.h writes it, or a value, or
 * neither: a row that a filter held back makes a group all the same.  Never
 * aligned, and in native byte order.
 */
#ifndef STEPADV_GROUP_FOLD_RECORDS_H
#define STEPADV_GROUP_FOLD_RECORDS_H

#include "executor/tuptable.h"

#include "plan/fold/group_fold_state.h"

#define RECORD_HAS_ROW		0x01
#define RECORD_HAS_VALUE	0x02
#define RECORD_HAS_NULLS	0x04	/* keys: then the image begins with a bit for each */

typedef struct Record
{
	uint8		kind;
	const char *image;
	Size		image_size;
	const char *content;		/* the row or value */
} Record;

/* When the node starts. */
extern void prepare_records(GroupFoldState *fold);

/*
 * Keys in a slot: how much they take at most; written, behind a kind, to
 * which their part is added.  What is out of line and not in a table is brought in first.
 */
extern Size image_limit(const GroupFoldState *fold, TupleTableSlot *keys);
extern char *write_image(const GroupFoldState *fold, const TupleTableSlot *keys, char *kind);

/*
 * The same of those in fold->keys, of which none is NULL, where fold->keys_are_images.  What is written
 * beyond the end does no harm where a row follows.
 */
static inline char *
write_words_image(const GroupFoldState *fold, char *end)
{
	const TupleTableSlot *row = fold->keys;

	for (int k = 0; k < fold->n_keys; k++)
	{
		int16		length = TupleDescAttr(fold->keys->tts_tupleDescriptor, k)->attlen;
		Datum		value = row->tts_values[k];

#ifdef WORDS_BIGENDIAN
		value <<= 8 * (sizeof(Datum) - length);
#endif
		memcpy(end, &value, sizeof(Datum));
		end += length;
	}
	return end;
}

/* The keys in fold->keys as a record without content, which lives until the next one. */
extern void record_of_keys(GroupFoldState *fold, Record *record);

/* The record at `bytes`, without its content. */
extern void open_record(const GroupFoldState *fold, const char *bytes, Record *record);

/* Its keys into fold->keys, in the current context. */
extern void show_image(GroupFoldState *fold, const Record *record);

/* Values; the end of one. */
extern char *write_value(char *bytes, const struct varlena *value);
extern struct varlena *copy_value(const Record *record);
extern const char *skip_value(const Record *record);

#endif							/* STEPADV_GROUP_FOLD_RECORDS_H */
