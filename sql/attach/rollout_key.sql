-- What ties the steps of create_tables to their rollouts: a step is of a rollout that there is, and goes with it.
CREATE FUNCTION stepadv_internal.check_rollout() RETURNS trigger
LANGUAGE c AS 'MODULE_PATHNAME', 'stepadv_check_rollout';
COMMENT ON FUNCTION stepadv_internal.check_rollout() IS
'part of create_tables, a constraint trigger AFTER INSERT OR UPDATE on steps FROM rollouts: the rollout of each step '
'is there, and stays until the transaction ends; looked up once a statement';

CREATE FUNCTION stepadv_internal.cascade_to_steps() RETURNS trigger
LANGUAGE c AS 'MODULE_PATHNAME', 'stepadv_cascade_to_steps';
COMMENT ON FUNCTION stepadv_internal.cascade_to_steps() IS
'part of create_tables, a constraint trigger AFTER DELETE OR UPDATE on rollouts FROM steps: deletes the steps of a '
'rollout with it, and renames theirs; AFTER TRUNCATE: error where steps would stay';
