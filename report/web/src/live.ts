import { drawBars } from "./bars";
import { type SecondLine, Seconds } from "./seconds";

/** The fields of a line of progress.jsonl that the page shows. */
export interface Line {
  event: string; // begin, start (of a trial), trial (has ended), look (has the headline so far), note, end
  at: string;
  trials?: number;
  done: number; // trials that are not played again
  block?: number;
  trial?: number;
  attempt?: number;
  variant?: string;
  point?: string;
  valid?: boolean;
  reason?: string;
  left_seconds?: number;
  text?: string;
  headline?: unknown;
}

const MOST_NEWS = 200;
const AGAIN = 2000; // milliseconds until the page connects again

/** A time span with few digits: 40 s, 12 min, 3.5 h. */
export function span(seconds: number): string {
  if (seconds < 100) return `${seconds.toFixed(0)} s`;
  if (seconds < 6000) return `${(seconds / 60).toFixed(0)} min`;
  return `${(seconds / 3600).toFixed(1)} h`;
}

/**
 * Describes the current trial and the time left, or the trial in which the run was stopped. Empty if the line
 * is not about that.
 */
export function nowText(line: Line, stopped = false): string {
  const left =
    line.left_seconds !== undefined && line.left_seconds > 0 ? `, about ${span(line.left_seconds)} left` : "";
  switch (line.event) {
    case "start": {
      const attempt = (line.attempt ?? 1) > 1 ? `, attempt ${line.attempt}` : "";
      const where = `${line.block}, trial ${line.trial}: ${line.variant} at ${line.point}${attempt}`;
      return stopped ? `The run was stopped in block ${where}.` : `Block ${where}${left}`;
    }
    case "end":
      return "Nothing more is played.";
  }
  return "";
}

/** The news in a line: a note, the size of the run, or a trial that does not count; empty if none. */
export function newsText(line: Line): string {
  if (line.event === "note") return line.text ?? "";
  if (line.event === "begin") {
    const trials = line.trials === 1 ? "1 trial" : `${line.trials ?? 0} trials`;
    return trials + (line.done > 0 ? `, ${line.done} done before` : "");
  }
  if (line.event !== "trial" || line.valid === true) return "";
  const where = `${line.variant} at ${line.point}, attempt ${line.attempt}`;
  return `Trial ${line.trial} does not count (${where}): ${line.reason}`;
}

/** Shows a line of progress. */
export function show(place: HTMLElement, line: Line): void {
  place.hidden = false;
  const bar = place.querySelector("progress");
  if (bar) {
    bar.max = Math.max(1, line.trials ?? 0);
    bar.value = line.done;
  }
  const done = place.querySelector(".done");
  if (done) done.textContent = `${line.done} of ${line.trials ?? 0} trials done`;
  const now = place.querySelector(".now");
  const text = nowText(line, place.dataset["state"] === "stopped");
  if (now && text !== "") now.textContent = text;
  if (line.event === "look") showBars(place, line);
  const said = newsText(line);
  const news = place.querySelector(".news");
  if (!news || said === "") return;
  const item = place.ownerDocument.createElement("li");
  item.textContent = `${line.at.slice(11, 16)} ${said}`;
  news.prepend(item);
  while (news.children.length > MOST_NEWS) news.lastElementChild?.remove();
}

/** Shows the headline over all blocks so far. */
function showBars(place: HTMLElement, line: Line): void {
  const figure = place.querySelector<HTMLElement>(".soFar");
  const bars = figure?.querySelector<HTMLElement>(".bars");
  if (!figure || !bars || place.dataset["state"] === "reported") return; // the page shows the final one
  figure.hidden = false;
  const { title } = drawBars(bars, JSON.stringify(line.headline));
  const caption = figure.querySelector("figcaption");
  if (caption) caption.textContent = `So far, after block ${line.block}: ${title}`;
}

/**
 * Follows a run: shows its progress, and loads the page again when the state of the run changes. The last two
 * parameters come from an earlier connection: `from` is the ID of its last event. `before` is the text about
 * the trial that the page showed when the server announced its end; null: it did not.
 */
export function follow(place: HTMLElement, from = "", before: string | null = null): void {
  const address = place.dataset["live"] ?? "";
  const source = new EventSource(from === "" ? address : `${address}?from=${from}`);
  let last = from;
  const now = place.querySelector(".now");
  const table = place.querySelector<HTMLTableElement>(".seconds");
  const seconds = table ? new Seconds(table) : undefined;
  source.addEventListener("second", (event) => {
    seconds?.show(JSON.parse((event as MessageEvent<string>).data) as SecondLine);
  });
  source.addEventListener("open", () => {
    seconds?.clear();
    if (now && before !== null) now.textContent = before;
    before = null;
  });
  source.addEventListener("bye", () => {
    before = now?.textContent ?? "";
    showStatus(place, "The server of this page has ended: the page continues when it is back.");
  });
  source.addEventListener("message", (event: MessageEvent<string>) => {
    last = event.lastEventId;
    const line = JSON.parse(event.data) as Line;
    show(place, line);
    if (line.event === "begin" || line.event === "start") seconds?.begin(line.trial ?? 0, line.attempt ?? 0);
  });
  source.addEventListener("state", (event) => {
    const state = (event as MessageEvent<string>).data;
    // A browser has only six connections to a server, and a run that is over sends no more events.
    if (state !== place.dataset["state"] || state === "reported") source.close();
    if (state === place.dataset["state"]) return;
    if (before !== null) {
      showStatus(
        place,
        `The run is over (${state}), and its server has ended: cleave serve shows the run again.`,
      );
      return;
    }
    const page = place.ownerDocument;
    if (isNoteOpen(page)) addReload(place);
    else page.location.reload();
  });
  source.addEventListener("error", () => {
    if (source.readyState !== EventSource.CLOSED) return; // the browser connects again by itself
    setTimeout(() => follow(place, last, before), AGAIN);
  });
}

/** Shows a text in place of the current trial. */
function showStatus(place: HTMLElement, text: string): void {
  place.hidden = false;
  const now = place.querySelector(".now");
  if (now) now.textContent = text;
}

/** Whether the user is writing tags or a note, or has not saved them yet. */
function isNoteOpen(page: Document): boolean {
  if (page.activeElement?.closest(".notes") != null) return true;
  const fields = page.querySelectorAll<HTMLInputElement | HTMLTextAreaElement>(
    ".notes input, .notes textarea",
  );
  return [...fields].some((field) => field.value !== field.defaultValue);
}

/** Shows a link that loads the page again, since that would lose an unsaved note. */
function addReload(place: HTMLElement): void {
  const link = place.ownerDocument.createElement("a");
  link.href = "";
  link.textContent = "The state of the run has changed: save your note, then load this page again.";
  place.hidden = false;
  place.querySelector(".now")?.replaceChildren(link);
}
