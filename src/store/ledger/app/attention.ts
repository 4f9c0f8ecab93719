// SQL of what needs a person in an organization: one statement, over open plans, the newest releases of each
// channel, and small tables. It reads no devices.

import {
  ATTENTION_KINDS,
  type Attention,
  type AttentionItem,
  type AttentionKind,
} from '../../../contract/attention.ts';
import { LIMIT } from '../../../contract/limit.ts';
import { isStorable } from '../../../contract/text.ts';
import { IS_OVER } from '../change/approvals.ts';
import { IS_WAITING } from '../change/plan-rows.ts';
import { columns, isoText } from '../database/columns.ts';
import type { Sql } from '../database/database.ts';
import { IS_TOLD } from '../fleet/mistaken-ids.ts';

/** Number of releases per channel that are looked at, the newest ones. */
const RELEASES_LOOKED_AT = 10;
/**
 * Days for which a refused edge is listed: nothing reports when it stops asking. An edge of all organizations
 * is not listed: the operator has to act.
 */
const EDGE_DAYS = 7;

const PLACE = `
  SELECT apps.ref AS app, channels.id, channels.name AS channel, channels.require_signature
  FROM apps JOIN channels ON channels.app_id = apps.id
  WHERE apps.organization_id = $1 AND apps.archived_at IS NULL`;

/** Time of the newest audit entry of a row's release that fulfils a condition on its action. */
const lastChange = (action: string) => `(
  SELECT max(at) FROM audit_entries
  WHERE organization_id = $1 AND subject = place.app || '/' || place.channel || '@' || releases.version
    AND ${action}
)`;

const PLANS = `
  SELECT CASE WHEN json_array_length(plan.state -> 'tripped') > 0 THEN 'tripped'
      WHEN plan.status = 'held' THEN 'held' ELSE 'waiting' END AS kind,
    CASE WHEN plan.status = 'held' THEN ${lastChange("action = 'plan.hold'")}
      ELSE (plan.state -> 'waitingFor' ->> 'since')::timestamptz END AS since,
    coalesce(plan.state -> 'waitingFor' ->> 'reason', plan.state ->> 'reason') AS why,
    place.app, place.channel, releases.version, NULL::text AS id, NULL::text AS name,
    NULL::float8 AS count
  FROM place
  JOIN rollout_plans AS plan ON plan.channel_id = place.id
  JOIN releases ON releases.id = plan.release_id
  WHERE plan.status IN ('scheduled', 'running', 'held')
    AND (plan.status = 'held' OR ${IS_WAITING})`;

const NO_FILE = `releases.status = 'published' AND releases.rollout_pct > 0 AND NOT EXISTS (
  SELECT FROM artifacts WHERE release_id = releases.id AND url IS NOT NULL
    AND (NOT place.require_signature OR coalesce(signature, '') <> '')
)`;

const RELEASES = `
  SELECT kind, CASE WHEN kind = 'landed' THEN releases.created_at
      WHEN kind = 'uninstallable' THEN coalesce(releases.published_at, releases.created_at)
      ELSE ${lastChange("action LIKE 'release.%' AND after ->> 'status' = 'paused'")} END AS since,
    CASE WHEN kind = 'landed' THEN releases.hold END AS why,
    place.app, place.channel, releases.version, NULL AS id, NULL AS name, NULL AS count
  FROM place
  CROSS JOIN LATERAL (
    SELECT *, row_number() OVER (ORDER BY created_at DESC, id DESC) AS place_in_channel
    FROM releases WHERE channel_id = place.id
    ORDER BY created_at DESC, id DESC LIMIT ${RELEASES_LOOKED_AT}
  ) AS releases
  CROSS JOIN LATERAL (
    SELECT CASE WHEN place_in_channel = 1 AND ${NO_FILE} THEN 'uninstallable'
      WHEN releases.status = 'paused' AND releases.called_back THEN 'called-back'
      WHEN releases.status = 'paused' AND releases.hold IS NOT NULL THEN 'landed' END AS kind
  ) AS judged
  WHERE kind IS NOT NULL`;

const DESTINATIONS = `
  SELECT CASE WHEN is_enabled THEN 'failing' ELSE 'disabled' END, failing_since, disabled_why,
    NULL, NULL, NULL, id, name, NULL
  FROM notification_destinations
  WHERE organization_id = $1
    AND (is_enabled AND failing_since IS NOT NULL OR NOT is_enabled AND disabled_why IS NOT NULL)`;

const EDGES = `
  SELECT 'edge', refusal_told_at, NULL, NULL, NULL, NULL, id, name, NULL FROM edge_tokens
  WHERE organization_id = $1 AND refusal_told_at > clock_timestamp() - interval '${EDGE_DAYS} days'`;

const APPROVALS = `
  SELECT 'approval', approvals.created_at, approvals.reason, apps.ref, channels.name, approvals.version,
    approvals.id, approvals.operation, NULL
  FROM approvals
  JOIN apps ON apps.id = approvals.app_id
  LEFT JOIN channels ON channels.id = approvals.channel_id
  WHERE approvals.organization_id = $1 AND approvals.status = 'pending' AND NOT ${IS_OVER}`;

const MISTAKEN_IDS = `
  SELECT 'mistaken-ids', first_at, NULL, apps.ref, NULL, NULL, NULL, kind, requests::float8
  FROM mistaken_ids JOIN apps ON apps.id = app_id
  WHERE apps.organization_id = $1 AND apps.archived_at IS NULL AND ${IS_TOLD}`;

const COLUMNS = columns<AttentionItem>({
  kind: 'kind',
  since: isoText('since'),
  why: 'why',
  app: 'app',
  channel: 'channel',
  version: 'version',
  id: 'id',
  name: 'name',
  count: 'count',
});

const STATEMENT = `
  WITH place AS MATERIALIZED (${PLACE})
  SELECT ${COLUMNS} FROM (
    ${[PLANS, RELEASES, DESTINATIONS, EDGES, MISTAKEN_IDS, APPROVALS].join('\n    UNION ALL\n')}
  ) AS item
  ORDER BY array_position($2::text[], kind), item.since DESC NULLS LAST, app, channel, id, name
  LIMIT ${LIMIT.attentionMax + 1}`;

/**
 * Reads what needs a person in an organization, up to the number that the overview shows. Archived apps are
 * left out.
 */
export async function readAttention(sql: Sql, organizationId: string): Promise<Attention> {
  if (!isStorable(organizationId)) return { items: [], isWhole: true };
  const kinds: readonly AttentionKind[] = ATTENTION_KINDS;
  const rows = await sql.query<AttentionItem>(STATEMENT, [organizationId, kinds]);
  return {
    items: rows.slice(0, LIMIT.attentionMax),
    isWhole: rows.length <= LIMIT.attentionMax,
  };
}
