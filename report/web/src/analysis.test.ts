import { describe, expect, it } from "vitest";
import {
  type Analysis,
  clean,
  comparedVariants,
  ratiosToBaseline,
  readDocument,
  resultsOf,
  struckOut,
} from "./analysis";
import { smallAnalysis } from "./fixture";

describe("the analysis", () => {
  const a = smallAnalysis();
  it("compares everything but the twins", () => {
    expect(comparedVariants(a)).toEqual(["goroutines", "unix-sockets", "http-json", "shared-memory"]);
  });
  it("leaves a variant that broke a rule out of results", () => {
    expect(struckOut(a, "shared-memory")).toBe(true);
    expect([...resultsOf(a, "cpu_per_operation").keys()]).not.toContain("shared-memory");
  });
  it("compares with the baseline only, in the order of the points", () => {
    const own = ratiosToBaseline(a, "elapsed").filter((c) => c.variant === "http-json");
    expect(own.map((c) => [c.point.name, c.baseline])).toEqual([
      ["s1", "goroutines"],
      ["s2", "goroutines"],
      ["s5", "goroutines"],
    ]);
  });
  it("is cleaned, keys and all", () => {
    const dirty = readDocument<Analysis>(
      JSON.stringify({ study: "a\u202eb\u001b[31m", audit: { "x\u0007": { verdict: "valid" } } }),
    );
    expect(dirty.study).toBe("ab[31m");
    expect(Object.keys(dirty.audit)).toEqual(["x"]);
    expect(clean(" a\nb\u2028c\u009b ")).toBe("a b c");
  });
});
