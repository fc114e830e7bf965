/**
 * The shape of the embedded analysis, as far as the plots need it. The fields
 * and units are those of lab/analysis.go; a Go test compares the names.
 */

declare const measured: unique symbol;

/**
 * A figure of the document. The script draws and derives nothing: what is computed from figures is a plain
 * number, which the compiler refuses where a plot writes a figure (number.ts).
 */
export type Figure = number & { readonly [measured]: true };

export interface Ratio {
  ratio: Figure;
  low: Figure | null;
  high: Figure | null;
  n: number;
}

export interface Metric {
  name: string;
  title: string;
  unit: string;
  better: "lower" | "higher";
  kind?: string;
  quantity?: string;
  quantile?: number;
  per?: string;
}

export interface Variant {
  name: string;
  twin_of?: string;
}

/** A point is flat: its name beside its levels. */
export interface Point {
  name: string;
  [factor: string]: number | string;
}

export interface Result {
  variant: string;
  point: Point;
  metric: string;
  unit: string;
  mean: Figure;
  low: Figure | null;
  high: Figure | null;
  values: number[] | null;
  to_mean?: Figure[];
  blocks: number[] | null;
}

export interface Comparison extends Ratio {
  metric: string;
  point: Point;
  variant: string;
  baseline: string;
  verdict: "slower" | "faster" | "equivalent" | "undecided";
  /** One of the two did not hold the rate of the point. */
  piled_up?: boolean;
}

export interface TrendLine {
  metric: string;
  unit: string;
  variant: string;
  factor: string;
  points: string[] | null;
  x: number[] | null;
  y: Figure[] | null;
  slope: number;
  intercept: number;
}

export interface Rung {
  variant: string;
  point: string;
  cpu_per_operation: Figure;
  elapsed_per_operation: Figure;
}

export interface PublishedFigure {
  metric: string;
  variant: string;
  point?: string;
  published_per_operation: Figure | null;
  measured_per_operation: Figure | null;
}

export interface Quantile {
  share: Figure;
  value: Figure;
}

export interface CurvePoint {
  point: string;
  offered: number;
  /** The offered rate in what a rate of results counts; absent where that is the same. */
  due?: number;
  median: Figure;
  values: number[] | null;
  held: boolean;
  /** Held, but not within the objective; absent where it was. */
  missed?: boolean;
}

export interface Curve {
  variant: string;
  metric: string;
  unit: string;
  points: CurvePoint[] | null;
}

export interface UsageCourse {
  end: number[] | null;
  cores?: number[] | null;
  memory?: number[] | null;
}

export interface TrialCourse {
  variant: string;
  point: string;
  trial: number;
  end: number[] | null;
  rate: number[] | null;
  median: (number | null)[] | null;
  p99: (number | null)[] | null;
  used?: UsageCourse | null;
}

export interface Spectrum {
  variant: string;
  point: Point;
  quantity: string;
  median: Quantile[] | null;
  trials: Quantile[][] | null;
}

export interface RoleUsage {
  variant: string;
  point: Point;
  /** Empty in a sum. */
  role: string;
  cpu_per_operation: Figure;
  cpu_share: Figure;
  peak_memory: Figure;
}

export interface LayerShare {
  variant: string;
  point: Point;
  cpu_per_operation: Figure;
  layers: LayerTime[];
}

export interface LayerTime {
  layer: string;
  share: Figure;
  per_operation: Figure;
}

export interface Link {
  to: string;
  how?: string;
  traffic?: Record<string, Figure>;
}

export interface PicturePart {
  name: string;
  units: number;
  service?: string;
  embedded?: boolean;
  node?: string;
  links?: Link[];
  cpu_per_operation: Figure;
  cpu_share: number;
  peak_memory: Figure;
}

export interface Picture {
  variant: string;
  point: Point;
  parts: PicturePart[];
}

export interface Segment {
  start: Figure;
  seconds: Figure;
  unit: string;
  kind: string;
  name: string;
}

export interface TrialPath {
  variant: string;
  point: Point;
  share: number;
  seconds: Figure;
  segments: Segment[] | null;
  kinds: SegmentTime[] | null;
}

