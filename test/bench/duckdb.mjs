// RTMC advantages in DuckDB: node duckdb.mjs RUNS TABLE=CSV …
// Reads the steps (CSV with header) of each table into a native one, in their order, and prints
//   version X
//   TABLE NAME THREADS RESULT MS MS …     one line per table, statement and number of threads
// Only the statements are timed.  Two formulations; the report takes the faster.

import { createRequire } from 'node:module';

// The package lies in build/, not beside this file: DUCKDB_NODE says where.
const require = createRequire(process.env.DUCKDB_NODE + '/');
const duckdb = require('@duckdb/node-api');

const [runs, ...tables] = process.argv.slice(2);

// Returns and success rates, the same for both.
const returned = `
returned AS (
	SELECT step_id, group_id, rollout_id, step_no, state, action,
		sum(reward * pow(0.99, step_no)) OVER (PARTITION BY group_id, rollout_id ORDER BY step_no DESC
			ROWS UNBOUNDED PRECEDING) / pow(0.99, step_no) AS g
	FROM steps
)`;
const success = `
success AS (
	SELECT group_id, avg((total > 0)::INTEGER) AS p
	FROM (SELECT group_id, rollout_id, sum(reward) AS total FROM steps GROUP BY ALL) GROUP BY ALL
)`;

const statements = {
	// first visits by arg_min over hash groups, then joins
	joins: `WITH ${returned},
first_visit AS (
	SELECT group_id, rollout_id, state, action, arg_min(g, step_no) AS g FROM returned GROUP BY ALL
),
pair AS MATERIALIZED (
	SELECT group_id, state, action, count(*) AS n, sum(g) AS g FROM first_visit GROUP BY ALL
),
state AS (SELECT group_id, state, sum(n) AS n, sum(g) AS g FROM pair GROUP BY ALL),
${success},
valued AS (
	SELECT group_id, state, action, pair.g / pair.n - (state.g + 2 * p) / (state.n + 2) AS advantage
	FROM pair JOIN state USING (group_id, state) JOIN success USING (group_id)
)
SELECT sum(advantage) FROM steps JOIN valued USING (group_id, state, action)`,

	// windows over the steps
	windows: `WITH ${returned},
visited AS (
	SELECT step_id, group_id, state, action,
		CASE WHEN row_number() OVER (PARTITION BY group_id, rollout_id, state, action ORDER BY step_no) = 1
			THEN g END AS g
	FROM returned
),
measured AS (
	SELECT group_id,
		avg(g) OVER (PARTITION BY group_id, state, action) AS q,
		sum(g) OVER (PARTITION BY group_id, state) AS g_state,
		count(g) OVER (PARTITION BY group_id, state) AS n_state
	FROM visited
),
${success}
SELECT sum(q - (g_state + 2 * p) / (n_state + 2)) FROM measured JOIN success USING (group_id)`,
};

const instance = await duckdb.DuckDBInstance.create(':memory:');
const connection = await instance.connect();
const value = async (sql) => (await connection.runAndReadAll(sql)).getRows()[0][0];

console.log('version', await value('SELECT version()'));
for (const table of tables) {
	const [name, csv] = table.split('=');

	await connection.run(`CREATE OR REPLACE TABLE steps AS SELECT * FROM read_csv('${csv.replaceAll("'", "''")}', header = true, columns = {
		step_id: 'BIGINT', group_id: 'BIGINT', rollout_id: 'BIGINT', step_no: 'INTEGER',
		state: 'BIGINT', action: 'BIGINT', reward: 'DOUBLE'})`);
	await measure(name);
}

async function measure(table) {
	for (const threads of [1, 2]) {
		await connection.run(`SET threads = ${threads}`);
		for (const [name, sql] of Object.entries(statements)) {
			const times = [];
			let result = await value(sql);		// once to warm up
			for (let i = 0; i < Number(runs); i++) {
				const start = process.hrtime.bigint();
				result = await value(sql);
				times.push(Number(process.hrtime.bigint() - start) / 1e6);
			}
			console.log(table, name, threads, result, ...times);
		}
	}
}
