-- Stops: what they have paused, and which of it somebody has decided about since.

CREATE TABLE stops (
  id text COLLATE "C" PRIMARY KEY,
  app_id text COLLATE "C" NOT NULL REFERENCES apps (id),
  -- Null for all channels of the app.
  channel_id text COLLATE "C" REFERENCES channels (id),
  stopped_at timestamptz(3) NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE stopped_releases (
  stop_id text COLLATE "C" NOT NULL REFERENCES stops (id),
  -- Not a reference: a release that is withdrawn stays in the list.
  release_id text COLLATE "C" NOT NULL,
  channel_id text COLLATE "C" NOT NULL REFERENCES channels (id),
  version text NOT NULL,
  -- Order among the releases of the stop, from 0.
  position integer NOT NULL,
  -- First time at which somebody set the release's status after the stop; the stop does not publish it any more.
  set_at timestamptz(3),
  -- Time at which a resumption of the stop published it.
  resumed_at timestamptz(3),
  PRIMARY KEY (stop_id, release_id)
);

-- Few releases are stopped at a time.
CREATE INDEX stopped_releases_waiting ON stopped_releases (release_id)
  WHERE set_at IS NULL AND resumed_at IS NULL;

-- Devices that were erased on request, by a keyed hash of their ids, so that check-ins which were received before
-- do not bring them back.
CREATE TABLE erased_devices (
  app_id text COLLATE "C" NOT NULL REFERENCES apps (id),
  device_hash text COLLATE "C" NOT NULL,
  erased_at timestamptz(3) NOT NULL,
  PRIMARY KEY (app_id, device_hash)
);

CREATE INDEX erased_devices_newest_first ON erased_devices (erased_at DESC);
