// Differences between the two states of an audited change, value by value.

import { TARGET_OPERATORS, type TargetExpression } from '../../contract/resource.ts';
import { expressionText } from './targeting-text.ts';

export type Difference = {
  /** Path of the value, such as `targets › matchLabels › ring`; empty when the state is a single value. */
  readonly path: string;
  /** Value before the change; undefined when it is new. */
  readonly before: string | undefined;
  /** Value after the change; undefined when it was removed. */
  readonly after: string | undefined;
};

/** Maximum depth of nested values, above that of any audited state; deeper values are displayed as JSON. */
const DEPTH_MAX = 4;
/** Maximum length of a displayed value; longer ones are cut, because the beginning identifies them. */
const TEXT_LENGTH_MAX = 600;
/** Maximum number of differences listed; further ones are only counted. */
const DIFFERENCES_MAX = 60;

/**
 * The values that differ, in the order of the fields. A list is one value: its order means nothing to the
 * reader. Null on one side means that there was, or is, nothing.
 */
export function auditDifference(before: unknown, after: unknown): readonly Difference[] {
  const found: Difference[] = [];
  compare([], before, after, found);
  if (found.length <= DIFFERENCES_MAX) return found;
  const rest = found.length - DIFFERENCES_MAX;
  const more = { path: `${rest} more`, before: undefined, after: '…' };
  return [...found.slice(0, DIFFERENCES_MAX), more];
}

function compare(
  path: readonly string[],
  before: unknown,
  after: unknown,
  found: Difference[],
): void {
  const left = isRecord(before) ? before : undefined;
  const right = isRecord(after) ? after : undefined;
  const isWalked = left !== undefined || right !== undefined;
  const isBothWalked =
    (left ?? before ?? undefined) === left && (right ?? after ?? undefined) === right;
  if (isWalked && isBothWalked && path.length < DEPTH_MAX) {
    for (const key of new Set([...Object.keys(left ?? {}), ...Object.keys(right ?? {})])) {
      compare([...path, key], valueAt(left, key), valueAt(right, key), found);
    }
    return;
  }
  const [was, is] = [spell(before), spell(after)];
  if (was !== is) found.push({ path: path.join(' › '), before: cut(was), after: cut(is) });
}

function valueAt(record: Readonly<Record<string, unknown>> | undefined, key: string): unknown {
  return record !== undefined && Object.hasOwn(record, key) ? record[key] : undefined;
}

function cut(text: string | undefined): string | undefined {
  if (text === undefined || text.length <= TEXT_LENGTH_MAX) return text;
  return `${text.slice(0, TEXT_LENGTH_MAX)}…`;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Formats targeting conditions in the words of the release page. */
function isExpression(value: unknown): value is TargetExpression {
  return (
    isRecord(value) &&
    typeof value.key === 'string' &&
    TARGET_OPERATORS.some((operator) => operator === value.operator) &&
    Array.isArray(value.values) &&
    value.values.every((each) => typeof each === 'string')
  );
}

function spell(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'string') return value;
  if (Array.isArray(value) && value.every((each) => typeof each === 'string')) {
    return value.length === 0 ? 'none' : value.join(', ');
  }
  if (Array.isArray(value) && value.every(isExpression)) {
    return value.length === 0 ? 'none' : value.map(expressionText).join('; ');
  }
  return JSON.stringify(value);
}
