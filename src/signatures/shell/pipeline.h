#ifndef STEPADV_PIPELINE_H
#define STEPADV_PIPELINE_H

#include "signatures/shell/outcome.h"

extern void join_stage(Effects *effects, int start, int stage, const Outcome *next, Text piped);
extern bool has_runs(const Effects *effects, int from, int to);

#endif							/* STEPADV_PIPELINE_H */
