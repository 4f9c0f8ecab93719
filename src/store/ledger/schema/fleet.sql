-- The fleet: devices, what they ran, and how that adds up. Devices lie in sixteen parts that are written side by
-- side: each part has a lock of its own, and its own share of every count, so that no two writers meet in a row.
--
-- Unknown versions and architectures are the empty text here, so that a cell of the counts has no nulls.

-- `version` is the only column below that most updates change and an index has, and rows get room to grow: an
-- update of any other one stays in its page and touches no index (HOT), as long as vacuum keeps up. There is no
-- index on `last_seen` for that reason, and no reference to `apps`, whose check would cost as much as the row:
-- only `record_check_ins` writes here, for apps that exist, and apps are never removed.
CREATE TABLE devices (
  app_id text COLLATE "C" NOT NULL,
  device_id text COLLATE "C" NOT NULL,
  first_seen timestamptz(3) NOT NULL,
  last_seen timestamptz(3) NOT NULL,
  last_offered_at timestamptz(3),
  labels_revision integer NOT NULL DEFAULT 0,
  -- How many rows `device_versions` got for it, whether they are still there or not.
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
  -- When the labels changed last, in the order in which changes were committed (`label_positions`); null when
  -- they never did.
  labels_position bigint,
  -- How the device asked last, and which kind of installation it then told, as clients differ in what they can
  -- install. Both are empty while they are not known.
  client text NOT NULL DEFAULT '',
  bundle text NOT NULL DEFAULT '',
  -- First time that a report with a key told of the device; null when none did.
  first_reported timestamptz(3),
  -- Hash of the network of the last check-in (an IPv4 address or an IPv6 /48): it only tells networks apart. Null
  -- where it is not known, and for a device that was reported.
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

-- A device's part: the number of its partition, which PostgreSQL chooses by this hash of the two texts. Four bits
-- of it are enough for sixteen, so the arithmetic may drop all that is above 32. Whoever records devices can
-- compute it too, and hand the devices of a part to one writer.
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

-- Every change of a device's labels gets a position, so that nodes find the changes that nobody told them. Never
-- given twice, also when devices are forgotten.
CREATE SEQUENCE label_positions AS bigint;

-- Only the devices whose labels changed are in it, and only such a change moves one.
CREATE INDEX devices_by_labels_position ON devices (labels_position) WHERE labels_position IS NOT NULL;

CREATE FUNCTION device_place(app_id text, channel text) RETURNS integer LANGUAGE sql IMMUTABLE AS $$
  SELECT hashtext($1 || ' ' || $2)
$$;

-- Devices of a channel in an order that has nothing to do with them: the first of them are a random sample, which
-- tells what a change would do to a large fleet. A check-in writes it only when it writes the other indexes.
--
-- Both columns are expressions, so that no other statement is planned with it: while the table has no statistics,
-- an index that begins with the app looked like a good way to one device.
CREATE INDEX devices_in_random_order ON devices (device_place(app_id, channel), hashtext(device_id));

-- What a device ran after the first version known of it. That one needs no row, as the device tells it, unless
-- it became known after the first sighting: then `from_version` is null. At most the newest 100 of each device
-- are kept, as each goes into the slot of the one that was 100 before it.
CREATE TABLE device_versions (
  app_id text COLLATE "C" NOT NULL,
  device_id text COLLATE "C" NOT NULL,
  slot smallint NOT NULL,
  at timestamptz(3) NOT NULL,
  from_version text COLLATE "C",
  to_version text COLLATE "C" NOT NULL,
  PRIMARY KEY (app_id, device_id, slot)
);

-- Where the last search of `trim_device_versions` ended; each begins where the one before it did, of any node.
CREATE TABLE device_versions_trim (
  is_only boolean PRIMARY KEY DEFAULT TRUE CHECK (is_only),
  app_id text COLLATE "C" NOT NULL,
  device_id text COLLATE "C" NOT NULL,
  slot smallint NOT NULL
);

INSERT INTO device_versions_trim (app_id, device_id, slot) VALUES ('', '', -1);

-- Labels of a device, and when each was written.
CREATE TYPE written_labels AS (labels jsonb, times jsonb);

-- Who recorded each part last, how often that changed, and how many devices were recorded for callers that
-- waited. A process that alone records a part knows from this whether what it remembers of the part's devices is
-- still what is on record.
CREATE TABLE device_writers (
  part smallint PRIMARY KEY,
  writer text COLLATE "C" NOT NULL DEFAULT '',
  turns bigint NOT NULL DEFAULT 0,
  awaited bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 10);

INSERT INTO device_writers (part) SELECT generate_series(0, 15);

-- Devices that were recorded for callers that waited, numbered in each part in the order of the commits. Rows
-- of the last two hours are kept: nobody remembers a device for longer than an hour.
CREATE TABLE awaited_devices (
  part smallint NOT NULL,
  number bigint NOT NULL,
  at timestamptz(0) NOT NULL,
  app_id text COLLATE "C" NOT NULL,
  device_id text COLLATE "C" NOT NULL,
  PRIMARY KEY (part, number)
);

-- New devices of a minute, by what they came from: an app's id, or a network of clients. It bounds how many each
-- minute brings to the record, so that a client that invents ids does not fill it. Only check-ins of the last hour
-- look at a row. It is kept out of the database's log, so a crash empties it: it is no record itself.
CREATE UNLOGGED TABLE admissions (
  minute timestamptz(0) NOT NULL,
  source text COLLATE "C" NOT NULL,
  devices integer NOT NULL,
  PRIMARY KEY (minute, source)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
