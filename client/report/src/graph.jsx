// The state graph of a group, laid out by Graphviz: states that rollouts share, and what leads where.
import { Graphviz } from "@hpcc-js/wasm-graphviz";
import { useEffect, useMemo, useState } from "preact/hooks";
import { Zoomed, button } from "./zoom.jsx";
import { brief, in_pixels, is_complete, plural, short_labels, width_of } from "./words.js";

const most_nodes = 80;
const most_edges = 200;
const most_labels = 80;
const inch = 72;

// States with the steps in them, and edges with the rollouts that took them.  The states with
// most visits are shown; what leads to others ends in one node for all of these.
function state_graph(group, by_rollout) {
  const visits = new Map();
  for (const step of group.steps) if (step.s != null) visits.set(step.s, (visits.get(step.s) ?? 0) + 1);
  const shown = new Set([...visits].sort((a, b) => b[1] - a[1]).slice(0, most_nodes).map(([state]) => state));
  const name = (step) => (step.s != null && shown.has(step.s) ? `s${step.s}` : "other");
  const nodes = new Map();
  const edges = new Map();
  by_rollout.forEach((steps, r) => {
    const end = !is_complete(group.rollouts[r]) ? "not known" : group.rollouts[r].success ? "solved" : "failed";
    steps.forEach((step, i) => {
      const from = name(step);
      const to = i + 1 < steps.length ? name(steps[i + 1]) : end;
      if (!nodes.has(from)) nodes.set(from, { name: from, steps: [] });
      if (!nodes.has(to)) nodes.set(to, { name: to, steps: [] });
      nodes.get(from).steps.push(step);
      const key = `${from} ${to}`;
      if (!edges.has(key)) edges.set(key, { from, to, steps: [], rollouts: new Set() });
      edges.get(key).steps.push(step);
      edges.get(key).rollouts.add(r);
    });
  });
  const taken = [...edges.values()].sort((a, b) => b.rollouts.size - a.rollouts.size || b.steps.length - a.steps.length);
  const graph = { nodes: [...nodes.values()], edges: taken.slice(0, most_edges), left_out: Math.max(0, taken.length - most_edges) };
  label(graph);
  return graph;
}

// A state is called by what was seen, an edge by what was mostly done.
function label({ nodes, edges }) {
  const states = nodes.filter((node) => node.steps.length && node.name !== "other");
  const seen = short_labels(states.map(({ steps: [step] }) => step.o == null ? step.name : step.o || "(nothing)"), in_pixels(2.1 * inch - 14));
  for (const node of nodes) node.label = node.name === "other" ? "other states" : node.name;
  states.forEach((node, i) => (node.label = seen[i]));
  if (edges.length > most_labels) return;
  for (const from of states) {
    const out = edges.filter((edge) => edge.from === from.name);
    const done = out.map(({ steps }) => [...Map.groupBy(steps, (step) => step.name)].sort((a, b) => b[1].length - a[1].length));
    const labels = short_labels(done.map(([[name]]) => name), in_pixels(120));
    out.forEach((edge, i) => (edge.label = done[i].length > 1 ? `${labels[i]} +${done[i].length - 1}` : labels[i]));
  }
}

// Room for a label, without its text.
const room = (edge) =>
  edge.label ? `,label=<<table border="0" fixedsize="true" width="${Math.ceil(width_of(edge.label)) + 6}" height="16"><tr><td></td></tr></table>>` : "";

// Only sizes and names of ours reach Graphviz: no text of a rollout does.
function dot(graph) {
  const number = new Map(graph.nodes.map((node, i) => [node.name, i]));
  const nodes = graph.nodes.map((_, i) => `n${i}`);
  const edges = graph.edges.map((e, i) => `n${number.get(e.from)}->n${number.get(e.to)}[id=e${i},weight=${e.rollouts.size}${room(e)}]`);
  return `digraph{nodesep=.3;ranksep=.45;node[shape=box,fixedsize=true,width=2.1,height=.5];${[...nodes, ...edges].join(";")}}`;
}

