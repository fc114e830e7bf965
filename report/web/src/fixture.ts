import { readFileSync } from "node:fs";
import { type Analysis, type Figure, type Headline, readDocument } from "./analysis";

/** The small analysis that the Go tests use, too. For tests only. */
export function smallAnalysis(): Analysis {
  return readDocument<Analysis>(readFileSync("../testdata/three-variants.json", "utf8"));
}

/** The analysis of a system under load that the Go tests use, too. For tests only. */
export function loadedAnalysis(): Analysis {
  return readDocument<Analysis>(readFileSync("../testdata/shop-under-load.json", "utf8"));
}

/** A made-up figure. For tests only. */
export const figure = (value: number): Figure => value as Figure;

/** An analysis with some parts replaced, which need not be complete. For tests only. */
export function altered(a: Analysis, parts: object): Analysis {
  return { ...a, ...parts } as Analysis;
}

/** The headline of an analysis. For tests only. */
export function headlineOf(a: Analysis): Headline {
  return a.answer.headline as Headline;
}
