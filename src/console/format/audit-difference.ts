// What an audited change changed, value by value, instead of two documents side by side.

import { TARGET_OPERATORS, type TargetExpression } from '../../contract/resource.ts';
import { expressionText } from './targeting-text.ts';

export type Difference = {
  /** Where the value stands, such as `targets › matchLabels › ring`; empty when there is but one value. */
  readonly path: string;
  /** Undefined where the value is new. */
  readonly before: string | undefined;
  /** Undefined where the value is gone. */
  readonly after: string | undefined;
};

/** Deeper than anything that is audited; what lies below is shown as JSON. */
const DEPTH_MAX = 4;
/** A value beyond this is cut: which it was can be told from its beginning. */
const TEXT_LENGTH_MAX = 600;
/** More than anybody reads; the rest is counted. */
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

/** Conditions of a targeting are told as they are on its own page. */
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
