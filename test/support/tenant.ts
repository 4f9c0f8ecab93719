// Creates an organization with an app and a key on a running node, and calls the service as its publisher and
// its devices.

import { randomBytes } from 'node:crypto';
import { checkAnswer } from './answer-check.ts';
import { eventually } from './eventually.ts';
import { ADMIN_TOKEN } from './node.ts';

export type Answer = {
  readonly status: number;
  readonly headers: Headers;
  /** The parsed JSON body; undefined when there was none. */
  readonly body: Record<string, unknown> | undefined;
  readonly text: string;
};

export type Tenant = {
  readonly org: string;
  readonly app: string;
  readonly appId: string;
  readonly secret: string;
  readonly keyId: string;
};

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

/** Creates an organization with one app (channels stable and beta) and one key. */
export async function createTenant(node: Addressed, ref = `app-${randomId()}`): Promise<Tenant> {
  const org = await text(admin(node, 'POST', 'organizations', { name: 'Test' }), 'id');
  const app = await admin(node, 'POST', 'apps', { org, ref, name: 'Test app' });
  if (app.status !== 201) throw new Error(`app not created: ${app.text}`);
  const key = await admin(node, 'POST', 'keys', { org, name: 'ci' });
  return {
    org,
    app: ref,
    appId: String(app.body?.id),
    secret: String(key.body?.secret),
    keyId: String(key.body?.id),
  };
}

/** Creates another key of the organization, because each key has a rate limit of its own. */
export async function anotherKey(node: Addressed, tenant: Tenant): Promise<Tenant> {
  const key = await admin(node, 'POST', 'keys', { org: tenant.org, name: 'more' });
  return { ...tenant, secret: String(key.body?.secret), keyId: String(key.body?.id) };
}

/** Calls the management API with the tenant's key. */
export function manage(
  node: Addressed,
  tenant: Pick<Tenant, 'secret'>,
  method: string,
  path: string,
  body?: unknown,
): Promise<Answer> {
  const headers = { authorization: `Bearer ${tenant.secret}` };
  return send(node, method, `/api/v1/${path}`, { body, headers });
}

/** Artifact that suits every check made by `check` without other options. */
export const ARTIFACT = {
  platform: 'linux',
  arch: 'x86_64',
  url: 'https://downloads.example.com/app.tar.gz',
  signature: 'c2lnbmF0dXJl',
} as const;

/** Publishes a version on stable with one artifact; `more` adds to the body or replaces parts of it. */
export function publish(
  node: Addressed,
  tenant: Tenant,
  version: string,
  more: Record<string, unknown> = {},
): Promise<Answer> {
  const body = { app: tenant.app, channel: 'stable', version, artifacts: [ARTIFACT], ...more };
  return manage(node, tenant, 'POST', 'releases', body);
}

/** Makes a serving-control call on stable. */
export function control(
  node: Addressed,
  tenant: Tenant,
  version: string,
  change: Record<string, unknown>,
): Promise<Answer> {
  const body = { app: tenant.app, channel: 'stable', version, ...change };
  return manage(node, tenant, 'PATCH', 'releases', body);
}

/** Makes an update check, by default from linux and x86_64 on stable, without a device id. */
export function check(
  node: Addressed,
  tenant: Pick<Tenant, 'app'>,
  version: string,
  options: CheckOptions = {},
): Promise<Answer> {
  const { channel = 'stable', platform = 'linux', arch = 'x86_64', query } = options;
  const segments = [tenant.app, channel, platform, arch, version].map(encodeURIComponent);
  const path = `/u/${segments.join('/')}${query === undefined ? '' : `?${query}`}`;
  const headers: Record<string, string> =
    options.device === undefined ? {} : { 'x-service-device': options.device };
  return send(node, options.method ?? 'GET', path, { headers });
}

/** Waits until a node offers a version to who asks from 0.9.0. */
export function untilOffered(
  node: Addressed,
  tenant: Pick<Tenant, 'app'>,
  version: string,
  options: CheckOptions = {},
): Promise<void> {
  return eventually(`${version} is offered by ${node.url}`, async () => {
    return (await check(node, tenant, '0.9.0', options)).body?.version === version;
  });
}

/** Returns a call about devices; `more` adds to its body or replaces parts of it. */
const aboutDevices =
  (path: string) =>
  (node: Addressed, tenant: Tenant, devices: readonly unknown[], more: object = {}) =>
    manage(node, tenant, 'POST', path, { app: tenant.app, devices, ...more });

/** Sends a fleet report of these devices. */
export const report = aboutDevices('fleet/report');

/** Plans a wave for these devices. */
export const decisions = aboutDevices('fleet/decisions');

/** Returns the app's devices as the console lists them, by device id; `query` adds filters, without `&`. */
export async function devicesOf(
  node: Addressed,
  tenant: Pick<Tenant, 'app'>,
  query = 'limit=1000',
): Promise<Record<string, unknown>[]> {
  const answer = await admin(node, 'GET', `devices?app=${tenant.app}&${query}`);
  if (answer.status !== 200) throw new Error(`unexpected ${answer.status}: ${answer.text}`);
  return answer.body?.devices as Record<string, unknown>[];
}

/** Waits until devices are on record. */
export function untilRecorded(
  node: Addressed,
  tenant: Pick<Tenant, 'app'>,
  ...ids: readonly string[]
): Promise<void> {
  return eventually(`${ids.length} devices are on record`, async () => {
    const known = (await devicesOf(node, tenant)).map(({ deviceId }) => deviceId);
    return ids.every((id) => known.includes(id));
  });
}

export function randomId(): string {
  return randomBytes(6).toString('hex');
}

async function text(answer: Promise<Answer>, field: string): Promise<string> {
  const { status, body, text: raw } = await answer;
  if (status >= 300) throw new Error(`unexpected ${status}: ${raw}`);
  return String(body?.[field]);
}

function parse(text: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}
