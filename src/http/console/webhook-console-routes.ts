// Routes of the console API for release webhooks: enabling, disabling, and their state with recent
// deliveries.

import { z } from 'zod';
import type { Webhooks } from '../../operations/publishing/webhooks.ts';
import type { Route } from '../router.ts';
import { nameField } from '../shape/field.ts';
import type { ConsoleRoutes } from './console-route.ts';

const enableBody = z.strictObject({ app: nameField, provider: z.enum(['github']) });
const appShape = z.object({ app: nameField });
const PATH = 'webhooks';

/** Builds the routes for webhooks below `/console/api`. */
export function webhookConsoleRoutes(routes: ConsoleRoutes, webhooks: Webhooks): readonly Route[] {
  return [
    routes.onApp(
      { method: 'POST', path: PATH, role: 'owner', shape: enableBody, status: 201 },
      ({ app, actor }, { provider }) => webhooks.enable(app.id, provider, actor),
    ),
    routes.onApp(
      { method: 'POST', path: `${PATH}/disable`, role: 'owner', shape: appShape.strict() },
      ({ app, actor }) => webhooks.disable(app.id, actor),
    ),
    routes.onApp({ method: 'GET', path: PATH, role: 'viewer', shape: appShape }, ({ app }) =>
      webhooks.show(app.id),
    ),
  ];
}
