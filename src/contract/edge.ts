// Edges: their tokens, and the answers that a service signs for them (docs/contract.md 29).

// Answers of the service to an edge that follows it (docs/contract.md 29). Each is signed as a whole and has
// a kind, so that none can replace another.

export type EdgeAnswer =
  | EdgeIndexAnswer
  | EdgeSnapshotAnswer
  | EdgeReleasesAnswer
  | EdgeOfferAnswer
  | EdgeTimeAnswer
  | EdgeAheadAnswer
  | EdgeLabelsAnswer
  | EdgeLabelChangesAnswer
  | EdgeCheckInsAnswer
  | EdgeRecordedAnswer;

/**
 * Channel in an index: ids and names of its app and itself, its revision, and the releases whose first offer
 * was announced in that revision, newest last.
 */
export type EdgeIndexEntry = readonly [
  appId: string,
  appRef: string,
  channelId: string,
  channel: string,
  revision: number,
  offered: readonly string[],
];

/** All channels that an edge may serve, at one moment. */
export type EdgeIndexAnswer = {
  readonly kind: 'index';
  /** Name of the record. Edges of an earlier version kept an index without it. */
  readonly record?: string | null | undefined;
  readonly epoch: number;
  /** Name of the time line that the epoch counts: two copies of a record may reach the same epoch. */
  readonly line?: string | null | undefined;
  /** Time of the answer in milliseconds since 1970 by the ledger's clock. */
  readonly at: number;
  /** Two indexes have the same tag only if their content is the same. */
  readonly tag: string;
  readonly channels: readonly EdgeIndexEntry[];
  /** Whether `channels` has all. */
  readonly isComplete: boolean;
};

/** Snapshot of a channel in parts. */
export type EdgeSnapshotAnswer = {
  readonly kind: 'snapshot';
  /** Text of its index (`indexText`). */
  readonly index: string;
  /** Texts of the releases that the edge does not have, by edition: as many as fit. */
  readonly releases: Readonly<Record<string, string>>;
};

/** Releases that did not fit into a snapshot. */
export type EdgeReleasesAnswer = {
  readonly kind: 'releases';
  /** Texts by edition: as many of the requested ones as fit. */
  readonly releases: Readonly<Record<string, string>>;
};

/** Whether a first offer is recorded. */
export type EdgeOfferAnswer = {
  readonly kind: 'offer';
  readonly releaseId: string;
  readonly isRecorded: boolean;
  /** State of the channel; differs from the edge's if the offer was refused. */
  readonly epoch: number;
  readonly revision: number;
};

/** Answer to an index that the service seemed to be behind. */
export type EdgeAheadAnswer = {
  readonly kind: 'ahead';
  /** Present epoch, above that of the index if the service was behind it. */
  readonly epoch: number;
};

type EdgeTimeAnswer = {
  readonly kind: 'time';
  /** The ledger's time in milliseconds since 1970. */
  readonly at: number;
};

/** Labels of a device at their revision: of each its key, value, and time in milliseconds since 1970. */
export type EdgeLabels = readonly [
  appId: string,
  deviceId: string,
  revision: number,
  labels: readonly (readonly [key: string, value: string, at: number])[],
];

/** Labels of the requested devices, in their order. */
export type EdgeLabelsAnswer = {
  readonly kind: 'labels';
  readonly labels: readonly EdgeLabels[];
  /** Whether each of the devices is recorded. */
  readonly areRecorded: readonly boolean[];
};

/** Changes of labels after a position, oldest first, without those of other organizations. */
export type EdgeLabelChangesAnswer = {
  readonly kind: 'label-changes';
  readonly epoch: number;
  /** Position of the newest change. */
  readonly newest: number;
  /** Position up to which `changed` is complete. */
  readonly through: number;
  readonly changed: readonly (readonly [...EdgeLabels, position: number])[];
};

/** Answer to uploaded check-ins. */
export type EdgeCheckInsAnswer = {
  readonly kind: 'check-ins';
  readonly accepted: number;
  /** Check-ins of apps that the edge may not serve, or that cannot be recorded. */
  readonly dropped: number;
};

/** Answer to check-ins that a caller waits for: the merged labels, and the devices left out. */
export type EdgeRecordedAnswer = {
  readonly kind: 'recorded';
  readonly labels: readonly EdgeLabels[];
  readonly unadmitted: readonly (readonly [appId: string, deviceId: string])[];
};

/** Header with the signatures of an answer, separated by commas: Ed25519, in base64url. */
export const EDGE_SIGNATURE_HEADER = 'sluice-signature';
/** Maximum number of signatures of an answer that are tried: as many as SECRET_KEY may have values. */
export const SIGNATURES_MAX = 8;

/** Header with a nonce that makes each call of an edge unique. */
export const EDGE_NONCE_HEADER = 'sluice-nonce';

/** Header with the name of the record that an edge follows, in each of its calls once it knows one. */
export const EDGE_RECORD_HEADER = 'sluice-record';

/** Form of a nonce. */
export const NONCE = /^[\w-]{16,64}$/;

/** Prefix of the signed bytes: no signature by this key for another purpose passes as an answer. */
const SIGNED_PREFIX = 'sluice edge v1\n';

/**
 * Returns what is signed before the body of an answer, so that an answer passes for no other answer and for
 * no other call, such as that nothing changed, or that check-ins were accepted.
 */
export function signedHead(nonce: string, status: number): string {
  return `${SIGNED_PREFIX}${nonce}\n${status}\n`;
}

/** Length of a public key in base64url: 32 bytes. */
export const PUBLIC_KEY_LENGTH = 43;

/** Token without its secret. */
export type ListedEdgeToken = {
  readonly id: string;
  readonly name: string;
  /** Organization whose apps the token is for; null for all. */
  readonly org: string | null;
  /** Public beginning of the secret. */
  readonly prefix: string;
  readonly createdAt: string;
  /** Author, as in the audit log. */
  readonly createdBy: string;
  /** RFC 3339; null while it is valid. */
  readonly revokedAt: string | null;
};

/**
 * New token. `secret`, shown only once, is the edge's `EDGE_TOKEN`: its credential, a dot, and the public key
 * with which it verifies the service's signatures.
 */
export type IssuedEdgeToken = ListedEdgeToken & { readonly secret: string };

export type RevokedEdgeToken = {
  readonly id: string;
  /** RFC 3339. */
  readonly revokedAt: string;
};
