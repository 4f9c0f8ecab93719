-- Releases that their publisher withdraws before a device was offered them, calls that may be repeated, and
-- reasons of changes.

-- Reason that the author of the change gave.
ALTER TABLE audit_entries ADD COLUMN reason text;

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
