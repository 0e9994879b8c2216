// The first page: what there is, where it is decided, which group to open.
import { useMemo, useState } from "preact/hooks";
import { Histogram, VersionChart } from "./charts.jsx";
import { Term, Words } from "./glossary.jsx";
import { brief, count, in_characters, number, percent, plural, short_labels, signed } from "./words.js";

// The default and the one that all compare with; the others on demand.
const FIRST_METHODS = 2;

const advantages = (method) => (
  <section>
    <h2>
      <Term name="advantage">Advantages</Term> by <Term name={method.method} />
    </h2>
    <Histogram bins={method.bins} label={`Number of steps by their advantage, ${method.method}`} />
    <p class="quiet">
      {plural(method.zeros, "step")} at 0
      {method.outside > 0 && `, ${count(method.outside)} outside the chart`}
      {method.missing > 0 && `, ${count(method.missing)} without an estimate`}.
    </p>
  </section>
);

export function Index({ index }) {
  return (
    <>
      <h1>{index.title}</h1>
      <ul class="headline">
        {index.headline.map((sentence) => (
          <li>
            <Words text={sentence} />
          </li>
        ))}
      </ul>
      <Decisions decisions={index.decisions} />
      <Changes changes={index.changes} />
      <Groups index={index} />
      <div class="columns">
        {index.versions.length > 0 && (
          <section>
            <h2>Success by version</h2>
            <VersionChart versions={index.versions} />
            <Versions versions={index.versions} />
          </section>
        )}
        <section>
          <h2>Steps of a rollout</h2>
          <Histogram bins={index.lengths} stacked label="Number of rollouts by their steps, solved and failed" />
          <p class="key">
            <i class="good" /> solved <i class="bad" /> failed
          </p>
        </section>
        {index.tools.length > 0 && (
          <section>
            <h2>Tools</h2>
            <Tools tools={index.tools} />
          </section>
        )}
        {index.advantages.slice(0, FIRST_METHODS).map(advantages)}
      </div>
      {index.advantages.length > FIRST_METHODS && (
        <details>
          <summary>Advantages by {plural(index.advantages.length - FIRST_METHODS, "other method")}</summary>
          <div class="columns">{index.advantages.slice(FIRST_METHODS).map(advantages)}</div>
        </details>
      )}
      <Problems problems={index.problems} />
    </>
  );
}

// columns: what stands above, what stands in the cell of a row, and the class of both.
const Table = ({ rows, columns }) => (
  <table>
    <thead>
      <tr>{columns.map(([head, , kind]) => <th class={kind}>{head}</th>)}</tr>
    </thead>
    <tbody>
      {rows.map((row) => <tr>{columns.map(([, cell, kind]) => <td class={kind}>{cell(row)}</td>)}</tr>)}
    </tbody>
  </table>
);

const Link = ({ page, to, children }) => (page ? <a href={`#group/${to}`}>{children}</a> : children);
const Short = ({ text, n }) => <span title={text}>{brief(text, n)}</span>;
const Done = ({ of: { best, worst }, i, q, visits }) => (
  <>
    <span title={[best, worst][i]}>{short_labels([best, worst], in_characters(60))[i]}</span> <small>{number(q)}, {visits}×</small>
  </>
);

function Decisions({ decisions }) {
  return (
    <section>
      <h2>Where it is decided</h2>
      {decisions.length === 0 ? (
        <p>
          No <Term name="decision point" /> has enough evidence: at least 5 visits, and an action that is
          better than another with a <Term name="confidence" /> of .8.
        </p>
      ) : (
        <Table rows={decisions} columns={[
          ["group", (d) => <Link page={d.page} to={`${d.group}?rollout=${d.rollout}&step=${d.step}`}>{d.name}</Link>],
          ["seen", (d) => <Short text={d.observed} n={70} />, "wide"],
          ["better", (d) => <Done of={d} i={0} q={d.best_q} visits={d.best_visits} />],
          ["worse", (d) => <Done of={d} i={1} q={d.worst_q} visits={d.worst_visits} />],
          ["visits", (d) => d.visits, "n wide"],
          ["difference", (d) => `${signed(d.gap)}${d.gap_error == null ? "" : ` ± ${number(d.gap_error)}`}`, "n"],
        ]} />
      )}
    </section>
  );
}

