// Tests the right of every route by which people make changes that keys can make as well. The calls are made
// from the declarations, so that no new one is left out; those with a key are in narrowed-keys.test.ts.

import { beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { SESSION_ROUTES } from '../../src/http/api/key-routes.ts';
import { member, Person } from '../support/person.ts';
import { serviceSuite } from '../support/service-suite.ts';
import { createTenant, type Tenant } from '../support/tenant.ts';

/** Values of the fields that bodies must have. */
const FIELDS: Readonly<Record<string, unknown>> = {
  ...{ channel: 'stable', version: '1.0.0', from: 'beta', to: 'stable' },
  ...{ action: 'hold', stop: 'stp_unknown' },
};
/** What the shape of a body asks for beside its fields. */
const MORE: Readonly<Record<string, object>> = {
  'PATCH releases': { status: 'paused' },
  'POST releases/rehearse-serving': { status: 'paused' },
  'POST releases/plan': { preset: 'careful' },
  'POST releases/rehearse-plan': { preset: 'careful' },
};

/** Returns a body that the shape of a route accepts. */
function bodyOf(endpoint: string, shape: z.ZodType, app: string): object {
  const options = { unrepresentable: 'any', io: 'input' } as const;
  const { required = [] } = z.toJSONSchema(shape, options) as { required?: readonly string[] };
  const fields = Object.fromEntries(required.map((name) => [name, FIELDS[name]]));
  const body = { ...fields, ...MORE[endpoint], app };
  expect(shape.safeParse(body), `an example of ${endpoint}`).toMatchObject({ success: true });
  return body;
}

serviceSuite('rights from the declarations', (node) => {
  let tenant: Tenant;
  const people = new Map<string, Person>();

  beforeAll(async () => {
    tenant = await createTenant(node);
    const other = await createTenant(node);
    people.set('viewer', await member(node, tenant.org, 'viewer'));
    people.set('publisher', await member(node, tenant.org, 'publisher'));
    people.set('stranger', await member(node, other.org, 'owner'));
    people.set('nobody', new Person(node));
  });

  const declared = SESSION_ROUTES.map((route) => [route.endpoint, route.input] as const);

  it.each(declared)('%s needs a publisher of the app', async (endpoint, shape) => {
    const [method = '', path = ''] = endpoint.split(' ');
    const body = bodyOf(endpoint, shape, tenant.app);
    const statusOf = async (who: string) =>
      (await people.get(who)?.call(method, path, body))?.status;
    expect(await statusOf('nobody')).toBe(401);
    expect(await statusOf('stranger')).toBe(404);
    expect(await statusOf('viewer')).toBe(403);
    expect([401, 403, 500]).not.toContain(await statusOf('publisher'));
  });
});
