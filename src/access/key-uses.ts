// When and from where API keys were last used: noted during authentication and written a little later, off
// the request's path. Uses of a key from one address are written once a minute, another address within a
// second, and the last use always.

import { LRUCache } from 'lru-cache';
import { isoTime } from '../contract/iso-time.ts';
import type { RareLog } from '../observe/rare-log.ts';
import type { Ledger } from '../store/ledger.ts';

const INTERVAL_MS = 1000;
const QUIET_MS = 60_000;
const KEYS_MAX = 10_000;

/** Use of a key at a time in milliseconds since 1970. */
type Use = { readonly at: number; readonly from: string };

export class KeyUses {
  private readonly ledger: Pick<Ledger, 'recordKeyUses'>;
  private readonly log: RareLog;
  /** Use of each key that was written last, or is about to be. */
  private readonly noted = new LRUCache<string, Use>({ max: KEYS_MAX });
  /** Uses to be written next. */
  private pending = new Map<string, Use>();
  /** Later uses from the noted address, to be written when the minute is over. */
  private readonly later = new Map<string, Use>();
  private writing: Promise<void> | undefined;
  private timer: NodeJS.Timeout | undefined;

  constructor(ledger: Pick<Ledger, 'recordKeyUses'>, log: RareLog) {
    this.ledger = ledger;
    this.log = log;
  }

  /** Notes that a key was used just now, from this address. */
  note(keyId: string, from: string): void {
    const use = { at: Date.now(), from };
    const noted = this.noted.get(keyId);
    const isNews = this.pending.has(keyId) || noted?.from !== from || use.at - noted.at >= QUIET_MS;
    const queue = isNews ? this.pending : this.later;
    if (queue.size >= KEYS_MAX && !queue.has(keyId)) return;
    queue.set(keyId, use);
    if (isNews) this.take(keyId, use);
  }

  start(): void {
    this.timer = setInterval(() => {
      this.writing ??= this.write(Date.now() - QUIET_MS).finally(() => {
        this.writing = undefined;
      });
    }, INTERVAL_MS);
  }

  /** Writes the uses that are not written yet. */
  async stop(): Promise<void> {
    clearInterval(this.timer);
    await this.writing;
    await this.write(Number.POSITIVE_INFINITY);
  }

  /** Writes what is pending, and later uses of keys whose noted use is not after `quietSince`. */
  private async write(quietSince: number): Promise<void> {
    for (const [keyId, use] of this.later) {
      if ((this.noted.get(keyId)?.at ?? 0) > quietSince) continue;
      this.pending.set(keyId, use);
      this.take(keyId, use);
    }
    if (this.pending.size === 0) return;
    const uses = this.pending;
    this.pending = new Map();
    try {
      await this.ledger.recordKeyUses(
        [...uses].map(([id, { at, from }]) => ({ id, at: isoTime(at), from })),
      );
    } catch (error) {
      this.pending = new Map([...uses, ...this.pending]);
      this.log.warn({ err: error }, 'last uses of keys could not be recorded');
    }
  }

  private take(keyId: string, use: Use): void {
    this.noted.set(keyId, use);
    this.later.delete(keyId);
  }
}
