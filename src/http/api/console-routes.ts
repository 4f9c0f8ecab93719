// Routes of the console: its API, which people call with a session and operators with the admin token, and
// its files.

import { Access } from '../../access/access.ts';
import type { LiveEndReason } from '../../contract/console-fleet.ts';
import { fail } from '../../contract/failure.ts';
import { ConsoleRoutes, createAuthorize, mountOf } from '../endpoint/console-route.ts';
import { RecheckAccess } from '../endpoint/recheck-access.ts';
import { failureReply, type Reply } from '../transport/reply.ts';
import type { Route } from '../transport/router.ts';
import { staticSite } from '../transport/static-site.ts';
import { accountRoutes } from './account-routes.ts';
import { appRoutes } from './app-routes.ts';
import { approvalRoutes } from './approval-routes.ts';
import type { ConsoleServices } from './console-services.ts';
import { ddiCredentialRoutes } from './ddi-credential-routes.ts';
import { destinationRoutes } from './destination-routes.ts';
import { fleetConsoleRoutes } from './fleet-console-routes.ts';
import { oidcRoutes } from './oidc-routes.ts';
import { operatorRoutes } from './operator-routes.ts';
import { organizationRoutes, webhookConsoleRoutes } from './organization-routes.ts';
import { sessionRoutes } from './session-routes.ts';

/** Routes that may end sessions or rights: after them, the access of open event streams is checked. */
const ENDING_ACCESS: ReadonlySet<string> = new Set([
  'POST /console/api/session',
  'GET /console/api/oidc/callback',
  'POST /console/api/oidc/join',
  'DELETE /console/api/session',
  'DELETE /console/api/sessions',
  'DELETE /console/api/account/sessions',
  'DELETE /console/api/account/sessions/:id',
  'POST /console/api/password',
  'POST /console/api/password-reset',
  'POST /console/api/recovery',
  'POST /console/api/session/passkey',
  'DELETE /console/api/account/passkeys/:id',
  'PATCH /console/api/organizations',
  'PATCH /console/api/members',
  'DELETE /console/api/members',
]);

/** Builds the routes below `/console/api`. */
export function consoleRoutes(services: ConsoleServices): readonly Route[] {
  const { accounts, consoleUrl, oidc, ledger, webhooks } = services;
  const admit = createAuthorize(accounts, consoleUrl);
  const access = new Access(ledger);
  const routes = new ConsoleRoutes(admit, access);
  const recheck = new RecheckAccess<LiveEndReason>();
  const all = [
    ...sessionRoutes(routes, { ...services, admit }),
    ...accountRoutes(routes, { ...services, admit }),
    ...(oidc === undefined ? [] : oidcRoutes({ ...services, oidc })),
    ...organizationRoutes(routes, services),
    ...appRoutes(routes, services),
    ...approvalRoutes(routes, services),
    ...fleetConsoleRoutes(routes, { ...services, access, recheck }),
    ...webhookConsoleRoutes(routes, webhooks),
    ...ddiCredentialRoutes(routes, services),
    ...destinationRoutes(routes, services),
    ...operatorRoutes(routes, services),
  ];
  return all.map((route) =>
    ENDING_ACCESS.has(`${route.method} ${route.path}`) ? checkedAfter(route, recheck) : route,
  );
}

/** Returns the route, with a check of the open event streams after each successful call. */
function checkedAfter(route: Route, recheck: Pick<RecheckAccess<LiveEndReason>, 'now'>): Route {
  return {
    ...route,
    async handler(exchange) {
      const reply = await route.handler(exchange);
      if (reply.status < 400) recheck.now();
      return reply;
    },
  };
}

// Routes of the console's page and its assets.

const METHODS = ['GET', 'POST', 'PATCH', 'DELETE'] as const;

/**
 * Builds the routes of `/console`: the assets by their names, and the page at every other path, because the
 * browser decides which view a path means. `folder` contains the built console; `consoleUrl` is its base URL,
 * if one is configured, whose path the page uses for its assets.
 */
export function consoleFiles(folder: string, consoleUrl: string | undefined): readonly Route[] {
  const { page, asset } = staticSite(folder, `${mountOf(consoleUrl)}/console/assets`);
  return [
    { method: 'GET', path: '/console', handler: page },
    { method: 'GET', path: '/console/*', handler: page },
    { method: 'GET', path: '/console/assets/:name', handler: asset },
    { method: 'GET', path: '/console/assets/*', handler: notFound },
    // Unknown paths of the API get its 404 as JSON instead of the page.
    ...METHODS.map((method) => ({ method, path: '/console/api/*', handler: notFound })),
  ];
}

function notFound(): Reply {
  return failureReply(fail('notFound'));
}
