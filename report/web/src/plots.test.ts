import { describe, expect, it } from "vitest";
import { type Analysis, readDocument, type ScalingFit } from "./analysis";
import { smallAnalysis } from "./fixture";
import { type Drawing, render } from "./frame";
import { costByPoint, ratiosByPoint } from "./plots/bypoint";
import { drift, ratioTicks } from "./plots/drift";
import { compact, linearTicks, trialsAlong } from "./plots/along";
import { forest, forestRows } from "./plots/forest";
import { ladder } from "./plots/ladder";
import { publishedAgainstMeasured } from "./plots/published";
import { partsOf, scaling } from "./plots/scaling";
import { trend } from "./plots/trend";
import { looks } from "./style";

/** An analysis with a scalability law along the workers of a trend, whose times are used as rates. */
function withFit(a: Analysis): Analysis {
  const line = a.trends[0];
  if (!line) return a;
  const levels = [10, 20, 50, 75, 100];
  const curve = levels.map((level) => {
    const value = level / (1 + 0.05 * (level - 1));
    return { level, value, low: value * 0.9, high: level > 75 ? null : value * 1.1, beyond: level > 50 };
  });
  const { metric, unit, variant, factor, points, x, y } = line;
  const fit = { metric, unit, variant, factor, points, x, y, blocks: 5, curve, words: "" };
  return { ...a, scaling_fits: readDocument<ScalingFit[]>(JSON.stringify([fit])) };
}

const drawings: Record<string, (a: Analysis, width: number) => Drawing> = {
  forest: (a, width) => forest(a, looks(a), width, "elapsed"),
  ladder: (a, width) => ladder(a, looks(a), width),
  points: (a, width) => ratiosByPoint(a, looks(a), width, "elapsed"),
  cost: (a, width) => costByPoint(a, looks(a), width, "cpu_per_operation"),
  trend: (a) => trend(a, looks(a), 0),
  scaling: (a) => scaling(withFit(a), looks(a), 0),
  published: (a, width) => publishedAgainstMeasured(a, width),
  drift: (a, width) => drift(a, looks(a), width, "elapsed"),
};

describe.each(Object.keys(drawings))("plot %s", (kind) => {
  const make = drawings[kind] as (a: Analysis, width: number) => Drawing;
  it.each([280, 400, 900])("has marks, a label and no style element at %d pixels", (width) => {
    const svg = render(make(smallAnalysis(), width), width, "what it shows");
    expect(svg.querySelectorAll("path, circle, line").length).toBeGreaterThan(3);
    expect(svg.getAttribute("aria-label")).toBe("what it shows");
    expect(svg.getAttribute("role")).toBe("img");
    expect(svg.querySelector("style")).toBeNull();
    expect(svg.outerHTML).not.toContain("NaN");
  });
  it("survives an analysis without figures", () => {
    const a = smallAnalysis();
    const bare: Analysis = {
      ...a,
      results: [],
      comparisons: [],
      trends: [],
      ladder: [],
      published: [],
      noise_floor: {},
      audit: {},
      points: [],
    };
    expect(() => render(make(bare, 600), 600, "nothing")).not.toThrow();
  });
});

describe("forest", () => {
  it("has a heading for a variant with several points and one row else", () => {
    const a = smallAnalysis();
    a.comparisons = a.comparisons.filter((c) => c.variant === "unix-sockets" || c.point.name === "s1");
    expect(forestRows(a, "elapsed", 900).map((r) => [r.label, r.heading])).toEqual([
      ["unix-sockets", true],
      ["s1", false],
      ["s2", false],
      ["s5", false],
      ["http-json (s1)", false],
    ]);
  });
});

describe("forest of rates that were not held", () => {
  it("marks them, in rows of one point too, and however long the names are", () => {
    const a = smallAnalysis();
    a.comparisons = a.comparisons
      .filter((c) => c.point.name === "s1")
      .map((c) => ({ ...c, piled_up: true, point: { ...c.point, name: "a rate with a long name" } }));
    const labels = forestRows(a, "elapsed", 900).map((r) => r.label);
    expect(labels.length).toBe(2);
    for (const label of labels) expect(label.endsWith(" *")).toBe(true);
  });
});

describe("trend", () => {
  it("shows every trial at its level", () => {
    const a = smallAnalysis();
    const line = a.trends[0];
    const at = line ? trialsAlong(a, line) : [];
    expect(new Set(at.map((t) => t.x))).toEqual(new Set([10, 20, 50]));
    expect(at.length).toBe(15);
  });
  it("shows a line that falls whole", () => {
    const a = smallAnalysis();
    const line = a.trends[0];
    if (line) Object.assign(line, { intercept: 1e6, slope: -3e4 });
    const domain = trend(a, looks(a), 0).options.y?.domain as number[];
    expect(domain[0]).toBeLessThanOrEqual(1e6 - 3e4 * 50);
    expect(domain[1]).toBeGreaterThanOrEqual(1e6);
  });
  it("has round ticks in the shown unit", () => {
    const ticks = linearTicks(-16.4, 230, 4, 1);
    expect(ticks).toEqual([0, 100, 200]);
    expect(linearTicks(0, 0.41, 4, 1000).map((t) => Math.round(t * 1000))).toEqual([0, 200, 400]);
    expect([10, 50_000, 2_500_000].map(compact)).toEqual(["10", "50k", "2.5M"]);
  });
});

describe("scaling", () => {
  it("shows every trial, and draws on from the last level that was measured", () => {
    const a = withFit(smallAnalysis());
    const fit = a.scaling_fits?.[0];
    expect(fit ? new Set(trialsAlong(a, fit).map((t) => t.x)) : undefined).toEqual(new Set([10, 20, 50]));
    const { within, beyond } = fit ? partsOf(fit) : { within: [], beyond: [] };
    expect(within.map((p) => p.level)).toEqual([10, 20, 50]);
    expect(beyond.map((p) => p.level)).toEqual([50, 75, 100]);
  });

  it("shows the trials of each variant where these are the levels", () => {
    const a = smallAnalysis();
    const results = ["one", "two", "three"].map((variant) => ({
      ...a.results[0],
      ...{ metric: "goodput", variant, point: { name: "p" }, values: [variant.length] },
    }));
    const fit = {
      metric: "goodput",
      variant: "one",
      variants: ["one", "three"],
      points: ["p", "p"],
      x: [1, 3],
    };
    expect(
      trialsAlong({ ...a, results: results as Analysis["results"] }, fit as unknown as ScalingFit),
    ).toEqual([
      { x: 1, y: 3 },
      { x: 3, y: 5 },
    ]);
  });
});

describe("drift", () => {
  it("has ticks around one", () => {
    expect(ratioTicks(0.8, 1.25)).toEqual([0.8, 0.9, 1, 1.1, 1.2]);
    expect(ratioTicks(1 / 3.5, 3.5)).toEqual([0.5, 1, 2]);
    for (const t of ratioTicks(0.001, 1000)) expect(t).toBeGreaterThan(0);
  });
});
