import * as Plot from "@observablehq/plot";
import type { Bar, Headline } from "../analysis";
import { bottomLogAxis, CHARACTER, type Drawing, textWidth, widest } from "../frame";
import { logDomain, logTicks, positive, times } from "../number";
import { shorten } from "../style";
import { rowText, whisker } from "./rows";

const FILLS: Record<string, string> = { slower: "var(--bad)", faster: "var(--good)" };
const LINE = 13;

/** A row of the plot: a bar with its end, the lines of its label and its number. */
interface Row extends Bar {
  key: string;
  end: number;
  lines: string[];
  text: string;
}

/** Ratios as bars on a log axis. A step begins where the step before it ended. */
export function headline(h: Headline | undefined, width: number): Drawing {
  if (!h) return { options: { marks: [] } };
  const most = Math.floor((width * 0.42) / CHARACTER);
  const rows = (h.bars ?? [])
    .filter((b) => positive([b.begin, b.ratio]).length === 2)
    .map((b, i): Row => ({
      ...b,
      key: String(i),
      end: b.begin * b.ratio,
      lines: linesOf(b.label, most),
      text: times({ value: b.ratio, low: b.low, high: b.high }),
    }));
  const left = 1.1 * widest(rows.flatMap((r) => r.lines)) + 12; // bold is wider
  const domain = logDomain(positive([1, ...rows.flatMap((r) => [r.begin, r.end, ...interval(r)])]), 1.12);
  const height = 20 + LINE * Math.max(2, ...rows.map((r) => r.lines.length));
  return {
    options: {
      height: rows.length * height + 50,
      marginTop: 6,
      marginLeft: left,
      marginRight: 14,
      marginBottom: 40,
      x: { type: "log", domain, axis: null },
      y: { type: "band", domain: rows.map((r) => r.key), axis: null, padding: 0.5 },
      marks: [
        ...bottomLogAxis(
          logTicks(...domain, width - left > 260 ? 6 : 4),
          (d) => `${d}x`,
          `of ${shorten(h.baseline, 20)} (log axis) →`,
        ),
        Plot.ruleX([1], { stroke: "currentColor" }),
        ...joints(rows),
        ...rows.flatMap(labelMarks),
        ...rows.flatMap((r) => barMarks(r, domain, width - left - 14)),
      ],
    },
  };
}

/** A text in lines of at most the given length, broken between words if possible. */
export function linesOf(text: string, most: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(" ").flatMap((w) => w.match(new RegExp(`.{1,${most}}`, "gu")) ?? [])) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= most)
      lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

function labelMarks(r: Row): Plot.Markish[] {
  return r.lines.map((line, i) =>
    Plot.text([r], {
      ...rowText("key"),
      text: () => line,
      dy: (i - (r.lines.length - 1) / 2) * LINE,
      fontWeight: 600,
    }),
  );
}

/** The bounds of the interval of a bar, on the axis. */
function interval(r: Row): number[] {
  return positive([r.low, r.high]).map((end) => r.begin * end);
}

/** Thin lines from the end of a step to the beginning of the next step. */
function joints(rows: Row[]): Plot.Markish[] {
  return rows.slice(0, -1).flatMap((r, i) => {
    const next = rows[i + 1];
    return next && next.begin !== 1 && Math.abs(next.begin / r.end - 1) < 1e-9
      ? [
          Plot.link([r], {
            x1: "end",
            x2: "end",
            y1: () => r.key,
            y2: () => next.key,
            stroke: "currentColor",
            strokeOpacity: 0.5,
            strokeDasharray: "2 2",
          }),
        ]
      : [];
  });
}

function barMarks(r: Row, domain: [number, number], room: number): Plot.Markish[] {
  const ends = interval(r);
  const span = Math.log(domain[1] / domain[0]);
  const pixel = (Math.log(Math.min(r.begin, r.end, ...ends) / domain[0]) / span) * room;
  // The number is below its bar, moved to the left if it would leave the plot.
  const under =
    domain[0] * Math.exp((Math.max(2, Math.min(pixel, room - textWidth(r.text) - 5)) / room) * span);
  return [
    Plot.barX([r], {
      y: "key",
      x1: "begin",
      x2: "end",
      insetTop: -3,
      insetBottom: 5,
      fill: FILLS[r.verdict] ?? "var(--quiet)",
      fillOpacity: 0.85,
      title: () => `${r.label}: ${r.text}, ${r.verdict}`,
      tip: true,
    }),
    whisker(
      r,
      { low: ends[0], high: ends[1] },
      { y: "key", dy: -4, stroke: "currentColor", strokeWidth: 1.4 },
    ),
    Plot.text([r], {
      y: "key",
      x: () => under,
      text: () => r.text,
      dx: 3,
      dy: 16,
      textAnchor: "start",
      fill: "currentColor",
      stroke: "var(--paper)",
      strokeWidth: 3,
    }),
  ];
}
