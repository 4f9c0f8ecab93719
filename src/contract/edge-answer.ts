// Answers that an edge gets from the service that it follows (docs/contract.md 29). Each is signed as a
// whole, and says what it is, so that none can stand for another.

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
 * Channel in an index: ids and names of its app and of itself, its revision, and the releases whose first
 * offer was announced in that revision, newest last.
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
  /** Name of the record. An edge of an earlier version kept an index without. */
  readonly record?: string | null | undefined;
  readonly epoch: number;
  /** Name of the time line that the epoch numbers: two copies of a record may come to the same epoch. */
  readonly line?: string | null | undefined;
  /** Time at which it was told, in milliseconds since 1970 by the ledger's clock. */
  readonly at: number;
  /** Text that another index has only when it says the same. */
  readonly tag: string;
  readonly channels: readonly EdgeIndexEntry[];
  /** Whether these are all. */
  readonly isComplete: boolean;
};

/** Snapshot of a channel in parts. */
export type EdgeSnapshotAnswer = {
  readonly kind: 'snapshot';
  /** Text of its index (`indexText`). */
  readonly index: string;
  /** Texts of the releases that the edge did not have, by their editions: as many as fit. */
  readonly releases: Readonly<Record<string, string>>;
};

/** Releases that did not fit into a snapshot. */
export type EdgeReleasesAnswer = {
  readonly kind: 'releases';
  /** Texts by their editions: as many of those that were asked for as fit. */
  readonly releases: Readonly<Record<string, string>>;
};

/** Whether a first offer is on record. */
export type EdgeOfferAnswer = {
  readonly kind: 'offer';
  readonly releaseId: string;
  readonly isRecorded: boolean;
  /** State in which the channel was, which is another one than the edge's where the offer was refused. */
  readonly epoch: number;
  readonly revision: number;
};

/** What a service has made of an index that it seemed to be behind. */
export type EdgeAheadAnswer = {
  readonly kind: 'ahead';
  /** Present epoch, which is above that of the index if the service was behind it. */
  readonly epoch: number;
};

type EdgeTimeAnswer = {
  readonly kind: 'time';
  /** The ledger's time, in milliseconds since 1970. */
  readonly at: number;
};

/** Labels of a device as pairs of key and value, at their revision. */
export type EdgeLabels = readonly [
  appId: string,
  deviceId: string,
  revision: number,
  labels: readonly (readonly [key: string, value: string])[],
];

/** Labels of the devices that were asked for, in their order. */
export type EdgeLabelsAnswer = {
  readonly kind: 'labels';
  readonly labels: readonly EdgeLabels[];
  /** Whether each of the devices is on record. */
  readonly areRecorded: readonly boolean[];
};

/** Changes of labels after a position, oldest first, without those of other organizations. */
export type EdgeLabelChangesAnswer = {
  readonly kind: 'label-changes';
  readonly epoch: number;
  /** Position of the newest change that there is. */
  readonly newest: number;
  /** Position up to which these are all changes. */
  readonly through: number;
  readonly changed: readonly (readonly [...EdgeLabels, position: number])[];
};

/** What became of check-ins that were handed over. */
export type EdgeCheckInsAnswer = {
  readonly kind: 'check-ins';
  readonly accepted: number;
  /** Check-ins of apps that the edge may not serve, or that cannot be recorded. */
  readonly dropped: number;
};

/** What became of check-ins that somebody waited for: the merged labels, and the devices left out. */
export type EdgeRecordedAnswer = {
  readonly kind: 'recorded';
  readonly labels: readonly EdgeLabels[];
  readonly unadmitted: readonly (readonly [appId: string, deviceId: string])[];
};
