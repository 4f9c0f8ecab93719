// Routes of the console API for apps, channels, releases and rollout plans.

import { z } from 'zod';
import { type FailureKind, isFailure, type Outcome } from '../../contract/failure.ts';
import { LIMIT } from '../../contract/limit.ts';
import { isFreeRef, isRef } from '../../contract/ref.ts';
import { UPDATE_MODES } from '../../contract/resource.ts';
import type { Administer, ViewConsole } from '../../publishing/administer.ts';
import type { DryRun } from '../../publishing/dry-run.ts';
import type { PropagateChange } from '../../publishing/propagate-change.ts';
import {
  controlServing,
  createPlan,
  promoteRelease,
  publishRelease,
  withdrawRelease,
} from '../../publishing/releases.ts';
import type { CountMatching } from '../../serving/dry-run-effect.ts';
import type { Ledger } from '../../store/ledger.ts';
import type { NotesRenderer } from '../notes/notes-renderer.ts';
import type { Route } from '../router.ts';
import {
  nameField,
  rolloutField,
  statusField,
  targetingField,
  textField,
  titleField,
  versionField,
  versionParameter,
  wholeField,
  withPlus,
} from '../shape/field.ts';
import {
  canonicalOf,
  definitionOf,
  newReleaseOf,
  planQuery,
  promoteReleaseBody,
  promotionOf,
  publishReleaseBody,
  putPlanBody,
  releaseNameOf,
  seenServingBody,
  servingCallOf,
  servingControlBody,
  steerPlanBody,
  withdrawReleaseBody,
} from '../shape/release-body.ts';
import type { ConsoleRoutes } from './console-route.ts';

const REF_REASON = `Must be 1 to ${LIMIT.refLengthMax} letters, digits, dots, dashes or underscores`;
const DEFAULT_CHANNELS = ['stable', 'beta'];
/** Maximum page number. Pages beyond it are always empty. */
const PAGE_MAX = 1_000_000;

const channelNameField = z.string().refine(isRef, REF_REASON);

const orgQuery = z.object({ org: nameField });
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
  })
  .refine(
    ({ name, archived }) => name !== undefined || archived !== undefined,
    'One of name or archived is required',
  );
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
  })
  .refine(
    (body) => Object.values(body).filter((value) => value !== undefined).length > 2,
    'One of minimumSupportedVersion, defaultRollout, updateMode, requireSignature or follows is required',
  );
const appQuery = z.object({ app: nameField });
const channelQuery = z.object({ app: nameField, channel: nameField });
const releasesQuery = channelQuery.extend({
  page: wholeField(1, PAGE_MAX, 1),
  perPage: wholeField(1, LIMIT.perPageMax, LIMIT.perPageDefault),
  version: textField(LIMIT.versionLengthMax).overwrite(withPlus).optional(),
  status: statusField.optional(),
});
const matchingBody = z.strictObject({
  app: nameField,
  channel: nameField,
  targets: targetingField.nullable().default(null),
});
const releaseQuery = channelQuery.extend({ version: versionParameter });

export type AppDependencies = {
  readonly administer: Administer;
  readonly view: ViewConsole;
  readonly ledger: Ledger;
  readonly propagate: PropagateChange;
  readonly dryRun: DryRun;
  readonly matching: CountMatching;
  readonly notes: Pick<NotesRenderer, 'html'>;
  /** Seconds after which a device that asks again is written down again. */
  readonly freshnessSeconds: number;
};

/** Builds the routes for apps, their channels and their releases. */
export function appRoutes(routes: ConsoleRoutes, dependencies: AppDependencies): readonly Route[] {
  const { administer, view } = dependencies;
  return [
    routes.onOrganization(
      { method: 'GET', path: 'apps', role: 'viewer', shape: orgQuery },
      async ({ organizationId }) => ({ apps: await view.listApps(organizationId, Date.now()) }),
    ),
    routes.onOrganization(
      { method: 'POST', path: 'apps', role: 'owner', shape: appBody, status: 201 },
      ({ organizationId, actor }, { org: _, ...app }) =>
        administer.createApp({ ...app, organizationId }, actor),
    ),
    routes.onApp(
      { method: 'PATCH', path: 'apps', role: 'owner', shape: appChangeBody },
      ({ app, actor }, { app: _, ...change }) => administer.updateApp(app.id, change, actor),
    ),
    routes.onApp({ method: 'GET', path: 'labels', role: 'viewer', shape: appQuery }, ({ app }) =>
      view.countLabels(app),
    ),
    ...channelRoutes(routes, dependencies),
    ...releaseRoutes(routes, dependencies),
    ...publishingRoutes(routes, dependencies),
  ];
}

