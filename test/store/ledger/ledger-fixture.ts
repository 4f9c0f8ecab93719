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

let count = 0;
/** Returns a name that nothing else has. */
export const unique = (name: string): string => `${name}-${++count}-${process.pid}`;

/** What a new destination's secret is sealed to. */
export const SEAL = (id: string): string => `sealed for ${id}`;

type Names = Readonly<Record<'organizationId' | 'app' | 'appId', string>>;

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
  return new TestTenant(ledger, { organizationId, app: ref, appId: created.value.id });
}

/** Makes a tenant before each test of a suite; the object that is returned is always the present one. */
export function tenantOfEach(ledger: Ledger): TestTenant {
  const tenant = new TestTenant(ledger, { organizationId: '', app: '', appId: '' });
  beforeEach(async () => {
    Object.assign(tenant, await createTenant(ledger));
  });
  return tenant;
}

/** An app with its organization, as a ledger is asked about it. */
export class TestTenant implements Names {
  readonly organizationId: string = '';
  readonly app: string = '';
  readonly appId: string = '';
  private readonly ledger: Ledger;

  constructor(ledger: Ledger, names: Names) {
    Object.assign(this, names);
    this.ledger = ledger;
  }

  /** Returns the same tenant, as another ledger is asked about it. */
  at(ledger: Ledger): TestTenant {
    return new TestTenant(ledger, this);
  }

  /** Returns a tenant of which some names differ. */
  with(names: Partial<Names>): TestTenant {
    return new TestTenant(this.ledger, { ...this, ...names });
  }

  /**
   * Publishes on stable, as the publisher, a release that names nothing but its version; `parts` and `call`
   * replace what differs. Returns the outcome.
   */
  publish(
    version: string,
    parts: Partial<NewRelease> = {},
    call: Partial<Parameters<Ledger['publishRelease']>[0]> = {},
  ): ReturnType<Ledger['publishRelease']> {
    const input: NewRelease = {
      ...{ app: this.app, channel: 'stable', version, canonicalVersion: version, notes: '' },
      ...{ status: 'published', rolloutPct: undefined, targets: null, artifacts: [] },
      ...parts,
    };
    const scope = this.organizationId;
    return this.ledger.publishRelease({ scope, input, actor: PUBLISHER, ...call });
  }

  /** Publishes a version as `publish` does; throws if it is not accepted. */
  async release(...call: Parameters<TestTenant['publish']>): Promise<Changed<Release>> {
    return expectValue(await this.publish(...call));
  }

  /** Makes a serving-control call on stable as the service makes it; returns the outcome. */
  control(
    version: string,
    change: ServingChange | ((serving: Serving) => ReturnType<typeof applyServingChange>),
  ): ReturnType<Ledger['controlServing']> {
    const name = { app: this.app, channel: 'stable', canonicalVersion: version };
    const transition =
      typeof change === 'function'
        ? change
        : (serving: Serving) => applyServingChange(serving, change);
    const [scope, input] = [this.organizationId, { ...name, transition }];
    return this.ledger.controlServing({ scope, input, actor: PUBLISHER });
  }

  /** Makes a serving-control call as `control` does; throws if it is not accepted. */
  async serve(...call: Parameters<TestTenant['control']>) {
    return expectValue(await this.control(...call));
  }

  /** Withdraws a version as the publisher; throws if that is not accepted. */
  async withdraw(canonicalVersion: string, channel = 'stable'): Promise<void> {
    const [scope, input] = [this.organizationId, { app: this.app, channel, canonicalVersion }];
    expectValue(await this.ledger.withdrawRelease({ scope, input, actor: PUBLISHER }));
  }

  /** Changes a channel, by default stable, as the operator; throws if that is not accepted. */
  async setChannel(change: ChannelChange, channel = 'stable') {
    const input = { app: this.app, channel, change };
    return expectValue(await this.ledger.updateChannel({ input, actor: OPERATOR }));
  }

  /** Makes a key of the organization; returns it as an actor. */
  async key(expiresAt?: string) {
    const { organizationId } = this;
    const [name, prefix] = ['ci', unique('key')];
    const key = { organizationId, name, prefix, secretHash: 'hash', expiresAt };
    const { id } = expectValue(await this.ledger.createKey(key, OPERATOR));
    return { kind: 'key', id, name, organizationId } as const;
  }

  /** Enables GitHub's webhook of the app; returns the actor of its deliveries. */
  async integration() {
    const { appId } = this;
    const webhook = { provider: 'github', sealedSecret: unique('v1') } as const;
    expectValue(await this.ledger.enableWebhook(appId, webhook, OPERATOR));
    const { enabledAt = '' } = (await this.ledger.findEnabledWebhook(appId, 'github')) ?? {};
    return { kind: 'integration', provider: 'github', appId, enabledAt } as const;
  }

  /** Makes a destination of the organization, by default a webhook that is told everything. */
  async listen(parts: Partial<NewDestination> = {}) {
    const destination: NewDestination = {
      ...{ organizationId: this.organizationId, name: 'ops', kind: 'webhook' },
      ...{ url: 'https://ops.example.com/hook', to: null, events: null, apps: null, enabled: true },
      ...parts,
    };
    return expectValue(await this.ledger.createDestination(destination, SEAL, OPERATOR));
  }

  /** Returns the organization's entries of the audit, newest first. */
  async audit() {
    return expectValue(await this.ledger.listAudit(this.organizationId, { limit: 100 })).entries;
  }

  /** Returns what is served of stable. */
  async stable(): Promise<ServingSnapshot> {
    const snapshot = await this.ledger.readSnapshot(this.app, 'stable');
    if (typeof snapshot === 'string') throw new Error(snapshot);
    return snapshot;
  }

  /** Returns a device of the app with its history; throws if it is not on record. */
  async device(deviceId: string) {
    return expectValue(await this.ledger.readDevice(this.app, deviceId));
  }

  /** Returns the ids of the app's devices, in the order of the list. */
  async deviceIds(): Promise<string[]> {
    const { devices } = expectValue(await this.ledger.listDevices(this.app, { limit: 1000 }));
    return devices.map(({ deviceId }) => deviceId);
  }
}

/** Returns the value; throws an error that shows the refusal. */
export function expectValue<Value>(outcome: Outcome<Value>): Value {
  if (isFailure(outcome)) throw new Error(`Refused: ${JSON.stringify(outcome)}`);
  return outcome;
}
