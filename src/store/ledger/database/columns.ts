// Column lists and JSON expressions that statements share. They are typed by their rows, so that a renamed
// field is a compile error here. Also parameters that may be null, and the identifiers of rows.

import { randomBytes } from 'node:crypto';
import type { ReleaseHead } from '../../../contract/console.ts';
import type {
  Account,
  Artifact,
  AuditEntry,
  Invitation,
  Member,
  Organization,
  Release,
  Webhook,
} from '../../../contract/resource.ts';
import { storableText } from '../../../contract/text.ts';
import { NO_CONDITIONS } from '../../../domain/decision/targeting.ts';
import type { StoredAccount } from '../../account-ledger.ts';
import type { ChannelPolicy, NewArtifact } from '../../ledger-terms.ts';

/** One SQL expression for each field of a type. */
type Expressions<Type> = Readonly<Record<keyof Type & string, string>>;

/** Returns the select list of a row of this type, in the given order. */
export function columns<Row>(expressions: Expressions<Row>): string {
  return Object.entries<string>(expressions)
    .map(([name, expression]) => `${expression} AS "${name}"`)
    .join(', ');
}

/** Returns a text in its stored form as a parameter; null for undefined. */
export function textOrNull(text: string | undefined): string | null {
  return text === undefined ? null : storableText(text);
}

/** Returns a value as JSON text for a parameter; null for null. */
export function jsonOrNull(value: object | null): string | null {
  return value === null ? null : JSON.stringify(value);
}

/** Returns the expression of a JSON object with these fields, in the given order. */
export function jsonObject<Value>(expressions: Expressions<Value>): string {
  const fields = Object.entries<string>(expressions);
  return `json_build_object(${fields.map(([name, value]) => `'${name}', ${value}`).join(', ')})`;
}

