import * as Plot from "@observablehq/plot";
import { type Analysis, type Figure, comparedVariants, ratiosToBaseline, resultsOf } from "../analysis";
import { type Drawing, leftLogAxis, widest } from "../frame";
import { logDomain, logTicks, positive, quantity, tick, times } from "../number";
import { type Look, lookOf, shorten } from "../style";

/** A dot with its interval. */
interface Dot {
  point: string;
  value: Figure;
  low: Figure | null;
  high: Figure | null;
  title: string;
}

/** Ratios to the baseline at each point, for variants measured at several points. */
export function ratiosByPoint(a: Analysis, looks: Map<string, Look>, width: number, metric: string): Drawing {
  const series = new Map<string, Dot[]>();
  for (const c of ratiosToBaseline(a, metric)) {
    const ratio = times({ value: c.ratio, low: c.low, high: c.high });
    const title = `${c.variant} at ${c.point.name}: ${ratio}, n=${c.n} blocks`;
    series.set(c.variant, [
      ...(series.get(c.variant) ?? []),
      { point: c.point.name, value: c.ratio, low: c.low, high: c.high, title },
    ]);
  }
  const swept = comparedVariants(a)
    .map((v): [string, Dot[]] => [v, series.get(v) ?? []])
    .filter(([, dots]) => dots.length > 1);
  return byPoint(a, new Map(swept), looks, width, {
    label: `ratio to ${shorten(a.baseline, 24)}`,
    format: (d) => `${d}x`,
    joined: false,
  });
}

/** A cost per operation at each point, for every variant. */
export function costByPoint(a: Analysis, looks: Map<string, Look>, width: number, metric: string): Drawing {
  const series = new Map<string, Dot[]>();
  for (const [variant, results] of resultsOf(a, metric)) {
    const dots = results
      .filter((r) => positive([r.mean]).length === 1)
      .map((r) => {
        const cost = { value: r.mean, low: r.low, high: r.high };
        const title = `${variant} at ${r.point.name}: ${quantity(cost, r.unit)} per ${a.operation}`;
        return { point: r.point.name, ...cost, title };
      });
    if (dots.length > 0) series.set(variant, dots);
  }
  return byPoint(a, series, looks, width, {
    label: `per ${shorten(a.operation, 20)}`,
    format: (d) => tick(d, "s"),
    joined: true,
  });
}

/** Series over the points, on a log axis with a label and formatted ticks; joined: lines link the dots. */
function byPoint(
  a: Analysis,
  series: Map<string, Dot[]>,
  looks: Map<string, Look>,
  width: number,
  { label, format, joined }: { label: string; format: (d: number) => string; joined: boolean },
): Drawing {
  const domain = logDomain(
    positive([...series.values()].flat().flatMap((d) => [d.value, d.low, d.high])),
    1.2,
  );
  const ticks = logTicks(...domain, 8);
  const shown = a.points
    .map((p) => p.name)
    .filter((p) => [...series.values()].some((dots) => dots.some((d) => d.point === p)));
  const step = width / Math.max(1, shown.length + 1);
  const spread = Math.min(7, (step * 0.6) / Math.max(1, series.size));
  return {
    legend: [...series.keys()].map((name) => ({ name, look: lookOf(looks, name) })),
    options: {
      height: 320,
      marginTop: 26,
      marginLeft: widest(ticks.map(format)) + 18,
      marginBottom: 36,
      x: {
        type: "point",
        domain: shown,
        label: "point",
        labelAnchor: "center",
        labelOffset: 34,
        padding: 0.5,
        tickFormat: (p: string) => shorten(p, Math.max(3, Math.floor(step / 7))),
      },
      y: { type: "log", domain, axis: null },
      marks: [
        ...leftLogAxis(ticks, format, `↑ ${label} (log axis)`),
        ...[...series.entries()].flatMap(([variant, dots], i) => {
          const look = lookOf(looks, variant);
          const dx = (i - (series.size - 1) / 2) * spread;
          const barred = dots.filter((d) => positive([d.low, d.high]).length === 2);
          return [
            joined
              ? Plot.line(dots, {
                  x: "point",
                  y: "value",
                  dx,
                  stroke: look.colour,
                  strokeDasharray: look.dash,
                  strokeOpacity: 0.5,
                })
              : null,
            Plot.ruleX(barred, {
              x: "point",
              y1: "low",
              y2: "high",
              dx,
              stroke: look.colour,
              strokeWidth: 1.8,
            }),
            Plot.dot(dots, {
              x: "point",
              y: "value",
              dx,
              symbol: look.symbol,
              r: 4,
              fill: look.colour,
              stroke: look.colour,
              title: "title",
              tip: true,
            }),
          ];
        }),
      ],
    },
  };
}
