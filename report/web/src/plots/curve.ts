import * as Plot from "@observablehq/plot";
import {
  type Analysis,
  type Curve,
  type CurvePoint,
  type Figure,
  type Result,
  comparedVariants,
  findMetric,
  struckOut,
} from "../analysis";
import { bottomLogAxis, type Drawing, leftLogAxis, textWidth, widest } from "../frame";
import { alone, logDomain, logTicks, percent, positive, quantity, scaleFor, tick } from "../number";
import { type Look, lookOf, shorten } from "../style";
import { compact, linearTicks } from "./along";
import { whisker } from "./rows";

const HEIGHT = 300;
const STRIP = 13; // height of a capacity bracket below the curves, in pixels

/** The curves of the metrics that fit, in the order of the variants. */
export function curvesOf(a: Analysis, fits: (metric: string) => boolean): Curve[] {
  const all = (a.curves ?? []).filter((c) => fits(c.metric));
  return comparedVariants(a).flatMap((v) => all.filter((c) => c.variant === v));
}

/** The points of curves that a log axis can show. */
function drawable(curve: Curve): CurvePoint[] {
  return (curve.points ?? [])
    .filter((p) => positive([p.offered, p.median]).length === 2)
    .map((p) => ({ ...p, values: positive(p.values ?? []) }));
}

/** Whether a quantity is the lag of a copy, which is not a time that a user waits. */
function isStaleness(quantity?: string): boolean {
  return quantity === "staleness" || quantity === "reference_staleness";
}

/**
 * A time over the offered rate, with the objective as a dashed line if the limit is above 0. Times of the
 * same percentile have the same axis, so that panels side by side can be compared.
 */
export function curve(
  a: Analysis,
  looks: Map<string, Look>,
  width: number,
  metric: string,
  limit: number,
  withCapacities = false,
): Drawing {
  const quantile = a.metrics.find((m) => m.name === metric)?.quantile;
  const names = new Set(
    a.metrics
      .filter((m) => m.kind === "time" && m.quantile === quantile && !isStaleness(m.quantity))
      .map((m) => m.name),
  );
  const curves = curvesOf(a, (m) => m === metric);
  const akin = curvesOf(a, (m) => names.has(m));
  const times = logDomain(
    positive([
      ...akin.flatMap((c) => drawable(c).flatMap((p) => [p.median, ...(p.values ?? [])])),
      limit > 0 ? limit : null,
    ]),
    1.3,
  );
  const brackets = withCapacities ? capacities(a) : [];
  const strip = layStrip(times, brackets.length);
  const offered = curves.flatMap((c) => drawable(c).map((p) => p.offered));
  const ofFlows = curves.some((c) => drawable(c).some((p) => (p.due ?? p.offered) !== p.offered));
  const rates = logDomain(positive([...offered, ...brackets.flatMap((r) => [r.low, r.mean, r.high])]), 1.15);
  const ticks = logTicks(...times, 6);
  const format = (d: number): string => tick(d, curves[0]?.unit ?? "s");
  const left = widest(ticks.map(format)) + 18;
  return {
    legend: curves.map((c) => ({ name: c.variant, look: lookOf(looks, c.variant) })),
    options: {
      height: HEIGHT,
      marginTop: 26,
      marginLeft: left,
      marginRight: 14,
      marginBottom: 40,
      x: { type: "log", domain: rates, axis: null },
      y: { type: "log", domain: [strip.bottom, times[1]], axis: null },
      marks: [
        ...bottomLogAxis(
          roomyTicks(rateTicks(offered, rates), rates, width - left - 14),
          rateText,
          `offered ${ofFlows ? "flow" : shorten(a.operation, 14)}s/s (log axis) →`,
        ),
        ...leftLogAxis(ticks, format, "↑ time (log axis)"),
        limit > 0 ? Plot.ruleY([limit], { stroke: "currentColor", strokeDasharray: "6 4" }) : null,
        ...curves.flatMap((c) => curveMarks(c, lookOf(looks, c.variant), drawable(c))),
        ...limitMarks(limit, format),
        ...stripMarks(times[0], brackets.length),
        ...brackets.flatMap((r, i) =>
          bracketMarks(r, lookOf(looks, r.variant), strip.rows[i] ?? strip.bottom, strip.half),
        ),
      ],
    },
  };
}

/** The label of a rate, with at most four digits: 1234.5 as "1235". */
function rateText(rate: number): string {
  return rate >= 1e4 ? compact(rate) : String(Number(rate.toPrecision(4)));
}

