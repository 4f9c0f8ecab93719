// Releases of the demo's app over the last weeks: when they came, how far they were rolled out, and how that
// ended.

import type { ReleaseStatus } from '../src/contract/resource.ts';
import { cohortBucket, cohortThreshold, hashText } from '../src/domain/decision/cohort.ts';

export const HOUR_MS = 3_600_000;

/** App of the demo with its past. */
export type PastApp = {
  readonly ref: string;
  readonly name: string;
  readonly channels: readonly string[];
  /** In the order in which they came. */
  readonly releases: readonly PastRelease[];
  /** Release that a plan raises from nothing. */
  readonly plannedVersion: string;
  /** Returns the files of a release. */
  readonly artifactsOf: (version: string) => readonly PastArtifact[];
  /** How its devices ask. */
  readonly client: 'ddi' | undefined;
};

type PastArtifact = {
  readonly platform: string;
  readonly arch: string;
  readonly url: string;
  readonly size: number;
  readonly signature?: string;
  readonly sha1?: string;
  readonly sha256?: string;
};

export type PastRelease = {
  readonly channel: string;
  readonly version: string;
  readonly daysAgo: number;
  /** Rollouts, each with the hours since it was published after which it held. */
  readonly rollouts: readonly { readonly afterHours: number; readonly rolloutPct: number }[];
  /** Hours since it was published after which it was offered no more; undefined while it is. */
  readonly offeredHours?: number;
  readonly notes: string;
  /** Change of status that ended its publication; undefined where there was none, or a plan made it. */
  readonly end?: { readonly status: ReleaseStatus; readonly daysAgo: number };
};

/** Release whose plan is under way, and the one that a guard has stopped. */
export const GOOD_VERSION = '2.4.0';
export const BAD_VERSION = '2.5.0-beta.1';
/** Hours after its publishing at which the guard stopped the bad one. */
export const STOPPED_AFTER_HOURS = 26;

/** Rollout to all devices from the beginning. */
export const WHOLE = [{ afterHours: 0, rolloutPct: 100 }];

const RELEASES: readonly PastRelease[] = [
  {
    ...{ channel: 'stable', version: '2.1.0', daysAgo: 40, rollouts: WHOLE },
    notes: '# 2.1\n\n- Folders\n- Search in attachments',
    end: { status: 'deprecated', daysAgo: 12 },
  },
  {
    ...{ channel: 'stable', version: '2.2.0', daysAgo: 24, rollouts: WHOLE },
    notes: '# 2.2\n\n- Shared notebooks\n- **Offline** editing',
  },
  {
    ...{ channel: 'beta', version: '2.4.0-beta.1', daysAgo: 16, rollouts: WHOLE },
    notes: '# 2.4, first beta\n\n- Tables',
  },
  {
    ...{ channel: 'beta', version: '2.4.0-beta.2', daysAgo: 10, rollouts: WHOLE },
    notes: '# 2.4, second beta\n\n- Faster start',
  },
  {
    ...{ channel: 'stable', version: '2.3.0', daysAgo: 9, offeredHours: 48 },
    rollouts: [{ afterHours: 0, rolloutPct: 50 }],
    notes: '# 2.3\n\n- New sync engine',
    end: { status: 'rolled_back', daysAgo: 7 },
  },
  {
    ...{ channel: 'stable', version: '2.3.1', daysAgo: 7, rollouts: WHOLE },
    notes: '# 2.3.1\n\n- Sync no longer loses the last edit',
  },
  {
    ...{ channel: 'stable', version: GOOD_VERSION, daysAgo: 2.5 },
    rollouts: [
      { afterHours: 0, rolloutPct: 5 },
      { afterHours: 24, rolloutPct: 20 },
    ],
    notes: '# 2.4\n\n- Tables\n- Faster start\n\nThanks to all testers.',
  },
  {
    ...{ channel: 'beta', version: BAD_VERSION, daysAgo: 1.25, offeredHours: STOPPED_AFTER_HOURS },
    rollouts: [{ afterHours: 0, rolloutPct: 25 }],
    notes: '# 2.5, first beta\n\n- A new installer for Windows\n- Drawings',
  },
];

/** Returns whether a release was offered to a device then, by the same cohorts as the service's. */
export function wasFor(
  { daysAgo, rollouts, offeredHours = Number.POSITIVE_INFINITY }: PastRelease,
  releaseId: string,
  deviceId: string,
  atMs: number,
): boolean {
  const hoursOut = (atMs - Date.now()) / HOUR_MS + daysAgo * 24;
  const rollout = rollouts.findLast(({ afterHours }) => hoursOut > afterHours);
  if (rollout === undefined || hoursOut > offeredHours) return false;
  return (
    cohortBucket(hashText(deviceId), hashText(releaseId)) < cohortThreshold(rollout.rolloutPct)
  );
}

/** Text of a .sig file as Tauri's tools write it; it signs nothing. */
const SIGNATURE = Buffer.from(
  'untrusted comment: signature\nRUQ=\ntrusted comment: timestamp:1\nAAAA==\n',
).toString('base64');

function artifactsOf(version: string) {
  const at = (platform: string, arch: string, name: string) => ({
    ...{ platform, arch, url: `https://downloads.example.com/notes/${version}/${name}` },
    ...{ size: 80_000_000, signature: SIGNATURE },
  });
  return [
    at('darwin', 'universal', `Acme.Notes_${version}_universal.app.tar.gz`),
    at('windows', 'x86_64', `Acme.Notes_${version}_x64-setup.exe`),
    at('linux', 'x86_64', `Acme.Notes_${version}_amd64.AppImage`),
  ];
}

/** App whose devices ask for updates themselves. */
export const NOTES: PastApp = {
  ...{ ref: 'notes', name: 'Acme Notes', channels: ['stable', 'beta'], releases: RELEASES },
  ...{ plannedVersion: GOOD_VERSION, artifactsOf, client: undefined },
};
