// Plays a fleet that speaks DDI against a service on this machine: it comes on record, gets a good release by
// a plan with guards, and then a bad one. Plan, guards and bounds are those of the service, in real time.

import { setTimeout as sleep } from 'node:timers/promises';
import type { ServingNode } from '../../../test/support/node.ts';
import { admin, createNamed, type Json, type Tenant } from '../../../test/support/tenant.ts';
import {
  isBackground,
  processTree,
  residentBytes,
  sampleCpu,
  usedMs,
} from '../../machine/processes.ts';
import { withDeployment } from '../../service/deployment.ts';
import { DdiFleet, realWorld } from './ddi-fleet.ts';
import { archOf, type DdiClient, type DdiWorld } from './ddi-gateway.ts';
import { DdiRecord, type DdiShares, type ReleaseCounts } from './ddi-record.ts';

export type DdiSettings = {
  readonly devices: number;
  readonly pollSeconds: number;
  readonly holdMinutes: number;
  /** Time after the last plan in which devices go on, and whatever is listed would be installed. */
  readonly afterSeconds: number;
};

export type DdiRun = Awaited<ReturnType<typeof playDdi>>;

/** Release that was played, with its plan at the end. */
export type DdiRelease = {
  readonly version: string;
  readonly shares: DdiShares;
  readonly plan: PlanState;
  /** Roll-out that it reached, and whether it was paused. */
  readonly rolloutPct: number;
  readonly isPaused: boolean;
  /** Installations that had begun when its plan ended. */
  readonly installs: number;
  readonly minutes: number;
};

type PlanState = { readonly status: string; readonly reason: string | null };

/** Troubles that every release has, and those of the bad one. */
export const GOOD_SHARES: DdiShares = { fails: 0.002, fallsBack: 0.002 };
export const BAD_SHARES: DdiShares = { fails: 0.03, fallsBack: 0.02 };
const BEFORE = '1.0.0';
const RELEASES = [
  ['1.1.0', GOOD_SHARES],
  ['1.2.0', BAD_SHARES],
] as const;
const STEPS = [10, 50, 100] as const;
/** Bounds of new devices as installed: the fleet comes on record as one that starts up does. */
const BOUNDS = {
  NEW_DEVICES_PER_ADDRESS_PER_MINUTE: '1200',
  NEW_DEVICES_PER_APP_PER_MINUTE: '60000',
};
const RETRY_AFTER_MINUTES = 60;
const LOOK_MS = 2000;
const MINUTE_MS = 60_000;
/** Times the holds after which a plan that is still running is given up, and minutes beside them. */
const HOLDS_MAX = 3;
const BESIDE_MINUTES = 30;

export function playDdi(settings: DdiSettings) {
  return withDeployment({ isPlaced: false }, async (deployment) => {
    const stores = await deployment.startStores();
    const node = await deployment.startNode({ ...stores, ...BOUNDS, TRUST_PROXY: '1' });
    const { tenant, token } = await prepare(node, settings);
    const record = new DdiRecord();
    const real = deployment.keep(realWorld(node.url, `${tenant.app}/stable`, token));
    const world = {
      ...{ ...real, record, shares: new Map<string, DdiShares>(RELEASES) },
      ...{ retryAfterMs: RETRY_AFTER_MINUTES * MINUTE_MS, installMs: settings.pollSeconds * 1000 },
    };
    const fleet = new DdiFleet(settings.devices, BEFORE, world);
    deployment.keep({ end: () => fleet.end() });
    const usage = new Usage(node);
    const lives = fleet.live(settings.pollSeconds * 1000);
    const play = async () => {
      const recordMinutes = await untilKnown(record, settings, usage);
      const releases: DdiRelease[] = [];
      for (const [version] of RELEASES) {
        releases.push(await playRelease(tenant, version, world, settings, usage));
      }
      await usage.watch(settings.afterSeconds * 1000);
      return { recordMinutes, releases };
    };
    // The fleet ends before the play by a bug alone.
    const played = await Promise.race([
      play(),
      lives.then(() => Promise.reject(new Error('ended'))),
    ]);
    const installed = RELEASES.map(([version]) => fleet.countOn(version));
    const counts = RELEASES.map(([version]): ReleaseCounts => ({ ...record.of(version) }));
    return { settings, record, installed, counts, usage: usage.sum(), ...played };
  });
}

/** Creates an app whose devices have a gateway token, with the release that all of them run. */
async function prepare(node: ServingNode, { pollSeconds }: DdiSettings) {
  const tenant = await createNamed(node, 'gateways');
  const { app } = tenant;
  await admin(node, 'PATCH', 'apps', { app, ddiAuth: 'token' });
  const { body } = await admin(node, 'POST', 'gateway-tokens', { app, name: 'bench' });
  await tenant.setChannel({ ddi: { pollSeconds, retryAfterMinutes: RETRY_AFTER_MINUTES } });
  await tenant.release(BEFORE, { artifacts: artifactsOf(BEFORE) });
  return { tenant, token: String(body?.token) };
}

