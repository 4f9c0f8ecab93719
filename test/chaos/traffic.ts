// Devices and publishers of a chaos run. Devices ask all the time, and every answer is judged; publishers
// change what is served, and what was acknowledged to them is noted.

import { setTimeout } from 'node:timers/promises';
import { sleep } from '../support/eventually.ts';
import { type Answer, ARTIFACT, type Tenant } from '../support/tenant.ts';
import type { DdiHistory, ReleaseNumbers } from './ddi-oracle.ts';
import { Fact, type Moment } from './fact.ts';
import type { Judge } from './judge.ts';
import type { ModelChannel, ModelRelease, ModelStatus, Told } from './oracle.ts';
import type { Random } from './random.ts';
import type { Answering, ChaosNode } from './world.ts';

const DEVICE_COUNT = 200;
/** Devices that are reported with labels: a part, so that each is reported more than once. */
const REPORTED_COUNT = 40;
const RINGS = ['early', 'late'] as const;
/** Version that every device has, below every release. */
export const INSTALLED = '1.0.0';
const ANSWER_MS_MAX = 10_000;
export const DEVICE_PAUSE_MS = 50;
const PUBLISHER_PAUSE_MS = 500;

/** Files of every release, which devices that speak DDI can install as well. */
export const FILES = { artifacts: [{ ...ARTIFACT, size: 9, sha1: 'a'.repeat(40) }] };

/** App whose channel is served in the run, with what its publishers know of it. */
export type ChaosApp = {
  readonly tenant: Tenant;
  readonly model: ModelChannel;
  readonly numbers: ReleaseNumbers;
  /** Histories of the devices that speak DDI, by their ids. */
  readonly histories: Map<string, DdiHistory>;
  /** Number of the newest release. */
  releaseCount: number;
};

/** Returns the ids of the devices. */
export function deviceIds(): readonly string[] {
  return Array.from({ length: DEVICE_COUNT }, (_, index) => `device-${index}`);
}

/** Asks as a device at a time that a loop chooses, until `isOver`; every answer is judged. */
export async function askAsDevices(
  nodes: readonly Answering[],
  apps: readonly ChaosApp[],
  random: Random,
  judge: Judge,
  isOver: () => boolean,
): Promise<void> {
  const devices = deviceIds();
  while (!isOver()) {
    await askOnce(random.pick(nodes), random.pick(apps), random.pick(devices), judge);
    await sleep(DEVICE_PAUSE_MS);
  }
}

/** Asks a node once and has the answer judged. */
export async function askOnce(
  node: Answering,
  app: ChaosApp,
  device: string,
  judge: Judge,
): Promise<Told | undefined> {
  const asked = performance.now();
  const answer = await within(app.tenant.at(node.serving).check(INSTALLED, { device }));
  const answered = performance.now();
  const told = { node: node.name, device, asked, answered };
  if (answer === undefined) judge.unanswered(told);
  else if (answer.status === 200 || answer.status === 204) {
    const version = answer.status === 204 ? undefined : String(answer.body?.version);
    judge.told(app.model, { ...told, version });
    return { ...told, version };
  } else judge.refused(told, answer.status, answer.text);
  return undefined;
}

/** Publisher that publishes, steers and reports at random, one write after another, and can be held. */
export class Publisher {
  readonly counts = { acknowledged: 0, failed: 0 };
  private running: Promise<void> = Promise.resolve();
  private isHeld = false;

  constructor(
    private readonly nodes: readonly ChaosNode[],
    private readonly apps: readonly ChaosApp[],
    private readonly random: Random,
  ) {}

  /** Writes until `isOver`. */
  async run(isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      if (!this.isHeld) this.running = this.write(writeOnce);
      await this.running;
      await sleep(PUBLISHER_PAUSE_MS);
    }
  }

  /** Makes no write from now on; resolves when the one in progress has ended. */
  async hold(): Promise<void> {
    this.isHeld = true;
    await this.running;
  }

  /** Publishes a release while it is held. */
  publish(): Promise<void> {
    return this.write(publishNext);
  }

  /** Writes again. */
  resume(): void {
    this.isHeld = false;
  }

  private async write(write: Write): Promise<void> {
    const { random } = this;
    const isAcknowledged = await write(random.pick(this.nodes), random.pick(this.apps), random);
    this.counts[isAcknowledged ? 'acknowledged' : 'failed'] += 1;
  }
}

