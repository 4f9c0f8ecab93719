// Statement that raises the epoch of a ledger that went back.

import type { RaisedEpoch } from '../ledger.ts';
import type { Sql } from './database.ts';
import { readIdentity } from './read-identity.ts';

/**
 * Raises the epoch above `above`, unless it is already. Of several nodes at once, one raises it, because the
 * others wait for that one's lock on the row and then find it raised. It counts as raised for this database's
 * identity: a node whose connection turns out to lead here only later need not raise it once more.
 */
export async function raiseEpoch(sql: Sql, above: number): Promise<RaisedEpoch> {
  const identity = await readIdentity(sql);
  const raised = await sql.query<{ epoch: number }>(
    `UPDATE ledger_epoch SET epoch = $1 + 1, identity = $2, raised_at = clock_timestamp()
     WHERE epoch <= $1 RETURNING epoch`,
    [above, identity],
  );
  if (raised[0] !== undefined) return { epoch: raised[0].epoch, isRaised: true };
  const present = await sql.query<{ epoch: number }>('SELECT epoch FROM ledger_epoch');
  if (present[0] === undefined) throw new Error('The epoch of the ledger has no row');
  return { epoch: present[0].epoch, isRaised: false };
}
