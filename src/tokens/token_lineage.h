/*
 * token_lineage.h
 *		The fields of stepadv.token_lineage: what its aggregate writes and
 *		step_lineage reads.
 */
#ifndef STEPADV_TOKEN_LINEAGE_H
#define STEPADV_TOKEN_LINEAGE_H

/* The arrays have an entry per step, by rollout_id and step_no; -1: not known. */
enum
{
	LINEAGE_N_ROLLOUTS,
	LINEAGE_N_STEPS,
	LINEAGE_N_TOKENS,
	LINEAGE_N_UNIQUE_TOKENS,
	LINEAGE_STEP_IDS,
	LINEAGE_ROLLOUT_IDS,
	LINEAGE_STEP_NOS,
	LINEAGE_PROMPTS,			/* tokens of the prompt */
	LINEAGE_RESPONSES,			/* of the response */
	LINEAGE_SHARED,				/* that the step before has too, at the beginning of the prompt */
	LINEAGE_NEW_TOKENS,			/* that no step before of the rollout has */
	LINEAGE_RUNS,
	N_LINEAGE
};

#endif							/* STEPADV_TOKEN_LINEAGE_H */
