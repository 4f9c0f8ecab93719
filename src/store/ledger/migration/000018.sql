-- Releases of a code host as they are used in real life: held until all of their files are there, called back,
-- announced by several hosts.

-- An app has one integration for each code host.
ALTER TABLE webhooks DROP CONSTRAINT webhooks_pkey;
ALTER TABLE webhooks ADD PRIMARY KEY (app_id, provider);
ALTER TABLE webhooks DROP CONSTRAINT webhooks_provider_check;
ALTER TABLE webhooks
  ADD CONSTRAINT webhooks_provider_check CHECK (provider IN ('github', 'gitea', 'forgejo')),
  -- What the tags of the app's releases begin with; null for none but those that are always understood.
  ADD COLUMN tag_prefix text,
  -- Whether releases land paused.
  ADD COLUMN hold boolean NOT NULL DEFAULT false,
  -- Platforms, each with an arch or without, with which a held release publishes itself; null for never.
  ADD COLUMN expect json,
  ADD CHECK (hold OR expect IS NULL);

ALTER TABLE webhook_deliveries ADD COLUMN provider text COLLATE "C" NOT NULL DEFAULT 'github';

ALTER TABLE releases
  -- While a release of a code host was never published: whether it publishes itself once it is complete, or
  -- waits for somebody. Null from the first time that it is published.
  ADD COLUMN hold text CHECK (hold IN ('expecting', 'by-hand')),
  -- Time that the code host gave of the latest event that was taken; null where it gives none.
  ADD COLUMN announced_at timestamptz(3);
