// Routes of the console API for release webhooks: enabling, changing, disabling, and their state with recent
// deliveries.

import { z } from 'zod';
import { LIMIT } from '../../contract/limit.ts';
import { WEBHOOK_PROVIDERS } from '../../contract/webhook-provider.ts';
import { isTarget } from '../../publishing/is-expected.ts';
import type { Webhooks } from '../../publishing/webhooks.ts';
import type { Route } from '../router.ts';
import { nameField, textField } from '../shape/field.ts';
import type { ConsoleRoutes } from './console-route.ts';

const targetField = textField(2 * LIMIT.artifactNameLengthMax).refine(
  isTarget,
  'Must be a platform, or a platform and an arch as in darwin/aarch64',
);

const settingsShape = z.strictObject({
  app: nameField,
  provider: z.enum(WEBHOOK_PROVIDERS),
  /** An empty prefix is none, as null is. */
  tagPrefix: textField(LIMIT.tagPrefixLengthMax, 0)
    .nullish()
    .transform((text) => (text === '' ? null : text)),
  hold: z.boolean().optional(),
  expect: z.array(targetField).min(1).max(LIMIT.webhookTargetsMax).nullish(),
});
const disableBody = z.strictObject({
  app: nameField,
  provider: z.enum(WEBHOOK_PROVIDERS).optional(),
});
const orgShape = z.object({ org: nameField });
const appShape = z.object({ app: nameField });
const PATH = 'webhooks';

/** Builds the routes for webhooks below `/console/api`. */
export function webhookConsoleRoutes(routes: ConsoleRoutes, webhooks: Webhooks): readonly Route[] {
  return [
    routes.onApp(
      { method: 'POST', path: PATH, role: 'owner', shape: settingsShape, status: 201 },
      ({ app, actor }, { provider, tagPrefix, hold, expect }) =>
        webhooks.enable(app.id, provider, { tagPrefix, hold, expect }, actor),
    ),
    routes.onApp(
      { method: 'PATCH', path: PATH, role: 'owner', shape: settingsShape },
      ({ app, actor }, { provider, tagPrefix, hold, expect }) =>
        webhooks.update(app.id, provider, { tagPrefix, hold, expect }, actor),
    ),
    routes.onApp(
      { method: 'POST', path: `${PATH}/disable`, role: 'owner', shape: disableBody },
      ({ app, actor }, { provider }) => webhooks.disable(app.id, provider, actor),
    ),
    routes.onOrganization(
      { method: 'GET', path: `${PATH}/enabled`, role: 'viewer', shape: orgShape },
      ({ organizationId }) => webhooks.showEnabled(organizationId),
    ),
    routes.onApp({ method: 'GET', path: PATH, role: 'viewer', shape: appShape }, ({ app }) =>
      webhooks.show(app.id),
    ),
  ];
}
