import { expect, test } from "vitest";
import { drawBeside } from "./beside";
import { altered, figure, loadedAnalysis } from "./fixture";

test("two sides are drawn from what the page holds", () => {
  const a = altered(loadedAnalysis(), {
    courses: ["monolith", "sync"].map((variant) => ({
      variant,
      point: "at-80",
      trial: 1,
      end: [1, 2],
      rate: [figure(80), figure(81)],
      median: [figure(0.002), null],
    })),
  });
  document.body.innerHTML = `<main>
    <div data-plot="spectrum" data-metric="response_time" data-point="at-80" data-label="times"></div>
    <div data-plot="course" data-metric="rate" data-point="at-80" data-label="rates"></div></main>`;
  const root = document.querySelector("main") as HTMLElement;
  root.dataset["beside"] = JSON.stringify(a);
  drawBeside(root);
  const [times, rates] = [...root.querySelectorAll("svg")];
  expect(times?.getAttribute("aria-label")).toBe("times");
  expect(times?.textContent).toContain("monolith");
  expect(rates?.querySelectorAll("[aria-label=line] path")).toHaveLength(2);
  expect(root.innerHTML).not.toMatch(/NaN|Infinity|undefined/);
});
