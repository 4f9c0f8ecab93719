// Routes of the console API that only the admin token may use: links for lost passwords and passkeys, tokens
// of edges, copies of the embedded ledger, and encrypting secrets again under the first key.

import { z } from 'zod';
import { type ConsoleRoutes, consoleBase } from '../endpoint/console-route.ts';
import { emailField, nameField, titleField } from '../endpoint/field.ts';
import type { Route } from '../transport/router.ts';
import type { ConsoleServices } from './console-services.ts';

const resetBody = z.strictObject({ email: emailField });
const newTokenBody = z.strictObject({ name: titleField, org: nameField.nullable() });
const tokenBody = z.strictObject({ id: nameField });
const backupBody = z.strictObject({});
const resealBody = z.strictObject({ after: nameField.optional() });

/** Builds the routes of the operator. */
export function operatorRoutes(
  routes: ConsoleRoutes,
  { ledger, links, edgeTokens, copies, resealing, consoleUrl }: ConsoleServices,
): readonly Route[] {
  return [
    routes.on('POST accounts/reset-password', 'operator', { input: resetBody, status: 201 })(
      ({ actor }, { email }, exchange) =>
        links.create('reset', { email }, actor, consoleBase(exchange, consoleUrl)),
    ),
    routes.on('POST accounts/recover', 'operator', { input: resetBody, status: 201 })(
      ({ actor }, { email }, exchange) =>
        links.create('recovery', { email }, actor, consoleBase(exchange, consoleUrl)),
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
