import { type Analysis, readDocument } from "./analysis";
import { draw } from "./bars";
import { course, type Followed } from "./plots/course";
import { spectrum } from "./plots/spectrum";
import { looks } from "./style";

/** Draws distributions and courses of two variants or trials, which the root holds as a small analysis. */
export function drawBeside(root: HTMLElement): void {
  const a = readDocument<Analysis>(root.dataset["beside"] ?? "");
  const all = looks(a);
  for (const place of root.querySelectorAll<HTMLElement>("[data-plot]")) {
    const { plot, metric = "", point = "", label = "" } = place.dataset;
    draw(place, label, (width) =>
      plot === "spectrum"
        ? spectrum(a, all, width, metric, point, false)
        : course(a, all, metric as Followed, point),
    );
  }
}
