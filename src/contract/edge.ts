// Edges: their tokens, and the answers that a service signs for them (docs/contract.md 29).

// Answers of the service to an edge that follows it (docs/contract.md 29). The signature covers a whole
// answer with its `kind`, so that nobody can pass an answer off as one of another kind.

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
  /** Name of the record. Absent in an index that an edge of an earlier version has stored. */
  readonly record?: string | null | undefined;
  readonly epoch: number;
  /** Name of the time line that the epoch counts: two copies of a record may reach the same epoch. */
  readonly line?: string | null | undefined;
  /** Time of the answer in milliseconds since 1970 by the ledger's clock. */
  readonly at: number;
  /** Two indexes have the same tag only if their content is the same. */
  readonly tag: string;
  readonly channels: readonly EdgeIndexEntry[];
  /** Whether `channels` has all channels that the edge may serve. */
  readonly isComplete: boolean;
};

/** Snapshot of a channel in parts. */
export type EdgeSnapshotAnswer = {
  readonly kind: 'snapshot';
  /** Index of the snapshot, as `indexText` writes it. */
  readonly index: string;
  /** Texts of the releases that the edge does not have, by edition: as many as fit. */
  readonly releases: Readonly<Record<string, string>>;
};

/** Releases that did not fit into the answer with the snapshot. */
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

/** Answer to an edge that holds a newer index than the service seemed to have. */
export type EdgeAheadAnswer = {
  readonly kind: 'ahead';
  /** Present epoch; above that of the edge's index if the service's ledger went back. */
  readonly epoch: number;
};

type EdgeTimeAnswer = {
  readonly kind: 'time';
  /** The ledger's time in milliseconds since 1970. */
  readonly at: number;
};

/** Labels of a device at a revision: the key and value of each, and its time in milliseconds since 1970. */
export type EdgeLabels = readonly [
  appId: string,
  deviceId: string,
  revision: number,
  labels: readonly (readonly [key: string, value: string, at: number])[],
];

/** Labels of the requested devices, in the order of the request. */
export type EdgeLabelsAnswer = {
  readonly kind: 'labels';
  readonly labels: readonly EdgeLabels[];
  /** Whether each of the devices is recorded. */
  readonly areRecorded: readonly boolean[];
};

/** Changes of labels after a position, oldest first; a token for one organization gets only its changes. */
export type EdgeLabelChangesAnswer = {
  readonly kind: 'label-changes';
  readonly epoch: number;
  /** Position of the newest change. */
  readonly newest: number;
  /** Position up to which `changed` is complete. */
  readonly through: number;
  /**
   * Age in milliseconds of the oldest uploaded check-in that is not recorded, before the changes were read; 0
   * if all are. Null if it is not known. Absent in the answer of a service of the version before.
   */
  readonly unrecordedMs?: number | null;
  readonly changed: readonly (readonly [...EdgeLabels, position: number])[];
};

/** Answer to uploaded check-ins. */
export type EdgeCheckInsAnswer = {
  readonly kind: 'check-ins';
  readonly accepted: number;
  /** Check-ins of apps that the edge may not serve, or that cannot be recorded. */
  readonly dropped: number;
};

/** Answer once the sent check-ins are recorded: the merged labels, and the devices that were not admitted. */
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

/** Prefix of the signed bytes: a signature by this key for another purpose is not valid for an answer. */
const SIGNED_PREFIX = 'sluice edge v1\n';

/**
 * Returns the text that is signed before the body of an answer. It binds the answer to one call and one
 * status, so that nobody can replay it for another call, such as that nothing changed, or that check-ins were
 * accepted.
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
