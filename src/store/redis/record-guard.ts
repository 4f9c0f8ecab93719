// Guard that keeps this node from using a Redis of another record. The first node stores the record's name in
// Redis; the guard reads it on every new connection and once a second, because keys can be lost and an
// address can lead to another server.
//
// Until this node knows its own record, from its database or its disk, it uses any Redis.

import { OfAnotherRecord, Unavailable } from '../../contract/store-fault.ts';
import type { ChannelNameStore } from '../engine.ts';
import { SCRIPTS } from './commands.ts';
import type { RedisConnection } from './connection.ts';
import type { Keys } from './keys.ts';

/** Milliseconds between two reads of the name. */
const LOOK_INTERVAL_MS = 1000;

/** Returns whether the ledger has one of these channels. */
export type KnowsSome = (channels: readonly { readonly channelId: string }[]) => Promise<boolean>;

export type RecordGuardDependencies = {
  readonly connection: Pick<RedisConnection, 'session' | 'readField' | 'run'>;
  readonly keys: Pick<Keys, 'record'>;
  readonly names: Pick<ChannelNameStore, 'getChannelNames'>;
  /** Called when the guard begins to refuse Redis, and when it stops. */
  readonly onChange: (refusal: OfAnotherRecord | undefined) => void;
};

/** Result of a read of the name, with the connection and the expected record at that time. */
type Look = {
  readonly session: object | undefined;
  readonly record: string;
  readonly refusal: OfAnotherRecord | undefined;
};

export class RecordGuard {
  private readonly timer: NodeJS.Timeout;
  private record: string | undefined;
  private knowsSome: KnowsSome = async () => false;
  private latest: Look | undefined;
  private looking: Promise<void> | undefined;

  constructor(private readonly dependencies: RecordGuardDependencies) {
    this.timer = setInterval(() => void this.look().catch(() => undefined), LOOK_INTERVAL_MS);
    this.timer.unref();
  }

  /** Why Redis is refused; undefined when it is not, as far as the latest read shows. */
  get refusal(): OfAnotherRecord | undefined {
    return this.latest?.refusal;
  }

  /** Whether Redis may be used without another read. */
  get isOpen(): boolean {
    return this.record === undefined || (this.isCurrent && this.refusal === undefined);
  }

  /**
   * Sets the record that Redis must belong to; undefined while this node does not know it. `knowsSome` checks
   * a Redis that has no record name yet, by its channels.
   */
  expect(record: string | undefined, knowsSome: KnowsSome): void {
    this.knowsSome = knowsSome;
    this.record = record;
    if (record === undefined) this.note(undefined);
    else if (!this.isCurrent) void this.look().catch(() => undefined);
  }

  /** Resolves when Redis may be used; rejects with `Unavailable` when it is refused or does not answer. */
  async pass(): Promise<void> {
    if (this.isOpen) return;
    if (!this.isCurrent) await this.look();
    const { refusal } = this;
    if (refusal !== undefined) throw refusal;
    if (!this.isOpen) throw new Unavailable('engine', 'it is being looked at');
  }

  close(): void {
    clearInterval(this.timer);
  }

  private get isCurrent(): boolean {
    const { latest, record } = this;
    return latest?.record === record && latest?.session === this.dependencies.connection.session;
  }

  /** Reads the name; concurrent calls share one read. */
  private look(): Promise<void> {
    this.looking ??= this.lookOnce().finally(() => {
      this.looking = undefined;
    });
    return this.looking;
  }

  private async lookOnce(): Promise<void> {
    const { record } = this;
    const { session } = this.dependencies.connection;
    if (record === undefined || session === undefined) return;
    const found = await this.recordOf(record).catch((error: unknown) => {
      // It may be the ledger's `Unavailable`, from `knowsSome`.
      throw error instanceof Unavailable ? new Unavailable('engine', error.cause) : error;
    });
    const refusal =
      found === record
        ? undefined
        : new OfAnotherRecord('engine', 'it is of another record than the database');
    // Ignored if this node has got another record meanwhile.
    if (this.record === record) this.note({ session, record, refusal });
  }

  /**
   * Returns the name of the record in Redis. If there is none, stores `record` and returns it, unless Redis
   * has channels of which the ledger has none: then undefined.
   */
  private async recordOf(record: string): Promise<string | undefined> {
    const { connection, keys, names } = this.dependencies;
    const found = await connection.readField(keys.record, 'name');
    if (found !== null) return found;
    // There is none if Redis was emptied, or was used by nodes of an older version.
    const { channels = [] } = (await names.getChannelNames(undefined)) ?? {};
    if (channels.length > 0 && !(await this.knowsSome(channels))) return undefined;
    return String(await connection.run(SCRIPTS.claimField, keys.record, 'name', record));
  }

  private note(latest: Look | undefined): void {
    const before = this.refusal;
    this.latest = latest;
    if ((before === undefined) !== (this.refusal === undefined)) {
      this.dependencies.onChange(this.refusal);
    }
  }
}

/** Returns a connection whose commands wait for the guard. */
export function guardConnection(connection: RedisConnection, guard: RecordGuard): RedisConnection {
  const guarded =
    <Args extends readonly unknown[], Answer>(call: (...args: Args) => Promise<Answer>) =>
    (...args: Args): Promise<Answer> =>
      guard.isOpen ? call(...args) : guard.pass().then(() => call(...args));
  return {
    get session() {
      return connection.session;
    },
    run: guarded(connection.run),
    runForBytes: guarded(connection.runForBytes),
    runWithBytes: guarded(connection.runWithBytes),
    runAll: guarded(connection.runAll),
    runEach: guarded(connection.runEach),
    runPacked: guarded(connection.runPacked),
    readField: guarded(connection.readField),
    readFields: guarded(connection.readFields),
    writeFields: guarded(connection.writeFields),
    describeServers: connection.describeServers,
    async isReachable() {
      if (!(await connection.isReachable())) return false;
      return guard.pass().then(
        () => true,
        () => false,
      );
    },
    close() {
      guard.close();
      connection.close();
    },
  };
}
