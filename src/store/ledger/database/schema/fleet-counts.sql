-- Counts of the fleet. A count is the sum of its rows over the parts; a part's row may be negative when a device is
-- counted in another part's. The views show the sums.

-- Present devices of an app: a cell has as many as a count of `devices` would find. Empty cells stay until the next
-- sweep.
CREATE TABLE fleet_count_parts (
  app_id text COLLATE "C" NOT NULL,
  channel text COLLATE "C" NOT NULL,
  version text COLLATE "C" NOT NULL,
  platform text COLLATE "C" NOT NULL,
  devices bigint NOT NULL,
  part smallint NOT NULL,
  PRIMARY KEY (app_id, channel, version, platform, part)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

-- Devices seen in each hour, each counted once, in its last cell of that hour. Rows of past hours are joined into one
-- row with part -1.
CREATE TABLE fleet_hour_parts (
  app_id text COLLATE "C" NOT NULL,
  hour timestamptz(0) NOT NULL,
  channel text COLLATE "C" NOT NULL,
  version text COLLATE "C" NOT NULL,
  platform text COLLATE "C" NOT NULL,
  devices bigint NOT NULL,
  part smallint NOT NULL,
  PRIMARY KEY (app_id, hour, channel, version, platform, part)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

CREATE INDEX fleet_hours_oldest_first ON fleet_hour_parts (hour);
CREATE INDEX fleet_hour_parts_to_fold ON fleet_hour_parts (hour) WHERE part >= 0;

-- Devices seen in each day and month (UTC), each counted once. Hours cannot be summed, because a device counts in
-- each of its hours. Separate rows keep a chart of a year within a few thousand rows.
CREATE TABLE fleet_step_parts (
  app_id text COLLATE "C" NOT NULL,
  step text COLLATE "C" NOT NULL CONSTRAINT fleet_steps_step_check CHECK (step IN ('day', 'month')),
  at timestamptz(0) NOT NULL,
  channel text COLLATE "C" NOT NULL,
  version text COLLATE "C" NOT NULL,
  platform text COLLATE "C" NOT NULL,
  devices bigint NOT NULL,
  -- Whether the number is only a minimum, known from the hours of the step.
  is_minimum boolean NOT NULL DEFAULT FALSE,
  part smallint NOT NULL,
  PRIMARY KEY (app_id, step, at, channel, version, platform, part)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

CREATE INDEX fleet_steps_oldest_first ON fleet_step_parts (at);
CREATE INDEX fleet_step_parts_to_fold ON fleet_step_parts (at) WHERE part >= 0;

CREATE VIEW fleet_counts AS
SELECT app_id, channel, version, platform, sum(devices)::bigint AS devices
FROM fleet_count_parts GROUP BY app_id, channel, version, platform HAVING sum(devices) > 0;

CREATE VIEW fleet_hours AS
SELECT app_id, hour, channel, version, platform, sum(devices)::bigint AS devices
FROM fleet_hour_parts GROUP BY app_id, hour, channel, version, platform HAVING sum(devices) > 0;

CREATE VIEW fleet_steps AS
SELECT app_id, step, at, channel, version, platform, sum(devices)::bigint AS devices,
  bool_or(is_minimum) AS is_minimum
FROM fleet_step_parts GROUP BY app_id, step, at, channel, version, platform HAVING sum(devices) > 0;
