// A step in full, and what others did in the same state.
import { Term } from "./glossary.jsx";
import { in_characters, number, outcome, percent, plural, short_labels, signed } from "./words.js";

export function Step({ group, by_rollout, step, method, close, set_open }) {
  const rollout = group.rollouts[step.r];
  const next = by_rollout[step.r][by_rollout[step.r].indexOf(step) + 1];
  return (
    <aside class="step" aria-label={`Step ${step.n} of rollout ${rollout.name}`} key={`${step.r}-${step.n}`}>
      <button class="plain close" onClick={close} aria-label="Close the step">
        ×
      </button>
      <h2>
        Step {step.n} of {rollout.name}
      </h2>
      <p>
        <small>{outcome(rollout.success, rollout.truncated)}, return {number(rollout.return)}</small>
      </p>
      <p>{sentence(group, step)}</p>
      <Text name="saw" text={step.o} />
      <Text name={step.e === false && step.x == null ? "did, with an error" : "did"} text={step.d} />
      {step.x != null ? <Text name={step.e === false ? "result: an error" : "result"} text={step.x} /> : <Text name="then saw" text={next?.o} />}
      {step.w != null && <p>Reward {number(step.w)}</p>}
      <Others group={group} step={step} set_open={set_open} />
      <h3>
        <Term name="advantage">Advantages</Term>
      </h3>
      <table>
        <tbody>
          {group.methods.map((name, m) => (
            <tr class={m === method ? "on" : ""}>
              <th>
                <Term name={name} />
              </th>
              <td class="n">{signed(step.adv[m], 3)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </aside>
  );
}

function sentence(group, step) {
  if (!step.v) return null;
  const { q, v, n_state, n_action, confidence } = step.v;
  return (
    <>
      <Term name={group.value_method} />: {n_action} of {plural(n_state, "visit")} to this <Term name="state" />{" "}
      <Term name="took">took</Term> this action, with a mean return of {number(q)} (<Term name="q" />); usual is {number(v)} (
      <Term name="v" />).
      {confidence != null && (
        <>
          {" "}
          <Term name="confidence">Confidence</Term> {number(confidence)}.
        </>
      )}
    </>
  );
}

function Text({ name, text }) {
  if (text == null || text === "") return null;
  return (
    <details open={text.length < 1500}>
      <summary>{name}</summary>
      <pre tabindex="0">{text}</pre>
    </details>
  );
}

// By action: how often, and what became of these rollouts.
function Others({ group, step, set_open }) {
  if (step.s == null) return <p class="quiet">This step's state is not known, so it is compared with no other.</p>;
  const here = group.steps.filter((s) => s.s === step.s);
  if (here.length < 2) return <p class="quiet">No other step was in this state.</p>;
  const actions = new Map();
  for (const s of here) {
    const key = s.a ?? `step ${s.r}-${s.n}`;
    if (!actions.has(key)) actions.set(key, []);
    actions.get(key).push(s);
  }
  const rows = [...actions.values()].map((steps) => {
    const judged = [...new Set(steps.map((s) => s.r))].filter((r) => group.rollouts[r].success != null);
    const solved = judged.filter((r) => group.rollouts[r].success).length;
    return { steps, judged: judged.length, solved };
  });
  const labels = short_labels(rows.map(({ steps }) => steps[0].name), in_characters(60));
  rows.forEach((row, i) => (row.label = labels[i]));
  rows.sort((a, b) => b.solved / (b.judged || 1) - a.solved / (a.judged || 1) || b.steps.length - a.steps.length);
  return (
    <>
      <h3>In the same state</h3>
      <table>
        <thead>
          <tr>
            <th>did</th>
            <th class="n">times</th>
            <th class="n">rollouts solved</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ steps, judged, solved, label }) => (
            <tr class={steps.includes(step) ? "on" : ""}>
              <td title={steps[0].d}>
                <button class="plain link" onClick={() => set_open(steps.find((s) => s.r !== step.r) ?? steps[0])}>
                  {label}
                </button>
              </td>
              <td class="n">{steps.length}</td>
              <td class="n">{judged ? `${solved} of ${judged} (${percent(solved / judged)})` : "not judged"}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}
