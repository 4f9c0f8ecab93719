// Error of a database that is not the record.

import { Unavailable } from '../ports/unavailable.ts';

/** Error of a database that knows none of the remembered channels: another one than the record. */
export class ForeignDatabase extends Unavailable {
  /** Number of channels that are remembered. */
  readonly count: number;

  constructor(count: number) {
    super(
      'ledger',
      `the database knows none of the ${count} channels that DATA_DIR or Redis remember`,
    );
    this.count = count;
  }
}
