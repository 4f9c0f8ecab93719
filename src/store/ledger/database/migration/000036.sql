-- Notifications: what has happened in an organization, where it is told, and what became of each message.

-- Position of an organization's newest event. A transaction takes the next one as its last statement, and holds this
-- row until it commits: so the order of positions is that of the commits.
CREATE TABLE notification_positions (
  organization_id text COLLATE "C" PRIMARY KEY REFERENCES organizations (id),
  position bigint NOT NULL
);

-- What has happened. Only events that a destination takes are stored.
CREATE TABLE notification_events (
  id text COLLATE "C" PRIMARY KEY,
  organization_id text COLLATE "C" NOT NULL REFERENCES organizations (id),
  position bigint NOT NULL,
  -- Null for what concerns no app.
  app_id text COLLATE "C" REFERENCES apps (id),
  type text COLLATE "C" NOT NULL,
  at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  -- What the message says beside the organization, as JSON text.
  data json NOT NULL,
  UNIQUE (organization_id, position)
);

CREATE INDEX notification_events_oldest_first ON notification_events (at);

CREATE TABLE notification_destinations (
  id text COLLATE "C" PRIMARY KEY,
  organization_id text COLLATE "C" NOT NULL REFERENCES organizations (id),
  name text NOT NULL,
  kind text COLLATE "C" NOT NULL CHECK (kind IN ('webhook', 'slack', 'mail')),
  url text,
  mail_to text,
  -- Names of events, or `release.*` for a group; null for all.
  events text[],
  -- Ids of apps; null for all, and for what concerns no app.
  apps text[],
  is_enabled boolean NOT NULL DEFAULT true,
  -- Why it was disabled, for people; null where an owner did it.
  disabled_why text,
  -- Encrypted under SECRET_KEY, of webhooks alone.
  secret_sealed text,
  -- The secret before the present one signs as well until this time.
  former_secret_sealed text,
  former_secret_until timestamptz(3),
  created_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  created_by text NOT NULL,
  -- First failure since the last success; null while it works.
  failing_since timestamptz(3),
  -- Node that sends to it, until this time.
  leased_until timestamptz(3),
  lease_holder text,
  CHECK ((kind = 'mail') = (mail_to IS NOT NULL)),
  CHECK ((kind = 'mail') = (url IS NULL)),
  CHECK ((kind = 'webhook') = (secret_sealed IS NOT NULL))
);

CREATE INDEX notification_destinations_of ON notification_destinations (organization_id, id);

-- One row for each event and destination that takes it.
CREATE TABLE notification_deliveries (
  id text COLLATE "C" PRIMARY KEY,
  destination_id text COLLATE "C" NOT NULL REFERENCES notification_destinations (id) ON DELETE CASCADE,
  event_id text COLLATE "C" NOT NULL REFERENCES notification_events (id) ON DELETE CASCADE,
  -- Order within the destination.
  seq bigint GENERATED ALWAYS AS IDENTITY,
  -- Tests, and what is sent again: held up by no other, and holding up none.
  is_apart boolean NOT NULL DEFAULT false,
  state text COLLATE "C" NOT NULL DEFAULT 'waiting'
    CHECK (state IN ('waiting', 'delivered', 'failed', 'dropped')),
  created_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  next_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  -- First failure since it was last sent anew; null before.
  first_failed_at timestamptz(3),
  try_count integer NOT NULL DEFAULT 0,
  -- The last tries, the oldest first: { at, status, error, ms }.
  tries jsonb NOT NULL DEFAULT '[]'
);

CREATE INDEX notification_deliveries_newest_first ON notification_deliveries (destination_id, seq DESC);
CREATE INDEX notification_deliveries_of_event ON notification_deliveries (event_id);
CREATE INDEX notification_deliveries_waiting ON notification_deliveries (destination_id, seq)
  WHERE state = 'waiting';
-- Few have failed: one after the other.
CREATE INDEX notification_deliveries_apart ON notification_deliveries (destination_id, seq)
  WHERE state = 'waiting' AND (is_apart OR first_failed_at IS NOT NULL);

-- When it was told that an edge goes on asking with a revoked token; null before.
ALTER TABLE edge_tokens ADD COLUMN refusal_told_at timestamptz(3);

-- Mails to people that belong to no destination.
CREATE TABLE outgoing_mails (
  id text COLLATE "C" PRIMARY KEY,
  kind text COLLATE "C" NOT NULL CHECK (kind IN ('invitation', 'password-reset', 'sign-in', 'confirmation')),
  -- Recipient, subject and text, encrypted under SECRET_KEY, because links in them open something.
  sealed text NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  next_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  try_count integer NOT NULL DEFAULT 0,
  -- The mail is of no use after this time.
  expires_at timestamptz(3) NOT NULL,
  leased_until timestamptz(3)
);

CREATE INDEX outgoing_mails_due ON outgoing_mails (next_at);
