// Routes of the console API for a person's own account: its sessions and its passkeys.

import { z } from 'zod';
import type { Session } from '../../access/accounts.ts';
import type { PasskeyQuestion } from '../../access/passkeys.ts';
import type { ConsoleAnswer } from '../../contract/console.ts';
import { fail, isFailure, type Outcome } from '../../contract/failure.ts';
import { challengeCookie, routeOf, unstored } from '../endpoint/console-route.ts';
import { titleField } from '../endpoint/field.ts';
import { parseBody } from '../endpoint/parse-shape.ts';
import { newPasskeyField } from '../endpoint/passkey-body.ts';
import type { Exchange, Handler } from '../transport/exchange.ts';
import { jsonReply, type Reply } from '../transport/reply.ts';
import type { Route } from '../transport/router.ts';
import { questionReply, type SessionDependencies } from './session-routes.ts';

const BODY_BYTES_MAX = 32 * 1024;

const noBody = z.strictObject({});
const passkeyBody = z.strictObject({ name: titleField, credential: newPasskeyField });
const nameBody = z.strictObject({ name: titleField });

/** Builds the routes below `/console/api/account`. */
export function accountRoutes(dependencies: SessionDependencies): readonly Route[] {
  const { accounts } = dependencies;
  const routeOfPerson = createRouteOfPerson(dependencies);
  return [
    routeOfPerson('GET account/sessions', async (session) => ({
      sessions: await accounts.listSessions(session),
    })),
    routeOfPerson('DELETE account/sessions', (session, { notes }) =>
      accounts.endOthers(session, notes.requestId),
    ),
    routeOfPerson('DELETE account/sessions/:id', (session, { params, notes }) =>
      accounts.endSession(session, params.get('id') ?? '', notes.requestId),
    ),
    ...passkeyRoutes(dependencies),
  ];
}

function passkeyRoutes(dependencies: SessionDependencies): readonly Route[] {
  const { passkeys, consoleUrl } = dependencies;
  const routeOfPerson = createRouteOfPerson(dependencies);
  const adding = routeOfPerson(
    'POST account/passkeys',
    async (session, exchange) => {
      const body = await parseBody(exchange, passkeyBody);
      if (isFailure(body)) return body;
      return passkeys.add(session, body, challengeCookie(exchange), exchange.notes.requestId);
    },
    (passkey) => unstored(jsonReply(201, passkey)),
  );
  const asking = ofPerson<PasskeyQuestion>(
    dependencies,
    async (session, exchange) => {
      const body = await parseBody(exchange, noBody);
      return isFailure(body) ? body : passkeys.askForNew(session);
    },
    (question) => questionReply(question, { options: question.options }, consoleUrl),
  );
  return [
    routeOfPerson('GET account/passkeys', (session) => passkeys.list(session)),
    routeOf('POST account/passkeys/options', asking),
    { ...adding, bodyBytesMax: BODY_BYTES_MAX },
    routeOfPerson('PATCH account/passkeys/:id', async (session, exchange) => {
      const body = await parseBody(exchange, nameBody);
      if (isFailure(body)) return body;
      const { params, notes } = exchange;
      return passkeys.rename(session, params.get('id') ?? '', body.name, notes.requestId);
    }),
    routeOfPerson('DELETE account/passkeys/:id', (session, { params, notes }) =>
      passkeys.remove(session, params.get('id') ?? '', notes.requestId),
    ),
  ];
}

type Work<Answer> = (session: Session, exchange: Exchange) => Promise<Outcome<Answer>>;

/** Returns a function that builds routes for people with a session, with the answers of the contract. */
function createRouteOfPerson(dependencies: Pick<SessionDependencies, 'admit'>) {
  return <Endpoint extends string>(
    endpoint: Endpoint,
    work: Work<ConsoleAnswer<Endpoint>>,
    reply?: (answer: ConsoleAnswer<Endpoint>) => Reply,
  ): Route => routeOf(endpoint, ofPerson(dependencies, work, reply));
}

/** Builds a handler for people with a session, which the admin token is not. */
function ofPerson<Answer>(
  { admit }: Pick<SessionDependencies, 'admit'>,
  work: Work<Answer>,
  reply?: (answer: Answer) => Reply,
): Handler {
  return admit(
    async (exchange, { session }) =>
      session === undefined ? fail('signedOut') : work(session, exchange),
    reply,
  );
}
