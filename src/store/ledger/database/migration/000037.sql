-- Approvals: channels on which changes that widen exposure wait for a second person, and the requests that wait.

ALTER TABLE channels
  ADD COLUMN approvals text NOT NULL DEFAULT 'none' CHECK (approvals IN ('none', 'one')),
  ADD COLUMN approval_days integer NOT NULL DEFAULT 7 CHECK (approval_days BETWEEN 1 AND 30);

CREATE TABLE approvals (
  id text COLLATE "C" PRIMARY KEY,
  organization_id text COLLATE "C" NOT NULL REFERENCES organizations (id),
  app_id text COLLATE "C" NOT NULL REFERENCES apps (id),
  -- Null for a call that concerns several channels.
  channel_id text COLLATE "C" REFERENCES channels (id),
  version text,
  operation text NOT NULL,
  -- Bodies and states are json, not jsonb, to keep the order of keys.
  body json NOT NULL,
  -- What the call would have changed, as it was then: it is carried out only if that is still so.
  asked_on json NOT NULL,
  requested_by text NOT NULL,
  -- The author: a key, or an account with the role that its call needed. All are null for the operator.
  key_id text COLLATE "C" REFERENCES api_keys (id),
  account_id text COLLATE "C" REFERENCES accounts (id),
  needed_role text COLLATE "C",
  reason text,
  effect json,
  status text COLLATE "C" NOT NULL DEFAULT 'pending'
    CHECK (status IN ('pending', 'approved', 'declined', 'expired', 'failed')),
  created_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  expires_at timestamptz(3) NOT NULL,
  decided_by text,
  decided_at timestamptz(3),
  result json
);

CREATE INDEX approvals_of_organization ON approvals (organization_id, id DESC);
CREATE INDEX approvals_pending ON approvals (app_id, channel_id) WHERE status = 'pending';
CREATE INDEX approvals_decided_oldest_first ON approvals (decided_at) WHERE status <> 'pending';

-- A call that waits uses its idempotency key up as well. Once it is carried out, its row also has the release.
ALTER TABLE idempotency_keys
  ALTER COLUMN release_id DROP NOT NULL,
  ALTER COLUMN status DROP NOT NULL,
  ALTER COLUMN rollout_pct DROP NOT NULL,
  ADD COLUMN approval_id text COLLATE "C" REFERENCES approvals (id) ON DELETE CASCADE;

CREATE INDEX idempotency_keys_of_approval ON idempotency_keys (approval_id) WHERE approval_id IS NOT NULL;
