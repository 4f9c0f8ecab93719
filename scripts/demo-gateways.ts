// Gateways of the demo: an app whose devices speak DDI, half way through the rollout of a release. What they
// installed before is history; from then on they follow the links of the answers as SWUpdate does, and a few
// of them fail, wait for their operator, or take their time.

import { createHash } from 'node:crypto';
import { seededRandom } from '../bench/random.ts';
import type { DemoDevice, Habit } from './demo-devices.ts';
import { ANSWER_MS_MAX, lagMsOf } from './demo-fleet.ts';
import { type Place, raiseToSecondStep } from './demo-plans.ts';
import { type PastApp, type PastRelease, WHOLE } from './demo-releases.ts';

const SEED = 20_261_122;
const GATEWAYS = 400;
const PLANNED_VERSION = '3.2.0';
const DAY_MINUTES = 24 * 60;
/** Shares of the gateways with a habit. */
const HABITS: readonly (readonly [number, Habit])[] = [
  [0.04, 'fails'],
  [0.07, 'waits'],
  [0.12, 'dawdles'],
];
/** Errors at which gateways break off, as SWUpdate words them. */
const REASONS = [
  'Cannot write to /dev/mmcblk0p3: No space left on device',
  'Cannot write to /dev/mmcblk0p3: No space left on device',
  'Signature verification failed: certificate has expired',
  'Bootloader environment is locked',
] as const;

const RELEASES: readonly PastRelease[] = [
  {
    ...{ channel: 'stable', version: '3.0.0', daysAgo: 30, rollouts: WHOLE },
    notes: '# 3.0\n\n- Two partitions, and a way back',
  },
  {
    ...{ channel: 'stable', version: '3.1.0', daysAgo: 12, rollouts: WHOLE },
    notes: '# 3.1\n\n- LTE modems of the second batch',
  },
  {
    ...{ channel: 'stable', version: PLANNED_VERSION, daysAgo: 1.5 },
    rollouts: [
      { afterHours: 0, rolloutPct: 10 },
      { afterHours: 24, rolloutPct: 50 },
    ],
    notes: '# 3.2\n\n- Readings are kept while the network is away\n- Linux 6.12',
  },
];

/** App whose devices speak DDI. */
export const GATEWAY: PastApp = {
  ...{ ref: 'gateway', name: 'Acme Gateway', channels: ['stable'], releases: RELEASES },
  ...{ plannedVersion: PLANNED_VERSION, client: 'ddi' },
  artifactsOf: (version) => {
    const url = `https://downloads.example.com/gateway/${version}/gateway-${version}.swu`;
    const hash = (algorithm: string) => createHash(algorithm).update(url).digest('hex');
    const hashes = { sha1: hash('sha1'), sha256: hash('sha256') };
    return [{ platform: 'linux', arch: 'aarch64', url, size: 148_000_000, ...hashes }];
  },
};

/** Makes the gateways, the same ones each time. Those with a habit install nothing before the present. */
export function createGateways(): DemoDevice[] {
  const random = seededRandom(SEED);
  return Array.from({ length: GATEWAYS }, (_, index) => {
    const dice = random();
    const habit = HABITS.find(([share]) => dice < share)?.[1];
    const site = `site-${Math.floor(random() * 40) + 1}`;
    return {
      ...{ id: `gw-${String(index + 1).padStart(4, '0')}`, channel: 'stable' },
      ...{ platform: 'linux', arch: 'aarch64', labels: { site }, fate: undefined, habit },
      hourlyShare: 1 / 2,
      lagHours: habit === undefined ? -Math.log(1 - random()) * 10 : Number.POSITIVE_INFINITY,
      version: habit === undefined && random() < 0.9 ? '3.0.0' : '3.1.0',
    };
  });
}

/** Lives the plan of the new release through: it is for half of the gateways now. */
export function raiseGateways(place: Place): Promise<void> {
  const steps = [
    { rollout: 10, holdMinutes: DAY_MINUTES },
    { rollout: 50, holdMinutes: 2 * DAY_MINUTES },
    { rollout: 100, holdMinutes: DAY_MINUTES },
  ];
  // The fleet is small, and those that fail, wait and dawdle are an eighth of it.
  const guards = { minimumDevices: 10, stuckAfterMinutes: DAY_MINUTES };
  const limits = { failedPercent: 15, stuckPercent: 40, silentPercent: 20 };
  return raiseToSecondStep(place, PLANNED_VERSION, steps, { ...guards, ...limits });
}

type Link = { readonly href: string };
type Polled = {
  readonly _links: Partial<Record<'configData' | 'deploymentBase' | 'cancelAction', Link>>;
};
type Fetched = {
  readonly deployment: { readonly chunks: readonly { readonly version: string }[] };
};

/** Action that each gateway is installing. */
const installing = new WeakMap<DemoDevice, string>();

/** Polls as a gateway, and follows what the answer lists. */
export async function pollByDdi(address: string, device: DemoDevice): Promise<void> {
  const base = `${address}/ddi/${GATEWAY.ref}/${device.channel}/controller/v1/${device.id}`;
  try {
    let { _links: links } = await ask<Polled>('GET', base);
    if (links.configData !== undefined) {
      await tell(base, device);
      ({ _links: links } = await ask<Polled>('GET', base));
    }
    if (links.cancelAction !== undefined) {
      installing.delete(device);
      await report(links.cancelAction.href, 'closed', 'success', 'Cancelled');
    }
    if (links.deploymentBase !== undefined) await install(base, links.deploymentBase, device);
  } catch {
    // The service or the demo is stopping; the device's next poll is soon.
  }
}

async function install(base: string, { href }: Link, device: DemoDevice): Promise<void> {
  const { habit, id } = device;
  if (habit === 'waits' || installing.get(device) === href) return;
  const { deployment } = await ask<Fetched>('GET', href);
  installing.set(device, href);
  await report(href, 'proceeding', 'none', 'Installing');
  if (habit === 'fails') {
    const reason = REASONS[Number(id.slice(-4)) % REASONS.length] ?? '';
    return report(href, 'closed', 'failure', reason);
  }
  if (habit === 'dawdles') return;
  setTimeout(() => void finish(base, href, device, deployment), lagMsOf(device)).unref();
}

/** Ends an installation that was not cancelled: the gateway starts with the new version, and tells it. */
async function finish(
  base: string,
  href: string,
  device: DemoDevice,
  { chunks }: Fetched['deployment'],
): Promise<void> {
  if (installing.get(device) !== href) return;
  device.version = chunks[0]?.version ?? device.version;
  await report(href, 'closed', 'success', 'Installed').catch(() => undefined);
  await tell(base, device).catch(() => undefined);
}

async function tell(base: string, { version, platform, arch, labels }: DemoDevice): Promise<void> {
  const data = { version, platform, arch, ...labels };
  await ask('PUT', `${base}/configData`, { data });
}

async function report(href: string, execution: string, finished: string, detail: string) {
  const status = { execution, result: { finished }, details: [detail] };
  await ask('POST', `${href}/feedback`, { status });
}

/** Asks the service; throws unless the answer is 200. */
async function ask<Body>(method: string, url: string, body?: object): Promise<Body> {
  const signal = AbortSignal.timeout(ANSWER_MS_MAX);
  const response = await fetch(url, { method, signal, body: body ? JSON.stringify(body) : null });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${response.status} ${text.slice(0, 200)}`);
  return (text === '' ? undefined : JSON.parse(text)) as Body;
}
