/**
 * Formats numbers for readers, rounded like those in the tables of the page: report/figure
 * and this file pass the same examples (report/testdata/numbers.json).
 */

import type { Estimate, Figure } from "./analysis";

/** The text of a missing value. */
export const ABSENT = "-";

/** A unit, and the factor that converts values to it. */
export interface Scale {
  unit: string;
  factor: number;
}

/** The unit in which a value in seconds or bytes is easy to read. */
export function scaleFor(value: number, unit: string): Scale {
  const size = Math.abs(value);
  if (unit === "1" || unit === "") return { unit: "", factor: 1 };
  if (unit === "1/s") return { unit: "/s", factor: 1 };
  const steps = stepsOf(unit);
  if (size === 0) return { unit, factor: 1 };
  // A value that would be rounded to 1.00 of the larger unit is shown in it.
  return steps.find((s) => size * s.factor >= 0.9995) ?? steps.at(-1) ?? { unit, factor: 1 };
}

function stepsOf(unit: string): Scale[] {
  switch (unit) {
    case "s":
      return [
        { unit: "s", factor: 1 },
        { unit: "ms", factor: 1e3 },
        { unit: "us", factor: 1e6 },
        { unit: "ns", factor: 1e9 },
      ];
    case "B":
      return [
        { unit: "GiB", factor: 2 ** -30 },
        { unit: "MiB", factor: 2 ** -20 },
        { unit: "KiB", factor: 2 ** -10 },
        { unit: "B", factor: 1 },
      ];
    case "B/s":
      return stepsOf("B").map((step) => ({ ...step, unit: `${step.unit}/s` }));
    default:
      return [{ unit, factor: 1 }];
  }
}

/** An estimate without an interval. */
export const alone = (value: Figure): Estimate => ({ value, low: null, high: null });

/**
 * The number of digits after the point: two significant digits of the half-width of the interval,
 * and at most three of the value.
 */
export function decimals(e: Estimate, factor: number): number {
  const half = halfWidth(e);
  const most = 2 - magnitude(e.value * factor * 1.0005); // 0.9996 is shown as 1.00
  return half !== null && half > 0 ? Math.min(most, 1 - magnitude(half * factor)) : most;
}

/** The power of ten of the first significant digit of a number; 0 for 0. */
function magnitude(value: number): number {
  return value === 0 ? 0 : Math.floor(Math.log10(Math.abs(value)));
}

function halfWidth(e: Estimate): number | null {
  if (e.low === null || e.high === null) return null;
  const half = (e.high - e.low) / 2;
  return Number.isFinite(half) ? half : null;
}

/** Formats a number with a count of digits after the point; a negative count rounds to tens, hundreds. */
export function fixed(value: number, digits: number): string {
  if (digits < 0) {
    const step = 10 ** -digits;
    return fixed(Math.round(value / step) * step, 0);
  }
  const text = value.toFixed(Math.min(digits, 20));
  // Never "-0".
  return Number(text) === 0 ? (0).toFixed(Math.min(digits, 20)) : text;
}

/** Formats an estimate multiplied by a factor, with at least the given digits after the point. */
function write(e: Estimate, factor: number, suffix: string, least = -Infinity): string {
  if (!Number.isFinite(e.value)) return ABSENT;
  const digits = Math.max(least, decimals(e, factor));
  const text = fixed(e.value * factor, digits) + suffix;
  if (e.low === null || e.high === null || halfWidth(e) === null) return text;
  return `${text} [${fixed(e.low * factor, digits)}, ${fixed(e.high * factor, digits)}]`;
}

/** An estimate with its unit: "32.7 s [31.6, 33.8]". */
export function quantity(e: Estimate, unit: string): string {
  const s = scaleFor(e.value, unit);
  return write(e, s.factor, after(s.unit));
}

/** A unit as it is printed after a number: " ms", but "/s". */
function after(unit: string): string {
  return unit === "" || unit.startsWith("/") ? unit : ` ${unit}`;
}

/** The ratio of its bounds above which an interval is wide. */
const WIDE = 10;

/** A number with two significant digits; very small and very large ones as "1.2e-07". */
function twoDigits(value: number): string {
  const power = magnitude(value);
  if (power >= -4 && power <= 5) return fixed(value, 1 - power);
  return value.toExponential(1).replace(/\d+$/, (digits) => digits.padStart(2, "0"));
}

/**
 * An estimate as a ratio to a base: "3.68x [3.46, 3.91]". However wide the interval, the ratio itself keeps a
 * digit. If the interval spans more than a factor of ten, each number has two significant digits.
 */
export function times(e: Estimate): string {
  if (
    Number.isFinite(e.value) &&
    e.low !== null &&
    e.high !== null &&
    e.low > 0 &&
    Number.isFinite(e.high) &&
    e.high > WIDE * e.low
  ) {
    return `${twoDigits(e.value)}x [${twoDigits(e.low)}, ${twoDigits(e.high)}]`;
  }
  return write(e, 1, "x", e.value === 0 ? -Infinity : -magnitude(e.value));
}

/** A share with the given number of significant digits: "99.9 %". */
export function percent(share: Figure, digits: number): string {
  return `${Number((share * 100).toPrecision(digits))} %`;
}

/** The label of a tick: short, and exact for round numbers. */
export function tick(value: number, unit: string): string {
  const s = scaleFor(value, unit);
  const shown = Number((value * s.factor).toPrecision(6));
  return `${shown}${after(s.unit)}`;
}

/** Ticks of a log axis: decades, or steps of 1, 2 and 5 or of 1 and 3 if there are few decades. */
export function logTicks(low: number, high: number, most: number): number[] {
  const first = Math.floor(Math.log10(low));
  const last = Math.ceil(Math.log10(high));
  for (const steps of [[1, 2, 5], [1, 3], [1]]) {
    const ticks: number[] = [];
    for (let decade = first; decade <= last; decade++) {
      for (const step of steps) ticks.push(Number(`${step}e${decade}`));
    }
    const inside = ticks.filter((t) => t >= low * 0.9999 && t <= high * 1.0001);
    if (inside.length <= most) return inside;
  }
  const stride = Math.ceil((last - first + 1) / most);
  const ticks: number[] = [];
  for (let decade = first; decade <= last; decade += stride) ticks.push(Number(`1e${decade}`));
  return ticks.filter((t) => t >= low * 0.9999 && t <= high * 1.0001);
}

/** The positive finite numbers of a list, which a log axis can show. */
export function positive<T extends number>(values: (T | null | undefined)[]): T[] {
  return values.filter((v): v is T => typeof v === "number" && Number.isFinite(v) && v > 0);
}

/** The domain of a log axis: the range of the values, widened by a factor; [0.5, 2] without values. */
export function logDomain(values: number[], air = 1.15): [number, number] {
  if (values.length === 0) return [0.5, 2];
  const [low, high] = extent(values);
  return [low / air, high * air];
}

/** The lowest and the highest of the values. Math.min(...values) fails for very many of them. */
export function extent(values: number[]): [number, number] {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return [low, high];
}
