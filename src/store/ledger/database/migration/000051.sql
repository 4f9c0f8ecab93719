-- Devices that speak DDI: numbers of releases, from which their actions have ids, and the actions on record.

-- Last number that a release of an app got. A table of its own, because publishing on two channels of an app takes
-- their locks before, and the settings of a channel take them after, that of the app.
CREATE TABLE release_numbers (
  app_id text COLLATE "C" PRIMARY KEY REFERENCES apps (id),
  last integer NOT NULL
);

-- Never given again, also when the release is withdrawn.
ALTER TABLE releases ADD COLUMN number integer;
-- When devices that have closed an action for it were last told to try it again; null before.
ALTER TABLE releases ADD COLUMN retried_at timestamptz(3);

UPDATE releases SET number = numbered.number
FROM (
  SELECT releases.id, row_number() OVER (PARTITION BY app_id ORDER BY releases.created_at, releases.id) AS number
  FROM releases JOIN channels ON channels.id = releases.channel_id
) AS numbered
WHERE releases.id = numbered.id;

INSERT INTO release_numbers (app_id, last)
SELECT app_id, max(number) FROM releases JOIN channels ON channels.id = releases.channel_id GROUP BY app_id;

ALTER TABLE releases ALTER COLUMN number SET NOT NULL;

CREATE FUNCTION refuse_new_number() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.number IS DISTINCT FROM OLD.number THEN
    RAISE EXCEPTION 'release % keeps its number', OLD.id
      USING ERRCODE = 'check_violation', CONSTRAINT = 'releases_immutable';
  END IF;
  RETURN NEW;
END
$$;

CREATE TRIGGER refuse_new_number BEFORE UPDATE OF number ON releases
  FOR EACH ROW EXECUTE FUNCTION refuse_new_number();

-- A trigger, because nodes of the version before publish as well.
CREATE FUNCTION number_release() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO release_numbers AS numbers (app_id, last)
  SELECT app_id, 1 FROM channels WHERE id = NEW.channel_id
  ON CONFLICT (app_id) DO UPDATE SET last = numbers.last + 1
  RETURNING last INTO NEW.number;
  RETURN NEW;
END
$$;

CREATE TRIGGER number_release BEFORE INSERT ON releases
  FOR EACH ROW EXECUTE FUNCTION number_release();

CREATE OR REPLACE FUNCTION renew_edition() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (NEW.status, NEW.rollout_pct, NEW.targets::text, NEW.retried_at) IS DISTINCT FROM
    (OLD.status, OLD.rollout_pct, OLD.targets::text, OLD.retried_at)
  THEN
    NEW.edition := new_edition();
  END IF;
  RETURN NEW;
END
$$;

-- Actions of devices that are on record. Rows have room to grow, and no index has what changes but `is_unshared`.
CREATE TABLE device_actions (
  app_id text COLLATE "C" NOT NULL,
  device_id text COLLATE "C" NOT NULL,
  -- Rises with every change.
  revision integer NOT NULL,
  -- As domain/fleet/packed-actions.ts writes them.
  actions text NOT NULL,
  -- Numbers of the releases that the device has closed an action for.
  barred integer[] NOT NULL DEFAULT '{}',
  -- Whether the row was written while Redis did not answer, and has to be put there.
  is_unshared boolean NOT NULL DEFAULT FALSE,
  PRIMARY KEY (app_id, device_id)
) WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.02);

CREATE INDEX device_actions_unshared ON device_actions (app_id, device_id) WHERE is_unshared;
