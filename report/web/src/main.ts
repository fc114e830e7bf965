import { type Analysis, embeddedText, readDocument } from "./analysis";
import { addControls, type Filled } from "./controls";
import { button, fileName, save, standalone } from "./download";
import { drawing, wishOf } from "./drawings";
import { addFilters } from "./filter";
import { NARROWEST, render } from "./frame";
import { type Look, looks } from "./style";

/** The widths of plots on paper (A4 upright) in pixels: alone, and two side by side. */
const PAPER = { alone: 680, panel: 325 };

/** Draws the plot of an element, and draws it again when the width of the element changes. */
function fill(place: HTMLElement, a: Analysis, all: Map<string, Look>): Filled {
  const page = place.ownerDocument;
  const wish = wishOf(place);
  const first = { ...wish };
  let drawnAt = 0;
  const draw = (width = place.clientWidth): void => {
    drawnAt = Math.max(NARROWEST, Math.floor(width));
    place.replaceChildren(render(drawing(a, all, wish, drawnAt), drawnAt, label()));
  };
  // The label in the page describes the first plot. After a choice it is made from the wish.
  const label = (): string => {
    if (wish.metric !== first.metric) return `${wish.metric}, as ratios to ${a.baseline}.`;
    if (wish.point !== first.point)
      return `${wish.kind} of ${wish.metric} at ${wish.point}. The tables below have the same numbers.`;
    return place.dataset["label"] ?? "";
  };
  const after = page.createElement("div");
  after.className = "controls after";
  after.append(
    button(page, "Download SVG", () => {
      const svg = place.querySelector("svg");
      if (svg) save(page, fileName([a.study, place.id], "svg"), "image/svg+xml", standalone(svg));
    }),
  );
  place.after(after);
  draw();
  new ResizeObserver(() => {
    if (Math.max(NARROWEST, Math.floor(place.clientWidth)) !== drawnAt && !window.matchMedia("print").matches)
      draw();
  }).observe(place);
  window.addEventListener("afterprint", () => draw());
  const shared = place.closest(".panels") !== null && place.closest(".whole") === null;
  return { place, wish, draw: () => draw(), forPaper: () => draw(shared ? PAPER.panel : PAPER.alone) };
}

/** Adds the buttons of the page. */
function addTools(page: Document, a: Analysis, text: string): void {
  const root = page.documentElement;
  const dark = (): boolean =>
    (root.dataset["theme"] ??
      (window.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const theme = button(page, "Light or dark", () => {
    root.dataset["theme"] = dark() ? "light" : "dark";
  });
  theme.id = "theme";
  const raw = button(page, "Download the data (JSON)", () =>
    save(page, fileName([a.study, String(a.seed), "analysis"], "json"), "application/json", text),
  );
  const tables = button(page, "Open all tables", () => openAll(page));
  const handout = button(page, "Print two pages", () => printHandout(root));
  page.getElementById("tools")?.append(theme, raw, tables, handout);
}

/** Prints only the parts of the page that the style sheet marks for a handout. */
function printHandout(root: HTMLElement): void {
  root.dataset["print"] = "handout";
  window.addEventListener("afterprint", () => delete root.dataset["print"], { once: true });
  window.print();
}

function openAll(page: Document): void {
  for (const details of page.querySelectorAll("details")) details.open = true;
}

function start(page: Document): void {
  const text = embeddedText(page);
  const a = readDocument<Analysis>(text);
  const all = looks(a);
  addTools(page, a, text);
  const filled = [...page.querySelectorAll<HTMLElement>(".plot")].map((place) => fill(place, a, all));
  addControls(page, a, filled);
  window.addEventListener("beforeprint", () => {
    openAll(page);
    for (const f of filled) f.forPaper();
  });
  addFilters(page);
}

start(document);
