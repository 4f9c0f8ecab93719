// Webhooks in words, and their settings while they are edited, and as the service takes them.

import type { WebhookSettings } from '../../contract/resource.ts';
import type { WebhookProvider } from '../../contract/webhook-provider.ts';

/** Settings while they are edited: the targets stay while another way of holding is chosen. */
export type WebhookDraft = {
  readonly tagPrefix: string;
  readonly landing: Landing;
  readonly expect: readonly string[];
};

type Landing = 'offered' | 'by-hand' | 'expecting';

/** Returns settings as they are edited. */
export function webhookDraft({ tagPrefix, hold, expect }: WebhookSettings): WebhookDraft {
  const held = expect === null ? 'by-hand' : 'expecting';
  return {
    tagPrefix: tagPrefix ?? '',
    landing: hold ? held : 'offered',
    expect: expect ?? [],
  };
}

/** Returns edited settings as the service takes them. */
export function settingsOf({ tagPrefix, landing, expect }: WebhookDraft): WebhookSettings {
  return {
    tagPrefix: tagPrefix.trim() === '' ? null : tagPrefix.trim(),
    hold: landing !== 'offered',
    expect: landing === 'expecting' ? expect : null,
  };
}

/** Returns why a draft cannot be saved yet; undefined when it can. */
export function webhookObstacle({ landing, expect }: WebhookDraft): string | undefined {
  const isOpen = landing === 'expecting' && expect.length === 0;
  return isOpen ? 'Say for which platforms there must be files' : undefined;
}

/** Returns how releases come, in a sentence or two. */
export function webhookText({ tagPrefix, hold, expect }: WebhookSettings): string {
  const tags = tagPrefix === null ? '' : `Tags begin with ${tagPrefix}. `;
  if (!hold) return `${tags}Releases are offered at once.`;
  if (expect === null) return `${tags}Releases are held until somebody publishes them.`;
  return `${tags}Releases are held until there are files for ${expect.join(', ')}.`;
}

/** Names of the code hosts, as they spell them. */
export const PROVIDER_NAMES: Readonly<Record<WebhookProvider, string>> = {
  github: 'GitHub',
  gitea: 'Gitea',
  forgejo: 'Forgejo',
};
