// Routes of the console: its API, which people call with a session and operators with the admin token, and
// its files.

import { Access } from '../../access/access.ts';
import type { LiveEndReason } from '../../contract/console-fleet.ts';
import { fail } from '../../contract/failure.ts';
import type { PurgeDevices, ViewFleet } from '../../fleet/fleet-views.ts';
import type { Webhooks } from '../../publishing/webhooks.ts';
import type { ExplainDecision } from '../../serving/explain-decision.ts';
import { ConsoleRoutes, createAuthorize, mountOf } from '../endpoint/console-route.ts';
import { RecheckAccess } from '../endpoint/recheck-access.ts';
import { failureReply, type Reply } from '../transport/reply.ts';
import type { Route } from '../transport/router.ts';
import { staticSite } from '../transport/static-site.ts';
import { accountRoutes } from './account-routes.ts';
import { type AppDependencies, appRoutes } from './app-routes.ts';
import { approvalRoutes } from './approval-routes.ts';
import { type DestinationDependencies, destinationRoutes } from './destination-routes.ts';
import { fleetConsoleRoutes } from './fleet-console-routes.ts';
import { type OidcRoutesDependencies, oidcRoutes } from './oidc-routes.ts';
import { type OperatorDependencies, operatorRoutes } from './operator-routes.ts';
import {
  type OrganizationDependencies,
  organizationRoutes,
  webhookConsoleRoutes,
} from './organization-routes.ts';
import { type SessionDependencies, sessionRoutes } from './session-routes.ts';

type ConsoleDependencies = Omit<SessionDependencies, 'admit'> &
  OperatorDependencies &
  OrganizationDependencies &
  AppDependencies & {
    /** Sign-in with a provider; undefined where none is set. */
    readonly oidc: OidcRoutesDependencies['oidc'] | undefined;
    readonly fleet: ViewFleet;
    readonly purge: PurgeDevices;
    readonly explainer: ExplainDecision;
    readonly webhooks: Webhooks;
  } & DestinationDependencies;

/** Routes that end sessions or rights: open event streams are checked after them. */
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
export function consoleRoutes(dependencies: ConsoleDependencies): readonly Route[] {
  const { accounts, consoleUrl, oidc, ledger, fleet, purge, explainer, webhooks } = dependencies;
  const admit = createAuthorize(accounts, consoleUrl);
  const access = new Access(ledger);
  const routes = new ConsoleRoutes(admit, access);
  const recheck = new RecheckAccess<LiveEndReason>();
  const all = [
    ...sessionRoutes(routes, { ...dependencies, admit }),
    ...accountRoutes(routes, { ...dependencies, admit }),
    ...(oidc === undefined ? [] : oidcRoutes({ ...dependencies, oidc })),
    ...organizationRoutes(routes, dependencies),
    ...appRoutes(routes, dependencies),
    ...approvalRoutes(routes, dependencies),
    ...fleetConsoleRoutes(routes, { ledger, fleet, purge, explainer, access, accounts, recheck }),
    ...webhookConsoleRoutes(routes, webhooks),
    ...destinationRoutes(routes, dependencies),
    ...operatorRoutes(routes, dependencies),
  ];
  return all.map((route) =>
    ENDING_ACCESS.has(`${route.method} ${route.path}`) ? checkedAfter(route, recheck) : route,
  );
}

/** Returns the route with a check of the open event streams after each call that succeeded. */
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
 * browser decides which view a path means. `folder` contains the built console, and `consoleUrl` is its base
 * URL if one is configured: the page is told the path of that.
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
