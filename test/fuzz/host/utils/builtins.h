/*
 * builtins.h
 *		What the signature kernels need of PostgreSQL's conversions.
 */
#ifndef HOST_BUILTINS_H
#define HOST_BUILTINS_H

/* The digits, without a NUL behind; returns how many. */
static inline int
pg_ulltoa_n(uint64 number, char *digits)
{
	char		text[24];
	int			length = snprintf(text, sizeof(text), "%llu", (unsigned long long) number);

	memcpy(digits, text, length);
	return length;
}

#endif							/* HOST_BUILTINS_H */
