-- Release webhooks: the integrations of an app with code hosts, what they delivered last, and what is remembered
-- of releases that are not here.

-- An app has one integration for each code host.
CREATE TABLE webhooks (
  app_id text COLLATE "C" NOT NULL REFERENCES apps (id),
  provider text COLLATE "C" NOT NULL CHECK (provider IN ('github', 'gitea', 'forgejo')),
  -- Encrypted under SECRET_KEY, so that a copy of this database verifies nothing. Gone with the webhook: an
  -- integration that is enabled again gets another one.
  sealed_secret text,
  created_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  enabled_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  disabled_at timestamptz(3),
  -- What the tags of the app's releases begin with; null for none but those that are always understood.
  tag_prefix text,
  -- Whether releases land paused.
  hold boolean NOT NULL DEFAULT false,
  -- Platforms, each with an arch or without, with which a held release publishes itself; null for never.
  expect json,
  PRIMARY KEY (app_id, provider),
  CHECK ((disabled_at IS NULL) = (sealed_secret IS NOT NULL)),
  CHECK (hold OR expect IS NULL)
);

-- The newest of each app; only what was verified gets here.
CREATE TABLE webhook_deliveries (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  app_id text COLLATE "C" NOT NULL REFERENCES apps (id),
  at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  event text NOT NULL,
  action text,
  -- The provider's; a redelivery has that of the first one.
  guid text,
  outcome text NOT NULL CHECK (outcome IN ('created', 'duplicate', 'ignored', 'refused')),
  reason text,
  version text,
  provider text COLLATE "C" NOT NULL DEFAULT 'github'
);

CREATE INDEX webhook_deliveries_newest_first ON webhook_deliveries (app_id, id DESC);

-- What events said of releases that were not here, or are gone, by their ids and the versions of their tags: the
-- newest of each channel.
CREATE TABLE host_memories (
  channel_id text COLLATE "C" NOT NULL REFERENCES channels (id),
  provider text COLLATE "C" NOT NULL,
  host_id bigint NOT NULL,
  canonical_version text COLLATE "C" NOT NULL,
  noted_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  -- Time here at which the deletion was heard of, and time there at which the deleted one was published.
  deleted_at timestamptz(3),
  host_published_at timestamptz(3),
  -- Time there of the change by which it was called back.
  called_back_at timestamptz(3),
  -- Artifacts that an edit told of before its release was announced, with the times of that event.
  files json,
  PRIMARY KEY (channel_id, provider, host_id, canonical_version)
);
