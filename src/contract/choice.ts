// Values that fields of answers may have: apart from the shapes, so that the console need not load zod.

export const RELEASE_STATUSES = ['published', 'paused', 'rolled_back', 'deprecated'] as const;
export const UPDATE_MODES = ['optional', 'recommended'] as const;
export const APPROVAL_MODES = ['none', 'one'] as const;
export const DDI_AUTHS = ['open', 'token'] as const;
/** What attributes of a device that speaks DDI may tell. */
export const DDI_KEYS = ['platform', 'arch', 'version', 'bundle'] as const;
/** What a device that speaks DDI gets while its version is unknown: nothing, or the highest release. */
export const UNKNOWN_VERSION_EFFECTS = ['wait', 'offer'] as const;
/** States of an action, the task of a device that speaks DDI to install a release. */
export const ACTION_STATES = [
  ...(['open', 'fetched', 'withdrawing', 'succeeded', 'failed', 'withdrawn'] as const),
] as const;
export const ACTION_RESULTS = ['succeeded', 'failed'] as const;
export const TARGET_OPERATORS = [
  ...(['In', 'NotIn', 'Exists', 'DoesNotExist', 'VersionGte', 'VersionLt'] as const),
] as const;
export const DEVICE_CLIENTS = [
  ...(['u', 'tauri', 'e', 'squirrel', 'velopack', 'sparkle', 'ddi', 'push'] as const),
] as const;
export const STANDING_STATES = [
  'serving',
  'rolling out',
  'for nobody yet',
  'superseded',
  'without files',
  'paused',
  'stopped by its guard',
  'deprecated',
  'rolled back',
] as const;

export const PLAN_STATUSES = ['scheduled', 'running', 'held', 'completed', 'cancelled'] as const;
export const SIGNALS = ['failed', 'reverted', 'stuck', 'silent'] as const;
export const VERDICTS = ['too early', 'healthy', 'unhealthy'] as const;
export const TRIP_EFFECTS = ['hold', 'pause'] as const;
export const BLIND_EFFECTS = ['hold', 'advance'] as const;
export const PLAN_PRESET_NAMES = ['careful', 'normal', 'fast'] as const;
/** Days of the week in the order of JavaScript's `getDay`, from Sunday. */
export const WEEK_DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const;

export const APPROVAL_STATUSES = ['pending', 'approved', 'declined', 'expired', 'failed'] as const;
/** Operations that may wait for an approval, by their names in the OpenAPI document. */
export const ASKED_OPERATIONS = [
  'publishRelease',
  'promoteRelease',
  'controlServing',
  'planRollout',
  'steerPlan',
  'resumeStop',
  'updateChannel',
] as const;

// Code hosts whose release webhooks are supported, with the signature header and the name of each.

export type WebhookProvider = (typeof WEBHOOK_PROVIDERS)[number];

/** Code hosts, in the order in which they are shown. */
export const WEBHOOK_PROVIDERS = ['github', 'gitea', 'forgejo'] as const;

/** Header with the signature of a delivery, as each code host's documentation spells it. */
export const SIGNATURE_HEADERS: Readonly<Record<WebhookProvider, string>> = {
  github: 'X-Hub-Signature-256',
  gitea: 'X-Gitea-Signature',
  forgejo: 'X-Forgejo-Signature',
};

/** Names of the code hosts. */
export const PROVIDER_NAMES: Readonly<Record<WebhookProvider, string>> = {
  github: 'GitHub',
  gitea: 'Gitea',
  forgejo: 'Forgejo',
};