function path(pos) {
  const points = pos.replace(/^[es],\S+ /g, "").split(" ").filter((p) => !/^[es],/.test(p)).map((p) => p.split(",").map(Number));
  return `M${points[0]}C${points.slice(1).join(" ")}`;
}

export function StateGraph({ group, by_rollout, lit, light, open, set_open }) {
  const graph = useMemo(() => state_graph(group, by_rollout), [by_rollout]);
  const [laid, set_laid] = useState(null);
  useEffect(() => {
    Graphviz.load().then((graphviz) => set_laid(JSON.parse(graphviz.layout(dot(graph), "json", "dot"))));
  }, [graph]);
  if (!laid) return <p>Laying out …</p>;
  const left_out = graph.left_out > 0 ? `, ${graph.left_out} that fewer rollouts took are left out` : "";
  const [, , width, height] = laid.bb.split(",").map(Number);
  const place = (pos) => pos.split(",").map(Number);
  return (
    <Zoomed width={width} height={height} label={`State graph: ${plural(graph.nodes.length, "state")}, ${plural(graph.edges.length, "edge")}${left_out}`}>
      <defs>
        <marker id="arrow" viewBox="0 0 8 8" refX="1" refY="4" markerWidth="7" markerHeight="7" markerUnits="userSpaceOnUse" orient="auto">
          <path d="M0,0L8,4L0,8z" fill="context-stroke" />
        </marker>
      </defs>
      <g transform={`translate(0,${height}) scale(1,-1)`}>
        {(laid.edges ?? []).map((e, i) => {
          const edge = graph.edges[i];
          const judged = [...edge.rollouts].filter((r) => is_complete(group.rollouts[r]));
          const good = judged.filter((r) => group.rollouts[r].success).length / (judged.length || 1);
          return (
            <path class={`edge${lit.some((r) => edge.rollouts.has(r)) ? " lit" : ""}`} d={path(e.pos)} marker-end="url(#arrow)" stroke-width={1 + Math.log2(edge.rollouts.size)}
              style={{ stroke: judged.length ? `color-mix(in oklab, var(--good) ${Math.round(100 * good)}%, var(--bad))` : "var(--none)" }}
              onMouseEnter={() => light([...edge.rollouts])} onMouseLeave={() => light(null)}>
              <title>{edge.steps.slice(0, 8).map((s) => brief(s.name, 120)).join("\n")}</title>
            </path>
          );
        })}
      </g>
      {(laid.edges ?? []).map((e, i) => {
        if (!e.lp) return null;
        const [x, y] = place(e.lp);
        return <text class={`small did${lit.some((r) => graph.edges[i].rollouts.has(r)) ? " lit" : ""}`} x={x} y={height - y + 4} text-anchor="middle">{graph.edges[i].label}</text>;
      })}
      {laid.objects.map((o, i) => {
        const node = graph.nodes[i];
        const [x, y] = place(o.pos);
        const step = node.steps[0];
        return (
          <g class={`node${open && node.steps.includes(open) ? " open" : ""}`} transform={`translate(${x - 1.05 * inch},${height - y - 0.25 * inch})`}
            onMouseEnter={() => light([...new Set(node.steps.map((s) => s.r))])} onMouseLeave={() => light(null)}
            onClick={() => step && set_open(step)} {...button(() => step && set_open(step))}>
            <title>{brief(step?.o, 300)}</title>
            <rect width={2.1 * inch} height={0.5 * inch} rx={4} class={`end-${node.name.replace(" ", "-")}`} />
            <text x={7} y={15}>{node.label}</text>
            <text x={7} y={29} class="small">{step ? plural(node.steps.length, "visit") : ""}</text>
          </g>
        );
      })}
    </Zoomed>
  );
}
