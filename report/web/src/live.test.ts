import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { follow, type Line, newsText, nowText, show, span } from "./live";

const line = (more: Partial<Line>): Line => ({
  event: "start",
  at: "2026-01-02T03:04:05Z",
  trials: 8,
  done: 2,
  block: 1,
  trial: 3,
  attempt: 1,
  variant: "sync",
  point: "at-80",
  ...more,
});

describe("a run that is followed", () => {
  beforeEach(() => {
    document.body.innerHTML = `<section hidden><progress></progress>
      <p class="done"></p><p class="now"></p><ul class="news"></ul></section>`;
  });

  test("says which trial is played and how long the rest takes", () => {
    expect(nowText(line({ left_seconds: 240 }))).toBe("Block 1, trial 3: sync at at-80, about 4 min left");
    expect(nowText(line({ attempt: 2 }))).toBe("Block 1, trial 3: sync at at-80, attempt 2");
    expect(nowText(line({ left_seconds: 240 }), true)).toBe(
      "The run was stopped in block 1, trial 3: sync at at-80.",
    );
    expect(nowText(line({ event: "note", text: "x" }))).toBe("");
    expect([span(40), span(720), span(12600)]).toEqual(["40 s", "12 min", "3.5 h"]);
  });

  test("says why a trial did not count, and nothing of one that does", () => {
    expect(newsText(line({ event: "trial", valid: false, reason: "worker-7 ended" }))).toBe(
      "Trial 3 does not count (sync at at-80, attempt 1): worker-7 ended",
    );
    expect(newsText(line({ event: "trial", valid: true }))).toBe("");
  });

  test("says how many trials it has", () => {
    expect(newsText(line({ event: "begin", trials: 1, done: 0 }))).toBe("1 trial");
    expect(newsText(line({ event: "begin" }))).toBe("8 trials, 2 done before");
  });

  test("shows texts as texts, keeps the trial while notes come, and forgets old news", () => {
    const place = document.querySelector("section") as HTMLElement;
    show(place, line({}));
    for (let i = 0; i < 300; i++) show(place, line({ event: "note", text: `<img src=x> ${i}` }));
    expect(place.hidden).toBe(false);
    expect(place.querySelector("progress")?.value).toBe(2);
    expect(place.querySelector(".now")?.textContent).toContain("trial 3");
    place.dataset["state"] = "stopped";
    show(place, line({ left_seconds: 240 }));
    expect(place.querySelector(".now")?.textContent).toContain("stopped in block 1");
    expect(place.querySelectorAll("img")).toHaveLength(0);
    const news = [...place.querySelectorAll("li")];
    expect(news).toHaveLength(200);
    expect(news[0]?.textContent).toBe("03:04 <img src=x> 299");
  });
});

describe("a server that ends and comes back", () => {
  /** What the page has opened, instead of connections to a server. */
  const opened: FakeSource[] = [];
  class FakeSource extends EventTarget {
    static readonly CLOSED = 2;
    readyState = 0;
    constructor(readonly address: string) {
      super();
      opened.push(this);
    }
    /** Ends the connection so that the browser does not connect again by itself. */
    fail(): void {
      this.readyState = FakeSource.CLOSED;
      this.dispatchEvent(new Event("error"));
    }
  }
  beforeEach(() => {
    vi.useFakeTimers();
    vi.stubGlobal("EventSource", FakeSource);
  });
  afterEach(() => {
    vi.useRealTimers();
    vi.unstubAllGlobals();
  });

  test("gives the text about the trial back", () => {
    document.body.innerHTML = '<section data-live="/live/x"><p class="now">Block 1, trial 3</p></section>';
    const place = document.querySelector("section") as HTMLElement;
    const now = (): string => place.querySelector(".now")?.textContent ?? "";
    follow(place);
    opened[0]?.dispatchEvent(new Event("open"));
    opened[0]?.dispatchEvent(new Event("bye"));
    expect(now()).toContain("has ended");
    opened[0]?.fail();
    vi.runAllTimers();
    expect(opened).toHaveLength(2);
    opened[1]?.dispatchEvent(new Event("open"));
    expect(now()).toBe("Block 1, trial 3");
  });
});
