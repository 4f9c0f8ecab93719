// Routes of the console API for organizations, their members, invitations, keys and audit.

import { z } from 'zod';
import { actorOf } from '../../access/access.ts';
import type { Members } from '../../access/members.ts';
import { AUDIT_DEEDS } from '../../contract/audit-deed.ts';
import { isFailure } from '../../contract/failure.ts';
import { LIMIT } from '../../contract/limit.ts';
import { KEY_RIGHTS, ROLES } from '../../contract/resource.ts';
import type { Administer } from '../../publishing/administer.ts';
import type { ViewConsole } from '../../publishing/view-console.ts';
import type { Exchange } from '../exchange.ts';
import type { Route } from '../router.ts';
import {
  nameField,
  newEmailField,
  textField,
  timeField,
  titleField,
  wholeField,
} from '../shape/field.ts';
import type { ConsoleRoutes } from './console-route.ts';
import { requestOrigin } from './own-origin.ts';

const roleField = z.enum(ROLES);
const filterField = textField(1024, 0)
  .optional()
  .transform((text) => text || undefined);

const orgQuery = z.object({ org: nameField });
const newOrganizationBody = z.strictObject({ name: titleField });
const organizationBody = z.strictObject({ org: nameField, name: titleField });
const memberBody = z.strictObject({ org: nameField, account: nameField, role: roleField });
const formerMemberBody = z.strictObject({ org: nameField, account: nameField });
const invitationBody = z.strictObject({ org: nameField, email: newEmailField, role: roleField });
const keyBody = z.strictObject({
  org: nameField,
  name: titleField,
  apps: z.array(nameField).min(1).max(LIMIT.keyAppsMax).optional(),
  may: z.array(z.enum(KEY_RIGHTS)).min(1).max(KEY_RIGHTS.length).optional(),
  expiresAt: timeField.optional(),
});
const auditQuery = z.object({
  org: nameField,
  actor: filterField,
  action: filterField,
  subject: filterField,
  did: z.enum(AUDIT_DEEDS).optional(),
  since: timeField.optional(),
  until: timeField.optional(),
  before: filterField,
  limit: wholeField(1, LIMIT.auditEntriesMax, LIMIT.auditEntriesDefault),
});

const searchQuery = z.object({ org: nameField, text: textField(LIMIT.searchLengthMax) });

export type OrganizationDependencies = {
  readonly administer: Administer;
  readonly members: Members;
  readonly view: ViewConsole;
  /** Base URL of the console; undefined when no setting names one. */
  readonly consoleUrl: string | undefined;
};

/** Builds the routes for organizations and what belongs to them, except apps. */
export function organizationRoutes(
  routes: ConsoleRoutes,
  dependencies: OrganizationDependencies,
): readonly Route[] {
  const { administer, members, view } = dependencies;
  return [
    routes.onVisitor(
      { method: 'POST', path: 'organizations', shape: newOrganizationBody, status: 201 },
      (visitor, { name }) => administer.createOrganization(name, actorOf(visitor, undefined)),
    ),
    routes.onOrganization(
      { method: 'PATCH', path: 'organizations', role: 'owner', shape: organizationBody },
      ({ organizationId, actor }, { name }) => members.rename(organizationId, name, actor),
    ),
    routes.onOrganization(
      { method: 'GET', path: 'search', role: 'viewer', shape: searchQuery },
      ({ organizationId }, { text }) => view.search(organizationId, text),
    ),
    ...memberRoutes(routes, dependencies),
    ...keyRoutes(routes, dependencies),
  ];
}

function memberRoutes(
  routes: ConsoleRoutes,
  { members, consoleUrl }: OrganizationDependencies,
): readonly Route[] {
  return [
    routes.onOrganization(
      { method: 'GET', path: 'members', role: 'viewer', shape: orgQuery },
      ({ organizationId }) => members.list(organizationId),
    ),
    routes.onOrganization(
      { method: 'PATCH', path: 'members', role: 'owner', shape: memberBody },
      ({ organizationId, actor }, { account, role }) =>
        members.change(organizationId, account, role, actor),
    ),
    routes.onOrganization(
      { method: 'DELETE', path: 'members', role: 'owner', shape: formerMemberBody },
      ({ organizationId, actor }, { account }) =>
        members.change(organizationId, account, undefined, actor),
    ),
    routes.onOrganization(
      {
        method: 'POST',
        path: 'invitations',
        role: 'owner',
        shape: invitationBody,
        status: 201,
      },
      async ({ organizationId, actor }, { email, role }, exchange) => {
        const invited = await members.invite(organizationId, email, role, actor);
        if (isFailure(invited)) return invited;
        const { id, token, expiresAt } = invited;
        return { id, url: invitationUrl(consoleUrl, exchange, token), expiresAt };
      },
    ),
    routes.onKeyOrInvitation('invitation', 'invitations/:id/revoke', 'owner', ({ actor }, id) =>
      members.revoke(id, actor),
    ),
  ];
}

function keyRoutes(
  routes: ConsoleRoutes,
  { administer, view }: OrganizationDependencies,
): readonly Route[] {
  return [
    routes.onOrganization(
      { method: 'GET', path: 'keys', role: 'viewer', shape: orgQuery },
      async ({ organizationId }) => ({ keys: await view.listKeys(organizationId) }),
    ),
    routes.onOrganization(
      { method: 'POST', path: 'keys', role: 'owner', shape: keyBody, status: 201 },
      ({ organizationId, actor }, { org: _, name, ...limits }) =>
        administer.createKey(organizationId, name, limits, actor),
    ),
    routes.onKeyOrInvitation('key', 'keys/:id/revoke', 'owner', ({ actor }, id) =>
      administer.revokeKey(id, actor),
    ),
    routes.onOrganization(
      { method: 'GET', path: 'audit', role: 'viewer', shape: auditQuery },
      ({ organizationId }, { org: _, ...filter }) => view.listAudit(organizationId, filter),
    ),
  ];
}

function invitationUrl(consoleUrl: string | undefined, exchange: Exchange, token: string): string {
  return `${consoleUrl ?? requestOrigin(exchange)}/console/invitation/${token}`;
}
