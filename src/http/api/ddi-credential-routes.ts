// Calls about the credentials of devices that speak DDI (docs/contract.md 34.42): a program makes device
// tokens with a key; owners make and revoke gateway tokens, and add and remove secrets, in the console.

import { z } from 'zod';
import { ANSWER_SHAPES } from '../../contract/answer-shape.ts';
import { isFailure } from '../../contract/failure.ts';
import type { ConsoleRoutes } from '../endpoint/console-route.ts';
import { nameField, titleField } from '../endpoint/field.ts';
import { deviceTokensBody } from '../endpoint/fleet-body.ts';
import { call, type KeyOperation } from '../endpoint/key-operation.ts';
import { jsonAnswer } from '../endpoint/operation.ts';
import { jsonReply, NO_STORE } from '../transport/reply.ts';
import type { Route } from '../transport/router.ts';
import type { ConsoleServices } from './console-services.ts';

/** Operation that makes device tokens. */
export const DDI_CREDENTIAL_OPERATIONS: readonly KeyOperation[] = [
  call({
    ...{ method: 'POST', path: '/api/v1/ddi/tokens', id: 'makeDeviceTokens' },
    ...{ tag: 'Fleet', right: 'fleet' },
    summary: 'Make the tokens by which devices authenticate that speak DDI',
    description: 'Another call for a device answers the same token, until its secret is replaced.',
    input: deviceTokensBody,
    answers: { 200: jsonAnswer('A token for each, in their order.', ANSWER_SHAPES.DeviceTokens) },
    refusals: [404, 409],
    async run({ ddiTokens }, caller, { app, deviceIds }) {
      const tokens = await ddiTokens.makeDeviceTokens(caller, app, deviceIds);
      if (isFailure(tokens)) return tokens;
      return { ...jsonReply(200, { tokens }), headers: NO_STORE };
    },
  }),
];

const newTokenBody = z.strictObject({ app: nameField, name: titleField });
const newSecretBody = z.strictObject({ app: nameField });
const namedBody = z.strictObject({ app: nameField, id: nameField });

/** Builds the routes below `/console/api` for gateway tokens and secrets. */
export function ddiCredentialRoutes(
  routes: ConsoleRoutes,
  { ledger, ddiTokens }: ConsoleServices,
): readonly Route[] {
  return [
    routes.plain('GET ddi-credentials', 'viewer of app', ({ app }) =>
      ledger.listDdiCredentials(app.id),
    ),
    routes.on('POST gateway-tokens', 'owner of app', { input: newTokenBody, status: 201 })(
      ({ app, actor }, { name }) => ddiTokens.createGatewayToken(app.id, name, actor),
    ),
    routes.on('POST gateway-tokens/revoke', 'owner of app', { input: namedBody })(
      ({ app, actor }, { id }) => ledger.revokeGatewayToken(app.id, id, actor),
    ),
    routes.on('POST ddi-secrets', 'owner of app', { input: newSecretBody, status: 201 })(
      ({ app, actor }) => ddiTokens.addSecret(app.id, actor),
    ),
    routes.on('POST ddi-secrets/remove', 'owner of app', { input: namedBody })(
      ({ app, actor }, { id }) => ledger.removeDdiSecret(app.id, id, actor),
    ),
  ];
}
