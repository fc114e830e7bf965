import {
  symbolCircle,
  symbolCross,
  symbolDiamond,
  symbolSquare,
  symbolStar,
  symbolTriangle,
  symbolWye,
  symbolTimes,
  type SymbolType,
} from "d3-shape";
import { type Analysis, comparedVariants } from "./analysis";

/** The look of a variant in every plot. Variants differ in shape and dash, too, not in colour alone. */
export interface Look {
  colour: string;
  symbol: SymbolType;
  dash: string;
}

const SHAPES: readonly SymbolType[] = [
  symbolCircle,
  symbolSquare,
  symbolTriangle,
  symbolDiamond,
  symbolStar,
  symbolCross,
  symbolWye,
  symbolTimes,
];
const DASHES: readonly string[] = ["none", "6 3", "2 3", "8 3 2 3", "1 3", "10 4", "4 2 1 2", "3 6"];
const COLOURS = 8; // --v0 .. --v7 in the style sheet

/** The i-th look; from the ninth on, colours are repeated with other shapes. */
export function look(i: number): Look {
  const turn = Math.floor(i / COLOURS);
  return {
    colour: `var(--v${i % COLOURS})`,
    symbol: SHAPES[(i + turn * 3) % SHAPES.length] ?? symbolCircle,
    dash: DASHES[(i + turn) % DASHES.length] ?? "none",
  };
}

/** The looks of the variants by name. They follow from the order of the study, for all plots alike. */
export function looks(a: Analysis): Map<string, Look> {
  return new Map(comparedVariants(a).map((name, i) => [name, look(i)]));
}

/** The look of a name, or the first look if the name is unknown. */
export function lookOf(all: Map<string, Look>, name: string): Look {
  return all.get(name) ?? look(0);
}

/** Shortens a label to at most the given number of characters. */
export function shorten(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, Math.max(1, most - 1))}…`;
}

/**
 * The look of the i-th part of a whole, such as a unit or a kind of time: a colour that no variant has. Parts
 * from number PARTS on have restLook instead.
 */
export function partLook(i: number): Look {
  return { colour: `var(--p${i % PARTS})`, symbol: symbolSquare, dash: "none" };
}

/** The number of colours of parts, --p0 .. --p7 in the style sheet; all other parts share --p8. */
export const PARTS = 8;

/** The look of parts that share the grey colour. */
export const restLook: Look = { colour: "var(--p8)", symbol: symbolSquare, dash: "none" };
