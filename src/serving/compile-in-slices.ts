// Compiling of catalogs without stopping the process for long: a channel may have thousands of releases, and
// requests of other channels wait meanwhile.

import {
  type Catalog,
  type CompiledRelease,
  catalogOf,
  compileRelease,
} from '../domain/decision/catalog.ts';
import { EditionFinder } from '../domain/decision/edition-finder.ts';
import type { ServingSnapshot } from '../domain/decision/serving-snapshot.ts';
import { TimeSlice } from '../flow/time-slice.ts';

/** Number of releases after which the clock is read, which would take as long as a few of them. */
const CLOCK_EVERY = 32;

/**
 * Compiles a snapshot. What `before` has of the same editions is used again: after a change of one release,
 * one is compiled.
 */
export async function compileInSlices(
  snapshot: ServingSnapshot,
  before: Catalog | undefined,
): Promise<Catalog> {
  const slice = new TimeSlice();
  const compiled: (CompiledRelease | undefined)[] = [];
  const finder = new EditionFinder(before?.compiled ?? [], (release) => release?.source.edition);
  for (const source of snapshot.releases) {
    compiled.push(compileRelease(source, finder.find(source.edition, compiled.length)));
    if (compiled.length % CLOCK_EVERY === 0 && slice.isOver) await slice.pause();
  }
  return catalogOf(snapshot, compiled);
}
