// One release of a snapshot as JSON. The text belongs to its edition: it never changes, so it is written and
// read once. Whether the release was offered is not in it, since that changes within an edition.

import {
  type Artifact,
  RELEASE_STATUSES,
  TARGET_OPERATORS,
  type Targeting,
} from '../../contract/resource.ts';
import type { SnapshotRelease } from '../../domain/decision/serving-snapshot.ts';
import { areTexts, isCount, isListOf, isObject, isOneOf, isText, parseJson } from './parse-json.ts';

/** Release as it is stored: the same for as long as it has this edition. */
export type ReleaseEdition = Omit<SnapshotRelease, 'offered' | 'followed'>;

/** Fields of an artifact that are texts where they are present; a node of an older version wrote fewer. */
const OPTIONAL_TEXTS = [
  'arch',
  'url',
  'sha512',
  'signature',
  'format',
  'sha256',
  'sha1',
  'minimumSystemVersion',
  'buildVersion',
] as const satisfies readonly (keyof Artifact)[];

/** Returns the text of a release. */
export function releaseText({ offered: _, followed: __, ...release }: SnapshotRelease): string {
  return JSON.stringify(release satisfies ReleaseEdition);
}

/**
 * Parses the text of a release of this edition, made by `releaseText` or by the ledger; undefined when the
 * text is anything else.
 */
export function parseReleaseText(text: string, edition: string): ReleaseEdition | undefined {
  const value = parseJson(text);
  return isRelease(value) && value.edition === edition ? value : undefined;
}

function isRelease(value: unknown): value is ReleaseEdition {
  if (!isObject<ReleaseEdition>(value)) return false;
  return (
    areTexts(value.id, value.edition, value.version, value.notes, value.createdAt) &&
    isOneOf(RELEASE_STATUSES, value.status) &&
    isCount(value.rolloutPct) &&
    (value.targets === null || isTargeting(value.targets)) &&
    isListOf(value.artifacts, isArtifact)
  );
}

function isArtifact(value: unknown): value is Artifact {
  if (!isObject<Artifact>(value)) return false;
  return (
    typeof value.platform === 'string' &&
    (value.size === undefined || isCount(value.size)) &&
    OPTIONAL_TEXTS.every((name) => value[name] === undefined || typeof value[name] === 'string')
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
