// Creates an organization with an app and a key on a running node, and calls the service as its publisher and
// its devices; the steps of the way to what a test is about throw unless they are accepted.

import { randomBytes } from 'node:crypto';
import { checkAnswer } from './answer-check.ts';
import { eventually } from './eventually.ts';
import { ADMIN_TOKEN } from './node.ts';

export type Answer = {
  readonly status: number;
  readonly headers: Headers;
  /** The parsed JSON body; undefined when there was none. */
  readonly body: Json | undefined;
  readonly text: string;
};

/** Names of a tenant, and the secret of its key. */
export type Names = Readonly<Record<'org' | 'app' | 'appId' | 'secret' | 'keyId', string>>;

export type Json = Record<string, unknown>;
/** A version to publish, and what `publish` takes as well. */
export type Version = readonly [version: string, more?: Json];

export type CheckOptions = {
  readonly channel?: string;
  readonly platform?: string;
  readonly arch?: string;
  readonly device?: string;
  /** Query string without `?`. */
  readonly query?: string;
  readonly method?: string;
};

export type Addressed = { readonly url: string };

/**
 * Sends a request; `body` is JSON unless it is text already. Throws when the OpenAPI document does not allow
 * the answer.
 */
export async function send(
  node: Addressed,
  method: string,
  path: string,
  options: { body?: unknown; headers?: Record<string, string> } = {},
): Promise<Answer> {
  const { body, headers = {} } = options;
  const response = await fetch(node.url + path, {
    method,
    headers: { 'x-forwarded-for': anyAddress(), ...headers },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  const { status, headers: told } = response;
  const contentType = told.get('content-type') ?? undefined;
  checkAnswer({ method, path, status, contentType, text });
  return { status, headers: told, body: parse(text), text };
}

/**
 * Returns a new client address for every request, so that none meets the limit of requests without a device
 * id.
 */
function anyAddress(): string {
  return `10.${[...randomBytes(3)].join('.')}`;
}

/** Calls the console API with the admin token. */
export function admin(
  node: Addressed,
  method: string,
  path: string,
  body?: unknown,
): Promise<Answer> {
  const headers = { authorization: `Bearer ${ADMIN_TOKEN}` };
  return send(node, method, `/console/api/${path}`, { body, headers });
}

/** Creates a tenant and publishes releases on stable, in this order; throws if one is not accepted. */
export async function createTenant(
  node: Addressed,
  ...releases: readonly Version[]
): Promise<Tenant> {
  const tenant = await createNamed(node);
  for (const [version, more] of releases) await tenant.release(version, more);
  return tenant;
}

/** Creates an organization with one app (channels stable and beta), which may have this ref, and one key. */
export async function createNamed(node: Addressed, ref = `app-${randomId()}`): Promise<Tenant> {
  const org = await text(admin(node, 'POST', 'organizations', { name: 'Test' }), 'id');
  const appId = await text(admin(node, 'POST', 'apps', { org, ref, name: 'Test app' }), 'id');
  return new Tenant(node, { org, app: ref, appId }).anotherKey();
}

/** Artifact that suits every check made by `check` without other options. */
export const ARTIFACT = {
  platform: 'linux',
  arch: 'x86_64',
  url: 'https://downloads.example.com/app.tar.gz',
  signature: 'c2lnbmF0dXJl',
} as const;

/** An app with its organization and a key, as a node is asked about it. */
export class Tenant implements Names {
  readonly org: string = '';
  readonly app: string = '';
  readonly appId: string = '';
  readonly secret: string = '';
  readonly keyId: string = '';
  private readonly node: Addressed;

  /** `names` are those that the calls need which are made; the others are empty. */
  constructor(node: Addressed, names: Partial<Names>) {
    Object.assign(this, names);
    this.node = node;
  }

  /** Returns the same tenant, as another node is asked about it. */
  at(node: Addressed): Tenant {
    return new Tenant(node, this);
  }

  /** Returns a tenant of which some names differ. */
  with(names: Partial<Names>): Tenant {
    return new Tenant(this.node, { ...this, ...names });
  }

  /**
   * Creates another key of the organization, because each has a rate limit of its own, or one that `limits`
   * narrow.
   */
  async anotherKey(limits: Json = {}): Promise<Tenant> {
    const key = admin(this.node, 'POST', 'keys', { org: this.org, name: 'ci', ...limits });
    const { secret, id } = await expected(201, key);
    return this.with({ secret: String(secret), keyId: String(id) });
  }

  /** Creates another app of the organization, and publishes releases on its stable, in this order. */
  async anotherApp(...releases: readonly Version[]): Promise<Tenant> {
    const app = `app-${randomId()}`;
    const made = admin(this.node, 'POST', 'apps', { org: this.org, ref: app, name: 'App' });
    const other = this.with({ app, appId: await text(made, 'id') });
    for (const [version, more] of releases) await other.release(version, more);
    return other;
  }

  /** Calls the management API with the tenant's key, and with `more` headers. */
  manage(method: string, path: string, body?: unknown, more: object = {}): Promise<Answer> {
    const headers = { authorization: `Bearer ${this.secret}`, ...more };
    return send(this.node, method, `/api/v1/${path}`, { body, headers });
  }

  /** Publishes a version on stable with one artifact; `more` adds to the body or replaces parts of it. */
  publish(version: string, more: Json = {}): Promise<Answer> {
    const body = { app: this.app, channel: 'stable', version, artifacts: [ARTIFACT], ...more };
    return this.manage('POST', 'releases', body);
  }

  /** Publishes a version as `publish` does, and returns the release; throws if it is not accepted. */
  async release(version: string, more: Json = {}): Promise<Json> {
    return (await expected(201, this.publish(version, more))).release as Json;
  }

  /** Makes a serving-control call on stable. */
  control(version: string, change: Json): Promise<Answer> {
    const body = { app: this.app, channel: 'stable', version, ...change };
    return this.manage('PATCH', 'releases', body);
  }

  /** Makes a serving-control call on stable; throws if it is not accepted. */
  async serve(version: string, change: Json): Promise<void> {
    await expected(200, this.control(version, change));
  }

  /** Withdraws a release of stable; `more` adds to the body or replaces parts of it. */
  withdraw(version: string, more: Json = {}): Promise<Answer> {
    const body = { app: this.app, channel: 'stable', version, ...more };
    return this.manage('DELETE', 'releases', body);
  }

  /** Changes a channel, by default stable; throws if that is not accepted. */
  async setChannel(change: Json, name = 'stable'): Promise<void> {
    const body = { app: this.app, name, ...change };
    await expected(200, admin(this.node, 'PATCH', 'channels', body));
  }

  /** Lets devices without a token speak DDI on stable, by these settings; throws if that is not accepted. */
  async openDdi(settings: Json = {}): Promise<void> {
    const body = { app: this.app, ddiAuth: 'open' };
    await expected(200, admin(this.node, 'PATCH', 'apps', body));
    await this.setChannel({ ddi: settings });
  }

  /** Returns the releases that the list shows of the tenant, newest first. */
  async releases(query = 'per_page=100'): Promise<Json[]> {
    const { body } = await this.manage('GET', `releases?${query}`);
    return (body?.releases ?? []) as Json[];
  }

  /** Returns the versions of the releases that the list shows of the tenant, newest first. */
  async versions(query?: string): Promise<unknown[]> {
    return (await this.releases(query)).map(({ version }) => version);
  }

  /** Returns the status and the share of a release; undefined if there is none. */
  async servedAs(version: string, channel = 'stable'): Promise<unknown> {
    const query = new URLSearchParams({ app: this.app, channel, version });
    const [release] = await this.releases(`${query}`);
    return release && [release.status, release.rolloutPct];
  }

  /** Returns the answer to a read of a release's plan. */
  async plan(version: string, channel = 'stable'): Promise<Json | undefined> {
    const query = new URLSearchParams({ app: this.app, channel, version });
    return (await admin(this.node, 'GET', `releases/plan?${query}`)).body;
  }

  /**
   * Returns the organization's entries of the audit, newest first; `query` narrows them. Those that tokens of
   * other suites leave in every organization are left out.
   */
  async audit(query = 'limit=1000'): Promise<Json[]> {
    const { body } = await admin(this.node, 'GET', `audit?org=${this.org}&${query}`);
    const entries = (body?.entries ?? []) as Json[];
    return entries.filter(({ action }) => !String(action).startsWith('edge-token.'));
  }

  /** Makes an update check, by default from linux and x86_64 on stable, without a device id. */
  check(version: string, options: CheckOptions = {}): Promise<Answer> {
    const { channel = 'stable', platform = 'linux', arch = 'x86_64', query, device } = options;
    const segments = [this.app, channel, platform, arch, version].map(encodeURIComponent);
    const path = `/u/${segments.join('/')}${query === undefined ? '' : `?${query}`}`;
    const headers: Record<string, string> =
      device === undefined ? {} : { 'x-service-device': device };
    return send(this.node, options.method ?? 'GET', path, { headers });
  }

  /** Returns the version that a check is offered; null for 204, else the status. */
  async offered(version = '0.9.0', options: CheckOptions = {}): Promise<unknown> {
    const { status, body } = await this.check(version, options);
    return status === 204 ? null : (body?.version ?? status);
  }

  /** Waits until the node offers a version to who asks from 0.9.0. */
  untilOffered(version: string, options: CheckOptions = {}): Promise<void> {
    return eventually(`${version} is offered by ${this.node.url}`, async () => {
      return (await this.offered('0.9.0', options)) === version;
    });
  }

  /** Sends a fleet report of these devices; `more` adds to the body or replaces parts of it. */
  report(devices: readonly unknown[], more: object = {}): Promise<Answer> {
    return this.manage('POST', 'fleet/report', { app: this.app, devices, ...more });
  }

  /** Plans a wave for these devices; `more` adds to the body or replaces parts of it. */
  decisions(devices: readonly unknown[], more: object = {}): Promise<Answer> {
    return this.manage('POST', 'fleet/decisions', { app: this.app, devices, ...more });
  }

  /** Returns the app's devices as the console lists them, by device id; `query` adds filters, without `&`. */
  async devices(query = 'limit=1000'): Promise<Json[]> {
    const answer = admin(this.node, 'GET', `devices?app=${this.app}&${query}`);
    return (await expected(200, answer)).devices as Json[];
  }

  /** Returns the ids of the app's devices as `devices` does. */
  async deviceIds(query?: string): Promise<unknown[]> {
    return (await this.devices(query)).map(({ deviceId }) => deviceId);
  }

  /** Waits until devices are on record. */
  untilRecorded(...ids: readonly string[]): Promise<void> {
    return eventually(`${ids.length} devices are on record`, async () => {
      const known = await this.deviceIds();
      return ids.every((id) => known.includes(id));
    });
  }
}

/** Returns the release of an answer; empty when it has none. */
export function releaseOf({ body }: Answer): Json {
  return (body?.release ?? {}) as Json;
}

export function randomId(): string {
  return randomBytes(6).toString('hex');
}

/** Returns the body of an answer; throws if its status is another. */
async function expected(status: number, answer: Promise<Answer>): Promise<Json> {
  const { status: actual, body = {}, text: raw } = await answer;
  if (actual !== status) throw new Error(`unexpected ${actual}: ${raw.slice(0, 200)}`);
  return body;
}

async function text(answer: Promise<Answer>, field: string): Promise<string> {
  return String((await expected(201, answer))[field]);
}

function parse(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}
