// The file `RELEASES` of Squirrel.Windows: one line for each package that a client may install. Written from
// Squirrel.Windows' ReleaseEntry.ParseReleaseEntry: `SHA1 NAME SIZE`, where the name may be a URL that ends
// in the version. The client compares versions itself, and takes an empty file for a broken one: so a device
// without an offer gets the line of its own version, if the channel has it.

import type { Artifact } from '../contract/resource.ts';
import { type IndexedArtifact, selectArtifact } from '../domain/decision/artifact/artifact.ts';
import {
  type ArtifactCandidate,
  type Catalog,
  candidatesWhere,
} from '../domain/decision/catalog.ts';
import type { Plan } from '../domain/decision/plan.ts';
import { type Machine, machineQuestion } from './machine.ts';
import type { Updater } from './updater.ts';

const NAME = 'squirrel nupkg';
const EMPTY = Buffer.alloc(0);

export const SQUIRREL_WINDOWS: Updater<ArtifactCandidate, 'platform'> = {
  path: '/squirrel/:appRef/:channel/:platform/:version/RELEASES',
  deviceHeaders: [],
  ask: ({ platform }) => machineQuestion(NAME, 'nupkg', platform, squirrelWindowsCandidates),
  mediaType: 'text/plain; charset=utf-8',
  isConditional: false,
  offer(_plan, { artifact, documents }) {
    documents[0] ??= lineOf(artifact);
    return documents[0];
  },
  nothing: ownLine,
};

/** Returns the releases that clients of a machine can take, highest first. */
export function squirrelWindowsCandidates(
  catalog: Catalog,
  { platform, arch }: Machine,
): readonly ArtifactCandidate[] {
  return candidatesWhere(catalog, NAME, platform, arch, isListable);
}

/** Returns whether an artifact has all that a line needs. */
function isListable({ artifact: { url, sha1, size }, format }: IndexedArtifact): boolean {
  return format === 'nupkg' && url !== undefined && sha1 !== undefined && size !== undefined;
}

/** Returns the line of the device's version, unless it was rolled back; empty if there is none. */
function ownLine({ catalog, fields }: Plan<ArtifactCandidate>): Buffer {
  const own = catalog.byCanonical.get(fields.version?.canonical ?? '');
  if (own === undefined || own.source.status === 'rolled_back') return EMPTY;
  const artifact = selectArtifact(own.artifacts, fields.platform, fields.arch, isListable);
  return artifact === undefined ? EMPTY : lineOf(artifact);
}

function lineOf({ url = '', sha1 = '', size = 0 }: Artifact): Buffer {
  const [address = ''] = url.split('#', 1);
  return Buffer.from(`${sha1.toUpperCase()} ${address} ${size}\n`, 'utf8');
}
