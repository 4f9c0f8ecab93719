// Code hosts whose release webhooks are supported, with the signature header and the name of each.

export type WebhookProvider = (typeof WEBHOOK_PROVIDERS)[number];

/** Code hosts, in the order in which they are shown. */
export const WEBHOOK_PROVIDERS = ['github', 'gitea', 'forgejo'] as const;

/** Header with the signature of a delivery, as each code host's documentation spells it. */
export const SIGNATURE_HEADERS: Readonly<Record<WebhookProvider, string>> = {
  github: 'X-Hub-Signature-256',
  gitea: 'X-Gitea-Signature',
  forgejo: 'X-Forgejo-Signature',
};

/** Names of the code hosts. */
export const PROVIDER_NAMES: Readonly<Record<WebhookProvider, string>> = {
  github: 'GitHub',
  gitea: 'Gitea',
  forgejo: 'Forgejo',
};
