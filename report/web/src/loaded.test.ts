import { describe, expect, it } from "vitest";
import { addControls, type Filled } from "./controls";
import { type Analysis, type Bar, type CurvePoint, type Headline, readDocument } from "./analysis";
import { drawing, type Wish } from "./drawings";
import { altered, figure, headlineOf, loadedAnalysis } from "./fixture";
import { render } from "./frame";
import { roleLooks } from "./plots/bars";
import { secondsOf } from "./plots/course";
import { capacities, rateTicks, roomyTicks, unheldWords } from "./plots/curve";
import { kindLook, kindsIn } from "./plots/path";
import { places, spectraOf, tipText } from "./plots/spectrum";
import { linesOf } from "./plots/headline";
import { looks } from "./style";

function wish(change: Partial<Wish>): Wish {
  return { kind: "", index: 0, metric: "", point: "at-80", limit: 0, uncorrected: false, ...change };
}

const wishes: Record<string, Wish> = {
  "a curve with its limit and capacities": wish({
    kind: "curve",
    metric: "completion_time_p99",
    limit: 0.1,
    capacities: true,
  }),
  "a curve of medians": wish({ kind: "curve", metric: "response_time_p50" }),
  throughput: wish({ kind: "throughput", metric: "completed_rate" }),
  "a share": wish({ kind: "share", metric: "error_share" }),
  "a spectrum": wish({ kind: "spectrum", metric: "response_time" }),
  "a spectrum with the service time": wish({ kind: "spectrum", metric: "response_time", uncorrected: true }),
  staleness: wish({ kind: "spectrum", metric: "staleness" }),
  "a headline": wish({ kind: "headline", bars: headlineOf(loadedAnalysis()) }),
  "a path": wish({ kind: "path", index: 1 }),
  "mean paths": wish({ kind: "path-mean" }),
  "CPU by unit": wish({ kind: "usage", metric: "cpu" }),
  "shares of a processor": wish({ kind: "usage", metric: "share" }),
  "memory by unit": wish({ kind: "usage", metric: "memory" }),
};

function svg(a: Analysis, w: Wish, width: number): SVGSVGElement {
  return render(drawing(a, looks(a), w, width), width, "what it shows");
}

describe("a critical path", () => {
  it("begins at its own start, since traces have no intended one", () => {
    const made = svg(loadedAnalysis(), wish({ kind: "path", index: 1 }), 800);
    expect(made.textContent).toContain("since the start of the path");
  });
});

describe("layers", () => {
  const time = (layer: string, per_operation: number) => ({
    layer,
    share: figure(per_operation / 3e-4),
    per_operation: figure(per_operation),
  });
  const layers = ["monolith", "sync"].map((variant) => ({
    variant,
    point: loadedAnalysis().points.find((p) => p.name === "at-80") as Analysis["points"][number],
    cpu_per_operation: figure(3e-4),
    layers: [time("application", 1e-4), time("json", 5e-5), time("kernel", 1e-4), time("unseen", 5e-5)],
  }));
  it("are stacked for every profiled variant, and add up to its cost", () => {
    const made = svg(altered(loadedAnalysis(), { layers }), wish({ kind: "layers" }), 800);
    expect(made.querySelectorAll('rect[fill="var(--p7)"]')).toHaveLength(2); // the kernel's
    expect(made.textContent).toMatch(/300 .s/);
    expect(made.outerHTML).not.toMatch(/NaN|Infinity|undefined/);
  });
  it("may be missing", () => {
    expect(() => svg(loadedAnalysis(), wish({ kind: "layers" }), 500)).not.toThrow();
  });
});

describe("throughput", () => {
  const rates = loadedAnalysis();
  const bytes = {
    ...rates,
    curves: (rates.curves ?? []).map((c) =>
      c.metric === "completed_rate"
        ? {
            ...c,
            unit: "B/s",
            points: (c.points ?? []).map((p) => ({ ...p, median: figure(4096 * p.median), values: [] })),
          }
        : c,
    ),
  };
  const drawn = (a: Analysis) => svg(a, wish({ kind: "throughput", metric: "completed_rate" }), 500);
  it("has the line of what is due only where something is due", () => {
    expect(drawn(rates).querySelector('[stroke="currentColor"][stroke-dasharray="2 3"]')).not.toBeNull();
    expect(drawn(bytes).querySelector('[stroke="currentColor"][stroke-dasharray="2 3"]')).toBeNull();
  });
  it("counts bytes in bytes", () => {
    expect(drawn(rates).textContent).toContain("↑ orders/s");
    expect(drawn(bytes).textContent).toMatch(/↑ .iB\/s/);
  });
});

