// Update checks of Squirrel.Mac, Electron's own updater on macOS, and of the package update-electron-app: the
// device sends its machine and version, and gets a JSON object with a URL, or 204. Written from
// Squirrel.Mac's SQRLUpdater and its README, and Electron's documentation of `autoUpdater`. The client
// compares no versions and installs whatever a 200 names, so only 204 means "up to date". It unpacks zip
// archives only. On Windows, Electron installs MSIX packages from the same answer.

import {
  type ArtifactCandidate,
  type Catalog,
  candidatesWhere,
} from '../domain/decision/catalog.ts';
import { type Machine, machineQuestion } from './machine.ts';
import type { Updater } from './updater.ts';

type SquirrelUpdater = Updater<ArtifactCandidate, 'platform'>;

/** Protocol of Squirrel.Mac. Other platforms get 204, because they have no such client. */
export const SQUIRREL_MAC: SquirrelUpdater = squirrelUpdater(
  '/squirrel/:appRef/:channel/:platform/:version',
  'zip',
);

/** Protocol of Electron's updates of MSIX packages. */
export const SQUIRREL_MSIX: SquirrelUpdater = squirrelUpdater(
  '/squirrel/:appRef/:channel/:platform/msix/:version',
  'msix',
);

type Installed = 'zip' | 'msix';

/** Folded platform of the clients that install a format. */
const PLATFORMS: Readonly<Record<Installed, string>> = { zip: 'darwin', msix: 'windows' };

/** Returns the releases for a machine's clients that install this format, highest first. */
export function squirrelCandidates(
  catalog: Catalog,
  { platform, arch }: Machine,
  installed: Installed,
): readonly ArtifactCandidate[] {
  if (platform !== PLATFORMS[installed]) return [];
  return candidatesWhere(catalog, nameOf(installed), platform, arch, ({ artifact, format }) => {
    return artifact.url !== undefined && format === installed;
  });
}

function nameOf(installed: Installed): string {
  return `squirrel ${installed}`;
}

function squirrelUpdater(path: SquirrelUpdater['path'], installed: Installed): SquirrelUpdater {
  return {
    path,
    deviceHeaders: [],
    ask: ({ platform }) =>
      machineQuestion(nameOf(installed), installed, platform, (catalog, machine) =>
        squirrelCandidates(catalog, machine, installed),
      ),
    mediaType: 'application/json',
    isConditional: false,
    offer: (_plan, candidate) => offerOf(candidate),
    nothing: 'no-content',
  };
}

/** Fraction of a second: Squirrel.Mac cannot read a date that has one. */
const MILLISECONDS = /\.\d+(?=Z$)/;

/** Returns the document that offers a candidate; written once, and kept with the candidate. */
function offerOf({ release, artifact, documents }: ArtifactCandidate): Buffer {
  const known = documents[0];
  if (known !== undefined) return known;
  const { version, notes, createdAt } = release.source;
  const { url, sha256, size } = artifact;
  const document = {
    url,
    name: version,
    notes,
    pub_date: createdAt.replace(MILLISECONDS, ''),
    ...(sha256 === undefined ? {} : { sha256 }),
    ...(size === undefined ? {} : { size }),
  };
  const bytes = Buffer.from(JSON.stringify(document), 'utf8');
  documents[0] = bytes;
  return bytes;
}
