import { type Analysis, pointsOf, ratiosToBaseline } from "./analysis";
import { option } from "./filter";
import type { Wish } from "./drawings";

/** An element with a plot, and how to draw the plot again. */
export interface Filled {
  place: HTMLElement;
  wish: Wish;
  draw: () => void;
  /** Draws at the width that the element has on paper. */
  forPaper: () => void;
}

/** A row of controls. */
function controls(page: Document, ...children: HTMLElement[]): HTMLElement {
  const made = page.createElement("div");
  made.className = "controls";
  made.append(...children);
  return made;
}

/** A select with a label; use gets the chosen value. */
function select(
  page: Document,
  name: string,
  choices: [string, string][],
  chosen: string,
  use: (value: string) => void,
): HTMLElement {
  const made = page.createElement("select");
  for (const [value, text] of choices) made.append(option(page, value, text));
  made.value = chosen;
  made.addEventListener("change", () => use(made.value));
  const label = page.createElement("label");
  label.append(`${name} `, made);
  return label;
}

/** A select for the metric of the ratios. */
function metricSelect(filled: Filled, a: Analysis): HTMLElement {
  const choices = a.metrics
    .filter((m) => ratiosToBaseline(a, m.name).length > 0)
    .map((m): [string, string] => [m.name, m.title]);
  return select(filled.place.ownerDocument, "Metric", choices, filled.wish.metric, (value) => {
    filled.wish.metric = value;
    filled.draw();
  });
}

/** A checkbox that adds the service time to the plot of the response time. */
function uncorrectedBox(filled: Filled): HTMLElement {
  const page = filled.place.ownerDocument;
  const box = page.createElement("input");
  box.type = "checkbox";
  box.addEventListener("change", () => {
    filled.wish.uncorrected = box.checked;
    filled.draw();
  });
  const label = page.createElement("label");
  label.append(box, " with the service time (uncorrected)");
  return label;
}

/** A select for the load of all plots of a figure that show a single load. */
function pointSelect(own: Filled[], points: string[]): HTMLElement {
  const page = (own[0] as Filled).place.ownerDocument;
  return select(
    page,
    "Load",
    points.map((p) => [p, p]),
    own[0]?.wish.point ?? "",
    (value) => {
      for (const filled of own) {
        filled.wish.point = value;
        filled.draw();
      }
    },
  );
}

/** Adds controls above the plots of ratios, and above the figures with distributions or usages. */
export function addControls(page: Document, a: Analysis, all: Filled[]): void {
  for (const filled of all) {
    if (filled.wish.kind === "forest") filled.place.before(controls(page, metricSelect(filled, a)));
  }
  for (const figure of page.querySelectorAll("figure")) {
    const made = figureControls(
      a,
      all.filter((f) => figure.contains(f.place)),
    );
    if (made.length > 0) figure.prepend(controls(page, ...made));
  }
}

/** The controls of a figure: the load of its plots, and the service time beside the response time. */
function figureControls(a: Analysis, own: Filled[]): HTMLElement[] {
  const spectra = own.filter((f) => f.wish.kind === "spectrum");
  const usages = own.filter((f) => f.wish.kind === "usage");
  const made: HTMLElement[] = [];
  const points = pointsOf(a, [
    ...(a.spectra ?? []).filter((s) => spectra.some((f) => f.wish.metric === s.quantity)),
    ...(usages.length > 0 ? (a.usages ?? []) : []),
  ]);
  if (points.length > 1) made.push(pointSelect([...spectra, ...usages], points));
  const response = spectra.find((f) => f.wish.metric === "response_time");
  if (response && (a.spectra ?? []).some((s) => s.quantity === "service_time"))
    made.push(uncorrectedBox(response));
  return made;
}
