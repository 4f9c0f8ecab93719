-- The catalog: apps, their channels, the releases of a channel with their artifacts, and what keeps a publisher's
-- repeated call from counting twice.
--
-- Triggers guard what only moves one way and keep the sums, so that no path, also none that is written later or
-- typed by hand, can forget to.

CREATE TABLE apps (
  id text COLLATE "C" PRIMARY KEY,
  organization_id text COLLATE "C" NOT NULL REFERENCES organizations (id),
  -- Devices name an app by its ref alone, so a ref belongs to one organization.
  ref text COLLATE "C" NOT NULL UNIQUE,
  name text NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  -- From then on it takes no releases. Its devices are answered as before.
  archived_at timestamptz(3)
);

CREATE INDEX apps_of_organization ON apps (organization_id, ref);

CREATE TABLE channels (
  id text COLLATE "C" PRIMARY KEY,
  app_id text COLLATE "C" NOT NULL REFERENCES apps (id),
  name text COLLATE "C" NOT NULL,
  -- Grows with every change to what the channel serves; its row lock orders those changes.
  revision integer NOT NULL DEFAULT 1,
  minimum_supported_version text,
  default_rollout integer NOT NULL DEFAULT 100 CHECK (default_rollout BETWEEN 0 AND 100),
  update_mode text NOT NULL DEFAULT 'optional' CHECK (update_mode IN ('optional', 'recommended')),
  created_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  -- Sums over the releases of the channel, which has a bound.
  release_count integer NOT NULL DEFAULT 0,
  content_bytes bigint NOT NULL DEFAULT 0,
  -- Whether it wants signed artifacts only.
  require_signature boolean NOT NULL DEFAULT false,
  -- Another channel of the app: the devices of this one are decided over the releases of both.
  follows text COLLATE "C" REFERENCES channels (id),
  UNIQUE (app_id, name)
);

-- Finds the followers of a channel that many follow; most follow none.
CREATE INDEX channels_following ON channels (follows) WHERE follows IS NOT NULL;

-- A node that has an edition of a release need not read that release again.
CREATE FUNCTION new_edition() RETURNS text LANGUAGE sql VOLATILE AS $$
  -- Random, so that a ledger which lost its last commits never gives the same one to something else.
  SELECT left(replace(gen_random_uuid()::text, '-', ''), 24)
$$;

CREATE TABLE releases (
  id text COLLATE "C" PRIMARY KEY,
  channel_id text COLLATE "C" NOT NULL REFERENCES channels (id),
  -- As it was published; the canonical form is what makes two versions the same.
  version text NOT NULL,
  canonical_version text COLLATE "C" NOT NULL,
  notes text NOT NULL,
  status text NOT NULL CHECK (status IN ('published', 'paused', 'rolled_back', 'deprecated')),
  rollout_pct integer NOT NULL CHECK (rollout_pct BETWEEN 0 AND 100),
  -- json, not jsonb, so that it comes back with its keys in the order they were given in.
  targets json,
  -- Null until the first manifest was about to leave.
  offered_at timestamptz(3),
  created_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  source text COLLATE "C" NOT NULL DEFAULT 'api' CHECK (source IN ('api', 'webhook')),
  edition text COLLATE "C" NOT NULL DEFAULT new_edition(),
  -- Bytes of the notes and of the artifacts' fields.
  content_bytes integer NOT NULL DEFAULT 0,
  -- While a release of a code host was never published: whether it publishes itself once it is complete, or
  -- waits for somebody. Null from the first time that it is published.
  hold text CHECK (hold IN ('expecting', 'by-hand')),
  -- Time that the code host gave of the latest event that was taken; null where it gives none.
  announced_at timestamptz(3),
  -- Time at which the release was first published; null before.
  published_at timestamptz(3),
  -- Whether check-ins count for the release. Its signals go 90 days after it was published, but not while it has
  -- a plan that is under way; what is gone does not come back.
  is_watched boolean NOT NULL DEFAULT TRUE,
  -- Which release of which code host it is; null where none announced it.
  announced_by text COLLATE "C",
  host_id bigint,
  host_tag text,
  -- Times that the code host gave: of the publication, and of the upload of the last file.
  host_published_at timestamptz(3),
  host_files_at timestamptz(3),
  -- Whether it is paused, or kept from publishing itself, because its code host called it back, and for no
  -- other reason: then a release that is made anew goes on.
  called_back boolean NOT NULL DEFAULT false,
  UNIQUE (channel_id, canonical_version)
);

CREATE UNIQUE INDEX releases_by_edition ON releases (edition);
-- Answers the index of a snapshot, and the newest releases by a scan backwards, without the table.
CREATE INDEX releases_in_order ON releases (channel_id, created_at, id) INCLUDE (edition, offered_at);
-- Mostly a few of a channel.
CREATE INDEX releases_never_offered ON releases (channel_id, id) WHERE offered_at IS NULL;
-- Releases whose signals are to go.
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
  -- Lower-case hex: what the code host says of an asset, which says no SHA-512. For update files only, never in
  -- an answer of its own.
  sha256 text COLLATE "C" CHECK (sha256 ~ '^[0-9a-f]{64}$'),
  format text,
  -- SHA-256 that the publisher gave.
  given_sha256 text CHECK (given_sha256 ~ '^[0-9a-f]{64}$'),
  sha1 text CHECK (sha1 ~ '^[0-9a-f]{40}$'),
  minimum_system_version text,
  build_version text,
  PRIMARY KEY (release_id, position)
);

-- Versions that a code host announced and a publisher withdrew: the host announces them again with every
-- redelivery, and must not bring them back. Publishing the version through the API removes its row.
CREATE TABLE withdrawn_versions (
  channel_id text COLLATE "C" NOT NULL REFERENCES channels (id),
  canonical_version text COLLATE "C" NOT NULL,
  withdrawn_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (channel_id, canonical_version)
);

-- What an idempotency key of an API key was used for: a publisher that did not get its answer repeats the call,
-- and gets the first answer again. `request` is the SHA-256 of the call and its body. The answer is made again
-- of the release, which changes in its status and its rollout only.
CREATE TABLE idempotency_keys (
  api_key_id text COLLATE "C" NOT NULL REFERENCES api_keys (id),
  key text COLLATE "C" NOT NULL,
  request text NOT NULL,
  -- A release that is withdrawn takes the keys with it that were used for it.
  release_id text COLLATE "C" NOT NULL REFERENCES releases (id) ON DELETE CASCADE,
  status text NOT NULL,
  rollout_pct integer NOT NULL,
  used_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (api_key_id, key)
);

CREATE INDEX idempotency_keys_of_release ON idempotency_keys (release_id);
CREATE INDEX idempotency_keys_oldest_first ON idempotency_keys (used_at);
