// Result of a change in the ledger that may have moved what channels serve.

import type { ServingOrder } from '../domain/decision/serving-snapshot.ts';

/** Value that a change has left, with the channels whose served state it has moved. */
export type Changed<Value> = {
  readonly value: Value;
  readonly changed: readonly ChannelRevision[];
};

/** Channel whose served state a change has moved, and the place of the new state, for propagation. */
export type ChannelRevision = ServingOrder & {
  readonly appRef: string;
  readonly channel: string;
  readonly channelId: string;
};
