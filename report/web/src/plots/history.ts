import * as Plot from "@observablehq/plot";
import type { Estimate, Figure } from "../analysis";
import { type Drawing, leftLogAxis, widest } from "../frame";
import { logDomain, logTicks, positive, times } from "../number";
import { linearTicks } from "./along";

/** The history of a bar of a headline over the runs of a study, the oldest first. */
export interface History {
  runs: { created: string; environment: unknown[] | null }[];
  course: {
    bar: { label: string; baseline: string };
    ratios: ({ ratio: Figure; low: Figure | null; high: Figure | null } | null)[];
    changes: { run: number; factor: number }[] | null;
    levels: Level[] | null;
  };
}

/** The runs of a level, and the geometric mean of their ratios. */
interface Level {
  first: number;
  last: number;
  mean: Figure;
}

/** A point of the plot: a ratio with its interval. */
interface Point extends Estimate {
  run: number;
}

const MARGIN = 12;

/** The ratio of each run with its interval, the levels between changes, and changes of the environment. */
export function history(h: History): Drawing {
  const changes = (h.course.changes ?? []).map((c) => c.run);
  const points = h.course.ratios.flatMap((r, run): Point[] =>
    r && r.ratio > 0 ? [{ value: r.ratio, low: r.low, high: r.high, run }] : [],
  );
  if (points.length === 0) return { options: { marks: [] } };
  const domain = logDomain(
    positive(points.flatMap((p): (number | null)[] => [p.value, p.low, p.high])),
    1.05,
  );
  const narrow = domain[1] / domain[0] < 4; // too few ticks of a log axis are inside
  const ticks = (narrow ? linearTicks(...domain, 4, 1) : logTicks(...domain, 5)).filter(
    (t) => t >= domain[0] && t <= domain[1],
  );
  const format = (d: number): string => `${Number(d.toPrecision(4))}x`;
  const elsewhere = h.runs.flatMap((r, run) => ((r.environment ?? []).length > 0 ? [run] : []));
  return {
    options: {
      height: 220,
      marginTop: 26,
      marginLeft: widest(ticks.map(format)) + 18,
      marginRight: MARGIN,
      marginBottom: 36,
      x: { domain: [-0.5, h.runs.length - 0.5], axis: null },
      y: { type: "log", domain, axis: null },
      marks: [
        ...leftLogAxis(ticks, format, `↑ of ${h.course.bar.baseline} (log axis)`),
        Plot.ruleY(domain[0] <= 1 && domain[1] >= 1 ? [1] : [], { stroke: "currentColor" }),
        Plot.ruleX(changes, { x: (run: number) => run - 0.5, stroke: "var(--bad)", strokeDasharray: "4 3" }),
        Plot.ruleY(h.course.levels ?? [], {
          y: "mean",
          x1: (l: Level) => l.first - 0.4,
          x2: (l: Level) => l.last + 0.4,
          stroke: "var(--quiet)",
          strokeWidth: 1.5,
        }),
        Plot.ruleX(
          points.filter((p) => positive([p.low, p.high]).length === 2),
          { x: "run", y1: "low", y2: "high", stroke: "var(--v0)", strokeOpacity: 0.6 },
        ),
        Plot.dot(points, {
          x: "run",
          y: "value",
          r: 3,
          fill: "var(--v0)",
          title: (p: Point) => `${h.runs[p.run]?.created ?? ""}: ${times(p)}`,
          tip: true,
        }),
        Plot.text(elsewhere, {
          x: (run: number) => run,
          frameAnchor: "bottom",
          dy: 14,
          text: () => "▲",
          fill: "var(--warn)",
        }),
        Plot.text(["runs, oldest first → (▲: another environment)"], {
          frameAnchor: "bottom-right",
          dy: 30,
          text: (t: string) => t,
          fill: "currentColor",
        }),
      ],
    },
  };
}
