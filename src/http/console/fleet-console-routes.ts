// What the console shows of the fleet: devices, one device, the fleet now, adoption over time, the live feed.

import { z } from 'zod';
import { isFailure, type Outcome } from '../../contract/failure.ts';
import { LIMIT } from '../../contract/limit.ts';
import { foldPlatform } from '../../domain/artifact.ts';
import { parseVersion } from '../../domain/version.ts';
import type { ViewFleet } from '../../operations/view-fleet.ts';
import type { EventSource } from '../event-stream.ts';
import type { Exchange } from '../exchange.ts';
import type { Route } from '../router.ts';
import { nameField, textField } from '../shape/field.ts';
import { parseShape } from '../shape/parse-shape.ts';
import { type Admit, streaming } from './admit.ts';

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
const adoptionQuery = z.object({ app: nameField, since: timeField.optional() });

/** The fleet's routes below `/console/api`. */
export function fleetConsoleRoutes(view: ViewFleet, admit: Admit): readonly Route[] {
  const get = <Shape extends z.ZodType>(
    path: string,
    shape: Shape,
    read: (query: z.output<Shape>) => Promise<Outcome<unknown>>,
  ): Route => ({
    method: 'GET',
    path: `/console/api/${path}`,
    handler: admit(async ({ queryText }: Exchange) => {
      const wanted = parseShape(shape, Object.fromEntries(new URLSearchParams(queryText)));
      return isFailure(wanted) ? wanted : read(wanted);
    }),
  });
  return [
    get('devices', devicesQuery, ({ app, ...filter }) => view.listDevices(app, filter)),
    get('device', deviceQuery, ({ app, deviceId }) => view.readDevice(app, deviceId)),
    get('fleet', appQuery, ({ app }) => view.readFleet(app)),
    get('adoption', adoptionQuery, ({ app, since }) => view.readAdoption(app, since, Date.now())),
    get('live', appQuery, async ({ app }) => {
      const source: Outcome<EventSource> = await view.watch(app);
      return isFailure(source) ? source : streaming(source);
    }),
  ];
}
