// Changes of a release by serving control, as the audit log names them: a new status, or another change.

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
