import * as Plot from "@observablehq/plot";
import { type Analysis, type Figure, type Rung, findMetric } from "../analysis";
import { bottomLogAxis, type Drawing, widest } from "../frame";
import { alone, logDomain, logTicks, positive, quantity, tick } from "../number";
import { look, type Look, lookOf, shorten } from "../style";
import { namesWidth, rowNames, whisker } from "./rows";

/** The CPU and wall time of an operation of each variant, the cheapest first. */
export function ladder(a: Analysis, looks: Map<string, Look>, width: number): Drawing {
  const rungs = a.ladder
    .filter((r) => positive([r.cpu_per_operation]).length === 1)
    .sort((x, y) => x.cpu_per_operation - y.cpu_per_operation);
  const domain = logDomain(
    positive(rungs.flatMap((r) => [r.cpu_per_operation, r.elapsed_per_operation])),
    1.6,
  );
  const texts = rungs.map((r) => quantity(alone(r.cpu_per_operation), "s"));
  const names = rungs.map((r) => r.variant);
  const neutral = { ...look(0), colour: "currentColor" };
  return {
    legend: [
      { name: "CPU time of all units", look: neutral },
      { name: "wall time / operations", look: neutral, hollow: true },
    ],
    options: {
      height: rungs.length * 30 + 56,
      marginLeft: namesWidth(names, width),
      marginRight: widest(texts) + 16,
      marginBottom: 40,
      x: { type: "log", domain, axis: null },
      y: { type: "point", domain: names, axis: null, padding: 0.6 },
      marks: [
        ...bottomLogAxis(
          logTicks(...domain, width > 560 ? 8 : 4),
          (d) => tick(d, "s"),
          `time per ${shorten(a.operation, 20)} (log axis) →`,
        ),
        rowNames(names, width),
        ...rungs.flatMap((r, i) => rungMarks(a, r, lookOf(looks, r.variant), texts[i] ?? "")),
      ],
    },
  };
}

function rungMarks(a: Analysis, r: Rung, look: Look, text: string): Plot.Markish[] {
  const wall = positive([r.elapsed_per_operation]).length === 1;
  const title = (what: string, measured: string, value: Figure): string => {
    const time = quantity({ value, ...interval(a, r, measured) }, "s");
    return `${r.variant} at ${r.point}: ${what} ${time} per ${a.operation}`;
  };
  const at = { y: () => r.variant };
  return [
    wall
      ? Plot.ruleY([r], {
          ...at,
          x1: "elapsed_per_operation",
          x2: "cpu_per_operation",
          stroke: look.colour,
          strokeOpacity: 0.35,
          strokeWidth: 2,
        })
      : null,
    whisker(r, interval(a, r, "cpu"), { ...at, stroke: look.colour, strokeWidth: 5, strokeOpacity: 0.5 }),
    wall
      ? Plot.dot([r], {
          ...at,
          x: "elapsed_per_operation",
          symbol: look.symbol,
          r: 4.5,
          fill: "var(--paper)",
          stroke: look.colour,
          strokeWidth: 1.6,
          title: () => title("wall", "elapsed", r.elapsed_per_operation),
          tip: true,
        })
      : null,
    Plot.dot([r], {
      ...at,
      x: "cpu_per_operation",
      symbol: look.symbol,
      r: 4.8,
      fill: look.colour,
      stroke: look.colour,
      title: () => title("CPU", "cpu", r.cpu_per_operation),
      tip: true,
    }),
    Plot.text([r], {
      ...at,
      frameAnchor: "right",
      text: () => text,
      dx: 8,
      textAnchor: "start",
      fill: "currentColor",
    }),
  ];
}

/** The interval of a quantity per operation of a rung. */
function interval(a: Analysis, r: Rung, measured: string): { low: Figure | null; high: Figure | null } {
  const metric = findMetric(a, measured, 0, "operation")?.name;
  const found = a.results.find(
    (x) => x.metric === metric && x.variant === r.variant && x.point.name === r.point,
  );
  return { low: found?.low ?? null, high: found?.high ?? null };
}
