import { type Analysis, type Headline, readDocument } from "./analysis";
import type { Drawing } from "./frame";
import { architecture } from "./plots/architecture";
import { layerBars, meanPaths, type UsageKind, usageBars } from "./plots/bars";
import { costByPoint, ratiosByPoint } from "./plots/bypoint";
import { course, type Followed } from "./plots/course";
import { curve, throughput } from "./plots/curve";
import { drift } from "./plots/drift";
import { forest } from "./plots/forest";
import { headline } from "./plots/headline";
import { ladder } from "./plots/ladder";
import { path } from "./plots/path";
import { publishedAgainstMeasured } from "./plots/published";
import { scaling } from "./plots/scaling";
import { spectrum } from "./plots/spectrum";
import { trend } from "./plots/trend";
import type { Look } from "./style";

/**
 * The plot that an element asks for (type plot in report/sections.go). Each kind uses some of the fields.
 * Controls may change metric, point and uncorrected.
 */
export interface Wish {
  kind: string;
  /** The index of the drawn element in its list of the analysis. */
  index: number;
  metric: string;
  point: string;
  /** The objective that a curve shows as a dashed line, in the unit of the metric; 0: none. */
  limit: number;
  /** Whether a spectrum shows the service time, too, which leaves out the wait before a late send. */
  uncorrected: boolean;
  /** Whether a curve shows the capacities below it. */
  capacities?: boolean;
  /** The headline that is drawn. */
  bars?: Headline | undefined;
}

/** Reads the wish of an element. */
export function wishOf(place: HTMLElement): Wish {
  const { plot, index, metric, point, limit, capacities, bars } = place.dataset;
  return {
    kind: plot ?? "",
    index: Number(index ?? 0),
    metric: metric ?? "",
    point: point ?? "",
    limit: Number(limit ?? 0),
    uncorrected: false,
    capacities: capacities !== undefined,
    bars: bars === undefined ? undefined : readDocument<Headline>(bars),
  };
}

/** The drawing of a wish at a width. */
export function drawing(a: Analysis, looks: Map<string, Look>, wish: Wish, width: number): Drawing {
  switch (wish.kind) {
    case "forest":
      return forest(a, looks, width, wish.metric);
    case "ladder":
      return ladder(a, looks, width);
    case "points":
      return ratiosByPoint(a, looks, width, wish.metric);
    case "trend":
      return trend(a, looks, wish.index);
    case "scaling":
      return scaling(a, looks, wish.index);
    case "cost":
      return costByPoint(a, looks, width, wish.metric);
    case "published":
      return publishedAgainstMeasured(a, width);
    case "drift":
      return drift(a, looks, width, wish.metric);
    case "curve":
      return curve(a, looks, width, wish.metric, wish.limit, wish.capacities);
    case "throughput":
    case "share": // drawn alike, but without the line of the offered rate
      return throughput(a, looks, wish.metric);
    case "spectrum":
      return spectrum(a, looks, width, wish.metric, wish.point, wish.uncorrected);
    case "course":
      return course(a, looks, wish.metric as Followed, wish.point);
    case "headline":
      return headline(wish.bars, width);
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
      throw new Error(`there is no drawing "${wish.kind}"`);
  }
}
