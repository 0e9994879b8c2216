// Charts, drawn by Observable Plot.
import * as Plot from "@observablehq/plot";
import { useEffect, useRef } from "preact/hooks";

// A chart as wide as its place.  options(width) gives what Plot.plot takes; label is for who cannot see it.
export function Chart({ label, options, height = 180 }) {
  const place = useRef();
  useEffect(() => {
    const draw = () => {
      const width = Math.max(260, place.current.clientWidth);
      const plot = Plot.plot({ width, height, marginLeft: 48, style: { background: "none" }, ...options(width) });
      plot.setAttribute("role", "img");
      plot.setAttribute("aria-label", label);
      place.current.replaceChildren(plot);
    };
    const observer = new ResizeObserver(draw);
    observer.observe(place.current);
    return () => observer.disconnect();
  }, [options]);
  return <div class="chart" ref={place} style={{ minHeight: `${height}px` }} />;
}

// Success by version: a point with its interval.
export function VersionChart({ versions }) {
  const rows = versions.filter((v) => v.judged > 0);
  return (
    <Chart
      label="Share of solved rollouts by version, with 95 % intervals"
      height={40 + 28 * rows.length}
      options={() => ({
        marginLeft: 120,
        x: { domain: [0, 100], percent: true, label: "solved, %", grid: true },
        y: { label: null, domain: rows.map((v) => v.name) },
        marks: [
          Plot.ruleY(rows, { y: "name", x1: "low", x2: "high", stroke: "var(--muted)", strokeWidth: 4 }),
          Plot.dot(rows, { x: (v) => v.successes / v.judged, y: "name", fill: "var(--accent)", r: 5, tip: true }),
        ],
      })}
    />
  );
}

// Counts by bin: the steps at exactly 0 are a number beside the chart, not a bar.
export function Histogram({ bins, label, stacked }) {
  return (
    <Chart
      label={label}
      height={150}
      options={() => ({
        x: { label: null },
        y: { label: null, grid: true, ticks: 4 },
        color: { domain: ["solved", "failed"], range: ["var(--good)", "var(--bad)"] },
        marks: [
          Plot.rectY(bins, { x1: "from", x2: "to", y: "n", fill: stacked ? "kind" : "var(--accent)", inset: 0.5, tip: true }),
          Plot.ruleY([0]),
        ],
      })}
    />
  );
}
