-- After the update: rows are inserted, deleted and changed, tables attached and detached.
INSERT INTO own.steps SELECT i, i / 40, 'h' || i / 20 % 2, 'r' || i / 5, i % 5, i % 6, i % 2, CASE WHEN i % 5 = 4 THEN (i * 3 % 11) / 10.0 END, i % 4, i % 2,
	ARRAY[sin(i), cos(i), i % 5]::real[], 'v' || i / 5 % 3, '2026-02-01'::timestamptz + i / 5 * interval '5 hours', 'note ' || i FROM generate_series(180, 239) i
ON CONFLICT (id) DO UPDATE SET act = excluded.act;
DELETE FROM own.steps WHERE g = 0 AND h = 'h0';
UPDATE rl.rollouts SET outcome = 1 WHERE task_id = 'g1';
DELETE FROM own.calls WHERE g = 1;
SELECT stepadv.refresh('own.calls');
SELECT count(*) = 0 AS exact FROM stepadv.check_maintained('own.steps');
SELECT count(*) = 0 AS exact FROM stepadv.check_maintained('own.calls');
SELECT count(*) = 0 AS exact FROM stepadv.check_maintained('rl.rollout_rows');
SELECT stepadv.unmaintain('rl.rollout_rows') > 0;
SELECT count(*) > 10 FROM stepadv.attach('own.steps', '{g,h}', 'r', 'n', 'st', 'act', 'score', columns => '{"value": "worth", "turn_reward": "of_turn", "policy_version": "version", "started_at": "began"}', views => '{all}', prefix => 'again', options => '{"methods": {"rtmc_prior8": {"method": "rtmc", "prior": 8}}}');
SELECT count(*) > 10 FROM stepadv.create_tables('rl2', partitions => 1, states => 'signature', views => '{all}');
SELECT stepadv.detach('own.calls') > 10;
SELECT count(*) > 10 FROM stepadv.attach('own.steps', '{h}', 'r', 'id', 'st', 'act', 'score', columns => '{"started_at": "began"}', views => '{all}', prefix => 'anew');