function channelRoutes(
  routes: ConsoleRoutes,
  { administer, view }: AppDependencies,
): readonly Route[] {
  return [
    routes.onApp(
      { method: 'GET', path: 'channels', role: 'viewer', shape: appQuery },
      ({ app, organizationId }) => view.listChannels(organizationId, app),
    ),
    routes.onApp(
      { method: 'POST', path: 'channels', role: 'owner', shape: newChannelBody, status: 201 },
      ({ app, actor }, { name }) => administer.createChannel(app.id, name, actor),
    ),
    routes.onApp(
      { method: 'PATCH', path: 'channels', role: 'owner', shape: channelBody },
      ({ app, actor }, { app: _, name, ...change }) =>
        administer.updateChannel(app.id, name, change, actor),
    ),
    routes.onApp(
      { method: 'GET', path: 'channel', role: 'viewer', shape: channelQuery },
      ({ app }, { channel }) => view.readChannel(app, channel, Date.now()),
    ),
  ];
}

function releaseRoutes(
  routes: ConsoleRoutes,
  { view, ledger, propagate, notes }: AppDependencies,
): readonly Route[] {
  const path = 'releases';
  return [
    routes.onApp(
      { method: 'GET', path, role: 'viewer', shape: releasesQuery },
      ({ app }, { app: _, channel, ...wanted }) => view.listReleases(app, channel, wanted),
    ),
    routes.onApp(
      { method: 'GET', path: 'release', role: 'viewer', shape: releaseQuery },
      async ({ app }, { channel, version }) => {
        const found = await view.readRelease(app, channel, canonicalOf(version));
        if (isFailure(found)) return found;
        const notesHtml = belowPage(await notes.html(found.release.notes));
        return { ...found, release: { ...found.release, notesHtml } };
      },
    ),
    routes.onApp(
      { method: 'PATCH', path, role: 'publisher', shape: seenServingBody },
      async (context, { seen, ...body }) => {
        const { name, change, reason } = servingCallOf(body);
        return wrapped(
          await controlServing(ledger, propagate, context, name, change, reason, seen),
        );
      },
    ),
  ];
}

/** Routes by which releases come and, as long as nobody was offered one, go. */
function publishingRoutes(
  routes: ConsoleRoutes,
  { ledger, propagate, dryRun, matching, freshnessSeconds }: AppDependencies,
): readonly Route[] {
  const path = 'releases';
  return [
    routes.onApp(
      { method: 'POST', path, role: 'publisher', shape: publishReleaseBody, status: 201 },
      async (context, body) => {
        const release = newReleaseOf(body, freshnessSeconds);
        if (isFailure(release)) return release;
        const published = await publishRelease(ledger, propagate, context, release);
        return isFailure(published) ? published : { release: published.release };
      },
    ),
    routes.onApp(
      { method: 'POST', path: `${path}/matching`, role: 'publisher', shape: matchingBody },
      async ({ app }, { channel, targets }) => {
        const found = await ledger.readChannel(app, channel);
        return isFailure(found) ? found : matching.count(app.id, channel, targets);
      },
    ),
    routes.onApp(
      {
        method: 'POST',
        path: `${path}/rehearse`,
        role: 'publisher',
        shape: publishReleaseBody,
      },
      async (context, body) => {
        const release = newReleaseOf(body, freshnessSeconds);
        return isFailure(release) ? release : dryRun.publish(context, release);
      },
    ),
    routes.onApp(
      {
        method: 'POST',
        path: `${path}/rehearse-promotion`,
        role: 'publisher',
        shape: promoteReleaseBody,
      },
      async (context, body) => {
        const promotion = promotionOf(body, freshnessSeconds);
        return isFailure(promotion) ? promotion : dryRun.promote(context, promotion);
      },
    ),
    routes.onApp(
      {
        method: 'POST',
        path: `${path}/rehearse-serving`,
        role: 'publisher',
        shape: servingControlBody,
      },
      (context, body) => {
        const { name, change } = servingCallOf(body);
        return dryRun.control(context, name, change);
      },
    ),
    routes.onApp(
      {
        ...{ method: 'POST', path: `${path}/promote`, role: 'publisher' },
        ...{ shape: promoteReleaseBody, status: 201 },
      },
      async (context, body) => {
        const promotion = promotionOf(body, freshnessSeconds);
        if (isFailure(promotion)) return promotion;
        const promoted = await promoteRelease(ledger, propagate, context, promotion);
        return isFailure(promoted) ? promoted : { release: promoted.release };
      },
    ),
    routes.onApp(
      { method: 'DELETE', path, role: 'publisher', shape: withdrawReleaseBody },
      async (context, body) => {
        const name = releaseNameOf(body);
        return wrapped(await withdrawRelease(ledger, propagate, context, name, body.reason));
      },
    ),
  ];
}

