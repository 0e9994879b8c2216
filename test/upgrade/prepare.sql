-- Preparations by an administrator: rows in the extension's own tables.
SELECT format('GRANT CREATE ON DATABASE %I TO ann', current_database()) \gexec
INSERT INTO stepadv.tool_vocabulary (scaffold, tool, meaning) VALUES ('mine', 'peek', 'view'), ('mine', 'poke', 'execute');
INSERT INTO stepadv.progress_models
SELECT 'of old', stepadv.progress_fit(i / 5, ARRAY[sin(i), cos(i), i % 5]::real[], (i / 5 % 2)::float8, 0.1), '2026-01-01' FROM generate_series(0, 199) i;
