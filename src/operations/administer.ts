// What an operator does through the console API and the command line: organizations, apps, channels, keys,
// audit. Each is a ledger call; what a channel serves is spread like any other change.

import { isFailure, type Outcome } from '../contract/failure.ts';
import type { ApiKey, App, AuditEntry, Channel, Organization } from '../contract/resource.ts';
import type { Actor, Changed, ChannelChange, Ledger } from '../ports/ledger.ts';
import { createApiKeySecret } from './api-key.ts';
import type { SpreadChange } from './spread-change.ts';

export type NewApp = {
  readonly organizationId: string;
  readonly ref: string;
  readonly name: string;
  readonly channels: readonly string[];
};

/** Operators have one identity until the console knows people. */
const ACTOR: Actor = { kind: 'admin-token', name: 'admin-token' };

export class Administer {
  private readonly ledger: Ledger;
  private readonly spread: SpreadChange;

  constructor(ledger: Ledger, spread: SpreadChange) {
    this.ledger = ledger;
    this.spread = spread;
  }

  createOrganization(name: string): Promise<Organization> {
    return this.ledger.createOrganization(name, ACTOR);
  }

  /** 404 unknown organization, 409 ref taken. */
  async createApp(app: NewApp): Promise<Outcome<App>> {
    return this.spreading(await this.ledger.createApp(app, ACTOR));
  }

  /** 404 unknown app, 409 channel exists. `app` is a ref or an id. */
  async createChannel(app: string, name: string): Promise<Outcome<Channel>> {
    return this.spreading(await this.ledger.createChannel(app, name, ACTOR));
  }

  /** 404 unknown app or channel. */
  async updateChannel(app: string, name: string, change: ChannelChange): Promise<Outcome<Channel>> {
    return this.spreading(await this.ledger.updateChannel(app, name, change, ACTOR));
  }

  /** 404 unknown organization. The answer is the only place where the secret ever stands. */
  async createKey(
    organizationId: string,
    name: string,
  ): Promise<Outcome<ApiKey & { readonly secret: string }>> {
    const { secret, prefix, hash } = createApiKeySecret();
    const key = await this.ledger.createKey(
      { organizationId, name, prefix, secretHash: hash },
      ACTOR,
    );
    return isFailure(key) ? key : { ...key, secret };
  }

  /** 404 unknown key. */
  revokeKey(id: string): Promise<Outcome<{ id: string; revokedAt: string }>> {
    return this.ledger.revokeKey(id, ACTOR);
  }

  /** Newest first. 404 unknown organization. */
  listAudit(organizationId: string, limit: number): Promise<Outcome<readonly AuditEntry[]>> {
    return this.ledger.listAudit(organizationId, limit);
  }

  private async spreading<Value>(outcome: Outcome<Changed<Value>>): Promise<Outcome<Value>> {
    if (isFailure(outcome)) return outcome;
    await this.spread(outcome.changed);
    return outcome.value;
  }
}
