// What is set up through the console API and the command line: organizations, apps, channels, keys. Each is
// a ledger call; what a channel serves is spread like any other change.

import { isFailure, type Outcome } from '../contract/failure.ts';
import type { ApiKey, App, Channel, Organization } from '../contract/resource.ts';
import type { Actor, Changed, ChannelChange, Ledger } from '../ports/ledger.ts';
import { createApiKeySecret } from './api-key.ts';
import type { SpreadChange } from './spread-change.ts';

export type NewApp = {
  readonly organizationId: string;
  readonly ref: string;
  readonly name: string;
  readonly channels: readonly string[];
};

export class Administer {
  private readonly ledger: Ledger;
  private readonly spread: SpreadChange;

  constructor(ledger: Ledger, spread: SpreadChange) {
    this.ledger = ledger;
    this.spread = spread;
  }

  /** With an account given, that becomes its owner. */
  createOrganization(
    name: string,
    actor: Actor,
    ownerAccountId: string | undefined,
  ): Promise<Organization> {
    return this.ledger.createOrganization(name, actor, ownerAccountId);
  }

  /** 404 unknown organization, 409 ref taken. */
  async createApp(app: NewApp, actor: Actor): Promise<Outcome<App>> {
    return this.spreading(await this.ledger.createApp(app, actor));
  }

  /** 404 unknown app, 409 channel exists. `app` is a ref or an id. */
  async createChannel(app: string, name: string, actor: Actor): Promise<Outcome<Channel>> {
    return this.spreading(await this.ledger.createChannel(app, name, actor));
  }

  /** 404 unknown app or channel. */
  async updateChannel(
    app: string,
    name: string,
    change: ChannelChange,
    actor: Actor,
  ): Promise<Outcome<Channel>> {
    return this.spreading(await this.ledger.updateChannel(app, name, change, actor));
  }

  /** 404 unknown organization. The answer is the only place where the secret ever stands. */
  async createKey(
    organizationId: string,
    name: string,
    actor: Actor,
  ): Promise<Outcome<ApiKey & { readonly secret: string }>> {
    const { secret, prefix, hash } = createApiKeySecret();
    const key = await this.ledger.createKey(
      { organizationId, name, prefix, secretHash: hash },
      actor,
    );
    return isFailure(key) ? key : { ...key, secret };
  }

  /** 404 unknown key. */
  revokeKey(id: string, actor: Actor): Promise<Outcome<{ id: string; revokedAt: string }>> {
    return this.ledger.revokeKey(id, actor);
  }

  private async spreading<Value>(outcome: Outcome<Changed<Value>>): Promise<Outcome<Value>> {
    if (isFailure(outcome)) return outcome;
    await this.spread(outcome.changed);
    return outcome.value;
  }
}
