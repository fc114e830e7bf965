import { addFilter } from "./filter";
import { follow } from "./live";

// How many runs the list shows at first, as pages/list.html does.
const mostRuns = 200;

/** Puts the filter over the list of runs, and follows the run that the page is about. */
function start(page: Document): void {
  for (const place of page.querySelectorAll<HTMLElement>("[data-filter]")) {
    const table = page.getElementById(place.dataset["filter"] ?? "")?.querySelector("table");
    if (table) addFilter(place, table, ["study", "state", "tags"], mostRuns);
  }
  for (const place of page.querySelectorAll<HTMLElement>("[data-live]")) follow(place);
}

start(document);
