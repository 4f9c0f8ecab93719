-- Labels of a check-in may be older than the check-in: it was merged with an earlier one of its device before it
-- was recorded, and a report that came between the two is newer than they are.

-- Labels with a write of labels merged into them. Of each key the newest write counts, the stored one on a
-- tie; a stored time above `ms_max` counts as that. A written value is a text, as of `written_at`, or an array of
-- the text and the time at which it was sent, in milliseconds since 1970. There are at most 16: those of the
-- newest write first, then by key in the order of their code units.
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