function artifactsOf(version: string): Json[] {
  const files: readonly [DdiClient, string][] = [
    ['SWUpdate', 'swu'],
    ['rauc-hawkbit-updater', 'raucb'],
  ];
  return files.map(([client, format]) => ({
    ...{ platform: 'linux', arch: archOf(client), size: 81_264_640, sha1: 'a'.repeat(40) },
    url: `https://downloads.example.com/gateway-${version}.${format}`,
  }));
}

/** Waits until the attributes of all devices were taken; returns the minutes. */
async function untilKnown(record: DdiRecord, settings: DdiSettings, usage: Usage) {
  const begin = performance.now();
  const untilMs = begin + BESIDE_MINUTES * MINUTE_MS;
  while (record.known < settings.devices) {
    if (performance.now() > untilMs) throw new Error(`${record.known} devices came on record`);
    await usage.watch(LOOK_MS);
  }
  console.log(`${record.known} devices are on record`);
  return minutesSince(begin);
}

async function playRelease(
  tenant: Tenant,
  version: string,
  { shares, record }: DdiWorld,
  { holdMinutes }: DdiSettings,
  usage: Usage,
): Promise<DdiRelease> {
  const begin = performance.now();
  const steps = STEPS.map((rollout) => ({ rollout, holdMinutes }));
  const limits = { failedPercent: 1, revertedPercent: 1, minimumDevices: 20 };
  const guards = { ...limits, knownForMinutes: 0, confirmMinutes: 1 };
  await tenant.release(version, { artifacts: artifactsOf(version), plan: { steps, guards } });
  const minutesMax = STEPS.length * holdMinutes * HOLDS_MAX + BESIDE_MINUTES;
  for (let reachedPct = 0; ; ) {
    await usage.watch(LOOK_MS);
    const looked = await look(tenant, version, record);
    if (looked !== undefined && looked.rolloutPct > reachedPct) {
      reachedPct = looked.rolloutPct;
      console.log(`${version} at ${reachedPct} % after ${Math.round(minutesSince(begin))} minutes`);
    }
    if (looked !== undefined && looked.plan.status !== 'running') {
      const { installs } = record.of(version);
      const own = shares.get(version) as DdiShares;
      return { version, shares: own, ...looked, installs, minutes: minutesSince(begin) };
    }
    if (minutesSince(begin) > minutesMax) throw new Error(`the plan of ${version} is running`);
  }
}

/** Reads a plan; undefined where the service did not answer, which counts as a refusal. */
async function look(tenant: Tenant, version: string, record: DdiRecord) {
  const query = new URLSearchParams({ app: tenant.app, channel: 'stable', version });
  try {
    const { status, body } = await tenant.manage('GET', `releases/plan?${query}`);
    const served = status === 200 ? await tenant.servedAs(version) : undefined;
    if (served === undefined) record.refuse(`plan: ${status}`);
    const [serving, rolloutPct] = (served ?? []) as [string?, number?];
    if (rolloutPct === undefined) return undefined;
    return { plan: body?.plan as PlanState, rolloutPct, isPaused: serving === 'paused' };
  } catch (error) {
    // The connection was ended while this process got no processor.
    if (!(error instanceof TypeError)) throw error;
    record.refuse('plan: connection ended');
    return undefined;
  }
}

function minutesSince(begin: number): number {
  return (performance.now() - begin) / MINUTE_MS;
}

/** CPU time of the processes of a node since the beginning, and the most memory that they had. */
class Usage {
  private readonly begin = sampleCpu(process.pid);
  private mostBytes = 0;

  constructor(private readonly node: ServingNode) {}

  /** Waits so long, and looks at the memory now and then. */
  async watch(ms: number): Promise<void> {
    for (const until = performance.now() + ms; performance.now() < until; ) {
      const bytes = this.pids().reduce((sum, pid) => sum + residentBytes(pid), 0);
      this.mostBytes = Math.max(this.mostBytes, bytes);
      await sleep(Math.min(LOOK_MS, ms));
    }
  }

  sum() {
    const end = sampleCpu(process.pid);
    const seconds = (pids: readonly number[]) => usedMs(this.begin, end, pids) / 1000;
    const pids = this.pids();
    return {
      minutes: (end.at - this.begin.at) / MINUTE_MS,
      servingSeconds: seconds(pids.filter((pid) => !isBackground(pid))),
      backgroundSeconds: seconds(pids.filter(isBackground)),
      simulatorSeconds: seconds([process.pid]),
      mostBytes: this.mostBytes,
    };
  }

  private pids(): number[] {
    return processTree(this.node.process.pid);
  }
}
