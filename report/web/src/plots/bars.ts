import * as Plot from "@observablehq/plot";
import { type Analysis, type RoleUsage, type TrialPath, comparedVariants, shown } from "../analysis";
import { type Drawing, type LegendEntry, rowLabel, textWidth, widest } from "../frame";
import { quantity, scaleFor } from "../number";
import { type Look, partLook, PARTS, restLook } from "../style";
import { kindLook, kindsIn } from "./path";
import { linearTicks } from "./trend";

/** A part of a row of stacked parts. Aside parts are in no total. */
interface Part {
  row: string;
  name: string;
  value: number;
  look: Look;
  aside?: boolean;
}

const GENERATOR = "generator";

/** The three ways to look at what units used. */
export type UsageKind = "cpu" | "share" | "memory";

const READ: Record<UsageKind, (u: RoleUsage) => number> = {
  cpu: (u) => u.cpu_per_operation,
  share: (u) => 100 * u.cpu_share,
  memory: (u) => u.peak_memory,
};

/**
 * The looks of the units: a fill each for the largest over the whole study, grey for the rest,
 * an outline for the generator.
 */
export function roleLooks(a: Analysis): Map<string, Look> {
  const sums = new Map<string, number>();
  for (const u of a.usages ?? []) {
    if (u.role !== GENERATOR && shown(a, u.variant))
      sums.set(u.role, (sums.get(u.role) ?? 0) + u.cpu_per_operation);
  }
  const bySize = [...sums.entries()]
    .sort((x, y) => y[1] - x[1] || x[0].localeCompare(y[0]))
    .map(([role]) => role);
  return new Map(bySize.map((role, i) => [role, i < PARTS ? partLook(i) : restLook]));
}

/** What units and backing services used at a point, one stacked bar per variant. */
export function usageBars(a: Analysis, width: number, kind: UsageKind, point: string): Drawing {
  const looks = roleLooks(a);
  const own = (a.usages ?? []).filter(
    (u) => u.point.name === point && shown(a, u.variant) && READ[kind](u) > 0,
  );
  const order = [...looks.keys()];
  const parts = own
    .map((u): Part => ({
      row: u.variant,
      name: u.role,
      value: READ[kind](u),
      look: looks.get(u.role) ?? restLook,
      aside: u.role === GENERATOR,
    }))
    .sort((x, y) => Number(x.aside) - Number(y.aside) || order.indexOf(x.name) - order.indexOf(y.name));
  const unit = { cpu: "s", share: "%", memory: "B" }[kind];
  return stacked(comparedVariants(a), parts, width, unit, legendOf(parts));
}

/** One entry per fill: parts that share the grey are named together. */
function legendOf(parts: Part[]): LegendEntry[] {
  const names = (fits: (p: Part) => boolean): string[] => [...new Set(parts.filter(fits).map((p) => p.name))];
  const rest = names((p) => p.look === restLook && p.aside !== true);
  return [
    ...names((p) => p.look !== restLook).map((name) => ({
      name,
      look: parts.find((p) => p.name === name)?.look ?? restLook,
    })),
    ...(rest.length > 0 ? [{ name: rest.join(", "), look: restLook }] : []),
    ...(parts.some((p) => p.aside)
      ? [{ name: "load generator (in no sum)", look: { ...restLook, colour: "currentColor" }, hollow: true }]
      : []),
  ];
}

/** The mean time of an operation by kind, one stacked bar per variant. */
export function meanPaths(a: Analysis, width: number, point: string): Drawing {
  const means = (a.paths ?? []).filter((p) => p.point.name === point && p.share === 0 && shown(a, p.variant));
  const kinds = kindsIn(means);
  const sum = (path: TrialPath, kind: string): number =>
    (path.segments ?? []).filter((s) => s.kind === kind).reduce((t, s) => t + s.seconds, 0);
  const parts = means.flatMap((m) =>
    kinds
      .map((kind): Part => ({ row: m.variant, name: kind, value: sum(m, kind), look: kindLook(kind) }))
      .filter((p) => p.value > 0),
  );
  return stacked(
    comparedVariants(a),
    parts,
    width,
    "s",
    kinds.map((kind) => ({ name: kind, look: kindLook(kind) })),
  );
}

/** The layers in the order of their fills; the others share the grey. */
const LAYERS = ["application", "server", "http", "json", "store", "runtime", "compiler", "kernel"];

