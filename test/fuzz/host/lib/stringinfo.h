/*
 * stringinfo.h
 *		PostgreSQL's growing string, as far as the kernels use it.
 */
#ifndef HOST_STRINGINFO_H
#define HOST_STRINGINFO_H

#include "postgres.h"

typedef struct StringInfoData
{
	char	   *data;
	int			len;
	int			maxlen;
	int			cursor;
} StringInfoData;

typedef StringInfoData *StringInfo;

extern void initStringInfo(StringInfo string);
extern void resetStringInfo(StringInfo string);
extern void enlargeStringInfo(StringInfo string, int needed);
extern void appendBinaryStringInfo(StringInfo string, const char *data, int length);
extern void appendStringInfoChar(StringInfo string, char c);
extern void appendStringInfoString(StringInfo string, const char *text);

#endif							/* HOST_STRINGINFO_H */
