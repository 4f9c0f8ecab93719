// Helpers that the ledger's tests share: an actor, a tenant with an app, releases, and reading an outcome.

import {
  type FailureKind,
  isFailure,
  type LostRight,
  type Outcome,
  type UnknownRelease,
} from '../../src/contract/failure.ts';
import type { Release, ServingState } from '../../src/contract/resource.ts';
import type { ServingSnapshot } from '../../src/domain/decision/serving-snapshot.ts';
import type { Serving, ServingChange } from '../../src/domain/release/serving-change.ts';
import { applyServingChange } from '../../src/domain/release/serving-change.ts';
import type { Actor } from '../../src/ports/actor.ts';
import type { Changed } from '../../src/ports/changed.ts';
import type { Ledger, NewRelease } from '../../src/ports/ledger.ts';

export const OPERATOR: Actor = { kind: 'admin-token' };
/** Actor whose right is in no table, so that no test of other rules has to store it. */
export const PUBLISHER: Actor = { kind: 'token', email: 'publisher@example.com' };

export type TestTenant = {
  readonly organizationId: string;
  readonly app: string;
  readonly appId: string;
};

let tenantCount = 0;

/** An organization with one app of a new ref, and its channels. */
export async function createTenant(
  ledger: Ledger,
  channels: readonly string[] = ['stable'],
): Promise<TestTenant> {
  const ref = `app-${++tenantCount}-${process.pid}`;
  const organization = await ledger.createOrganization(`Org of ${ref}`, OPERATOR);
  const { id: organizationId } = expectValue(organization);
  const app = { organizationId, ref, name: `App ${ref}`, channels };
  const created = expectValue(await ledger.createApp(app, OPERATOR));
  return { organizationId, app: ref, appId: created.value.id };
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

export async function publish(
  ledger: Ledger,
  tenant: TestTenant,
  version: string,
  parts: Partial<NewRelease> = {},
): Promise<Changed<Release>> {
  const release = newRelease(tenant, version, parts);
  return expectValue(await ledger.publishRelease(tenant.organizationId, release, PUBLISHER));
}

/** Makes a serving-control call as the service makes it. */
export function serve(
  ledger: Ledger,
  tenant: TestTenant,
  version: string,
  change: ServingChange | ((serving: Serving) => ReturnType<typeof applyServingChange>),
): Promise<
  Outcome<Changed<ServingState>, UnknownRelease | 'narrowing' | 'rolledBack' | LostRight>
> {
  const name = { app: tenant.app, channel: 'stable', canonicalVersion: version };
  const transition =
    typeof change === 'function'
      ? change
      : (serving: Serving) => applyServingChange(serving, change);
  return ledger.controlServing(tenant.organizationId, name, transition, PUBLISHER);
}

export async function readStable(ledger: Ledger, tenant: TestTenant): Promise<ServingSnapshot> {
  const snapshot = await ledger.readSnapshot(tenant.app, 'stable');
  if (typeof snapshot === 'string') throw new Error(snapshot);
  return snapshot;
}

/** Returns the value; throws an error that shows the refusal. */
export function expectValue<Value, Kind extends FailureKind>(outcome: Outcome<Value, Kind>): Value {
  if (isFailure(outcome)) throw new Error(`Refused: ${JSON.stringify(outcome)}`);
  return outcome;
}
