/*
 * records.h
 *		Rows and values as records in a part: see parts.h.
 *
 * A record is a kind byte, the keys of its group as written here (their image), and a row as group/row_codec.h
 * writes it, or a value, or neither: a row that a FILTER rejects still makes a group.  Records are not aligned
 * and use native byte order.
 */
#ifndef STEPADV_GROUP_FOLD_RECORDS_H
#define STEPADV_GROUP_FOLD_RECORDS_H

#include "executor/tuptable.h"

#include "plan/fold/group_fold_state.h"

#define RECORD_HAS_ROW		0x01
#define RECORD_HAS_VALUE	0x02
#define RECORD_HAS_NULLS	0x04	/* the image begins with a bit for each key */

typedef struct Record
{
	uint8		kind;
	const char *image;
	Size		image_size;
	const char *content;		/* the row or value */
} Record;

/* Called when the node starts. */
extern void prepare_records(GroupFoldState *fold);

/*
 * The maximum size of the image of the keys in a slot, with the kind byte; write the image after the kind, and
 * set the kind's flag for NULLs.  Keys that are neither inline nor in a TOAST table are detoasted first.
 */
extern Size image_limit(const GroupFoldState *fold, TupleTableSlot *keys);
extern char *write_image(const GroupFoldState *fold, const TupleTableSlot *keys, char *kind);

/*
 * The same for fold->keys if fold->keys_are_images and no key is NULL.  It may write beyond the image, where a
 * row follows.
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

/* The keys in fold->keys as a record without content, valid until the next call. */
extern void record_of_keys(GroupFoldState *fold, Record *record);

/* Parse the record at bytes, up to its content. */
extern void open_record(const GroupFoldState *fold, const char *bytes, Record *record);

/* Set fold->keys from its image, in the current memory context. */
extern void show_image(GroupFoldState *fold, const Record *record);

/* Write a value; copy one; where one ends. */
extern char *write_value(char *bytes, const struct varlena *value);
extern struct varlena *copy_value(const Record *record);
extern const char *skip_value(const Record *record);

#endif							/* STEPADV_GROUP_FOLD_RECORDS_H */
