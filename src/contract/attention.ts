// Conditions that need a person, as the overview of an organization lists them.

/** Kinds of conditions that need a person, the most urgent first. */
export const ATTENTION_KINDS = [
  /** A guard has tripped, so the plan is held. */
  'tripped',
  /** A published release without a file that a device could install. */
  'uninstallable',
  /** A destination of notifications that the service has disabled, or to which every try fails. */
  'disabled',
  'failing',
  /** An edge keeps calling with a revoked token. */
  'edge',
  /** Devices of an app send an id that many devices share by mistake, such as "undefined". */
  'mistaken-ids',
  /** A plan waits for a guard or a region, or is held although no guard has tripped. */
  'waiting',
  'held',
  /** A paused release: retracted by its code host, or created paused by a webhook and never published. */
  'called-back',
  'landed',
  'approval',
] as const;

export type AttentionKind = (typeof ATTENTION_KINDS)[number];

export type AttentionItem = {
  readonly kind: AttentionKind;
  /** RFC 3339; null if unknown. */
  readonly since: string | null;
  /** Recorded reason; null if there is none. */
  readonly why: string | null;
  /**
   * Place of what the item concerns. A release has all three; mistaken ids have only the app; a destination
   * or an edge has none. An approval has the app, and channel and version if it concerns exactly one.
   */
  readonly app: string | null;
  readonly channel: string | null;
  readonly version: string | null;
  /** Id of an approval, destination or edge; `name` is its operation or name, or the kind of mistaken id. */
  readonly id: string | null;
  readonly name: string | null;
  /** Number of requests with mistaken ids; null for other kinds. */
  readonly count: number | null;
};

/** Items by urgency of their kind, and of one kind the newest first. */
export type Attention = {
  readonly items: readonly AttentionItem[];
  /** False when there are more. */
  readonly isWhole: boolean;
};
