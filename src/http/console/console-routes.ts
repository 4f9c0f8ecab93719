// The console API: what an operator sets up, with the admin token. The `sluice` command speaks it.

import { z } from 'zod';
import { isFailure, type Outcome } from '../../contract/failure.ts';
import { LIMIT } from '../../contract/limit.ts';
import { isFreeRef, isRef } from '../../contract/ref.ts';
import { UPDATE_MODES } from '../../contract/resource.ts';
import type { Administer } from '../../operations/administer.ts';
import type { Exchange } from '../exchange.ts';
import type { Route } from '../router.ts';
import { nameField, rolloutField, textField, versionField } from '../shape/field.ts';
import { parseBody, parseShape } from '../shape/parse-shape.ts';
import type { Admit } from './admit.ts';

const REF_REASON = `Must be 1 to ${LIMIT.refLengthMax} letters, digits, dots, dashes or underscores`;
const DEFAULT_CHANNELS = ['stable', 'beta'];

const titleField = textField(LIMIT.nameLengthMax);
const channelNameField = z.string().refine(isRef, REF_REASON);

const organizationBody = z.strictObject({ name: titleField });
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
const newChannelBody = z.strictObject({ app: nameField, name: channelNameField });
const channelBody = z
  .strictObject({
    app: nameField,
    name: nameField,
    minimumSupportedVersion: versionField.nullable().optional(),
    defaultRollout: rolloutField.optional(),
    updateMode: z.enum(UPDATE_MODES).optional(),
  })
  .refine(
    (body) => Object.values(body).filter((value) => value !== undefined).length > 2,
    'One of minimumSupportedVersion, defaultRollout or updateMode is required',
  );
const keyBody = z.strictObject({ org: nameField, name: titleField });
const auditQuery = z.object({
  org: nameField,
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .max(LIMIT.auditEntriesMax)
    .default(LIMIT.auditEntriesDefault),
});

/** The routes below `/console/api`. */
export function consoleRoutes(administer: Administer, admit: Admit): readonly Route[] {
  const post = <Body extends z.ZodType>(
    path: string,
    shape: Body,
    work: (body: z.output<Body>) => Promise<Outcome<unknown>>,
    method: Route['method'] = 'POST',
  ): Route => ({
    method,
    path: `/console/api/${path}`,
    handler: admit(
      async (exchange) => {
        const body = await parseBody(exchange, shape);
        return isFailure(body) ? body : work(body);
      },
      method === 'POST' ? 201 : 200,
    ),
  });
  return [
    post('organizations', organizationBody, ({ name }) => administer.createOrganization(name)),
    post('apps', appBody, ({ org, ...app }) =>
      administer.createApp({ ...app, organizationId: org }),
    ),
    post('channels', newChannelBody, ({ app, name }) => administer.createChannel(app, name)),
    post(
      'channels',
      channelBody,
      ({ app, name, ...change }) => administer.updateChannel(app, name, change),
      'PATCH',
    ),
    post('keys', keyBody, ({ org, name }) => administer.createKey(org, name)),
    {
      method: 'POST',
      path: '/console/api/keys/:id/revoke',
      handler: admit(({ params }) => administer.revokeKey(params.get('id') ?? '')),
    },
    {
      method: 'GET',
      path: '/console/api/audit',
      handler: admit((exchange) => listAudit(administer, exchange)),
    },
  ];
}

async function listAudit(
  administer: Administer,
  { queryText }: Exchange,
): Promise<Outcome<unknown>> {
  const wanted = parseShape(auditQuery, Object.fromEntries(new URLSearchParams(queryText)));
  if (isFailure(wanted)) return wanted;
  const entries = await administer.listAudit(wanted.org, wanted.limit);
  return isFailure(entries) ? entries : { entries };
}
