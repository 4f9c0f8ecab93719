// Pool of connections to the one among several servers that takes writes: a primary and its standbys. When a
// connection cannot be made, or leads to a standby, the next server of the address is tried.

import pg from 'pg';
import { splitHosts } from '../../contract/split-hosts.ts';

export type HostsPoolSettings = Omit<pg.PoolConfig, 'connectionString' | 'Client' | 'onConnect'> & {
  /** Milliseconds that a connection may take, and the wait for a free one. */
  readonly connectionTimeoutMillis: number;
};

export class HostsPool extends pg.Pool {
  readonly #hosts: Hosts;
  readonly #connectMsMax: number;

  /**
   * Opens the pool without a connection. `url` names one server, or several with commas between them. Throws
   * when it is not valid, without quoting it.
   */
  constructor(url: string, settings: HostsPoolSettings) {
    refuseBadAddress(url);
    const hosts = new Hosts(splitHosts(url));
    super({
      ...settings,
      Client: class extends pg.Client {
        constructor(own?: pg.ClientConfig) {
          super({ ...own, connectionString: hosts.current });
        }
      },
      // One server alone is not asked: examining the database tells whether it takes writes.
      ...(hosts.all.length > 1 && { onConnect: refuseStandby }),
    });
    this.#hosts = hosts;
    this.#connectMsMax = settings.connectionTimeoutMillis;
  }

  /**
   * Takes a connection. Each server is tried once, as long as connecting to one of them may take. Rejects
   * with the error of the last one.
   */
  async take(): Promise<pg.PoolClient> {
    const deadline = performance.now() + this.#connectMsMax;
    for (let tried = 1; ; tried++) {
      const host = this.#hosts.current;
      try {
        return await this.connect();
      } catch (error) {
        this.#hosts.leave(host);
        if (tried === this.#hosts.all.length || performance.now() > deadline) throw error;
      }
    }
  }
}

/** Addresses of the servers, and the one that connections are made to. */
class Hosts {
  readonly all: readonly string[];
  #index = 0;

  constructor(all: readonly string[]) {
    this.all = all;
  }

  get current(): string {
    return this.all[this.#index] ?? '';
  }

  /** Goes on to the next one, unless another call has left this one already. */
  leave(host: string): void {
    if (host === this.current) this.#index = (this.#index + 1) % this.all.length;
  }
}

/**
 * Throws when the address of one server, or of several, is not valid, because the driver's own error would
 * carry the address, with its password, into a log.
 */
export function refuseBadAddress(url: string): void {
  try {
    for (const connectionString of splitHosts(url)) new pg.Client({ connectionString });
  } catch {
    throw new Error('The database URL is not a valid PostgreSQL address');
  }
}

/** Rejects when a new connection leads to a server that refuses writes. */
async function refuseStandby(client: pg.ClientBase): Promise<void> {
  const text = 'SELECT pg_is_in_recovery() AS "isStandby"';
  const { rows } = await client.query<{ isStandby: boolean }>(text);
  if (rows[0]?.isStandby) {
    throw new Error('no server of the address takes writes: the last one is a standby');
  }
}
