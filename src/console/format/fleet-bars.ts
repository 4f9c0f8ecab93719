// Devices of a fleet by what they run: the bars of its page, and those below a minimum version.

import type { FleetCell } from '../../contract/console-fleet.ts';
import { compareVersions, parseVersion } from '../../domain/decision/version.ts';

/** Returns the name of a cell's version in the bars: with its channel if the cells are of several. */
export function versionNamer(cells: readonly FleetCell[]): (cell: FleetCell) => string {
  const hasSeveral = new Set(cells.map(({ channel }) => channel)).size > 1;
  return ({ version, channel }) =>
    version === '' || !hasSeveral ? version : `${version} · ${channel}`;
}

/** Returns the number of devices of all cells. */
export function totalOf(cells: readonly FleetCell[]): number {
  return cells.reduce((sum, { devices }) => sum + devices, 0);
}

/** Sums devices by the text that `keyOf` returns, largest first. */
export function sumBy(
  cells: readonly FleetCell[],
  keyOf: (cell: FleetCell) => string,
): readonly (readonly [key: string, devices: number])[] {
  const sums = new Map<string, number>();
  for (const cell of cells) {
    const key = keyOf(cell);
    sums.set(key, (sums.get(key) ?? 0) + cell.devices);
  }
  return [...sums].sort(([, left], [, right]) => right - left);
}

/**
 * Returns how many devices run a version below the minimum, as typed; undefined if that is no version. A
 * device whose version is unknown is not below it.
 */
export function belowMinimum(
  cells: readonly FleetCell[],
  minimum: string,
): { readonly limit: string; readonly below: number } | undefined {
  const limit = parseVersion(minimum);
  if (limit === undefined) return undefined;
  const below = cells.filter((cell) => {
    const version = parseVersion(cell.version);
    return version !== undefined && compareVersions(version, limit) < 0;
  });
  return { limit: limit.canonical, below: totalOf(below) };
}
