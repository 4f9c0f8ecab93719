// Judges the credentials of devices that speak DDI (docs/contract.md 34.42, 34.44) by what this process has
// read of their app. A read is renewed in the background while the app's devices ask, so that a request waits
// only for an app that nobody has asked for lately, and for a credential that is not known: it may be new.
// While the ledger does not answer, what was read last counts.

import { createHash, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { KeyUses } from '../access/api-keys.ts';
import { whenAway } from '../contract/store-fault.ts';
import { Batcher } from '../flow/batcher.ts';
import { withinTime } from '../flow/within-time.ts';
import type { RareLog } from '../observe/rare-log.ts';
import type { StoredDdiCredentials } from '../store/ddi-ledger.ts';
import type { Ledger } from '../store/ledger.ts';
import { deviceTokenBytes, openDdiSecret } from './ddi-tokens.ts';

/** Whether a credential is one of the app, for the device; `unknown` while that cannot be told. */
export type DdiJudgement = 'valid' | 'invalid' | 'unknown';

type DdiCredentialsDependencies = {
  readonly ledger: Pick<Ledger, 'readDdiCredentials' | 'recordGatewayTokenUses'>;
  /** Decryption of secrets; undefined without SECRET_KEY. */
  readonly box: Parameters<typeof openDdiSecret>[0] | undefined;
  readonly log: RareLog;
  /** Clock in milliseconds that never goes back. */
  readonly now?: () => number;
};

/** Credential of a request: 32 characters of base64url. */
type Presented = { readonly isOfGateway: boolean; readonly token: string };

/** Valid credentials of an app, as they were at `readAt`. */
type Known = {
  readonly tokens: readonly { readonly id: string; readonly hash: Buffer }[];
  readonly secrets: readonly KeyObject[];
  /** Whether there is a secret that no SECRET_KEY decrypts. */
  readonly isUnreadable: boolean;
  readonly readAt: number;
};

/** Age in milliseconds from which the next request of the app has its credentials read in the background. */
const RENEWED_MS = 2000;
/** Age in milliseconds up to which a read counts while the ledger answers. */
const FRESH_MS = 4000;
/** Age in milliseconds from which a read says nothing of credentials that it lacks. */
const LACKING_MS = 500;
/** Longest wait for a read: with the age above, a revoked token is refused within 5 seconds. */
const WAIT_MS_MAX = 800;
/** Milliseconds without another read after one that failed. */
const RETRY_MS = 1000;
/** Maximum number of apps whose credentials a process holds. */
const APPS_MAX = 10_000;
/** Maximum number of apps in one read, and of requests that wait for reads. */
const BATCH_MAX = 500;
const WAITING_MAX = 10_000;

export class DdiCredentials {
  private readonly known = new LRUCache<string, Known>({ max: APPS_MAX });
  private readonly renewing = new Set<string>();
  private readonly reads: Batcher<string, Known | undefined>;
  private readonly uses: KeyUses;
  private readonly now: () => number;
  /** Time of the last read that failed, or took too long; undefined once one succeeded. */
  private failedAt: number | undefined;

  constructor(private readonly dependencies: DdiCredentialsDependencies) {
    const { ledger, log, now = () => performance.now() } = dependencies;
    this.now = now;
    // Devices of a gateway have many addresses: noting them would write a token's row every second.
    this.uses = new KeyUses({ recordKeyUses: (uses) => ledger.recordGatewayTokenUses(uses) }, log);
    this.reads = new Batcher({
      ask: (appIds) => this.readAll(appIds),
      ...{ batchSizeMax: BATCH_MAX, batchesMax: 2, pendingMax: WAITING_MAX },
    });
  }

  /** Begins to write when gateway tokens were last used. */
  start(): void {
    this.uses.start();
  }

  /** Writes the last uses that are not written yet. */
  stop(): Promise<void> {
    return this.uses.stop();
  }

  /**
   * Judges the header `Authorization` of a device's request: at once where that is possible, else with a
   * promise, which never rejects because the ledger is away.
   */
  judge(
    appId: string,
    deviceId: string,
    header: string | undefined,
  ): DdiJudgement | Promise<DdiJudgement> {
    const presented = readHeader(header);
    if (presented === undefined) return 'invalid';
    const known = this.known.get(appId);
    if (known === undefined) return this.judgeAnew(appId, deviceId, presented);
    const ageMs = this.now() - known.readAt;
    if (ageMs >= RENEWED_MS) this.renew(appId);
    if (ageMs < FRESH_MS || this.failedAt !== undefined) {
      const judgement = this.judgeBy(known, appId, deviceId, presented);
      if (judgement !== 'invalid' || ageMs < LACKING_MS) return judgement;
    }
    return this.judgeAnew(appId, deviceId, presented);
  }

  private async judgeAnew(
    appId: string,
    deviceId: string,
    presented: Presented,
  ): Promise<DdiJudgement> {
    const read = await this.read(appId);
    const known = read ?? this.known.get(appId);
    if (known === undefined) return 'unknown';
    const judgement = this.judgeBy(known, appId, deviceId, presented);
    return read === undefined && judgement === 'invalid' ? 'unknown' : judgement;
  }

  /** Compares with every credential, so that the time does not tell which one is right. */
  private judgeBy(
    { tokens, secrets, isUnreadable }: Known,
    appId: string,
    deviceId: string,
    { isOfGateway, token }: Presented,
  ): DdiJudgement {
    if (isOfGateway) {
      const hash = createHash('sha256').update(token).digest();
      const [right] = tokens.filter((each) => timingSafeEqual(each.hash, hash));
      if (right === undefined) return 'invalid';
      this.uses.note(right.id, '');
      return 'valid';
    }
    const bytes = Buffer.from(token, 'base64url');
    const right = secrets.filter((secret) =>
      timingSafeEqual(deviceTokenBytes(secret, appId, deviceId), bytes),
    );
    if (right.length > 0) return 'valid';
    return isUnreadable ? 'unknown' : 'invalid';
  }

  /** Reads the credentials of an app in the background, unless that is being done. */
  private renew(appId: string): void {
    if (this.renewing.has(appId)) return;
    this.renewing.add(appId);
    void this.read(appId).finally(() => this.renewing.delete(appId));
  }

  /** Returns the present credentials of an app; undefined if the ledger does not answer in time. */
  private async read(appId: string): Promise<Known | undefined> {
    const { failedAt } = this;
    if (failedAt !== undefined && this.now() - failedAt < RETRY_MS) return undefined;
    const reading = this.reads.ask(appId).catch(whenAway(() => undefined));
    const read = await withinTime(reading, WAIT_MS_MAX);
    if (read === undefined) this.failedAt = this.now();
    return read;
  }

  /** Reads the credentials of apps, which may repeat, and holds them, also after `WAIT_MS_MAX`. */
  private async readAll(appIds: readonly string[]): Promise<readonly (Known | undefined)[]> {
    const readAt = this.now();
    const stored = await this.dependencies.ledger.readDdiCredentials([...new Set(appIds)]);
    this.failedAt = undefined;
    const read = new Map(stored.map((each) => [each.appId, this.open(each, readAt)]));
    for (const [appId, known] of read) {
      // Of two reads at once, the one that began later counts.
      if ((this.known.get(appId)?.readAt ?? readAt) <= readAt) this.known.set(appId, known);
    }
    return appIds.map((appId) => read.get(appId));
  }

  private open({ appId, tokens, secrets }: StoredDdiCredentials, readAt: number): Known {
    const { box, log } = this.dependencies;
    const opened = secrets.map((secret) => box && openDdiSecret(box, secret));
    const readable = opened.filter((secret) => secret !== undefined);
    const isUnreadable = readable.length < secrets.length;
    if (isUnreadable) {
      const reason = box === undefined ? 'SECRET_KEY is not set' : 'SECRET_KEY is another one';
      const message = 'secret of device tokens cannot be read, its devices are refused';
      log.warnAbout(appId, { appId, reason }, message);
    }
    return {
      tokens: tokens.map(({ id, tokenHash }) => ({ id, hash: Buffer.from(tokenHash, 'hex') })),
      secrets: readable.map((secret) => createSecretKey(Buffer.from(secret))),
      ...{ isUnreadable, readAt },
    };
  }
}

const HEADER = /^(gateway|target)token +([\w-]{32}) *$/i;

/** Parses the header `Authorization`; undefined if it is missing or of another form. */
function readHeader(header: string | undefined): Presented | undefined {
  const [, scheme, token] = HEADER.exec(header ?? '') ?? [];
  if (scheme === undefined || token === undefined) return undefined;
  return { isOfGateway: scheme.toLowerCase() === 'gateway', token };
}