// Which tasks the headline means.
function Changes({ changes }) {
  const [shown, set_shown] = useState(10);
  if (!changes?.tasks.length) return null;
  return (
    <section>
      <h2>
        Tasks that {changes.new} and {changes.old} solve differently
      </h2>
      <Table rows={changes.tasks.slice(0, shown)} columns={[
        ["task", (t) => t.name],
        ["begins with", (t) => <Short text={t.words} n={90} />],
        ...[changes.old, changes.new].map((version, i) => [
          version,
          ({ tries: { [i]: t } }) => <Link page={t.page} to={t.group}>{`${t.solved} of ${t.n}`}</Link>,
          "n",
        ]),
      ]} />
      {changes.tasks.length > shown && <button onClick={() => set_shown(shown + 100)}>{plural(changes.tasks.length - shown, "task")} more</button>}
    </section>
  );
}

const orders = {
  "to learn from": (g) => g.id,
  "solved, least first": (g) => (g.judged ? g.successes / g.judged : 2),
  "flaky first": (g) => (g.judged ? Math.abs(g.successes / g.judged - 0.5) : 2),
  "most steps": (g) => -g.steps,
  name: (g) => g.name,
};

function Groups({ index }) {
  const { groups } = index;
  const [order, set_order] = useState("to learn from");
  const [filter, set_filter] = useState("");
  const [shown, set_shown] = useState(20);
  const rows = useMemo(() => {
    const by = orders[order];
    const wanted = filter.toLowerCase();
    return groups
      .filter((g) => g.name.toLowerCase().includes(wanted) || (g.words ?? "").toLowerCase().includes(wanted))
      .sort((a, b) => (by(a) < by(b) ? -1 : by(a) > by(b) ? 1 : a.id - b.id));
  }, [groups, order, filter]);
  return (
    <section>
      <h2>
        <Term name="group">Groups</Term>
      </h2>
      <p class="controls">
        <label>
          name or words <input value={filter} onInput={(e) => set_filter(e.target.value)} />
        </label>
        <label>
          order{" "}
          <select value={order} onChange={(e) => set_order(e.target.value)}>
            {Object.keys(orders).map((name) => (
              <option>{name}</option>
            ))}
          </select>
        </label>
      </p>
      <div class="scroll">
        <Table rows={rows.slice(0, shown)} columns={[
          ["group", (g) => <Link page={g.page} to={g.id}>{g.name}</Link>],
          ["begins with", (g) => <Short text={g.words} n={90} />],
          ["rollouts", (g) => g.rollouts, "n wide"],
          ["solved", (g) => (g.judged ? `${g.successes} of ${g.judged}` : "not judged"), "n"],
          ["steps", (g) => count(g.steps), "n wide"],
          [<>in <Term name="shared state">shared states</Term></>, (g) => percent(g.shared), "n wide"],
          [<>largest {index.value_method ? <Term name={index.value_method} /> : "advantage"}</>, (g) => number(g.largest), "n wide"],
        ]} />
      </div>
      {rows.length > shown && (
        <button onClick={() => set_shown(shown + 200)}>{plural(rows.length - shown, "group")} more</button>
      )}
      {rows.length === 0 && <p>No group has “{filter}”.</p>}
    </section>
  );
}

const Versions = ({ versions }) => (
  <Table rows={versions} columns={[
    ["version", (v) => v.name],
    ["rollouts", (v) => count(v.rollouts), "n"],
    ["solved", (v) => (v.judged ? percent(v.successes / v.judged) : "not judged"), "n"],
    ["95 % interval", (v) => (v.judged ? `${percent(v.low)} to ${percent(v.high)}` : "–"), "n"],
    ["steps", (v) => number(v.length, 1), "n"],
  ]} />
);

const Tools = ({ tools }) => (
  <Table rows={tools.slice(0, 20)} columns={[
    ["tool", (t) => <a href={`#search?tool=${encodeURIComponent(t.name)}`}>{t.name}</a>],
    ["calls", (t) => count(t.calls), "n"],
    ["result known", (t) => count(t.known), "n"],
    ["errors", (t) => (t.known ? <span class="share" style={{ "--share": t.errors / t.known }}>{percent(t.errors / t.known)}</span> : "not known"), "n"],
  ]} />
);

const Problems = ({ problems }) => (
  <section>
    <h2>What is wrong with the rows</h2>
    {problems.length === 0 ? (
      <p>Nothing was found.</p>
    ) : (
      <Table rows={problems} columns={[
        ["problem", (p) => p.problem],
        ["effect", (p) => p.effect],
        ["groups", (p) => count(p.groups), "n"],
        ["rows", (p) => count(p.rows), "n"],
      ]} />
    )}
  </section>
);
