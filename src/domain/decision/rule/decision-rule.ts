// The form of a decision rule. A rule compiles a release into conditions, once per catalog. Plans, decisions,
// the labels that a check fetches and the sentences of an explanation all follow from those conditions.

import type { RuleReason } from '../../../contract/reason.ts';
import type { SnapshotRelease } from '../serving-snapshot.ts';
import type { Labels, RequestFields } from '../targeting.ts';
import type { Version } from '../version.ts';

export type DecisionRule<Reason extends RuleReason = RuleReason> = Obstacle<Reason> & {
  /** Compiles what a device must fulfil to be offered the release; nothing when every device may have it. */
  readonly conditions: (release: SnapshotRelease) => readonly Condition[];
};

/** Reason that keeps a release from a device, with its words. */
export type Obstacle<Reason extends string> = {
  readonly reason: Reason;
  /** Returns the full sentence with which an explanation tells the obstacle to people. */
  readonly sentence: (release: SnapshotRelease, fields: RequestFields, device: Device) => string;
};

export type Condition = FieldCondition | DeviceCondition;

/**
 * Condition on the fields of a request. It holds for all devices that share a plan, or for none of them, so
 * it may read nothing that changes while the catalog stays the same: no device, no clock.
 */
export type FieldCondition = {
  readonly on: 'fields';
  /** Versions that the condition compares the request's version with: versions between them share a plan. */
  readonly versions: readonly Version[];
  fits(fields: RequestFields): boolean;
};

/** Condition on the device, tested again at every check. */
export type DeviceCondition = {
  readonly on: 'device';
  /** Labels that the condition reads: only those named here are fetched when a device sent them earlier. */
  readonly labelKeys: readonly string[];
  fits(device: Device): boolean;
  /** Whether a whole slice of the devices fulfils it; absent for a condition that no slice fulfils. */
  fitsSlice?(slice: number): boolean;
};

export type Device = {
  /** `hashText` of the device id; undefined when the device did not identify itself. */
  readonly hash: number | undefined;
  readonly labels: Labels;
  /** Slice that is asked for in place of one device: all devices of the slice get the same decision. */
  readonly slice?: number | undefined;
};
