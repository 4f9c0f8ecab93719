// Bound on what a channel holds, so that no channel can grow until serving it costs the others (§8).

import { type Failure, fail } from '../../contract/failure.ts';
import { LIMIT } from '../../contract/limit.ts';
import type { Sql } from './database.ts';

const BYTES_PER_MIB = 1024 * 1024;

/**
 * Refuses a change after which a channel is over its bound. Call it under `lockChannel`, when the change is
 * written: the refusal rolls it back.
 */
export async function refuseFullChannel(
  sql: Sql,
  channelId: string,
): Promise<Failure<'channelFull'> | undefined> {
  const rows = await sql.query<{ releases: number; bytes: number }>(
    `SELECT release_count AS releases, content_bytes::float8 AS bytes FROM channels WHERE id = $1`,
    [channelId],
  );
  const { releases = 0, bytes = 0 } = rows[0] ?? {};
  if (releases > LIMIT.channelReleasesMax) {
    return fail(
      'channelFull',
      `The channel has ${LIMIT.channelReleasesMax} releases, and a channel can have no more: ` +
        'publish on another channel',
    );
  }
  if (bytes <= LIMIT.channelContentBytesMax) return undefined;
  return fail(
    'channelFull',
    `The notes and artifacts of the channel's releases may have ` +
      `${LIMIT.channelContentBytesMax / BYTES_PER_MIB} MiB together: publish on another channel`,
  );
}
