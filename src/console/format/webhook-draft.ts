// Settings of a webhook while they are edited, and as the service takes them.

import type { WebhookSettings } from '../../contract/resource.ts';

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
