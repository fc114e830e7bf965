import * as Plot from "@observablehq/plot";
import type { Analysis, Figure } from "../analysis";
import { type Drawing, widest } from "../frame";
import { alone, quantity, scaleFor } from "../number";
import { type Look, shorten } from "../style";

export interface At {
  x: number;
  y: number;
}

/** The means of a metric along the levels of a factor, to which a law was fitted. */
export interface Along {
  factor: string;
  metric: string;
  unit: string;
  variant: string;
  /** The variants of the points, if the points have different ones. */
  variants?: string[] | null;
  points: string[] | null;
  x: number[] | null;
  y: Figure[] | null;
}

/** The trials of a fit, as (level, value). */
export function trialsAlong(a: Analysis, fit: Omit<Along, "factor" | "unit" | "y">): At[] {
  return a.results
    .filter((r) => r.metric === fit.metric)
    .flatMap((r) => {
      const step = (fit.points ?? []).findIndex(
        (point, i) => point === r.point.name && (fit.variants?.[i] ?? fit.variant) === r.variant,
      );
      const x = fit.x?.[step];
      return x === undefined ? [] : (r.values ?? []).map((y) => ({ x, y }));
    });
}

/** The means of a fit, as (level, value). */
export function meansAlong(fit: Along): { x: number; y: Figure }[] {
  return (fit.x ?? []).flatMap((x, i) => {
    const y = fit.y?.[i];
    return y === undefined ? [] : [{ x, y }];
  });
}

/**
 * A variant along a factor on linear axes: trials, means, and the marks of the fitted line or curve. The axes
 * also include reach: points of these marks.
 */
export function along(a: Analysis, look: Look, fit: Along, reach: At[], fitted: Plot.Markish[]): Drawing {
  const [trials, means] = [trialsAlong(a, fit), meansAlong(fit)];
  const last = Math.max(...[...means, ...reach].map((m) => m.x), 0);
  const heights = [...trials, ...means, ...reach].map((m) => m.y);
  const [bottom, top] = [Math.min(...reach.map((m) => m.y), 0), Math.max(...heights, 0)];
  const unit = scaleFor(top, fit.unit);
  const format = (d: number): string => String(Number((d * unit.factor).toPrecision(4)));
  const ticks = linearTicks(bottom, top, 4, unit.factor);
  return {
    options: {
      height: 230,
      marginTop: 24,
      marginLeft: widest(ticks.map(format)) + 18,
      marginRight: 16,
      marginBottom: 38,
      x: {
        domain: [0, last * 1.04],
        label: `${shorten(fit.factor, 24)} →`,
        labelAnchor: "right",
        labelOffset: 34,
        ticks: 4,
        tickFormat: compact,
      },
      y: {
        domain: [bottom, top * 1.05],
        label: `↑ ${shorten(fit.metric, 18)}${unit.unit === "" ? "" : ` (${unit.unit})`}`,
        grid: true,
        ticks,
        tickFormat: format,
      },
      marks: [
        Plot.ruleY([0], { stroke: "currentColor", strokeOpacity: 0.5 }),
        ...fitted,
        Plot.dot(trials, { x: "x", y: "y", r: 2, fill: look.colour, fillOpacity: 0.45 }),
        Plot.dot(means, {
          x: "x",
          y: "y",
          symbol: look.symbol,
          r: 4.2,
          fill: look.colour,
          stroke: "var(--paper)",
          title: (m: { x: number; y: Figure }) =>
            `${fit.factor} ${m.x}: mean ${quantity(alone(m.y), fit.unit)}`,
          tip: true,
        }),
      ],
    },
  };
}

/** Ticks that are round numbers after multiplication with a factor. */
export function linearTicks(low: number, high: number, most: number, factor: number): number[] {
  const span = (high - low) * factor;
  if (!(span > 0)) return [0];
  const power = 10 ** Math.floor(Math.log10(span / most));
  const step = [1, 2, 5, 10].map((s) => s * power).find((s) => span / s <= most) ?? 10 * power;
  const ticks: number[] = [];
  for (let k = Math.ceil((low * factor) / step); k * step <= high * factor; k++)
    ticks.push((k * step) / factor + 0); // + 0: never minus zero
  return ticks;
}

/** A level with few characters: 250000 as 250k. */
export function compact(level: number): string {
  if (Math.abs(level) >= 1e6) return `${Number((level / 1e6).toPrecision(4))}M`;
  return Math.abs(level) >= 1e4 ? `${Number((level / 1e3).toPrecision(4))}k` : String(level);
}
