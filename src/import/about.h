/*
 * about.h
 *		What records of all formats say of a rollout.
 */
#ifndef STEPADV_ABOUT_H
#define STEPADV_ABOUT_H

#include "import/json_read.h"
#include "import/kept_messages.h"

/*
 * Members outcome, success, truncated, model, policy_version, run_id and
 * policy_step of a rollout that is being written, by the names that scaffolds use;
 * what the record does not say is left out.  score, if not NULL, is put in the
 * place of its own reward and score.
 */
extern void push_about(JsonWriter *state, const JsonbValue *record, const JsonbValue *score);

/* A member of an object that is being written, if there is such a value. */
extern void push_given(JsonWriter *state, const char *key, const JsonbValue *record, const char *name);

/*
 * Member meta: where the record is from, its messages if they are to be kept (NULL: they are not), and what
 * of it is not used otherwise; null if that is nothing.
 */
extern void push_metadata(JsonWriter *state, const JsonbValue *record, Words source, const KeptMessages *kept,
						  const char *const *used);

/*
 * Can import_problem have nothing to say of a rollout in our words?  Times and tokens
 * are plain only for who reads them, and says so where they are wrong.
 */
extern bool is_plain_rollout(const JsonbValue *rollout, bool is_read_later);

#endif							/* STEPADV_ABOUT_H */
