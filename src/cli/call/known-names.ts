// Adds to the refusal of an unknown name which names there are.

import type { AppList, SessionState } from '../../contract/console.ts';
import type { Release } from '../../contract/resource.ts';
import { type Options, query } from './options.ts';
import { type ServiceClient, ServiceError } from './service-client.ts';

/** Maximum numbers of names listed, of organizations whose apps are read, and of releases (the newest). */
const NAMES_MAX = 20;
const ORGANIZATIONS_MAX = 10;
const RELEASES_MAX = 5;

const NOT_FOUND = 404;
/** Options that name a channel. */
const CHANNEL_OPTIONS = ['channel', 'name', 'from', 'to', 'follows'];

/**
 * Returns the refusal of an unknown organization, app, channel or release with the names that there are.
 * Returns any other refusal unchanged, and this one if the names cannot be read: a key may lack the right.
 */
export async function withKnownNames(
  client: ServiceClient,
  error: ServiceError,
  options: Options,
): Promise<ServiceError> {
  const [, kind] = /^(?:.*: )?Unknown (\w+)$/.exec(error.message) ?? [];
  const name = kind === 'organization' ? options.org : options.app;
  if (error.status !== NOT_FOUND || !isKind(kind) || typeof name !== 'string') return error;
  try {
    const text = await TEXTS[kind](client, name, options);
    return new ServiceError(error.message.replace(/Unknown \w+$/, text), error.status);
  } catch (other) {
    if (other instanceof ServiceError) return error;
    throw other;
  }
}

const TEXTS = {
  organization: organizationText,
  app: appText,
  channel: channelText,
  release: releaseText,
};

function isKind(kind: string | undefined): kind is keyof typeof TEXTS {
  return kind !== undefined && Object.hasOwn(TEXTS, kind);
}

async function organizationText(client: ServiceClient, id: string): Promise<string> {
  const organizations = (await membershipsOf(client)).map(
    ({ organization }) => `${organization.id} (${organization.name})`,
  );
  const verb = organizations.length === 1 ? 'is' : 'are';
  return `Unknown organization "${id}": there ${verb} ${listOf(organizations)}`;
}

async function appText(client: ServiceClient, app: string): Promise<string> {
  const refs = client.isOperators ? await allApps(client) : await appsOfKey(client);
  const who = client.isOperators ? 'there' : 'this key';
  const verb = client.isOperators ? (refs.length === 1 ? 'is' : 'are') : 'knows';
  return `Unknown app "${app}": ${who} ${verb} ${listOf(refs)}`;
}

async function appsOfKey(client: ServiceClient): Promise<readonly string[]> {
  const { apps } = (await client.call('GET', 'apps')) as { apps: readonly { ref: string }[] };
  return apps.map(({ ref }) => ref);
}

async function allApps(client: ServiceClient): Promise<readonly string[]> {
  const refs: string[] = [];
  for (const { organization } of (await membershipsOf(client)).slice(0, ORGANIZATIONS_MAX)) {
    const path = `apps?${query({ org: organization.id })}`;
    const { apps } = (await client.call('GET', path)) as AppList;
    refs.push(...apps.map(({ ref }) => ref));
    if (refs.length > NAMES_MAX) break;
  }
  return refs;
}

async function membershipsOf(
  client: ServiceClient,
): Promise<Extract<SessionState, { state: 'signedIn' }>['memberships']> {
  const session = (await client.call('GET', 'session')) as SessionState;
  return session.state === 'signedIn' ? session.memberships : [];
}

async function channelText(client: ServiceClient, app: string, options: Options): Promise<string> {
  const answer = await client.call('GET', `channels?${query({ app })}`);
  const names = (answer as { channels: readonly { name: string }[] }).channels.map(
    ({ name }) => name,
  );
  const asked = CHANNEL_OPTIONS.map((option) => options[option]);
  const unknown = asked.find((name) => typeof name === 'string' && !names.includes(name));
  const what = unknown === undefined ? 'Unknown channel' : `Unknown channel "${unknown}"`;
  return `${what}: ${app} has ${listOf(names)}`;
}

async function releaseText(
  client: ServiceClient,
  app: string,
  { channel = '', from = channel, version = '' }: Options,
): Promise<string> {
  const path = `releases?${query({ app, channel: from, perPage: RELEASES_MAX })}`;
  const { releases } = (await client.call('GET', path)) as { releases: readonly Release[] };
  const versions = releases.map((release) => release.version);
  const newest = versions.length === 0 ? 'there is none' : `the newest are ${versions.join(', ')}`;
  return `Unknown release "${version}" on ${from}: ${newest}`;
}

function listOf(names: readonly string[]): string {
  if (names.length === 0) return 'none';
  const more = names.length - NAMES_MAX;
  return `${names.slice(0, NAMES_MAX).join(', ')}${more > 0 ? ', and more' : ''}`;
}
