// Times statements in DuckDB: node duckdb.mjs RUNS 'STATEMENT.sql …' NAME=SETUP …
// SETUP is SQL that makes the tables that the statements read.  Prints
//   version X
//   NAME STATEMENT THREADS RESULT MS MS …     one line per set of tables, statement and number of threads
// Only the statements are timed.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename } from 'node:path';

// DUCKDB_NODE is the folder of the package, below build/.
const require = createRequire(process.env.DUCKDB_NODE + '/');
const duckdb = require('@duckdb/node-api');

const [runs, statements, ...tables] = process.argv.slice(2);
const instance = await duckdb.DuckDBInstance.create(':memory:');
const connection = await instance.connect();
const value = async (sql) => (await connection.runAndReadAll(sql)).getRows()[0][0];

console.log('version', await value('SELECT version()'));
for (const table of tables) {
	const [, name, setup] = table.match(/^(\w+)=(.*)$/s);

	await connection.run(setup);
	for (const threads of [1, 2]) {
		await connection.run(`SET threads = ${threads}`);
		for (const file of statements.split(' '))
			await measure(name, threads, file);
	}
}

async function measure(table, threads, file) {
	const sql = readFileSync(file, 'utf8');
	const times = [];
	let result = await value(sql);		// once to warm up

	for (let i = 0; i < Number(runs); i++) {
		const start = process.hrtime.bigint();
		result = await value(sql);
		times.push(Number(process.hrtime.bigint() - start) / 1e6);
	}
	console.log(table, basename(file, '.sql'), threads, result, ...times);
}
