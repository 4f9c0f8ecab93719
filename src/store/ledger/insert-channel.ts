// Statement that inserts a channel.

import type { ServingOrder } from '../../domain/decision/serving-snapshot.ts';
import type { ChannelRevision } from '../changed.ts';
import type { Sql } from './database.ts';
import { newId } from './new-id.ts';

const FIRST_REVISION = 1;

/**
 * Returns the channel at its first revision, undefined when the app has a channel of this name already. Waits
 * for a transaction that is just inserting the same name: the name is taken if that one commits.
 */
export async function insertChannel(
  sql: Sql,
  app: { readonly id: string; readonly ref: string },
  name: string,
): Promise<ChannelRevision | undefined> {
  const id = newId('chn');
  const rows = await sql.query<ServingOrder>(
    `INSERT INTO channels (id, app_id, name, revision) VALUES ($1, $2, $3, $4)
     ON CONFLICT (app_id, name) DO NOTHING
     RETURNING present_epoch() AS epoch, revision`,
    [id, app.id, name, FIRST_REVISION],
  );
  const order = rows[0];
  return order === undefined
    ? undefined
    : { appRef: app.ref, channel: name, channelId: id, ...order };
}