/** Write of a publisher; returns whether it was acknowledged. */
type Write = (node: ChaosNode, app: ChaosApp, random: Random) => Promise<boolean>;

const writeOnce: Write = (node, app, random) => {
  const roll = random.next();
  if (roll < 0.35) return publishNext(node, app, random);
  if (roll < 0.75) return pauseOrResume(node, app, random);
  return (roll < 0.85 ? openRollout : reportRing)(node, app, random);
};

/** Publishes a release above all others. */
const publishNext: Write = async (node, app, random) => {
  app.releaseCount += 1;
  const version = `1.${app.releaseCount}.0`;
  const ring = random.next() < 0.25 ? random.pick(RINGS) : undefined;
  const isForAll = random.next() < 0.8;
  const from = performance.now();
  const status = new Fact<ModelStatus>('absent', 0, 0);
  const acknowledge = status.change('published', from);
  app.model.releases.set(version, {
    ...{ version, ring, status, isForAll: new Fact(isForAll, from, from) },
    offeredAt: Number.POSITIVE_INFINITY,
  });
  const targets = ring === undefined ? {} : { targets: { matchLabels: { ring: [ring] } } };
  const more = { ...FILES, rollout: isForAll ? 100 : 50, ...targets };
  return isDone(app.tenant.at(node.serving).publish(version, more), 201, acknowledge);
};

/** Pauses a published release or publishes a paused one, as far as the model knows them. */
const pauseOrResume: Write = async (node, app, random) => {
  const release = someRelease(app, random);
  if (release === undefined) return false;
  const present = release.status.acknowledged?.value;
  const status = present === 'published' && random.next() < 0.6 ? 'paused' : 'published';
  const acknowledge = release.status.change(status, performance.now());
  const answer = app.tenant.at(node.serving).control(release.version, { status });
  return isDone(answer, 200, acknowledge);
};

const openRollout: Write = async (node, app, random) => {
  const release = someRelease(app, random);
  if (release === undefined) return false;
  const acknowledge = release.isForAll.change(true, performance.now());
  const answer = app.tenant.at(node.serving).control(release.version, { rollout: 100 });
  return isDone(answer, 200, acknowledge);
};

const reportRing: Write = async (node, app, random) => {
  const device = random.pick(deviceIds().slice(0, REPORTED_COUNT));
  if (app.model.rings.get(device)?.isInDoubt) return false;
  const ring = random.pick(RINGS);
  const fact = app.model.rings.get(device) ?? new Fact<string | undefined>(undefined, 0, 0);
  app.model.rings.set(device, fact);
  const acknowledge = fact.change(ring, performance.now());
  const item = { deviceId: device, version: INSTALLED, platform: 'linux', arch: 'x86_64' };
  const answer = app.tenant.at(node.serving).report([{ ...item, labels: { ring } }], {
    channel: 'stable',
  });
  return isDone(answer, 200, acknowledge);
};

/**
 * Returns one of the newest releases that are known to exist. One with a change in doubt is left alone: a
 * node that thaws may still make that change.
 */
function someRelease(app: ChaosApp, random: Random): ModelRelease | undefined {
  const known = [...app.model.releases.values()].filter(({ status, isForAll }) => {
    if (status.isInDoubt || isForAll.isInDoubt) return false;
    return status.acknowledged !== undefined && status.acknowledged.value !== 'absent';
  });
  return known.length === 0 ? undefined : random.pick(known.slice(-4));
}

/**
 * Acknowledges the change when the answer has the status. Any other answer leaves it in doubt: the node may
 * have died after the commit.
 */
async function isDone(
  answer: Promise<Answer>,
  status: number,
  acknowledge: (sure: Moment) => void,
): Promise<boolean> {
  if ((await within(answer))?.status !== status) return false;
  acknowledge(performance.now());
  return true;
}

/** Resolves with undefined when there is no answer: the node is dead, frozen or takes too long. */
export async function within<Value>(answer: Promise<Value>): Promise<Value | undefined> {
  const ended = new AbortController();
  const late = setTimeout(ANSWER_MS_MAX, undefined, { signal: ended.signal });
  try {
    return await Promise.race([answer, late]).catch(() => undefined);
  } finally {
    ended.abort();
  }
}