/** The offered rates, and round rates above the highest, where capacities may be. */
export function rateTicks(offered: number[], domain: [number, number]): number[] {
  return [...offered, ...logTicks(...domain, 8).filter((rate) => rate > Math.max(...offered))];
}

/** The rates as ticks, without those whose labels would touch the label before. */
export function roomyTicks(rates: number[], domain: [number, number], room: number): number[] {
  const at = (rate: number): number => (Math.log(rate / domain[0]) / Math.log(domain[1] / domain[0])) * room;
  const kept: number[] = [];
  let end = -Infinity;
  for (const rate of [...new Set(rates)].sort((x, y) => x - y)) {
    const half = textWidth(rateText(rate)) / 2;
    if (at(rate) - half < end + 8) continue;
    kept.push(rate);
    end = at(rate) + half;
  }
  return kept;
}

/** The label of the limit, which is drawn over the curves so that it can be read. */
function limitMarks(limit: number, format: (d: number) => string): Plot.Markish[] {
  if (!(limit > 0)) return [];
  return [
    Plot.text([limit], {
      frameAnchor: "left",
      y: (d: number) => d,
      text: () => `objective ${format(limit)}`,
      dx: 5,
      dy: -8,
      textAnchor: "start",
      fill: "currentColor",
      stroke: "var(--paper)",
      strokeWidth: 4,
    }),
  ];
}

/** Whether the rate was held and the objective was not missed. */
function within(p: CurvePoint): boolean {
  return p.held && p.missed !== true;
}

/** Words about a point after its value; empty if its rate was held within the objective. */
export function unheldWords(p: CurvePoint): string {
  if (!p.held) return ", the rate was not held";
  return p.missed === true ? ", the objective was missed" : "";
}

/** The marks of a curve. Points at which the rate was not held within the objective are hollow. */
function curveMarks(c: Curve, look: Look, points: CurvePoint[], share = false): Plot.Markish[] {
  const trials = points.flatMap((p) =>
    (p.values ?? []).map((value) => ({ offered: p.offered, value, whole: within(p) })),
  );
  const fill = (whole: boolean): string => (whole ? look.colour : "var(--paper)");
  const title = (p: CurvePoint): string => {
    const median = `${valueText(p.median, c, share)} (median of ${p.values?.length ?? 0} trials)`;
    return `${c.variant} at ${p.point}: ${median}${unheldWords(p)}`;
  };
  return [
    ...legs(points).map((leg) =>
      Plot.line(leg.points, {
        x: "offered",
        y: "median",
        stroke: look.colour,
        strokeWidth: 1.8,
        strokeDasharray: look.dash,
        strokeOpacity: leg.held ? 1 : 0.45,
      }),
    ),
    Plot.dot(trials, {
      x: "offered",
      y: "value",
      r: 1.8,
      fill: (t) => fill(t.whole),
      stroke: look.colour,
      strokeWidth: 0.8,
      fillOpacity: 0.55,
      strokeOpacity: 0.55,
    }),
    Plot.dot(points, {
      x: "offered",
      y: "median",
      symbol: look.symbol,
      r: 4.4,
      fill: (p: CurvePoint) => fill(within(p)),
      stroke: look.colour,
      strokeWidth: 1.6,
      title,
      tip: true,
    }),
  ];
}

function valueText(value: Figure, c: Curve, share: boolean): string {
  return share ? percent(value, 3) : quantity(alone(value), c.unit);
}

/** The parts of a curve that are held or not; a line between two points is held if both are. */
function legs(points: CurvePoint[]): { points: CurvePoint[]; held: boolean }[] {
  const all: { points: CurvePoint[]; held: boolean }[] = [];
  points.forEach((p, i) => {
    const before = points[i - 1];
    if (!before) return;
    const held = within(p) && within(before);
    const last = all.at(-1);
    if (last?.held === held) last.points.push(p);
    else all.push({ points: [before, p], held });
  });
  return all;
}

/** Capacities with their intervals, in the order of the variants. */
export function capacities(a: Analysis): Result[] {
  const capacity = findMetric(a, "capacity")?.name;
  const found = a.results.filter(
    (r) => r.metric === capacity && !struckOut(a, r.variant) && positive([r.mean]).length === 1,
  );
  return comparedVariants(a).flatMap((v) => found.filter((r) => r.variant === v).slice(0, 1));
}

/**
 * Room for the brackets below the curves on the log axis: the value of each row, half the height
 * of a bracket as a factor, and the new lower end of the axis.
 */
