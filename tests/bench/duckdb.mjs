// What DuckDB takes to group both reports by name: no hierarchy, no iterations, no join.
//
// usage: node duckdb.mjs DIR HOST.csv GPU.csv      DIR has node_modules/@duckdb/node-api
//
// Prints the seconds that the two queries took by themselves, how many rows they counted in each
// report, and which DuckDB it was, as JSON.
import { createRequire } from "node:module";
import { join } from "node:path";
import { performance } from "node:perf_hooks";

const [directory, host, gpu] = process.argv.slice(2);
const { DuckDBInstance, version } = createRequire(join(directory, "here.js"))("@duckdb/node-api");

const file = (path) => `read_csv('${path.replaceAll("'", "''")}')`;
const summary = (column) =>
  ["sum", "avg", "median", "min", "max", "stddev"].map((f) => `${f}("${column}")`).join(", ");
const queries = [
  `SELECT Name, count(*), ${summary("Duration (ns)")}, ${summary("DurNonChild (ns)")}
   FROM ${file(host)} GROUP BY Name`,
  `SELECT Name, Style, count(*), ${summary("Projected Duration (ns)")}, sum(NumGPUOps)
   FROM ${file(gpu)} GROUP BY Name, Style`,
];

const connection = await (await DuckDBInstance.create(":memory:")).connect();
const results = [];
const began = performance.now();
for (const query of queries) {
  results.push((await connection.runAndReadAll(query)).getRowObjects());
}
const seconds = (performance.now() - began) / 1000;
const rows = results.map((groups) =>
  groups.reduce((sum, group) => sum + Number(group["count_star()"]), 0));
console.log(JSON.stringify({ seconds, rows, version: version() }));
