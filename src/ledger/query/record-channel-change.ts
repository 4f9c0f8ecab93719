// Statements that record a change of what a channel serves.

import type { ServingOrder } from '../../domain/decision/serving-order.ts';
import type { ChannelRevision } from '../../ports/changed.ts';
import type { ActorSql } from '../atomically.ts';
import { insertAudit, type NewAuditEntry } from './insert-audit.ts';
import type { LockedChannel } from './lock-channel.ts';

export type ChannelChangeEntry = Omit<NewAuditEntry, 'organizationId' | 'subject'> & {
  /** Version of the release that changes; undefined when the channel itself does. */
  readonly version?: string;
};

/**
 * Raises the channel's revision by one and adds the audit entry. Call it under `lockChannel`, in the
 * transaction of the change.
 */
export async function recordChannelChange(
  sql: ActorSql,
  channel: LockedChannel,
  { version, ...entry }: ChannelChangeEntry,
): Promise<ChannelRevision> {
  const { id, app, name } = channel;
  const rows = await sql.query<ServingOrder>(
    `UPDATE channels SET revision = revision + 1 WHERE id = $1
     RETURNING present_epoch() AS epoch, revision`,
    [id],
  );
  const order = rows[0];
  if (order === undefined) throw new Error(`Locked channel ${id} has no row`);
  const place = `${app.ref}/${name}`;
  const subject = version === undefined ? place : `${place}@${version}`;
  await insertAudit(sql, { ...entry, organizationId: app.organizationId, subject });
  return { appRef: app.ref, channel: name, channelId: id, ...order };
}
