import * as Plot from "@observablehq/plot";
import type { Analysis, Figure } from "../analysis";
import { bottomLogAxis, type Drawing, leftLogAxis, widest } from "../frame";
import { alone, logDomain, logTicks, positive, quantity, tick } from "../number";
import { look } from "../style";

/** A figure that was published and measured here, too. */
interface Both {
  variant: string;
  published: number;
  measured: number;
  title: string;
}

/** Measured over published times per operation, with the line where they are equal. */
export function publishedAgainstMeasured(a: Analysis, width: number): Drawing {
  const both: Both[] = a.published.flatMap((f) => {
    const [published, measured] = [f.published_per_operation, f.measured_per_operation];
    if (published === null || measured === null || positive([published, measured]).length < 2) return [];
    const show = (value: Figure): string => quantity(alone(value), "s");
    const times = `published ${show(published)}, measured ${show(measured)}`;
    const title = `${f.variant} ${f.point ?? ""}, ${f.metric}: ${times}`;
    return [{ variant: f.variant, published, measured, title }];
  });
  const domain = logDomain(
    both.flatMap((b) => [b.published, b.measured]),
    1.5,
  );
  const ticks = logTicks(...domain, width > 560 ? 7 : 4);
  const format = (d: number): string => tick(d, "s");
  const names = [...new Set(both.map((b) => b.variant))];
  // The names of the publication are not variants of this study, so they have no colours.
  const looks = names.map((name, i) => ({ name, look: { ...look(i), colour: "currentColor" } }));
  return {
    legend: looks,
    options: {
      height: Math.min(380, Math.max(260, width * 0.5)),
      marginTop: 26,
      marginLeft: widest(ticks.map(format)) + 18,
      marginBottom: 40,
      x: { type: "log", domain, axis: null },
      y: { type: "log", domain, axis: null },
      marks: [
        ...bottomLogAxis(ticks, format, "published (log axis) →"),
        ...leftLogAxis(ticks, format, "↑ measured here (log axis)"),
        Plot.line(
          domain.map((d) => ({ d })),
          { x: "d", y: "d", stroke: "currentColor", strokeDasharray: "4 3" },
        ),
        ...looks.map(({ name, look: l }) =>
          Plot.dot(
            both.filter((b) => b.variant === name),
            {
              x: "published",
              y: "measured",
              symbol: l.symbol,
              r: 3.6,
              fill: "currentColor",
              fillOpacity: 0.25,
              stroke: "currentColor",
              title: "title",
              tip: true,
            },
          ),
        ),
      ],
    },
  };
}
