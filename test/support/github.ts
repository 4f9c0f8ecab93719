// GitHub as the sender of release webhooks: its recorded payloads, and deliveries with its signature.

import { createRequire } from 'node:module';
import { type DeliveryOptions, deliverAs, enableCodeHost } from './gitea.ts';
import type { Addressed, Answer, Tenant } from './tenant.ts';

type Payload = Record<string, unknown> & { action: string; release: Record<string, unknown> };
type Recorded = { readonly name: string; readonly examples: readonly Payload[] };

export type Hook = { readonly path: string; readonly url: string; readonly secret: string };

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

/** Sends a payload signed with the hook's secret. */
export function deliver(
  node: Addressed,
  hook: Pick<Hook, 'path' | 'secret'>,
  payload: unknown,
  options: DeliveryOptions = {},
): Promise<Answer> {
  const headers = { 'user-agent': 'GitHub-Hookshot/0a1b2c3', ...options.headers };
  return deliverAs(node, { ...hook, provider: 'github' }, payload, { ...options, headers });
}
