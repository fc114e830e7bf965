import * as Plot from "@observablehq/plot";
import type { Analysis, ScalingFit, ScalingPoint } from "../analysis";
import type { Drawing } from "../frame";
import { type Look, lookOf } from "../style";
import { along } from "./along";

/** The parts of the fitted curve within the measured levels and beyond them. They share a point. */
export function partsOf(fit: ScalingFit): { within: ScalingPoint[]; beyond: ScalingPoint[] } {
  const all = fit.curve ?? [];
  const within = all.filter((p) => p.beyond !== true);
  return { within, beyond: all.slice(Math.max(0, within.length - 1)) };
}

/** A variant along a factor: trials, means, and the fitted scalability law with its band. */
export function scaling(a: Analysis, looks: Map<string, Look>, index: number): Drawing {
  const fit = a.scaling_fits?.[index];
  if (!fit) return { options: { marks: [] } };
  const look = lookOf(looks, fit.variant);
  const { within, beyond } = partsOf(fit);
  const curve = fit.curve ?? [];
  const line = { x: "level", y: "value", stroke: look.colour, strokeWidth: 1.6 };
  const reach = curve.map((p) => ({ x: p.level, y: p.high ?? p.value }));
  return along(a, look, fit, reach, [
    Plot.areaY(
      curve.filter((p) => p.low !== null && p.high !== null),
      { x: "level", y1: "low", y2: "high", fill: look.colour, fillOpacity: 0.15 },
    ),
    Plot.line(within, line),
    Plot.line(beyond, { ...line, strokeDasharray: "4 4" }),
  ]);
}
