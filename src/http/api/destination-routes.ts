// Routes of the console API for destinations of notifications, which only owners may use.

import { z } from 'zod';
import { fail, isFailure } from '../../contract/failure.ts';
import { LIMIT } from '../../contract/limit.ts';
import { DESTINATION_KINDS, EVENT_FILTERS } from '../../contract/notification.ts';
import { type ConsoleRoutes, consoleBase, routeOf } from '../endpoint/console-route.ts';
import {
  emailField,
  nameField,
  textField,
  titleField,
  urlField,
  wholeField,
} from '../endpoint/field.ts';
import { parseBody } from '../endpoint/parse-shape.ts';
import type { Exchange } from '../transport/exchange.ts';
import { failureReply, jsonReply, unstored } from '../transport/reply.ts';
import type { Route } from '../transport/router.ts';
import type { ConsoleServices } from './console-services.ts';
import { addressIn, isForeign, readToken } from './session-routes.ts';

const BODY_BYTES_MAX = 16 * 1024;

const eventsField = z.array(z.enum(EVENT_FILTERS)).min(1).max(EVENT_FILTERS.length).nullish();
const appsField = z.array(nameField).min(1).max(LIMIT.destinationAppsMax).nullish();

const newBody = z.strictObject({
  /** Organization; it may stand in the query instead. */
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

const answerBody = z.strictObject({
  token: textField(LIMIT.nameLengthMax),
  /** Whether the recipient wants the mails. */
  wanted: z.boolean(),
});

/** Builds the routes below `/console/api/destinations`, and those of the links of recipients. */
export function destinationRoutes(
  routes: ConsoleRoutes,
  dependencies: ConsoleServices,
): readonly Route[] {
  const { ledger, destinations, consoleUrl } = dependencies;
  const baseOf = (exchange: Exchange) => consoleBase(exchange, consoleUrl);
  return [
    ...confirmationRoutes(dependencies),
    routes.plain('GET destinations', 'owner of organization', ({ organizationId }) =>
      destinations.list(organizationId),
    ),
    routes.on('POST destinations', 'owner of organization', { input: newBody, status: 201 })(
      ({ organizationId, actor }, { org: _, events = null, apps = null, ...asked }, exchange) =>
        destinations.add(organizationId, { ...asked, events, apps }, actor, baseOf(exchange)),
    ),
    routes.plain('GET destinations/:id', 'owner of destination', ({ id }) => destinations.show(id)),
    routes.on('PATCH destinations/:id', 'owner of destination', { input: changeBody })(
      (context, change, exchange) =>
        destinations.update(context.id, change, context, baseOf(exchange)),
    ),
    routes.plain('POST destinations/:id/link', 'owner of destination', (context, _, exchange) =>
      destinations.sendLink(context.id, context, baseOf(exchange)),
    ),
    routes.plain('DELETE destinations/:id', 'owner of destination', ({ id, actor }) =>
      ledger.removeDestination(id, actor),
    ),
    routes.on('POST destinations/:id/test', 'owner of destination', { status: 202 })(
      ({ id, actor }) => destinations.test(id, actor),
    ),
    routes.plain('POST destinations/:id/rotate', 'owner of destination', ({ id, actor }) =>
      destinations.rotate(id, actor),
    ),
    routes.on('GET destinations/:id/deliveries', 'owner of destination', { input: pageQuery })(
      ({ id }, { before, limit }) => ledger.listDeliveries(id, before, limit),
    ),
    routes.on('POST destinations/:id/deliveries/:delivery/send-again', 'owner of destination', {
      status: 202,
    })(({ id, actor }, _, { params }) =>
      destinations.sendAgain(id, params.get('delivery') ?? '', actor),
    ),
  ];
}

/**
 * Builds the routes of the page that a link opens: one reads what the link offers and changes nothing; a
 * button of the page calls the other, which confirms or stops the mails.
 */
function confirmationRoutes({
  recipients,
  links,
  consoleUrl,
  trustProxy,
}: ConsoleServices): readonly Route[] {
  return [
    readToken('confirmation', 'recipient', links, trustProxy),
    {
      bodyBytesMax: BODY_BYTES_MAX,
      ...routeOf('POST confirmation', async (exchange) => {
        if (isForeign(exchange, consoleUrl)) {
          return unstored(failureReply(fail('originNotAllowed')));
        }
        const body = await parseBody(exchange, answerBody);
        const answered = isFailure(body)
          ? body
          : await recipients.answer(body.token, body.wanted, addressIn(exchange, trustProxy));
        return unstored(isFailure(answered) ? failureReply(answered) : jsonReply(200, answered));
      }),
    },
  ];
}
