// Routes of the console API for organizations: members, invitations, keys, webhooks, and the audit log.

import { z } from 'zod';
import { WEBHOOK_PROVIDERS } from '../../contract/choice.ts';
import { isFailure } from '../../contract/failure.ts';
import { LIMIT } from '../../contract/limit.ts';
import { AUDIT_DEEDS, KEY_RIGHTS, ROLES } from '../../contract/resource.ts';
import { isTarget } from '../../publishing/receive-release.ts';
import type { Webhooks } from '../../publishing/webhooks.ts';
import { type ConsoleRoutes, consoleBase } from '../endpoint/console-route.ts';
import {
  nameField,
  newEmailField,
  textField,
  timeField,
  titleField,
  wholeField,
} from '../endpoint/field.ts';
import type { Route } from '../transport/router.ts';
import type { ConsoleServices } from './console-services.ts';

const roleField = z.enum(ROLES);
const filterField = textField(1024, 0)
  .optional()
  .transform((text) => text || undefined);

const newOrganizationBody = z.strictObject({ name: titleField });
const organizationBody = z
  .strictObject({
    org: nameField,
    name: titleField.optional(),
    requireSecondFactor: z.boolean().optional(),
  })
  .refine(({ name, requireSecondFactor }) => (name ?? requireSecondFactor) !== undefined, {
    path: ['name'],
    message: 'Required',
  });
const memberBody = z.strictObject({ org: nameField, account: nameField, role: roleField });
const namedMemberBody = z.strictObject({ org: nameField, account: nameField });
const invitationBody = z.strictObject({ org: nameField, email: newEmailField, role: roleField });
const keyBody = z.strictObject({
  org: nameField,
  name: titleField,
  apps: z.array(nameField).min(1).max(LIMIT.keyAppsMax).optional(),
  may: z.array(z.enum(KEY_RIGHTS)).min(1).max(KEY_RIGHTS.length).optional(),
  expiresAt: timeField.optional(),
});
/** Cursor: `next` of the previous page. */
const cursorField = filterField.refine(
  (text) => text === undefined || /^\d{1,16}-\d{1,18}$/.test(text),
  'Must be next of a page',
);
const auditQuery = z.object({
  org: nameField,
  actor: filterField,
  action: filterField,
  subject: filterField,
  did: z.enum(AUDIT_DEEDS).optional(),
  since: timeField.optional(),
  until: timeField.optional(),
  before: cursorField,
  limit: wholeField(1, LIMIT.auditEntriesMax, LIMIT.auditEntriesDefault),
});

const searchQuery = z.object({ org: nameField, text: textField(LIMIT.searchLengthMax) });

/** Builds the routes for organizations, their members, invitations, keys and audit logs. */
export function organizationRoutes(
  routes: ConsoleRoutes,
  dependencies: ConsoleServices,
): readonly Route[] {
  const { administer, ledger } = dependencies;
  return [
    routes.on('POST organizations', 'visitor', { input: newOrganizationBody, status: 201 })(
      ({ actor }, { name }) => administer.createOrganization(name, actor),
    ),
    routes.on('PATCH organizations', 'owner of organization', { input: organizationBody })(
      async ({ organizationId, actor }, { name, requireSecondFactor }) => {
        const change = { name, requireSecondFactor };
        const changed = await ledger.updateOrganization(organizationId, change, actor);
        if (isFailure(changed) || requireSecondFactor === undefined) return changed;
        return { ...changed, requireSecondFactor };
      },
    ),
    routes.plain('GET attention', 'viewer of organization', ({ organizationId }) =>
      ledger.readAttention(organizationId),
    ),
    routes.on('GET search', 'viewer of organization', { input: searchQuery })(
      ({ organizationId }, { text }) => ledger.search(organizationId, text),
    ),
    ...memberRoutes(routes, dependencies),
    ...keyRoutes(routes, dependencies),
  ];
}