/** Returns the expression of a timestamp as RFC 3339 in UTC with milliseconds, on both databases the same. */
export function isoText(column: string): string {
  return `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
}

/** Returns the expression of a timestamp in milliseconds since 1970. */
export function msOf(column: string): string {
  return `(extract(epoch FROM ${column}) * 1000)::float8`;
}

/** Columns of an audit entry, for rows of `audit_entries AS entry`. */
export const AUDIT_COLUMNS = columns<AuditEntry>({
  id: 'entry.id::text',
  at: isoText('entry.at'),
  actor: 'actor',
  action: 'action',
  subject: 'subject',
  before: 'before',
  after: 'after',
  requestId: 'request_id',
  reason: 'reason',
});

/** Columns of a channel's policy, for rows of `channels`. */
export const POLICY_COLUMNS = columns<ChannelPolicy>({
  minimumSupportedVersion: 'minimum_supported_version',
  defaultRollout: 'default_rollout',
  updateMode: 'update_mode',
  requireSignature: 'require_signature',
  approvals: 'approvals',
  approvalDays: 'approval_days',
  follows: '(SELECT followed.name FROM channels AS followed WHERE followed.id = channels.follows)',
  ddi: 'channels.ddi',
});

/** Columns of an invitation, for rows of `invitations`. */
export const INVITATION_COLUMNS = columns<Invitation>({
  id: 'invitations.id',
  email: 'invitations.email',
  role: 'invitations.role',
  expiresAt: isoText('invitations.expires_at'),
  createdBy: 'invitations.created_by',
});

/** Columns of an account with its password, for rows of `accounts`. */
export const ACCOUNT_COLUMNS = columns<StoredAccount>({
  id: 'accounts.id',
  email: 'accounts.email',
  name: 'accounts.name',
  passwordHash: 'accounts.password_hash',
  passwordNumber: 'accounts.password_number',
});

/** Whether a session, a row of `sessions`, fulfils the demand for a second factor. */
export const IS_STRONG = `(sessions.opened_by <> 'password' OR sessions.second_factor)`;

/** Columns of a member, for rows of `memberships` joined with `accounts`. */
export const MEMBER_COLUMNS = columns<Member>({
  account: jsonObject<Account>({
    id: 'accounts.id',
    email: 'accounts.email',
    name: 'accounts.name',
  }),
  role: 'memberships.role',
  since: isoText('memberships.created_at'),
});

/** An organization as JSON, for rows of `organizations`. */
export const ORGANIZATION_JSON = `json_strip_nulls(${jsonObject<Organization>({
  id: 'organizations.id',
  name: 'organizations.name',
  requireSecondFactor: 'nullif(organizations.require_second_factor, false)',
})})`;

/**
 * Parts of a statement that read an account's role in each row of `organizations`. $1 is the account's id;
 * null is the operator, who owns every organization. Treat an organization that is not visible as unknown.
 */
export const ROLE_OF = {
  join: `LEFT JOIN memberships ON memberships.organization_id = organizations.id
    AND memberships.account_id = $1::text`,
  isVisible: '($1::text IS NULL OR memberships.role IS NOT NULL)',
  role: `CASE WHEN $1::text IS NULL THEN 'owner' ELSE memberships.role END`,
} as const;

/**
 * Condition of a destination that may get messages, for rows of `notification_destinations AS destination`:
 * mail goes only to a member or to an address that confirmed its link, and to none that declined.
 */
export const HAS_RECIPIENT = `(destination.mail_to IS NULL
  OR destination.declined_to IS DISTINCT FROM destination.mail_to
    AND (destination.confirmed_to = destination.mail_to OR ${isForMember('destination')})
)`;

/** Returns the condition that a destination, given by its SQL alias, sends mail to a member. */
export function isForMember(destination: string): string {
  return `EXISTS (
    SELECT FROM memberships JOIN accounts ON accounts.id = memberships.account_id
    WHERE memberships.organization_id = ${destination}.organization_id
      AND accounts.email = ${destination}.mail_to
  )`;
}

/** Columns of a webhook, for rows of `webhooks`; never its secret, not even sealed. */
export const WEBHOOK_COLUMNS = columns<Webhook>({
  provider: 'provider',
  enabled: 'disabled_at IS NULL',
  createdAt: isoText('created_at'),
  tagPrefix: 'tag_prefix',
  hold: 'hold',
  expect: 'expect',
  repository: 'repository',
  otherRepository: `CASE WHEN other_repository IS NOT NULL THEN
    json_build_object('name', other_repository, 'at', ${isoText('other_repository_at')}) END`,
});

const ARTIFACT: Expressions<Artifact> = {
  platform: 'artifacts.platform',
  arch: 'artifacts.arch',
  url: 'artifacts.url',
  sha512: 'artifacts.sha512',
  size: 'artifacts.size',
  signature: 'artifacts.signature',
  format: 'artifacts.format',
  sha256: 'artifacts.given_sha256',
  sha1: 'artifacts.sha1',
  minimumSystemVersion: 'artifacts.minimum_system_version',
  buildVersion: 'artifacts.build_version',
};

/** Artifacts of a row of `releases` as JSON, in publish order; leaves out absent fields. */
export const ARTIFACTS_JSON = artifactsJson(jsonObject<Artifact>(ARTIFACT));

/** Artifacts of a row of `releases` with all stored fields, even those that no list shows. */
export const ALL_ARTIFACTS_JSON = artifactsJson(
  jsonObject<NewArtifact>({ ...ARTIFACT, digest: 'artifacts.sha256' }),
);

/** Artifacts of a row of `releases` for a snapshot: the code host's SHA-256 where the publisher gave none. */
export const SNAPSHOT_ARTIFACTS_JSON = artifactsJson(
  jsonObject<Artifact>({
    ...ARTIFACT,
    sha256: 'coalesce(artifacts.given_sha256, artifacts.sha256)',
  }),
);

function artifactsJson(artifact: string): string {
  return `(
    SELECT coalesce(json_agg(json_strip_nulls(${artifact}) ORDER BY artifacts.position), '[]'::json)
    FROM artifacts WHERE artifacts.release_id = releases.id
  )`;
}

/** Expressions of the fields that a release has in a list and on its page, for rows of `releases`. */
export const RELEASE_HEAD: Expressions<ReleaseHead> = {
  id: 'id',
  version: 'version',
  status: 'status',
  rolloutPct: 'rollout_pct',
  targets: 'targets',
  offered: 'offered_at IS NOT NULL',
  createdAt: isoText('releases.created_at'),
};

/** A release as JSON, for rows of `releases` joined with `channels` and `apps`. */
export const RELEASE_JSON = jsonObject<Release>({
  id: 'releases.id',
  app: 'apps.ref',
  channel: 'channels.name',
  version: 'releases.version',
  notes: 'releases.notes',
  status: 'releases.status',
  rolloutPct: 'releases.rollout_pct',
  createdAt: isoText('releases.created_at'),
  artifacts: ARTIFACTS_JSON,
});

/**
 * Returns the expression for the text of a targeting (JSON or text); null for one without a condition, by the
 * rule of `isTargeted`. The service always writes the same text for no condition.
 */
export function conditionsText(column: string): string {
  return `nullif((${column})::text, '${JSON.stringify(NO_CONDITIONS)}')`;
}

// Identifiers of rows: a type's prefix and 26 characters of lower-case Crockford base32, the first 10 of
// which are the time. They sort by creation, so indexes on them grow at the end.

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const TIME_LENGTH = 10;
const RANDOM_LENGTH = 16;

type IdPrefix =
  | 'org'
  | 'app'
  | 'chn'
  | 'rel'
  | 'key'
  | 'acc'
  | 'inv'
  | 'pln'
  | 'edt'
  | 'rec'
  | 'stp'
  | 'evt'
  | 'dst'
  | 'ses'
  | 'pky'
  | 'apv'
  | 'gwt'
  | 'dds';

/** Returns a new identifier, e.g. `app_01j9z3k5w8d2m4n6p7q8r9s0t1`; `now` is milliseconds since 1970. */
export function newId(prefix: IdPrefix, now = Date.now()): string {
  return `${prefix}_${spellTime(now)}${spellRandom()}`;
}

function spellTime(now: number): string {
  let text = '';
  let rest = now;
  for (let index = 0; index < TIME_LENGTH; index++) {
    text = ALPHABET.charAt(rest % 32) + text;
    rest = Math.floor(rest / 32);
  }
  return text;
}

/** Returns 80 random bits. 256 is a multiple of 32, so the low five bits of a random byte are uniform. */
function spellRandom(): string {
  let text = '';
  for (const byte of randomBytes(RANDOM_LENGTH)) text += ALPHABET.charAt(byte & 31);
  return text;
}
