// The form of a decision rule. A rule compiles a release into conditions once per catalog. Plans, decisions,
// the labels that a check fetches and the sentences of an explanation all follow from those conditions.

import type { RuleReason } from '../../../contract/explanation.ts';
import type { SnapshotRelease } from '../serving-snapshot.ts';
import type { Labels, RequestFields } from '../targeting.ts';
import type { Version } from '../version.ts';

export type DecisionRule<Reason extends RuleReason = RuleReason> = Obstacle<Reason> & {
  /** Compiles the conditions that a device must meet; none if every device may have the release. */
  readonly conditions: (release: SnapshotRelease) => readonly Condition[];
};

/** Reason that rules out a release for a device, with its sentence. */
export type Obstacle<Reason extends string> = {
  readonly reason: Reason;
  /** Returns a full sentence for the explanation that people read. */
  readonly sentence: (release: SnapshotRelease, fields: RequestFields, device: Device) => string;
};

export type Condition = FieldCondition | DeviceCondition;

/**
 * Condition on the fields of a request. It holds for all devices that share a plan or for none, so it must
 * not read the device, the clock or anything else that changes while the catalog stays the same.
 */
export type FieldCondition = {
  readonly on: 'fields';
  /** Versions that the condition compares with. Request versions between two of them share a plan. */
  readonly versions: readonly Version[];
  fits(fields: RequestFields): boolean;
};

/** Condition on the device, tested at every check. */
export type DeviceCondition = {
  readonly on: 'device';
  /** Labels that the condition reads. A check fetches only these from the stored labels of a device. */
  readonly labelKeys: readonly string[];
  fits(device: Device): boolean;
  /** Whether all devices of a slice meet the condition; absent if no slice does. */
  fitsSlice?(slice: number): boolean;
};

export type Device = {
  /** `hashText` of the device id; undefined if the device sent none. */
  readonly hash: number | undefined;
  readonly labels: Labels;
  /** Slice to decide for instead of one device: all its devices get the same decision. */
  readonly slice?: number | undefined;
};
