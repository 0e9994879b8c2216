/*
 * growing_lists.h
 *		Lists that grow, many of them in one array that does.
 */
#ifndef STEPADV_GROWING_LISTS_H
#define STEPADV_GROWING_LISTS_H

typedef struct GrowingList
{
	Size		start;
	uint32		length;
	uint32		room;
} GrowingList;

typedef struct ListPool
{
	Size		used;
	Size		size;
	Size		width;			/* of an item */
	char	   *items;
} ListPool;

extern ListPool make_list_pool(Size width);

/* An empty list with room for so many.  It moves the pool's items. */
extern void begin_list(ListPool *pool, uint32 room, GrowingList *list);

/* Room for one more: a list that is full moves to the end of its pool. */
static inline void *
extend_list(ListPool *pool, GrowingList *list)
{
	if (list->length == list->room)
	{
		GrowingList old = *list;

		begin_list(pool, Max(4, 2 * old.room), list);
		memcpy(pool->items + list->start * pool->width, pool->items + old.start * pool->width, old.length * pool->width);
		list->length = old.length;
	}
	return pool->items + (list->start + list->length++) * pool->width;
}

#endif							/* STEPADV_GROWING_LISTS_H */
