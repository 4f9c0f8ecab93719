// Routes of the console API for a person's own account: its sessions and its passkeys.

import { z } from 'zod';
import { fail, isFailure } from '../../contract/failure.ts';
import { type ConsoleRoutes, challengeCookie, routeOf } from '../endpoint/console-route.ts';
import { titleField } from '../endpoint/field.ts';
import { parseBody } from '../endpoint/parse-shape.ts';
import { newPasskeyField } from '../endpoint/passkey-body.ts';
import type { Route } from '../transport/router.ts';
import type { AdmittingServices } from './console-services.ts';
import { questionReply } from './session-routes.ts';

const BODY_BYTES_MAX = 32 * 1024;

const noBody = z.strictObject({});
const passkeyBody = z.strictObject({ name: titleField, credential: newPasskeyField });
const nameBody = z.strictObject({ name: titleField });

/** Builds the routes below `/console/api/account`. */
export function accountRoutes(
  routes: ConsoleRoutes,
  dependencies: AdmittingServices,
): readonly Route[] {
  const { accounts, passkeys } = dependencies;
  const adding = { input: passkeyBody, status: 201, bodyBytesMax: BODY_BYTES_MAX };
  return [
    routes.plain('GET account/sessions', 'person', async ({ session }) => ({
      sessions: await accounts.listSessions(session),
    })),
    routes.plain('DELETE account/sessions', 'person', ({ session, visitor }) =>
      accounts.endOthers(session, visitor.requestId),
    ),
    routes.plain('DELETE account/sessions/:id', 'person', ({ session, visitor, id }) =>
      accounts.endSession(session, id, visitor.requestId),
    ),
    routes.plain('GET account/passkeys', 'person', ({ session }) => passkeys.list(session)),
    askForNewPasskey(dependencies),
    routes.on(
      'POST account/passkeys',
      'person',
      adding,
    )(({ session, visitor }, body, exchange) =>
      passkeys.add(session, body, challengeCookie(exchange), visitor.requestId),
    ),
    routes.on('PATCH account/passkeys/:id', 'person', { input: nameBody })(
      ({ session, visitor, id }, { name }) => passkeys.rename(session, id, name, visitor.requestId),
    ),
    routes.plain('DELETE account/passkeys/:id', 'person', ({ session, visitor, id }) =>
      passkeys.remove(session, id, visitor.requestId),
    ),
  ];
}

/** Builds the route that returns a challenge for adding a passkey. */
function askForNewPasskey({ admit, passkeys, consoleUrl }: AdmittingServices): Route {
  const handler = admit(
    async (exchange, { session }) => {
      if (session === undefined) return fail('signedOut');
      const body = await parseBody(exchange, noBody);
      return isFailure(body) ? body : passkeys.askForNew(session);
    },
    (question) => questionReply(question, { options: question.options }, consoleUrl),
  );
  return routeOf('POST account/passkeys/options', handler);
}
