-- The catalog: apps, their channels, the releases of a channel with their artifacts, and idempotency keys.
--
-- Triggers guard values that only move one way and keep the sums, so that no writer, not even manual SQL, can bypass
-- them.

CREATE TABLE apps (
  id text COLLATE "C" PRIMARY KEY,
  organization_id text COLLATE "C" NOT NULL REFERENCES organizations (id),
  -- Devices name an app only by its ref, so a ref belongs to one organization.
  ref text COLLATE "C" NOT NULL UNIQUE,
  name text NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  -- After this time it accepts no releases. Its devices are answered as before.
  archived_at timestamptz(3)
);

CREATE INDEX apps_of_organization ON apps (organization_id, ref);

CREATE TABLE channels (
  id text COLLATE "C" PRIMARY KEY,
  app_id text COLLATE "C" NOT NULL REFERENCES apps (id),
  name text COLLATE "C" NOT NULL,
  -- Rises with every change of what the channel serves; the row lock orders those changes.
  revision integer NOT NULL DEFAULT 1,
  minimum_supported_version text,
  default_rollout integer NOT NULL DEFAULT 100 CHECK (default_rollout BETWEEN 0 AND 100),
  update_mode text NOT NULL DEFAULT 'optional' CHECK (update_mode IN ('optional', 'recommended')),
  created_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  -- Sums over the channel's releases, which are limited.
  release_count integer NOT NULL DEFAULT 0,
  content_bytes bigint NOT NULL DEFAULT 0,
  -- Whether the channel accepts only signed artifacts.
  require_signature boolean NOT NULL DEFAULT false,
  -- Another channel of the app; decisions for devices of this one use the releases of both.
  follows text COLLATE "C" REFERENCES channels (id),
  UNIQUE (app_id, name)
);

-- Finds the followers of a channel; most channels follow none.
CREATE INDEX channels_following ON channels (follows) WHERE follows IS NOT NULL;

-- Name of a release's state: a node that has an edition need not read that release again.
CREATE FUNCTION new_edition() RETURNS text LANGUAGE sql VOLATILE AS $$
  -- Random, so that a ledger which lost its last commits never gives the same one to something else.
  SELECT left(replace(gen_random_uuid()::text, '-', ''), 24)
$$;

CREATE TABLE releases (
  id text COLLATE "C" PRIMARY KEY,
  channel_id text COLLATE "C" NOT NULL REFERENCES channels (id),
  -- As published; versions are equal if their canonical forms are.
  version text NOT NULL,
  canonical_version text COLLATE "C" NOT NULL,
  notes text NOT NULL,
  status text NOT NULL CHECK (status IN ('published', 'paused', 'rolled_back', 'deprecated')),
  rollout_pct integer NOT NULL CHECK (rollout_pct BETWEEN 0 AND 100),
  -- json, not jsonb, to keep the order of keys.
  targets json,
  -- Time of the first offer; null before.
  offered_at timestamptz(3),
  created_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  source text COLLATE "C" NOT NULL DEFAULT 'api' CHECK (source IN ('api', 'webhook')),
  edition text COLLATE "C" NOT NULL DEFAULT new_edition(),
  -- Bytes of the notes and of the artifacts' fields.
  content_bytes integer NOT NULL DEFAULT 0,
  -- Before a code host's release is first published: whether it publishes itself once it is complete, or waits for
  -- a person. Null from then on.
  hold text CHECK (hold IN ('expecting', 'by-hand')),
  -- Time of the latest accepted event, by the code host's clock; null if unknown.
  announced_at timestamptz(3),
  -- Time of the first publication; null before.
  published_at timestamptz(3),
  -- Whether check-ins count for the release: for 90 days after its publication, and while it has an open plan. It
  -- never becomes true again.
  is_watched boolean NOT NULL DEFAULT TRUE,
  -- The code host's release; null if none announced it.
  announced_by text COLLATE "C",
  host_id bigint,
  host_tag text,
  -- Times by the code host's clock: of the publication, and of the upload of the last file.
  host_published_at timestamptz(3),
  host_files_at timestamptz(3),
  -- Whether it is paused, or kept from publishing itself, only because its code host retracted it: then a release
  -- that is created again goes on.
  called_back boolean NOT NULL DEFAULT false,
  UNIQUE (channel_id, canonical_version)
);

CREATE UNIQUE INDEX releases_by_edition ON releases (edition);
-- For the index of a snapshot, and for the newest releases by a backward scan, without reading the table.
CREATE INDEX releases_in_order ON releases (channel_id, created_at, id) INCLUDE (edition, offered_at);
-- Usually a few per channel.
CREATE INDEX releases_never_offered ON releases (channel_id, id) WHERE offered_at IS NULL;
-- For the sweep of signals.
CREATE INDEX releases_watched ON releases (published_at) WHERE is_watched;

CREATE TABLE artifacts (
  release_id text COLLATE "C" NOT NULL REFERENCES releases (id),
  -- Publish order, from 0: it decides between artifacts that match equally well.
  position integer NOT NULL,
  platform text NOT NULL,
  arch text,
  url text,
  sha512 text,
  size bigint,
  signature text,
  -- Lower-case hex from the code host, which gives no SHA-512. Used in updaters' files, never listed.
  sha256 text COLLATE "C" CHECK (sha256 ~ '^[0-9a-f]{64}$'),
  format text,
  -- SHA-256 that the publisher gave.
  given_sha256 text CHECK (given_sha256 ~ '^[0-9a-f]{64}$'),
  sha1 text CHECK (sha1 ~ '^[0-9a-f]{40}$'),
  minimum_system_version text,
  build_version text,
  PRIMARY KEY (release_id, position)
);

-- Withdrawn versions that a code host had announced: the host announces them again with every redelivery, which must
-- not bring them back. Publishing the version through the API deletes its row.
CREATE TABLE withdrawn_versions (
  channel_id text COLLATE "C" NOT NULL REFERENCES channels (id),
  canonical_version text COLLATE "C" NOT NULL,
  withdrawn_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (channel_id, canonical_version)
);

-- Use of an idempotency key of an API key: a publisher without an answer repeats the call and gets the first answer
-- again. `request` is the SHA-256 of the call and its body. The answer is built from the release, of which only
-- status and rollout may have changed.
CREATE TABLE idempotency_keys (
  api_key_id text COLLATE "C" NOT NULL REFERENCES api_keys (id),
  key text COLLATE "C" NOT NULL,
  request text NOT NULL,
  -- Withdrawing the release deletes the key.
  release_id text COLLATE "C" NOT NULL REFERENCES releases (id) ON DELETE CASCADE,
  status text NOT NULL,
  rollout_pct integer NOT NULL,
  used_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (api_key_id, key)
);

CREATE INDEX idempotency_keys_of_release ON idempotency_keys (release_id);
CREATE INDEX idempotency_keys_oldest_first ON idempotency_keys (used_at);
