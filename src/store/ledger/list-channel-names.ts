// Statements that list the names of all channels, which nodes follow to answer unknown names by themselves.

import type { ChannelName, ChannelNameList } from '../channel-names.ts';
import type { Database } from './database.ts';

/**
 * Number of channels read at a time: converting 2,000 rows takes the serving thread a few milliseconds, and
 * it serves requests between two pages.
 */
const PAGE_SIZE = 2000;

/**
 * Sum of the hashes of all ids. Ids are random and neither an id nor a name ever changes, so the sum differs
 * when the set of channels does, also in a database that was restored. Reading it for 10,000 channels takes a
 * few milliseconds; comparing all names would take ten times that.
 */
const TAG = `
  SELECT count(*) || '-' || coalesce(sum(hashtextextended(id, 0)), 0) AS tag FROM channels`;

const PAGE = `
  SELECT apps.id AS "appId", apps.ref AS "appRef",
    channels.id AS "channelId", channels.name AS channel
  FROM channels JOIN apps ON apps.id = channels.app_id
  WHERE channels.id > $1 ORDER BY channels.id LIMIT $2`;

/**
 * Lists at most `countMax` channels of all organizations; undefined when their tag is `heldTag`. The tag is
 * read first: a channel that is created during the listing may be missing, and makes the next call list
 * again.
 */
export async function listChannelNames(
  database: Database,
  heldTag: string | undefined,
  countMax: number,
): Promise<ChannelNameList | undefined> {
  const [present] = await database.query<{ tag: string }>(TAG);
  const tag = present?.tag ?? '';
  if (tag === heldTag) return undefined;
  const channels: ChannelName[] = [];
  for (;;) {
    const after = channels.at(-1)?.channelId ?? '';
    const size = Math.min(PAGE_SIZE, countMax + 1 - channels.length);
    const page = await database.query<ChannelName>(PAGE, [after, size]);
    channels.push(...page);
    if (page.length < PAGE_SIZE || channels.length > countMax) break;
  }
  const isComplete = channels.length <= countMax;
  return { tag, channels: isComplete ? channels : channels.slice(0, countMax), isComplete };
}
