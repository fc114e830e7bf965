import * as Plot from "@observablehq/plot";
import type { Analysis, Figure, TrendLine } from "../analysis";
import { type Drawing, widest } from "../frame";
import { alone, quantity, scaleFor } from "../number";
import { type Look, lookOf, shorten } from "../style";

interface At {
  x: number;
  y: number;
}

/** The trials behind a line, as (level, value). */
export function trialsOf(a: Analysis, line: TrendLine): At[] {
  const points = line.points ?? [];
  return a.results
    .filter((r) => r.metric === line.metric && r.variant === line.variant && points.includes(r.point.name))
    .flatMap((r) => {
      const x = (line.x ?? [])[points.indexOf(r.point.name)];
      return x === undefined ? [] : (r.values ?? []).map((y) => ({ x, y }));
    });
}

/** One variant along one factor: trials, means and the fitted line from zero on. */
export function trend(a: Analysis, looks: Map<string, Look>, index: number): Drawing {
  const line = a.trends[index];
  if (!line) return { options: { marks: [] } };
  const look = lookOf(looks, line.variant);
  const means = (line.x ?? []).flatMap((x, i) => {
    const y = line.y?.[i];
    return y === undefined ? [] : [{ x, y }];
  });
  const trials = trialsOf(a, line);
  const last = Math.max(...means.map((m) => m.x), 0);
  const first = Math.min(...means.map((m) => m.x), last);
  const fit = (x: number): At => ({ x, y: line.intercept + line.slope * x });
  const top = Math.max(...[...trials, ...means, fit(last)].map((m) => m.y), 0);
  const unit = scaleFor(top, line.unit);
  const format = (d: number): string => String(Number((d * unit.factor).toPrecision(4)));
  const bottom = Math.min(0, line.intercept);
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
        label: `${shorten(line.factor, 24)} →`,
        labelAnchor: "right",
        labelOffset: 34,
        ticks: 4,
        tickFormat: compact,
      },
      y: {
        domain: [bottom, top * 1.05],
        label: `↑ ${shorten(line.metric, 18)}${unit.unit === "" ? "" : ` (${unit.unit})`}`,
        grid: true,
        ticks,
        tickFormat: format,
      },
      marks: [
        Plot.ruleY([0], { stroke: "currentColor", strokeOpacity: 0.5 }),
        Plot.line([fit(0), fit(first)], { x: "x", y: "y", stroke: look.colour, strokeDasharray: "2 3" }),
        Plot.line([fit(first), fit(last)], { x: "x", y: "y", stroke: look.colour, strokeWidth: 1.6 }),
        Plot.dot(trials, { x: "x", y: "y", r: 2, fill: look.colour, fillOpacity: 0.45 }),
        Plot.dot(means, {
          x: "x",
          y: "y",
          symbol: look.symbol,
          r: 4.2,
          fill: look.colour,
          stroke: "var(--paper)",
          title: (m: { x: number; y: Figure }) =>
            `${line.factor} ${m.x}: mean ${quantity(alone(m.y), line.unit)}`,
          tip: true,
        }),
      ],
    },
  };
}

/** Round ticks in the shown unit, so that no label is a broken number. */
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

/** 250000 as 250k: levels are whole numbers. */
export function compact(level: number): string {
  if (Math.abs(level) >= 1e6) return `${Number((level / 1e6).toPrecision(4))}M`;
  return Math.abs(level) >= 1e4 ? `${Number((level / 1e3).toPrecision(4))}k` : String(level);
}
