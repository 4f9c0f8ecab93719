// What can become of a release that is steered: a state that it gets, or one of the other changes.

export const AUDIT_DEEDS = [
  'published',
  'paused',
  'rolled_back',
  'deprecated',
  'raised',
  'lowered',
  'retargeted',
] as const;
export type AuditDeed = (typeof AUDIT_DEEDS)[number];
