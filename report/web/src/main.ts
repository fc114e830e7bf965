import { type Analysis, embeddedText, headline, ratiosToBaseline, readAnalysis } from "./analysis";
import { button, fileName, save, standalone } from "./download";
import { addFilter, option } from "./filter";
import { type Drawing, render } from "./frame";
import { costByPoint, ratiosByPoint } from "./plots/bypoint";
import { drift } from "./plots/drift";
import { forest } from "./plots/forest";
import { ladder } from "./plots/ladder";
import { publishedAgainstMeasured } from "./plots/published";
import { trend } from "./plots/trend";
import { type Look, looks } from "./style";

const COSTS = ["cpu_per_operation", "elapsed_per_operation"];
const NARROWEST = 280;

/** The costs per operation that are metrics of this study, in the order of their places on the page. */
function costs(a: Analysis): string[] {
  return COSTS.filter((name) => a.metrics.some((m) => m.name === name));
}

/** Draws one kind of plot at a width. */
type Draw = (width: number) => Drawing;

function drawer(a: Analysis, all: Map<string, Look>, kind: string, index: number, metric: string): Draw {
  switch (kind) {
    case "forest":
      return (width) => forest(a, all, width, metric);
    case "ladder":
      return (width) => ladder(a, all, width);
    case "points":
      return (width) => ratiosByPoint(a, all, width);
    case "trend":
      return () => trend(a, all, index);
    case "cost":
      return (width) => costByPoint(a, all, width, costs(a)[index] ?? "cpu_per_operation");
    case "published":
      return (width) => publishedAgainstMeasured(a, width);
    case "drift":
      return (width) => drift(a, all, width);
    default:
      throw new Error(`no drawing is called "${kind}"`);
  }
}

/** Widths on paper (A4 upright) in pixels: a plot of its own, and one of two side by side. */
const PAPER = { alone: 680, panel: 325 };

/** Fills one place of the page and keeps it as wide as its column. Returns how to draw it for paper. */
function fill(place: HTMLElement, a: Analysis, all: Map<string, Look>): () => void {
  const page = place.ownerDocument;
  const label = place.dataset["label"] ?? "";
  let metric = headline(a).name;
  let drawnAt = 0;
  const draw = (width = place.clientWidth): void => {
    drawnAt = Math.max(NARROWEST, Math.floor(width));
    const make = drawer(a, all, place.dataset["plot"] ?? "", Number(place.dataset["index"] ?? 0), metric);
    const text = metric === headline(a).name ? label : `${metric}, as ratios to ${a.baseline}.`;
    place.replaceChildren(render(make(drawnAt), drawnAt, text));
  };
  const after = page.createElement("div");
  after.className = "controls after";
  after.append(button(page, "Download SVG", () => {
    const svg = place.querySelector("svg");
    if (svg) save(page, fileName([a.study, place.id], "svg"), "image/svg+xml", standalone(svg));
  }));
  place.after(after);
  if (place.dataset["plot"] === "forest") {
    place.before(metricSelect(page, a, metric, (chosen) => {
      metric = chosen;
      draw();
    }));
  }
  draw();
  new ResizeObserver(() => {
    if (Math.max(NARROWEST, Math.floor(place.clientWidth)) !== drawnAt && !window.matchMedia("print").matches) draw();
  }).observe(place);
  window.addEventListener("afterprint", () => draw());
  return () => draw(place.closest(".panels") ? PAPER.panel : PAPER.alone);
}

function metricSelect(page: Document, a: Analysis, chosen: string, use: (metric: string) => void): HTMLElement {
  const controls = page.createElement("div");
  controls.className = "controls";
  const select = page.createElement("select");
  for (const m of a.metrics.filter((x) => ratiosToBaseline(a, x.name).length > 0)) select.append(option(page, m.name, m.title));
  select.value = chosen;
  select.addEventListener("change", () => use(select.value));
  const label = page.createElement("label");
  label.append("Metric ", select);
  controls.append(label);
  return controls;
}

/** The buttons of the page: theme, raw data, tables. */
function addTools(page: Document, a: Analysis, text: string): void {
  const root = page.documentElement;
  const dark = (): boolean => (root.dataset["theme"] ?? (window.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const theme = button(page, "Light or dark", () => {
    root.dataset["theme"] = dark() ? "light" : "dark";
  });
  theme.id = "theme";
  const raw = button(page, "Download the data (JSON)", () => save(page, fileName([a.study, String(a.seed), "analysis"], "json"), "application/json", text));
  const tables = button(page, "Open all tables", () => openAll(page));
  page.getElementById("tools")?.append(theme, raw, tables);
}

function openAll(page: Document): void {
  for (const details of page.querySelectorAll("details")) details.open = true;
}

function start(page: Document): void {
  const text = embeddedText(page);
  const a = readAnalysis(text);
  const all = looks(a);
  addTools(page, a, text);
  const forPaper = [...page.querySelectorAll<HTMLElement>(".plot")].map((place) => fill(place, a, all));
  window.addEventListener("beforeprint", () => {
    openAll(page);
    for (const draw of forPaper) draw();
  });
  for (const place of page.querySelectorAll<HTMLElement>("[data-filter]")) {
    const table = page.getElementById(place.dataset["filter"] ?? "")?.querySelector("table");
    if (table) addFilter(place, table, ["source", "status"]);
  }
}

start(document);
