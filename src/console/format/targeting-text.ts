// Targeting conditions as text.

import type { TargetExpression, Targeting } from '../../contract/resource.ts';

const FIELD_NAMES: Readonly<Record<string, string>> = {
  $version: 'version',
  $platform: 'platform',
  $arch: 'architecture',
};

/**
 * Returns one clause per condition, all of which must hold; an empty list when the release targets every
 * device.
 */
export function targetingText(targets: Targeting | null): readonly string[] {
  if (targets === null) return [];
  const labels = Object.entries(targets.matchLabels).map(
    ([key, values]) => `${fieldText(key)} is ${listText(values, 'or')}`,
  );
  return [...labels, ...targets.matchExpressions.map(expressionText)];
}

/** Returns one expression as a clause. */
export function expressionText({ key, operator, values }: TargetExpression): string {
  const field = fieldText(key);
  switch (operator) {
    case 'In':
      return `${field} is ${listText(values, 'or')}`;
    case 'NotIn':
      return values.length === 1
        ? `${field} is not ${listText(values, 'or')}`
        : `${field} is neither ${listText(values, 'nor')}`;
    case 'Exists':
      return `${field} is set`;
    case 'DoesNotExist':
      return `${field} is not set`;
    case 'VersionGte':
      return `${field} is ${values.join(', ')} or newer`;
    case 'VersionLt':
      return `${field} is older than ${values.join(', ')}`;
  }
}

function fieldText(key: string): string {
  return Object.hasOwn(FIELD_NAMES, key) ? (FIELD_NAMES[key] ?? key) : key;
}

/** Wraps a value in direction isolates, so that a right-to-left value does not reorder the text around it. */
function listText(values: readonly string[], joint: 'or' | 'nor'): string {
  const shown = values.map((value) => (value === '' ? '(empty)' : `\u2068${value}\u2069`));
  if (shown.length <= 1) return shown.join('');
  return `${shown.slice(0, -1).join(', ')} ${joint} ${shown.at(-1)}`;
}
