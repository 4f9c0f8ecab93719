// Names who makes a change in the ledger.

/**
 * Author of a change. The audit keeps `admin-token`, or the kind and the name: `key:` and the key's id and
 * name, `account:` and the email, `integration:github`. What an integration publishes may get its artifacts
 * later: see `completeRelease`.
 */
export type Actor = {
  readonly kind: 'key' | 'admin-token' | 'account' | 'integration';
  readonly name: string;
};
