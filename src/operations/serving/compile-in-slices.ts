// Compiling of catalogs without stopping the process for long: a channel may have thousands of releases, and
// requests of other channels wait meanwhile.

import {
  type Catalog,
  type CompiledRelease,
  catalogOf,
  compileRelease,
} from '../../domain/decision/catalog.ts';
import type { ServingSnapshot } from '../../domain/decision/serving-snapshot.ts';
import { TimeSlice } from '../../flow/time-slice.ts';

/**
 * Compiles a snapshot. What `before` has of the same editions is used again: after a change of one release,
 * one is compiled.
 */
export async function compileInSlices(
  snapshot: ServingSnapshot,
  before: Catalog | undefined,
): Promise<Catalog> {
  const slice = new TimeSlice();
  const compiled: CompiledRelease[] = [];
  for (const source of snapshot.releases) {
    const release = compileRelease(source, before?.byEdition.get(source.edition));
    if (release !== undefined) compiled.push(release);
    if (slice.isOver) await slice.pause();
  }
  return catalogOf(snapshot, compiled);
}
