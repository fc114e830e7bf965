import { beforeEach, describe, expect, test } from "vitest";
import { Course, pathOf, Seconds } from "./seconds";

describe("the course of a quantity", () => {
  test("keeps five minutes by seconds, and a day in bounded memory", () => {
    const times = new Course(true);
    const rates = new Course(false);
    const day = 86400;
    for (let at = 1; at <= day; at++) {
      times.add(at, at === 1000 ? 9 : 1);
      rates.add(at, at % 2);
    }
    for (const course of [times, rates]) {
      const points = course.points();
      expect(points.length).toBeLessThan(700);
      expect(points.slice(-300).every((p) => p.seconds === 1)).toBe(true);
      expect(points.reduce((sum, p) => sum + p.seconds, 0)).toBe(day);
    }
    expect(Math.max(...times.points().map((p) => p.value))).toBe(9); // a slow second is not lost
    expect(rates.points()[5]?.value).toBeCloseTo(0.5, 2);
  });

  test("has a gap where nothing was measured, and joins nothing with something", () => {
    const course = new Course(true);
    for (const [at, value] of [
      [1, 2],
      [2, NaN],
      [3, 4],
    ] as const)
      course.add(at, value);
    expect(pathOf(course.points(), 4)).toBe("M0.00 50.00M100.00 2.00");
    course.add(1000, 1);
    expect(course.points().map((p) => p.value)).toEqual([4, 1]);
  });
});

describe("the trial that is played", () => {
  let table: HTMLTableElement;
  beforeEach(() => {
    document.body.innerHTML = "<table hidden><caption></caption><tbody></tbody></table>";
    table = document.querySelector("table") as HTMLTableElement;
  });
  const cells = (): (string | null)[][] =>
    [...table.rows].map((r) => [...r.cells].slice(0, 3).map((c) => c.textContent));
  const at = (second: number): string => new Date(1e12 + 1000 * second).toISOString();

  test("shows rates, times and processors of each unit, now and at most", () => {
    const seconds = new Seconds(table);
    const loaded = { end: 1, ok: 500, failed: 0, p50: 0.001, p99: 0.02 };
    seconds.show({ at: at(1), trial: 3, attempt: 1, loaded });
    seconds.show({ at: at(1), trial: 3, attempt: 1, used: { cores: { "<b>": 0.25 } } });
    seconds.show({
      at: at(2),
      trial: 3,
      attempt: 1,
      loaded: { end: 1.5, ok: 100, failed: 1, p50: null, p99: null },
    });
    expect(table.hidden).toBe(false);
    expect(table.caption?.textContent).toContain("Trial 3, second by second");
    expect(cells()).toEqual([
      ["right answers", "200/s", "500/s"],
      ["failed", "2.00/s", "2.00/s"],
      ["response time, median", "-", "1.00 ms"],
      ["response time, p99", "-", "20.0 ms"],
      ["<b>: processors used", "0.250", "0.250"],
    ]);
  });

  test("begins anew with each attempt", () => {
    const seconds = new Seconds(table);
    seconds.show({ at: at(1), trial: 3, attempt: 1, used: { cores: { a: 1 } } });
    seconds.show({ at: at(9), trial: 3, attempt: 2, used: { cores: { b: 1 } } });
    expect(cells()).toEqual([["b: processors used", "1.00", "1.00"]]);
    expect(table.caption?.textContent).toContain("attempt 2");
  });

  test("shows nothing of a trial that is over when the next one is played", () => {
    const seconds = new Seconds(table);
    const used = { cores: { a: 1 } };
    seconds.begin(42, 1);
    seconds.show({ at: at(1), trial: 42, attempt: 1, used });
    seconds.begin(44, 1);
    expect([table.hidden, cells()]).toEqual([true, []]);
    seconds.show({ at: at(1), trial: 42, attempt: 1, used }); // the file has no other ones yet
    expect(table.hidden).toBe(true);
    seconds.show({ at: at(2), trial: 44, attempt: 2, used }); // read before the line that it has begun
    seconds.begin(44, 2);
    expect(cells()).toHaveLength(1);
    seconds.begin(0, 0); // the run was resumed, and warms up
    seconds.show({ at: at(3), trial: 0, attempt: 0, used });
    expect(table.caption?.textContent).toContain("Warm-up");
  });
});
