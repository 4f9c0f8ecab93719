// Code hosts whose release webhooks are understood, and what each one's header of the signature is called.

/** Code host that announces releases. */
export type WebhookProvider = (typeof WEBHOOK_PROVIDERS)[number];

/** Every code host that announces releases, in the order in which people are shown them. */
export const WEBHOOK_PROVIDERS = ['github', 'gitea', 'forgejo'] as const;

/** Header with the signature of a delivery, as each code host's documentation spells it. */
export const SIGNATURE_HEADERS: Readonly<Record<WebhookProvider, string>> = {
  github: 'X-Hub-Signature-256',
  gitea: 'X-Gitea-Signature',
  forgejo: 'X-Forgejo-Signature',
};
