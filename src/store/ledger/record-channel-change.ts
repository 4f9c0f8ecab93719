// Statements that record a change of what a channel serves.

import type { ServingOrder } from '../../domain/decision/serving-snapshot.ts';
import type { ChannelRevision } from '../changed.ts';
import type { ActorSql } from './atomically.ts';
import { insertAudit, type NewAuditEntry } from './audit.ts';
import type { LockedChannel } from './lock-channel.ts';

export type ChannelChangeEntry = Omit<NewAuditEntry, 'organizationId' | 'subject'> & {
  /** Version of the release that changes; undefined when the channel itself does. */
  readonly version?: string;
};

/**
 * Raises the channel's revision by one, and those of its followers when a release changes, and adds the audit
 * entry. Call it under `lockChannel`, in the transaction of the change. Returns the new places of all of
 * them.
 */
export async function recordChannelChange(
  sql: ActorSql,
  channel: LockedChannel,
  { version, ...entry }: ChannelChangeEntry,
): Promise<readonly ChannelRevision[]> {
  const { id, app, name } = channel;
  const moved = version === undefined ? 'id = $1' : '(id = $1 OR follows = $1)';
  const rows = await sql.query<ServingOrder & { readonly id: string; readonly name: string }>(
    `UPDATE channels SET revision = revision + 1 WHERE ${moved}
     RETURNING id, name, present_epoch() AS epoch, revision`,
    [id],
  );
  if (rows.length === 0) throw new Error(`Locked channel ${id} has no row`);
  const place = `${app.ref}/${name}`;
  const subject = version === undefined ? place : `${place}@${version}`;
  await insertAudit(sql, { ...entry, organizationId: app.organizationId, subject });
  return rows.map((row) => ({
    appRef: app.ref,
    channel: row.name,
    channelId: row.id,
    epoch: row.epoch,
    revision: row.revision,
  }));
}
