// Routes of the console API that only the admin token may use: links for lost passwords and passkeys, tokens
// of edges, copies of the embedded ledger, and the key of sealed secrets.

import { z } from 'zod';
import { isFailure } from '../../contract/failure.ts';
import { type ConsoleRoutes, requestOrigin } from '../endpoint/console-route.ts';
import { emailField, nameField, titleField } from '../endpoint/field.ts';
import type { Route } from '../transport/router.ts';
import type { ConsoleServices } from './console-services.ts';
import { recoveryLink } from './organization-routes.ts';

const resetBody = z.strictObject({ email: emailField });
const newTokenBody = z.strictObject({ name: titleField, org: nameField.nullable() });
const tokenBody = z.strictObject({ id: nameField });
const backupBody = z.strictObject({});
const resealBody = z.strictObject({ after: nameField.optional() });

/** Builds the routes of the operator. */
export function operatorRoutes(
  routes: ConsoleRoutes,
  { ledger, resets, recoveries, edgeTokens, copies, resealing, mails, consoleUrl }: ConsoleServices,
): readonly Route[] {
  return [
    routes.on('POST accounts/reset-password', 'operator', { input: resetBody, status: 201 })(
      async ({ actor }, { email }, exchange) => {
        const base = consoleUrl ?? requestOrigin(exchange);
        const urlOf = (token: string) => `${base}/console/password-reset/${token}`;
        const created = await resets.create(email, actor, (token, expiresAt) =>
          mails.passwordReset(email, urlOf(token), expiresAt),
        );
        if (isFailure(created)) return created;
        const { token, expiresAt } = created;
        return { url: urlOf(token), expiresAt };
      },
    ),
    routes.on('POST accounts/recover', 'operator', { input: resetBody, status: 201 })(
      async ({ actor }, { email }, exchange) => {
        const created = await recoveries.create({ email }, actor);
        return isFailure(created) ? created : recoveryLink(consoleUrl, exchange, created);
      },
    ),
    routes.plain('GET edge-tokens', 'operator', async () => ({
      edgeTokens: await ledger.listEdgeTokens(),
    })),
    routes.on('POST edge-tokens', 'operator', { input: newTokenBody, status: 201 })(
      ({ actor }, { name, org }) => edgeTokens.create(name, org, actor),
    ),
    routes.on('POST edge-tokens/revoke', 'operator', { input: tokenBody })(({ actor }, { id }) =>
      ledger.revokeEdgeToken(id, actor),
    ),
    routes.on('POST backup', 'operator', { input: backupBody })(() => copies.make()),
    routes.on('POST secrets/reseal', 'operator', { input: resealBody })((_, { after }) =>
      resealing.reseal(after),
    ),
  ];
}
