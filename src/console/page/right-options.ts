// What keys may do, in words.

import type { KeyRight } from '../../contract/resource.ts';
import type { Option } from '../part/field.tsx';

export const RIGHT_OPTIONS: readonly Option<KeyRight>[] = [
  { value: 'publish', label: 'publish, promote and withdraw' },
  { value: 'control', label: 'change how releases are served' },
  { value: 'fleet', label: 'report and plan for devices' },
  { value: 'read', label: 'read' },
];

/** Name of a right. */
export function rightLabel(right: KeyRight): string {
  return RIGHT_OPTIONS.find(({ value }) => value === right)?.label ?? right;
}
