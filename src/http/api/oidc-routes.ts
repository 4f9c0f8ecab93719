// Routes of the sign-in with an OpenID Connect provider: the beginning, the callback to which the provider
// sends people back, and the proof that an existing account is theirs. They exist only with a provider.

import { z } from 'zod';
import type { OidcSignIn } from '../../access/oidc-sign-in.ts';
import { fail, isFailure, type Outcome } from '../../contract/failure.ts';
import { LIMIT } from '../../contract/limit.ts';
import { readConsolePath } from '../../contract/oidc.ts';
import {
  consoleBase,
  isOwnOrigin,
  mountOf,
  oidcCookies,
  routeOf,
  sessionCookie,
} from '../endpoint/console-route.ts';
import { textField } from '../endpoint/field.ts';
import { parseBody } from '../endpoint/parse-shape.ts';
import type { Exchange } from '../transport/exchange.ts';
import {
  failureReply,
  type HeaderPair,
  jsonReply,
  type Reply,
  unstored,
} from '../transport/reply.ts';
import type { Route } from '../transport/router.ts';
import type { ConsoleServices } from './console-services.ts';
import { addressIn, clientIn, sessionCookies, withHeaders } from './session-routes.ts';

type OidcServices = Pick<ConsoleServices, 'accounts' | 'links' | 'consoleUrl' | 'trustProxy'> & {
  readonly oidc: OidcSignIn;
};

const BODY_BYTES_MAX = 16 * 1024;

const beginBody = z.strictObject({ to: textField(1024).optional() });
const joinBody = z.strictObject({ password: textField(LIMIT.passwordLengthMax).optional() });

/** Builds the routes below `/console/api/oidc`. */
export function oidcRoutes(dependencies: OidcServices): readonly Route[] {
  const { oidc, accounts, links, consoleUrl, trustProxy } = dependencies;
  const cookies = oidcCookies(consoleUrl);
  const clientOf = (exchange: Exchange) => clientIn(exchange, trustProxy);
  const leadTo = (path: string, headers: readonly HeaderPair[]) =>
    redirect(mountOf(consoleUrl) + path, headers);

  const finish = async (exchange: Exchange): Promise<Reply> => {
    const cookie = cookies.begun.read(exchange);
    const finished = await oidc.finish(cookie, exchange.queryText, clientOf(exchange));
    switch (finished.as) {
      case 'signed-in': {
        const { to, signedIn } = finished;
        return leadTo(to, [cookies.begun.end(), ...sessionCookies(signedIn, consoleUrl)]);
      }
      case 'arrived': {
        const { to, token } = finished;
        const arrival = `${token}.${Buffer.from(to).toString('base64url')}`;
        return leadTo('/console/join', [cookies.begun.end(), cookies.arrival.set(arrival)]);
      }
      case 'refused': {
        const { reason, isOver } = finished;
        return leadTo(`/console/sign-in?refused=${reason}`, isOver ? [cookies.begun.end()] : []);
      }
    }
  };

  const join = async (exchange: Exchange): Promise<Reply> => {
    const body = await parseBody(exchange, joinBody);
    if (isFailure(body)) return failureReply(body);
    const { token, to } = readArrival(cookies.arrival.read(exchange));
    const signedIn = await oidc.join(
      token,
      { password: body.password, session: await accounts.find(sessionCookie(exchange)) },
      clientOf(exchange),
    );
    if (isFailure(signedIn)) return failureReply(signedIn);
    return withHeaders(jsonReply(200, { to }), [
      cookies.arrival.end(),
      ...sessionCookies(signedIn, consoleUrl),
    ]);
  };

  return [
    write('POST oidc', consoleUrl, async (exchange) => {
      const body = await parseBody(exchange, beginBody);
      if (isFailure(body)) return failureReply(body);
      const base = consoleBase(exchange, consoleUrl);
      const begun = await oidc.begin(base, body.to, clientOf(exchange));
      if (isFailure(begun)) return failureReply(begun);
      return withHeaders(jsonReply(200, { url: begun.url }), [cookies.begun.set(begun.cookie)]);
    }),
    routeOf('GET oidc/callback', async (exchange) => unstored(await finish(exchange))),
    routeOf('GET oidc/arrival', async (exchange) => {
      const { token } = readArrival(cookies.arrival.read(exchange));
      const found = await links.read('arrival', token, addressIn(exchange, trustProxy));
      return unstored(replyOf(isFailure(found) ? found : found.offer));
    }),
    write('POST oidc/join', consoleUrl, join),
  ];
}

/** Builds a write that only pages of this service may send: otherwise another site could sign people in. */
function write(
  endpoint: string,
  consoleUrl: string | undefined,
  work: (exchange: Exchange) => Promise<Reply>,
): Route {
  const route = routeOf(endpoint, async (exchange) =>
    unstored(
      isOwnOrigin(exchange, consoleUrl)
        ? await work(exchange)
        : failureReply(fail('originNotAllowed')),
    ),
  );
  return { ...route, bodyBytesMax: BODY_BYTES_MAX };
}

function replyOf(outcome: Outcome<object>): Reply {
  return isFailure(outcome) ? failureReply(outcome) : jsonReply(200, outcome);
}

/** Redirects the browser to a page of the console. */
function redirect(path: string, cookies: readonly HeaderPair[]): Reply {
  return {
    status: 303,
    headers: [['Location', path], ['Referrer-Policy', 'no-referrer'], ...cookies],
  };
}

/** Reads the cookie of an arrival: its token, and the path of the page that follows. */
function readArrival(cookie: string | undefined) {
  const [token, path = ''] = cookie?.split('.') ?? [];
  return { token, to: readConsolePath(Buffer.from(path, 'base64url').toString()) };
}
