import * as Plot from "@observablehq/plot";
import { type Analysis, type Figure, GENERATOR, type RoleUsage, comparedVariants } from "../analysis";
import { type Drawing, type LegendEntry, textWidth, widest } from "../frame";
import { alone, percent, quantity, scaleFor } from "../number";
import { type Look, partLook, PARTS, restLook } from "../style";
import { kindLook, kindsIn } from "./path";
import { bands, namesWidth } from "./rows";

/** A part of a stacked bar. Aside parts are not in the total. */
interface Part {
  row: string;
  name: string;
  value: Figure;
  look: Look;
  aside?: boolean;
}

/** The kinds of usage. */
export type UsageKind = "cpu" | "share" | "memory";

const READ: Record<UsageKind, (u: RoleUsage) => Figure> = {
  cpu: (u) => u.cpu_per_operation,
  share: (u) => u.cpu_share,
  memory: (u) => u.peak_memory,
};

/** The looks of the roles: a colour each for the largest, and grey for the others. */
export function roleLooks(a: Analysis): Map<string, Look> {
  return new Map((a.roles ?? []).map((role, i) => [role, i < PARTS ? partLook(i) : restLook]));
}

/** The usage of units and backing services at a point, with a stacked bar per variant. */
export function usageBars(a: Analysis, width: number, kind: UsageKind, point: string): Drawing {
  const looks = roleLooks(a);
  const usages = (a.usages ?? []).filter((u) => u.point.name === point && READ[kind](u) > 0);
  const order = [...looks.keys()];
  const parts = usages
    .map((u): Part => ({
      row: u.variant,
      name: u.role,
      value: READ[kind](u),
      look: looks.get(u.role) ?? restLook,
      aside: u.role === GENERATOR,
    }))
    .sort((x, y) => Number(x.aside) - Number(y.aside) || order.indexOf(x.name) - order.indexOf(y.name));
  const sums = (a.usage_sums ?? [])
    .filter((u) => u.point.name === point)
    .map((u): [string, Figure] => [u.variant, READ[kind](u)]);
  const unit = { cpu: "s", share: "%", memory: "B" }[kind];
  return stacked(comparedVariants(a), parts, new Map(sums), width, unit, legendOf(parts));
}

/** An entry per colour: parts that share the grey are listed together. */
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

/** The share of a path that is the mean of all operations (lab.PathMean). */
const MEAN = 0;

/** The mean time of an operation by kind, with a stacked bar per variant. */
export function meanPaths(a: Analysis, width: number, point: string): Drawing {
  const means = (a.paths ?? []).filter((p) => p.point.name === point && p.share === MEAN);
  const kinds = kindsIn(means);
  const parts = means.flatMap((m) =>
    (m.kinds ?? [])
      .map((k): Part => ({ row: m.variant, name: k.kind, value: k.seconds, look: kindLook(k.kind) }))
      .filter((p) => p.value > 0),
  );
  return stacked(
    comparedVariants(a),
    parts,
    new Map(means.map((m) => [m.variant, m.seconds])),
    width,
    "s",
    kinds.map((kind) => ({ name: kind, look: kindLook(kind) })),
  );
}

/** The layers in the order of their colours; the others share the grey. */
const LAYERS = ["application", "server", "http", "json", "store", "runtime", "compiler", "kernel"];

/** The CPU time of an operation by layer, with a stacked bar per variant. */
export function layerBars(a: Analysis, width: number, point: string): Drawing {
  const look = (layer: string): Look => (LAYERS.includes(layer) ? partLook(LAYERS.indexOf(layer)) : restLook);
  const layered = (a.layers ?? []).filter((l) => l.point.name === point);
  const parts = layered
    .flatMap((l) =>
      (l.layers ?? []).map((t): Part => ({
        row: l.variant,
        name: t.layer,
        value: t.per_operation,
        look: look(t.layer),
      })),
    )
    .filter((p) => p.value > 0);
  const sums = new Map(layered.map((l) => [l.variant, l.cpu_per_operation]));
  return stacked(comparedVariants(a), parts, sums, width, "s", legendOf(parts));
}

/** Rows of parts from zero on, with the total at the end of each row: sums are those of the document. */
function stacked(
  rows: string[],
  parts: Part[],
  sums: Map<string, Figure>,
  width: number,
  unit: string,
  legend: LegendEntry[],
): Drawing {
  const shownRows = rows.filter((row) => parts.some((p) => p.row === row));
  const laid = shownRows.flatMap((row) => endToEnd(parts.filter((p) => p.row === row)));
  const show = (value: Figure): string => (unit === "%" ? percent(value, 3) : quantity(alone(value), unit));
  const totals = shownRows.map((row) => {
    const sum = sums.get(row);
    const end = Math.max(...laid.filter((p) => p.row === row).map((p) => p.x2));
    return { row, end, text: sum === undefined ? "" : show(sum) };
  });
  const most = Math.max(...laid.map((p) => p.x2), 0);
  const scale = unit === "%" ? { unit, factor: 100 } : scaleFor(most, unit);
  const right = widest(totals.map((t) => t.text)) + 16;
  const room = width - namesWidth(shownRows, width) - right;
  const fits = (p: { name: string; value: number }): boolean =>
    textWidth(p.name) + 6 < (p.value / most) * room;
  const axis = {
    rows: shownRows,
    height: 34,
    end: most,
    factor: scale.factor,
    ticks: width > 420 ? 5 : 3,
    label: scale.unit === "%" ? "% of one processor" : scale.unit,
    right,
    padding: 0.25,
  };
  const bar = (aside: boolean, look: Plot.BarXOptions, nameOf: (p: Part) => string): Plot.Markish =>
    Plot.barX(
      laid.filter((p) => (p.aside === true) === aside),
      {
        y: "row",
        x1: "x1",
        x2: "x2",
        ...look,
        title: (p: Part) => `${p.row}, ${nameOf(p)}: ${show(p.value)}`,
        tip: true,
      },
    );
  const own = { fill: (p: Part) => p.look.colour, stroke: "var(--paper)", strokeWidth: 0.8 };
  const outline = { fill: "none", stroke: "currentColor", strokeDasharray: "3 2", inset: 0.8 };
  return {
    legend,
    options: bands(axis, width, [
      bar(false, own, (p) => p.name),
      bar(true, outline, () => "load generator"),
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
      Plot.text(totals, {
        y: "row",
        x: "end",
        text: "text",
        dx: 6,
        textAnchor: "start",
        fill: "currentColor",
        fontWeight: 600,
      }),
    ]),
  };
}

/** The parts of a row with their positions end to end. */
function endToEnd(parts: Part[]): (Part & { x1: number; x2: number })[] {
  let at = 0;
  return parts.map((p) => ({ ...p, x1: at, x2: (at += p.value) }));
}
