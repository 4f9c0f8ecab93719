-- Credentials of devices that speak DDI. Nodes of the version before know none, and answer no such device.

-- Tokens by which gateways act for every device of an app.
CREATE TABLE ddi_gateway_tokens (
  id text COLLATE "C" PRIMARY KEY,
  app_id text COLLATE "C" NOT NULL REFERENCES apps (id),
  name text NOT NULL,
  -- SHA-256 of the token.
  token_hash text COLLATE "C" NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  created_by text NOT NULL,
  last_used_at timestamptz(3),
  revoked_at timestamptz(3)
);

CREATE INDEX ddi_gateway_tokens_of_app ON ddi_gateway_tokens (app_id, id DESC);

-- Secrets of an app, of which the tokens of its devices are made. A removed one is deleted.
CREATE TABLE ddi_secrets (
  id text COLLATE "C" PRIMARY KEY,
  app_id text COLLATE "C" NOT NULL REFERENCES apps (id),
  -- Encrypted under SECRET_KEY, so that a copy of this database makes no token.
  sealed_secret text NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  created_by text NOT NULL
);

CREATE INDEX ddi_secrets_of_app ON ddi_secrets (app_id);
