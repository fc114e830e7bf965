import * as Plot from "@observablehq/plot";
import type { Analysis, Figure, Segment, TrialPath } from "../analysis";
import { type Drawing, textWidth } from "../frame";
import { alone, quantity, scaleFor } from "../number";
import { type Look, partLook, restLook } from "../style";
import { bands, namesWidth } from "./rows";

/** The kinds of time in the order of their colours, which is that of SegmentKinds in lab/spectrum.go. */
const KINDS = ["business code", "encoding", "transport", "queueing", "database", "broker"];

/** The look of a kind, the same in every plot. */
export function kindLook(kind: string): Look {
  const i = KINDS.indexOf(kind);
  return i < 0 ? restLook : partLook(i);
}

/** The kinds in paths, known ones first. */
export function kindsIn(paths: TrialPath[]): string[] {
  const found = new Set<string>(paths.flatMap((p) => (p.kinds ?? []).map((k) => k.kind)));
  return [...KINDS.filter((k) => found.has(k)), ...[...found].filter((k) => !KINDS.includes(k)).sort()];
}

/** The critical path with an index in the analysis: a row per unit, in the order in which they occur. */
export function path(a: Analysis, width: number, index: number): Drawing {
  const p = a.paths?.[index];
  const segments = (p?.segments ?? []).filter((s) => s.seconds > 0);
  if (!p || segments.length === 0) return { options: { marks: [] } };
  const units = [...new Set(segments.map((s) => s.unit))];
  const end = Math.max(...segments.map((s) => s.start + s.seconds));
  const scale = scaleFor(end, "s");
  const room = width - namesWidth(units, width) - 14;
  const fits = (s: Segment): boolean => textWidth(s.name) + 4 < (s.seconds / end) * room;
  const show = (value: Figure): string => quantity(alone(value), "s");
  const axis = {
    rows: units,
    height: 26,
    end,
    factor: scale.factor,
    ticks: width > 420 ? 6 : 4,
    label: `${scale.unit} since the start of the path`,
    right: 14,
    padding: 0.2,
  };
  return {
    legend: kindsIn([p]).map((kind) => ({ name: kind, look: kindLook(kind) })),
    options: bands(axis, width, [
      ...hops(segments),
      Plot.barX(segments, {
        y: "unit",
        x1: "start",
        x2: (s: Segment) => s.start + s.seconds,
        fill: (s: Segment) => kindLook(s.kind).colour,
        stroke: "var(--paper)",
        strokeWidth: 0.6,
        title: (s: Segment) =>
          `${s.unit}: ${s.name} (${s.kind}), ${show(s.seconds)} from ${show(s.start)} on`,
        tip: true,
      }),
      Plot.text(segments.filter(fits), {
        y: "unit",
        x: (s: Segment) => s.start + s.seconds / 2,
        text: "name",
        fill: "var(--on-part)",
        fontSize: 10.5,
      }),
    ]),
  };
}

/** Thin lines where the path moves to another unit. */
function hops(segments: Segment[]): Plot.Markish[] {
  const inOrder = [...segments].sort((x, y) => x.start - y.start);
  return inOrder.flatMap((s, i) => {
    const before = inOrder[i - 1];
    if (!before || before.unit === s.unit) return [];
    const ends = { x1: "start", x2: "start", y1: () => before.unit, y2: () => s.unit };
    return [Plot.link([s], { ...ends, stroke: "currentColor", strokeOpacity: 0.55, strokeWidth: 1 })];
  });
}
