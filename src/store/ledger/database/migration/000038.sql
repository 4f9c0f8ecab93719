-- What a session is known by to its person, passkeys, and organizations that ask their members for a second factor.

ALTER TABLE sessions
  -- Names the session where its token must not be shown. The default is for nodes of versions before.
  ADD COLUMN id text COLLATE "C" NOT NULL DEFAULT 'ses_' || translate(gen_random_uuid()::text, '-', ''),
  -- Short words for the browser, and the address, at the sign-in. Null: opened by a version before.
  ADD COLUMN browser text,
  ADD COLUMN address text,
  ADD COLUMN opened_by text COLLATE "C" NOT NULL DEFAULT 'password'
    CHECK (opened_by IN ('password', 'oidc', 'passkey')),
  -- Whether a passkey was shown, after the password or by itself.
  ADD COLUMN second_factor boolean NOT NULL DEFAULT false,
  ADD CONSTRAINT sessions_id_key UNIQUE (id);

ALTER TABLE organizations
  -- Whether sessions that were opened by a password alone have no rights here.
  ADD COLUMN require_second_factor boolean NOT NULL DEFAULT false;

CREATE TABLE passkeys (
  id text COLLATE "C" PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL REFERENCES accounts (id),
  -- As the authenticator named it, in base64url. It is of one account only.
  credential_id text COLLATE "C" NOT NULL UNIQUE,
  -- COSE key in base64url. It is public.
  public_key text COLLATE "C" NOT NULL,
  -- Number of signatures, of authenticators that count; 0 of others. It only rises.
  counter bigint NOT NULL,
  -- How a browser reaches the authenticator.
  transports text[] NOT NULL,
  name text NOT NULL,
  created_at timestamptz(3) NOT NULL,
  last_used_at timestamptz(3)
);

CREATE INDEX passkeys_of_account ON passkeys (account_id, created_at);

-- Challenges that were answered, until they expire: none is answered twice.
CREATE TABLE used_challenges (
  challenge text COLLATE "C" PRIMARY KEY,
  expires_at timestamptz(3) NOT NULL
);

-- Link that removes the passkeys of an account; one per account, the latest.
CREATE TABLE passkey_recoveries (
  account_id text COLLATE "C" PRIMARY KEY REFERENCES accounts (id),
  token_hash text COLLATE "C" NOT NULL UNIQUE,
  created_at timestamptz(3) NOT NULL,
  expires_at timestamptz(3) NOT NULL
);
