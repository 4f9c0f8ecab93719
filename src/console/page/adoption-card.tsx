// Adoption over time: how many devices ran which version, hour by hour, day by day or month by month.

import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import type { AdoptionStep } from '../../contract/resource.ts';
import type { AdoptionPoint } from '../api/resource.ts';
import { type AdoptionSeries, adoptionSeries, STEP_SPAN_MS } from '../format/adoption-series.ts';
import { queryText } from '../format/query-text.ts';
import { useLoad } from '../hook/use-load.ts';
import { useTheme } from '../hook/use-theme.ts';
import { Card } from '../part/card.tsx';
import { Empty } from '../part/empty.tsx';
import { LoadedView } from '../part/loaded-view.tsx';
import { AdoptionLegend } from './adoption-legend.tsx';
import { VERSION_COLORS } from './version-colors.ts';

const STEPS: readonly AdoptionStep[] = ['hour', 'day', 'month'];
const REFRESH_MS = 10_000;

/** The step stands in the address as `step`. */
export function AdoptionCard({ app }: { app: string }) {
  const { query } = useLocation();
  const step = STEPS.find((known) => known === query.step) ?? 'hour';
  const since = useMemo(() => sinceOf(step), [step]);
  const points = useLoad<{ readonly points: readonly AdoptionPoint[] }>(
    `adoption${queryText({ app, since, step })}`,
    REFRESH_MS,
  );
  return (
    <Card title="Adoption" aside={<StepSwitch step={step} query={query} />}>
      <LoadedView of={points}>
        {(found) =>
          found.points.length === 0 ? (
            <Empty title="No device was seen in this time">
              <p class="hint">Each hour counts the devices that asked, by the version they run.</p>
            </Empty>
          ) : (
            <AdoptionChart key={step} points={found.points} step={step} />
          )
        }
      </LoadedView>
    </Card>
  );
}

function StepSwitch({ step, query }: { step: AdoptionStep; query: Record<string, string> }) {
  return (
    <nav class="segments" aria-label="Time step">
      {STEPS.map((each) => (
        <a
          key={each}
          href={`${location.pathname}${queryText({ ...query, step: each })}`}
          aria-current={each === step ? 'true' : undefined}
        >
          {each}
        </a>
      ))}
    </nav>
  );
}

function AdoptionChart({ points, step }: { points: readonly AdoptionPoint[]; step: AdoptionStep }) {
  const series = useMemo(() => adoptionSeries(points), [points]);
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const [hovered, setHovered] = useState<number>();
  const toggle = (name: string) => {
    const next = new Set(hidden);
    if (!next.delete(name)) next.add(name);
    setHidden(next);
  };
  const place = usePlot(series, hidden, step, setHovered);
  return (
    <>
      <div
        class="plot"
        ref={place}
        role="img"
        aria-label="Devices over time, stacked by version; the table below has the numbers"
      />
      <AdoptionLegend
        series={series}
        hidden={hidden}
        step={step}
        index={hovered ?? series.times.length - 1}
        onToggle={toggle}
      />
    </>
  );
}

function usePlot(
  series: AdoptionSeries,
  hidden: ReadonlySet<string>,
  step: AdoptionStep,
  onHover: (index: number | undefined) => void,
) {
  const place = useRef<HTMLDivElement>(null);
  const { shown } = useTheme();
  // Again for another theme, which has other colors to draw with.
  useEffect(() => {
    let destroy: (() => void) | undefined;
    let isOver = false;
    const draw = async () => {
      const { adoptionPlot } = await import('../part/adoption-plot.ts');
      if (isOver || place.current === null) return;
      destroy = adoptionPlot(place.current, {
        series,
        hidden,
        step,
        colors: VERSION_COLORS,
        onHover,
      });
    };
    void draw();
    return () => {
      isOver = true;
      destroy?.();
    };
  }, [series, hidden, step, shown, onHover]);
  return place;
}

/** Whole hours, so that the address asked for, and with it what is kept, stays the same for a while. */
function sinceOf(step: AdoptionStep): string {
  const hour = 3_600_000;
  return new Date(Math.floor(Date.now() / hour) * hour - STEP_SPAN_MS[step]).toISOString();
}
