-- Labels of devices: how a write is merged into what is stored, and the positions of changes, which those of actions
-- (device-actions.sql) have as well.

-- A text's UTF-16 code units as far as order goes: those of two texts compare as JavaScript compares them.
CREATE OR REPLACE FUNCTION code_unit_order(key text) RETURNS integer[]
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  -- U+E000 to U+FFFF come after the surrogates, in which everything above them is written.
  SELECT coalesce(array_agg(
    CASE WHEN code BETWEEN 57344 AND 65535 THEN code + 1114112 ELSE code END ORDER BY place
  ), '{}')
  FROM (
    SELECT ascii(symbol) AS code, place
    FROM unnest(string_to_array(key, NULL)) WITH ORDINALITY AS split (symbol, place)
  ) AS coded
$$;

-- Labels with a write of labels merged into them. Of each key the newest write counts, the stored one on a
-- tie; a stored time above `ms_max` counts as that. A written value is a text, as of `written_at`, or an array of
-- the text and the time at which it was sent, in milliseconds since 1970: it may be older than the check-in, which
-- was merged with an earlier one of its device. There are at most 16 labels: those of the newest write first, then
-- by key in the order of their code units.
CREATE OR REPLACE FUNCTION merge_label_write(
  stored jsonb, stored_times jsonb, written jsonb, written_at bigint, ms_max bigint
) RETURNS written_labels LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT ROW (
    coalesce(jsonb_object_agg(kept.key, kept.value), '{}'),
    coalesce(jsonb_object_agg(kept.key, kept.at), '{}')
  )::written_labels
  FROM (
    SELECT newest.key, newest.value, newest.at
    FROM (
      SELECT DISTINCT ON (each_write.key COLLATE "C")
        each_write.key, each_write.value, each_write.at
      FROM (
        SELECT key, value, least((stored_times -> key)::bigint, ms_max) AS at, FALSE AS is_new
        FROM jsonb_each(stored)
        UNION ALL
        SELECT key, CASE jsonb_typeof(value) WHEN 'array' THEN value -> 0 ELSE value END,
          CASE jsonb_typeof(value) WHEN 'array' THEN least((value -> 1)::bigint, written_at)
            ELSE written_at END,
          TRUE
        FROM jsonb_each(written)
      ) AS each_write
      ORDER BY each_write.key COLLATE "C", each_write.at DESC, each_write.is_new
    ) AS newest
    ORDER BY newest.at = max(newest.at) OVER () DESC,
      CASE WHEN count(*) OVER () > 16 THEN code_unit_order(newest.key) END
    LIMIT 16
  ) AS kept
$$;

-- The times of labels, where those above a maximum become the maximum. In milliseconds since 1970.
CREATE OR REPLACE FUNCTION limit_label_times(label_times jsonb, ms_max bigint) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT coalesce(jsonb_object_agg(key, least(value::bigint, ms_max)), '{}')
  FROM jsonb_each(label_times)
$$;

-- Announces, until the transaction ends, that it may take positions above the one that was given last: a shared
-- lock whose number is that position. Must come before the first position is taken.
CREATE OR REPLACE FUNCTION announce_label_positions() RETURNS void LANGUAGE sql VOLATILE AS $$
  SELECT pg_advisory_xact_lock_shared((x'5ABE'::bigint << 48) | last_value) FROM label_positions
$$;

-- The position up to which no change of labels or actions is still to come: writers of several parts take positions side by
-- side, and commit in another order. Read before the changes, in a statement of its own. What takes a position
-- after the first line gets a higher one; what took one before has announced it, or has committed.
CREATE OR REPLACE FUNCTION settled_label_position() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  given bigint;
  announced bigint;
BEGIN
  SELECT last_value INTO given FROM label_positions;
  SELECT min((classid::bigint & 65535) << 32 | objid::bigint) INTO announced
  FROM pg_locks
  WHERE locktype = 'advisory' AND objsubid = 1 AND classid::bigint >> 16 = x'5ABE'::bigint
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database());
  RETURN least(given, announced);
END
$$;
