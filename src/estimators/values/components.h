#ifndef STEPADV_COMPONENTS_H
#define STEPADV_COMPONENTS_H

/*
 * Component c has the nodes member[first[c]] up to, but not including, member[first[c + 1]], and leads only to
 * itself and earlier components.
 */
typedef struct Components
{
	uint32		n;
	uint32	   *first;
	int32	   *member;
} Components;

/* Node v leads to the nodes target[first[v]] up to target[first[v + 1] - 1]; targets >= n_nodes are ignored. */
extern void find_components(uint32 n_nodes, const uint32 *first, const int32 *target, Components *components);
extern void free_components(Components *components);

#endif							/* STEPADV_COMPONENTS_H */
