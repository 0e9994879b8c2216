// The search page.
import { useEffect, useRef, useState } from "preact/hooks";
import { Term } from "./glossary.jsx";
import { find, method_of, search_columns, texts, words_of } from "./search.js";
import { brief, plural, signed } from "./words.js";

const at_once = 50;
const outcomes = ["not judged", "failed", "solved"];

export function Search({ query }) {
  const [columns, set_columns] = useState(undefined);
  const [asked, ask] = useState(query);
  const [found, set_found] = useState(null);
  const box = useRef();
  useEffect(() => void search_columns().then(set_columns), []);
  useEffect(() => box.current?.focus(), [columns]);
  useEffect(() => {
    if (!columns) return;
    let current = true;
    const begun = performance.now();
    find(asked).then((steps) => current && set_found({ steps, seconds: (performance.now() - begun) / 1000 }));
    history.replaceState(null, "", `#search?${new URLSearchParams(Object.entries(asked).filter(([, v]) => v !== ""))}`);
    return () => (current = false);
  }, [columns, asked]);
  if (columns === undefined) return <p>Loading …</p>;
  if (columns === null) return <p>This report was made without a search index.</p>;
  const set = (name) => (event) => ask({ ...asked, [name]: event.target.value });
  const choice = (name, label, values) => (
    <label>
      {label}{" "}
      <select value={asked[name] ?? ""} onChange={set(name)}>
        <option value="">any</option>
        {values.map((v) => (
          <option value={Array.isArray(v) ? v[0] : v}>{Array.isArray(v) ? v[1] : v}</option>
        ))}
      </select>
    </label>
  );
  return (
    <section>
      <h1>Search</h1>
      <p>
        <input type="search" ref={box} aria-label="Words in observations, actions and results" value={asked.text ?? ""}
          placeholder="words in observations, actions, results" onInput={set("text")} />
      </p>
      <p class="controls">
        {choice("outcome", "rollout", outcomes)}
        {columns.versions.length > 1 && choice("version", "version", columns.versions)}
        {columns.tools.length > 1 && choice("tool", "tool", columns.tools.filter(Boolean))}
        {choice("error", "result", [["known", "no error"], ["error", "error"]])}
        {choice("method", "advantage by", columns.methods)}
        {choice("order", "order", [["best", "largest first"], ["worst", "smallest first"]])}
        <label>
          above <input type="number" step="any" value={asked.above ?? ""} onInput={set("above")} />
        </label>
        <label>
          below <input type="number" step="any" value={asked.below ?? ""} onInput={set("below")} />
        </label>
      </p>
      {found && <Results columns={columns} found={found} asked={asked} />}
    </section>
  );
}

function Results({ columns: c, found, asked }) {
  const [shown, set_shown] = useState(at_once);
  const [read, set_read] = useState([]);
  const steps = found.steps.slice(0, shown);
  useEffect(() => {
    let current = true;
    texts(steps).then((all) => current && set_read(all));
    return () => (current = false);
  }, [found, shown]);
  useEffect(() => set_shown(at_once), [found]);
  const method = method_of(c, asked);
  return (
    <>
      <p role="status">
        {plural(found.steps.length, "step")} of {plural(c.n, "step")}, {found.seconds.toFixed(2)} s
      </p>
      <ol class="results">
        {steps.map((step, i) => {
          const group = c.groups[c.group[step]];
          const advantage = c.advantages[method]?.[step];
          const to = group.page && `#group/${group.id}?rollout=${c.rollout[step]}&step=${c.step_no[step]}`;
          const name = `${group.name}, ${group.rollouts[c.rollout[step]]}, step ${c.step_no[step]}`;
          return (
            <li>
              {to ? <a href={to}>{name}</a> : <span>{name}</span>} <small>{outcomes[c.outcome[step]]}</small>{" "}
              {advantage != null && !Number.isNaN(advantage) && (
                <small>
                  <Term name={c.methods[method]} /> {signed(advantage)}
                </small>
              )}
              <p>
                <Excerpt text={read[i] ?? ""} words={words_of(asked.text ?? "")} />
              </p>
            </li>
          );
        })}
      </ol>
      {found.steps.length > shown && <button onClick={() => set_shown(shown + 100)}>More</button>}
      {found.steps.length === 0 && <p>No step has all of these. Fewer words or filters find more.</p>}
    </>
  );
}

// Around the first word that was asked for, which is marked.
function Excerpt({ text, words }) {
  const low = text.toLowerCase();
  const at = words.map((word) => low.indexOf(word)).filter((i) => i >= 0);
  if (!at.length) return brief(text, 240);
  const from = Math.max(0, Math.min(...at) - 80);
  const part = text.slice(from, from + 320);
  const longest_first = [...words].sort((a, b) => b.length - a.length);
  const pieces = part.split(new RegExp(`(${longest_first.join("|")})`, "giu"));
  return (
    <>
      {from > 0 && "…"}
      {pieces.map((piece, i) => (i % 2 ? <mark>{piece}</mark> : piece))}
      {from + 320 < text.length && "…"}
    </>
  );
}
