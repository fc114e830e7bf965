import { button } from "./download";

/** Adds a filter to each table that an element of the page names, with selects for the columns it names. */
export function addFilters(page: Document): void {
  for (const place of page.querySelectorAll<HTMLElement>("[data-filter]")) {
    const { filter = "", columns = "", most } = place.dataset;
    const table = page.getElementById(filter)?.querySelector("table");
    if (table) addFilter(place, table, columns.split(","), Number(most ?? Infinity));
  }
}

/**
 * Adds a text filter and a select per named column to a table. Columns whose head has data-each="tag"
 * hold lists of tags, with commas between them. It shows at most the given number of matching rows, and all
 * on request, because browsers take seconds to lay out thousands of rows.
 */
export function addFilter(
  place: HTMLElement,
  table: HTMLTableElement,
  columns: string[],
  most = Infinity,
): void {
  const page = place.ownerDocument;
  const rows = [...table.querySelectorAll<HTMLTableRowElement>("tbody tr")];
  const heads = [...table.querySelectorAll<HTMLElement>("thead th")];
  const search = page.createElement("input");
  search.type = "search";
  search.placeholder = "filter";
  search.setAttribute("aria-label", "filter the rows by text");
  const selects = columns.flatMap((name) => {
    const at = heads.findIndex((head) => head.textContent === name);
    if (at < 0) return [];
    const each = heads[at]?.dataset["each"];
    const valuesOf = (row: HTMLTableRowElement): string[] => {
      const text = row.cells[at]?.textContent ?? "";
      return each === undefined ? [text] : text.split(", ");
    };
    return [{ valuesOf, select: columnSelect(page, each ?? name, rows.flatMap(valuesOf)) }];
  });
  const count = page.createElement("span");
  count.setAttribute("role", "status");
  const apply = (): void => {
    const wanted = search.value.trim().toLowerCase();
    let fitting = 0;
    for (const row of rows) {
      const fits =
        (row.textContent ?? "").toLowerCase().includes(wanted) &&
        selects.every((s) => s.select.value === "" || s.valuesOf(row).includes(s.select.value));
      if (fits) fitting++;
      row.hidden = !fits || fitting > most;
    }
    all.hidden = fitting <= most;
    count.textContent =
      `${fitting} of ${rows.length}` + (fitting > most ? `, the first ${most} are shown` : "");
  };
  const all = button(page, "show all", () => {
    most = Infinity;
    apply();
  });
  const reset = button(page, "clear", () => {
    search.value = "";
    for (const s of selects) s.select.value = "";
    apply();
  });
  search.addEventListener("input", apply);
  for (const s of selects) s.select.addEventListener("change", apply);
  place.append(search, ...selects.map((s) => s.select), reset, count, all);
  apply();
}

/** A select of the values of a column, each once. */
function columnSelect(page: Document, name: string, values: string[]): HTMLSelectElement {
  const select = page.createElement("select");
  select.setAttribute("aria-label", `show only this ${name}`);
  select.append(option(page, "", `every ${name}`));
  for (const value of [...new Set(values)].filter((v) => v !== "").sort())
    select.append(option(page, value, value));
  return select;
}

/** An entry of a select. */
export function option(page: Document, value: string, text: string): HTMLOptionElement {
  const made = page.createElement("option");
  made.value = value;
  made.textContent = text;
  return made;
}