function layStrip(times: [number, number], rows: number): { bottom: number; rows: number[]; half: number } {
  const [low, high] = times;
  const inner = HEIGHT - 26 - 40 - rows * STRIP; // without the margins at the top and the bottom
  const pixel = (high / low) ** (1 / inner);
  const row = (i: number): number => low / pixel ** (STRIP * (i + 0.6));
  return {
    bottom: low / pixel ** (STRIP * rows + (rows > 0 ? 4 : 0)),
    rows: Array.from({ length: rows }, (_, i) => row(i)),
    half: pixel ** 4,
  };
}

/** The line between the curves and the brackets, and the title of the brackets. */
function stripMarks(top: number, rows: number): Plot.Markish[] {
  if (rows === 0) return [];
  return [
    Plot.ruleY([top], { stroke: "currentColor", strokeOpacity: 0.35 }),
    Plot.text([top], {
      frameAnchor: "left",
      y: (d: number) => d,
      text: () => "capacity",
      dx: 5,
      dy: 9,
      textAnchor: "start",
      fill: "currentColor",
      fillOpacity: 0.8,
    }),
  ];
}

/** A capacity with its interval as a bracket. */
function bracketMarks(r: Result, look: Look, y: number, half: number): Plot.Markish[] {
  const ends = positive([r.low, r.high]);
  const title = `${r.variant}: capacity ${quantity({ value: r.mean, low: r.low, high: r.high }, r.unit)}`;
  const line = { stroke: look.colour, strokeWidth: 1.5 };
  return [
    whisker(y, r, { y: (d: number) => d, ...line }),
    ...(ends.length === 2 ? ends : []).map((end) =>
      Plot.ruleX([end], { x: (d: number) => d, y1: y / half, y2: y * half, ...line }),
    ),
    Plot.dot([r], {
      x: "mean",
      y: () => y,
      symbol: look.symbol,
      r: 3.4,
      fill: look.colour,
      stroke: look.colour,
      title: () => title,
      tip: true,
    }),
  ];
}

/**
 * A rate of results over the offered rate, with the line on which every operation that was due is done.
 * Without that line: a share of the operations, or bytes per second.
 */
export function throughput(a: Analysis, looks: Map<string, Look>, metric: string): Drawing {
  const share = a.metrics.find((m) => m.name === metric)?.kind === "share";
  const curves = curvesOf(a, (m) => m === metric);
  const bytes = curves[0]?.unit === "B/s";
  const points = curves.flatMap((c) => c.points ?? []);
  const most = Math.max(...points.map((p) => p.offered), 1e-9);
  // Where a flow has several operations, more operations are due than flows are offered.
  const due = points.find((p) => p.offered === most)?.due || most;
  const top = Math.max(
    share || bytes ? 1e-4 : due, // so that zeros alone have an axis, too
    ...points.flatMap((p) => [p.median, ...(p.values ?? [])]),
  );
  const scale = share
    ? { unit: "share", factor: 100 }
    : bytes
      ? scaleFor(top, "B/s")
      : { unit: `${shorten(a.operation, 14)}s/s`, factor: 1 };
  const ticks = linearTicks(0, top, 5, scale.factor);
  const format = share
    ? (d: number): string => `${Number((d * 100).toPrecision(4))} %`
    : (d: number): string => rateText(d * scale.factor);
  return {
    legend: curves.map((c) => ({ name: c.variant, look: lookOf(looks, c.variant) })),
    options: {
      height: HEIGHT,
      marginTop: 26,
      marginLeft: widest(ticks.map(format)) + 20,
      marginRight: 14,
      marginBottom: 40,
      x: {
        domain: [0, most * 1.06],
        label: `offered ${due === most ? shorten(a.operation, 14) : "flow"}s/s →`,
        labelAnchor: "right",
        labelOffset: 36,
        ticks: linearTicks(0, most, 5, 1),
        tickFormat: rateText,
      },
      y: { domain: [0, top * 1.06], label: `↑ ${scale.unit}`, grid: true, ticks, tickFormat: format },
      marks: [
        Plot.ruleY([0], { stroke: "currentColor", strokeOpacity: 0.5 }),
        share || bytes
          ? null
          : Plot.link([0], {
              x1: 0,
              y1: 0,
              x2: most,
              y2: due,
              stroke: "currentColor",
              strokeDasharray: "2 3",
            }),
        ...curves.flatMap((c) => curveMarks(c, lookOf(looks, c.variant), c.points ?? [], share)),
      ],
    },
  };
}
