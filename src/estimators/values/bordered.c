/*
 * bordered.c
 *		Value equations in bordered form: the unknowns but the last few, the border, are expressed by
 *		the border, and what is left is a dense system of its own.
 *
 * An inner unknown's row is V = sum of share_b V_b over the border + constant, with the share that
 * leaks beside them.  Components of the inner unknowns come after those that they lead to, so each needs the rows
 * of what was done before, and a small dense block where its members lead to one another.
 * Nothing is ever subtracted (Grassmann, Taksar, Heyman 1985): what an unknown's weights
 * and leak add up to is summed anew wherever it is divided by.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "arrays.h"
#include "estimators/values/bordered.h"
#include "estimators/values/components.h"

/* Beyond these, the sparse way is as fast, or rows would be too much memory. */
#define MOST_BORDER		80
#define MOST_ENTRIES	((uint64) 8 * 1024 * 1024)
/* The border's own elimination, in operations for each inner unknown. */
#define MOST_WORK		1000

/* Entries of a row come by fours, which compilers know how to do at once. */
#define ROW_STEP		4
#define ROW_WIDTH(n)	(((n) + ROW_STEP - 1) / ROW_STEP * ROW_STEP)

#define NOT_IN_BLOCK	(-1)

typedef struct Bordered
{
	const ValueEquations *equations;
	uint32		n_inner;
	uint32		n_border;
	uint32		width;			/* of a row: shares of the border, the leak's, the constant */
	double	   *rows;			/* of the inner unknowns */
	int32	   *place;			/* in the block that is being solved */
} Bordered;

bool
border_is_narrow(const ValueEquations *equations, uint32 n_border)
{
	uint64		n_inner = equations->n - n_border;

	return n_border <= MOST_BORDER && n_inner * (n_border + 2) <= MOST_ENTRIES &&
		(uint64) n_border * n_border * n_border / 3 <= MOST_WORK * n_inner;
}

static inline void
add_scaled(double *restrict row, double factor, const double *restrict other, uint32 width)
{
	for (uint32 i = 0; i < width; i += ROW_STEP)
	{
		row[i] += factor * other[i];
		row[i + 1] += factor * other[i + 1];
		row[i + 2] += factor * other[i + 2];
		row[i + 3] += factor * other[i + 3];
	}
}

static inline void
scale_row(double *row, double factor, uint32 width)
{
	for (uint32 i = 0; i < width; i++)
		row[i] *= factor;
}

/* ----------
 * Dense blocks
 * ----------
 */

/* n unknowns that may all lead to one another, and to what their rows are expressed by. */
typedef struct Block
{
	uint32		n;
	uint32		stride;			/* of weights */
	double	   *weight;			/* n rows; the diagonal is not used */
	double	   *leak;			/* of each, to everything outside the block */
	double	  **row;			/* of each: where the leak leads, not yet divided */
	uint32		width;
} Block;

static double
weight_before(const Block *block, uint32 i)
{
	double		sum = block->leak[i];

	for (uint32 j = 0; j < i; j++)
		sum += block->weight[(Size) i * block->stride + j];
	return sum;
}

/* Rows become the unknowns' own: divided, and without each other. */
static void
solve_block(Block *block)
{
	for (uint32 i = block->n; i-- > 1;)
	{
		const double *from = block->weight + (Size) i * block->stride;
		double		diagonal = weight_before(block, i);

		CHECK_FOR_INTERRUPTS();
		for (uint32 j = 0; j < i; j++)
		{
			double	   *to = block->weight + (Size) j * block->stride;
			double		share = to[i] / diagonal;

			if (share == 0)
				continue;
			add_scaled(to, share, from, ROW_WIDTH(i));
			block->leak[j] += share * block->leak[i];
			add_scaled(block->row[j], share, block->row[i], block->width);
		}
	}
	for (uint32 i = 0; i < block->n; i++)
	{
		const double *from = block->weight + (Size) i * block->stride;

		CHECK_FOR_INTERRUPTS();
		for (uint32 j = 0; j < i; j++)
			if (from[j] != 0)
				add_scaled(block->row[i], from[j], block->row[j], block->width);
		scale_row(block->row[i], 1 / weight_before(block, i), block->width);
	}
}

static void
allocate_block(Block *block, uint32 most, uint32 width)
{
	block->stride = ROW_WIDTH(most);
	block->weight = ALLOCATE_ARRAY(double, (Size) most * block->stride);
	block->leak = ALLOCATE_ARRAY(double, most);
	block->row = ALLOCATE_ARRAY(double *, most);
	block->width = width;
}

static void
free_block(Block *block)
{
	pfree(block->weight);
	pfree(block->leak);
	pfree(block->row);
}

/* ----------
 * The equations
 * ----------
 */

static inline double *
row_of(const Bordered *bordered, uint32 inner)
{
	return bordered->rows + (Size) inner * bordered->width;
}

