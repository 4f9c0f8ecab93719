// Gateway of a simulated fleet that speaks DDI as SWUpdate and rauc-hawkbit-updater do. It polls, tells its
// attributes, fetches an action, installs it, reports and restarts; some releases fail on it, and from some
// it falls back. What it asks, how it waits and what time it is are given to it.

import { COHORT_BUCKETS, cohortBucket, hashText } from '../../../src/domain/decision/cohort.ts';
import type { Json } from '../../../test/support/tenant.ts';
import { type DdiFate, DdiHistory, type DdiRecord, type DdiShares } from './ddi-record.ts';

/** SWUpdate tells its version at each start and success after it, the other success before, and is asked. */
export type DdiClient = 'SWUpdate' | 'rauc-hawkbit-updater';

export type DdiWorld = {
  readonly record: DdiRecord;
  /** Shares by version; what is not named is fine on every device. */
  readonly shares: ReadonlyMap<string, DdiShares>;
  readonly retryAfterMs: number;
  /** Longest time that an installation takes; a restart takes a fifth, and so does a version that is left. */
  readonly installMs: number;
  now(): number;
  random(): number;
  pause(ms: number): Promise<void>;
  /** Sends a request of a device; the address is absolute, or below the channel. */
  ask(device: DdiIdentity, method: string, address: string, body?: Json): Promise<DdiReply>;
};

export type DdiReply = { readonly status: number; readonly text: string };
export type DdiIdentity = {
  readonly id: string;
  readonly client: DdiClient;
  /** Client address from which it asks. */
  readonly address: string;
};

type Links = Readonly<Record<string, { readonly href: string } | undefined>>;
type Poll = { readonly config: { readonly polling: { readonly sleep: string } }; _links: Links };
type Action = {
  readonly id: string;
  readonly deployment: { readonly chunks: readonly { readonly version: string }[] };
};

/** Times that rauc-hawkbit-updater sends a report again that is refused by 409 or 429. */
const TRIES_MAX = 10;
const RETRY_MS = 1000;
/** Wait of a device whose poll was refused before it knows another one. */
const FIRST_SLEEP_MS = 10_000;

class Refused extends Error {}

export class DdiGateway {
  private readonly history: DdiHistory;
  private readonly base: string;
  private runs: string;
  private before: string;
  private sleepMs = FIRST_SLEEP_MS;
  private leavesAt = Number.POSITIVE_INFINITY;
  private isStarting = true;
  private isKnown = false;
  /** Action that SWUpdate has installed, and closes after the restart. */
  private pending: { readonly id: string; readonly version: string } | undefined;

  constructor(
    private readonly world: DdiWorld,
    readonly identity: DdiIdentity,
    version: string,
  ) {
    this.history = new DdiHistory(world.record);
    this.base = `controller/v1/${identity.id}`;
    this.runs = version;
    this.before = version;
  }

  get version(): string {
    return this.runs;
  }

  /** Wakes up once: polls, and does what is listed. Returns the time until it wakes up next. */
  async wake(): Promise<number> {
    try {
      this.leaveIfDue();
      await this.follow(await this.poll());
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.world.record.refuse(error.message);
      return this.sleepMs;
    }
    return this.isStarting ? 0 : this.sleepMs;
  }

  private async poll(): Promise<Links> {
    const { config, _links: links } = JSON.parse(await this.send('GET', this.base)) as Poll;
    const [hours = 0, minutes = 0, seconds = 0] = config.polling.sleep.split(':').map(Number);
    this.sleepMs = ((hours * 60 + minutes) * 60 + seconds) * 1000;
    this.world.record.polls += 1;
    return links;
  }

  /** Does what a poll asks for. SWUpdate does one thing a poll, the other tells attributes and goes on. */
  private async follow({ configData, cancelAction, deploymentBase }: Links): Promise<void> {
    const isSwupdate = this.identity.client === 'SWUpdate';
    if (this.isStarting && isSwupdate) {
      // Both are sent again, at each poll, until they were taken.
      await this.confirm(deploymentBase?.href);
      await this.tell();
      this.isStarting = false;
      return;
    }
    this.isStarting = false;
    if (configData !== undefined) {
      await this.tell();
      if (isSwupdate) return;
    }
    if (cancelAction !== undefined) return this.cancel(cancelAction.href);
    if (deploymentBase !== undefined) await this.install(deploymentBase.href);
  }

