import * as Plot from "@observablehq/plot";
import type { Analysis, Ratio, Step, Waterfall } from "../analysis";
import { bottomLogAxis, type Drawing, textWidth, widest } from "../frame";
import { logDomain, logTicks, positive, times } from "../number";
import { shorten } from "../style";

/** One bar: a step from where the last one ended, or the whole way from 1. */
export interface Bar {
  key: string;
  knob: string;
  change: string;
  from: number;
  to: number;
  ratio: Ratio;
  verdict: string;
}

/** The steps as bars end to end on a log axis, then the whole way. */
export function barsOf(w: Waterfall): Bar[] {
  let at = 1;
  const bars = (w.steps ?? [])
    .filter((s) => positive([s.ratio.ratio]).length === 1)
    .map((s, i): Bar => {
      const from = at;
      at *= s.ratio.ratio;
      return { key: String(i), ...titleOf(s), from, to: at, ratio: s.ratio, verdict: s.verdict };
    });
  if (positive([w.whole.ratio]).length === 0) return bars;
  return [
    ...bars,
    {
      key: "whole",
      knob: "whole way",
      change: `${w.from} → ${w.to}`,
      from: 1,
      to: w.whole.ratio,
      ratio: w.whole,
      verdict: "whole",
    },
  ];
}

/** What a step leads to, or turns; one that turns several knobs at once has a name, and lists them. */
function titleOf(s: Step): Pick<Bar, "knob" | "change"> {
  if (s.plain) return { knob: s.plain, change: `${s.knob} ${arrows(s.change)}` };
  if (!s.name) return { knob: s.knob, change: arrows(s.change) };
  return { knob: arrows(s.name), change: (s.changes ?? []).map((c) => c.knob).join(", ") };
}

function arrows(text: string): string {
  return text.replaceAll("->", "→");
}

/** Lines of text, the first of them bold. */
interface Label {
  bold: number;
  lines: string[];
}

const FILLS: Record<string, string> = { slower: "var(--bad)", faster: "var(--good)", whole: "currentColor" };
const ROW = 46;

/** From one architecture to another, step by step. */
export function waterfall(a: Analysis, width: number, index: number): Drawing {
  const w = a.waterfalls?.[index];
  if (!w) return { options: { marks: [] } };
  const bars = barsOf(w);
  const texts = bars.map((b) => times({ value: b.ratio.ratio, low: b.ratio.low, high: b.ratio.high }));
  const most = Math.floor((width * 0.42) / 7.2);
  const labels = new Map(bars.map((b) => [b.key, linesOf(b, most)]));
  const left = widest([...labels.values()].flatMap((l) => l.lines)) + 12;
  const domain = logDomain(positive([1, ...bars.flatMap((b) => [b.from, b.to, ...ends(b)])]), 1.12);
  return {
    options: {
      height: bars.length * ROW + 50,
      marginTop: 6,
      marginLeft: left,
      marginRight: 14,
      marginBottom: 40,
      x: { type: "log", domain, axis: null },
      y: { type: "band", domain: bars.map((b) => b.key), axis: null, padding: 0.5 },
      marks: [
        ...bottomLogAxis(
          logTicks(...domain, width - left > 260 ? 6 : 4),
          (d) => `${d}x`,
          `of ${shorten(w.from, 20)} (log axis) →`,
        ),
        Plot.ruleX([1], { stroke: "currentColor" }),
        ...joints(bars),
        ...bars.flatMap((b) => labelMarks(b, labels.get(b.key) ?? { bold: 0, lines: [] })),
        ...bars.flatMap((b, i) => barMarks(b, texts[i] ?? "", domain, width - left - 14)),
      ],
    },
  };
}

/** What a bar is called, on at most three lines; `bold` of them are what it leads to. */
function linesOf(b: Bar, most: number): Label {
  const bold = twoLines(b.knob, most);
  return {
    bold: bold.length,
    lines: [...bold, ...(bold.length > 1 ? [shorten(b.change, most)] : twoLines(b.change, most))],
  };
}

/** A text on at most two lines, broken between words. */
export function twoLines(text: string, most: number): string[] {
  if (text.length <= most) return [text];
  const cut = text.lastIndexOf(" ", most);
  return cut <= 0 ? [shorten(text, most)] : [text.slice(0, cut), shorten(text.slice(cut + 1), most)];
}

/** What the step leads to, and under it what was turned from and to. */
function labelMarks(b: Bar, { bold, lines }: Label): Plot.Markish[] {
  return lines.map((line, i) =>
    Plot.text([b], {
      frameAnchor: "left",
      y: "key",
      text: () => line,
      dx: -8,
      dy: (i - (lines.length - 1) / 2) * 13,
      textAnchor: "end",
      fill: "currentColor",
      ...(i < bold ? { fontWeight: 600 } : { fillOpacity: 0.8 }),
    }),
  );
}

/** The ends of a step's interval, where the bar ends. */
function ends(b: Bar): number[] {
  return positive([b.ratio.low, b.ratio.high]).map((end) => b.from * end);
}

/** Thin lines from where a step ends to where the next begins. */
function joints(bars: Bar[]): Plot.Markish[] {
  return bars.slice(0, -1).flatMap((b, i) => {
    const next = bars[i + 1];
    return next && next.verdict !== "whole"
      ? [
          Plot.link([b], {
            x1: "to",
            x2: "to",
            y1: () => b.key,
            y2: () => next.key,
            stroke: "currentColor",
            strokeOpacity: 0.5,
            strokeDasharray: "2 2",
          }),
        ]
      : [];
  });
}

function barMarks(b: Bar, text: string, domain: [number, number], room: number): Plot.Markish[] {
  const interval = ends(b);
  const title = `${b.knob}, ${b.change}: ${text}${b.verdict === "whole" ? "" : `, ${b.verdict}`}`;
  const span = Math.log(domain[1] / domain[0]);
  const pixel = (Math.log(Math.min(b.from, b.to, ...interval) / domain[0]) / span) * room;
  // The number stands under its bar, moved to the left where it would leave the plot.
  const under =
    domain[0] * Math.exp((Math.max(2, Math.min(pixel, room - textWidth(text) - 5)) / room) * span);
  return [
    Plot.barX([b], {
      y: "key",
      x1: "from",
      x2: "to",
      insetTop: -3,
      insetBottom: 5,
      fill: FILLS[b.verdict] ?? "var(--quiet)",
      fillOpacity: b.verdict === "whole" ? 0.75 : 0.85,
      title: () => title,
      tip: true,
    }),
    ...(interval.length === 2
      ? [
          Plot.ruleY([b], {
            y: "key",
            x1: () => interval[0],
            x2: () => interval[1],
            dy: -4,
            stroke: "currentColor",
            strokeWidth: 1.4,
          }),
        ]
      : []),
    Plot.text([b], {
      y: "key",
      x: () => under,
      text: () => text,
      dx: 3,
      dy: 16,
      textAnchor: "start",
      fill: "currentColor",
      stroke: "var(--paper)",
      strokeWidth: 3,
    }),
  ];
}
