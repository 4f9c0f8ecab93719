// Helpers that the ledger's tests share: an actor, a tenant with an app, releases, and reading an outcome.

import { beforeEach } from 'vitest';
import { isFailure, type Outcome } from '../../../src/contract/failure.ts';
import type { Release } from '../../../src/contract/resource.ts';
import type { ServingSnapshot } from '../../../src/domain/decision/serving-snapshot.ts';
import {
  applyServingChange,
  type Serving,
  type ServingChange,
} from '../../../src/domain/release/serving-change.ts';
import type { NewDestination } from '../../../src/store/destination-ledger.ts';
import type { Ledger } from '../../../src/store/ledger.ts';
import type { Actor, Changed, ChannelChange, NewRelease } from '../../../src/store/ledger-terms.ts';

export const OPERATOR: Actor = { kind: 'admin-token' };
/** Session that a password alone opened, as far as its times and tokens do not matter. */
export const OPENED = {
  address: '192.0.2.1',
  browser: 'Firefox on Linux',
  openedBy: 'password',
  secondFactor: false,
} as const;
/** Names that nothing has: of the usual form, and such as break statements. */
export const UNKNOWN_NAMES = ['nobody', '', 'nul\u0000', "quote'--", '\ud800', 'x'.repeat(10_000)];
export const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
/** Actor whose right is in no table, so that no test of other rules has to store it. */
export const PUBLISHER: Actor = { kind: 'token', email: 'publisher@example.com' };

export type TestTenant = {
  readonly organizationId: string;
  readonly app: string;
  readonly appId: string;
};

let count = 0;
/** Returns a name that nothing else has. */
export const unique = (name: string): string => `${name}-${++count}-${process.pid}`;

/** An organization with one app of a new ref, and its channels. */
export async function createTenant(
  ledger: Ledger,
  channels: readonly string[] = ['stable'],
): Promise<TestTenant> {
  const ref = unique('app');
  const organization = await ledger.createOrganization(`Org of ${ref}`, OPERATOR);
  const { id: organizationId } = expectValue(organization);
  const app = { organizationId, ref, name: `App ${ref}`, channels };
  const created = expectValue(await ledger.createApp(app, OPERATOR));
  return { organizationId, app: ref, appId: created.value.id };
}

/** Makes a tenant before each test of a suite; the object that is returned is always the present one. */
export function tenantOfEach(ledger: Ledger): TestTenant {
  const tenant: TestTenant = { organizationId: '', app: '', appId: '' };
  beforeEach(async () => {
    Object.assign(tenant, await createTenant(ledger));
  });
  return tenant;
}

/** A release that names nothing but its version, on `stable`. */
export function newRelease(
  tenant: TestTenant,
  version: string,
  parts: Partial<NewRelease> = {},
): NewRelease {
  return {
    app: tenant.app,
    channel: 'stable',
    version,
    canonicalVersion: version,
    notes: '',
    status: 'published',
    rolloutPct: undefined,
    targets: null,
    artifacts: [],
    ...parts,
  };
}

/** Makes a key of the tenant's organization; returns it as an actor. */
export async function keyOf(
  ledger: Ledger,
  { organizationId }: Pick<TestTenant, 'organizationId'>,
  expiresAt?: string,
) {
  const [name, prefix] = ['ci', unique('key')];
  const key = { organizationId, name, prefix, secretHash: 'hash', expiresAt };
  const { id } = expectValue(await ledger.createKey(key, OPERATOR));
  return { kind: 'key', id, name, organizationId } as const;
}

/** Enables GitHub's webhook of a tenant's app; returns the actor of its deliveries. */
export async function integrationOf(ledger: Ledger, { appId }: Pick<TestTenant, 'appId'>) {
  const webhook = { provider: 'github', sealedSecret: unique('v1') } as const;
  expectValue(await ledger.enableWebhook(appId, webhook, OPERATOR));
  const found = await ledger.findEnabledWebhook(appId, 'github');
  return {
    kind: 'integration',
    provider: 'github',
    appId,
    enabledAt: found?.enabledAt ?? '',
  } as const;
}

/** What a new destination's secret is sealed to. */
export const SEAL = (id: string): string => `sealed for ${id}`;

/** Makes a destination of the organization, by default a webhook that is told everything. */
export async function listen(
  ledger: Ledger,
  { organizationId }: Pick<TestTenant, 'organizationId'>,
  parts: Partial<NewDestination> = {},
) {
  const destination: NewDestination = {
    ...{ organizationId, name: 'ops', kind: 'webhook', url: 'https://ops.example.com/hook' },
    ...{ to: null, events: null, apps: null, enabled: true },
    ...parts,
  };
  return expectValue(await ledger.createDestination(destination, SEAL, OPERATOR));
}

/** Asks for a release to be published, as the publisher unless told otherwise; returns the outcome. */
export function askToPublish(
  ledger: Ledger,
  tenant: TestTenant,
  version: string,
  parts: Partial<NewRelease> = {},
  call: Partial<Parameters<Ledger['publishRelease']>[0]> = {},
) {
  const input = newRelease(tenant, version, parts);
  return ledger.publishRelease({
    ...{ scope: tenant.organizationId, input, actor: PUBLISHER },
    ...call,
  });
}

export async function publish(...call: Parameters<typeof askToPublish>): Promise<Changed<Release>> {
  return expectValue(await askToPublish(...call));
}

/** Makes a serving-control call as the service makes it. */
export function serve(
  ledger: Ledger,
  tenant: TestTenant,
  version: string,
  change: ServingChange | ((serving: Serving) => ReturnType<typeof applyServingChange>),
): ReturnType<typeof ledger.controlServing> {
  const name = { app: tenant.app, channel: 'stable', canonicalVersion: version };
  const transition =
    typeof change === 'function'
      ? change
      : (serving: Serving) => applyServingChange(serving, change);
  return ledger.controlServing({
    scope: tenant.organizationId,
    input: { ...name, transition },
    actor: PUBLISHER,
  });
}

/** Changes the settings of a channel as the operator. */
export async function setChannel(
  ledger: Ledger,
  { app }: Pick<TestTenant, 'app'>,
  change: ChannelChange,
  channel = 'stable',
) {
  const input = { app, channel, change };
  return expectValue(await ledger.updateChannel({ input, actor: OPERATOR }));
}

/** Withdraws a version as the publisher. */
export async function withdraw(
  ledger: Ledger,
  { organizationId: scope, app }: TestTenant,
  canonicalVersion: string,
  channel = 'stable',
): Promise<void> {
  const input = { app, channel, canonicalVersion };
  expectValue(await ledger.withdrawRelease({ scope, input, actor: PUBLISHER }));
}

/** Returns the entries of a tenant's audit, newest first. */
export async function readAudit(ledger: Ledger, { organizationId }: TestTenant) {
  return expectValue(await ledger.listAudit(organizationId, { limit: 100 })).entries;
}

export async function readStable(ledger: Ledger, tenant: TestTenant): Promise<ServingSnapshot> {
  const snapshot = await ledger.readSnapshot(tenant.app, 'stable');
  if (typeof snapshot === 'string') throw new Error(snapshot);
  return snapshot;
}

/** Returns the value; throws an error that shows the refusal. */
export function expectValue<Value>(outcome: Outcome<Value>): Value {
  if (isFailure(outcome)) throw new Error(`Refused: ${JSON.stringify(outcome)}`);
  return outcome;
}
