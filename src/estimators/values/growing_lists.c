#include "postgres.h"

#include "estimators/values/growing_lists.h"

ListPool
make_list_pool(Size width)
{
	ListPool	pool = {0, 256, width};

	pool.items = palloc(pool.size * width);
	return pool;
}

void
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
