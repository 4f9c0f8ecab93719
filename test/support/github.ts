// GitHub as the sender of release webhooks: its recorded payloads, and deliveries with its signature.

import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import { sign } from '@octokit/webhooks-methods';
import { enableCodeHost } from './gitea.ts';
import { type Answer, send, type Tenant } from './tenant.ts';

type Payload = Record<string, unknown> & { action: string; release: Record<string, unknown> };
type Recorded = { readonly name: string; readonly examples: readonly Payload[] };
type Addressed = { readonly url: string };

export type Hook = { readonly path: string; readonly url: string; readonly secret: string };

export type DeliveryOptions = {
  /** `X-GitHub-Event`; `release` unless told otherwise. */
  readonly event?: string;
  /** True when the payload is sent as a form instead of JSON. */
  readonly form?: boolean;
  /** Headers to add or to replace; undefined leaves a header out. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
};

const require = createRequire(import.meta.url);

/** Returns recorded payloads of one event, which GitHub really sent. */
export function recordedPayloads(event: string): readonly Payload[] {
  const all = require('@octokit/webhooks-examples') as readonly Recorded[];
  return all.find(({ name }) => name === event)?.examples ?? [];
}

/** Enables the tenant's webhook of GitHub. */
export function enableWebhook(node: Addressed, { app }: Pick<Tenant, 'app'>): Promise<Hook> {
  return enableCodeHost(node, app, 'github');
}

/** A recorded `published` event with a tag of its own; `release` adds to the release or replaces parts. */
export function releaseEvent(
  tag: string,
  release: Record<string, unknown> = {},
  action = 'published',
): Payload {
  const recorded = recordedPayloads('release').find((each) => each.action === 'published');
  if (recorded === undefined) throw new Error('no recorded event');
  return { ...recorded, action, release: { ...recorded.release, tag_name: tag, ...release } };
}

/** An asset as an event lists it. */
export function asset(name: string, more: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    name,
    state: 'uploaded',
    size: 1234,
    digest: `sha256:${'ab'.repeat(32)}`,
    browser_download_url: `https://github.com/acme/notes/releases/download/x/${name}`,
    ...more,
  };
}

/** Sends a payload (text is sent as it is) signed with the hook's secret. */
export async function deliver(
  node: Addressed,
  hook: Pick<Hook, 'path' | 'secret'>,
  payload: unknown,
  options: DeliveryOptions = {},
): Promise<Answer> {
  const json = typeof payload === 'string' ? payload : JSON.stringify(payload);
  const body = options.form ? new URLSearchParams({ payload: json }).toString() : json;
  const headers = {
    'content-type': options.form ? 'application/x-www-form-urlencoded' : 'application/json',
    'user-agent': 'GitHub-Hookshot/0a1b2c3',
    'x-github-event': options.event ?? 'release',
    'x-github-delivery': randomUUID(),
    'x-hub-signature-256': body === '' ? undefined : await sign(hook.secret, body),
    ...options.headers,
  };
  const given = Object.entries(headers).filter(([, value]) => value !== undefined);
  return send(node, 'POST', hook.path, {
    body,
    headers: Object.fromEntries(given) as Record<string, string>,
  });
}
