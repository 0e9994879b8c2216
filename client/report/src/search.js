// Searching steps: an inverted index in files by the first two characters of a word, columns
// of all steps for filters, and texts in files of some thousand steps, read for what is shown.
import { load, unpack } from "./data.js";

// As the index has them (search_index.py): of a long word the first 40 characters.
const longest_word = 40;
export const words_of = (text) =>
  (text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? []).map((word) => Array.from(word).slice(0, longest_word).join(""));
const shard_of = (word) => Array.from(word).slice(0, 2).map((c) => c.codePointAt(0).toString(16)).join("-");

let columns;
export async function search_columns() {
  if (columns) return columns;
  const packed = await load("search");
  if (!packed) return null;
  columns = { ...packed, n: packed.n };
  for (const [name, [type, text]] of Object.entries(packed.columns)) columns[name] = unpack(text, type);
  columns.advantages = packed.methods.map((_, i) => columns[`advantage_${i}`]);
  return columns;
}

// Which steps have a word, or for the last word of a query one that begins so.
async function with_word(word, may_begin, n) {
  const shard = (await load(`words-${shard_of(word)}`)) ?? {};
  const all = new Uint8Array(n);
  for (const [term, list] of Object.entries(shard)) {
    if (term !== word && !(may_begin && term.startsWith(word))) continue;
    // Steps are listed by their distance from the one before.
    let at = 0;
    for (const distance of list) all[(at += distance)] = 1;
  }
  return all;
}

// The method that a query names, or else the first that tells steps apart.
export const method_of = (c, query) => (query.method ? c.methods.indexOf(query.method) : c.first);

// The numbers of the steps that a query and its filters leave, in the order of the report.
export async function find(query) {
  const c = await search_columns();
  const left = new Uint8Array(c.n).fill(1);
  const words = words_of(query.text ?? "");
  for (const [i, word] of words.entries()) {
    const has = await with_word(word, i === words.length - 1, c.n);
    for (let step = 0; step < c.n; step++) left[step] &= has[step];
  }
  const keep = (test) => {
    for (let step = 0; step < c.n; step++) if (left[step] && !test(step)) left[step] = 0;
  };
  if (query.outcome) {
    const wanted = { "not judged": 0, failed: 1, solved: 2 }[query.outcome];
    keep((step) => c.outcome[step] === wanted);
  }
  if (query.version) keep((step) => c.versions[c.version[step]] === query.version);
  if (query.tool) keep((step) => c.tools[c.tool[step]] === query.tool);
  if (query.error) keep((step) => c.error[step] === { known: 1, error: 2 }[query.error]);
  const method = method_of(c, query);
  if (query.above !== undefined && query.above !== "") keep((step) => c.advantages[method][step] > Number(query.above));
  if (query.below !== undefined && query.below !== "") keep((step) => c.advantages[method][step] < Number(query.below));
  const found = [];
  for (let step = 0; step < c.n; step++) if (left[step]) found.push(step);
  const sign = { best: -1, worst: 1 }[query.order];
  const worth = (step) => sign * c.advantages[method][step] || 0;
  if (sign && c.advantages[method]) found.sort((a, b) => worth(a) - worth(b) || a - b);
  return found;
}

// The texts of some steps.
export async function texts(steps) {
  const c = await search_columns();
  const files = [...new Set(steps.map((step) => Math.floor(step / c.per_file)))];
  const loaded = new Map(await Promise.all(files.map(async (file) => [file, await load(`texts-${file}`)])));
  return steps.map((step) => loaded.get(Math.floor(step / c.per_file))?.[step % c.per_file] ?? "");
}
