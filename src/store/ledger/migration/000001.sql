-- Organizations, apps, channels, releases, keys and the audit.
--
-- Names and ids are COLLATE "C": they sort the same in every database, whatever locale it was made with.
-- Targeting and the audit's states are json, not jsonb, so that they come back with their keys in the
-- order they were given in.

CREATE TABLE organizations (
  id text COLLATE "C" PRIMARY KEY,
  name text NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE apps (
  id text COLLATE "C" PRIMARY KEY,
  organization_id text COLLATE "C" NOT NULL REFERENCES organizations (id),
  -- Devices name an app by its ref alone, so a ref belongs to one organization.
  ref text COLLATE "C" NOT NULL UNIQUE,
  name text NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT clock_timestamp()
);

CREATE INDEX apps_of_organization ON apps (organization_id, ref);

CREATE TABLE channels (
  id text COLLATE "C" PRIMARY KEY,
  app_id text COLLATE "C" NOT NULL REFERENCES apps (id),
  name text COLLATE "C" NOT NULL,
  -- Grows with every change to what the channel serves; its row lock orders those changes.
  revision integer NOT NULL DEFAULT 1,
  minimum_supported_version text,
  default_rollout integer NOT NULL DEFAULT 100 CHECK (default_rollout BETWEEN 0 AND 100),
  update_mode text NOT NULL DEFAULT 'optional' CHECK (update_mode IN ('optional', 'recommended')),
  created_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  UNIQUE (app_id, name)
);

CREATE TABLE releases (
  id text COLLATE "C" PRIMARY KEY,
  channel_id text COLLATE "C" NOT NULL REFERENCES channels (id),
  -- As it was published; the canonical form is what makes two versions the same.
  version text NOT NULL,
  canonical_version text COLLATE "C" NOT NULL,
  notes text NOT NULL,
  status text NOT NULL CHECK (status IN ('published', 'paused', 'rolled_back', 'deprecated')),
  rollout_pct integer NOT NULL CHECK (rollout_pct BETWEEN 0 AND 100),
  targets json,
  -- Null until the first manifest was about to leave.
  offered_at timestamptz(3),
  created_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  UNIQUE (channel_id, canonical_version)
);

CREATE INDEX releases_newest_first ON releases (channel_id, created_at DESC, id DESC);

CREATE TABLE artifacts (
  release_id text COLLATE "C" NOT NULL REFERENCES releases (id),
  -- Publish order, from 0: it decides between artifacts that match equally well.
  position integer NOT NULL,
  platform text NOT NULL,
  arch text,
  url text,
  sha512 text,
  size bigint,
  signature text,
  PRIMARY KEY (release_id, position)
);

CREATE TABLE api_keys (
  id text COLLATE "C" PRIMARY KEY,
  organization_id text COLLATE "C" NOT NULL REFERENCES organizations (id),
  name text NOT NULL,
  prefix text COLLATE "C" NOT NULL UNIQUE,
  secret_hash text NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  revoked_at timestamptz(3)
);

CREATE TABLE audit_entries (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  organization_id text COLLATE "C" NOT NULL REFERENCES organizations (id),
  at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  actor text NOT NULL,
  action text NOT NULL,
  subject text NOT NULL,
  before json,
  after json
);

CREATE INDEX audit_entries_newest_first ON audit_entries (organization_id, at DESC, id DESC);

-- The promises about a release once it exists, kept here as well as in the code that asks first: no
-- path, also none that is written later or typed by hand, may break them.
CREATE FUNCTION refuse_release_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (NEW.id, NEW.channel_id, NEW.version, NEW.canonical_version, NEW.notes, NEW.created_at)
    IS DISTINCT FROM
    (OLD.id, OLD.channel_id, OLD.version, OLD.canonical_version, OLD.notes, OLD.created_at)
  THEN
    RAISE EXCEPTION 'release % is immutable', OLD.id
      USING ERRCODE = 'check_violation', CONSTRAINT = 'releases_immutable';
  END IF;
  IF OLD.offered_at IS NOT NULL AND NEW.offered_at IS DISTINCT FROM OLD.offered_at THEN
    RAISE EXCEPTION 'release % was offered, and that stays', OLD.id
      USING ERRCODE = 'check_violation', CONSTRAINT = 'releases_stay_offered';
  END IF;
  IF OLD.offered_at IS NOT NULL AND NEW.rollout_pct < OLD.rollout_pct THEN
    RAISE EXCEPTION 'release % was offered: its rollout can only increase', OLD.id
      USING ERRCODE = 'check_violation', CONSTRAINT = 'releases_rollout_rises';
  END IF;
  IF OLD.status = 'rolled_back' AND NEW.status <> 'rolled_back' THEN
    RAISE EXCEPTION 'release % was rolled back, and that stays', OLD.id
      USING ERRCODE = 'check_violation', CONSTRAINT = 'releases_stay_rolled_back';
  END IF;
  RETURN NEW;
END
$$;

CREATE TRIGGER refuse_release_change BEFORE UPDATE ON releases
  FOR EACH ROW EXECUTE FUNCTION refuse_release_change();

CREATE FUNCTION refuse_revision_going_back() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.revision < OLD.revision THEN
    RAISE EXCEPTION 'the revision of channel % never goes back', OLD.id
      USING ERRCODE = 'check_violation', CONSTRAINT = 'channels_revision_rises';
  END IF;
  RETURN NEW;
END
$$;

CREATE TRIGGER refuse_revision_going_back BEFORE UPDATE ON channels
  FOR EACH ROW EXECUTE FUNCTION refuse_revision_going_back();