export interface SegmentTime {
  kind: string;
  seconds: Figure;
}

/** One ratio of a headline; it ends at begin times the ratio. */
export interface Bar extends Ratio {
  label: string;
  begin: number;
  verdict: Comparison["verdict"];
}

export interface Headline {
  title: string;
  baseline: string;
  bars: Bar[] | null;
}

export interface AuditSum {
  verdict: "valid" | "invalid" | "unknown";
}

export interface Analysis {
  study: string;
  seed: number;
  margin: number;
  operation: string;
  baseline: string;
  metrics: Metric[];
  variants: Variant[];
  points: Point[];
  noise_floor: Record<string, Ratio>;
  margins: Record<string, number>;
  results: Result[];
  comparisons: Comparison[];
  trends: TrendLine[];
  ladder: Rung[];
  published: PublishedFigure[];
  curves?: Curve[];
  spectra?: Spectrum[];
  courses?: TrialCourse[];
  usages?: RoleUsage[];
  usage_sums?: RoleUsage[];
  roles?: string[];
  layers?: LayerShare[];
  paths?: TrialPath[];
  pictures?: Picture[];
  audit: Record<string, AuditSum>;
}

/** The text of the embedded document, exactly as the report was given it. */
export function embeddedText(page: Document): string {
  return page.getElementById("analysis")?.textContent ?? "";
}

/**
 * Reads the embedded document, its texts cleaned as clean.go does;
 * the report writes every list, so none is null.
 */
export function readAnalysis(text: string): Analysis {
  return cleanDeep(JSON.parse(text)) as Analysis;
}

/** Reads the bars that a place of the page holds. */
export function readHeadline(text: string): Headline {
  return cleanDeep(JSON.parse(text)) as Headline;
}

/** Drops control characters and marks that reorder text: a label must read as it is written. */
export function clean(text: string): string {
  return text
    .replace(/[\n\r\t\u2028\u2029]/g, " ")
    .replace(/[\p{Cc}\p{Bidi_Control}]/gu, "")
    .trim();
}

/** Cleans every text and key alike, so that names still refer to each other. */
function cleanDeep(value: unknown): unknown {
  if (typeof value === "string") return clean(value);
  if (Array.isArray(value)) return value.map(cleanDeep);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [clean(key), cleanDeep(inner)]));
}

/** What is compared: every variant but the twins. */
export function comparedVariants(a: Analysis): string[] {
  return a.variants.filter((v) => v.twin_of === undefined || v.twin_of === "").map((v) => v.name);
}

/** The metric of a quantity: at a quantile (0: none), and divided by per ("": by nothing). */
export function findMetric(a: Analysis, quantity: string, quantile = 0, per = ""): Metric | undefined {
  return a.metrics.find(
    (m) => m.quantity === quantity && (m.quantile ?? 0) === quantile && (m.per ?? "") === per,
  );
}

/** A variant that broke a rule of its system is in no speed comparison. */
export function struckOut(a: Analysis, variant: string): boolean {
  return a.audit[variant]?.verdict === "invalid";
}

/** Comparisons of the metric with the baseline, struck-out variants left out. */
export function ratiosToBaseline(a: Analysis, metric: string): Comparison[] {
  const shown = new Set(comparedVariants(a).filter((v) => !struckOut(a, v)));
  const order = new Map(a.points.map((p, i) => [p.name, i]));
  return a.comparisons
    .filter((c) => c.metric === metric && c.baseline === a.baseline && shown.has(c.variant))
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

/** The points of the study that a list of figures of variants shown has, in the study's order. */
export function pointsOf(a: Analysis, figures: { variant: string; point: Point }[]): string[] {
  const has = new Set(figures.filter((f) => shown(a, f.variant)).map((f) => f.point.name));
  return a.points.map((p) => p.name).filter((name) => has.has(name));
}

/** Whether a variant is drawn: no twin, and it broke no rule. */
export function shown(a: Analysis, variant: string): boolean {
  return comparedVariants(a).includes(variant) && !struckOut(a, variant);
}
