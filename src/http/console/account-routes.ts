// Routes of the console API by which the operator helps accounts.

import { z } from 'zod';
import { actorOf } from '../../access/access.ts';
import type { PasswordResets } from '../../access/password-resets.ts';
import { isFailure } from '../../contract/failure.ts';
import type { Route } from '../router.ts';
import { emailField } from '../shape/field.ts';
import type { ConsoleRoutes } from './console-route.ts';
import { requestOrigin } from './own-origin.ts';

const resetBody = z.strictObject({ email: emailField });

export type AccountDependencies = {
  readonly resets: PasswordResets;
  /** Base URL of the console; undefined when no setting names one. */
  readonly consoleUrl: string | undefined;
};

/** Builds the routes for accounts, which only the admin token may use. */
export function accountRoutes(
  routes: ConsoleRoutes,
  { resets, consoleUrl }: AccountDependencies,
): readonly Route[] {
  return [
    routes.onVisitor(
      { method: 'POST', path: 'accounts/reset-password', shape: resetBody, status: 201 },
      async (visitor, { email }, exchange) => {
        const created = await resets.create(email, actorOf(visitor, undefined));
        if (isFailure(created)) return created;
        const { token, expiresAt } = created;
        const base = consoleUrl ?? requestOrigin(exchange);
        return { url: `${base}/console/password-reset/${token}`, expiresAt };
      },
    ),
  ];
}
