// Scenarios of `price`: who asks what, and how the answers begin.

import { CHANNEL, LATEST, MACHINES } from './fixed-snapshots.ts';

export type PriceScenario = {
  readonly name: string;
  /** Paths with query; `{fresh}` stands for eight digits that are others in each check. */
  readonly addresses: readonly string[];
  readonly devices: number;
  /** Times that every device asks before anything is measured: until its labels, or its pace, are known. */
  readonly meetings?: number;
};

const MILLION = 1_000_000;
/** Pace at which time goes on for a build, whatever the machine does: that of a busy node. */
export const CHECKS_PER_SECOND = 15_000;
const LABELLED = 65_536;
const OLD_VERSIONS = Array.from({ length: 320 }, (_, patch) => `1.0.${patch}`);

export const PRICE_SCENARIOS: readonly PriceScenario[] = [
  { name: 'full rollout', addresses: addressesOf('full'), devices: MILLION },
  { name: '20 % rollout', addresses: addressesOf('partial'), devices: MILLION },
  { name: 'nothing new', addresses: addressesOf('full', [LATEST, '1.3.0']), devices: MILLION },
  {
    name: 'never-seen versions',
    addresses: addressesOf('full', ['0.9.{fresh}']),
    devices: MILLION,
  },
  { name: 'two steady labels', addresses: ringAddresses(), devices: LABELLED, meetings: 2 },
  {
    name: 'labels that change',
    addresses: addressesOf('full', OLD_VERSIONS, '?l.ring=early&l.battery={fresh}'),
    devices: LABELLED,
  },
  {
    name: 'every second',
    addresses: addressesOf('full'),
    devices: CHECKS_PER_SECOND,
    meetings: 40,
  },
  { name: 'six updaters', addresses: OLD_VERSIONS.flatMap(updaterAddresses), devices: MILLION },
];

function addressesOf(
  app: string,
  versions: readonly string[] = OLD_VERSIONS,
  query = '',
): readonly string[] {
  return versions.flatMap((version) =>
    MACHINES.map(
      ({ platform, arch }) => `/u/${app}/${CHANNEL}/${platform}/${arch}/${version}${query}`,
    ),
  );
}

/** Addresses with two labels, of which every other has the one that the newest release wants. */
function ringAddresses(): readonly string[] {
  return addressesOf('labels').map((address, index) => {
    const ring = index % 2 === 0 ? 'early' : 'late';
    return `${address}?l.ring=${ring}&l.region=r${index % 8}`;
  });
}

function updaterAddresses(version: string): readonly string[] {
  return [
    `/u/updaters/${CHANNEL}/darwin/aarch64/${version}`,
    `/e/updaters/${CHANNEL}/latest-mac.yml`,
    `/squirrel/updaters/${CHANNEL}/darwin-arm64/${version}`,
    `/squirrel/updaters/${CHANNEL}/win32-x64/${version}/RELEASES`,
    `/velopack/updaters/${CHANNEL}/releases.win.json?localVersion=${version}`,
    `/sparkle/updaters/${CHANNEL}/appcast-windows.xml`,
  ];
}