  /** Tells the attributes, of which one is the version. */
  private async tell(): Promise<void> {
    this.history.tell(this.runs);
    const data = { version: this.runs, arch: archOf(this.identity.client) };
    await this.send('PUT', `${this.base}/configData`, { data });
    if (!this.isKnown) this.world.record.known += 1;
    this.isKnown = true;
  }

  private async install(href: string): Promise<void> {
    const { world, history } = this;
    const { id, deployment } = JSON.parse(await this.send('GET', href)) as Action;
    const version = deployment.chunks[0]?.version ?? '';
    world.record.of(version).actions += 1;
    await this.report(id, 'proceeding');
    history.begin(version, world.now());
    await world.pause(world.installMs * world.random());
    await this.report(id, 'proceeding');
    const fate = this.fateOf(version);
    if (fate === 'fails') return this.close(id, version, false);
    if (this.identity.client === 'SWUpdate') this.pending = { id, version };
    else await this.close(id, version, true);
    await world.pause((world.installMs / 5) * world.random());
    this.start(version, fate);
  }

  /** Starts the new version; rauc's boot loader falls back at once, SWUpdate's after it was confirmed. */
  private start(version: string, fate: DdiFate): void {
    const { world, identity } = this;
    this.isStarting = true;
    if (fate === 'falls back' && identity.client !== 'SWUpdate') {
      world.record.of(version).fellBack += 1;
      return;
    }
    if (fate === 'falls back') this.leavesAt = world.now() + world.installMs / 5;
    this.before = this.runs;
    this.runs = version;
  }

  private leaveIfDue(): void {
    if (this.isStarting || this.world.now() < this.leavesAt) return;
    this.world.record.of(this.runs).fellBack += 1;
    this.leavesAt = Number.POSITIVE_INFINITY;
    this.runs = this.before;
    this.isStarting = true;
  }

  /** Closes the action of before the restart, which SWUpdate can do only while it is listed. */
  private async confirm(href: string | undefined): Promise<void> {
    const { pending } = this;
    const isListed = pending !== undefined && href?.split('/').at(-1) === pending.id;
    if (isListed) await this.close(pending.id, pending.version, true);
    this.pending = undefined;
  }

  private async cancel(href: string): Promise<void> {
    const { cancelAction } = JSON.parse(await this.send('GET', href)) as {
      cancelAction: { stopId: string };
    };
    await this.report(cancelAction.stopId, 'closed', 'success', 'cancelAction');
    this.world.record.cancelled += 1;
  }

  private async close(id: string, version: string, isWell: boolean): Promise<void> {
    const retryAt = this.world.now() + this.world.retryAfterMs;
    await this.report(id, 'closed', isWell ? 'success' : 'failure');
    this.history.close(version, isWell, retryAt);
  }

  private async report(
    id: string,
    execution: string,
    finished = 'none',
    resource = 'deploymentBase',
  ): Promise<void> {
    const body = { id, status: { execution, result: { finished }, details: ['Step of a test.'] } };
    const address = `${this.base}/${resource}/${id}/feedback`;
    const isRepeating = this.identity.client === 'rauc-hawkbit-updater';
    for (let tries = 1; ; tries++) {
      try {
        await this.send('POST', address, body);
        return;
      } catch (error) {
        const isBusy = error instanceof Refused && /(?:409|429)$/.test(error.message);
        if (!isBusy || !isRepeating || tries === TRIES_MAX) throw error;
        await this.world.pause(RETRY_MS);
      }
    }
  }

  /** Sends a request, of which exactly 200 is a success; throws `Refused` with what it came to. */
  private async send(method: string, address: string, body?: Json): Promise<string> {
    const { record, ask } = this.world;
    record.requests += 1;
    const { status, text } = await ask(this.identity, method, address, body).catch((error) => {
      throw new Refused(`${method}: ${(error as NodeJS.ErrnoException).code ?? error}`);
    });
    if (status === 200) return text;
    throw new Refused(`${method}: ${status}`);
  }

  /** Returns the fate of a device on a release: the same one each time that it installs it. */
  private fateOf(version: string): DdiFate {
    const { fails, fallsBack } = this.world.shares.get(version) ?? { fails: 0, fallsBack: 0 };
    const drawn = cohortBucket(hashText(this.identity.id), hashText(version)) / COHORT_BUCKETS;
    if (drawn < fails) return 'fails';
    return drawn < fails + fallsBack ? 'falls back' : 'fine';
  }
}

/** Architecture of the boards that a client runs on: each client has an artifact of its own. */
export function archOf(client: DdiClient): string {
  return client === 'SWUpdate' ? 'armv7' : 'aarch64';
}
