/*
 * builtins.h
 *		PostgreSQL's conversions, for the signature kernels.
 */
#ifndef HOST_BUILTINS_H
#define HOST_BUILTINS_H

/* Writes the digits without a final NUL; returns their number. */
static inline int
pg_ulltoa_n(uint64 number, char *digits)
{
	char		text[24];
	int			length = snprintf(text, sizeof(text), "%llu", (unsigned long long) number);

	memcpy(digits, text, length);
	return length;
}

#endif							/* HOST_BUILTINS_H */
