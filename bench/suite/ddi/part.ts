// A part of the benchmark of DDI: its name, what it measures, and how a figure stands beside its bound.

import type { Report, Row } from '../../report.ts';

export type Part = {
  readonly name: string;
  measure(isSmoke: boolean): Promise<Report>;
};

/** Row of a figure with its bound, and whether it is within that. */
export function figureRow(figure: string, value: number, boundMax: number, more: Row = {}): Row {
  const isWithin = Number.isNaN(value) ? '-' : value <= boundMax ? 'yes' : 'no';
  return { figure, value, 'at most': boundMax, within: isWithin, ...more };
}
