// Error of a database that is not the record.

import { Unavailable } from '../../contract/unavailable.ts';

/** Error of a database of another record than is remembered, or of one that is empty. */
export class ForeignDatabase extends Unavailable {
  /** Number of channels that are remembered. */
  readonly count: number;

  constructor(count: number) {
    super(
      'ledger',
      `the database is not the record that DATA_DIR or Redis remember (${count} channels)`,
    );
    this.count = count;
  }
}
