import { describe, expect, it } from "vitest";
import { figure, loadedAnalysis } from "./fixture";
import { render } from "./frame";
import { alone, quantity } from "./number";
import { architecture, trafficLines } from "./plots/architecture";

const texts = (svg: Element): string[] => [...svg.querySelectorAll("text")].map((t) => t.textContent ?? "");

describe("architecture", () => {
  it.each([280, 400, 680, 1000])("says what every unit costs and uses at %d pixels", (width) => {
    const a = loadedAnalysis();
    (a.pictures ?? []).forEach((p, i) => {
      const svg = render(architecture(a, width, i), width, p.variant);
      const all = texts(svg).join("\n");
      for (const part of p.parts ?? []) {
        const load = part.name === "generator";
        expect(all).toContain(load ? "load" : part.name);
        if (load) continue;
        if (part.cpu_per_operation > 0)
          expect(all).toContain(`${quantity(alone(part.cpu_per_operation), "s")} CPU`);
        if (part.peak_memory > 0) expect(all).toContain(quantity(alone(part.peak_memory), "B"));
      }
      if (p.variant === "sync") expect(all).toMatch(/2 http calls/);
      expect(svg.outerHTML).not.toContain("NaN");
      expect(svg.outerHTML).not.toContain("undefined");
    });
  });
  it("is one box for many alike", () => {
    const a = loadedAnalysis();
    a.pictures = [
      {
        variant: "big",
        point: { name: "p" },
        parts: [
          {
            name: "worker",
            units: 100,
            cpu_per_operation: figure(1e-6),
            cpu_share: figure(1),
            peak_memory: figure(0),
            links: [{ to: "worker", how: "pings" }],
          },
        ],
      },
    ];
    expect(texts(render(architecture(a, 600, 0), 600, ""))).toEqual([
      "worker × 100",
      "1.00 us CPU",
      "↻ pings",
    ]);
  });
  it("ends where units call each other in a circle", () => {
    const a = loadedAnalysis();
    const part = (name: string, to: string) => ({
      name,
      units: 1,
      cpu_per_operation: figure(0),
      cpu_share: figure(0),
      peak_memory: figure(0),
      links: [{ to }],
    });
    a.pictures = [{ variant: "v", point: { name: "p" }, parts: [part("a", "b"), part("b", "a")] }];
    expect(texts(render(architecture(a, 600, 0), 600, ""))).toContain("a");
  });
});

describe("arrows", () => {
  it("say what went over them", () => {
    expect(trafficLines({ to: "x", how: "http", traffic: { calls: figure(1) } })).toEqual(["1 http call"]);
    expect(trafficLines({ to: "x", how: "http", traffic: { calls: figure(0) } })).toEqual(["no http calls"]);
    expect(
      trafficLines({ to: "x", traffic: { "messages in": figure(2), "messages out": figure(0) } }),
    ).toEqual(["2 messages in"]);
    expect(trafficLines({ to: "x", how: "requests", traffic: { calls: figure(1) } })).toEqual([
      "1 requests call",
    ]);
    expect(trafficLines({ to: "x", how: "events" })).toEqual(["events"]);
  });
});
