// What the ledger tells of a change that it takes back again.

import type { ServingSnapshot } from '../domain/decision/serving-snapshot.ts';

/** What a change would answer, and what it would change. */
export type Rehearsal<Value> = {
  readonly value: Value;
  /** The channel of the change, and those that follow it. */
  readonly places: readonly [RehearsedPlace, ...RehearsedPlace[]];
  /** Names of the app's other channels that have this version published, by name. */
  readonly alsoOn: readonly string[];
  /** What speaks against the source of a promotion; empty for other changes. */
  readonly concerns: readonly string[];
};

/** What a channel serves before a change, and what it would serve after it. */
export type RehearsedPlace = { readonly before: ServingSnapshot; readonly after: ServingSnapshot };

/** Returns the snapshot of a channel that a caller has, which saves reading it. */
export type HeldSnapshot = (channel: string) => ServingSnapshot | undefined;
