// Statement that reads who recorded parts of the devices last.

import type { DeviceWriter } from '../fleet-ledger.ts';
import { columns } from './columns.ts';
import type { Sql } from './database.ts';

const WRITER_COLUMNS = columns<DeviceWriter>({
  part: 'part',
  writer: 'writer',
  turns: 'turns::float8',
  awaited: 'awaited::float8',
});

/** Calls a function of the database that shares the locks of the parts, one after the other, then reads. */
export async function readWriters(
  sql: Sql,
  parts: readonly number[],
): Promise<readonly DeviceWriter[]> {
  return sql.query<DeviceWriter>(
    `SELECT ${WRITER_COLUMNS} FROM read_device_writers($1::smallint[])`,
    [[...parts].sort((left, right) => left - right)],
  );
}
