/*
 * growing_lists.h
 *		Many growing lists in one growing array.
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

static inline ListPool
make_list_pool(Size width)
{
	ListPool	pool = {0, 256, width};

	pool.items = palloc(pool.size * width);
	return pool;
}

/* Begin an empty list with this room.  May move the pool's items. */
static inline void
begin_list(ListPool *pool, uint32 room, GrowingList *list)
{
	if (pool->used + room > pool->size)
	{
		pool->size = Max(2 * pool->size, pool->used + room);
		pool->items = repalloc_huge(pool->items, pool->size * pool->width);
	}
	*list = (GrowingList) {pool->used, 0, room};
	pool->used += room;
}

/* Add an item to a list, and return its place.  A full list moves to the end of its pool. */
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
