// Words for the fields of audited states, which the service names for programs.

const FIELD_WORDS: Readonly<Record<string, string>> = {
  rolloutPct: 'roll-out in percent',
  defaultRollout: 'default roll-out',
  minimumSupportedVersion: 'minimum version',
  updateMode: 'update mode',
  requireSignature: 'signatures required',
  newSecret: 'new secret',
  revokedAt: 'revoked',
  expiresAt: 'ends',
  tagPrefix: 'prefix of the tags',
  matchLabels: 'labels',
  matchExpressions: 'conditions',
};

/** Returns the words for a path of fields such as `targets › matchLabels › ring`. */
export function fieldText(path: string): string {
  if (path === '') return 'value';
  return path
    .split(' › ')
    .map((name) => (Object.hasOwn(FIELD_WORDS, name) ? (FIELD_WORDS[name] ?? name) : name))
    .join(' › ');
}
