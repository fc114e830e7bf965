import { drawBars, drawHistory } from "./bars";
import { drawBeside } from "./beside";
import { addFilters } from "./filter";
import { follow } from "./live";

/** Adds filters to tables, draws the plots of the page, and follows the run of the page. */
function start(page: Document): void {
  addFilters(page);
  for (const place of page.querySelectorAll<HTMLElement>("[data-bars]")) {
    drawBars(place, place.dataset["bars"] ?? "");
    place.nextElementSibling?.classList.add("unseen"); // the list of the same bars
  }
  for (const place of page.querySelectorAll<HTMLElement>("[data-history]"))
    drawHistory(place, place.dataset["history"] ?? "");
  for (const place of page.querySelectorAll<HTMLElement>("[data-beside]")) drawBeside(place);
  for (const place of page.querySelectorAll<HTMLElement>("[data-live]")) follow(place);
}

start(document);