/* Member i of a block: what leads out of it goes into the row, and the rest into the weights. */
static void
fill_member(const Bordered *bordered, Block *block, uint32 i, uint32 unknown)
{
	const ValueEquations *equations = bordered->equations;
	double	   *row = block->row[i];
	double	   *weight = block->weight + (Size) i * block->stride;
	double		leak = equations->leak[unknown];

	memset(weight, 0, block->stride * sizeof(double));
	memset(row, 0, bordered->width * sizeof(double));
	row[bordered->n_border] = leak;
	row[bordered->n_border + 1] = equations->constant[unknown];
	for (uint32 e = equations->first[unknown]; e < equations->first[unknown + 1]; e++)
	{
		uint32		target = (uint32) equations->target[e];

		if (target == unknown)
			continue;
		if (target >= bordered->n_inner)
			row[target - bordered->n_inner] += equations->weight[e];
		else if (bordered->place[target] != NOT_IN_BLOCK)
		{
			weight[bordered->place[target]] += equations->weight[e];
			continue;
		}
		else
			add_scaled(row, equations->weight[e], row_of(bordered, target), bordered->width);
		leak += equations->weight[e];
	}
	block->leak[i] = leak;
}

/* The row of one that leads to no inner unknown that has none yet, but itself. */
static void
express_alone(const Bordered *bordered, uint32 unknown)
{
	const ValueEquations *equations = bordered->equations;
	double	   *row = row_of(bordered, unknown);
	double		diagonal = equations->leak[unknown];

	for (uint32 e = equations->first[unknown]; e < equations->first[unknown + 1]; e++)
		if ((uint32) equations->target[e] != unknown)
			diagonal += equations->weight[e];
	memset(row, 0, bordered->width * sizeof(double));
	row[bordered->n_border] = equations->leak[unknown] / diagonal;
	row[bordered->n_border + 1] = equations->constant[unknown] / diagonal;
	for (uint32 e = equations->first[unknown]; e < equations->first[unknown + 1]; e++)
	{
		uint32		target = (uint32) equations->target[e];
		double		share = equations->weight[e] / diagonal;

		if (target >= bordered->n_inner)
			row[target - bordered->n_inner] += share;
		else if (target != unknown)
			add_scaled(row, share, row_of(bordered, target), bordered->width);
	}
}

/* The rows of the inner unknowns. */
static void
express_by_border(Bordered *bordered)
{
	const ValueEquations *equations = bordered->equations;
	Components	components;
	Block		block;
	uint32		most = 1;

	find_components(bordered->n_inner, equations->first, equations->target, &components);
	for (uint32 c = 0; c < components.n; c++)
		most = Max(most, components.first[c + 1] - components.first[c]);
	allocate_block(&block, most, bordered->width);
	for (uint32 c = 0; c < components.n; c++)
	{
		const int32 *member = &components.member[components.first[c]];

		CHECK_FOR_INTERRUPTS();
		block.n = components.first[c + 1] - components.first[c];
		if (block.n == 1)
		{
			express_alone(bordered, (uint32) *member);
			continue;
		}
		for (uint32 i = 0; i < block.n; i++)
		{
			bordered->place[member[i]] = (int32) i;
			block.row[i] = row_of(bordered, (uint32) member[i]);
		}
		for (uint32 i = 0; i < block.n; i++)
			fill_member(bordered, &block, i, (uint32) member[i]);
		solve_block(&block);
		for (uint32 i = 0; i < block.n; i++)
			bordered->place[member[i]] = NOT_IN_BLOCK;
	}
	free_block(&block);
	free_components(&components);
}

/* The values of the border, when all others are expressed by it. */
static void
solve_border(const Bordered *bordered, double *value)
{
	uint32		n = bordered->n_border;
	double	   *constant = ALLOCATE_ZEROED_ARRAY(double, (Size) n * ROW_STEP);
	double	   *row = ALLOCATE_ARRAY(double, bordered->width);
	Block		block;

	allocate_block(&block, n, bordered->width);
	for (uint32 b = 0; b < n; b++)
	{
		/* It leads to the border and nowhere else: the row has all weights. */
		block.row[b] = row;
		fill_member(bordered, &block, b, bordered->n_inner + b);
		memcpy(block.weight + (Size) b * block.stride, row, n * sizeof(double));
		block.leak[b] = row[n];
		block.row[b] = constant + (Size) b * ROW_STEP;
		*block.row[b] = row[n + 1];
	}
	block.n = n;
	block.width = ROW_STEP;
	solve_block(&block);
	for (uint32 b = 0; b < n; b++)
		value[b] = *block.row[b];
	free_block(&block);
	pfree(constant);
	pfree(row);
}

void
solve_bordered_equations(const ValueEquations *equations, uint32 n_border, double *value)
{
	Bordered	bordered = {equations, equations->n - n_border, n_border, ROW_WIDTH(n_border + 2)};
	const double *border = value + bordered.n_inner;

	if (n_border == 0)
		return;
	bordered.rows = ALLOCATE_ARRAY(double, (Size) bordered.n_inner * bordered.width);
	bordered.place = ALLOCATE_ARRAY(int32, bordered.n_inner);
	for (uint32 i = 0; i < bordered.n_inner; i++)
		bordered.place[i] = NOT_IN_BLOCK;
	express_by_border(&bordered);
	solve_border(&bordered, value + bordered.n_inner);
	for (uint32 i = 0; i < bordered.n_inner; i++)
	{
		const double *row = row_of(&bordered, i);
		double		sum = row[n_border + 1];

		CHECK_ONCE_IN_A_WHILE(i);
		for (uint32 b = 0; b < n_border; b++)
			sum += row[b] * border[b];
		value[i] = sum;
	}
	pfree(bordered.rows);
	pfree(bordered.place);
}
