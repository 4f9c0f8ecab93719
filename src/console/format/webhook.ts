// Webhooks in words, and their settings in a form.

import type { Webhook, WebhookSettings } from '../../contract/resource.ts';

/** Settings in a form; `expect` keeps its values while another `landing` is chosen. */
export type WebhookDraft = {
  readonly tagPrefix: string;
  readonly landing: Landing;
  readonly expect: readonly string[];
};

type Landing = 'offered' | 'by-hand' | 'expecting';

export function webhookDraft({ tagPrefix, hold, expect }: WebhookSettings): WebhookDraft {
  const held = expect === null ? 'by-hand' : 'expecting';
  return {
    tagPrefix: tagPrefix ?? '',
    landing: hold ? held : 'offered',
    expect: expect ?? [],
  };
}

/** Returns the settings of a draft, as the service expects them. */
export function settingsOf({ tagPrefix, landing, expect }: WebhookDraft): WebhookSettings {
  return {
    tagPrefix: tagPrefix.trim() === '' ? null : tagPrefix.trim(),
    hold: landing !== 'offered',
    expect: landing === 'expecting' ? expect : null,
  };
}

/** Returns why a draft cannot be saved yet; undefined if it can. */
export function webhookObstacle({ landing, expect }: WebhookDraft): string | undefined {
  const isOpen = landing === 'expecting' && expect.length === 0;
  return isOpen ? 'Say for which platforms there must be files' : undefined;
}

/** Returns sentences about where releases come from, and how they arrive. */
export function webhookText({
  tagPrefix,
  hold,
  expect,
  repository,
}: WebhookSettings & Pick<Webhook, 'repository'>): string {
  const place = repository === null ? '' : `The repository is ${repository}. `;
  const tags = `${place}${tagPrefix === null ? '' : `Tags begin with ${tagPrefix}. `}`;
  if (!hold) return `${tags}Releases are offered at once.`;
  if (expect === null) return `${tags}Releases are held until somebody publishes them.`;
  return `${tags}Releases are held until there are files for ${expect.join(', ')}.`;
}
