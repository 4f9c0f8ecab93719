// Routes of the console API, which people call with a session, and operators with the admin token; the
// `sluice` command calls it with the admin token, too.

import { Access } from '../../operations/access/access.ts';
import type { ViewFleet } from '../../operations/fleet/view-fleet.ts';
import type { Webhooks } from '../../operations/publishing/webhooks.ts';
import type { ExplainDecision } from '../../operations/serving/explain-decision.ts';
import type { Ledger } from '../../ports/ledger.ts';
import type { Route } from '../router.ts';
import { type AppDependencies, appRoutes } from './app-routes.ts';
import { createAuthorize } from './authorize.ts';
import { ConsoleRoutes } from './console-route.ts';
import { fleetConsoleRoutes } from './fleet-console-routes.ts';
import { type OrganizationDependencies, organizationRoutes } from './organization-routes.ts';
import { type SessionDependencies, sessionRoutes } from './session-routes.ts';
import { webhookConsoleRoutes } from './webhook-console-routes.ts';

export type ConsoleDependencies = Omit<SessionDependencies, 'admit'> &
  OrganizationDependencies &
  AppDependencies & {
    readonly ledger: Ledger;
    readonly fleet: ViewFleet;
    readonly explainer: ExplainDecision;
    readonly webhooks: Webhooks;
  };

/** Builds the routes below `/console/api`. */
export function consoleRoutes(dependencies: ConsoleDependencies): readonly Route[] {
  const { accounts, consoleUrl, ledger, fleet, explainer, webhooks } = dependencies;
  const admit = createAuthorize(accounts, consoleUrl);
  const access = new Access(ledger);
  const routes = new ConsoleRoutes(admit, access);
  return [
    ...sessionRoutes({ ...dependencies, admit }),
    ...organizationRoutes(routes, dependencies),
    ...appRoutes(routes, dependencies),
    ...fleetConsoleRoutes(routes, { fleet, explainer, access, accounts }),
    ...webhookConsoleRoutes(routes, webhooks),
  ];
}
