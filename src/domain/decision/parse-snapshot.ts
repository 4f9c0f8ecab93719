// Recognises a snapshot among data that was stored outside the ledger: by another version of the service, by
// another program, or damaged since. What is not a whole snapshot is refused before it gets any further.

import {
  RELEASE_STATUSES,
  TARGET_OPERATORS,
  type Targeting,
  UPDATE_MODES,
} from '../../contract/resource.ts';
import type { ServingSnapshot, SnapshotArtifact, SnapshotRelease } from './serving-snapshot.ts';

/** Returns the value as a snapshot when it has the shape of one throughout; otherwise undefined. */
export function parseSnapshot(value: unknown): ServingSnapshot | undefined {
  return isSnapshot(value) ? value : undefined;
}

/** Fields of an object whose types are not known yet. */
type Unchecked<Shape> = { readonly [Key in keyof Shape]?: unknown };

function isSnapshot(value: unknown): value is ServingSnapshot {
  if (!isObject<ServingSnapshot>(value)) return false;
  return (
    areTexts(value.appId, value.appRef, value.channelId, value.channel) &&
    isCount(value.epoch) &&
    isCount(value.revision) &&
    isOneOf(UPDATE_MODES, value.updateMode) &&
    (value.minimumSupportedVersion === null || typeof value.minimumSupportedVersion === 'string') &&
    isListOf(value.releases, isRelease)
  );
}

function isRelease(value: unknown): value is SnapshotRelease {
  if (!isObject<SnapshotRelease>(value)) return false;
  return (
    areTexts(value.id, value.version, value.notes, value.createdAt) &&
    isOneOf(RELEASE_STATUSES, value.status) &&
    isCount(value.rolloutPct) &&
    (value.targets === null || isTargeting(value.targets)) &&
    typeof value.offered === 'boolean' &&
    isListOf(value.artifacts, isArtifact)
  );
}

function isArtifact(value: unknown): value is SnapshotArtifact {
  if (!isObject<SnapshotArtifact>(value)) return false;
  return (
    typeof value.platform === 'string' &&
    (value.size === undefined || isCount(value.size)) &&
    [value.arch, value.url, value.sha512, value.sha256, value.signature].every(
      (text) => text === undefined || typeof text === 'string',
    )
  );
}

function isTargeting(value: unknown): value is Targeting {
  if (!isObject<Targeting>(value)) return false;
  const { matchLabels, matchExpressions } = value;
  return (
    isObject(matchLabels) &&
    Object.values(matchLabels).every((values) => isListOf(values, isText)) &&
    isListOf(matchExpressions, isExpression)
  );
}

function isExpression(value: unknown): boolean {
  if (!isObject<Targeting['matchExpressions'][number]>(value)) return false;
  return (
    typeof value.key === 'string' &&
    isOneOf(TARGET_OPERATORS, value.operator) &&
    isListOf(value.values, isText)
  );
}

function isObject<Shape>(value: unknown): value is Unchecked<Shape> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isListOf(value: unknown, isItem: (item: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(isItem);
}

function areTexts(...values: readonly unknown[]): boolean {
  return values.every(isText);
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isOneOf(allowed: readonly string[], value: unknown): boolean {
  return typeof value === 'string' && allowed.includes(value);
}
