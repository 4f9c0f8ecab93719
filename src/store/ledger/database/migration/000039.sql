-- People who sign in with an OpenID Connect provider: whom the provider means, and the roles that its groups give.

-- Null for an account that has never had a password.
ALTER TABLE accounts ALTER COLUMN password_hash DROP NOT NULL;

-- A person as a provider knows them. An account has at most one of each provider.
CREATE TABLE oidc_identities (
  issuer text COLLATE "C" NOT NULL,
  subject text COLLATE "C" NOT NULL,
  account_id text COLLATE "C" NOT NULL REFERENCES accounts (id),
  created_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (issuer, subject),
  UNIQUE (account_id, issuer)
);

-- People who have arrived from a provider with the address of an account, and have not proved yet that it is theirs;
-- at most one row for each. The browser has the token.
CREATE TABLE oidc_arrivals (
  issuer text COLLATE "C" NOT NULL,
  subject text COLLATE "C" NOT NULL,
  token_hash text COLLATE "C" NOT NULL UNIQUE,
  email text COLLATE "C" NOT NULL,
  -- Roles that the groups give: a list of { organization, role }.
  roles json NOT NULL,
  expires_at timestamptz(3) NOT NULL,
  PRIMARY KEY (issuer, subject)
);

CREATE INDEX oidc_arrivals_oldest_first ON oidc_arrivals (expires_at);

-- A role is the higher of what groups and what people have given. Without a role from groups, people gave it.
ALTER TABLE memberships
  ADD COLUMN role_from_groups text COLLATE "C" CHECK (role_from_groups IN ('owner', 'publisher', 'viewer')),
  -- Null where groups alone have given the role.
  ADD COLUMN role_by_hand text COLLATE "C" CHECK (role_by_hand IN ('owner', 'publisher', 'viewer'));
