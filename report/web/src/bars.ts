import { type Headline, readDocument } from "./analysis";
import { type Drawing, NARROWEST, render } from "./frame";
import { headline } from "./plots/headline";
import { type History, history } from "./plots/history";

/** Draws a headline, given as JSON, into an element. */
export function drawBars(place: HTMLElement, text: string): Headline {
  const bars = readDocument<Headline>(text);
  draw(place, bars.title, (width) => headline(bars, width));
  return bars;
}

/** Draws the history of a bar of a headline, given as JSON, into an element. */
export function drawHistory(place: HTMLElement, text: string): void {
  const h = readDocument<History>(text);
  draw(place, `${h.course.bar.label} over ${h.runs.length} runs, also in the table below.`, () => history(h));
}

/** Draws into an element, as wide as it is. */
export function draw(place: HTMLElement, label: string, drawing: (width: number) => Drawing): void {
  place.hidden = false;
  const width = Math.max(NARROWEST, Math.floor(place.clientWidth));
  place.replaceChildren(render(drawing(width), width, label));
}
