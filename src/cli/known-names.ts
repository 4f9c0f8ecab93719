// What a refusal says of a name that is not known: which ones there are.

import type { AppList, SessionState } from '../contract/console.ts';
import type { Release } from '../contract/resource.ts';
import { type Options, query } from './options.ts';
import { type ServiceClient, ServiceError } from './service-client.ts';

/** Names that are told, of organizations whose apps are looked up, and of releases: the newest. */
const NAMES_MAX = 20;
const ORGANIZATIONS_MAX = 10;
const RELEASES_MAX = 5;

const NOT_FOUND = 404;
/** Options that name a channel. */
const CHANNEL_OPTIONS = ['channel', 'name', 'from', 'to', 'follows'];

/**
 * Returns the refusal with the names that there are, where it is of an app, a channel or a release. It is
 * returned as it was when they cannot be read: a key may have no right to.
 */
export async function withKnownNames(
  client: ServiceClient,
  error: ServiceError,
  options: Options,
): Promise<ServiceError> {
  const [, kind] = /^(?:.*: )?Unknown (app|channel|release)$/.exec(error.message) ?? [];
  const app = options.app;
  if (error.status !== NOT_FOUND || kind === undefined || typeof app !== 'string') return error;
  try {
    const text = await TEXTS[kind as keyof typeof TEXTS](client, app, options);
    return new ServiceError(error.message.replace(/Unknown \w+$/, text), error.status);
  } catch (other) {
    if (other instanceof ServiceError) return error;
    throw other;
  }
}

const TEXTS = { app: appText, channel: channelText, release: releaseText };

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
  const session = (await client.call('GET', 'session')) as SessionState;
  const members = session.state === 'signedIn' ? session.memberships : [];
  const refs: string[] = [];
  for (const { organization } of members.slice(0, ORGANIZATIONS_MAX)) {
    const path = `apps?${query({ org: organization.id })}`;
    const { apps } = (await client.call('GET', path)) as AppList;
    refs.push(...apps.map(({ ref }) => ref));
    if (refs.length > NAMES_MAX) break;
  }
  return refs;
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
