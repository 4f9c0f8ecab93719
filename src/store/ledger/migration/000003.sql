-- Release webhooks: which apps have one, what it delivered last, and which releases came from it.

CREATE TABLE webhooks (
  app_id text COLLATE "C" PRIMARY KEY REFERENCES apps (id),
  provider text COLLATE "C" NOT NULL CHECK (provider IN ('github')),
  -- Encrypted under SECRET_KEY, so that a copy of this database verifies nothing. Gone with the webhook: an
  -- integration that is enabled again gets another one.
  sealed_secret text,
  created_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  enabled_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  disabled_at timestamptz(3),
  CHECK ((disabled_at IS NULL) = (sealed_secret IS NOT NULL))
);

-- The newest of each app; only what was verified gets here.
CREATE TABLE webhook_deliveries (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  app_id text COLLATE "C" NOT NULL REFERENCES apps (id),
  at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  event text NOT NULL,
  action text,
  -- The provider's; a redelivery has that of the first one.
  guid text,
  outcome text NOT NULL CHECK (outcome IN ('created', 'duplicate', 'ignored', 'refused')),
  reason text,
  version text
);

CREATE INDEX webhook_deliveries_newest_first ON webhook_deliveries (app_id, id DESC);

-- Lower-case hex: what the code-hosting service says of an asset, which says no SHA-512. For update files only,
-- never in an answer of its own.
ALTER TABLE artifacts ADD COLUMN sha256 text COLLATE "C" CHECK (sha256 ~ '^[0-9a-f]{64}$');

ALTER TABLE releases ADD COLUMN source text COLLATE "C" NOT NULL DEFAULT 'api'
  CHECK (source IN ('api', 'webhook'));

-- As in 000001; where a release came from is immutable, too: it decides whether assets may come later.
CREATE OR REPLACE FUNCTION refuse_release_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (NEW.id, NEW.channel_id, NEW.version, NEW.canonical_version, NEW.notes, NEW.created_at, NEW.source)
    IS DISTINCT FROM
    (OLD.id, OLD.channel_id, OLD.version, OLD.canonical_version, OLD.notes, OLD.created_at, OLD.source)
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
