// Charts, loaded on first use: adoption over time as bars stacked by version, and two releases at the same
// age as lines.

import uPlot from 'uplot';
import type { AdoptionStep } from '../../contract/resource.ts';
import {
  type AdoptionSeries,
  type AgeSeries,
  ageText,
  stackedRows,
} from '../format/adoption-series.ts';
import { percentText, READER_HOURS } from '../format/figure-text.ts';
import 'uplot/dist/uPlot.min.css';

export type PlotOptions = {
  readonly series: AdoptionSeries;
  readonly hidden: ReadonlySet<string>;
  readonly step: AdoptionStep;
  readonly colors: readonly string[];
  /** Called with the index of the time under the pointer; undefined when the pointer has left. */
  readonly onHover: (index: number | undefined) => void;
};

const BARS_HEIGHT_PX = 280;
const BAR_SHARE = 0.86;
const BAR_WIDTH_MAX_PX = 64;
const BARS_AXIS_WIDTH_PX = 56;
const COUNT = new Intl.NumberFormat('en', { notation: 'compact' });

/** Draws the chart into the element; returns a function that removes it. */
export function adoptionPlot(place: HTMLElement, options: PlotOptions): () => void {
  const { series, hidden } = options;
  // Drawn from the top of the stack down: each bar starts at zero, and the next one covers its lower part.
  const rows = stackedRows(series, hidden).reverse();
  return fittedPlot(place, settings(place, options), [[...series.times], ...rows]);
}

function settings(
  place: HTMLElement,
  { series, step, colors, onHover }: PlotOptions,
): Omit<uPlot.Options, 'width'> {
  const bars = uPlot.paths.bars?.({ size: [BAR_SHARE, BAR_WIDTH_MAX_PX] });
  const drawn = series.versions
    .map(({ name }, index) => ({
      label: name,
      fill: colors[index] ?? '',
      width: 0,
      points: { show: false },
      ...(bars === undefined ? {} : { paths: bars }),
    }))
    .reverse();
  const axis = axisLook(place);
  return {
    height: BARS_HEIGHT_PX,
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
    scales: {
      x: { time: true, range: () => paddedRange(series.times, step) },
      y: { range: (_plot, _min, max) => [0, Math.max(4, (max ?? 0) * 1.08)] },
    },
    // Days and months are in UTC, hours in the reader's zone.
    ...(step === 'hour'
      ? {}
      : { tzDate: (seconds: number) => uPlot.tzDate(new Date(seconds * 1000), 'Etc/UTC') }),
    axes: [
      {
        ...axis,
        space: 72,
        values: (_plot, ticks) => ticks.map((tick) => tickText(new Date(tick * 1000), step)),
      },
      {
        ...axis,
        size: BARS_AXIS_WIDTH_PX,
        values: (_plot, ticks) =>
          ticks.map((tick) => (Number.isInteger(tick) ? COUNT.format(tick) : '')),
      },
    ],
    series: [{}, ...drawn],
    hooks: { setCursor: [({ cursor }) => onHover(cursor.idx ?? undefined)] },
  };
}

const CLOCK = new Intl.DateTimeFormat('en', {
  ...{ hour: 'numeric', minute: '2-digit', ...READER_HOURS },
});
const LOCAL_DAY = new Intl.DateTimeFormat('en', { month: 'short', day: 'numeric' });
const DAY = new Intl.DateTimeFormat('en', { month: 'short', day: 'numeric', timeZone: 'UTC' });
const MONTH = new Intl.DateTimeFormat('en', {
  year: 'numeric',
  month: 'short',
  timeZone: 'UTC',
});

/** Formats an hourly tick as the time of day, or as the date at midnight. */
function tickText(at: Date, step: AdoptionStep): string {
  if (step === 'month') return MONTH.format(at);
  if (step === 'day') return DAY.format(at);
  return at.getHours() === 0 && at.getMinutes() === 0 ? LOCAL_DAY.format(at) : CLOCK.format(at);
}

const STEP_SECONDS: Readonly<Record<AdoptionStep, number>> = {
  hour: 3600,
  day: 86_400,
  month: 30 * 86_400,
};

/** Returns the range of the time axis: half a bar of padding, and at least a few bars wide. */
function paddedRange(times: readonly number[], step: AdoptionStep): [number, number] {
  const seconds = STEP_SECONDS[step];
  const [min = 0] = times;
  const max = times.at(-1) ?? 0;
  const missing = Math.max(0, 12 * seconds - (max - min));
  return [min - missing - seconds * 0.6, max + seconds * 0.6];
}

const LINES_HEIGHT_PX = 200;
const LINES_AXIS_WIDTH_PX = 48;
/** Distances between ticks, in hours: whole days or common parts of one. */
const TICK_HOURS = [1, 2, 3, 6, 12, 24, 48, 72, 168, 336, 720];

/** Draws the chart into the element; returns a function that removes it. */
export function agePlot(place: HTMLElement, { hours, release, before }: AgeSeries): () => void {
  const axis = axisLook(place);
  const lines = [
    { label: 'release', width: 2.5, stroke: resolvedColor(place, '--accent') },
    { label: 'before', width: 2, stroke: resolvedColor(place, '--muted'), dash: [6, 4] },
  ];
  const options: Omit<uPlot.Options, 'width'> = {
    height: LINES_HEIGHT_PX,
    legend: { show: false },
    cursor: { show: false },
    scales: {
      x: { time: false, range: (_plot, min, max) => [Math.min(min, 0), Math.max(max, 1)] },
      y: { range: (_plot, _min, max) => [0, Math.max(1, (max ?? 0) * 1.08)] },
    },
    axes: [
      { ...axis, space: 56, incrs: TICK_HOURS, values: (_plot, ticks) => ticks.map(ageText) },
      {
        ...axis,
        size: LINES_AXIS_WIDTH_PX,
        values: (_plot, ticks) => ticks.map(percentText),
      },
    ],
    series: [{}, ...lines.map((line) => ({ ...line, points: { show: false } }))],
  };
  return fittedPlot(place, options, [[...hours], [...release], [...before]]);
}

/** Returns the look of an axis with resolved colors, because a canvas ignores CSS variables. */
function axisLook(place: HTMLElement): uPlot.Axis {
  const text = resolvedColor(place, '--muted');
  const line = resolvedColor(place, '--line');
  return {
    stroke: text,
    font: '11px system-ui, sans-serif',
    grid: { stroke: line, width: 1 },
    ticks: { stroke: line, width: 1, size: 4 },
  };
}

/** Returns the present color of a CSS variable, such as `--muted`, at an element. */
function resolvedColor(place: HTMLElement, property: string): string {
  const probe = document.createElement('span');
  probe.style.color = `var(${property})`;
  place.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

const WIDTH_MIN_PX = 200;

/** Draws in the element's full width; returns a function that removes the chart. */
function fittedPlot(
  place: HTMLElement,
  options: Omit<uPlot.Options, 'width'>,
  data: uPlot.AlignedData,
): () => void {
  const width = () => Math.max(WIDTH_MIN_PX, place.clientWidth);
  const plot = new uPlot({ ...options, width: width() }, data, place);
  const observer = new ResizeObserver(() => {
    plot.setSize({ width: width(), height: options.height });
  });
  observer.observe(place);
  return () => {
    observer.disconnect();
    plot.destroy();
  };
}
