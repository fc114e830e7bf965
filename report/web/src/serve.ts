import { addFilter } from "./filter";

/** Puts the filter over the list of runs. */
function start(page: Document): void {
  for (const place of page.querySelectorAll<HTMLElement>("[data-filter]")) {
    const table = page.getElementById(place.dataset["filter"] ?? "")?.querySelector("table");
    if (table) addFilter(place, table, ["study", "state", "tags"]);
  }
}

start(document);