describe("courses", () => {
  const courses = ["monolith", "sync"].flatMap((variant) =>
    [1, 2].map((trial) => ({
      variant,
      point: "at-80",
      trial,
      end: [1, 2, 3],
      rate: [80, 79, 0],
      median: [0.002, 0.003, null],
      p99: [0.01, 0, null],
      used: { end: [1.4, 2.9], cores: [0.5, 0], memory: [3e7, 4e7] },
    })),
  );
  const a = altered(loadedAnalysis(), { courses });
  it.each([280, 500, 1000])("are a line for each trial and a row for each variant at %d pixels", (width) => {
    for (const metric of ["median", "p99", "rate", "cores", "memory"]) {
      const made = svg(a, wish({ kind: "course", metric }), width);
      expect(made.querySelectorAll('g[aria-label="line"] path')).toHaveLength(4);
      expect(made.textContent).toContain("monolith");
      expect(made.outerHTML).not.toMatch(/NaN|Infinity|undefined/);
    }
  });
  it("may have more seconds than a call may have arguments", () => {
    const times = Array.from({ length: 300_000 }, () => figure(0.002));
    const long = altered(a, { courses: [{ variant: "sync", point: "at-80", trial: 1, p99: times }] });
    expect(() => drawing(long, looks(long), wish({ kind: "course", metric: "p99" }), 500)).not.toThrow();
  });
  it("have gaps where nothing was measured, but a rate of nothing is a rate", () => {
    expect(secondsOf(a, "p99", "at-80").filter((s) => s.value === null)).toHaveLength(8);
    expect(secondsOf(a, "rate", "at-80").filter((s) => s.value === 0)).toHaveLength(4);
  });
  it("tell what the system used at points of its own, in cores and in bytes, from nothing on", () => {
    expect(
      secondsOf(a, "cores", "at-80")
        .slice(0, 2)
        .map((s) => [s.second, s.value]),
    ).toEqual([
      [1.4, 0.5],
      [2.9, 0],
    ]);
    const text = (metric: string): string => svg(a, wish({ kind: "course", metric }), 500).textContent ?? "";
    expect(text("cores")).toContain("↑ cores");
    expect(text("memory")).toMatch(/↑ MiB/);
    expect(text("cores") + text("memory")).not.toContain("log axis");
    const old = altered(a, { courses: courses.map((c) => ({ ...c, used: null })) });
    expect(secondsOf(old, "cores", "at-80")).toEqual([]);
    expect(() => svg(old, wish({ kind: "course", metric: "memory" }), 500)).not.toThrow();
  });
  it("may be missing", () => {
    expect(() => svg(loadedAnalysis(), wish({ kind: "course", metric: "p99" }), 500)).not.toThrow();
  });
});

describe.each(Object.keys(wishes))("%s", (name) => {
  const w = wishes[name] as Wish;
  it.each([280, 500, 1000])("has marks and no broken number at %d pixels", (width) => {
    const made = svg(loadedAnalysis(), w, width);
    expect(made.querySelectorAll("path, circle, line, rect").length).toBeGreaterThan(3);
    expect(made.outerHTML).not.toMatch(/NaN|Infinity|undefined/);
    expect(made.querySelector("style")).toBeNull();
  });
  it("survives an analysis without figures", () => {
    const a = loadedAnalysis();
    const bare: Analysis = {
      ...a,
      results: [],
      curves: [],
      spectra: [],
      usages: [],
      paths: [],
      points: [],
    };
    expect(() => svg(bare, w, 500)).not.toThrow();
    const { curves, spectra, usages, paths, ...older } = a;
    expect([curves, spectra, usages, paths]).not.toContain(undefined);
    expect(() => svg(older, w, 500)).not.toThrow();
  });
});

