import type { Figure } from "./analysis";
import { SVG } from "./frame";
import { alone, quantity } from "./number";

/** The fields of a line of the file of seconds that the page shows. */
export interface SecondLine {
  at: string;
  trial: number;
  attempt: number;
  loaded?: { end: number; ok: number; failed: number; p50: number | null; p99: number | null };
  used?: { cores: Record<string, number> | null };
}

/** A point of a course: a second, or several seconds joined. */
interface Point {
  at: number; // when it ends
  value: number; // NaN: nothing was measured
  seconds: number;
}

const FINE = 300; // the last seconds, which are not joined
const COARSE = 360; // the most joined points
const FIRST_JOINED = 10; // seconds that a joined point covers at first; doubled in long trials

/** The course of a quantity in bounded memory: each of the last 300 seconds, and joined seconds before. */
export class Course {
  private fine: Point[] = [];
  private coarse: Point[] = [];
  private width = FIRST_JOINED;

  /** isTime: joined seconds have their longest time as value, otherwise their mean. */
  constructor(private readonly isTime: boolean) {}

  /** Adds a second that ended at the given time. */
  add(at: number, value: number): void {
    this.fine.push({ at, value, seconds: 1 });
    for (let first = this.fine[0]; first && first.at <= at - FINE; first = this.fine[0]) {
      this.coarse = this.joined([...this.coarse, first]);
      this.fine.shift();
    }
    while (this.coarse.length > COARSE) {
      this.width *= 2;
      this.coarse = this.joined(this.coarse);
    }
  }

  points(): Point[] {
    return [...this.coarse, ...this.fine];
  }

  /** Joins the points within each interval of `width` seconds. */
  private joined(points: Point[]): Point[] {
    const all: Point[] = [];
    for (const p of points) {
      const last = all.at(-1);
      if (last && Math.floor(last.at / this.width) === Math.floor(p.at / this.width))
        all[all.length - 1] = this.join(last, p);
      else all.push(p);
    }
    return all;
  }

  private join(a: Point, b: Point): Point {
    const seconds = a.seconds + b.seconds;
    const mean = (a.value * a.seconds + b.value * b.seconds) / seconds;
    let value = this.isTime ? Math.max(a.value, b.value) : mean;
    if (Number.isNaN(a.value) || Number.isNaN(b.value)) value = Number.isNaN(a.value) ? b.value : a.value;
    return { at: b.at, value, seconds };
  }
}

/** The line of a course as an SVG path in a box of 100 by 100, with gaps where nothing was measured. */
export function pathOf(points: Point[], most: number): string {
  const first = points[0]?.at ?? 0;
  const span = (points.at(-1)?.at ?? 0) - first || 1;
  let path = "";
  let pen = "M";
  for (const p of points) {
    if (Number.isNaN(p.value)) {
      pen = "M";
      continue;
    }
    const y = 98 - (96 * p.value) / (most || 1);
    path += `${pen}${((100 * (p.at - first)) / span).toFixed(2)} ${y.toFixed(2)}`;
    pen = "L";
  }
  return path;
}

/** A row of the table: the current value of a quantity, its highest value and its course. */
interface Row {
  unit: string;
  course: Course;
  cells: { now: HTMLElement; most: HTMLElement; path: SVGPathElement };
}

/** Shows the seconds of the current trial in a table. */
export class Seconds {
  private rows = new Map<string, Row>();
  private played = { trial: 0, attempt: 0 };
  private end = 0; // when the last second of the load ended

  constructor(private readonly table: HTMLTableElement) {}

  /** Sets the current trial. Trial 0 is a warm-up. */
  begin(trial: number, attempt: number): void {
    if (trial === this.played.trial && attempt === this.played.attempt) return;
    const place = this.table.parentElement;
    // The height stays, so that what is below does not move.
    if (place && !this.table.hidden) place.style.minHeight = `${place.offsetHeight}px`;
    this.clear();
    this.played = { trial, attempt };
  }

  /** Removes all rows. The server sends the seconds again. */
  clear(): void {
    this.rows.clear();
    this.end = 0;
    this.table.hidden = true;
    this.table.tBodies[0]?.replaceChildren();
  }

  /**
   * Shows a second unless it is of an earlier trial, whose seconds are in the file until the first second of
   * the current trial.
   */
  show(line: SecondLine): void {
    const { trial, attempt } = this.played;
    if (line.trial < trial || (line.trial === trial && line.attempt < attempt)) return;
    this.begin(line.trial, line.attempt);
    const caption = this.table.caption;
    const again = line.attempt > 1 ? `, attempt ${line.attempt}` : "";
    if (caption)
      caption.textContent =
        (line.trial > 0 ? `Trial ${line.trial}${again}` : "Warm-up") +
        ", second by second. Points before the last five minutes cover several seconds: they show means of " +
        "rates and processors, and the longest times.";
    const at = Date.parse(line.at) / 1000;
    if (line.loaded) this.showLoad(at, line.loaded);
    for (const [unit, cores] of Object.entries(line.used?.cores ?? {}).sort())
      this.add(`${unit}: processors used`, "", at, cores);
  }

  private showLoad(at: number, l: NonNullable<SecondLine["loaded"]>): void {
    const took = l.end > this.end ? l.end - this.end : l.end; // the next load of a trial begins at 0 again
    this.end = l.end;
    if (took < 0.1) return; // the last slice of a load is too short for a rate
    this.add("right answers", "1/s", at, l.ok / took);
    this.add("failed", "1/s", at, l.failed / took);
    this.add("response time, median", "s", at, l.p50 ?? NaN);
    this.add("response time, p99", "s", at, l.p99 ?? NaN);
  }

  private add(name: string, unit: string, at: number, value: number): void {
    let row = this.rows.get(name);
    if (!row) {
      row = { unit, course: new Course(unit === "s"), cells: this.addRow(name) };
      this.rows.set(name, row);
      this.table.hidden = false;
    }
    row.course.add(at, value);
    if (this.table.ownerDocument.hidden) return; // the tab is not visible
    const points = row.course.points();
    const values = points.map((p) => p.value).filter((v) => !Number.isNaN(v));
    const most = values.length > 0 ? Math.max(...values) : NaN;
    row.cells.now.textContent = quantity(alone(value as Figure), unit);
    row.cells.most.textContent = quantity(alone(most as Figure), unit);
    row.cells.path.setAttribute("d", pathOf(points, most));
  }

  private addRow(name: string): Row["cells"] {
    const page = this.table.ownerDocument;
    const row = page.createElement("tr");
    const head = page.createElement("th");
    head.scope = "row";
    head.textContent = name;
    const [now, most, course] = [
      page.createElement("td"),
      page.createElement("td"),
      page.createElement("td"),
    ];
    const svg = page.createElementNS(SVG, "svg");
    svg.setAttribute("viewBox", "0 0 100 100");
    svg.setAttribute("preserveAspectRatio", "none");
    svg.setAttribute("aria-hidden", "true"); // the numbers are beside it
    const path = page.createElementNS(SVG, "path");
    svg.append(path);
    course.append(svg);
    row.append(head, now, most, course);
    this.table.tBodies[0]?.append(row);
    return { now, most, path };
  }
}
