// Statement that reads what edges follow: the record, its epoch, and each channel with its present revision.

import type { ChannelState, ChannelStates } from '../edge-ledger.ts';
import type { Sql } from './database.ts';

type Present = {
  readonly epoch: number;
  readonly record: string | null;
  readonly line: string | null;
};
type Row = Present & (ChannelState | { readonly channelId: null });

/**
 * Reads the epoch with every row, so that all of it is of one moment. The row without a channel is there for
 * a ledger that has none.
 */
export async function readChannelStates(sql: Sql, countMax: number): Promise<ChannelStates> {
  const rows = await sql.query<Row>(
    `SELECT ledger_epoch.epoch, ledger_epoch.record, ledger_epoch.line, found.* FROM ledger_epoch
     LEFT JOIN LATERAL (
       SELECT apps.organization_id AS "organizationId", apps.id AS "appId", apps.ref AS "appRef",
         channels.id AS "channelId", channels.name AS channel, channels.revision
       FROM channels JOIN apps ON apps.id = channels.app_id ORDER BY channels.id LIMIT $1
     ) AS found ON TRUE`,
    [countMax + 1],
  );
  const [first] = rows;
  if (first === undefined) throw new Error('The epoch of the ledger has no row');
  const channels = rows.flatMap((row) => (row.channelId === null ? [] : [stateOf(row)]));
  const isComplete = channels.length <= countMax;
  const { epoch, record, line } = first;
  return {
    epoch,
    record,
    line,
    channels: isComplete ? channels : channels.slice(0, countMax),
    isComplete,
  };
}

function stateOf({
  epoch: _,
  record: __,
  line: ___,
  ...state
}: Present & ChannelState): ChannelState {
  return state;
}
