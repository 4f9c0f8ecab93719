// The part of the ledger that a service needs to be followed by edges: their tokens, and the states of all
// channels. The obligations of `ledger.ts` hold here too.

import type { ListedEdgeToken, RevokedEdgeToken } from '../contract/edge-token.ts';
import type { LostRight, Outcome } from '../contract/failure.ts';
import type { ChannelName } from './channel-names.ts';
import type { Actor } from './ledger-terms.ts';

/** Organization whose apps a token is for; null for all. */
export type EdgeScope = string | null;

export type NewEdgeToken = {
  readonly organizationId: EdgeScope;
  readonly name: string;
  readonly prefix: string;
  readonly secretHash: string;
};

/** Token for authentication. `secretHash` is the lower-case hex SHA-256 of the whole secret. */
export type StoredEdgeToken = {
  readonly id: string;
  readonly organizationId: EdgeScope;
  readonly secretHash: string;
  readonly isRevoked: boolean;
};

/** Channel with the organization that it belongs to and its present revision. */
export type ChannelState = ChannelName & {
  readonly organizationId: string;
  readonly revision: number;
};

/** States of channels at one moment. */
export type ChannelStates = {
  readonly epoch: number;
  /** Name of the record; null before a node has used the database. */
  readonly record: string | null;
  /** Name of the time line that the epoch numbers; null where none was noted. */
  readonly line: string | null;
  readonly channels: readonly ChannelState[];
  /** Whether these are all; false when there are more than were asked for. */
  readonly isComplete: boolean;
};

export interface EdgeLedger {
  /**
   * Stores a new token. The audit of its organization names it, or that of every organization when it is for
   * all.
   */
  createEdgeToken(
    token: NewEdgeToken,
    actor: Actor,
  ): Promise<Outcome<ListedEdgeToken, 'unknownOrganization' | LostRight>>;

  /** Lists the newest tokens, revoked ones included; at most as many as are shown. */
  listEdgeTokens(): Promise<readonly ListedEdgeToken[]>;

  /** Revokes a token. Revoking it again returns the time of the first revocation. */
  revokeEdgeToken(
    id: string,
    actor: Actor,
  ): Promise<Outcome<RevokedEdgeToken, 'unknownEdgeToken' | LostRight>>;

  /** Finds the token with this public prefix, revoked or not. */
  findEdgeToken(prefix: string): Promise<StoredEdgeToken | undefined>;

  /** Returns the id of the app of each of these releases, by their ids, without those that there are not. */
  findReleaseApps(releaseIds: readonly string[]): Promise<ReadonlyMap<string, string>>;

  /** Reads the states of at most `countMax` channels of all organizations, in one consistent read. */
  readChannelStates(countMax: number): Promise<ChannelStates>;
}
