// Options of the role select.

import type { Role } from '../../contract/resource.ts';

export const ROLE_OPTIONS: readonly { readonly value: Role; readonly label: string }[] = [
  { value: 'viewer', label: 'Viewer: sees everything' },
  { value: 'publisher', label: 'Publisher: publishes and steers' },
  { value: 'owner', label: 'Owner: everything' },
];
