import { describe, expect, it } from "vitest";
import { look, looks, lookOf, shorten } from "./style";
import { smallAnalysis } from "./fixture";

describe("looks", () => {
  it("differ for the first sixty-four things by colour or shape", () => {
    const seen = new Set(
      Array.from({ length: 64 }, (_, i) => {
        const l = look(i);
        return `${l.colour} ${l.dash} ${String(l.symbol.draw)}`;
      }),
    );
    expect(seen.size).toBe(64);
  });
  it("belong to variants in the order of the study", () => {
    const all = looks(smallAnalysis());
    expect(lookOf(all, "goroutines").colour).toBe("var(--v0)");
    expect(lookOf(all, "http-json").colour).toBe("var(--v2)");
  });
  it("shorten long labels and mark it", () => {
    expect(shorten("goroutines", 10)).toBe("goroutines");
    expect(shorten("goroutines-twin", 10)).toBe("goroutine…");
  });
});
