// Guard before a Redis: nothing is asked of one that belongs to another record than this node. Which record
// a Redis belongs to stands in a key of it, which the first node writes. It is looked at on every new
// connection, behind which there may be another server, and now and then, because keys can be lost and
// servers be moved behind an address.
//
// While this node does not know its own record, because neither its database nor its disk has told it yet,
// every Redis is used: it is then the only one that knows anything.

import { OfAnotherRecord, Unavailable } from '../../contract/unavailable.ts';
import type { ChannelNameStore } from '../engine.ts';
import { SCRIPTS } from './commands.ts';
import type { RedisConnection } from './connection.ts';
import type { Keys } from './keys.ts';

/** Milliseconds between two looks at a Redis that is used, or refused. */
const LOOK_INTERVAL_MS = 1000;

/** Returns whether the ledger has one of these channels. */
export type KnowsSome = (channels: readonly { readonly channelId: string }[]) => Promise<boolean>;

export type RecordGuardDependencies = {
  readonly connection: Pick<RedisConnection, 'session' | 'readField' | 'run'>;
  readonly keys: Pick<Keys, 'record'>;
  readonly names: Pick<ChannelNameStore, 'getChannelNames'>;
  /** Called when a Redis is refused that was not before, and when one is used again. */
  readonly onChange: (refusal: OfAnotherRecord | undefined) => void;
};

/** What was found out about a connection for a record. */
type Look = {
  readonly session: object | undefined;
  readonly record: string;
  readonly refusal: OfAnotherRecord | undefined;
};

export class RecordGuard {
  private readonly dependencies: RecordGuardDependencies;
  private readonly timer: NodeJS.Timeout;
  private record: string | undefined;
  private knowsSome: KnowsSome = async () => false;
  private latest: Look | undefined;
  private looking: Promise<void> | undefined;

  constructor(dependencies: RecordGuardDependencies) {
    this.dependencies = dependencies;
    this.timer = setInterval(() => void this.look().catch(() => undefined), LOOK_INTERVAL_MS);
    this.timer.unref();
  }

  /** Why the Redis is refused; undefined while it is not, as far as is known. */
  get refusal(): OfAnotherRecord | undefined {
    return this.latest?.refusal;
  }

  /** Whether the Redis may be used without another look at it. */
  get isOpen(): boolean {
    return this.record === undefined || (this.isCurrent && this.refusal === undefined);
  }

  /**
   * Refuses from now on what belongs to another record than this; undefined for one that is not known.
   * `knowsSome` tells a Redis that has no name yet from others.
   */
  expect(record: string | undefined, knowsSome: KnowsSome): void {
    this.knowsSome = knowsSome;
    this.record = record;
    if (record === undefined) this.note(undefined);
    else if (!this.isCurrent) void this.look().catch(() => undefined);
  }

  /** Resolves when the Redis may be used; rejects with `Unavailable` when it may not, or does not answer. */
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

  /** Looks at the Redis; of several calls at once, one does. */
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
      // The ledger, perhaps, which was asked about channels.
      throw error instanceof Unavailable ? new Unavailable('engine', error.cause) : error;
    });
    const refusal =
      found === record
        ? undefined
        : new OfAnotherRecord('engine', 'Redis is of another record than the database');
    // What was found is of a connection that may have ended, or for a record that is not this node's any
    // more.
    if (this.record === record) this.note({ session, record, refusal });
  }

  /** Returns the name of the record that the Redis belongs to, which gets the name of this one if it may. */
  private async recordOf(record: string): Promise<string | undefined> {
    const { connection, keys, names } = this.dependencies;
    const found = await connection.readField(keys.record, 'name');
    if (found !== null) return found;
    // Emptied, or written by nodes that know no names of records.
    const { channels = [] } = (await names.getChannelNames(undefined)) ?? {};
    if (channels.length > 0 && !(await this.knowsSome(channels))) return undefined;
    return String(await connection.run(SCRIPTS.claimRecord, keys.record, record));
  }

  private note(latest: Look | undefined): void {
    const before = this.refusal;
    this.latest = latest;
    if ((before === undefined) !== (this.refusal === undefined)) {
      this.dependencies.onChange(this.refusal);
    }
  }
}

/** Returns a connection on which nothing is asked that the guard does not let pass. */
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
    readField: guarded(connection.readField),
    readFields: guarded(connection.readFields),
    writeFields: guarded(connection.writeFields),
    readLength: guarded(connection.readLength),
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
