import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { Estimate, Result } from "./analysis";
import { smallAnalysis } from "./fixture";
import { alone, logDomain, logTicks, positive, quantity, tick, times } from "./number";

interface Example extends Estimate {
  why: string;
  unit: string;
  text: string;
}

/** The Go tests of report use the same examples, so that a number reads the same in tables and plots. */
const examples = JSON.parse(readFileSync("../testdata/numbers.json", "utf8")) as Example[];

describe("numbers read the same everywhere", () => {
  it.each(examples.map((e): [string, Example] => [e.why, e]))("%s", (_, e) => {
    expect(e.unit === "x" ? times(e) : quantity(e, e.unit)).toBe(e.text);
  });
});

describe("figures", () => {
  it("are of the document alone: the compiler refuses what is computed from them", () => {
    const r = smallAnalysis().results[0] as Result;
    // @ts-expect-error: half of a mean is no figure
    expect(quantity(alone(r.mean / 2), r.unit)).not.toBe(quantity(alone(r.mean), r.unit));
  });
});

describe("ticks", () => {
  it.each([
    [0.9, 1.1, 8],
    [0.07, 2000, 9],
    [0.07, 2000, 4],
    [1e-9, 1e-4, 5],
    [1, 1.02, 8],
    [1e-30, 1e30, 5],
  ])("of %d to %d are at most %d, inside and rising", (low, high, most) => {
    const ticks = logTicks(low, high, most);
    expect(ticks.length).toBeLessThanOrEqual(most);
    expect([...ticks].sort((a, b) => a - b)).toEqual(ticks);
    for (const t of ticks) {
      expect(t).toBeGreaterThanOrEqual(low * 0.999);
      expect(t).toBeLessThanOrEqual(high * 1.001);
    }
  });

  it("scale seconds for the eye", () => {
    expect([1e-9, 3e-8, 1e-5, 0.2, 10].map((t) => tick(t, "s"))).toEqual([
      "1 ns",
      "30 ns",
      "10 us",
      "200 ms",
      "10 s",
    ]);
  });
});

describe("what a log axis can show", () => {
  it("is positive and finite", () => {
    expect(positive([1, 0, -1, null, undefined, Number.NaN, Infinity, 2])).toEqual([1, 2]);
  });
  it("has a domain even for nothing", () => {
    expect(logDomain([])).toEqual([0.5, 2]);
  });
});
