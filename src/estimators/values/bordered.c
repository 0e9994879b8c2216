/*
 * bordered.c
 *		Value equations in bordered form: all unknowns but the last few, the border, are expressed by the
 *		border, which leaves a dense system for the border alone.
 *
 * The row of an inner unknown is V = sum of share_b V_b over the border + constant, plus the share that leaks.
 * Components of inner unknowns come after those that they lead to, so each needs only finished rows, and a small
 * dense block if its members lead to one another.  Nothing is ever subtracted (Grassmann, Taksar, Heyman 1985):
 * the sum of an unknown's weights and leak is computed again whenever it is the divisor.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "arrays.h"
#include "estimators/values/bordered.h"
#include "estimators/values/components.h"

/* Beyond these, the sparse solver is as fast, or rows would take too much memory. */
#define MOST_BORDER		80
#define MOST_ENTRIES	((uint64) 8 * 1024 * 1024)
/* The maximum work for the border itself, in operations per inner unknown. */
#define MOST_WORK		1000

/* Row widths are multiples of four, for vector instructions. */
#define ROW_STEP		4
#define ROW_WIDTH(n)	(((n) + ROW_STEP - 1) / ROW_STEP * ROW_STEP)

#define NOT_IN_BLOCK	(-1)

typedef struct Bordered
{
	const ValueEquations *equations;
	uint32		n_inner;
	uint32		n_border;
	uint32		width;			/* of a row: shares of the border, the leak's share, the constant */
	double	   *rows;			/* of the inner unknowns */
	int32	   *place;			/* index in the block that is being solved, by inner unknown */
	Components	components;		/* of the inner unknowns */
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

/* A dense system of n unknowns that may all lead to one another, and to what their rows are expressed by. */
typedef struct Block
{
	uint32		n;
	uint32		stride;			/* row width of weight */
	double	   *weight;			/* n rows; the diagonal is unused */
	double	   *leak;			/* by unknown: total weight to everything outside the block */
	double	  **row;			/* by unknown: where that leads, before division */
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

/* Turn the rows into the solution: divided, and without references to one another. */
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

/* Set member i of a block: edges out of the block are added to the row, others to the weights. */
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

/* Compute the row of an unknown that leads to finished inner unknowns, the border and itself only. */
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

/* Compute the rows of all inner unknowns. */
static void
express_by_border(Bordered *bordered)
{
	const ValueEquations *equations = bordered->equations;
	const Components *components = &bordered->components;
	Block		block;
	uint32		most = 1;

	find_components(bordered->n_inner, equations->first, equations->target, &bordered->components);
	for (uint32 c = 0; c < components->n; c++)
		most = Max(most, components->first[c + 1] - components->first[c]);
	allocate_block(&block, most, bordered->width);
	for (uint32 c = 0; c < components->n; c++)
	{
		const int32 *member = &components->member[components->first[c]];

		CHECK_FOR_INTERRUPTS();
		block.n = components->first[c + 1] - components->first[c];
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
}

/* Compute the values of the border, once all inner unknowns are expressed by it. */
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
		/* It leads only to the border, since inner unknowns are expressed by it: the row has all weights. */
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

/* Compute the values of a component, once those that it leads to and the border are known. */
static void
set_values(const Bordered *bordered, const int32 *member, uint32 n, double *value)
{
	const double *border = value + bordered->n_inner;

	CHECK_ONCE_IN_A_WHILE((uint32) *member);
	/* Its few edges take less time than its row. */
	if (n == 1)
	{
		value[*member] = solve_alone(bordered->equations, *member, value);
		return;
	}
	for (uint32 i = 0; i < n; i++)
	{
		const double *row = row_of(bordered, (uint32) member[i]);
		double		sum = row[bordered->n_border + 1];

		for (uint32 b = 0; b < bordered->n_border; b++)
			sum += row[b] * border[b];
		value[member[i]] = sum;
	}
}

void
solve_bordered_equations(const ValueEquations *equations, uint32 n_border, double *value)
{
	Bordered	bordered = {equations, equations->n - n_border, n_border, ROW_WIDTH(n_border + 2)};

	if (n_border == 0)
		return;
	bordered.rows = ALLOCATE_ARRAY(double, (Size) bordered.n_inner * bordered.width);
	bordered.place = ALLOCATE_ARRAY(int32, bordered.n_inner);
	for (uint32 i = 0; i < bordered.n_inner; i++)
		bordered.place[i] = NOT_IN_BLOCK;
	express_by_border(&bordered);
	solve_border(&bordered, value + bordered.n_inner);
	for (uint32 c = 0; c < bordered.components.n; c++)
		set_values(&bordered, &bordered.components.member[bordered.components.first[c]],
				   bordered.components.first[c + 1] - bordered.components.first[c], value);
	free_components(&bordered.components);
	pfree(bordered.rows);
	pfree(bordered.place);
}
