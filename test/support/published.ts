// What publishers' calls left: the release in an answer, the list of releases, and the audit.

import { expect } from 'vitest';
import { type Addressed, type Answer, admin, manage, type Tenant } from './tenant.ts';

export type Json = Record<string, unknown>;

/** Returns the release of an answer; empty when it has none. */
export function releaseOf({ body }: Answer): Json {
  return (body?.release ?? {}) as Json;
}

/** Returns the releases that the list shows of the tenant, newest first. */
export async function releasesOf(
  node: Addressed,
  tenant: Pick<Tenant, 'secret'>,
  query = 'per_page=100',
): Promise<Json[]> {
  const { body } = await manage(node, tenant, 'GET', `releases?${query}`);
  return (body?.releases ?? []) as Json[];
}

/** Returns the status and the share of a release; undefined if there is none. */
export async function servedAs(
  node: Addressed,
  tenant: Pick<Tenant, 'secret' | 'app'>,
  version: string,
  channel = 'stable',
): Promise<unknown> {
  const query = new URLSearchParams({ app: tenant.app, channel, version });
  const [release] = await releasesOf(node, tenant, `${query}`);
  return release && [release.status, release.rolloutPct];
}

/** Returns the answer to a read of a release's plan. */
export async function planOf(
  node: Addressed,
  tenant: Pick<Tenant, 'app'>,
  version: string,
  channel = 'stable',
): Promise<Json | undefined> {
  const query = new URLSearchParams({ app: tenant.app, channel, version });
  return (await admin(node, 'GET', `releases/plan?${query}`)).body;
}

/**
 * Returns the organization's entries of the audit, newest first; `query` narrows them. Those that tokens of
 * other suites leave in every organization are left out.
 */
export async function auditOf(
  node: Addressed,
  { org }: Pick<Tenant, 'org'>,
  query = 'limit=1000',
): Promise<Json[]> {
  const { body } = await admin(node, 'GET', `audit?org=${org}&${query}`);
  const entries = (body?.entries ?? []) as Json[];
  return entries.filter(({ action }) => !String(action).startsWith('edge-token.'));
}

/** Expects an RFC 3339 time between two others; the database may round milliseconds. */
export function expectWithin(time: unknown, before: number, after: number): void {
  expect(time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  expect(Date.parse(String(time))).toBeGreaterThanOrEqual(before - 1);
  expect(Date.parse(String(time))).toBeLessThanOrEqual(after + 1);
}

/** Expects entries, oldest first, each to begin with the state that the one before it left. */
export function expectChain(entries: Json[]): void {
  for (const [index, entry] of entries.slice(1).entries()) {
    expect(entry.before).toStrictEqual(entries[index]?.after);
  }
}
