import { type Analysis, type Figure, GENERATOR, type Link, type PicturePart } from "../analysis";
import { type Drawing, SVG, textWidth, widest } from "../frame";
import { alone, quantity } from "../number";
import { shorten } from "../style";

const LINE = 15;
const PAD = 8;
/** The width beside the labels in which arrows bend. */
const BEND = 20;
const GAP = 16;
/** The width of the shadow of a box that represents several units. */
const SHADOW = 6;

/** A box of the picture with its arrows. */
export interface Box {
  part: PicturePart;
  layer: number;
  lines: string[];
  arrows: Arrow[];
  incoming: Arrow[];
  x: number;
  y: number;
  width: number;
  height: number;
}

interface Arrow {
  link: Link;
  from: Box;
  to: Box;
  lines: string[];
  /** The height at which it leaves its box. */
  y: number;
  /** The horizontal strokes with which it passes the columns between its boxes, from left to right. */
  passes: { from: number; to: number; y: number }[];
}

/**
 * The architecture of a variant with its costs: columns from the load to the backing services,
 * or a list if the columns are too wide.
 */
export function architecture(a: Analysis, width: number, index: number): Drawing {
  const picture = a.pictures?.[index];
  const parts = picture?.parts ?? [];
  if (parts.length === 0) return { options: { marks: [] } };
  const boxes = boxesOf(parts);
  const height = inColumns(boxes, width) ?? inList(boxes, width);
  const draw = (): SVGElement => {
    const all = element("g", { fill: "currentColor" });
    for (const box of boxes) for (const arrow of box.arrows) all.append(...arrowMarks(box, arrow));
    for (const box of boxes) all.append(boxMarks(box));
    return all;
  };
  return { options: { height, axis: null, marks: [draw as never] } };
}

/**
 * The boxes with their lines and layers: each box is in a later layer than the boxes that call it,
 * and backing services are in the last one.
 */
function boxesOf(parts: PicturePart[]): Box[] {
  const boxes = parts.map((part): Box => ({
    part,
    layer: 0,
    lines: [],
    arrows: [],
    incoming: [],
    x: 0,
    y: 0,
    width: 0,
    height: 0,
  }));
  const named = new Map(boxes.map((b) => [b.part.name, b]));
  const links = boxes.flatMap((from) =>
    (from.part.links ?? []).map((link) => ({ from, to: named.get(link.to), link })),
  );
  // Boxes that call each other in a circle would rise without end: no layer is beyond the number of parts.
  for (let turn = 0; turn < parts.length; turn++) {
    for (const { from, to } of links)
      if (to && to !== from && from.layer + 1 < parts.length) to.layer = Math.max(to.layer, from.layer + 1);
  }
  const last = Math.max(0, ...boxes.filter((b) => !b.part.service).map((b) => b.layer)) + 1;
  for (const b of boxes) if (b.part.service) b.layer = last;
  const used = [...new Set(boxes.map((b) => b.layer))].sort((x, y) => x - y);
  for (const b of boxes) b.layer = used.indexOf(b.layer);
  for (const { from, to, link } of links) {
    if (!to || to.layer <= from.layer) continue;
    const arrow: Arrow = { link, from, to, lines: trafficLines(link), y: 0, passes: [] };
    from.arrows.push(arrow);
    to.incoming.push(arrow);
  }
  for (const b of boxes) {
    b.lines = partLines(b.part);
    // Links to the same part or to an earlier layer have no arrow: they are described in the box.
    for (const l of b.part.links ?? []) {
      if (!b.arrows.some((x) => x.link === l))
        b.lines.push(
          `${l.to === b.part.name ? "↻" : `→ ${shorten(l.to, 16)}:`} ${trafficLines(l).join(", ")}`,
        );
    }
  }
  return boxes;
}

/** The lines of a box: its name, its service, its costs and its node. */
function partLines(p: PicturePart): string[] {
  const name = p.name === GENERATOR ? "load" : shorten(p.name, 22);
  const show = (value: Figure, unit: string): string => quantity(alone(value), unit);
  const own = p.name !== GENERATOR;
  return [
    p.units > 1 ? `${name} × ${p.units}` : name,
    ...(p.service ? [shorten(p.service, 22), ...(p.embedded === true ? ["in the units"] : [])] : []),
    ...(own && p.cpu_per_operation > 0 ? [`${show(p.cpu_per_operation, "s")} CPU`] : []),
    ...(own && p.peak_memory > 0 ? [show(p.peak_memory, "B")] : []),
    ...(p.node ? [`on ${shorten(p.node, 18)}`] : []),
  ];
}

