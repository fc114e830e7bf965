import { describe, expect, it } from "vitest";
import { fileName, standalone } from "./download";
import { addFilter } from "./filter";

function table(): { place: HTMLElement; table: HTMLTableElement } {
  document.body.innerHTML = `<div></div><table><thead><tr><th>source</th><th>status</th></tr></thead><tbody>
    <tr><td>Table 1</td><td>raw</td></tr>
    <tr><td>Table 2</td><td>ok</td></tr>
    <tr><td>Table 3</td><td>wrong</td></tr></tbody></table>`;
  return {
    place: document.querySelector("div") as HTMLElement,
    table: document.querySelector("table") as HTMLTableElement,
  };
}

function shown(t: HTMLTableElement): string[] {
  return [...t.querySelectorAll<HTMLTableRowElement>("tbody tr")]
    .filter((r) => !r.hidden)
    .map((r) => r.cells[0]?.textContent ?? "");
}

describe("the filter", () => {
  it("finds by text and by column, and says how many", () => {
    const { place, table: t } = table();
    addFilter(place, t, ["source", "status", "no such column"]);
    expect(place.querySelectorAll("select").length).toBe(2);
    const search = place.querySelector("input") as HTMLInputElement;
    search.value = "TABLE 2";
    search.dispatchEvent(new Event("input"));
    expect(shown(t)).toEqual(["Table 2"]);
    expect(place.querySelector("[role=status]")?.textContent).toBe("1 of 3");
    (place.querySelector("button") as HTMLButtonElement).click();
    const status = place.querySelectorAll("select")[1] as HTMLSelectElement;
    status.value = "wrong";
    status.dispatchEvent(new Event("change"));
    expect(shown(t)).toEqual(["Table 3"]);
  });
});

describe("the filter of a column with lists", () => {
  it("offers each entry once, and finds rows that have it", () => {
    const { place, table: t } = table();
    const head = t.querySelectorAll("th")[1] as HTMLElement;
    head.dataset["each"] = "tag";
    const cells = [...t.querySelectorAll("tbody td:last-child")];
    ["base, v2", "", "base"].forEach((text, i) => ((cells[i] as HTMLElement).textContent = text));
    addFilter(place, t, ["status"]);
    const select = place.querySelector("select") as HTMLSelectElement;
    expect([...select.options].map((o) => o.text)).toEqual(["every tag", "base", "v2"]);
    select.value = "base";
    select.dispatchEvent(new Event("change"));
    expect(shown(t)).toEqual(["Table 1", "Table 3"]);
  });
});

describe("the filter of a long table", () => {
  it("shows the first rows that fit, says so, and shows all if asked", () => {
    const { place, table: t } = table();
    addFilter(place, t, [], 2);
    expect(shown(t)).toEqual(["Table 1", "Table 2"]);
    expect(place.querySelector("[role=status]")?.textContent).toBe("3 of 3, the first 2 are shown");
    const all = [...place.querySelectorAll("button")].at(-1) as HTMLButtonElement;
    all.click();
    expect(shown(t)).toHaveLength(3);
    expect(all.hidden).toBe(true);
  });
});

describe("downloads", () => {
  it("have names that no file system mistakes", () => {
    expect(fileName(["../../etc/passwd", "plot-forest"], "svg")).toBe("etc-passwd-plot-forest.svg");
    expect(fileName(["<img src=x>", ""], "json")).toBe("img-src-x.json");
    expect(fileName([""], "json")).toBe("report.json");
  });
  it("stand alone: no custom property is left and the text is escaped", () => {
    const drawn = `<circle fill="var(--v0)"></circle><text></text>`;
    document.body.innerHTML = `<svg xmlns="http://www.w3.org/2000/svg">${drawn}</svg>`;
    const svg = document.querySelector("svg") as SVGSVGElement;
    (svg.querySelector("text") as SVGTextElement).textContent = "</svg><script>";
    const file = standalone(svg);
    expect(file).not.toContain("var(");
    expect(file).not.toContain("<script>");
  });
});
