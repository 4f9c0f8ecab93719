-- Rollouts: plans, their clock, and the signals of releases.

-- Clock of plans, in which their waits are counted: it stands still while no node reaches the ledger, and a jump of
-- the wall clock moves it by 5 s at most.
CREATE TABLE plan_clock (
  is_only boolean PRIMARY KEY DEFAULT TRUE CHECK (is_only),
  counted_ms bigint NOT NULL DEFAULT 0,
  read_at timestamptz(3) NOT NULL DEFAULT clock_timestamp()
) WITH (fillfactor = 50);

INSERT INTO plan_clock DEFAULT VALUES;

CREATE TABLE rollout_plans (
  id text COLLATE "C" PRIMARY KEY,
  -- No reference: the plan of a withdrawn release stays.
  release_id text COLLATE "C" NOT NULL,
  channel_id text COLLATE "C" NOT NULL REFERENCES channels (id),
  status text NOT NULL CHECK (status IN ('scheduled', 'running', 'held', 'completed', 'cancelled')),
  -- The plan's state (src/domain/rollout/plan-state.ts). The columns after it repeat parts of it for the search of
  -- due plans.
  state json NOT NULL,
  start_at_ms bigint,
  due_ms bigint,
  is_guarded boolean NOT NULL,
  checked_ms bigint,
  created_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  created_by text NOT NULL,
  -- Counted time at which a node took the plan to drive it; null after it was driven.
  taken_ms bigint
) WITH (fillfactor = 70);

CREATE UNIQUE INDEX rollout_plans_one_open ON rollout_plans (release_id)
  WHERE status IN ('scheduled', 'running', 'held');
CREATE INDEX rollout_plans_of_release ON rollout_plans (release_id, created_at DESC, id DESC);
-- Includes held plans, whose guards are still checked.
CREATE INDEX rollout_plans_to_drive ON rollout_plans (id) WHERE status IN ('scheduled', 'running', 'held');

-- Numbers of devices of a release, as sums of rows: a writer adds to the rows of its own part, so that several can
-- write at once. A device counts in exactly one row of each of its kinds:
--
--   offered    its first offer, in the hour `at`
--   installed  the first check-in with the release's version, in the hour `at`
--   reverted   the first check-in with a lower version on the same channel after that, while the release was not
--              rolled back, in the hour `at`
--   reached    offered or seen on it, whichever came first; `at` is the epoch
--
-- Only devices count that were on record before the release was published: `known` is the largest of `signal_edges()`
-- that is not above the minutes from the device's first check-in to the publication; `pushed` is the same from its
-- first report with an API key, -1 without an earlier report. So a limit that is an edge is exact, and one between
-- two edges counts as the next larger one.
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

-- First offer, installation and return of each device with each watched release, for devices that were on record
-- before its publication. Written under the lock of the device's part. `known` and `pushed` (see `release_signals`)
-- keep their first values, even if a late check-in shows that the device was on record for longer.
CREATE TABLE release_devices (
  app_id text COLLATE "C" NOT NULL,
  device_id text COLLATE "C" NOT NULL,
  release_id text COLLATE "C" NOT NULL,
  known integer NOT NULL,
  pushed integer NOT NULL,
  offered_at timestamptz(3),
  installed_at timestamptz(3),
  -- Channel of the device when it was first seen on the release.
  installed_on text COLLATE "C",
  reverted_at timestamptz(3),
  PRIMARY KEY (app_id, device_id, release_id)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.05,
  autovacuum_vacuum_cost_delay = 0);

-- Devices of a release in the order of a hash of their ids, for samples: those with the lowest hashes.
CREATE INDEX release_devices_in_order ON release_devices (release_id, known, hashtext(device_id));

-- A deleted device stays counted, but is no longer part of samples.
CREATE FUNCTION forget_release_devices() RETURNS trigger LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off SET jit = off
AS $$
BEGIN
  DELETE FROM release_devices USING gone
  CROSS JOIN LATERAL (
    SELECT ctid AS left_row FROM release_devices AS reached
    WHERE reached.app_id = gone.app_id AND reached.device_id = gone.device_id OFFSET 0
  ) AS found
  WHERE release_devices.ctid = left_row;
  RETURN NULL;
END
$$;

CREATE TRIGGER forget_release_devices AFTER DELETE ON devices REFERENCING OLD TABLE AS gone
  FOR EACH STATEMENT EXECUTE FUNCTION forget_release_devices();

-- Devices that could not install a release, each once. Rows of devices that were not offered it do not count;
-- recording the first offer to such a device sets `is_offered`. Devices that were not on record when the release was
-- published have no row.
CREATE TABLE release_failures (
  release_id text COLLATE "C" NOT NULL,
  app_id text COLLATE "C" NOT NULL,
  device_id text COLLATE "C" NOT NULL,
  -- Address of the client, or the first 64 bits of an IPv6 one; null for a report with an API key.
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
-- Failures reported before the offer.
CREATE INDEX release_failures_early ON release_failures (release_id) WHERE NOT is_offered;
