// Adoption over time: how many devices ran which version, hour by hour, day by day or month by month.

import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import type { AdoptionStep } from '../../contract/resource.ts';
import type { AdoptionPoint } from '../api/resource.ts';
import { type AdoptionSeries, adoptionSeries, STEP_SPAN_MS } from '../format/adoption-series.ts';
import { queryText } from '../format/query-text.ts';
import { useLoad } from '../hook/use-load.ts';
import { useNow } from '../hook/use-now.ts';
import { useTheme } from '../hook/use-theme.ts';
import { Card } from '../part/card.tsx';
import { Empty } from '../part/empty.tsx';
import { LoadedView } from '../part/loaded-view.tsx';
import { Notice } from '../part/notice.tsx';
import { AdoptionLegend } from './adoption-legend.tsx';
import { VERSION_COLORS } from './version-colors.ts';

const STEPS: readonly AdoptionStep[] = ['hour', 'day', 'month'];
const REFRESH_MS = 10_000;

/** The step stands in the address as `step`. */
export function AdoptionCard({ app }: { app: string }) {
  const { query } = useLocation();
  const step = STEPS.find((known) => known === query.step) ?? 'hour';
  const since = sinceOf(step, useNow());
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
  const { place, isMissing } = usePlot(series, hidden, step, setHovered);
  return (
    <>
      {isMissing && <ReloadNotice />}
      <div
        class="plot"
        ref={place}
        role="img"
        aria-label="Devices over time, stacked by version; the list below has the numbers"
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

/** The chart's code is loaded when it is needed; after an update of the service it has another name. */
function ReloadNotice() {
  return (
    <Notice tone="warn">
      The chart could not be loaded; the console may have been updated.{' '}
      <button type="button" class="link" onClick={() => location.reload()}>
        Reload the page
      </button>
    </Notice>
  );
}

function usePlot(
  series: AdoptionSeries,
  hidden: ReadonlySet<string>,
  step: AdoptionStep,
  onHover: (index: number | undefined) => void,
) {
  const place = useRef<HTMLDivElement>(null);
  const [isMissing, setMissing] = useState(false);
  const { shown } = useTheme();
  // Again for another theme, which has other colors to draw with.
  useEffect(() => {
    let destroy: (() => void) | undefined;
    let isOver = false;
    const draw = async () => {
      const loaded = await import('../part/adoption-plot.ts').catch(() => undefined);
      if (isOver || place.current === null) return;
      setMissing(loaded === undefined);
      destroy = loaded?.adoptionPlot(place.current, {
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
  return { place, isMissing };
}

/** Whole hours, so that the address asked for, and with it what is kept, stays the same for a while. */
function sinceOf(step: AdoptionStep, nowMs: number): string {
  const hour = 3_600_000;
  return new Date(Math.floor(nowMs / hour) * hour - STEP_SPAN_MS[step]).toISOString();
}