function memberRoutes(
  routes: ConsoleRoutes,
  { ledger, members, links, consoleUrl }: ConsoleServices,
): readonly Route[] {
  return [
    routes.plain('GET members', 'viewer of organization', ({ organizationId }) =>
      members.list(organizationId),
    ),
    routes.on('PATCH members', 'owner of organization', { input: memberBody })(
      ({ organizationId, actor }, { account, role }) =>
        ledger.changeMember(organizationId, account, role, actor),
    ),
    routes.on('DELETE members', 'owner of organization', { input: namedMemberBody })(
      ({ organizationId, actor }, { account }) =>
        ledger.changeMember(organizationId, account, undefined, actor),
    ),
    routes.on('POST members/recover', 'owner of organization', {
      input: namedMemberBody,
      status: 201,
    })(({ organizationId, actor }, { account: accountId }, exchange) => {
      const base = consoleBase(exchange, consoleUrl);
      return links.create('recovery', { organizationId, accountId }, actor, base);
    }),
    routes.on('POST invitations', 'owner of organization', { input: invitationBody, status: 201 })(
      ({ organizationId, actor }, { email, role }, exchange) =>
        members.invite(organizationId, email, role, actor, consoleBase(exchange, consoleUrl)),
    ),
    routes.plain('POST invitations/:id/revoke', 'owner of invitation', ({ id, actor }) =>
      members.revoke(id, actor),
    ),
  ];
}

function keyRoutes(
  routes: ConsoleRoutes,
  { administer, ledger }: ConsoleServices,
): readonly Route[] {
  return [
    routes.plain('GET keys', 'viewer of organization', async ({ organizationId }) => ({
      keys: await ledger.listKeys(organizationId),
    })),
    routes.on('POST keys', 'owner of organization', { input: keyBody, status: 201 })(
      ({ organizationId, actor }, { org: _, name, ...limits }) =>
        administer.createKey(organizationId, name, limits, actor),
    ),
    routes.plain('POST keys/:id/revoke', 'owner of key', ({ id, actor }) =>
      ledger.revokeKey(id, actor),
    ),
    routes.on('GET audit', 'viewer of organization', { input: auditQuery })(
      ({ organizationId }, { org: _, ...filter }) => ledger.listAudit(organizationId, filter),
    ),
  ];
}

// Routes of the console API for release webhooks: enabling, changing and disabling them, and showing them
// with recent deliveries.

const targetField = textField(2 * LIMIT.artifactNameLengthMax).refine(
  isTarget,
  'Must be a platform, or a platform and an arch as in darwin/aarch64',
);

const settingsShape = z.strictObject({
  app: nameField,
  provider: z.enum(WEBHOOK_PROVIDERS),
  /** Null and the empty text mean no prefix. */
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

/** Builds the routes for webhooks below `/console/api`. */
export function webhookConsoleRoutes(routes: ConsoleRoutes, webhooks: Webhooks): readonly Route[] {
  return [
    routes.on('POST webhooks', 'owner of app', { input: settingsShape, status: 201 })(
      ({ app, actor }, { provider, tagPrefix, hold, expect }) =>
        webhooks.enable(app.id, provider, { tagPrefix, hold, expect }, actor),
    ),
    routes.on('PATCH webhooks', 'owner of app', { input: settingsShape })(
      ({ app, actor }, { provider, tagPrefix, hold, expect }) =>
        webhooks.update(app.id, provider, { tagPrefix, hold, expect }, actor),
    ),
    routes.on('POST webhooks/disable', 'owner of app', { input: disableBody })(
      ({ app, actor }, { provider }) => webhooks.disable(app.id, provider, actor),
    ),
    routes.plain('GET webhooks/enabled', 'viewer of organization', ({ organizationId }) =>
      webhooks.showEnabled(organizationId),
    ),
    routes.plain('GET webhooks', 'viewer of app', ({ app }) => webhooks.show(app.id)),
  ];
}
