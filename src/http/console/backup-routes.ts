// Route of the console API by which the operator takes a copy of the embedded ledger.

import { z } from 'zod';
import { fail } from '../../contract/failure.ts';
import type { LedgerCopies } from '../../store/ledger-identity.ts';
import type { Route } from '../router.ts';
import type { ConsoleRoutes } from './console-route.ts';

const backupBody = z.strictObject({});

/** Builds the route for backups, which only the admin token may use. */
export function backupRoutes(routes: ConsoleRoutes, copies: LedgerCopies): readonly Route[] {
  return [
    routes.onVisitor({ method: 'POST', path: 'backup', shape: backupBody }, async ({ session }) =>
      session === undefined ? copies.make() : fail('forbidden'),
    ),
  ];
}
