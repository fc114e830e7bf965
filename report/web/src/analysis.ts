/** Reads the embedded analysis. Its types are generated from those of package lab. */

import type { Analysis, Comparison, Metric, Point, Result } from "./document";

export type * from "./document";

/** The role of the unit that makes the load (lab.RoleGenerator). */
export const GENERATOR = "generator";

/** The text of the embedded document, unchanged. */
export function embeddedText(page: Document): string {
  return page.getElementById("analysis")?.textContent ?? "";
}

/** Reads a document that the page holds, and cleans its texts like those of the tables (table.go). */
export function readDocument<T>(text: string): T {
  return cleanDeep(JSON.parse(text)) as T;
}

/** Removes control characters and marks that reorder text, so that a label cannot show another text. */
export function clean(text: string): string {
  return text
    .replace(/[\n\r\t\u2028\u2029]/g, " ")
    .replace(/[\p{Cc}\p{Bidi_Control}]/gu, "")
    .trim();
}

/** Cleans texts and keys in the same way, so that names still refer to each other. */
function cleanDeep(value: unknown): unknown {
  if (typeof value === "string") return clean(value);
  if (Array.isArray(value)) return value.map(cleanDeep);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [clean(key), cleanDeep(inner)]));
}

/** The names of the variants that are compared: all but the twins. */
export function comparedVariants(a: Analysis): string[] {
  return a.variants.filter((v) => v.twin_of === undefined || v.twin_of === "").map((v) => v.name);
}

/** The metric of a quantity at a quantile (0: none), divided by per ("": not divided). */
export function findMetric(a: Analysis, quantity: string, quantile = 0, per = ""): Metric | undefined {
  return a.metrics.find(
    (m) => m.quantity === quantity && (m.quantile ?? 0) === quantile && (m.per ?? "") === per,
  );
}

/** Whether a variant, or its twin, broke a rule of its system, so that it is not compared. */
export function struckOut(a: Analysis, variant: string): boolean {
  return a.variants.some(
    (v) => (v.name === variant || v.twin_of === variant) && a.audit[v.name]?.verdict === "invalid",
  );
}

/** Comparisons of a metric with the baseline, in the order of the points. */
export function ratiosToBaseline(a: Analysis, metric: string): Comparison[] {
  const order = new Map(a.points.map((p, i) => [p.name, i]));
  return a.comparisons
    .filter((c) => c.metric === metric && c.baseline === a.baseline)
    .filter((c) => Number.isFinite(c.ratio) && c.ratio > 0)
    .sort((x, y) => (order.get(x.point.name) ?? 0) - (order.get(y.point.name) ?? 0));
}

/** Results of a metric by variant, in the order of the points. */
export function resultsOf(a: Analysis, metric: string): Map<string, Result[]> {
  const byVariant = new Map<string, Result[]>();
  for (const variant of comparedVariants(a)) {
    if (struckOut(a, variant)) continue;
    const rows = a.points.flatMap((p) =>
      a.results.filter((r) => r.metric === metric && r.variant === variant && r.point.name === p.name),
    );
    if (rows.length > 0) byVariant.set(variant, rows);
  }
  return byVariant;
}

/** The points, in the order of the study, for which a list has figures. */
export function pointsOf(a: Analysis, figures: { point: Point }[]): string[] {
  const has = new Set(figures.map((f) => f.point.name));
  return a.points.map((p) => p.name).filter((name) => has.has(name));
}
