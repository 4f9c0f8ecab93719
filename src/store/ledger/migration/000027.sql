-- Tokens by which edges follow this service. A token is for the apps of one organization, or of all.

CREATE TABLE edge_tokens (
  id text COLLATE "C" PRIMARY KEY,
  -- Null for all organizations.
  organization_id text COLLATE "C" REFERENCES organizations (id),
  name text NOT NULL,
  prefix text COLLATE "C" NOT NULL UNIQUE,
  secret_hash text NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  created_by text NOT NULL,
  revoked_at timestamptz(3)
);
