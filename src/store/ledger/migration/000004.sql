-- Accounts: the people who use the console, what they may do in which organization, and how they got in.

CREATE TABLE accounts (
  id text COLLATE "C" PRIMARY KEY,
  -- Lower case, so that it is the same however it is typed.
  email text COLLATE "C" NOT NULL UNIQUE,
  name text NOT NULL,
  -- Argon2id, with its parameters and salt.
  password_hash text NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE memberships (
  organization_id text COLLATE "C" NOT NULL REFERENCES organizations (id),
  account_id text COLLATE "C" NOT NULL REFERENCES accounts (id),
  role text COLLATE "C" NOT NULL CHECK (role IN ('owner', 'publisher', 'viewer')),
  created_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (organization_id, account_id)
);

CREATE INDEX memberships_of_account ON memberships (account_id);

-- Who holds the token is the account. Only the SHA-256 of a token is here: a copy of this table opens nothing.
CREATE TABLE sessions (
  token_hash text COLLATE "C" PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL REFERENCES accounts (id),
  created_at timestamptz(3) NOT NULL,
  -- Behind by up to a minute.
  last_seen_at timestamptz(3) NOT NULL,
  expires_at timestamptz(3) NOT NULL
);

CREATE INDEX sessions_of_account ON sessions (account_id, created_at);

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

ALTER TABLE api_keys
  ADD COLUMN created_by text,
  ADD COLUMN last_used_at timestamptz(3);

CREATE INDEX api_keys_of_organization ON api_keys (organization_id, created_at DESC);

-- The history of one release, however long the audit is.
CREATE INDEX audit_entries_of_subject ON audit_entries (organization_id, subject, at DESC, id DESC);
