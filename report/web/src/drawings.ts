import { type Analysis, findMetric, headline } from "./analysis";
import type { Drawing } from "./frame";
import { architecture } from "./plots/architecture";
import { layerBars, meanPaths, type UsageKind, usageBars } from "./plots/bars";
import { costByPoint, ratiosByPoint } from "./plots/bypoint";
import { course, type Followed } from "./plots/course";
import { curve, throughput } from "./plots/curve";
import { drift } from "./plots/drift";
import { forest } from "./plots/forest";
import { ladder } from "./plots/ladder";
import { path } from "./plots/path";
import { publishedAgainstMeasured } from "./plots/published";
import { spectrum } from "./plots/spectrum";
import { trend } from "./plots/trend";
import { waterfall } from "./plots/waterfall";
import type { Look } from "./style";

/** What a place of the page asks for; the reader may change metric, point and uncorrected. */
export interface Wish {
  kind: string;
  index: number;
  metric: string;
  point: string;
  limit: number;
  uncorrected: boolean;
}

/** The costs per operation that are metrics of this study, in the order of their places on the page. */
function costs(a: Analysis): string[] {
  return ["cpu", "elapsed"].flatMap((quantity) => findMetric(a, quantity, 0, "operation")?.name ?? []);
}

/** Reads what a place of the page asks for. */
export function wishOf(place: HTMLElement, a: Analysis): Wish {
  const { plot, index, metric, point, limit } = place.dataset;
  return {
    kind: plot ?? "",
    index: Number(index ?? 0),
    metric: metric ?? headline(a).name,
    point: point ?? "",
    limit: Number(limit ?? 0),
    uncorrected: false,
  };
}

/** Draws a wish at a width. */
export function drawing(a: Analysis, looks: Map<string, Look>, wish: Wish, width: number): Drawing {
  switch (wish.kind) {
    case "forest":
      return forest(a, looks, width, wish.metric);
    case "ladder":
      return ladder(a, looks, width);
    case "points":
      return ratiosByPoint(a, looks, width);
    case "trend":
      return trend(a, looks, wish.index);
    case "cost":
      return costByPoint(a, looks, width, costs(a)[wish.index] ?? "");
    case "published":
      return publishedAgainstMeasured(a, width);
    case "drift":
      return drift(a, looks, width);
    case "curve":
      return curve(a, looks, width, wish.metric, wish.limit);
    case "throughput":
    case "share":
      return throughput(a, looks, wish.metric);
    case "spectrum":
      return spectrum(a, looks, width, wish.metric, wish.point, wish.uncorrected);
    case "course":
      return course(a, looks, wish.metric as Followed, wish.point);
    case "waterfall":
      return waterfall(a, width, wish.index);
    case "architecture":
      return architecture(a, width, wish.index);
    case "path":
      return path(a, width, wish.index);
    case "path-mean":
      return meanPaths(a, width, wish.point);
    case "layers":
      return layerBars(a, width, wish.point);
    case "usage":
      return usageBars(a, width, wish.metric as UsageKind, wish.point);
    default:
      throw new Error(`no drawing is called "${wish.kind}"`);
  }
}
