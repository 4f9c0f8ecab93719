// Routes of the console API for apps, channels, releases, rollout plans and stops.

import { z } from 'zod';
import {
  APPROVAL_MODES,
  DDI_AUTHS,
  UNKNOWN_VERSION_EFFECTS,
  UPDATE_MODES,
} from '../../contract/choice.ts';
import { isFailure } from '../../contract/failure.ts';
import { LIMIT } from '../../contract/limit.ts';
import { isFreeRef, isRef } from '../../contract/ref.ts';
import type { ConsoleRoutes } from '../endpoint/console-route.ts';
import {
  appQuery,
  labelKeyField,
  nameField,
  platformField,
  rolloutField,
  statusField,
  targetingField,
  textField,
  titleField,
  versionField,
  wholeField,
  withPlus,
} from '../endpoint/field.ts';
import { making } from '../endpoint/key-operation.ts';
import {
  canonicalOf,
  releaseNameOf,
  releaseQuery,
  retryReleaseBody,
} from '../endpoint/release-body.ts';
import type { Route } from '../transport/router.ts';
import type { ConsoleServices } from './console-services.ts';
import { SESSION_ROUTES } from './key-routes.ts';

const REF_REASON = `Must be 1 to ${LIMIT.refLengthMax} letters, digits, dots, dashes or underscores`;
const DEFAULT_CHANNELS = ['stable', 'beta'];
/** Maximum page number; pages beyond it would always be empty. */
const PAGE_MAX = 1_000_000;

const channelNameField = z.string().refine(isRef, REF_REASON);

const appBody = z.strictObject({
  org: nameField,
  ref: z.string().refine(isFreeRef, REF_REASON),
  name: titleField,
  channels: z
    .array(channelNameField)
    .min(1)
    .max(LIMIT.channelsPerCreateMax)
    .refine((names) => new Set(names).size === names.length, 'Must not repeat a channel')
    .default(DEFAULT_CHANNELS),
});
const appChangeBody = z
  .strictObject({
    app: nameField,
    name: titleField.optional(),
    archived: z.boolean('Must be true or false').optional(),
    ddiAuth: z.enum(DDI_AUTHS).optional(),
  })
  .refine(
    ({ app: _, ...change }) => Object.values(change).some((value) => value !== undefined),
    'One of name, archived or ddiAuth is required',
  );
const CHANNEL_SETTINGS = [
  ...['minimumSupportedVersion', 'defaultRollout', 'updateMode', 'requireSignature', 'follows'],
  ...['approvals', 'approvalDays', 'ddi'],
];
const ddiField = z.strictObject({
  pollSeconds: z.int().min(LIMIT.ddiPollSecondsMin).max(LIMIT.ddiPollSecondsMax).optional(),
  platform: platformField.optional(),
  arch: platformField.nullable().optional(),
  keys: z
    .strictObject({
      platform: labelKeyField.optional(),
      arch: labelKeyField.optional(),
      version: labelKeyField.optional(),
      bundle: labelKeyField.optional(),
    })
    .optional(),
  unknownVersion: z.enum(UNKNOWN_VERSION_EFFECTS).optional(),
  retries: z.int().min(0).max(LIMIT.ddiRetriesMax).optional(),
  retryAfterMinutes: z.int().min(LIMIT.ddiRetryMinutesMin).max(LIMIT.ddiRetryMinutesMax).optional(),
  askDays: z.int().min(0).max(LIMIT.ddiAskDaysMax).optional(),
});
const newChannelBody = z.strictObject({ app: nameField, name: channelNameField });
const channelBody = z
  .strictObject({
    app: nameField,
    name: nameField,
    minimumSupportedVersion: versionField.nullable().optional(),
    defaultRollout: rolloutField.optional(),
    updateMode: z.enum(UPDATE_MODES).optional(),
    requireSignature: z.boolean().optional(),
    follows: nameField.nullable().optional(),
    approvals: z.enum(APPROVAL_MODES).optional(),
    approvalDays: z.int().min(1).max(LIMIT.approvalDaysMax).optional(),
    ddi: ddiField.nullable().optional(),
  })
  .refine(
    (body) => Object.values(body).filter((value) => value !== undefined).length > 2,
    `One of ${CHANNEL_SETTINGS.join(', ')} is required`,
  );
const channelQuery = appQuery.extend({ channel: nameField });
const releasesQuery = channelQuery.extend({
  page: wholeField(1, PAGE_MAX, 1),
  perPage: wholeField(1, LIMIT.perPageMax, LIMIT.perPageDefault),
  version: textField(LIMIT.versionLengthMax).overwrite(withPlus).optional(),
  status: statusField.optional(),
});
const stopQuery = appQuery.extend({ channel: nameField.optional() });
const matchingBody = z.strictObject({
  app: nameField,
  channel: nameField,
  targets: targetingField.nullable().default(null),
});

