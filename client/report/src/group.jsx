// The page of a group: its rollouts side by side, a step in full, the tree and the graph.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { align } from "./align.js";
import { load } from "./data.js";
import { Term, Words } from "./glossary.jsx";
import { StateGraph } from "./graph.jsx";
import { Step } from "./step.jsx";
import { RolloutTree } from "./tree.jsx";
import { brief, in_characters, number, outcome, plural, short_labels, short_names, signed } from "./words.js";

// The colour of an advantage: from red over the page's own to green.
export function colour(advantage, scale) {
  if (advantage == null || !scale) return "transparent";
  const share = Math.min(1, Math.abs(advantage) / scale) ** 0.7;
  return `color-mix(in oklab, var(${advantage > 0 ? "--good" : "--bad"}) ${Math.round(48 * share)}%, transparent)`;
}

const largest = (group, m) => group.steps.reduce((most, s) => Math.max(most, Math.abs(s.adv[m] ?? 0)), 1e-9);

export function Group({ index, argument, query }) {
  const [group, set_group] = useState(undefined);
  useEffect(() => void load(`group-${argument[0]}`).then((group) => set_group(group && with_names(group))), [argument[0]]);
  if (group === undefined) return <p>Loading …</p>;
  if (group === null)
    return <p>This report has no page of this group. Give more groups by stepadv report --groups.</p>;
  return <Loaded index={index} group={group} query={query} />;
}

// What a step did, for labels: without the tool where all calls are of one.
function with_names(group) {
  const { steps } = group;
  const tools = new Set(steps.map((step) => step.t).filter(Boolean));
  const call = tools.size === 1 && `${[...tools][0]}: `;
  for (const step of steps) {
    const text = step.d ?? step.o ?? "";
    step.name = brief(call && text.startsWith(call) ? text.slice(call.length) : text, 4000) || "(nothing)";
  }
  return group;
}

// The step that an outcome turns on, by the first method with values: enough visits to its state, an
// action that is surely better or worse than usual, in the direction in which the rollout went.
function turning_point(group, { success }, steps) {
  const sign = success ? 1 : -1;
  const worth = (step) => sign * (step.adv[group.first] ?? 0);
  const sure = steps.filter((s) => success != null && s.v && s.v.n_state >= 5 && s.v.n_state > s.v.n_action && s.v.confidence >= 0.8 && worth(s) > 0);
  return sure.reduce((best, step) => (best && worth(best) >= worth(step) ? best : step), null);
}

const no_rollout = [];

function Loaded({ index, group, query }) {
  const [method, set_method] = useState(group.first);
  const [lit, light] = useState(no_rollout);
  const [open, set_open] = useState(() => chosen(group, query));
  const [view, set_view] = useState("side by side");
  const by_rollout = useMemo(() => group.rollouts.map((_, r) => group.steps.filter((s) => s.r === r)), [group]);
  const scale = useMemo(() => largest(group, method), [group, method]);
  const names = useMemo(() => short_names(group.rollouts.map((r) => r.name)), [group]);
  useKeys(by_rollout, open, set_open);
  // The address leads back to what is open.
  useEffect(() => history.replaceState(null, "", `#group/${group.id}${open ? `?rollout=${open.r}&step=${open.n}` : ""}`), [open]);
  const common = { group, by_rollout, names, method, scale, lit, light: (rollouts) => light(rollouts ?? no_rollout), open, set_open };
  const of = (d) => short_labels([d.best, d.worst], in_characters(60));
  const { words } = index.groups.find((g) => g.id === group.id) ?? {};
  return (
    <>
      <h1>{group.name}</h1>
      {words && <p class="words">{words}</p>}
      <p>
        <Words text={group.sentence} />
      </p>
      {group.decisions.length > 0 ? (
        <ul>
          {group.decisions.map((d) => (
            <li>
              <a href="#" onClick={(e) => (e.preventDefault(), set_open(group.steps[d.step]))}>
                {brief(d.observed, 60) || "A state"}
              </a>
              : {of(d)[0]} comes to {number(d.best_q)} ({d.best_visits}×), {of(d)[1]} to {number(d.worst_q)} ({d.worst_visits}×).
            </li>
          ))}
        </ul>
      ) : (
        <p class="quiet">No state of this group shows by enough visits that one action is better than another.</p>
      )}
      <p class="controls">
        <label>
          colours by{" "}
          <select id="method" value={method} onChange={(e) => set_method(Number(e.target.value))}>
            {group.methods.map((name, i) => (
              <option value={i}>{name}</option>
            ))}
          </select>{" "}
          <Term name={group.methods[method]}>what is it?</Term>
        </label>
        <span role="tablist">
          {["side by side", "methods", "tree", "graph"].map((name) => (
            <button role="tab" aria-selected={view === name} class={view === name ? "on" : ""} onClick={() => set_view(name)}>
              {name}
            </button>
          ))}
        </span>
        <span class="quiet">{lit.length > 0 && `${plural(lit.length, "rollout")}: ${brief(lit.map((r) => names[r]).join(", "))}`}</span>
      </p>
      <div class="with-step">
        <div>
          {view === "side by side" && <SideBySide {...common} />}
          {view === "methods" && <Strips {...common} />}
          {view === "tree" && <RolloutTree {...common} />}
          {view === "graph" && <StateGraph {...common} />}
        </div>
        {open && <Step {...common} step={open} close={() => set_open(null)} />}
      </div>
    </>
  );
}

