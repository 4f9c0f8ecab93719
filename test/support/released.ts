// Tenants with releases, for tests of what devices are told: every step must be accepted.

import { expect } from 'vitest';
import type { Artifact } from '../../src/contract/resource.ts';
import {
  type Addressed,
  type Answer,
  admin,
  control,
  createTenant,
  publish,
  randomId,
  type Tenant,
} from './tenant.ts';

type Fields = Record<string, unknown>;

/** Creates a tenant and publishes releases on stable, in this order. */
export async function tenantWith(
  node: Addressed,
  ...releases: readonly (readonly [version: string, more?: Fields])[]
): Promise<Tenant> {
  const tenant = await createTenant(node);
  for (const [version, more] of releases) await release(node, tenant, version, more);
  return tenant;
}

/** Creates another app of the tenant, and publishes releases on its stable, in this order. */
export async function anotherApp(
  node: Addressed,
  tenant: Tenant,
  ...releases: readonly (readonly [version: string, more?: Fields])[]
): Promise<Tenant> {
  const app = `app-${randomId()}`;
  const made = await admin(node, 'POST', 'apps', { org: tenant.org, ref: app, name: 'App' });
  expect(made.status, made.text).toBe(201);
  const other = { ...tenant, app, appId: String(made.body?.id) };
  for (const [version, more] of releases) await release(node, other, version, more);
  return other;
}

/** Publishes a release and returns it. */
export async function release(
  node: Addressed,
  tenant: Tenant,
  version: string,
  more: Fields = {},
): Promise<Fields> {
  const answer = await publish(node, tenant, version, more);
  expect(answer.status, answer.text.slice(0, 200)).toBe(201);
  return answer.body?.release as Fields;
}

/** Makes a serving-control call on stable. */
export async function serve(
  node: Addressed,
  tenant: Tenant,
  version: string,
  change: Fields,
): Promise<void> {
  const answer = await control(node, tenant, version, change);
  expect(answer.status, answer.text).toBe(200);
}

/** Changes a channel, by default stable. */
export async function setChannel(
  node: Addressed,
  tenant: Tenant,
  change: Fields,
  name = 'stable',
): Promise<void> {
  const answer = await admin(node, 'PATCH', 'channels', { app: tenant.app, name, ...change });
  expect(answer.status, answer.text).toBe(200);
}

/** Returns the manifest that a device got, or null for 204. */
export function manifestOf({ status, text, body = {} }: Answer): Fields | null {
  expect([200, 204], text).toContain(status);
  return status === 204 ? null : body;
}

/** Returns the name of the file that a device got, or null for 204. */
export function fileOf(answer: Answer): string | null {
  const manifest = manifestOf(answer);
  return manifest === null ? null : (String(manifest.url).split('/').at(-1) ?? null);
}

/** Address of a file of a publisher. */
export function at(name: string): string {
  return `https://dl.example.com/${name}`;
}

/** Checksums and size of every artifact of `artifacts`. */
export const SUMS = {
  ...{ sha1: 'ab'.repeat(20), sha256: 'cd'.repeat(32), sha512: `${'a'.repeat(86)}==` },
  size: 1234,
} as const;

/** Returns the artifacts of a text such as `darwin/arm64 a.zip, windows b.exe`, with `more` fields. */
export function artifacts(text: string, more: Partial<Artifact> = {}): Artifact[] {
  return text.split(/,\s+/).map((each) => {
    const [machine = '', name = ''] = each.trim().split(' ');
    const [platform = '', arch] = machine.split('/');
    return { platform, ...(arch && { arch }), url: at(name), ...SUMS, ...more };
  });
}