/** Builds the routes for apps, their channels and their releases. */
export function appRoutes(routes: ConsoleRoutes, dependencies: ConsoleServices): readonly Route[] {
  const { administer, ledger, view } = dependencies;
  return [
    routes.plain('GET apps', 'viewer of organization', async ({ organizationId }) => ({
      apps: await view.listApps(organizationId, Date.now()),
    })),
    routes.on('POST apps', 'owner of organization', { input: appBody, status: 201 })(
      ({ organizationId, actor }, { org: _, ...app }) =>
        administer.createApp({ ...app, organizationId }, actor),
    ),
    routes.on('PATCH apps', 'owner of app', { input: appChangeBody })(({ app, ...who }, body) =>
      UPDATE_APP.run(dependencies, who, { ...body, app: app.id }),
    ),
    routes.on('GET stop', 'viewer of app', { input: stopQuery })(({ app }, { channel }) =>
      ledger.measureStop(app.id, channel),
    ),
    routes.plain('GET labels', 'viewer of app', ({ app }) => ledger.countLabels(app.id)),
    ...channelRoutes(routes, dependencies),
    ...releaseRoutes(routes, dependencies),
    ...changeRoutes(routes, dependencies),
    ...healthRoutes(routes, dependencies),
  ];
}

const UPDATE_APP = making({
  input: appChangeBody,
  by: ({ updateApp }) => updateApp,
  prepare: ({ app, ...change }) => ({ app, change }),
  answer: (app) => app,
});

/** Change of a channel's settings; `approval-routes.ts` runs it as well, to carry out an approval. */
export const UPDATE_CHANNEL = making({
  input: channelBody,
  by: ({ updateChannel }) => updateChannel,
  prepare: ({ app, name, ...change }) => ({ app, channel: name, change }),
  answer: (channel) => channel,
  asks: 'updateChannel',
});

function channelRoutes(routes: ConsoleRoutes, dependencies: ConsoleServices): readonly Route[] {
  const { administer, view } = dependencies;
  return [
    routes.plain('GET channels', 'viewer of app', ({ app, organizationId }) =>
      view.listChannels(organizationId, app),
    ),
    routes.on('POST channels', 'owner of app', { input: newChannelBody, status: 201 })(
      ({ app, actor }, { name }) => administer.createChannel(app.id, name, actor),
    ),
    routes.on('PATCH channels', 'owner of app', { input: channelBody })(({ app, ...who }, body) =>
      UPDATE_CHANNEL.run(dependencies, who, { ...body, app: app.id }),
    ),
    routes.on('GET channel', 'viewer of app', { input: channelQuery })(
      ({ app, organizationId }, { channel }) =>
        view.readChannel({ ...app, organizationId }, channel, Date.now()),
    ),
  ];
}

function releaseRoutes(routes: ConsoleRoutes, { view, notes }: ConsoleServices): readonly Route[] {
  return [
    routes.on('GET releases', 'viewer of app', { input: releasesQuery })(
      ({ app, organizationId }, { app: _, channel, ...wanted }) =>
        view.listReleases({ ...app, organizationId }, channel, wanted),
    ),
    routes.on('GET release', 'viewer of app', { input: releaseQuery })(
      async ({ app, organizationId }, { channel, version }) => {
        const owned = { ...app, organizationId };
        const found = await view.readRelease(owned, channel, canonicalOf(version));
        if (isFailure(found)) return found;
        const notesHtml = belowPage(await notes.html(found.release.notes));
        return { ...found, release: { ...found.release, notesHtml } };
      },
    ),
  ];
}

/** Builds the routes that change releases and their plans, that dry-run changes, and that count devices. */
function changeRoutes(routes: ConsoleRoutes, dependencies: ConsoleServices): readonly Route[] {
  const { ledger, matching, retries } = dependencies;
  return [
    ...SESSION_ROUTES.map((each) => routes.onChange(each, dependencies)),
    routes.on('POST releases/matching', 'publisher of app', { input: matchingBody })(
      async ({ app }, { channel, targets }) => {
        const found = await ledger.readChannel(app, channel);
        return isFailure(found) ? found : matching.count(app.id, channel, targets);
      },
    ),
    routes.on('POST releases/retry', 'publisher of app', { input: retryReleaseBody })(
      (who, { deviceIds, reason, ...named }) =>
        retries.retry(who, releaseNameOf(named), deviceIds, reason),
    ),
  ];
}

/** Builds the routes that read the plan, health, failures and adoption of a release (docs/contract.md 27). */
function healthRoutes(routes: ConsoleRoutes, { ledger }: ConsoleServices): readonly Route[] {
  return [
    routes.on('GET releases/plan', 'viewer of app', { input: releaseQuery })(
      async ({ scope }, query) => {
        const name = releaseNameOf(query);
        const found = await ledger.readPlan(scope, name);
        // The page shows the health of every release, even of one without a plan.
        if (!isFailure(found) || found.failure !== 'unknownPlan') return found;
        const health = await ledger.readHealth(scope, name);
        return isFailure(health) ? health : { plan: null, health };
      },
    ),
    routes.on('GET releases/trouble', 'viewer of app', { input: releaseQuery })(
      ({ scope }, query) => ledger.readFailureBreakdown(scope, releaseNameOf(query)),
    ),
    routes.on('GET releases/adoption', 'viewer of app', { input: releaseQuery })(
      async ({ scope }, query) => {
        const adoption = await ledger.readReleaseAdoption(scope, releaseNameOf(query));
        return isFailure(adoption) ? adoption : { adoption };
      },
    ),
  ];
}

/**
 * Lowers the headings of rendered notes by two levels, because the page has headings of its own above them.
 * Text is escaped, so every `<h1` is a heading.
 */
function belowPage(html: string): string {
  return html.replace(
    /<(\/?)h([1-6])\b/g,
    (_, end: string, level: string) => `<${end}h${Math.min(Number(level) + 2, 6)}`,
  );
}
