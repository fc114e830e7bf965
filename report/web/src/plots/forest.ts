import * as Plot from "@observablehq/plot";
import { type Analysis, type Comparison, comparedVariants, ratiosToBaseline } from "../analysis";
import { bottomLogAxis, type Drawing, rowLabel, widest } from "../frame";
import { logDomain, logTicks, positive, times } from "../number";
import { type Look, lookOf, shorten } from "../style";
import { rowText, whisker } from "./rows";

/** A row of the plot: a comparison, or the heading of a variant with several comparisons. */
interface Row {
  key: string;
  label: string;
  heading: boolean;
  comparison?: Comparison;
}

const ROW_HEIGHT = 19;

/** The rows of a metric: the variants in the order of the study, with their points below them. */
export function forestRows(a: Analysis, metric: string, width: number): Row[] {
  const all = ratiosToBaseline(a, metric);
  return comparedVariants(a).flatMap((variant) => {
    const own = all.filter((c) => c.variant === variant);
    const rows = own.map((c): Row => {
      const name = own.length === 1 ? `${variant} (${c.point.name})` : c.point.name;
      const label = rowLabel(name, width) + (c.piled_up ? " *" : "");
      return { key: `${variant}/${c.point.name}`, label, heading: false, comparison: c };
    });
    const heading = { key: `${variant}/`, label: rowLabel(variant, width), heading: true };
    return own.length > 1 ? [heading, ...rows] : rows;
  });
}

/** Ratios to the baseline with their intervals, the margin, and the noise floor. */
export function forest(a: Analysis, looks: Map<string, Look>, width: number, metric: string): Drawing {
  const rows = forestRows(a, metric, width);
  const measured = rows.filter((r): r is Row & { comparison: Comparison } => r.comparison !== undefined);
  const reach = 1 + (a.margins[metric] ?? a.margin);
  const margin = { low: 1 / reach, high: reach };
  const noise = a.noise_floor[metric];
  const extent = positive(measured.flatMap((r) => [r.comparison.ratio, r.comparison.low, r.comparison.high]));
  const domain = logDomain(
    [...extent, margin.low, margin.high, ...positive([noise?.low, noise?.high])],
    1.25,
  );
  const texts = measured.map((r) =>
    times({ value: r.comparison.ratio, low: r.comparison.low, high: r.comparison.high }),
  );
  const wide = width > 560;
  return {
    options: {
      height: rows.length * ROW_HEIGHT + 52,
      marginLeft: widest(rows.map((r) => r.label)) + 14,
      marginRight: wide ? widest(texts) + 16 : 14,
      marginBottom: 40,
      x: { type: "log", domain, axis: null },
      y: { type: "point", domain: rows.map((r) => r.key), axis: null, padding: 0.6 },
      marks: [
        ...bottomLogAxis(
          logTicks(...domain, wide ? 9 : 5),
          (d) => `${d}x`,
          `ratio to ${shorten(a.baseline, 30)} (log axis) →`,
        ),
        Plot.rect([margin], { x1: "low", x2: "high", fill: "currentColor", fillOpacity: 0.14 }),
        noise && positive([noise.low, noise.high]).length === 2
          ? Plot.rect([noise], {
              x1: "low",
              x2: "high",
              fill: "none",
              stroke: "currentColor",
              strokeDasharray: "2 2",
              strokeOpacity: 0.8,
            })
          : null,
        Plot.ruleX([1], { stroke: "currentColor", strokeWidth: 1.2 }),
        ...[false, true].map((heading) =>
          Plot.text(
            rows.filter((r) => r.heading === heading),
            { ...rowText("key"), text: "label", fontWeight: heading ? 650 : 400 },
          ),
        ),
        ...measured.flatMap((r, i) => rowMarks(r, lookOf(looks, r.comparison.variant), texts[i] ?? "", wide)),
      ],
    },
  };
}

function rowMarks(
  row: Row & { comparison: Comparison },
  look: Look,
  text: string,
  wide: boolean,
): Plot.Markish[] {
  const c = row.comparison;
  const decided = c.verdict === "slower" || c.verdict === "faster";
  const title = `${c.variant} at ${c.point.name}: ${text}, ${c.verdict}, n=${c.n} blocks`;
  return [
    whisker(row, c, { y: "key", stroke: look.colour, strokeWidth: 2 }),
    Plot.dot([row], {
      y: "key",
      x: () => c.ratio,
      symbol: look.symbol,
      r: 4.2,
      fill: decided ? look.colour : "var(--paper)",
      stroke: look.colour,
      strokeWidth: 1.5,
      title: () => title,
      tip: true,
    }),
    wide
      ? Plot.text([row], {
          frameAnchor: "right",
          y: "key",
          text: () => text,
          dx: 8,
          textAnchor: "start",
          fill: "currentColor",
          fillOpacity: 0.8,
        })
      : null,
  ];
}
