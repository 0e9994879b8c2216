-- Makes of an installed stepadv 0.2.0 what the parts of 0.3.0 make.
-- complain if script is sourced in psql, rather than via ALTER EXTENSION
\echo Use "ALTER EXTENSION stepadv UPDATE TO '0.3.0'" to load this file. \quit

-- steps has one more column: the views of users that read it go on reading the function as it was.
ALTER FUNCTION stepadv.steps(stepadv.rollout_group) RENAME TO steps_before_0_3_0;
ALTER FUNCTION stepadv.steps_before_0_3_0(stepadv.rollout_group) SET SCHEMA stepadv_internal;

-- history_states has one more parameter, likewise.
ALTER FUNCTION stepadv.history_states(stepadv.rollout_group, text) RENAME TO history_states_before_0_3_0;
ALTER FUNCTION stepadv.history_states_before_0_3_0(stepadv.rollout_group, text) SET SCHEMA stepadv_internal;
