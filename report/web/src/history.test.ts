import { describe, expect, test } from "vitest";
import { figure } from "./fixture";
import { render } from "./frame";
import { type History, history } from "./plots/history";

const made = (ratios: (number | null)[], changes: number[]): History => ({
  runs: ratios.map((_, i) => ({ created: `2026-01-${i}`, environment: i === 2 ? [{}] : null })),
  course: {
    bar: { label: "calls", baseline: "one" },
    ratios: ratios.map((r) => (r === null ? null : { ratio: figure(r), low: figure(r / 1.1), high: null })),
    changes: changes.map((run) => ({ run, factor: 1.2 })),
    levels: [
      { first: 0, last: 2, mean: figure(1.5) },
      { first: 3, last: 4, mean: figure(1.8) },
    ],
  },
});

describe("a headline over runs", () => {
  test.each([280, 900])(
    "has a point for each run that compared it, and marks its changes (%d pixels)",
    (width) => {
      const svg = render(history(made([1.5, null, 1.5, 1.8, 1.8], [3])), width, "what it shows");
      expect(svg.querySelectorAll("circle")).toHaveLength(4);
      expect(
        svg.querySelectorAll("[stroke-dasharray='4 3'] line, line[stroke-dasharray='4 3']"),
      ).toHaveLength(1);
      expect(svg.querySelectorAll("[stroke='var(--quiet)'] line")).toHaveLength(2);
      expect(svg.textContent).toContain("▲");
      expect(svg.outerHTML).not.toContain("NaN");
    },
  );

  test("survives runs of which none compared it", () => {
    expect(history(made([null, null], [])).options.marks).toEqual([]);
  });
});
