-- The fleet: devices, the versions they ran, and their labels. Devices lie in sixteen parts, which are written
-- concurrently: each part has its own lock and its own row of every count, so that no two writers meet in a row.
--
-- Unknown versions and architectures are empty texts, so that a cell of the counts has no nulls.

-- Only `version` is both indexed and changed by many updates, and rows have room to grow: an update of other columns
-- stays in its page and touches no index (HOT), as long as vacuum keeps up. Therefore `last_seen` has no index.
-- `app_id` has no reference, whose check would cost as much as the row: only `record_check_ins` writes here, for
-- existing apps, and apps are never removed.
CREATE TABLE devices (
  app_id text COLLATE "C" NOT NULL,
  device_id text COLLATE "C" NOT NULL,
  first_seen timestamptz(3) NOT NULL,
  last_seen timestamptz(3) NOT NULL,
  last_offered_at timestamptz(3),
  labels_revision integer NOT NULL DEFAULT 0,
  -- Number of rows that `device_versions` ever got for it.
  version_changes integer NOT NULL DEFAULT 0,
  channel text COLLATE "C" NOT NULL,
  -- Canonical.
  version text COLLATE "C" NOT NULL,
  platform text COLLATE "C" NOT NULL,
  arch text COLLATE "C" NOT NULL,
  source text COLLATE "C" NOT NULL CHECK (source IN ('pull', 'push')),
  last_offered_release_id text COLLATE "C",
  labels jsonb NOT NULL DEFAULT '{}',
  -- When each label was written, in milliseconds since 1970.
  label_times jsonb NOT NULL DEFAULT '{}',
  -- Position of the latest change of the labels (`label_positions`); null before the first.
  labels_position bigint,
  -- Client and kind of installation of the last check-in that had a client, because clients differ in what they can
  -- install. Empty if unknown.
  client text NOT NULL DEFAULT '',
  bundle text NOT NULL DEFAULT '',
  -- Time of the first report with an API key; null without one.
  first_reported timestamptz(3),
  -- Hash of the last check-in's network (an IPv4 address or an IPv6 /48), which only distinguishes networks. Null if
  -- unknown, and for a reported device.
  network bigint,
  PRIMARY KEY (app_id, device_id)
) PARTITION BY HASH (app_id, device_id);

DO $$
BEGIN
  FOR part IN 0..15 LOOP
    EXECUTE format(
      'CREATE TABLE devices_%s PARTITION OF devices FOR VALUES WITH (MODULUS 16, REMAINDER %s) WITH (
        fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05,
        autovacuum_analyze_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0
      )', part, part
    );
  END LOOP;
END
$$;

-- Part of a device: the number of its partition, which PostgreSQL chooses by this hash of the two texts. Sixteen
-- parts need four bits, so the arithmetic may drop all above 32. Nodes compute it too, and give each part to one
-- drain.
CREATE FUNCTION device_part(app_id text, device_id text) RETURNS smallint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  -- One expression, so that it is compiled into the statements that call it.
  SELECT ((
    (hashtextextended($1, 8816678312871386365) & 4294967295) + 367372515
    # (hashtextextended($2, 8816678312871386365) & 4294967295) + 367372515
      + ((hashtextextended($1, 8816678312871386365) & 4294967295) + 367372515 >> 7)
  ) & 15)::smallint
$$;

CREATE INDEX devices_of_version ON devices (version, app_id, device_id);

-- Every change of a device's labels gets a position, so that nodes find changes whose notifications they missed. No
-- position is used twice, even after devices are deleted.
CREATE SEQUENCE label_positions AS bigint;

-- Contains only devices whose labels changed, and only such a change moves one.
CREATE INDEX devices_by_labels_position ON devices (labels_position) WHERE labels_position IS NOT NULL;

CREATE FUNCTION device_place(app_id text, channel text) RETURNS integer LANGUAGE sql IMMUTABLE AS $$
  SELECT hashtext($1 || ' ' || $2)
$$;

-- Devices of a channel in an order independent of them: the first ones are a random sample, for dry runs on a large
-- fleet. A check-in writes it only when it writes the other indexes.
--
-- Both columns are expressions, so that no other statement uses it: without statistics, PostgreSQL chose an index
-- that begins with the app for the lookup of one device.
CREATE INDEX devices_in_random_order ON devices (device_place(app_id, channel), hashtext(device_id));

-- Versions that a device ran after the first known one. That one has no row, because the device's row has it, unless
-- it became known after the first check-in: then `from_version` is null. At most 100 per device are kept, because
-- each goes into the slot of the one that was 100 before it.
CREATE TABLE device_versions (
  app_id text COLLATE "C" NOT NULL,
  device_id text COLLATE "C" NOT NULL,
  slot smallint NOT NULL,
  at timestamptz(3) NOT NULL,
  from_version text COLLATE "C",
  to_version text COLLATE "C" NOT NULL,
  PRIMARY KEY (app_id, device_id, slot)
);

-- Where the last search of `trim_device_versions` ended, on any node; the next one begins there.
CREATE TABLE device_versions_trim (
  is_only boolean PRIMARY KEY DEFAULT TRUE CHECK (is_only),
  app_id text COLLATE "C" NOT NULL,
  device_id text COLLATE "C" NOT NULL,
  slot smallint NOT NULL
);

INSERT INTO device_versions_trim (app_id, device_id, slot) VALUES ('', '', -1);

-- Labels of a device, and the time of each.
CREATE TYPE written_labels AS (labels jsonb, times jsonb);

-- Last writer of each part, how often the writer changed, and how many devices were recorded for waiting callers. A
-- process that alone records a part checks with this whether its cache of the part's devices is still valid.
CREATE TABLE device_writers (
  part smallint PRIMARY KEY,
  writer text COLLATE "C" NOT NULL DEFAULT '',
  turns bigint NOT NULL DEFAULT 0,
  awaited bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 10);

INSERT INTO device_writers (part) SELECT generate_series(0, 15);

-- Devices that were recorded for waiting callers, numbered in each part in the order of commits. Rows are kept for
-- two hours, because no process caches a device for longer than one.
CREATE TABLE awaited_devices (
  part smallint NOT NULL,
  number bigint NOT NULL,
  at timestamptz(0) NOT NULL,
  app_id text COLLATE "C" NOT NULL,
  device_id text COLLATE "C" NOT NULL,
  PRIMARY KEY (part, number)
);

-- Number of new devices of a minute, by source: an app's id or a network of clients. It limits how many new devices
-- each minute brings, so that a client that invents ids does not fill the record. Only check-ins of the last hour
-- read a row. UNLOGGED: a crash empties the table, which is not part of the record.
CREATE UNLOGGED TABLE admissions (
  minute timestamptz(0) NOT NULL,
  source text COLLATE "C" NOT NULL,
  devices integer NOT NULL,
  PRIMARY KEY (minute, source)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