/** The lines of an arrow: its traffic or, if that was not counted, how the parts are linked. */
export function trafficLines(link: Link): string[] {
  const traffic = Object.entries(link.traffic ?? {}).sort(([x], [y]) => x.localeCompare(y));
  if (traffic.length === 0) return link.how ? [shorten(link.how, 22)] : [];
  const any = traffic.some(([, count]) => count !== 0);
  return traffic
    .filter(([, count]) => count !== 0 || !any)
    .map(([what, count]) => {
      const shown = Number(quantity(alone(count), "1"));
      const noun = shown === 1 ? what.replace(/s\b/, "") : what;
      const words = what === "calls" && link.how ? `${link.how} ${noun}` : noun;
      return `${count === 0 ? "no" : shown} ${shorten(words, 24)}`;
    });
}

/** Sets the boxes in columns and returns their height, or undefined if the columns are too wide. */
function inColumns(boxes: Box[], width: number): number | undefined {
  const columns: Box[][] = [];
  for (const b of boxes) (columns[b.layer] ??= []).push(b);
  // The first line is bold and therefore a little wider.
  const widths = columns.map(
    (column) =>
      Math.max(room(column.flatMap((b) => b.lines)), 1.1 * room(column.map((b) => b.lines[0] ?? ""))) +
      2 * PAD,
  );
  const labels = columns.map((column) => room(column.flatMap((b) => b.arrows.flatMap((x) => x.lines))));
  const gaps = labels.slice(0, -1).map((width) => width + BEND);
  const needs = [...widths, ...gaps].reduce((sum, w) => sum + w, 8);
  if (needs > width) return undefined;
  const spare = gaps.length === 0 ? 0 : Math.min(60, (width - needs) / gaps.length);
  const lefts: number[] = [];
  columns.forEach((_, i) =>
    lefts.push(i === 0 ? 2 : (lefts[i - 1] ?? 0) + (widths[i - 1] ?? 0) + (gaps[i - 1] ?? 0) + spare),
  );
  const order = columns.flat();
  for (const b of boxes) {
    b.arrows.sort((x, y) => y.to.layer - x.to.layer || order.indexOf(x.to) - order.indexOf(y.to));
    b.width = widths[b.layer] ?? 0;
    b.x = lefts[b.layer] ?? 0;
    b.height =
      Math.max(
        b.lines.length * LINE,
        b.arrows.reduce((sum, x) => sum + laneOf(x), 0),
      ) +
      2 * PAD;
  }
  // Arrows across several columns pass above the boxes between.
  const long = boxes.flatMap((b) =>
    b.arrows.filter((x) => x.to.layer > b.layer + 1).map((arrow) => ({ arrow, from: b.layer })),
  );
  const above = columns.map((_, i) => long.filter((l) => l.from < i && i < l.arrow.to.layer));
  const heights = columns.map(
    (column, i) => column.reduce((sum, b) => sum + b.height + GAP, 0) + (above[i]?.length ?? 0) * LINE,
  );
  const highest = Math.max(...heights);
  columns.forEach((column, i) => {
    let y = 6 + (highest - (heights[i] ?? 0)) / 2;
    for (const l of above[i] ?? []) {
      const left = lefts[i] ?? 0;
      l.arrow.passes.push({ from: left, to: left + (widths[i] ?? 0) + (labels[i] ?? 0), y: y + 4 });
      y += LINE;
    }
    for (const b of column) {
      b.y = y;
      y += b.height + GAP;
      let at = b.y + (b.height - b.arrows.reduce((sum, x) => sum + laneOf(x), 0)) / 2;
      for (const arrow of b.arrows) {
        // Below the only line of text, or between the first line and the others.
        arrow.y = at + (arrow.lines.length > 1 ? laneOf(arrow) / 2 : laneOf(arrow) - 4);
        at += laneOf(arrow);
      }
    }
  });
  for (const b of boxes) b.incoming.sort((x, y) => comesFrom(x) - comesFrom(y));
  return highest + 8;
}

/** The height at which an arrow reaches the column of its target. */
function comesFrom(arrow: Arrow): number {
  return arrow.passes.at(-1)?.y ?? arrow.y;
}

/** The width of texts here, whose letters are narrower than the digits of axes. */
function room(texts: string[]): number {
  return 0.93 * widest(texts);
}

/** The height of an arrow beside its box: a line of text above it, and the others below. */
function laneOf(arrow: Arrow): number {
  return Math.max(1, arrow.lines.length) * LINE + 4;
}