describe("capacities", () => {
  const a = loadedAnalysis();
  it("leave out a variant that broke a rule", () => {
    const broken = altered(a, { audit: { ...a.audit, async: { verdict: "invalid" } } });
    expect(capacities(broken).map((r) => r.variant)).toEqual(["monolith", "sync"]);
  });
  it("leave out a variant whose twin broke a rule", () => {
    const twin = { ...(a.variants[0] as Analysis["variants"][number]), name: "again", twin_of: "async" };
    const broken = altered(a, {
      variants: [...a.variants, twin],
      audit: { ...a.audit, again: { verdict: "invalid" } },
    });
    expect(capacities(broken).map((r) => r.variant)).toEqual(["monolith", "sync"]);
  });
});

describe("curves", () => {
  const a = loadedAnalysis();
  it("draw a rate that was not held hollow", () => {
    const unheld = svg(a, wishes["a curve of medians"] as Wish, 500);
    const hollow = [...unheld.querySelectorAll('[fill="var(--paper)"]')];
    expect(hollow.length).toBeGreaterThan(0);
    const allHeld = {
      ...a,
      curves: (a.curves ?? []).map((c) => ({
        ...c,
        points: (c.points ?? []).map((p) => ({ ...p, held: true })),
      })),
    };
    expect(
      svg(allHeld, wishes["a curve of medians"] as Wish, 500).querySelectorAll('[fill="var(--paper)"]')
        .length,
    ).toBe(0);
  });
  it("draw a rate that only missed its objective hollow, too, and say so", () => {
    const all = (missed: boolean): Analysis => ({
      ...a,
      curves: (a.curves ?? []).map((c) => ({
        ...c,
        points: (c.points ?? []).map((p) => ({ ...p, held: true, missed })),
      })),
    });
    const hollow = (missed: boolean): number =>
      svg(all(missed), wishes["a curve of medians"] as Wish, 500).querySelectorAll('[fill="var(--paper)"]')
        .length;
    expect(hollow(false)).toBe(0);
    expect(hollow(true)).toBeGreaterThan(15); // every median, and every trial
    expect(unheldWords({ ...(a.curves?.[0]?.points?.[0] as CurvePoint), held: true, missed: true })).toBe(
      ", the objective was missed",
    );
  });
  it("show capacities under the time that they are about only", () => {
    const text = (capacities: boolean): string =>
      svg(a, wish({ kind: "curve", metric: "completion_time_p99", capacities }), 500).textContent ?? "";
    expect(text(true)).toContain("capacity");
    expect(text(false)).not.toContain("capacity");
  });
  it("label as many rates as there is room for", () => {
    expect(roomyTicks([20, 40, 80], [20, 80], 400)).toEqual([20, 40, 80]);
    expect(roomyTicks([20, 21, 22, 80], [20, 80], 200)).toEqual([20, 80]);
  });
  it("label round rates where capacities lie beyond all that was offered", () => {
    expect(rateTicks([50, 70], [45, 1600])).toEqual([50, 70, 100, 200, 500, 1000]);
    expect(rateTicks([50, 300], [45, 310])).toEqual([50, 300]);
  });
});

describe("spectra", () => {
  it("do not show the largest value, nor what a log axis cannot", () => {
    expect(
      places([
        { share: figure(0.5), value: figure(0) },
        { share: figure(0.75), value: figure(2) },
        { share: figure(1), value: figure(9) },
      ]),
    ).toEqual([{ rarity: 4, share: 0.75, value: 2 }]);
  });
  it.each(["staleness", "response_time"])("is described in words: %s", (quantity) => {
    const spectrum = spectraOf(loadedAnalysis(), quantity, "at-80").at(-1);
    if (!spectrum) throw new Error("async has no spectrum");
    const at = { rarity: 10, share: figure(0.9), value: figure(0.0076) };
    const words = `${spectrum.variant}, ${quantity.replace("_", " ")}: 90 % are at most 7.60 ms`;
    expect(tipText(spectrum, at, false)).toBe(words);
  });
});

