import * as Plot from "@observablehq/plot";
import { type Analysis, type Figure, type Result, resultsOf } from "../analysis";
import { type Drawing, leftLogAxis, widest } from "../frame";
import { alone, logDomain, logTicks, positive, times } from "../number";
import { type Look, lookOf } from "../style";

interface Trial {
  block: number;
  relative: Figure; // to the mean of its variant and point
  title: string;
}

/** Every trial divided by the mean of its variant and point, by block: shows a drift of the host. */
export function drift(a: Analysis, looks: Map<string, Look>, width: number, metric: string): Drawing {
  const series = new Map<string, Trial[]>();
  for (const [variant, results] of resultsOf(a, metric))
    series.set(
      variant,
      results.flatMap((r) => relativeTrials(variant, r)),
    );
  const all = [...series.values()].flat();
  const reach = Math.max(1.05, ...all.map((t) => Math.max(t.relative, 1 / t.relative)));
  const domain = logDomain([1 / reach, reach], 1.02);
  const blocks = [...new Set(all.map((t) => t.block))].sort((x, y) => x - y);
  const ticks = ratioTicks(...domain);
  const format = (d: number): string => `${d}x`;
  const step = width / Math.max(1, blocks.length + 1);
  return {
    legend: [...series.keys()].map((name) => ({ name, look: lookOf(looks, name) })),
    options: {
      height: 240,
      marginTop: 26,
      marginLeft: widest(ticks.map(format)) + 18,
      marginBottom: 38,
      x: {
        type: "point",
        domain: blocks,
        label: "block, in the order played →",
        labelAnchor: "right",
        labelOffset: 34,
        padding: 0.5,
      },
      y: { type: "log", domain, axis: null },
      marks: [
        ...leftLogAxis(ticks, format, "↑ trial / mean (log axis)"),
        Plot.ruleY([1], { stroke: "currentColor" }),
        ...[...series.entries()].map(([variant, trials], i) => {
          const look = lookOf(looks, variant);
          // The variants of a block stand side by side.
          const dx = (i - (series.size - 1) / 2) * Math.min(9, (step * 0.7) / Math.max(1, series.size));
          return Plot.dot(trials, {
            x: "block",
            y: "relative",
            dx,
            symbol: look.symbol,
            r: 3,
            fill: look.colour,
            fillOpacity: 0.5,
            stroke: look.colour,
            title: "title",
            tip: true,
          });
        }),
      ],
    },
  };
}

/** The trials of a result, divided by its mean. */
function relativeTrials(variant: string, r: Result): Trial[] {
  return (r.to_mean ?? []).flatMap((relative, i) => {
    if (positive([relative]).length === 0) return [];
    const block = r.blocks?.[i] ?? i + 1;
    const ratio = times(alone(relative));
    return [
      { block, relative, title: `${variant} at ${r.point.name}, block ${block}: ${ratio} of its mean` },
    ];
  });
}

/** Ticks around 1: at equal steps on a log axis that ends near 1, or those of logTicks on a wider one. */
export function ratioTicks(low: number, high: number): number[] {
  const step = [1.02, 1.05, 1.1, 1.2, 1.5].find((s) => Math.log(high) / Math.log(s) <= 3);
  if (step === undefined) return logTicks(low, high, 7);
  const above = [1, 2, 3].map((k) => 1 + k * (step - 1)).filter((t) => t <= high);
  const below = [1, 2, 3].map((k) => 1 - k * (step - 1)).filter((t) => t > 0 && t >= low * 0.9999);
  return [...below.reverse(), 1, ...above].map((t) => Number(t.toPrecision(4)));
}
