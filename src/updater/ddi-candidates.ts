// Releases for clients of hawkBit's Direct Device Integration API, each with the file that a device takes. A
// channel's `requireSignature` does not count: these clients check a signature inside of the file.

import type { IndexedArtifact } from '../domain/decision/artifact/artifact.ts';
import { ANY_KIND } from '../domain/decision/artifact/artifact-format.ts';
import { ddiArtifact } from '../domain/decision/artifact/ddi-artifact.ts';
import {
  type ArtifactCandidate,
  type Catalog,
  candidatesWhere,
} from '../domain/decision/catalog.ts';
import type { Machine } from './machine.ts';

/**
 * Returns the releases that DDI clients of a machine and a kind can take, highest first. Clients choose the
 * kind: one that no artifact of the platform has gets no list, so that they cannot multiply the lists.
 */
export function ddiCandidates(
  catalog: Catalog,
  { platform, arch }: Machine,
  kind = ANY_KIND,
): readonly ArtifactCandidate[] {
  const isKnown = catalog.supportByPlatform.get(platform)?.kinds.has(kind) ?? false;
  if (kind !== ANY_KIND && !isKnown) return [];
  // A publisher may name a format `ddi`: the space tells the two apart.
  return candidatesWhere(catalog, `ddi ${kind}`, platform, arch, (each) => fits(each, kind));
}

function fits({ artifact, kind: own }: IndexedArtifact, kind: string): boolean {
  return (kind === ANY_KIND || kind === own) && ddiArtifact(artifact) !== undefined;
}
