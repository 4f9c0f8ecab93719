// Code hosts as senders of release webhooks: their headers and signatures, and the shape of the release
// events of Gitea and Forgejo, as their delivery code writes them.

import { randomUUID } from 'node:crypto';
import { sign } from '@octokit/webhooks-methods';
import type { WebhookProvider } from '../../src/contract/choice.ts';
import { type Addressed, type Answer, admin, type Json, send } from './tenant.ts';

/** Webhook of one code host. */
export type CodeHost = {
  readonly provider: WebhookProvider;
  readonly path: string;
  readonly secret: string;
};

export type DeliveryOptions = {
  readonly event?: string;
  /** True when the event is sent in a form. */
  readonly form?: boolean;
  /** Headers to add or to replace; undefined leaves a header out. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
};

/** Enables a webhook with settings; throws when that is refused. */
export async function enableCodeHost(
  node: Addressed,
  app: string,
  provider: WebhookProvider,
  settings: Json = {},
): Promise<CodeHost & { readonly url: string }> {
  const answer = await admin(node, 'POST', 'webhooks', { app, provider, ...settings });
  if (answer.status !== 201) throw new Error(`unexpected ${answer.status}: ${answer.text}`);
  const url = String(answer.body?.url);
  return { provider, path: new URL(url).pathname, url, secret: String(answer.body?.secret) };
}

/** An attachment of a release, which has no digest and no state. */
export function giteaAsset(name: string, more: Json = {}): Json {
  return {
    id: 7,
    name,
    size: 1234,
    download_count: 0,
    created_at: '2026-02-01T10:00:00Z',
    uuid: randomUUID(),
    browser_download_url: `https://git.example.com/acme/notes/releases/download/x/${name}`,
    ...more,
  };
}

/** A release event. */
export function giteaEvent(
  action: string,
  tag: string,
  release: Json = {},
  repository: Json = {},
): Json {
  const sender = { id: 3, login: 'acme', full_name: '', email: 'acme@noreply.example.com' };
  return {
    action,
    release: {
      id: 12,
      tag_name: tag,
      target_commitish: 'main',
      name: tag,
      body: 'Notes of the release.',
      url: 'https://git.example.com/api/v1/repos/acme/notes/releases/12',
      html_url: `https://git.example.com/acme/notes/releases/tag/${tag}`,
      draft: false,
      prerelease: false,
      created_at: '2026-02-01T10:00:00Z',
      published_at: '2026-02-01T10:00:00Z',
      author: sender,
      assets: [],
      ...release,
    },
    repository: { id: 5, name: 'notes', full_name: 'acme/notes', private: false, ...repository },
    sender,
  };
}

/** Delivers an event (text is sent as it is) as the code host does. */
export async function deliverAs(
  node: Addressed,
  { provider, path, secret }: CodeHost,
  payload: unknown,
  { event = 'release', form = false, headers = {} }: DeliveryOptions = {},
): Promise<Answer> {
  const json = typeof payload === 'string' ? payload : JSON.stringify(payload);
  const body = form ? new URLSearchParams({ payload: json }).toString() : json;
  // GitHub signs the body, the others the event, whatever it travels in.
  const signed = provider === 'github' ? body : json;
  const signature = signed === '' ? undefined : await sign(secret, signed);
  const delivery = randomUUID();
  // Forgejo sends Gitea's headers as well, and both send GitHub's.
  const families = { github: [], gitea: ['gitea', 'gogs'], forgejo: ['forgejo', 'gitea', 'gogs'] };
  const own = families[provider].flatMap((family) => [
    [`x-${family}-event`, event],
    [`x-${family}-delivery`, delivery],
    [`x-${family}-signature`, signature?.slice('sha256='.length)],
  ]);
  const all: Readonly<Record<string, string | undefined>> = {
    'content-type': form ? 'application/x-www-form-urlencoded' : 'application/json',
    'x-github-event': event,
    'x-github-delivery': delivery,
    'x-hub-signature-256': signature,
    ...Object.fromEntries(own),
    ...headers,
  };
  const given = Object.entries(all).filter(([, value]) => value !== undefined);
  return send(node, 'POST', path, {
    body,
    headers: Object.fromEntries(given) as Record<string, string>,
  });
}
