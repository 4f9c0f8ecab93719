// When API keys were last used: noted where they are checked, written a little later, off the request's
// path. Of each key once a minute at most; when it is lost, the next use tells again.

import { LRUCache } from 'lru-cache';
import type { RareLog } from '../observe/rare-log.ts';
import type { Ledger } from '../ports/ledger.ts';

const INTERVAL_MS = 1000;
const QUIET_MS = 60_000;
const KEYS_MAX = 10_000;

export class KeyUses {
  private readonly ledger: Pick<Ledger, 'recordKeyUses'>;
  private readonly log: RareLog;
  /** When a key's use was noted last, in milliseconds since 1970. */
  private readonly notedAt = new LRUCache<string, number>({ max: KEYS_MAX });
  private pending = new Map<string, string>();
  private writing: Promise<void> | undefined;
  private timer: NodeJS.Timeout | undefined;

  constructor(ledger: Pick<Ledger, 'recordKeyUses'>, log: RareLog) {
    this.ledger = ledger;
    this.log = log;
  }

  /** Notes that a key was used just now. */
  note(keyId: string): void {
    const now = Date.now();
    const isRecent = now - (this.notedAt.get(keyId) ?? 0) < QUIET_MS;
    if (isRecent || this.pending.size >= KEYS_MAX) return;
    this.notedAt.set(keyId, now);
    this.pending.set(keyId, new Date(now).toISOString());
  }

  start(): void {
    this.timer = setInterval(() => {
      this.writing ??= this.write().finally(() => {
        this.writing = undefined;
      });
    }, INTERVAL_MS);
  }

  /** Writes what is left. */
  async stop(): Promise<void> {
    clearInterval(this.timer);
    await this.writing;
    await this.write();
  }

  private async write(): Promise<void> {
    if (this.pending.size === 0) return;
    const uses = [...this.pending].map(([id, at]) => ({ id, at }));
    this.pending = new Map();
    try {
      await this.ledger.recordKeyUses(uses);
    } catch (error) {
      for (const { id } of uses) this.notedAt.delete(id);
      this.log.warn({ err: error }, 'last uses of keys could not be recorded');
    }
  }
}
