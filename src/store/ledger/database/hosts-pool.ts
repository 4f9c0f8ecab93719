// Pool of connections to the one server that takes writes, among a primary and its standbys. If a connection
// fails or leads to a standby, the pool tries the next server of the address.

import pg from 'pg';
import { splitHosts } from '../../../contract/address.ts';

export type HostsPoolSettings = Omit<pg.PoolConfig, 'connectionString' | 'Client' | 'onConnect'> & {
  /** Maximum milliseconds for a connection, and for the wait for a free one. */
  readonly connectionTimeoutMillis: number;
};

export class HostsPool extends pg.Pool {
  readonly #hosts: Hosts;
  readonly #connectMsMax: number;

  /**
   * Creates the pool; it connects on first use. `url` names one server, or several separated by commas.
   * Throws for an invalid URL, without quoting it.
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
      // With a single server this check is not needed: the examination of the database finds a standby.
      ...(hosts.all.length > 1 && { onConnect: refuseStandby }),
    });
    this.#hosts = hosts;
    this.#connectMsMax = settings.connectionTimeoutMillis;
  }

  /**
   * Takes a connection. Tries each server at most once, and begins no try after the time for one connection.
   * Rejects with the error of the last server tried.
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

/** Addresses of the servers, and the index of the current one. */
class Hosts {
  #index = 0;

  constructor(readonly all: readonly string[]) {}

  get current(): string {
    return this.all[this.#index] ?? '';
  }

  /** Moves to the next server, unless another call has left this one already. */
  leave(host: string): void {
    if (host === this.current) this.#index = (this.#index + 1) % this.all.length;
  }
}

/** Throws for an invalid address. The driver's own error would quote it, with the password, in a log. */
export function refuseBadAddress(url: string): void {
  try {
    for (const connectionString of splitHosts(url)) new pg.Client({ connectionString });
  } catch {
    throw new Error('The database URL is not a valid PostgreSQL address');
  }
}

/** Rejects if a new connection leads to a standby. */
async function refuseStandby(client: pg.ClientBase): Promise<void> {
  const text = 'SELECT pg_is_in_recovery() AS "isStandby"';
  const { rows } = await client.query<{ isStandby: boolean }>(text);
  if (rows[0]?.isStandby) {
    throw new Error('no server of the address takes writes: the last one is a standby');
  }
}
