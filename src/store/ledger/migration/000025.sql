-- Roll-out plans, and what check-ins tell of a release.

-- Time at which the release was first published; null before.
ALTER TABLE releases ADD COLUMN published_at timestamptz(3);

-- Of a paused release that nobody was offered it is not known: it counts as never published.
UPDATE releases SET published_at = created_at WHERE status <> 'paused' OR offered_at IS NOT NULL;

CREATE FUNCTION note_publishing() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.status = 'published' AND NEW.published_at IS NULL THEN
    NEW.published_at := clock_timestamp();
  END IF;
  RETURN NEW;
END
$$;

CREATE TRIGGER note_publishing BEFORE INSERT OR UPDATE OF status ON releases
  FOR EACH ROW EXECUTE FUNCTION note_publishing();

-- Time in which plans were driven: it stands still while no node reaches the ledger, and a clock that jumps
-- moves it by 5 s at most. The waits of plans are counted in it.
CREATE TABLE plan_clock (
  is_only boolean PRIMARY KEY DEFAULT TRUE CHECK (is_only),
  counted_ms bigint NOT NULL DEFAULT 0,
  read_at timestamptz(3) NOT NULL DEFAULT clock_timestamp()
) WITH (fillfactor = 50);

INSERT INTO plan_clock DEFAULT VALUES;

-- Returns the present time in milliseconds since 1970, and the counted time.
CREATE FUNCTION plan_time() RETURNS TABLE (now_ms bigint, counted_ms bigint) LANGUAGE sql VOLATILE AS $$
  SELECT (extract(epoch FROM present.at) * 1000)::bigint,
    plan_clock.counted_ms + least(
      greatest((extract(epoch FROM present.at - plan_clock.read_at) * 1000)::bigint, 0), 5000
    )
  FROM plan_clock, (SELECT clock_timestamp()::timestamptz(3) AS at) AS present
$$;

-- Moves the counted time on, and returns both times. Of several nodes at once each finds what the one before
-- has left.
CREATE FUNCTION count_plan_time() RETURNS TABLE (now_ms bigint, counted_ms bigint)
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  -- While no plan runs, nobody needs the time.
  IF NOT EXISTS (SELECT FROM rollout_plans WHERE status = 'running') THEN
    RETURN QUERY SELECT * FROM plan_time();
    RETURN;
  END IF;
  -- The lock first, so that the clock is read after the node before has read it.
  PERFORM FROM plan_clock FOR UPDATE;
  RETURN QUERY
  WITH present AS MATERIALIZED (
    SELECT clock_timestamp()::timestamptz(3) AS at, plan_time.now_ms, plan_time.counted_ms FROM plan_time()
  ), moved AS (
    UPDATE plan_clock SET counted_ms = present.counted_ms, read_at = present.at FROM present
    RETURNING plan_clock.counted_ms
  )
  SELECT present.now_ms, moved.counted_ms FROM present, moved;
END
$$;

CREATE TABLE rollout_plans (
  id text COLLATE "C" PRIMARY KEY,
  -- Not a reference: the plan of a release that was withdrawn stays.
  release_id text COLLATE "C" NOT NULL,
  channel_id text COLLATE "C" NOT NULL REFERENCES channels (id),
  status text NOT NULL CHECK (status IN ('scheduled', 'running', 'held', 'completed', 'cancelled')),
  -- What the plan does next is in its state (src/domain/rollout/plan-state.ts). The columns beside it say the
  -- same for the search of plans that have something to do.
  state json NOT NULL,
  start_at_ms bigint,
  due_ms bigint,
  is_guarded boolean NOT NULL,
  checked_ms bigint,
  created_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  created_by text NOT NULL
) WITH (fillfactor = 70);

CREATE UNIQUE INDEX rollout_plans_one_open ON rollout_plans (release_id)
  WHERE status IN ('scheduled', 'running', 'held');
CREATE INDEX rollout_plans_of_release ON rollout_plans (release_id, created_at DESC, id DESC);
CREATE INDEX rollout_plans_to_drive ON rollout_plans (id) WHERE status IN ('scheduled', 'running');

-- Numbers of devices of a release, as sums of rows: a writer adds to the rows of its own part, so that several
-- write side by side. A device counts in exactly one row of each kind that it has:
--
--   offered    its first offer, in the hour `at`
--   installed  the first check-in that told the release's version, in the hour `at`
--   reverted   the first check-in of a lower version on the same channel after that, while the release was not
--              rolled back, in the hour `at`
--   reached    offered or seen on it, whichever came first; `at` is the epoch
--
-- Only devices count that were known before the release was published: `known` is the largest of
-- `signal_edges()` that is not above the minutes from the first time that the device was seen to
-- the publishing; `pushed` is the same from the first report of it with a key, -1 where there was none before.
-- So a limit that is an edge is exact, and one between two edges counts as the next larger one.
CREATE TABLE release_signals (
  release_id text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL CHECK (kind IN ('offered', 'installed', 'reverted', 'reached')),
  part smallint NOT NULL,
  known integer NOT NULL,
  pushed integer NOT NULL,
  at timestamptz(0) NOT NULL,
  devices bigint NOT NULL,
  PRIMARY KEY (release_id, kind, part, known, pushed, at)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

-- Minutes by which devices are told apart, smallest first.
CREATE FUNCTION signal_edges() RETURNS integer[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT ARRAY [
    0, 1, 2, 3, 4, 5, 10, 15, 20, 30, 45, 60, 90, 120, 180, 240, 360, 480, 720, 1080, 1440, 2160, 2880, 4320,
    5760, 7200, 10080, 14400, 20160, 30240, 43200
  ]
$$;

-- Largest edge that is not above a time; -1 when there is none. One expression, so that it is compiled into the
-- statements that call it.
CREATE FUNCTION signal_edge(waited interval) RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN $1 IS NOT NULL THEN coalesce(
    (signal_edges())[width_bucket(extract(epoch FROM $1) / 60, signal_edges()::numeric[])], -1
  ) END
$$;

-- Devices that could not install a release: each once. Rows of devices that were not offered it do not count;
-- whoever records the first offer of a device to a release sets `is_offered`. Devices that were not on record
-- when the release was published have no row.
CREATE TABLE release_failures (
  release_id text COLLATE "C" NOT NULL,
  app_id text COLLATE "C" NOT NULL,
  device_id text COLLATE "C" NOT NULL,
  -- Address of the client, or the first 64 bits of an IPv6 one; null for a report with a key.
  network text COLLATE "C",
  known integer NOT NULL,
  pushed integer NOT NULL,
  is_offered boolean NOT NULL,
  -- Version that the device ran.
  version text,
  reason text,
  at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (release_id, device_id)
);

CREATE INDEX release_failures_by_network ON release_failures (release_id, network);
CREATE INDEX release_failures_newest_first ON release_failures (release_id, at DESC);