function chosen(group, query) {
  if (query.step === undefined) return null;
  const r = Number(query.rollout ?? 0);
  return group.steps.find((s) => s.r === r && s.n === Number(query.step)) ?? null;
}

// j and k go along a rollout, [ and ] to the same place of the next one.
function useKeys(by_rollout, open, set_open) {
  useLayoutEffect(() => {
    const pressed = (event) => {
      if (/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) || event.ctrlKey || event.metaKey) return;
      if (event.key === "Escape") return set_open(null);
      const along = { j: 1, k: -1 }[event.key];
      const across = { "]": 1, "[": -1 }[event.key];
      if (!along && !across) return;
      if (!open) return set_open(by_rollout.find((steps) => steps.length)?.[0] ?? null);
      const r = open.r + (across ?? 0);
      const steps = by_rollout[r];
      if (!steps?.length) return;
      const at = by_rollout[open.r].indexOf(open) + (along ?? 0);
      const next = steps[Math.max(0, Math.min(steps.length - 1, at))];
      set_open(next);
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, [by_rollout, open]);
}

function RolloutHead({ group, by_rollout, names, light, set_open, r }) {
  const rollout = group.rollouts[r];
  const turned = useMemo(() => turning_point(group, rollout, by_rollout[r]), [group, r]);
  return (
    <span class={`rollout-name ${outcome(rollout.success, rollout.truncated).replace(" ", "-")}`} title={rollout.name}
      onMouseEnter={() => light([r])} onMouseLeave={() => light(null)}>
      <b>{names[r]}</b> <small>{outcome(rollout.success, rollout.truncated)}, {number(rollout.return)}</small>
      {turned && " "}
      {turned && (
        <button class="plain link" onClick={() => set_open(turned)} title={`Its largest sure advantage in the direction of its outcome: ${turned.name} ${signed(turned.adv[group.first])}`}>
          <small>decided at {turned.n}</small>
        </button>
      )}
    </span>
  );
}

const columns_at_once = 24;
// Of more rows than these, those in view are drawn, all of one height; on paper all are.
const most_rows = 200;
const drawn_rows = 90;
const paper = matchMedia("print");

function usePaper() {
  const [on, set_on] = useState(paper.matches);
  useEffect(() => {
    const changed = () => set_on(paper.matches);
    paper.addEventListener("change", changed);
    return () => paper.removeEventListener("change", changed);
  }, []);
  return on;
}

// The cell of a step, or the row that it will be drawn in, comes into view.
function show(box, rows, high, step) {
  if (high) {
    const at = high * rows.findIndex(({ cells }) => cells.includes(step));
    if (at < box.scrollTop || at + 3 * high > box.scrollTop + box.clientHeight) box.scrollTop = at - box.clientHeight / 3;
  }
  document.getElementById(`s${step.r}-${step.n}`)?.scrollIntoView({ block: "nearest", inline: "nearest" });
}

function SideBySide(common) {
  const { by_rollout, method, scale, lit, open, set_open } = common;
  const [from, set_from] = useState(0);
  const part = by_rollout.slice(from, from + columns_at_once);
  const rows = useMemo(() => align(part).map((cells) => {
    const steps = part.map((_, i) => cells[i]).filter(Boolean);
    const labels = short_labels(steps.map((step) => step.name), in_characters(42));
    return { cells, label: new Map(steps.map((step, i) => [step, labels[i]])) };
  }), [by_rollout, from]);
  const box = useRef();
  const on_paper = usePaper();
  const high = useMemo(() => {
    if (on_paper || rows.length <= most_rows) return 0;
    return rows.some(({ label }) => [...label.values()].some((text) => text.length > 11)) ? 68 : 31;
  }, [rows, on_paper]);
  const [first, set_first] = useState(0);
  const shown = high ? rows.slice(first, first + drawn_rows) : rows;
  useEffect(() => {
    if (!open) return;
    if (open.r < from || open.r >= from + columns_at_once) set_from(open.r - (open.r % columns_at_once));
    else show(box.current, rows, high, open);
  }, [open, from]);
  const scrolled = () => set_first(high ? Math.max(0, 10 * Math.floor(box.current.scrollTop / high / 10 - 2)) : 0);
  return (
    <>
      {by_rollout.length > columns_at_once && (
        <p class="controls">
          <button disabled={from === 0} onClick={() => set_from(from - columns_at_once)}>before</button>
          rollouts {from + 1} to {Math.min(by_rollout.length, from + columns_at_once)} of {by_rollout.length}
          <button disabled={from + columns_at_once >= by_rollout.length} onClick={() => set_from(from + columns_at_once)}>
            after
          </button>
        </p>
      )}
      <div class="side-by-side" role="grid" ref={box} onScroll={scrolled} style={{ "--columns": part.length, "--high": `${high - 2}px` }} tabindex="0"
        aria-label="Rollouts side by side" aria-rowcount={rows.length + 1}>
        <div class="row head" role="row">
          {part.map((_, i) => (
            <div role="columnheader">
              <RolloutHead {...common} r={from + i} />
            </div>
          ))}
        </div>
        {high > 0 && <div style={{ height: `${high * first}px` }} />}
        {shown.map(({ cells, label }, i) => (
          <div class={`row${high ? " fixed" : ""}`} role="row" aria-rowindex={first + i + 2} key={first + i}>
            {part.map((_, i) => {
              const step = cells[i];
              if (!step) return <div role="gridcell" class="none" />;
              return (
                <button role="gridcell" id={`s${step.r}-${step.n}`} title={brief(step.name, 400)}
                  class={`cell${step === open ? " open" : ""}${open && step.s != null && step.s === open.s ? " same" : ""}${lit.includes(step.r) ? " lit" : ""}`}
                  style={{ background: colour(step.adv[method], scale) }} onClick={() => set_open(step)}>
                  <small>{step.n}</small> {label.get(step)}
                  <small class="n">
                    {step.e === false && "error "}
                    {signed(step.adv[method])}
                  </small>
                </button>
              );
            })}
          </div>
        ))}
        {high > 0 && <div style={{ height: `${high * (rows.length - first - shown.length)}px` }} />}
      </div>
    </>
  );
}

// A strip per rollout: a line per method, a mark per step.
const line = 13;
const margin = 92;

function Strips(common) {
  const { group, by_rollout } = common;
  const scales = useMemo(() => group.methods.map((_, m) => largest(group, m)), [group]);
  const longest = Math.max(1, ...by_rollout.map((steps) => steps.length));
  const wide = Math.max(6, Math.min(18, 900 / longest));
  return (
    <div class="strips">
      <p class="key">
        Green is above 0, red below, as strong as the method's largest: {group.methods.map((m, i) => [i > 0 && ", ", <Term name={m} />])}.
      </p>
      {by_rollout.map((steps, r) => (
        <div class="strip">
          <RolloutHead {...common} r={r} />
          <Strip {...common} r={r} scales={scales} wide={wide} />
        </div>
      ))}
    </div>
  );
}

function Strip({ group, by_rollout, names, open, set_open, r, scales, wide }) {
  const steps = by_rollout[r];
  const high = group.methods.length * line;
  // A path for all marks of one colour: an element for each mark takes seconds.
  const marks = useMemo(() => {
    const of_colour = new Map();
    steps.forEach((step, i) => step.adv.forEach((advantage, m) => {
      const fill = colour(advantage, scales[m]);
      const mark = `M${(i * wide + 0.5).toFixed(1)} ${m * line + 0.5}h${(wide - 1).toFixed(1)}v${line - 1}H${(i * wide + 0.5).toFixed(1)}z`;
      of_colour.set(fill, (of_colour.get(fill) ?? "") + mark);
    }));
    return [...of_colour].map(([fill, d]) => <path d={d} style={{ fill }} />);
  }, [group, wide]);
  const under = (event) => steps[Math.floor((event.clientX - event.currentTarget.getBoundingClientRect().left) / wide)] ?? steps.at(-1);
  const tell = (event) => {
    const step = under(event);
    if (step) event.currentTarget.firstChild.textContent = `${step.n}: ${brief(step.name, 200)}`;
  };
  return (
    <div class="scroll">
      <svg width={margin + steps.length * wide} height={high} role="img" aria-label={`Advantages of rollout ${names[r]} by ${group.methods.length} methods`}>
        {group.methods.map((name, m) => (
          <text x={margin - 6} y={m * line + 10} text-anchor="end">{name}</text>
        ))}
        <g transform={`translate(${margin},0)`} onClick={(event) => set_open(under(event))} onMouseMove={tell}>
          <title />
          <rect class="place" width={steps.length * wide} height={high} />
          {marks}
          {open?.r === r && <rect class="open" x={steps.indexOf(open) * wide} width={wide} height={high} />}
        </g>
      </svg>
    </div>
  );
}
