-- Recording of the actions of devices that speak DDI.

-- Stores actions of devices on record that have a higher revision than the stored ones; where one is expected, only
-- those whose stored revision it is, 0 if there is none. A change that came before the device was erased does not
-- come back: `times` has the millisecond of each. Answers the places, from 1, of what was stored.
CREATE OR REPLACE FUNCTION write_device_actions(
  app_ids text[], device_ids text[], revisions integer[], expected integer[], times bigint[], texts text[],
  bars text[]
) RETURNS TABLE (place integer) LANGUAGE plpgsql VOLATILE
SET plan_cache_mode = force_generic_plan
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off SET jit = off
AS $$
#variable_conflict use_column
BEGIN
  PERFORM announce_label_positions();
  RETURN QUERY
  WITH present AS MATERIALIZED (
    SELECT item.place::integer AS place, item.app_id, item.device_id, item.revision, item.before,
      item.written, item.barred
    FROM unnest(app_ids, device_ids, revisions, expected, times, texts, bars) WITH ORDINALITY
      AS item (app_id, device_id, revision, before, ms, written, barred, place)
    JOIN devices ON devices.app_id = item.app_id AND devices.device_id = item.device_id
    LEFT JOIN device_actions AS known ON known.app_id = item.app_id AND known.device_id = item.device_id
    WHERE (item.before IS NULL OR item.before = coalesce(known.revision, 0))
      AND item.place NOT IN (SELECT erased.place FROM find_erased(app_ids, device_ids, times) AS erased)
    ORDER BY item.app_id, item.device_id
    -- Until the end of the transaction nobody deletes the device, whose actions would stay.
    FOR KEY SHARE OF devices
  ), stored AS (
    INSERT INTO device_actions AS known (app_id, device_id, revision, actions, barred, position)
    SELECT app_id, device_id, revision, written, barred::integer[], nextval('label_positions') FROM present
    ON CONFLICT (app_id, device_id) DO UPDATE SET
      revision = excluded.revision, actions = excluded.actions, barred = excluded.barred,
      position = excluded.position
    -- The row may be newer than the one that was looked at.
    WHERE known.revision < excluded.revision AND known.revision = coalesce((
      SELECT before FROM present
      WHERE present.app_id = excluded.app_id AND present.device_id = excluded.device_id
    ), known.revision)
    RETURNING app_id, device_id
  )
  SELECT present.place FROM present JOIN stored USING (app_id, device_id);
END
$$;
