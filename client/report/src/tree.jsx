// The tree of a group: what rollouts did from the start, together as long as they did the same.
import { hierarchy, tree as tidy } from "d3-hierarchy";
import { useMemo, useState } from "preact/hooks";
import { Zoomed, button } from "./zoom.jsx";
import { brief, in_pixels, is_complete, outcome, plural, short_labels } from "./words.js";

// Nodes: { key, steps, rollouts, children }.  Steps are the same if state and action are.
function grow(by_rollout) {
  const root = { key: "start", steps: [], rollouts: [], children: new Map() };
  by_rollout.forEach((steps, r) => {
    let at = root;
    at.rollouts.push(r);
    for (const step of steps) {
      const key = step.s == null || step.a == null ? `${r}-${step.n}` : `${step.s} ${step.a}`;
      if (!at.children.has(key)) at.children.set(key, { key: `${at.key}/${key}`, steps: [], rollouts: [], children: new Map() });
      at = at.children.get(key);
      at.steps.push(step);
      at.rollouts.push(r);
    }
  });
  return root;
}

// A chain in which no rollout leaves is one node.
function fold(node, folded) {
  const chain = [node];
  let last = node;
  while (last.children.size === 1) {
    const [only] = last.children.values();
    if (only.rollouts.length !== last.rollouts.length) break;
    chain.push((last = only));
  }
  return {
    chain, node, hidden: folded.has(node.key) ? last.children.size : 0,
    children: folded.has(node.key) ? [] : [...last.children.values()].map((child) => fold(child, folded)),
  };
}

function solved_share(group, rollouts) {
  const judged = rollouts.filter((r) => is_complete(group.rollouts[r]));
  return judged.length ? judged.filter((r) => group.rollouts[r].success).length / judged.length : null;
}

const wide = 250;
const high = 44;

export function RolloutTree({ group, by_rollout, lit, light, open, set_open }) {
  const [folded, set_folded] = useState(new Set());
  const nodes = useMemo(() => {
    const root = hierarchy(fold(grow(by_rollout), folded));
    tidy().nodeSize([high, wide])(root);
    root.each((n) => {
      const steps = (n.children ?? []).map((child) => child.data.node.steps[0]);
      // The same done in two states: in which.
      const twice = (step) => steps.some((other) => other !== step && other.name === step.name);
      const labels = short_labels(steps.map((step) => (step.o && twice(step) ? `${step.name} (${step.o})` : step.name)), in_pixels(wide - 54));
      n.children?.forEach((child, i) => (child.label = labels[i]));
    });
    return root.descendants();
  }, [by_rollout, folded]);
  const top = Math.min(...nodes.map((n) => n.x)) - high;
  const height = Math.max(...nodes.map((n) => n.x)) - top + high;
  const width = Math.max(...nodes.map((n) => n.y)) + wide;
  const toggle = (key) => {
    const next = new Set(folded);
    if (!next.delete(key)) next.add(key);
    set_folded(next);
  };
  return (
    <Zoomed width={width} height={height} label={`Tree of ${plural(group.rollouts.length, "rollout")}`}>
      <g transform={`translate(0,${-top})`}>
        {nodes.filter((n) => n.parent).map((n) => (
          <path class={`edge${n.data.node.rollouts.some((r) => lit.includes(r)) ? " lit" : ""}`}
            stroke-width={1 + 5 * (n.data.node.rollouts.length / group.rollouts.length)}
            d={`M${n.parent.y + wide - 36},${n.parent.x}C${n.y - 10},${n.parent.x} ${n.y - 26},${n.x} ${n.y},${n.x}`} />
        ))}
        {nodes.map((n) => (
          <TreeNode group={group} n={n} open={open} light={light} set_open={set_open} toggle={toggle} />
        ))}
      </g>
    </Zoomed>
  );
}

function TreeNode({ group, n, open, light, set_open, toggle }) {
  const { chain, node, hidden } = n.data;
  const share = solved_share(group, node.rollouts);
  const step = chain.flatMap((c) => c.steps)[0];
  const only = node.rollouts.length === 1 && group.rollouts[node.rollouts[0]];
  const counts = [
    only ? outcome(only.success, only.truncated) : plural(node.rollouts.length, "rollout"),
    hidden > 0 && `${hidden} hidden`,
    !only && share != null && `${Math.round(100 * share)} % solved`,
    chain.length > 1 && step && `${chain.length} steps`,
  ].filter(Boolean).join(", ");
  const is_open = open && chain.some((c) => c.steps.includes(open));
  const fill = share == null ? "var(--none)" : `color-mix(in oklab, var(--good) ${Math.round(100 * share)}%, var(--bad))`;
  return (
    <g class={`node${is_open ? " open" : ""}`} transform={`translate(${n.y},${n.x - 15})`} onMouseEnter={() => light(node.rollouts)}
      onMouseLeave={() => light(null)} onClick={() => step && set_open(step)} onDblClick={() => toggle(node.key)}
      {...button(() => step && set_open(step), () => toggle(node.key))}>
      <title>{`${chain.flatMap((c) => c.steps.slice(0, 1)).map((s) => brief(s.name, 160)).join("\n")}`}</title>
      <rect width={wide - 36} height={30} rx={4} />
      <rect width={5} height={30} rx={2} style={{ fill }} />
      <text x={11} y={12}>{step ? n.label : "start"}</text>
      <text x={11} y={25} class="small">{counts}</text>
    </g>
  );
}
