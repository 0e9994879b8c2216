-- Triggers that act as the foreign key from steps to rollouts in the tables of create_tables.
CREATE FUNCTION stepadv_internal.check_rollout() RETURNS trigger
LANGUAGE c AS 'MODULE_PATHNAME', 'stepadv_check_rollout';
COMMENT ON FUNCTION stepadv_internal.check_rollout() IS
'part of create_tables, a constraint trigger AFTER INSERT OR UPDATE on steps FROM rollouts: error unless the rollout '
'of each step exists; locks it until the transaction ends; looks each up once per statement';

CREATE FUNCTION stepadv_internal.is_new_rollout(VARIADIC key "any") RETURNS boolean
LANGUAGE c AS 'MODULE_PATHNAME', 'stepadv_is_new_rollout';
COMMENT ON FUNCTION stepadv_internal.is_new_rollout("any") IS
'part of create_tables, the condition of a trigger: whether the statement has not asked for this key before; may also '
'be true for one that it has';

CREATE FUNCTION stepadv_internal.cascade_to_steps() RETURNS trigger
LANGUAGE c AS 'MODULE_PATHNAME', 'stepadv_cascade_to_steps';
COMMENT ON FUNCTION stepadv_internal.cascade_to_steps() IS
'part of create_tables, a constraint trigger AFTER DELETE OR UPDATE on rollouts FROM steps: deletes the steps of '
'deleted rollouts, and renames those of renamed ones; AFTER TRUNCATE: error if steps would remain';
