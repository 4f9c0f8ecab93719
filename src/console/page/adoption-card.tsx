// Adoption over time: number of devices per version, by hour, day or month.

import { useCallback, useMemo, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import type { Adoption } from '../../contract/console-fleet.ts';
import type { AdoptionStep } from '../../contract/resource.ts';
import { adoptionSeries, STEP_SPAN_MS } from '../format/adoption-series.ts';
import { queryText } from '../format/console-path.ts';
import { useLoad } from '../hook/use-load.ts';
import { Card, Empty } from '../part/card.tsx';
import { LoadedView } from '../part/notice.tsx';
import { Plot } from '../part/plot.tsx';
import { useNow } from '../part/time.tsx';
import { AdoptionLegend } from './adoption-legend.tsx';
import { versionColors } from './version-colors.ts';

const STEPS: readonly AdoptionStep[] = ['hour', 'day', 'month'];
const REFRESH_MS = 10_000;

/** Card with the adoption chart of one channel or of all; the step is the query parameter `step`. */
export function AdoptionCard({ app, channel }: { app: string; channel: string | undefined }) {
  const { query } = useLocation();
  const step = STEPS.find((known) => known === query.step) ?? 'hour';
  const since = sinceOf(step, useNow());
  const points = useLoad(`adoption${queryText({ app, channel, since, step })}`, REFRESH_MS);
  return (
    <Card title="Adoption" aside={<StepSwitch step={step} query={query} />}>
      <LoadedView of={points}>
        {(found) =>
          found.points.length === 0 ? (
            <Empty title="No device was seen in this time">
              <p class="hint">
                Each {step} counts the devices that asked, by the version they run.
              </p>
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

function AdoptionChart({ points, step }: Adoption & { step: AdoptionStep }) {
  const series = useMemo(() => adoptionSeries(points), [points]);
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const [hovered, setHovered] = useState<number>();
  const toggle = (name: string) => {
    const next = new Set(hidden);
    if (!next.delete(name)) next.add(name);
    setHidden(next);
  };
  const colors = useMemo(() => versionColors(series.versions.map(({ name }) => name)), [series]);
  const load = useCallback(async () => {
    const { adoptionPlot } = await import('../part/chart.ts');
    return (place: HTMLElement) =>
      adoptionPlot(place, { series, colors, hidden, step, onHover: setHovered });
  }, [series, colors, hidden, step]);
  return (
    <>
      <Plot
        label="Devices over time, stacked by version; the list below has the numbers"
        load={load}
      />
      <AdoptionLegend
        series={series}
        colors={colors}
        hidden={hidden}
        step={step}
        index={hovered ?? series.times.length - 1}
        onToggle={toggle}
      />
    </>
  );
}

/**
 * Rounds to whole hours, so that the request path, and with it the cached answer, stays the same for a while.
 */
function sinceOf(step: AdoptionStep, nowMs: number): string {
  const hour = 3_600_000;
  return new Date(Math.floor(nowMs / hour) * hour - STEP_SPAN_MS[step]).toISOString();
}
