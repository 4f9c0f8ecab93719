-- Release webhooks: the integrations of an app with code hosts, their last deliveries, and events about releases that
-- the ledger does not have.

-- One integration per app and code host.
CREATE TABLE webhooks (
  app_id text COLLATE "C" NOT NULL REFERENCES apps (id),
  provider text COLLATE "C" NOT NULL CHECK (provider IN ('github', 'gitea', 'forgejo')),
  -- Encrypted under SECRET_KEY, so that a copy of this database can verify nothing. Deleted with the webhook;
  -- enabling it again sets a new one.
  sealed_secret text,
  created_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  enabled_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  disabled_at timestamptz(3),
  -- Prefix of the tags of the app's releases; null for the built-in forms only.
  tag_prefix text,
  -- Whether new releases are paused.
  hold boolean NOT NULL DEFAULT false,
  -- Platforms, with or without an architecture, for which a held release needs files to publish itself; null for
  -- never.
  expect json,
  PRIMARY KEY (app_id, provider),
  CHECK ((disabled_at IS NULL) = (sealed_secret IS NOT NULL)),
  CHECK (hold OR expect IS NULL)
);

-- The newest deliveries of each app; only verified ones are stored.
CREATE TABLE webhook_deliveries (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  app_id text COLLATE "C" NOT NULL REFERENCES apps (id),
  at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  event text NOT NULL,
  action text,
  -- Id by the code host; a redelivery has the same one.
  guid text,
  outcome text NOT NULL CHECK (outcome IN ('created', 'duplicate', 'ignored', 'refused')),
  reason text,
  version text,
  provider text COLLATE "C" NOT NULL DEFAULT 'github'
);

CREATE INDEX webhook_deliveries_newest_first ON webhook_deliveries (app_id, id DESC);

-- Events about releases that the ledger does not have or no longer has, by release id and version of the tag: the
-- newest of each channel.
CREATE TABLE host_memories (
  channel_id text COLLATE "C" NOT NULL REFERENCES channels (id),
  provider text COLLATE "C" NOT NULL,
  host_id bigint NOT NULL,
  canonical_version text COLLATE "C" NOT NULL,
  noted_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  -- Time of the deletion by this database's clock, and of the publication of the deleted one by the code host's.
  deleted_at timestamptz(3),
  host_published_at timestamptz(3),
  -- Time of the retraction by the code host's clock.
  called_back_at timestamptz(3),
  -- Artifacts of an edit that came before its release was announced, with the times of that event.
  files json,
  PRIMARY KEY (channel_id, provider, host_id, canonical_version)
);
