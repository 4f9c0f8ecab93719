-- Signals of releases: the ages and versions that they distinguish, and their deletion. `record_check_ins` counts
-- them; `release_signals` defines them.

-- Minutes on record by which devices are distinguished, ascending.
CREATE OR REPLACE FUNCTION signal_edges() RETURNS integer[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT ARRAY [
    0, 1, 2, 3, 4, 5, 10, 15, 20, 30, 45, 60, 90, 120, 180, 240, 360, 480, 720, 1080, 1440, 2160, 2880, 4320,
    5760, 7200, 10080, 14400, 20160, 30240, 43200
  ]
$$;

-- Largest edge that is not above a duration; -1 if there is none. One expression, so that PostgreSQL inlines it.
CREATE OR REPLACE FUNCTION signal_edge(waited interval) RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN $1 IS NOT NULL THEN coalesce(
    (signal_edges())[width_bucket(extract(epoch FROM $1) / 60, signal_edges()::numeric[])], -1
  ) END
$$;

-- Sort key of a canonical version: byte order is the version order of src/domain/decision/version.ts; null if it is
-- no version. Numbers begin with their length. Of prerelease identifiers, numbers begin with 0 and are below texts,
-- which begin with 1 and end with a character below all of theirs. A shorter list ends with a space, below both; no
-- prerelease is a tilde, above them.
CREATE OR REPLACE FUNCTION version_key(version text) RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  piece CONSTANT text[] := regexp_match(
    version, '^(\d+)\.(\d+)\.(\d+)(?:\.(\d+))?(?:-([0-9A-Za-z.-]+))?(?:\+([0-9A-Za-z.-]+))?$'
  );
  digits text;
  identifier text;
  key text := '';
BEGIN
  IF piece IS NULL THEN RETURN NULL; END IF;
  FOREACH digits IN ARRAY ARRAY [piece[1], piece[2], piece[3], coalesce(piece[4], '0')] LOOP
    key := key || lpad(length(digits)::text, 2, '0') || digits;
  END LOOP;
  IF piece[5] IS NULL THEN key := key || '~'; END IF;
  FOREACH identifier IN ARRAY coalesce(string_to_array(piece[5], '.'), '{}') LOOP
    key := key || CASE WHEN identifier ~ '^\d+$' THEN '0' || lpad(length(identifier)::text, 2, '0') || identifier
      ELSE '1' || identifier || '!' END;
  END LOOP;
  key := key || ' ';
  -- Numbers of the build keep their leading zeros: fewer digits come first where the values are equal.
  FOREACH identifier IN ARRAY coalesce(string_to_array(piece[6], '.'), '{}') LOOP
    digits := CASE WHEN identifier ~ '^0+$' THEN '0' ELSE ltrim(identifier, '0') END;
    key := key || CASE WHEN identifier ~ '^\d+$'
      THEN '0' || lpad(length(digits)::text, 2, '0') || digits || lpad(length(identifier)::text, 2, '0')
      ELSE '1' || identifier || '!' END;
  END LOOP;
  RETURN key || ' ';
END
$$;

-- Hash of the network of an address; for an IPv6 /64, of its /48. A signal from a single network stops no rollout.
CREATE OR REPLACE FUNCTION network_hash(address text) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT hashtextextended(
    regexp_replace($1, '^([^:]*:[^:]*:[^:]*):[^:]*::/64$', '\1::/48'), 0
  )
$$;

-- Deletes the rows of releases that are gone or no longer watched: up to `10 * rows_max` of each table, in a part of
-- a large one. Waits for no writer; a writer of such a row adds to signals that are no longer read.
CREATE OR REPLACE FUNCTION sweep_signals(rows_max integer) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  search_size CONSTANT bigint := 512;
  table_name text;
  page_count bigint;
  first_page bigint;
BEGIN
  UPDATE releases SET is_watched = FALSE
  WHERE is_watched AND published_at < fleet_time() - interval '90 days' AND NOT EXISTS (
    SELECT FROM rollout_plans
    WHERE release_id = releases.id AND status IN ('scheduled', 'running', 'held')
  );
  FOREACH table_name IN ARRAY ARRAY ['release_signals', 'release_devices', 'release_failures'] LOOP
    page_count := pg_relation_size(table_name) / current_setting('block_size')::bigint;
    first_page := CASE WHEN page_count > search_size
      THEN floor(random() * (page_count + search_size)) - search_size ELSE 0 END;
    EXECUTE format(
      'DELETE FROM %1$I WHERE ctid = ANY (ARRAY (
         SELECT ctid FROM %1$I WHERE ctid >= $1 AND ctid < $2 AND NOT EXISTS (
           SELECT FROM releases WHERE releases.id = release_id AND is_watched
         ) LIMIT $3 FOR UPDATE SKIP LOCKED
       ))', table_name
    ) USING format('(%s,0)', greatest(first_page, 0))::tid, format('(%s,0)', first_page + search_size)::tid,
      10 * rows_max;
  END LOOP;
END
$$;