describe("units", () => {
  it("have a fill each, the smallest of many a common grey, and the generator none", () => {
    const made = roleLooks(loadedAnalysis());
    expect(new Set([...made.values()].slice(0, 8).map((l) => l.colour)).size).toBe(8);
    expect([...made.values()].slice(8).map((l) => l.colour)).toEqual(["var(--p8)", "var(--p8)", "var(--p8)"]);
    expect(made.has("generator")).toBe(false);
  });
  it("add up without the generator", () => {
    const a = loadedAnalysis();
    const text = svg(a, wish({ kind: "usage", metric: "cpu" }), 900).textContent ?? "";
    const sum = (a.usages ?? [])
      .filter((u) => u.variant === "sync" && u.point.name === "at-80" && u.role !== "generator")
      .reduce((t, u) => t + u.cpu_per_operation, 0);
    expect(text).toContain(`${(sum * 1000).toPrecision(3)} ms`);
  });
});

describe("paths", () => {
  it("have known kinds first, each with its own fill", () => {
    const path = (loadedAnalysis().paths ?? []).slice(-1);
    expect(kindsIn(path)).toEqual(["business code", "transport", "queueing", "database", "broker"]);
    expect(
      new Set(
        ["business code", "encoding", "transport", "queueing", "database", "broker"].map(
          (k) => kindLook(k).colour,
        ),
      ).size,
    ).toBe(6);
    expect(kindLook("astrology").colour).toBe("var(--p8)");
  });
});

describe("a headline", () => {
  const way = (): Headline => structuredClone(headlineOf(loadedAnalysis()));
  it("begins each step where the one before ended", () => {
    const bars = way().bars ?? [];
    expect(bars.length).toBeGreaterThan(3);
    bars.slice(1, -1).forEach((b, i) => {
      const before = bars[i] as Bar;
      expect(b.begin).toBeCloseTo(before.begin * before.ratio);
    });
    const made = svg(loadedAnalysis(), wish({ kind: "headline", bars: way() }), 800);
    expect(made.querySelectorAll('[stroke-dasharray="2 2"]').length).toBe(bars.length - 2);
  });
  it("shows labels whole, however long they are and narrow the plot is", () => {
    const label = "transactions that several orders of many customers share antidisestablishmentarianism";
    const h = way();
    (h.bars ?? []).forEach((b) => (b.label = label));
    const made = svg(loadedAnalysis(), wish({ kind: "headline", bars: h }), 300);
    const shown = [...made.querySelectorAll('[font-weight="600"]')].map((t) => t.textContent).join("");
    expect(shown.replaceAll(" ", "")).toContain(label.replaceAll(" ", ""));
    expect(shown).not.toContain("…");
  });
  it("breaks lines between words where it can", () => {
    expect(linesOf("a process per component", 10)).toEqual(["a process", "per", "component"]);
    expect(linesOf("short", 24)).toEqual(["short"]);
  });
});

describe("controls", () => {
  it("move all plots of a figure to another load", () => {
    document.body.innerHTML =
      '<figure><div id="one"></div><div id="two"></div></figure><figure><div id="three"></div></figure>';
    const drawn: string[] = [];
    const filled = ["one", "two", "three"].map((id, i): Filled => {
      const f: Filled = {
        place: document.getElementById(id) as HTMLElement,
        wish: wish(i < 2 ? { kind: "spectrum", metric: "response_time" } : { kind: "drift" }),
        draw: () => drawn.push(`${id} at ${f.wish.point}`),
        forPaper: () => undefined,
      };
      return f;
    });
    addControls(document, loadedAnalysis(), filled);
    const selects = [...document.querySelectorAll("select")];
    expect(selects.length).toBe(1);
    const select = selects[0] as HTMLSelectElement;
    expect([...select.options].map((o) => o.value)).toEqual(["at-20", "at-40", "at-80", "at-160", "at-240"]);
    select.value = "at-20";
    select.dispatchEvent(new Event("change"));
    expect(drawn).toEqual(["one at at-20", "two at at-20"]);
  });
  it("are absent where nothing is to be chosen", () => {
    document.body.innerHTML = '<figure><div id="one"></div></figure>';
    const none = readDocument<Analysis>(
      '{"metrics":[],"variants":[],"points":[],"comparisons":[],"audit":{}}',
    );
    addControls(document, none, [
      {
        place: document.getElementById("one") as HTMLElement,
        wish: wish({ kind: "spectrum" }),
        draw: () => undefined,
        forPaper: () => undefined,
      },
    ]);
    expect(document.querySelector("select, input")).toBeNull();
  });
});
