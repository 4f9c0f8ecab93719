// Chart of two releases at the same age: lines of the share of devices that had installed each.

import type uPlot from 'uplot';
import { type AgeSeries, ageText } from '../format/adoption-series.ts';
import { axisLook, resolvedColor } from './axis-look.ts';
import { fittedPlot } from './fitted-plot.ts';

const LINES_HEIGHT_PX = 200;
const LINES_AXIS_WIDTH_PX = 48;
/** Distances of ticks that are whole days, or parts of one that people reckon in. */
const TICK_HOURS = [1, 2, 3, 6, 12, 24, 48, 72, 168, 336, 720];

/** Draws into the element in its full width, until the returned function is called. */
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
        values: (_plot, ticks) => ticks.map((tick) => `${tick}%`),
      },
    ],
    series: [{}, ...lines.map((line) => ({ ...line, points: { show: false } }))],
  };
  return fittedPlot(place, options, [[...hours], [...release], [...before]]);
}
