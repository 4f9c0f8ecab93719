// Routes of the console API for destinations of notifications, which are the owners' alone.

import { z } from 'zod';
import { LIMIT } from '../../contract/limit.ts';
import { DESTINATION_KINDS, EVENT_FILTERS } from '../../contract/notification.ts';
import type { Destinations } from '../../publishing/destinations.ts';
import type { Route } from '../router.ts';
import {
  emailField,
  nameField,
  textField,
  titleField,
  urlField,
  wholeField,
} from '../shape/field.ts';
import type { ConsoleRoutes } from './console-route.ts';

const eventsField = z.array(z.enum(EVENT_FILTERS)).min(1).max(EVENT_FILTERS.length).nullish();
const appsField = z.array(nameField).min(1).max(LIMIT.destinationAppsMax).nullish();

const orgQuery = z.object({ org: nameField });
const newBody = z.strictObject({
  /** Or in the query. */
  org: nameField.optional(),
  kind: z.enum(DESTINATION_KINDS),
  name: titleField,
  url: urlField.optional(),
  to: emailField.optional(),
  events: eventsField,
  apps: appsField,
  enabled: z.boolean().default(true),
});
const changeBody = z.strictObject({
  name: titleField.optional(),
  url: urlField.optional(),
  to: emailField.optional(),
  events: eventsField,
  apps: appsField,
  enabled: z.boolean().optional(),
});
const pageQuery = z.object({
  before: textField(1024, 0).optional(),
  limit: wholeField(1, LIMIT.deliveriesShownMax, 50),
});

/** Builds the routes below `/console/api/destinations`. */
export function destinationRoutes(
  routes: ConsoleRoutes,
  destinations: Destinations,
): readonly Route[] {
  return [
    routes.onOrganization(
      { endpoint: 'GET destinations', role: 'owner', shape: orgQuery },
      ({ organizationId }) => destinations.list(organizationId),
    ),
    routes.onOrganization(
      { endpoint: 'POST destinations', role: 'owner', shape: newBody, status: 201 },
      ({ organizationId, actor }, { org: _, events = null, apps = null, ...asked }) =>
        destinations.add(organizationId, { ...asked, events, apps }, actor),
    ),
    routes.onDestination({ endpoint: 'GET destinations/:id' }, (_context, id) =>
      destinations.show(id),
    ),
    routes.onDestination(
      { endpoint: 'PATCH destinations/:id', shape: changeBody },
      ({ actor }, id, change) => destinations.update(id, change, actor),
    ),
    routes.onDestination({ endpoint: 'DELETE destinations/:id' }, ({ actor }, id) =>
      destinations.remove(id, actor),
    ),
    routes.onDestination({ endpoint: 'POST destinations/:id/test', status: 202 }, ({ actor }, id) =>
      destinations.test(id, actor),
    ),
    routes.onDestination({ endpoint: 'POST destinations/:id/rotate' }, ({ actor }, id) =>
      destinations.rotate(id, actor),
    ),
    routes.onDestination(
      { endpoint: 'GET destinations/:id/deliveries', shape: pageQuery },
      (_context, id, { before, limit }) => destinations.deliveries(id, before, limit),
    ),
    routes.onDestination(
      { endpoint: 'POST destinations/:id/deliveries/:delivery/send-again', status: 202 },
      ({ actor }, id, _input, { params }) =>
        destinations.sendAgain(id, params.get('delivery') ?? '', actor),
    ),
  ];
}
