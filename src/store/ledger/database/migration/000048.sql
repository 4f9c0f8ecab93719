-- Links that work once are one table. The tables of each kind become its parts, so that no row moves, links stay open,
-- and nodes of the version before go on with the names, the keys and the defaults that they know.
CREATE TABLE one_time_links (
  kind text COLLATE "C" NOT NULL,
  -- Of invitations, which are named after they are over, too.
  id text COLLATE "C",
  organization_id text COLLATE "C",
  -- Whom the link is for: an account, or a person as a provider knows them; an invitation is for an address.
  account_id text COLLATE "C",
  issuer text COLLATE "C",
  subject text COLLATE "C",
  token_hash text COLLATE "C" NOT NULL,
  -- Null for that of the account.
  email text COLLATE "C",
  role text COLLATE "C",
  -- Roles that groups give: a list of { organization, role }.
  roles json,
  created_by text,
  created_at timestamptz(3),
  expires_at timestamptz(3) NOT NULL,
  -- Of invitations; a link of another kind is gone once it is used.
  used_at timestamptz(3),
  revoked_at timestamptz(3)
) PARTITION BY LIST (kind);

DO $$
DECLARE
  part record;
  missing text;
BEGIN
  FOR part IN
    VALUES ('invitations', 'invitation'), ('password_resets', 'reset'), ('passkey_recoveries', 'recovery'),
      ('oidc_arrivals', 'arrival')
  LOOP
    EXECUTE format('ALTER TABLE %I ADD COLUMN kind text COLLATE "C" NOT NULL DEFAULT %L', part.column1, part.column2);
    SELECT string_agg(format('ADD COLUMN IF NOT EXISTS %I %s', attname, format_type(atttypid, atttypmod)
      || CASE WHEN attcollation = '"C"'::regcollation THEN ' COLLATE "C"' ELSE '' END), ', ')
    INTO missing FROM pg_attribute
    WHERE attrelid = 'one_time_links'::regclass AND attnum > 0 AND NOT attnotnull;
    EXECUTE format('ALTER TABLE %I %s', part.column1, missing);
    EXECUTE format('ALTER TABLE one_time_links ATTACH PARTITION %I FOR VALUES IN (%L)', part.column1, part.column2);
  END LOOP;
END
$$;
