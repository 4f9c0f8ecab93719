// Areas of the source, and the suites that are to notice a mutation in them. The suites of one area take at
// most 90 s on two idle processors.

export type Area = {
  readonly name: string;
  /** Folders and files below `src`. */
  readonly sources: readonly string[];
  /** What is mutated: TypeScript, or statements of SQL, or scripts in Lua. */
  readonly language: 'code' | 'sql' | 'lua';
  /** Folders and files below `test`; what a commit does not have is passed over. */
  readonly suites: readonly string[];
};

const service = (...names: readonly string[]) => names.map((name) => `service/${name}.test.ts`);

const AREA_OF_LEDGER = {
  sources: ['store/ledger'],
  suites: ['store/ledger'],
} as const;

export const AREAS: readonly Area[] = [
  {
    name: 'domain',
    sources: ['domain', 'updater', 'words'],
    language: 'code',
    suites: ['domain', 'updater', 'words', 'serving', 'console', 'chaos', 'publishing', 'cli'],
  },
  {
    name: 'access',
    sources: ['access', 'http/api/session-routes.ts', 'http/api/account-routes.ts'],
    language: 'code',
    suites: [
      'access',
      ...service('sign-in', 'passkeys', 'oidc-sign-in', 'authentication', 'password-reset'),
      ...service('console-invitations', 'narrowed-keys', 'console-rights', 'own-sessions'),
    ],
  },
  {
    name: 'publishing',
    sources: ['publishing', 'http/webhook'],
    language: 'code',
    suites: [
      'publishing',
      ...service('publish-release', 'dry-run', 'plan-dry-runs', 'findings', 'approvals'),
      ...service('webhook-delivery', 'webhook-code-hosts', 'webhook-identity', 'rollout-plans'),
      ...service('webhook-call-back', 'webhook-late-assets', 'webhook-electron', 'list-releases'),
      'http/read-release-event.test.ts',
      'http/webhook-routes.test.ts',
    ],
  },
  {
    name: 'serving',
    sources: ['serving'],
    language: 'code',
    suites: [
      'serving',
      ...service('update-check-decision', 'update-check-request', 'update-check-cohort', 'explain'),
      ...service('update-check'),
      ...service('standing', 'dry-run', 'fleet-decisions', 'following', 'cached-decisions'),
    ],
  },
  {
    name: 'fleet',
    sources: ['fleet'],
    language: 'code',
    suites: [
      'fleet',
      ...service('check-ins', 'device-labels', 'device-list', 'fleet-report', 'mistaken-ids'),
      ...service('admission', 'erase-device', 'device-clients'),
    ],
  },
  { name: 'ledger', language: 'code', ...AREA_OF_LEDGER },
  { name: 'ledger SQL', language: 'sql', ...AREA_OF_LEDGER },
  {
    name: 'engine',
    sources: ['store/redis', 'store/memory', 'store/snapshot', 'flow'],
    language: 'code',
    suites: ['store/engine', 'store/snapshot', 'flow', 'fleet/check-in-drain.test.ts'],
  },
  {
    name: 'engine Lua',
    sources: ['store/redis/script'],
    language: 'lua',
    suites: ['store/engine'],
  },
  {
    name: 'http',
    sources: ['http/transport', 'http/endpoint', 'http/device', 'http/notes', 'http/api'],
    language: 'code',
    suites: [
      'http',
      ...service('bad-input', 'update-check-request', 'feed', 'console-files', 'console-rights'),
      ...service('narrowed-keys', 'list-releases', 'console-data', 'updater-bad-input', 'openapi'),
      ...service('updaters'),
      ...service('app-archive', 'console-api', 'late-body'),
    ],
  },
  {
    name: 'notify',
    sources: ['notify', 'store/ledger/people/deliveries.ts', 'store/ledger/change/outbox.ts'],
    language: 'code',
    suites: ['notify', ...service('notification-destinations', 'mail-recipients'), 'store/ledger'],
  },
  {
    name: 'edge',
    sources: ['edge', 'store/disk'],
    language: 'code',
    suites: ['edge', 'store/disk', ...service('edge', 'edge-endpoints')],
  },
  {
    name: 'console',
    sources: ['console'],
    language: 'code',
    suites: [
      'console',
      'browser/pages.test.ts',
      'browser/publishing.test.ts',
      'browser/plans.test.ts',
    ],
  },
];
