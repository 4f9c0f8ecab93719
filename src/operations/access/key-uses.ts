// When and from where API keys were last used: noted during authentication and written a little later, off
// the request's path, at most once a minute per key. A lost time is replaced by the next use.

import { LRUCache } from 'lru-cache';
import { isoTime } from '../../contract/iso-time.ts';
import type { RareLog } from '../../observe/rare-log.ts';
import type { KeyUse } from '../../ports/console-ledger.ts';
import type { Ledger } from '../../ports/ledger.ts';

const INTERVAL_MS = 1000;
const QUIET_MS = 60_000;
const KEYS_MAX = 10_000;

export class KeyUses {
  private readonly ledger: Pick<Ledger, 'recordKeyUses'>;
  private readonly log: RareLog;
  /** Time of each key's latest noted use, in milliseconds since 1970. */
  private readonly notedAt = new LRUCache<string, number>({ max: KEYS_MAX });
  private pending = new Map<string, KeyUse>();
  private writing: Promise<void> | undefined;
  private timer: NodeJS.Timeout | undefined;

  constructor(ledger: Pick<Ledger, 'recordKeyUses'>, log: RareLog) {
    this.ledger = ledger;
    this.log = log;
  }

  /** Notes that a key was used just now, from this address. */
  note(keyId: string, address: string): void {
    const now = Date.now();
    const isRecent = now - (this.notedAt.get(keyId) ?? 0) < QUIET_MS;
    if (isRecent || this.pending.size >= KEYS_MAX) return;
    this.notedAt.set(keyId, now);
    this.pending.set(keyId, { id: keyId, at: isoTime(now), from: address });
  }

  start(): void {
    this.timer = setInterval(() => {
      this.writing ??= this.write().finally(() => {
        this.writing = undefined;
      });
    }, INTERVAL_MS);
  }

  /** Writes the times that are not written yet. */
  async stop(): Promise<void> {
    clearInterval(this.timer);
    await this.writing;
    await this.write();
  }

  private async write(): Promise<void> {
    if (this.pending.size === 0) return;
    const uses = [...this.pending.values()];
    this.pending = new Map();
    try {
      await this.ledger.recordKeyUses(uses);
    } catch (error) {
      for (const { id } of uses) this.notedAt.delete(id);
      this.log.warn({ err: error }, 'last uses of keys could not be recorded');
    }
  }
}
