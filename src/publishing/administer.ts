// Set-up through the console API and the command line: organizations, apps, channels and keys. Each operation
// is a ledger call; a change of what a channel serves is propagated like any other.

import { createBearerSecret } from '../access/api-keys.ts';
import type { IssuedKey, RevokedKey } from '../contract/console.ts';
import {
  type FailureKind,
  fail,
  isFailure,
  type LostRight,
  type Outcome,
} from '../contract/failure.ts';
import type { App, AppState, Channel, Organization } from '../contract/resource.ts';
import type { AppChange } from '../store/app-change.ts';
import type { Changed } from '../store/changed.ts';
import type { ChannelChange, KeyLimits, Ledger } from '../store/ledger.ts';
import type { Actor } from '../store/ledger-terms.ts';
import type { SpreadChange } from './propagate-change.ts';

export type NewApp = {
  readonly organizationId: string;
  readonly ref: string;
  readonly name: string;
  readonly channels: readonly string[];
};

export class Administer {
  private readonly ledger: Ledger;
  private readonly spread: SpreadChange;
  private readonly areOrganizationsOpen: boolean;

  /** `areOrganizationsOpen` tells whether every account may create organizations. */
  constructor(ledger: Ledger, spread: SpreadChange, areOrganizationsOpen: boolean) {
    this.ledger = ledger;
    this.spread = spread;
    this.areOrganizationsOpen = areOrganizationsOpen;
  }

  /** Creates an organization; an account that creates it becomes its owner. */
  async createOrganization(name: string, actor: Actor): Promise<Outcome<Organization, LostRight>> {
    if (!this.areOrganizationsOpen && actor.kind !== 'admin-token') {
      return fail('forbidden', 'Only the operator may create organizations');
    }
    return this.ledger.createOrganization(name, actor);
  }

  /** Creates an app with its channels. */
  async createApp(app: NewApp, actor: Actor): Promise<Outcome<App, 'refTaken' | LostRight>> {
    return this.spreading(await this.ledger.createApp(app, actor), actor);
  }

  /** Renames an app, given by ref or id, archives it, or brings it back. */
  updateApp(
    app: string,
    change: AppChange,
    actor: Actor,
  ): Promise<Outcome<AppState, 'unknownApp' | LostRight>> {
    return this.ledger.updateApp(app, change, actor);
  }

  /** Adds a channel to an app, given by ref or id. */
  async createChannel(
    app: string,
    name: string,
    actor: Actor,
  ): Promise<Outcome<Channel, 'channelExists' | 'appArchived' | LostRight>> {
    return this.spreading(await this.ledger.createChannel(app, name, actor), actor);
  }

  /** Changes a channel's policy. */
  async updateChannel(
    app: string,
    name: string,
    change: ChannelChange,
    actor: Actor,
  ): Promise<Outcome<Channel, 'unknownChannel' | 'followsInCircle' | LostRight>> {
    const updated = await this.ledger.updateChannel(app, name, change, actor);
    return this.spreading(updated, actor);
  }

  /** Creates a key. Its secret is contained in this answer only. */
  async createKey(
    organizationId: string,
    name: string,
    limits: KeyLimits,
    actor: Actor,
  ): Promise<Outcome<IssuedKey, 'invalid' | LostRight>> {
    const { secret, prefix, hash } = createBearerSecret('sluice');
    const key = await this.ledger.createKey(
      { ...limits, organizationId, name, prefix, secretHash: hash },
      actor,
    );
    return isFailure(key) ? key : { ...key, secret };
  }

  /** Revokes a key with immediate effect. */
  revokeKey(id: string, actor: Actor): Promise<Outcome<RevokedKey, LostRight>> {
    return this.ledger.revokeKey(id, actor);
  }

  private async spreading<Value, Kind extends FailureKind>(
    outcome: Outcome<Changed<Value>, Kind>,
    { requestId }: Actor,
  ): Promise<Outcome<Value, Kind>> {
    if (isFailure(outcome)) return outcome;
    await this.spread(outcome.changed, requestId);
    return outcome.value;
  }
}
