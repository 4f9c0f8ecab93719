// What the console shows of the fleet: devices, one device, the fleet now, adoption over time, the live feed.

import { z } from 'zod';
import { isFailure, type Outcome } from '../../contract/failure.ts';
import { LIMIT } from '../../contract/limit.ts';
import { ADOPTION_STEPS } from '../../contract/resource.ts';
import { foldPlatform } from '../../domain/artifact.ts';
import { parseVersion } from '../../domain/version.ts';
import type { Access, Visitor } from '../../operations/access.ts';
import type { Accounts } from '../../operations/accounts.ts';
import type { ExplainDecision } from '../../operations/explain-decision.ts';
import type { ViewFleet } from '../../operations/view-fleet.ts';
import type { AppStanding } from '../../ports/account-ledger.ts';
import type { EventSource } from '../event-stream.ts';
import type { Route } from '../router.ts';
import { nameField, textField } from '../shape/field.ts';
import { streaming } from './admit.ts';
import type { ConsoleRoutes } from './console-route.ts';
import { whileAllowed } from './while-allowed.ts';

const NOT_A_TIME = 'Must be an RFC 3339 time';
/** In UTC, where PostgreSQL knows every time of the years 1 to 9999; of some offsets it would know none. */
const timeField = z.iso
  .datetime({ offset: true, error: NOT_A_TIME })
  .transform((text) => new Date(text).toISOString())
  .refine((time) => /^(?!0000)\d{4}-/.test(time), NOT_A_TIME);
const filterField = textField(LIMIT.labelValueLengthMax, 0).optional();

const devicesQuery = z.object({
  app: nameField,
  // In the form the record has them: `v1` is 1.0.0, `macOS` is darwin.
  version: filterField.transform((text) => text && (parseVersion(text)?.canonical ?? text)),
  channel: filterField,
  platform: filterField.transform((text) => text && foldPlatform(text)),
  label: z
    .string()
    .regex(/^[^=]+=/, 'Must be key=value')
    .transform((text) => {
      const at = text.indexOf('=');
      return { key: text.slice(0, at), value: text.slice(at + 1) };
    })
    .optional(),
  seenSince: timeField.optional(),
  after: filterField,
  limit: z.coerce.number().int().min(1).max(LIMIT.devicePageMax).default(LIMIT.devicePageDefault),
});
const deviceQuery = z.object({ app: nameField, deviceId: textField(LIMIT.deviceIdLengthMax) });
const appQuery = z.object({ app: nameField });
const decisionQuery = deviceQuery.extend({ channel: nameField.optional() });
const adoptionQuery = z.object({
  app: nameField,
  since: timeField.optional(),
  step: z.enum(ADOPTION_STEPS).optional(),
  channel: nameField.optional(),
});

export type FleetConsoleDependencies = {
  readonly fleet: ViewFleet;
  readonly explainer: ExplainDecision;
  readonly access: Access;
  readonly accounts: Accounts;
};

/** The fleet's routes below `/console/api`. */
export function fleetConsoleRoutes(
  routes: ConsoleRoutes,
  { fleet, explainer, access, accounts }: FleetConsoleDependencies,
): readonly Route[] {
  const get = <Shape extends z.ZodType<{ readonly app: string }>>(
    path: string,
    shape: Shape,
    read: (
      place: { readonly app: AppStanding['app']; readonly visitor: Visitor },
      query: z.output<Shape>,
    ) => Promise<Outcome<unknown>>,
  ): Route => routes.onApp({ method: 'GET', path, role: 'viewer', shape }, read);
  return [
    get('devices', devicesQuery, ({ app }, { app: _, ...filter }) =>
      fleet.listDevices(app.id, filter),
    ),
    get('device', deviceQuery, ({ app }, { deviceId }) => fleet.readDevice(app.id, deviceId)),
    get('fleet', appQuery, ({ app }) => fleet.readFleet(app.id, Date.now())),
    get('adoption', adoptionQuery, ({ app }, { since, step, channel }) =>
      step === undefined
        ? fleet.readAdoption(app.id, since, Date.now())
        : fleet.readAdoptionSteps(app.id, { since, step, channel }, Date.now()),
    ),
    get('decision', decisionQuery, ({ app }, { deviceId, channel }) =>
      explainer.explain(app, deviceId, channel),
    ),
    get('live', appQuery, async ({ app, visitor }) => {
      const source: Outcome<EventSource> = await fleet.watch(app.id);
      if (isFailure(source)) return source;
      const mayWatch = async () =>
        (visitor.session === undefined || (await accounts.isOpen(visitor.session))) &&
        !isFailure(await access.toApp(visitor, app.id, 'viewer'));
      return streaming(whileAllowed(source, mayWatch));
    }),
  ];
}
