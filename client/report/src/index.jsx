// The first page: what there is, where it is decided, which group to open.
import { useMemo, useState } from "preact/hooks";
import { Histogram, VersionChart } from "./charts.jsx";
import { Term, Words } from "./glossary.jsx";
import { brief, count, number, percent, plural, signed } from "./words.js";

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
        <table>
          <thead>
            <tr>
              <th>group</th>
              <th class="wide">seen</th>
              <th>better</th>
              <th>worse</th>
              <th class="n wide">visits</th>
              <th class="n">difference</th>
            </tr>
          </thead>
          <tbody>
            {decisions.map((d) => (
              <tr>
                <td>{d.page ? <a href={`#group/${d.group}?rollout=${d.rollout}&step=${d.step}`}>{d.name}</a> : d.name}</td>
                <td class="wide" title={d.observed}>{brief(d.observed, 70)}</td>
                <td title={d.best}>
                  {brief(d.best, 60)} <small>{number(d.best_q)}, {d.best_visits}×</small>
                </td>
                <td title={d.worst}>
                  {brief(d.worst, 60)} <small>{number(d.worst_q)}, {d.worst_visits}×</small>
                </td>
                <td class="n wide">{d.visits}</td>
                <td class="n">{signed(d.gap)}{d.gap_error != null && ` ± ${number(d.gap_error)}`}</td>
              </tr>
            ))}
          </tbody>
        </table>
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
      <table>
        <thead>
          <tr>
            <th>task</th>
            <th>begins with</th>
            <th class="n">{changes.old}</th>
            <th class="n">{changes.new}</th>
          </tr>
        </thead>
        <tbody>
          {changes.tasks.slice(0, shown).map((t) => (
            <tr>
              <td>{t.name}</td>
              <td title={t.words}>{brief(t.words, 90)}</td>
              {t.tries.map(({ solved, n, group, page }) => (
                <td class="n">{page ? <a href={`#group/${group}`}>{`${solved} of ${n}`}</a> : `${solved} of ${n}`}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {changes.tasks.length > shown && <button onClick={() => set_shown(shown + 100)}>{plural(changes.tasks.length - shown, "task")} more</button>}
    </section>
  );
}

const orders = {
  "to learn from": (g) => g.place,
  "solved, least first": (g) => (g.judged ? g.successes / g.judged : 2),
  flaky: (g) => (g.judged ? Math.abs(g.successes / g.judged - 0.5) : 2),
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
      .sort((a, b) => (by(a) < by(b) ? -1 : by(a) > by(b) ? 1 : a.place - b.place));
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
        <table>
          <thead>
            <tr>
              <th>group</th>
              <th>begins with</th>
              <th class="n wide">rollouts</th>
              <th class="n">solved</th>
              <th class="n wide">steps</th>
              <th class="n wide">
                in <Term name="shared state">shared states</Term>
              </th>
              <th class="n wide">largest {index.value_method ? <Term name={index.value_method} /> : "advantage"}</th>
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, shown).map((g) => (
              <tr>
                <td>{g.page ? <a href={`#group/${g.id}`}>{g.name}</a> : g.name}</td>
                <td title={g.words}>{brief(g.words, 90)}</td>
                <td class="n wide">{g.rollouts}</td>
                <td class="n">{g.judged ? `${g.successes} of ${g.judged}` : "not judged"}</td>
                <td class="n wide">{count(g.steps)}</td>
                <td class="n wide">{percent(g.shared)}</td>
                <td class="n wide">{number(g.largest)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {rows.length > shown && (
        <button onClick={() => set_shown(shown + 200)}>{plural(rows.length - shown, "group")} more</button>
      )}
      {rows.length === 0 && <p>No group has “{filter}”.</p>}
    </section>
  );
}

function Versions({ versions }) {
  return (
    <table>
      <thead>
        <tr>
          <th>version</th>
          <th class="n">rollouts</th>
          <th class="n">solved</th>
          <th class="n">95 % interval</th>
          <th class="n">steps</th>
        </tr>
      </thead>
      <tbody>
        {versions.map((v) => (
          <tr>
            <td>{v.name}</td>
            <td class="n">{count(v.rollouts)}</td>
            <td class="n">{v.judged ? percent(v.successes / v.judged) : "not judged"}</td>
            <td class="n">{v.judged ? `${percent(v.low)} to ${percent(v.high)}` : "–"}</td>
            <td class="n">{number(v.length, 1)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Tools({ tools }) {
  return (
    <table>
      <thead>
        <tr>
          <th>tool</th>
          <th class="n">calls</th>
          <th class="n">result known</th>
          <th class="n">errors</th>
        </tr>
      </thead>
      <tbody>
        {tools.slice(0, 20).map((t) => (
          <tr>
            <td>
              <a href={`#search?tool=${encodeURIComponent(t.name)}`}>{t.name}</a>
            </td>
            <td class="n">{count(t.calls)}</td>
            <td class="n">{count(t.known)}</td>
            <td class="n share" style={t.known ? { "--share": t.errors / t.known } : {}}>
              {t.known ? percent(t.errors / t.known) : "not known"}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Problems({ problems }) {
  return (
    <section>
      <h2>What is wrong with the rows</h2>
      {problems.length === 0 ? (
        <p>Nothing was found.</p>
      ) : (
        <table>
          <thead>
            <tr>
              <th>problem</th>
              <th>effect</th>
              <th class="n">groups</th>
              <th class="n">rows</th>
            </tr>
          </thead>
          <tbody>
            {problems.map((p) => (
              <tr>
                <td>{p.problem}</td>
                <td>{p.effect}</td>
                <td class="n">{count(p.groups)}</td>
                <td class="n">{count(p.rows)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}
