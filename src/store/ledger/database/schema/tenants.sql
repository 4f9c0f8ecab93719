-- Tenants: organizations, the people and keys that act for them, and the audit of their actions. Everything else
-- belongs to an organization.
--
-- In all files of this folder, names and ids are COLLATE "C", so that they sort the same in every database, whatever
-- its locale. The secret of a token or key is stored as its SHA-256 or sealed, so that a copy of the database opens
-- nothing.

CREATE TABLE organizations (
  id text COLLATE "C" PRIMARY KEY,
  name text NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT clock_timestamp()
);

-- People who use the console.
CREATE TABLE accounts (
  id text COLLATE "C" PRIMARY KEY,
  -- Lower case, so that spellings of an address are equal.
  email text COLLATE "C" NOT NULL UNIQUE,
  name text NOT NULL,
  -- Argon2id, with its parameters and salt.
  password_hash text NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  -- Number of the present password: browsers that signed in with an earlier one count as unknown.
  password_number integer NOT NULL DEFAULT 1
);

CREATE TABLE memberships (
  organization_id text COLLATE "C" NOT NULL REFERENCES organizations (id),
  account_id text COLLATE "C" NOT NULL REFERENCES accounts (id),
  role text COLLATE "C" NOT NULL CHECK (role IN ('owner', 'publisher', 'viewer')),
  created_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (organization_id, account_id)
);

CREATE INDEX memberships_of_account ON memberships (account_id);

CREATE TABLE invitations (
  id text COLLATE "C" PRIMARY KEY,
  organization_id text COLLATE "C" NOT NULL REFERENCES organizations (id),
  token_hash text COLLATE "C" NOT NULL UNIQUE,
  email text COLLATE "C" NOT NULL,
  role text COLLATE "C" NOT NULL CHECK (role IN ('owner', 'publisher', 'viewer')),
  created_by text NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  expires_at timestamptz(3) NOT NULL,
  used_at timestamptz(3),
  revoked_at timestamptz(3)
);

CREATE INDEX invitations_of_organization ON invitations (organization_id, created_at DESC);

-- A session acts for its account; the browser has its token.
CREATE TABLE sessions (
  token_hash text COLLATE "C" PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL REFERENCES accounts (id),
  created_at timestamptz(3) NOT NULL,
  -- Lags by up to a minute.
  last_seen_at timestamptz(3) NOT NULL,
  expires_at timestamptz(3) NOT NULL
);

CREATE INDEX sessions_of_account ON sessions (account_id, created_at);

-- Link that sets a new password; one per account, the latest.
CREATE TABLE password_resets (
  account_id text COLLATE "C" PRIMARY KEY REFERENCES accounts (id),
  token_hash text COLLATE "C" NOT NULL UNIQUE,
  created_at timestamptz(3) NOT NULL,
  expires_at timestamptz(3) NOT NULL
);

-- Failed sign-ins of an account since the last audit entry, which is written at most once an hour.
CREATE TABLE failed_sign_ins (
  account_id text COLLATE "C" PRIMARY KEY REFERENCES accounts (id),
  failures bigint NOT NULL,
  told_at timestamptz(3) NOT NULL
);

-- Keys with which all nodes sign; the first node that needs one creates it. The schema contains none, so that each
-- service has its own.
CREATE TABLE signing_keys (
  name text COLLATE "C" PRIMARY KEY,
  secret text NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT clock_timestamp()
);

-- Keys of publishers. Apps, rights and an expiry limit a key; null is no limit.
CREATE TABLE api_keys (
  id text COLLATE "C" PRIMARY KEY,
  organization_id text COLLATE "C" NOT NULL REFERENCES organizations (id),
  name text NOT NULL,
  prefix text COLLATE "C" NOT NULL UNIQUE,
  secret_hash text NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  revoked_at timestamptz(3),
  created_by text,
  last_used_at timestamptz(3),
  -- Ids, which never change.
  app_ids text[] CHECK (cardinality(app_ids) BETWEEN 1 AND 50),
  may text[] CHECK (cardinality(may) > 0 AND may <@ '{read,publish,control,fleet}'::text[]),
  expires_at timestamptz,
  last_used_from text
);

CREATE INDEX api_keys_of_organization ON api_keys (organization_id, created_at DESC);

-- Tokens with which edges follow this service, for the apps of one organization or of all.
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

-- States are json, not jsonb, to keep the order of keys.
CREATE TABLE audit_entries (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  organization_id text COLLATE "C" NOT NULL REFERENCES organizations (id),
  at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  actor text NOT NULL,
  action text NOT NULL,
  subject text NOT NULL,
  before json,
  after json,
  -- Id of the request (X-Request-Id); null if no request made the change.
  request_id text,
  -- Reason given by the author of the change.
  reason text
);

CREATE INDEX audit_entries_newest_first ON audit_entries (organization_id, at DESC, id DESC);
-- For the history of one release.
CREATE INDEX audit_entries_of_subject ON audit_entries (organization_id, subject, at DESC, id DESC);
