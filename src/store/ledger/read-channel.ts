// Statement that reads a channel's policy.

import { isFailure, type Outcome } from '../../contract/failure.ts';
import type { Channel } from '../../contract/resource.ts';
import type { Sql } from './database.ts';
import { findChannel } from './find-channel.ts';

/** Returns the channel as the contract shows it, without its internal id. */
export async function readChannel(
  sql: Sql,
  app: { readonly id: string; readonly ref: string },
  name: string,
): Promise<Outcome<Channel, 'unknownChannel'>> {
  const channel = await findChannel(sql, app.id, name);
  if (isFailure(channel)) return channel;
  const { id: _, ...policy } = channel;
  return { app: app.ref, ...policy };
}
