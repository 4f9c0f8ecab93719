// Releases that both builds serve, as snapshots with fixed ids and times: cohorts, and so answers, are the
// same in every run.

const CREATED_AT = '2026-01-01T00:00:00.000Z';
/** Notes that make a manifest about 640 bytes long, as real ones are. */
const NOTES = 'Fixes a crash at start, and makes search three times as fast. '.repeat(5).trim();
const SIGNATURE = 'dW50cnVzdGVkIGNvbW1lbnQ6IHNpZ25hdHVyZQ'.repeat(3);
const SHA512 = '5ca1ab1e'.repeat(16);
const SHA256 = '5ca1ab1e'.repeat(8);
const SHA1 = '5ca1ab1e'.repeat(5);
const SIZE = 48_000_000;
const EARLY = { matchLabels: { ring: ['early'] }, matchExpressions: [] };

export const CHANNEL = 'stable';
export const LATEST = '1.2.0';
export const MACHINES = ['linux', 'darwin', 'windows'].flatMap((platform) =>
  ['x86_64', 'aarch64'].map((arch) => ({ platform, arch })),
);

type Content = {
  readonly version: string;
  readonly rolloutPct?: number;
  readonly targets?: object;
};

/** Releases by app; the app of all updaters has a file for each of them. */
const APPS: Readonly<Record<string, readonly Content[]>> = {
  full: [{ version: '1.1.0' }, { version: LATEST }],
  partial: [{ version: '1.1.0' }, { version: LATEST, rolloutPct: 20 }],
  labels: [{ version: '1.1.0' }, { version: LATEST, targets: EARLY }],
  updaters: [{ version: '1.1.0' }, { version: LATEST }],
};

/** Returns the snapshot of each app's channel. Its form has been the same since 0.1.0. */
export function fixedSnapshots() {
  return Object.entries(APPS).map(([appRef, releases]) => {
    const channelId = `chn_${appRef}`;
    return {
      ...{ appId: `app_${appRef}`, appRef, channelId, channel: CHANNEL, epoch: 0, revision: 2 },
      ...{ updateMode: 'automatic', minimumSupportedVersion: null, requireSignature: false },
      follows: null,
      releases: releases.map((release) => snapshotRelease(appRef, release)),
    };
  });
}

function snapshotRelease(app: string, { version, rolloutPct = 100, targets }: Content) {
  const id = `rel_${app}_${version}`;
  return {
    ...{ id, edition: `${id}_1`, version, notes: NOTES, status: 'published', rolloutPct },
    ...{ targets: targets ?? null, offered: true, followed: false, createdAt: CREATED_AT },
    artifacts: app === 'updaters' ? filesOfUpdaters(version) : MACHINES.map(archiveOf(version)),
  };
}

function archiveOf(version: string) {
  return ({ platform, arch }: { readonly platform: string; readonly arch: string }) => {
    return {
      platform,
      arch,
      url: address(`${platform}/${arch}/app-${version}.tar.gz`),
      signature: SIGNATURE,
    };
  };
}

function filesOfUpdaters(version: string) {
  const sums = { sha512: SHA512, sha256: SHA256, size: SIZE };
  const windows = { platform: 'windows', arch: 'x86_64' };
  const mac = { platform: 'darwin', arch: 'aarch64' };
  return [
    archiveOf(version)(mac),
    { ...mac, ...sums, url: address(`app-${version}-arm64.zip`) },
    { ...windows, ...sums, url: address(`app-${version}-setup.exe`), signature: SIGNATURE },
    { ...windows, ...sums, sha1: SHA1, url: address(`app-${version}-full.nupkg`) },
  ];
}

function address(path: string): string {
  return `https://downloads.example.com/${path}`;
}
