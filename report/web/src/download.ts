import { SVG } from "./frame";

const PAINTED = ["fill", "stroke", "color"] as const;

/** The text of an SVG file, with the colours of the style sheet and a background. */
export function standalone(svg: SVGSVGElement): string {
  const copy = svg.cloneNode(true) as SVGSVGElement;
  const originals = [svg, ...svg.querySelectorAll<SVGElement>("*")];
  const copies = [copy, ...copy.querySelectorAll<SVGElement>("*")];
  originals.forEach((original, i) => {
    const target = copies[i];
    if (target) resolve(original, target);
  });
  copy.setAttribute("xmlns", SVG);
  copy.setAttribute("color", getComputedStyle(svg).color);
  const paper = svg.ownerDocument.createElementNS(SVG, "rect");
  paper.setAttribute("width", "100%");
  paper.setAttribute("height", "100%");
  paper.setAttribute("fill", getComputedStyle(svg.ownerDocument.body).backgroundColor);
  copy.prepend(paper);
  return new XMLSerializer().serializeToString(copy);
}

/** Writes the colours that an element has from variables of the style sheet into its copy. */
function resolve(original: SVGElement, copy: SVGElement): void {
  for (const name of PAINTED) {
    if (original.getAttribute(name)?.includes("var("))
      copy.setAttribute(name, getComputedStyle(original).getPropertyValue(name));
  }
}

/** A file name of characters that are safe in every file system. */
export function fileName(parts: string[], extension: string): string {
  const safe = parts
    .map((p) => p.replace(/[^A-Za-z0-9._-]+/g, "-").replace(/^[-.]+|[-.]+$/g, ""))
    .filter((p) => p !== "");
  return `${safe.join("-").slice(0, 80) || "report"}.${extension}`;
}

/** Downloads a text as a file. */
export function save(page: Document, name: string, type: string, text: string): void {
  const link = page.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  page.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** A button with a text, and an action for clicks. */
export function button(page: Document, text: string, action: () => void): HTMLButtonElement {
  const made = page.createElement("button");
  made.type = "button";
  made.textContent = text;
  made.addEventListener("click", action);
  return made;
}
