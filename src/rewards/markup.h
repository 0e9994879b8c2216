/*
 * markup.h
 *		Fields marked by XML-like tags in the messages of a rollout.
 *
 * The field `tag` of a text is the text between its first <tag> that is closed
 * and the first </tag> after it, stripped of white space.  This is not XML: tags
 * do not nest and have no attributes, and malformed fields are ignored.  Every
 * search is linear in the text.
 */
#ifndef STEPADV_MARKUP_H
#define STEPADV_MARKUP_H

#include "fmgr.h"

#include "span.h"

typedef struct Tag
{
	char	   *open;			/* <name> */
	char	   *close;			/* </name> */
} Tag;

/* A field of a message is any of several alternative tags. */
typedef struct Field
{
	int			n;
	Tag		   *tags;
} Field;

extern Tag	make_tag(const char *parameter, const char *name);
extern Field *make_fields(ArrayType *alternatives, int *n);

/* The text between the tags, not stripped; false if the text has no such field. */
extern bool find_raw_field(const char *text, const Tag *tag, Span *raw);
extern bool find_field(const char *text, const Tag *tag, Span *field);
extern bool has_field(const char *text, const Tag *tag);

extern int	count_occurrences(const char *text, const char *what);
extern Span strip(Span span);

/* The texts of a one-dimensional array; NULL for NULL elements. */
extern text **read_texts(const char *parameter, ArrayType *array, int *n);

#endif							/* STEPADV_MARKUP_H */
