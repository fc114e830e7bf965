import * as Plot from "@observablehq/plot";
import { type Analysis, type Figure, type Quantile, type Spectrum, comparedVariants } from "../analysis";
import { bottomLogAxis, type Drawing, leftLogAxis, widest } from "../frame";
import { alone, logDomain, logTicks, percent, positive, quantity, tick } from "../number";
import { type Look, lookOf } from "../style";

/** A point of a spectrum: rarity is 1/(1 - share). */
interface At {
  rarity: number;
  share: Figure;
  value: Figure;
}

const TIMES = ["response_time", "completion_time"];
const LABELLED = [0, 0.5, 0.9, 0.99, 0.999, 0.9999] as Figure[];

/** The quantiles that a log axis of rarity can show: all but the largest value, whose rarity is infinite. */
export function places(quantiles: Quantile[] | null): At[] {
  return (quantiles ?? [])
    .filter((q) => q.share < 1 && positive([q.value]).length === 1)
    .map((q) => ({ rarity: 1 / (1 - q.share), share: q.share, value: q.value }));
}

/** The spectra of a quantity at a point, in the order of the variants. */
export function spectraOf(a: Analysis, of: string, point: string): Spectrum[] {
  const found = (a.spectra ?? []).filter((s) => s.quantity === of && s.point.name === point);
  return comparedVariants(a).flatMap((v) => found.filter((s) => s.variant === v));
}

/** Distributions at a point: thin lines are trials, thick lines their medians. */
export function spectrum(
  a: Analysis,
  looks: Map<string, Look>,
  width: number,
  of: string,
  point: string,
  uncorrected: boolean,
): Drawing {
  const spectra = spectraOf(a, of, point);
  const service = uncorrected ? spectraOf(a, "service_time", point) : [];
  // Response and completion times have the same axis, so that they can be compared side by side.
  const akin = TIMES.includes(of) ? TIMES.flatMap((quantity) => spectraOf(a, quantity, point)) : spectra;
  const all = [...akin, ...service].flatMap((s) => [s.median, ...(s.trials ?? [])].flatMap(places));
  const domain = logDomain(
    all.map((p) => p.value),
    1.2,
  );
  const rarest = Math.max(10, ...all.map((p) => p.rarity));
  const ticks = logTicks(...domain, 7);
  const format = (d: number): string => tick(d, "s");
  const shares = LABELLED.filter((s) => 1 / (1 - s) <= rarest * 1.001 && (width > 480 || s !== 0.5));
  const byRarity = new Map(shares.map((s) => [1 / (1 - s), percent(s, 6)]));
  return {
    legend: [
      ...spectra.map((s) => ({ name: s.variant, look: lookOf(looks, s.variant) })),
      ...(service.length > 0
        ? [
            {
              name: "hollow, thin: service time (uncorrected)",
              look: { ...lookOf(looks, ""), colour: "currentColor" },
              hollow: true,
            },
          ]
        : []),
    ],
    options: {
      height: 320,
      marginTop: 26,
      marginLeft: widest(ticks.map(format)) + 18,
      marginRight: 26,
      marginBottom: 40,
      x: { type: "log", domain: [1, rarest], axis: null },
      y: { type: "log", domain, axis: null },
      marks: [
        ...bottomLogAxis(
          [...byRarity.keys()],
          (d) => byRarity.get(d) ?? "",
          `share of all (axis: 1/(1 - share), log) →`,
        ),
        ...leftLogAxis(ticks, format, "↑ at most (log axis)"),
        ...spectra.flatMap((s) => spectrumMarks(s, lookOf(looks, s.variant), false)),
        ...service.flatMap((s) => spectrumMarks(s, lookOf(looks, s.variant), true)),
      ],
    },
  };
}

/** Words about a point of a spectrum: "sync, response time: 99 % are at most 7.6 ms". */
export function tipText(s: Spectrum, p: At, uncorrected: boolean): string {
  const what = uncorrected ? "service time (uncorrected)" : s.quantity.replaceAll("_", " ");
  return `${s.variant}, ${what}: ${percent(p.share, 6)} are at most ${quantity(alone(p.value), "s")}`;
}

function spectrumMarks(s: Spectrum, look: Look, thin: boolean): Plot.Markish[] {
  const middle = places(s.median);
  const named = middle.filter((p) => LABELLED.includes(p.share) && p.share > 0);
  const line = { x: "rarity", y: "value", stroke: look.colour };
  return [
    ...(thin
      ? []
      : (s.trials ?? []).map((t) =>
          Plot.line(places(t), { ...line, strokeWidth: 0.8, strokeOpacity: 0.35 }),
        )),
    Plot.line(middle, { ...line, strokeWidth: thin ? 1 : 2.2, strokeDasharray: thin ? "2 2" : look.dash }),
    Plot.dot(named, {
      x: "rarity",
      y: "value",
      symbol: look.symbol,
      r: thin ? 3 : 4,
      fill: thin ? "var(--paper)" : look.colour,
      stroke: look.colour,
      title: (p: At) => tipText(s, p, thin),
      tip: true,
    }),
  ];
}
