// Routes of the console API for the fleet: the list of devices, one device, present counts, adoption over
// time, explained decisions, and live activity.

import { z } from 'zod';
import type { Access } from '../../access/access.ts';
import { SIGNALS } from '../../contract/choice.ts';
import type { LiveEndReason } from '../../contract/console-fleet.ts';
import { isFailure } from '../../contract/failure.ts';
import { LIMIT } from '../../contract/limit.ts';
import { ADOPTION_STEPS } from '../../contract/resource.ts';
import { foldPlatform } from '../../domain/decision/artifact/artifact.ts';
import { parseVersion } from '../../domain/decision/version.ts';
import type { ConsoleRoutes } from '../endpoint/console-route.ts';
import {
  appQuery,
  nameField,
  recordedIdField,
  textField,
  timeField,
  versionParameter,
  withPlus,
} from '../endpoint/field.ts';
import { explainQuery } from '../endpoint/fleet-body.ts';
import { type RecheckAccess, watchOf } from '../endpoint/recheck-access.ts';
import { releaseNameOf } from '../endpoint/release-body.ts';
import type { Route } from '../transport/router.ts';
import type { ConsoleServices } from './console-services.ts';

const filterField = textField(LIMIT.labelValueLengthMax, 0).optional();
const versionFilter = textField(LIMIT.labelValueLengthMax, 0).overwrite(withPlus).optional();

const filterFields = {
  app: nameField,
  // Version and platform are converted to their recorded form: `v1` to 1.0.0, `macOS` to darwin.
  version: versionFilter.transform((text) => text && (parseVersion(text)?.canonical ?? text)),
  below: versionFilter.refine(
    (text) => !text || parseVersion(text) !== undefined,
    'Must be a version',
  ),
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
  // Version of the release that was last offered to a device, and whether the device runs it now.
  offered: versionFilter.transform((text) => text && (parseVersion(text)?.canonical ?? text)),
  moved: z.enum(['yes', 'no']).optional(),
  id: filterField,
  after: filterField,
  limit: z.coerce.number().int().min(1).max(LIMIT.devicePageMax).default(LIMIT.devicePageDefault),
};
/** With a `signal`, `channel` and `release` name the release that shows it; `after`: cursor of its list. */
const devicesQuery = z
  .object({
    ...filterFields,
    signal: z.enum(SIGNALS).optional(),
    release: versionParameter.optional(),
  })
  .superRefine(({ signal, channel = '', release, after = '' }, context) => {
    if (signal === undefined) return;
    const need = (path: string, message: string) =>
      context.addIssue({ code: 'custom', path: [path], message });
    if (channel === '') need('channel', 'Required with signal');
    if (release === undefined) need('release', 'Required with signal');
    if (after !== '' && !/^-?\d{1,10}:/.test(after)) need('after', 'Must be next of a page');
  });
const purgeBody = z.object({
  app: nameField,
  firstSeenAfter: timeField,
  version: filterField.transform((text) => text && (parseVersion(text)?.canonical ?? text)),
  dryRun: z.boolean('Must be true or false').default(false),
  after: filterField,
});
const deviceQuery = appQuery.extend({ deviceId: recordedIdField });
const fleetQuery = appQuery.extend({ channel: nameField.optional() });
const decisionQuery = deviceQuery.extend({ channel: nameField.optional() });
const decisionsBody = z.strictObject({
  app: nameField,
  deviceIds: z.array(recordedIdField).min(1).max(LIMIT.decisionsAtOnceMax),
});
const adoptionQuery = z.object({
  app: nameField,
  since: timeField.optional(),
  step: z.enum(ADOPTION_STEPS).optional(),
  channel: nameField.optional(),
});

type FleetServices = ConsoleServices & {
  readonly access: Access;
  readonly recheck: RecheckAccess<LiveEndReason>;
};

/** Builds the routes for the fleet below `/console/api`. */
export function fleetConsoleRoutes(
  routes: ConsoleRoutes,
  { ledger, fleet, purge, explainer, access, accounts, recheck }: FleetServices,
): readonly Route[] {
  return [
    routes.on('GET devices', 'viewer of app', { input: devicesQuery })(
      ({ app, scope }, { app: ref, signal, release, ...filter }) => {
        if (signal === undefined || release === undefined)
          return ledger.listDevices(app.id, filter);
        const { channel = '', ...others } = filter;
        const name = releaseNameOf({ app: ref, channel, version: release });
        return ledger.listSignalDevices(scope, name, signal, others);
      },
    ),
    routes.on('GET devices/count', 'viewer of app', { input: z.object(filterFields) })(
      ({ app }, { app: _, ...filter }) => ledger.countDevices(app.id, filter),
    ),
    routes.on('POST decisions', 'viewer of app', { input: decisionsBody })(
      ({ app }, { deviceIds }) => explainer.explainAll(app, deviceIds),
    ),
    routes.on('POST devices/purge', 'owner of app', { input: purgeBody })(
      ({ app, organizationId, actor }, { firstSeenAfter, version, dryRun: isDryRun, after }) =>
        purge.purge(
          {
            purge: { app: { ...app, organizationId }, firstSeenAfter, version },
            ...{ after, isDryRun },
          },
          actor,
        ),
    ),
    routes.on('GET device', 'viewer of app', { input: deviceQuery })(({ app }, { deviceId }) =>
      fleet.readDevice(app.id, deviceId),
    ),
    routes.on('GET fleet', 'viewer of app', { input: fleetQuery })(({ app }, { channel }) =>
      fleet.readFleet(app.id, channel, Date.now()),
    ),
    routes.on('GET adoption', 'viewer of app', { input: adoptionQuery })(
      ({ app }, { since, step, channel }) =>
        step === undefined
          ? fleet.readAdoption(app.id, since, Date.now())
          : fleet.readAdoptionSteps(app.id, { since, step, channel }, Date.now()),
    ),
    routes.on('GET decision', 'viewer of app', { input: decisionQuery })(
      ({ app }, { deviceId, channel }) => explainer.explain(app, deviceId, channel),
    ),
    routes.on('GET decision/told', 'viewer of app', { input: explainQuery.omit({ l: true }) })(
      ({ app }, { app: _, ...told }) => explainer.explainTold(app, { ...told, labels: new Map() }),
    ),
    routes.onEvents('live', 'viewer of app', async ({ app, organizationId, visitor }) => {
      const { session } = visitor;
      const source = fleet.watch(app.id, { accountId: session?.account.id, organizationId });
      if (isFailure(source)) return source;
      return recheck.watching(source, watchOf(visitor, app.id, { accounts, access }));
    }),
  ];
}
