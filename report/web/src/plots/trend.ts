import * as Plot from "@observablehq/plot";
import type { Analysis } from "../analysis";
import type { Drawing } from "../frame";
import { type Look, lookOf } from "../style";
import { along, type At, meansAlong } from "./along";

/** A variant along a factor: trials, means, and the fitted line, dashed from zero to the first level. */
export function trend(a: Analysis, looks: Map<string, Look>, index: number): Drawing {
  const line = a.trends[index];
  if (!line) return { options: { marks: [] } };
  const look = lookOf(looks, line.variant);
  const levels = meansAlong(line).map((m) => m.x);
  const last = Math.max(...levels, 0);
  const at = (x: number): At => ({ x, y: line.intercept + line.slope * x });
  const [zero, first, end] = [at(0), at(Math.min(...levels, last)), at(last)];
  return along(
    a,
    look,
    line,
    [zero, end],
    [
      Plot.line([zero, first], { x: "x", y: "y", stroke: look.colour, strokeDasharray: "2 3" }),
      Plot.line([first, end], { x: "x", y: "y", stroke: look.colour, strokeWidth: 1.6 }),
    ],
  );
}
