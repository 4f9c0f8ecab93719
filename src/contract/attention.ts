// What needs a person, as the overview of an organization lists it.

/** Kinds of what needs a person, the most urgent first. */
export const ATTENTION_KINDS = [
  /** A guard has tripped, and holds the plan. */
  'tripped',
  /** A published release without a file that a device could install. */
  'uninstallable',
  /** A destination of notifications that was switched off, or does not take them. */
  'disabled',
  'failing',
  /** An edge goes on asking with a revoked token. */
  'edge',
  /** Devices of an app are named by an id that many share by mistake. */
  'mistaken-ids',
  /** A plan waits for a guard, or is held without one that tripped. */
  'waiting',
  'held',
  /** A release that its code host has called back, or that landed paused and was never published. */
  'called-back',
  'landed',
  'approval',
] as const;

export type AttentionKind = (typeof ATTENTION_KINDS)[number];

export type AttentionItem = {
  readonly kind: AttentionKind;
  /** RFC 3339; null if unknown. */
  readonly since: string | null;
  /** Why, in the words that were recorded; null if there are none. */
  readonly why: string | null;
  /** Release that it is about, or app alone; all are null for what concerns none. */
  readonly app: string | null;
  readonly channel: string | null;
  readonly version: string | null;
  /** Id of the approval, and name of the destination or the edge, or the kind of the mistaken ids. */
  readonly id: string | null;
  readonly name: string | null;
  /** Number of requests with such ids; null for what counts none. */
  readonly count: number | null;
};

/** The most urgent kind first, and in each the newest first. */
export type Attention = {
  readonly items: readonly AttentionItem[];
  /** False when there are more. */
  readonly isWhole: boolean;
};
