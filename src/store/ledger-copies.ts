// Port of the copies that an operator takes of a ledger while it is used.

import type { Outcome } from '../contract/failure.ts';

export interface LedgerCopies {
  /**
   * Makes a consistent copy of the embedded ledger, with the secrets that belong to it, in a directory that
   * only the account of the service may enter; resolves with its absolute path. Who asked removes it. Calls
   * of the ledger wait meanwhile.
   */
  make(): Promise<Outcome<{ readonly directory: string }, 'notEmbedded' | 'backupRunning'>>;
}