/**
 * Lowers the headings of rendered notes by two levels, because the page has headings of its own above them.
 * What is text is escaped, so that every `<h1` is a heading.
 */
function belowPage(html: string): string {
  return html.replace(
    /<(\/?)h([1-6])\b/g,
    (_, end: string, level: string) => `<${end}h${Math.min(Number(level) + 2, 6)}`,
  );
}

/** Wraps a release in the property `release`, by which the management API answers it, too. */
function wrapped<Value, Kind extends FailureKind>(
  release: Outcome<Value, Kind>,
): Outcome<{ readonly release: Value }, Kind> {
  return isFailure(release) ? release : { release };
}

// Routes of the console API for rollout plans and the health of releases (docs/contract.md 27).

type PlanConsoleDependencies = {
  readonly ledger: Pick<
    Ledger,
    | 'createPlan'
    | 'steerPlan'
    | 'readPlan'
    | 'readHealth'
    | 'readFailureBreakdown'
    | 'readReleaseAdoption'
  >;
  readonly propagate: PropagateChange;
  readonly dryRun: Pick<DryRun, 'plan'>;
  /** Seconds after which a device that asks again is written down again. */
  readonly freshnessSeconds: number;
};

/** Builds the routes by which people plan rollouts. */
export function planConsoleRoutes(
  routes: ConsoleRoutes,
  { ledger, propagate, dryRun, freshnessSeconds }: PlanConsoleDependencies,
): readonly Route[] {
  const path = 'releases/plan';
  return [
    routes.onApp(
      { method: 'GET', path, role: 'viewer', shape: planQuery },
      async ({ scope }, query) => {
        const name = releaseNameOf(query);
        const found = await ledger.readPlan(scope, name);
        // The page shows the health of every release, of one without a plan as well.
        if (!isFailure(found) || found.failure !== 'unknownPlan') return found;
        const health = await ledger.readHealth(scope, name);
        return isFailure(health) ? health : { plan: null, health };
      },
    ),
    routes.onApp(
      { method: 'GET', path: 'releases/trouble', role: 'viewer', shape: planQuery },
      ({ scope }, query) => ledger.readFailureBreakdown(scope, releaseNameOf(query)),
    ),
    routes.onApp(
      { method: 'GET', path: 'releases/adoption', role: 'viewer', shape: planQuery },
      async ({ scope }, query) => {
        const adoption = await ledger.readReleaseAdoption(scope, releaseNameOf(query));
        return isFailure(adoption) ? adoption : { adoption };
      },
    ),
    routes.onApp(
      { method: 'POST', path, role: 'publisher', shape: putPlanBody },
      async (context, body) => {
        const definition = definitionOf(body, freshnessSeconds, Date.now());
        if (isFailure(definition)) return definition;
        const name = releaseNameOf(body);
        const plan = await createPlan(ledger, propagate, context, name, definition, body.reason);
        return isFailure(plan) ? plan : { plan };
      },
    ),
    routes.onApp(
      { method: 'POST', path: 'releases/rehearse-plan', role: 'publisher', shape: putPlanBody },
      async (context, body) => {
        const definition = definitionOf(body, freshnessSeconds, Date.now());
        if (isFailure(definition)) return definition;
        return dryRun.plan(context, releaseNameOf(body), definition);
      },
    ),
    routes.onApp(
      { method: 'PATCH', path, role: 'publisher', shape: steerPlanBody },
      async ({ scope, actor }, { action, reason, ...named }) => {
        const plan = await ledger.steerPlan(scope, releaseNameOf(named), action, actor, reason);
        return isFailure(plan) ? plan : { plan };
      },
    ),
  ];
}