/** Where the CPU time of an operation goes, one stacked bar per variant. */
export function layerBars(a: Analysis, width: number, point: string): Drawing {
  const look = (layer: string): Look => (LAYERS.includes(layer) ? partLook(LAYERS.indexOf(layer)) : restLook);
  const parts = (a.layers ?? [])
    .filter((l) => l.point.name === point && shown(a, l.variant))
    .flatMap((l) =>
      (l.layers ?? []).map((t): Part => ({
        row: l.variant,
        name: t.layer,
        value: t.per_operation,
        look: look(t.layer),
      })),
    )
    .filter((p) => p.value > 0);
  return stacked(comparedVariants(a), parts, width, "s", legendOf(parts));
}

/** Rows of parts laid end to end from zero, each with its sum behind it. */
function stacked(rows: string[], parts: Part[], width: number, unit: string, legend: LegendEntry[]): Drawing {
  const shownRows = rows.filter((row) => parts.some((p) => p.row === row));
  const laid = shownRows.flatMap((row) => layEnd(parts.filter((p) => p.row === row)));
  const sums = shownRows.map((row) => ({
    row,
    sum: parts.filter((p) => p.row === row && p.aside !== true).reduce((t, p) => t + p.value, 0),
    end: Math.max(...laid.filter((p) => p.row === row).map((p) => p.x2)),
  }));
  const show = (value: number): string => quantity({ value, low: null, high: null }, unit);
  const most = Math.max(...laid.map((p) => p.x2), 0);
  const scale = scaleFor(most, unit);
  const ticks = linearTicks(0, most, width > 420 ? 5 : 3, scale.factor);
  const left = widest(shownRows.map((row) => rowLabel(row, width))) + 14;
  const right = widest(sums.map((s) => show(s.sum))) + 16;
  const room = width - left - right;
  const fits = (p: { name: string; value: number }): boolean =>
    textWidth(p.name) + 6 < (p.value / most) * room;
  return {
    legend,
    options: {
      height: shownRows.length * 34 + 50,
      marginTop: 6,
      marginLeft: left,
      marginRight: right,
      marginBottom: 40,
      x: {
        domain: [0, most || 1],
        ticks,
        tickFormat: (d: number) => String(Number((d * scale.factor).toPrecision(4))),
        label: `${scale.unit === "%" ? "% of one processor" : scale.unit} →`,
        labelAnchor: "right",
        labelOffset: 34,
        grid: true,
      },
      y: { type: "band", domain: shownRows, axis: null, padding: 0.25 },
      marks: [
        Plot.text(shownRows, {
          frameAnchor: "left",
          y: (d: string) => d,
          text: (d: string) => rowLabel(d, width),
          dx: -8,
          textAnchor: "end",
          fill: "currentColor",
        }),
        Plot.barX(
          laid.filter((p) => p.aside !== true),
          {
            y: "row",
            x1: "x1",
            x2: "x2",
            fill: (p: Part) => p.look.colour,
            stroke: "var(--paper)",
            strokeWidth: 0.8,
            title: (p: Part) => `${p.row}, ${p.name}: ${show(p.value)}`,
            tip: true,
          },
        ),
        Plot.barX(
          laid.filter((p) => p.aside === true),
          {
            y: "row",
            x1: "x1",
            x2: "x2",
            fill: "none",
            stroke: "currentColor",
            strokeDasharray: "3 2",
            inset: 0.8,
            title: (p: Part) => `${p.row}, load generator: ${show(p.value)}`,
            tip: true,
          },
        ),
        Plot.text(
          laid.filter((p) => p.aside !== true && fits(p)),
          {
            y: "row",
            x: (p: { x1: number; x2: number }) => (p.x1 + p.x2) / 2,
            text: "name",
            fill: "var(--on-part)",
            fontSize: 11,
          },
        ),
        Plot.text(sums, {
          y: "row",
          x: "end",
          text: (s: { sum: number }) => show(s.sum),
          dx: 6,
          textAnchor: "start",
          fill: "currentColor",
          fontWeight: 600,
        }),
      ],
    },
  };
}

function layEnd(parts: Part[]): (Part & { x1: number; x2: number })[] {
  let at = 0;
  return parts.map((p) => ({ ...p, x1: at, x2: (at += p.value) }));
}
