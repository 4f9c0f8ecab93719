// Words for webhooks: names of code hosts, and how releases come from them.

import type { WebhookSettings } from '../../contract/resource.ts';
import type { WebhookProvider } from '../../contract/webhook-provider.ts';

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
