import * as Plot from "@observablehq/plot";
import type { Analysis, Figure, ScalingFit, ScalingPoint } from "../analysis";
import { type Drawing, widest } from "../frame";
import { alone, quantity, scaleFor } from "../number";
import { type Look, lookOf, shorten } from "../style";
import { compact, linearTicks } from "./trend";

interface At {
  x: number;
  y: number;
}

/** The trials behind a fit, as (level, value). */
export function trialsAlong(a: Analysis, fit: ScalingFit): At[] {
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

/** The two parts of the law's curve: over what was measured, and beyond. They meet. */
export function partsOf(fit: ScalingFit): { within: ScalingPoint[]; beyond: ScalingPoint[] } {
  const all = fit.curve ?? [];
  const within = all.filter((p) => p.beyond !== true);
  return { within, beyond: all.slice(Math.max(0, within.length - 1)) };
}

/** One variant along one factor: trials, means, and the scalability law with its band. */
export function scaling(a: Analysis, looks: Map<string, Look>, index: number): Drawing {
  const fit = a.scaling_fits?.[index];
  if (!fit) return { options: { marks: [] } };
  const look = lookOf(looks, fit.variant);
  const means = (fit.x ?? []).flatMap((x, i) => {
    const y = fit.y?.[i];
    return y === undefined ? [] : [{ x, y }];
  });
  const trials = trialsAlong(a, fit);
  const { within, beyond } = partsOf(fit);
  const curve = fit.curve ?? [];
  const last = Math.max(...means.map((m) => m.x), ...curve.map((p) => p.level), 0);
  const top = Math.max(...[...trials, ...means].map((m) => m.y), ...curve.map((p) => p.high ?? p.value), 0);
  const unit = scaleFor(top, fit.unit);
  const format = (d: number): string => String(Number((d * unit.factor).toPrecision(4)));
  const ticks = linearTicks(0, top, 4, unit.factor);
  const line = (points: ScalingPoint[], dashes?: string): Plot.Markish =>
    Plot.line(points, {
      x: "level",
      y: "value",
      stroke: look.colour,
      strokeWidth: 1.6,
      ...(dashes === undefined ? {} : { strokeDasharray: dashes }),
    });
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
        domain: [0, top * 1.05],
        label: `↑ ${shorten(fit.metric, 18)}${unit.unit === "" ? "" : ` (${unit.unit})`}`,
        grid: true,
        ticks,
        tickFormat: format,
      },
      marks: [
        Plot.ruleY([0], { stroke: "currentColor", strokeOpacity: 0.5 }),
        Plot.areaY(
          curve.filter((p) => p.low !== null && p.high !== null),
          { x: "level", y1: "low", y2: "high", fill: look.colour, fillOpacity: 0.15 },
        ),
        line(within),
        line(beyond, "4 4"),
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
