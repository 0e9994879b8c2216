// What the terms mean: one list, shown on a page of its own and where a term stands.

import { useEffect, useState } from "preact/hooks";

export const terms = {
  group: "All rollouts that are compared with each other: tries at one task, by one policy version, in one run.",
  rollout: "One try at a task: a list of steps.",
  step: "One action of a rollout, with the state that it was taken in.",
  state: "What the rollout was in when it acted. Two steps with the same state can be compared.",
  judged: "A rollout is judged if it has a reward or a success. Others take no part in any statistic.",
  informative: "A group is informative if its judged rollouts did not all come out the same.",
  "shared state": "A state that steps of at least two rollouts of the group are in.",
  advantage: "How much better than usual a step was, by a method. Above 0: better; below 0: worse.",
  q: "The mean return of the rollouts that took this action in this state.",
  v: "The mean return of all visits to this state, drawn to the success rate while they are few.",
  took: "How many of the visits to the state took this action.",
  confidence: "How sure the sign of the advantage is, from .5 (a guess) to 1.",
  return: "The sum of the rewards of a rollout.",
  "decision point": "A state where actions lead to different returns.",
  "cut off": "The rollout ended before it was done, for example at a limit of turns.",
  flaky: "A task that is solved in some tries and failed in others.",
  reinforce: "REINFORCE: every step of a rollout gets the rollout's return.",
  mt_rloo: "MT-RLOO: rewards of turns and the outcome, less the mean of the other rollouts.",
  rloo: "RLOO: every step gets the rollout's return less the mean of the other rollouts.",
  grpo: "GRPO: every step gets the rollout's return, normalised over the group.",
  mt_grpo: "MT-GRPO: rewards of turns, normalised at each turn, and the outcome.",
  gae: "Generalised advantage estimation, from stored values of states.",
  gigpo: "GiGPO: the rollout's return in the group and the step's return among steps in the same state.",
  graphgpo: "GraphGPO: the distance to the goal in the graph of the group's states.",
  rtmc: "RTMC: Monte Carlo means over the tree of states and actions that rollouts share.",
  batch_td: "Batch TD: values of states from all observed transitions. Misleads where states hide something.",
  history_td: "Batch TD on the state and what was done before, backed by the state alone.",
  hgpo: "HGPO: GiGPO at several lengths of history.",
  tempo: "TEMPO: values of prefixes that rollouts share.",
};

// Of other methods, what the database says.
export function explain(methods) {
  for (const [name, text] of Object.entries(methods)) if (text) terms[name] ??= text;
}

export function Term({ name, children }) {
  const key = String(name).toLowerCase();
  const text = terms[key];
  const shown = children ?? name;
  if (!text) return <>{shown}</>;
  return (
    <dfn class="term" tabindex="0" data-tip={text} aria-label={`${name}: ${text}`}>
      {shown}
    </dfn>
  );
}

// A sentence with its terms explained where they stand.
const in_sentences = {
  judged: "judged", informative: "informative", flaky: "flaky", groups: "group", "share a state": "shared state", "another try shares": "shared state",
  RTMC: "rtmc", GiGPO: "gigpo", GraphGPO: "graphgpo", "batch TD": "batch_td",
};
const said = new RegExp(`\\b(${Object.keys(in_sentences).join("|")})\\b`);

export function Words({ text }) {
  return <>{text.split(said).map((part, i) => (i % 2 ? <Term name={in_sentences[part]}>{part}</Term> : part))}</>;
}

// The text of the term under the pointer or in focus, in a box above the page: no table cuts it off.
export function Tip() {
  const [tip, show] = useState(null);
  useEffect(() => {
    // In the next frame: what gets the focus is scrolled into view first.
    const look = ({ target }) => requestAnimationFrame(() => {
      const term = target.closest?.("dfn.term");
      if (!term) return show(null);
      const { left, top, bottom } = term.getBoundingClientRect();
      const place = bottom + 140 < innerHeight ? { top: `${bottom + 4}px` } : { bottom: `${innerHeight - top + 4}px` };
      show({ text: term.dataset.tip, place: { left: `${Math.max(8, Math.min(left, innerWidth - 310))}px`, ...place } });
    });
    for (const event of ["pointerover", "focusin"]) addEventListener(event, look);
    for (const event of ["focusout", "hashchange", "scroll"]) addEventListener(event, () => show(null), true);
  }, []);
  return tip && <div class="tip" aria-hidden="true" style={tip.place}>{tip.text}</div>;
}

export function Glossary() {
  return (
    <section>
      <h1>Glossary</h1>
      <dl class="glossary">
        {Object.entries(terms).map(([name, text]) => (
          <>
            <dt id={`term-${name}`}>{name}</dt>
            <dd>{text}</dd>
          </>
        ))}
      </dl>
    </section>
  );
}
