import * as Plot from "@observablehq/plot";
import { symbol } from "d3-shape";
import { type Look, shorten } from "./style";

/** The namespace of SVG. */
export const SVG = "http://www.w3.org/2000/svg";
const FONT_SIZE = 12;
/** The mean width of a character at that size, in pixels. */
export const CHARACTER = 7.2;
/** The least width of a plot, in pixels. */
export const NARROWEST = 280;

/** An entry of a legend. Hollow entries are drawn as outlines. */
export interface LegendEntry {
  name: string;
  look: Look;
  hollow?: boolean;
}

/** A plot and the legend above it, before they are rendered. */
export interface Drawing {
  options: Plot.PlotOptions;
  legend?: LegendEntry[];
}

/** A log axis below the plot. Every tick is labelled, whereas Plot's own log axis leaves out labels. */
export function bottomLogAxis(ticks: number[], text: (d: number) => string, label: string): Plot.Markish[] {
  return [Plot.gridX(ticks), Plot.axisX(ticks, { text, label, labelAnchor: "right", labelOffset: 36 })];
}

/** A log axis at the left of the plot. */
export function leftLogAxis(ticks: number[], text: (d: number) => string, label: string): Plot.Markish[] {
  return [Plot.gridY(ticks), Plot.axisY(ticks, { text, label })];
}

/** The estimated width of a text in pixels. */
export function textWidth(text: string): number {
  return text.length * CHARACTER;
}

/** Cuts the label of a row so that labels take at most two fifths of the width of a plot. */
export function rowLabel(text: string, width: number): string {
  return shorten(text, Math.min(30, Math.floor((width * 0.4) / CHARACTER)));
}

/** The width of the widest of the texts. */
export function widest(texts: string[]): number {
  return texts.reduce((most, t) => Math.max(most, textWidth(t)), 0);
}

/** Renders a drawing as an SVG element without a style element. */
export function render(drawing: Drawing, width: number, label: string): SVGSVGElement {
  const rows = layLegend(drawing.legend ?? [], width);
  const legendHeight = rows.length === 0 ? 0 : rows.length * 20 + 6;
  const height = drawing.options.height ?? 320;
  const made = Plot.plot({ ...drawing.options, width, height, style: { fontSize: `${FONT_SIZE}px` } });
  const svg = made as SVGSVGElement;
  // Plot writes a style element. The policy of the page allows only that of the page itself,
  // which contains the same rules.
  for (const style of svg.querySelectorAll("style")) style.remove();
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", label);
  // The legend is above the plot, at negative heights.
  svg.setAttribute("viewBox", `0 ${-legendHeight} ${width} ${height + legendHeight}`);
  svg.setAttribute("height", String(height + legendHeight));
  drawLegend(svg, rows, -legendHeight);
  return svg;
}

interface Placed extends LegendEntry {
  x: number;
}

/** Sets the entries of a legend in rows. */
function layLegend(entries: LegendEntry[], width: number): Placed[][] {
  const rows: Placed[][] = [];
  let x = Infinity;
  for (const entry of entries) {
    const name = shorten(entry.name, Math.floor((width - 30) / CHARACTER));
    const needs = textWidth(name) + 34;
    if (x + needs > width) {
      rows.push([]);
      x = 0;
    }
    rows.at(-1)?.push({ ...entry, name, x });
    x += needs;
  }
  return rows;
}

function drawLegend(svg: SVGSVGElement, rows: Placed[][], top: number): void {
  rows.forEach((row, line) => {
    for (const entry of row) {
      const group = svg.ownerDocument.createElementNS(SVG, "g");
      group.setAttribute("transform", `translate(${entry.x + 8},${top + line * 20 + 10})`);
      const mark = svg.ownerDocument.createElementNS(SVG, "path");
      mark.setAttribute("d", symbol(entry.look.symbol, 60)() ?? "");
      mark.setAttribute("fill", entry.hollow === true ? "none" : entry.look.colour);
      mark.setAttribute("stroke", entry.look.colour);
      mark.setAttribute("stroke-width", "1.5");
      const text = svg.ownerDocument.createElementNS(SVG, "text");
      text.setAttribute("x", "10");
      text.setAttribute("dy", "0.35em");
      text.setAttribute("text-anchor", "start");
      text.setAttribute("fill", "currentColor");
      text.textContent = entry.name;
      group.append(mark, text);
      svg.append(group);
    }
  });
}
