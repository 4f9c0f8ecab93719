// Adoption charts: devices per version by hour, day or month, and a release compared with the one before it
// at the same age. The drawing code is loaded on first use.

import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import type { Adoption } from '../../contract/console-fleet.ts';
import type { AdoptionStep } from '../../contract/resource.ts';
import type { ReleaseAdoption } from '../../contract/rollout-plan.ts';
import { LoadedView } from '../form/notice.tsx';
import {
  type AdoptionSeries,
  type AgeCounts,
  type AgeRow,
  adoptionSeries,
  ageRows,
  ageSeries,
  STEP_SPAN_MS,
} from '../format/adoption-series.ts';
import { queryText } from '../format/console-path.ts';
import { numberText, READER_HOURS, shareText } from '../format/figure-text.ts';
import { useLoad } from '../hook/use-load.ts';
import { Card, Empty } from '../part/card.tsx';
import { type Column, DataTable } from '../part/data-table.tsx';
import { ReloadNotice } from '../part/lazy.tsx';
import { useTheme } from '../part/theme.tsx';
import { useNow } from '../part/time.tsx';
import { versionColors } from '../part/version-colors.ts';

const STEPS: readonly AdoptionStep[] = ['hour', 'day', 'month'];
const REFRESH_MS = 10_000;

/** Card with the adoption chart of one channel or of all; `step` is a query parameter. */
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
              Each {step} counts the devices that asked, by the version they run.
            </Empty>
          ) : (
            <AdoptionChart key={step} app={app} points={found.points} step={step} />
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

function AdoptionChart({ app, points, step }: Adoption & { app: string; step: AdoptionStep }) {
  const series = useMemo(() => adoptionSeries(points), [points]);
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const [hovered, setHovered] = useState<number>();
  const toggle = (name: string) => {
    const next = new Set(hidden);
    if (!next.delete(name)) next.add(name);
    setHidden(next);
  };
  const colors = useMemo(
    () =>
      versionColors(
        app,
        series.versions.map(({ name }) => name),
      ),
    [app, series],
  );
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
 * Returns the start of the range, a whole hour, so that the request's path and cached answer stay the same.
 */
function sinceOf(step: AdoptionStep, nowMs: number): string {
  const hour = 3_600_000;
  return new Date(Math.floor(nowMs / hour) * hour - STEP_SPAN_MS[step]).toISOString();
}

const SEEN: Readonly<Record<AdoptionStep, string>> = {
  hour: 'seen',
  day: 'seen in the day',
  month: 'seen in the month',
};
const FORMATS: Readonly<Record<AdoptionStep, Intl.DateTimeFormat>> = {
  hour: new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'short', ...READER_HOURS }),
  day: new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeZone: 'UTC' }),
  month: new Intl.DateTimeFormat('en', { year: 'numeric', month: 'long', timeZone: 'UTC' }),
};