/** Sets the boxes one below the other, with their arrows as text, and returns their height. */
function inList(boxes: Box[], width: number): number {
  const most = Math.floor((width - 2 * PAD) / textWidth("n")) - 1;
  let y = 4;
  for (const b of boxes.sort((x, y) => x.layer - y.layer)) {
    const [name, ...facts] = b.lines;
    const uses = b.arrows.map((x) =>
      [`→ ${x.to.part.name}`, x.lines.join(", ")].filter((t) => t !== "").join(": "),
    );
    const inOne = facts.join(", ");
    b.lines = [name ?? "", ...(inOne.length <= most ? [inOne].filter((t) => t !== "") : facts), ...uses].map(
      (t) => shorten(t, most),
    );
    b.arrows = [];
    Object.assign(b, { x: 2, y, width: width - 8, height: b.lines.length * LINE + 2 * PAD });
    y += b.height + GAP / 2 + (b.part.units > 1 ? 4 : 0);
  }
  return y + 2;
}

/** An SVG element with attributes and a text. */
function element(name: string, attributes: Record<string, string | number>, text?: string): SVGElement {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  if (text !== undefined) made.textContent = text;
  return made;
}

/** A box with its lines. Its colour shows its share of the CPU; a shadow stands for several units. */
function boxMarks(b: Box): SVGElement {
  const group = element("g", {});
  const shape = {
    x: b.x,
    y: b.y,
    width: b.width,
    height: b.height,
    rx: b.part.service ? 14 : 3,
    stroke: "currentColor",
    "stroke-width": 1.2,
  };
  if (b.part.units > 1) {
    for (const shift of [SHADOW, SHADOW / 2])
      group.append(element("rect", { ...shape, x: b.x + shift, y: b.y + shift, fill: "var(--paper)" }));
  }
  group.append(element("rect", { ...shape, fill: "var(--paper)" }));
  const generator = b.part.name === GENERATOR;
  group.append(
    element("rect", {
      ...shape,
      fill: "var(--p0)",
      "fill-opacity": (0.5 * b.part.cpu_share).toFixed(3),
      ...(generator || b.part.embedded === true ? { "stroke-dasharray": "4 3" } : {}),
    }),
  );
  const top = b.y + (b.height - b.lines.length * LINE) / 2;
  b.lines.forEach((line, i) =>
    group.append(
      element(
        "text",
        {
          x: b.x + PAD,
          y: top + i * LINE + 11.5,
          "text-anchor": "start",
          stroke: "none",
          ...(i === 0 ? { "font-weight": 600 } : {}),
        },
        line,
      ),
    ),
  );
  return group;
}

/** An arrow with its head and its labels. It is dotted and pale if nothing was counted on it. */
function arrowMarks(b: Box, arrow: Arrow): SVGElement[] {
  const counts = Object.values(arrow.link.traffic ?? {});
  const unused = counts.length > 0 && counts.every((c) => c === 0);
  const start = b.x + b.width + (b.part.units > 1 ? SHADOW : 0);
  const straight = start + room(arrow.lines) + 6;
  const end = { x: arrow.to.x - 1, y: portOf(arrow) };
  let path = `M${start},${arrow.y}H${straight}`;
  let at = { x: straight, y: arrow.y };
  for (const pass of [
    ...arrow.passes.map((p) => ({ x: p.from - 4, y: p.y, on: p.to })),
    { ...end, on: end.x },
  ]) {
    const middle = (at.x + pass.x) / 2;
    path += `C${middle},${at.y} ${middle},${pass.y} ${pass.x},${pass.y}H${pass.on}`;
    at = { x: pass.on, y: pass.y };
  }
  const look = { stroke: "currentColor", "stroke-opacity": unused ? 0.35 : 0.65 };
  const line = element("path", {
    d: path,
    fill: "none",
    "stroke-width": 1.1,
    ...look,
    ...(unused ? { "stroke-dasharray": "1 4" } : {}),
  });
  line.append(
    element(
      "title",
      {},
      `${b.part.name} → ${arrow.to.part.name}${arrow.lines.length > 0 ? `: ${arrow.lines.join(", ")}` : ""}`,
    ),
  );
  const head = element("path", { d: `M${end.x},${end.y}l-7,-3.5v7z`, "fill-opacity": unused ? 0.35 : 0.65 });
  const labels = arrow.lines.map((text, i) =>
    element(
      "text",
      {
        x: start + 4,
        y: arrow.y - 3.5 + i * LINE,
        "text-anchor": "start",
        "fill-opacity": unused ? 0.7 : 1,
      },
      text,
    ),
  );
  return [line, head, ...labels];
}

/** The height at which an arrow meets its target: arrows are spread over its left side in order. */
function portOf(arrow: Arrow): number {
  const { incoming, y, height } = arrow.to;
  return y + (height * (incoming.indexOf(arrow) + 1)) / (incoming.length + 1);
}
