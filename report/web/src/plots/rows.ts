import * as Plot from "@observablehq/plot";
import { rowLabel, widest } from "../frame";
import { positive } from "../number";
import { linearTicks } from "./along";

const NAME = { frameAnchor: "left", dx: -8, textAnchor: "end", fill: "currentColor" } as const;

/** The options of a label to the left of a row. */
export const rowText = (y: string): typeof NAME & { y: string } => ({ ...NAME, y });

/** The names of rows, to their left. */
export function rowNames(names: string[], width: number): Plot.Markish {
  const name = (d: string): string => d;
  return Plot.text(names, { ...NAME, y: name, text: (d: string) => rowLabel(d, width) });
}

/** The width of the names of rows to the left of a plot. */
export function namesWidth(names: string[], width: number): number {
  return widest(names.map((name) => rowLabel(name, width))) + 14;
}

/** A line between the bounds of an interval on a log axis, or nothing if one is missing or not positive. */
export function whisker<Row>(
  row: Row,
  ends: { low?: number | null | undefined; high?: number | null | undefined },
  options: Plot.RuleYOptions,
): Plot.Markish {
  if (positive([ends.low, ends.high]).length < 2) return null;
  return Plot.ruleY([row], { ...options, x1: () => ends.low, x2: () => ends.high });
}

/** Rows of pieces end to end on a linear axis from zero on. */
export interface Bands {
  rows: string[];
  height: number; // the height of a row
  end: number; // the largest value
  factor: number; // by which values are multiplied for the unit of the axis
  ticks: number; // the most ticks
  label: string;
  right: number; // the right margin
  padding: number;
}

/** The options of a plot of rows of pieces, with the names of the rows to the left. */
export function bands(b: Bands, width: number, pieces: Plot.Markish[]): Plot.PlotOptions {
  return {
    height: b.rows.length * b.height + 50,
    marginTop: 6,
    marginLeft: namesWidth(b.rows, width),
    marginRight: b.right,
    marginBottom: 40,
    x: {
      domain: [0, b.end || 1],
      ticks: linearTicks(0, b.end, b.ticks, b.factor),
      tickFormat: (d: number) => String(Number((d * b.factor).toPrecision(4))),
      label: `${b.label} →`,
      labelAnchor: "right",
      labelOffset: 34,
      grid: true,
    },
    y: { type: "band", domain: b.rows, axis: null, padding: b.padding },
    marks: [rowNames(b.rows, width), ...pieces],
  };
}
