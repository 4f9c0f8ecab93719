// Makes an organization in which every page of the console has something to show.

import { enableWebhook } from './github.ts';
import { member, type Person } from './person.ts';
import {
  type Addressed,
  type Answer,
  admin,
  createNamed,
  randomId,
  type Tenant,
} from './tenant.ts';

export type Furnished = {
  readonly tenant: Tenant;
  readonly owner: Person;
  readonly deviceId: string;
  /** Addresses of every page that a signed-in person can open. */
  readonly pages: readonly string[];
  /** Reports the devices once more, so that they show up in the live feed. */
  reportAgain(): Promise<unknown>;
};

/** Texts that people may choose; they are put wherever such a text can stand. */
export type Words = {
  /** Names of apps, keys, people, organizations, labels and devices. */
  readonly names: readonly string[];
  readonly notes: readonly string[];
  /** Ref of the app, and name of a channel. */
  readonly ref?: string;
  readonly version?: string;
};

const PLAIN: Words = {
  names: ['Field laptops'],
  notes: ['# Notes\n\n- [Faster](https://a.example)'],
};
const TARGETS = { matchLabels: { ring: ['early', 'late'] } };

/** Makes the organization. On PostgreSQL the node needs SECRET_KEY, for the webhook. */
export async function furnish(node: Addressed, words: Words = PLAIN): Promise<Furnished> {
  const tenant = await createNamed(node, words.ref);
  const owner = await member(node, tenant.org, 'owner', words.names[0]);
  const { org, app } = tenant;
  await publishAll(node, tenant, words);
  for (const [index, name] of words.names.entries()) {
    const hook = { kind: 'slack', url: `https://hook.example.com/${'w'.repeat(200)}`, name };
    const settled = await Promise.all([
      admin(node, 'POST', 'destinations', { org, ...hook, enabled: false }),
      admin(node, 'POST', 'apps', { org, ref: `app-${randomId()}`, name }),
      admin(node, 'POST', 'keys', { org, name }),
      admin(node, 'POST', 'invitations', { org, email: `a${index}@example.com`, role: 'viewer' }),
      tenant.control('1.1.0', { status: index % 2 === 0 ? 'paused' : 'published' }),
    ]);
    settled.forEach(demand);
    await owner.call('PATCH', 'organizations', { org, name });
  }
  if (words.ref !== undefined) {
    demand(await admin(node, 'POST', 'channels', { app, name: words.ref }));
  }
  const [name = ''] = words.names;
  demand(await admin(node, 'POST', 'gateway-tokens', { app, name }));
  demand(await admin(node, 'POST', 'ddi-secrets', { app }));
  await enableWebhook(node, tenant);
  const deviceId = await reportAll(tenant, words);
  const pages = pagesOf(tenant, deviceId, words);
  return { tenant, owner, deviceId, pages, reportAgain: () => reportAll(tenant, words) };
}

async function publishAll(node: Addressed, tenant: Tenant, words: Words): Promise<void> {
  for (const [index, notes] of words.notes.entries()) {
    await tenant.release(`0.1.${index}`, { notes });
  }
  const labels = Object.fromEntries(words.names.map((name) => [name.slice(0, 128), [name]]));
  const targets = { matchLabels: { ...TARGETS.matchLabels, ...labels } };
  await tenant.release('1.0.0');
  if (words.version !== undefined) await tenant.release(words.version);
  await tenant.release('1.1.0', { rollout: 20, notes: words.notes[0] });
  await tenant.release('1.2.0-rc.1', { targets, notes: words.notes.at(-1) });
  await tenant.release('1.3.0', { channel: 'beta', rollout: 0, notes: words.notes[0] });
  const planned = { app: tenant.app, channel: 'beta', version: '1.3.0' };
  const steps = [1, 10, 100].map((rollout) => ({ rollout, holdMinutes: 600 }));
  const guards = { failedPercent: 2, stuckPercent: 3 };
  demand(await admin(node, 'POST', 'releases/plan', { ...planned, steps, guards }));
  await tenant.release('0.9.0', { rollout: 50 });
  demand(await tenant.control('0.9.0', { status: 'rolled_back' }));
}

/** Reports the devices; returns the id of one that runs a release. */
async function reportAll(tenant: Tenant, words: Words): Promise<string> {
  const named = words.names.map((name) => ({
    deviceId: name.slice(0, 128),
    ...{ version: '1.0.0', platform: 'linux', arch: 'x86_64', channel: 'stable' },
    labels: { [name.slice(0, 128)]: name, ring: 'late' },
  }));
  const others = Array.from({ length: 30 }, (_, index) => ({
    deviceId: `device-${index}`,
    ...{ version: ['0.9.0', '1.0.0', '1.1.0'][index % 3], arch: 'aarch64', channel: 'stable' },
    platform: ['darwin', 'windows', 'linux'][index % 3],
    labels: { ring: 'early' },
  }));
  demand(await tenant.report([...named, ...others]));
  demand(await tenant.check('1.0.0', { device: 'device-1' }));
  return named[0]?.deviceId ?? 'device-1';
}

function pagesOf({ app }: Tenant, deviceId: string, { ref, version }: Words): readonly string[] {
  const place = `/console/apps/${app}`;
  return [
    '/console/apps',
    `${place}/stable`,
    `${place}/${ref ?? 'beta'}`,
    ...(version === undefined ? [] : [`${place}/stable/${version}`]),
    `${place}/stable/1.1.0`,
    `${place}/stable/1.2.0-rc.1`,
    `${place}/stable/0.9.0`,
    `${place}/beta/1.3.0`,
    `${place}/fleet`,
    `${place}/fleet?step=day`,
    `${place}/fleet/devices?platform=linux`,
    `${place}/devices/${encodeURIComponent(deviceId)}`,
    `${place}/devices/device-0`,
    `${place}/devices/never-seen`,
    `${place}/fleet?channel=stable`,
    '/console/audit',
    '/console/help',
    '/console/settings/keys',
    `/console/settings/devices?app=${app}`,
    '/console/settings/webhooks',
    '/console/settings/notifications',
    '/console/settings/members',
    '/console/settings/organization',
    '/console/settings/account',
    '/console/nowhere',
  ];
}

function demand({ status, text }: Answer): void {
  if (status >= 300) throw new Error(`unexpected ${status}: ${text}`);
}
