-- Accounts: links that set a new password, failed sign-ins, and what tells browsers that signed in before.

-- Number of the account's present password: browsers that signed in with an earlier one are strangers.
ALTER TABLE accounts ADD COLUMN password_number integer NOT NULL DEFAULT 1;

-- One per account, the last that was made. Only the SHA-256 of its token is here.
CREATE TABLE password_resets (
  account_id text COLLATE "C" PRIMARY KEY REFERENCES accounts (id),
  token_hash text COLLATE "C" NOT NULL UNIQUE,
  created_at timestamptz(3) NOT NULL,
  expires_at timestamptz(3) NOT NULL
);

-- Failed sign-ins of an account since the audit was told of some, at most once an hour.
CREATE TABLE failed_sign_ins (
  account_id text COLLATE "C" PRIMARY KEY REFERENCES accounts (id),
  failures bigint NOT NULL,
  told_at timestamptz(3) NOT NULL
);

-- Keys that all nodes sign with, made by the first one that needs one. They are in no copy of the schema: each
-- service has its own.
CREATE TABLE signing_keys (
  name text COLLATE "C" PRIMARY KEY,
  secret text NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT clock_timestamp()
);
