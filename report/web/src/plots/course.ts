import * as Plot from "@observablehq/plot";
import { type Analysis, comparedVariants, type TrialCourse } from "../analysis";
import { type Drawing, widest } from "../frame";
import { extent, logDomain, logTicks, scaleFor } from "../number";
import { type Look, lookOf, shorten } from "../style";
import { linearTicks } from "./along";

/** The quantities whose courses are drawn, by their names in Followed of report/courses.go. */
export type Followed = "median" | "p99" | "rate" | "cores" | "memory";

interface Second {
  variant: string;
  trial: number;
  second: number;
  value: number | null;
}

const LEAST = 4; // the least factor that a log axis spans, so that small changes look small
const ROW = 74; // the height of the row of a variant, in pixels

/** Whether a quantity is a time, which has a log axis; the axes of others begin at zero. */
const isTime = (followed: Followed): boolean => followed === "median" || followed === "p99";

/** The units of the quantities on their axes. */
const unitOf: Record<Followed, string> = { median: "s", p99: "s", rate: "1/s", cores: "cores", memory: "B" };

/** The course of a quantity in a trial. */
function pointsOf(
  c: TrialCourse,
  followed: Followed,
): { end: number[] | null | undefined; values: (number | null)[] } {
  if (followed === "cores" || followed === "memory")
    return { end: c.used?.end, values: c.used?.[followed] ?? [] };
  return { end: c.end, values: c[followed] ?? [] };
}

/** The seconds of all trials at a point of the study. Missing values are gaps, and so are times of zero. */
export function secondsOf(a: Analysis, followed: Followed, point: string): Second[] {
  return (a.courses ?? [])
    .filter((c) => c.point === point)
    .flatMap((c) => {
      const { end, values } = pointsOf(c, followed);
      return values.map((value, i): Second => ({
        variant: c.variant,
        trial: c.trial,
        second: end?.[i] ?? i + 1,
        value: !isTime(followed) || (value ?? 0) > 0 ? value : null,
      }));
    });
}

/** The courses of trials: a row for each variant, a line for each trial, and one scale for all. */
export function course(a: Analysis, looks: Map<string, Look>, followed: Followed, point: string): Drawing {
  const seconds = secondsOf(a, followed, point);
  const values = seconds.flatMap((s) => (s.value === null ? [] : [s.value]));
  if (values.length === 0) return { options: { marks: [] } };
  const rows = comparedVariants(a).filter((name) => seconds.some((s) => s.variant === name));
  const linear = !isTime(followed);
  const [least, most] = extent(values);
  const domain: [number, number] = linear
    ? [0, (most || 1) * 1.1]
    : logDomain([least, Math.max(most, LEAST * least)], 1.1);
  const unit = scaleFor(most, unitOf[followed]);
  const ticks = linear ? linearTicks(0, most, 2, unit.factor) : logTicks(domain[0], domain[1], 3);
  const format = (d: number): string => String(Number((d * unit.factor).toPrecision(3)));
  return {
    options: {
      height: rows.length * ROW + 66,
      marginTop: 26,
      marginLeft: widest(ticks.map(format)) + 18,
      marginRight: 12,
      marginBottom: 38,
      fy: { domain: rows, axis: null, padding: 0.12 },
      x: {
        domain: [0, extent(seconds.map((s) => s.second))[1]],
        label: "second of the load →",
        labelAnchor: "right",
        labelOffset: 34,
        ticks: 5,
      },
      y: { type: linear ? "linear" : "log", domain, axis: null },
      marks: [
        Plot.frame({ stroke: "currentColor", strokeOpacity: 0.15 }),
        Plot.gridY(ticks, { strokeOpacity: 0.15 }),
        Plot.axisY(ticks, { text: format, label: `↑ ${unit.unit}${linear ? "" : " (log axis)"}` }),
        ...rows.map((variant) => {
          const look = lookOf(looks, variant);
          return Plot.line(
            seconds.filter((s) => s.variant === variant),
            {
              x: "second",
              y: "value",
              z: "trial",
              fy: "variant",
              stroke: look.colour,
              strokeWidth: 1.1,
              strokeOpacity: 0.7,
            },
          );
        }),
        Plot.text(rows, {
          fy: (d: string) => d,
          text: (d: string) => shorten(d, 34),
          frameAnchor: "top-left",
          dx: 5,
          dy: 4,
          fill: "currentColor",
          stroke: "var(--paper)",
          strokeWidth: 3,
          textAnchor: "start",
        }),
      ],
    },
  };
}