/** Legend with the numbers at the time of this `index`. */
function AdoptionLegend(props: {
  series: AdoptionSeries;
  /** Color of each version, in order. */
  colors: readonly string[];
  hidden: ReadonlySet<string>;
  step: AdoptionStep;
  index: number;
  onToggle: (name: string) => void;
}) {
  const { series, colors, hidden, step, index, onToggle } = props;
  const time = series.times[index];
  const sum = series.versions.reduce((total, { devices }) => total + (devices[index] ?? 0), 0);
  return (
    <div class="legend stack tight small">
      <p class="muted">
        {time === undefined ? '\u00a0' : FORMATS[step].format(new Date(time * 1000))}
        {step === 'hour' ? ' · ' : ' (UTC) · '}
        {time !== undefined && series.minimums.has(time) && 'at least '}
        {numberText(sum)} {SEEN[step]}
      </p>
      <ul>
        {series.versions.map(({ name, devices }, row) => (
          <li key={name}>
            <button
              type="button"
              class="line"
              aria-pressed={!hidden.has(name)}
              title={hidden.has(name) ? `Show ${name}` : `Hide ${name}`}
              onClick={() => onToggle(name)}
            >
              <span class="swatch" style={{ background: colors[row] ?? '' }} />
              <span class="code">{name}</span>
              <span class="legend-count muted digits">
                {numberText(devices[index] ?? 0)} · {shareText(devices[index] ?? 0, sum)}
              </span>
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** Card that compares two releases at the same age: both curves, and their numbers as a table. */
export function AgeCard({ adoption }: { adoption: ReleaseAdoption }) {
  const { release, before } = adoption;
  const hasBefore = before !== null && before.ages.length > 0;
  if (release.ages.length === 0 && !hasBefore) return null;
  return (
    <Card title="Adoption at the same age">
      <AgeChart adoption={adoption} />
      <p class="legend-line row small">
        <span class="line-sample" aria-hidden="true" /> <span class="code">{release.version}</span>
        {hasBefore && (
          <>
            {' '}
            <span class="line-sample dashed" aria-hidden="true" />{' '}
            <span class="code">{before.version}</span>
          </>
        )}
      </p>
      <DataTable
        caption="Devices on each release at the same age"
        rows={ageRows(adoption)}
        keyOf={({ label }) => label}
        columns={columnsOf(adoption)}
      />
      <p class="hint">
        {before === null && 'No release was published on the channel before it. '}
        {before !== null &&
          !hasBefore &&
          `No installation of ${before.version} is on record: it is too old. `}
        Devices count as for the health. Shares are of the devices that each release had reached by
        then.
      </p>
    </Card>
  );
}

function AgeChart({ adoption }: { adoption: ReleaseAdoption }) {
  const series = useMemo(() => ageSeries(adoption), [adoption]);
  const load = useCallback(async () => {
    const { agePlot } = await import('../part/chart.ts');
    return (place: HTMLElement) => agePlot(place, series);
  }, [series]);
  return (
    <Plot
      label="Share of the reached devices on it, and on the release before; the table below has the numbers"
      load={load}
      isLow
    />
  );
}

function columnsOf({ release, before }: ReleaseAdoption): readonly Column<AgeRow>[] {
  const figure = (counts: AgeCounts | null) =>
    counts === null ? (
      <span class="muted">no data</span>
    ) : (
      <>
        {shareText(counts.devices, counts.reached)}{' '}
        <span class="muted">
          {numberText(counts.devices)} of {numberText(counts.reached)}
        </span>
      </>
    );
  return [
    { label: 'Age', render: ({ label }) => label },
    { label: release.version, isNumber: true, render: (row) => figure(row.release) },
    ...(before === null
      ? []
      : [{ label: before.version, isNumber: true, render: (row: AgeRow) => figure(row.before) }]),
  ];
}

/** Draws into an element; returns the function that removes the drawing. */
type Draw = (place: HTMLElement) => () => void;

/**
 * Chart whose code `load` returns. Draws again when `load` or the theme changes. `label` says where the same
 * numbers are available as text.
 */
function Plot(props: { label: string; load: () => Promise<Draw>; isLow?: boolean }) {
  const { label, load, isLow = false } = props;
  const place = useRef<HTMLDivElement>(null);
  const [isMissing, setMissing] = useState(false);
  const { shown } = useTheme();
  useEffect(() => {
    let remove: (() => void) | undefined;
    let isOver = false;
    const draw = async () => {
      const loaded = await load().catch(() => undefined);
      if (isOver || place.current === null) return;
      setMissing(loaded === undefined);
      remove = loaded?.(place.current);
    };
    void draw();
    return () => {
      isOver = true;
      remove?.();
    };
  }, [load, shown]);
  return (
    <>
      {isMissing && <ReloadNotice what="chart" />}
      <div class={isLow ? 'plot low' : 'plot'} ref={place} role="img" aria-label={label} />
    </>
  );
}
