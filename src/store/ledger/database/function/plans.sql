-- Rollout plans: their clock, the marks of regions, and the choice of plans to drive. None of it uses JIT: without statistics, PostgreSQL
-- overestimates these statements and compiles them for half a second each time.

-- Present time in milliseconds since 1970, and the counted time, from one reading of the clock.
CREATE OR REPLACE FUNCTION plan_time() RETURNS TABLE (now_ms bigint, counted_ms bigint)
LANGUAGE plpgsql VOLATILE SET jit = off AS $$
DECLARE
  present CONSTANT timestamptz(3) := clock_timestamp();
BEGIN
  RETURN QUERY SELECT (extract(epoch FROM present) * 1000)::bigint, plan_clock.counted_ms + least(
    greatest((extract(epoch FROM present - plan_clock.read_at) * 1000)::bigint, 0), 5000
  ) FROM plan_clock;
END
$$;

-- Advances the counted time, and returns both times. Concurrent nodes take turns. The time between two calls counts
-- once: `read_at` is the clock reading up to which time was counted.
CREATE OR REPLACE FUNCTION count_plan_time() RETURNS TABLE (now_ms bigint, counted_ms bigint)
LANGUAGE plpgsql VOLATILE SET jit = off AS $$
DECLARE
  present record;
BEGIN
  -- While no plan runs or watches, nobody needs the time.
  IF NOT EXISTS (SELECT FROM rollout_plans WHERE status IN ('running', 'held')) THEN
    RETURN QUERY SELECT * FROM plan_time();
    RETURN;
  END IF;
  -- The lock first, so that the clock is read after the node before has read it.
  PERFORM FROM plan_clock FOR UPDATE;
  SELECT * INTO present FROM plan_time();
  UPDATE plan_clock SET counted_ms = present.counted_ms,
    read_at = 'epoch'::timestamptz + present.now_ms * interval '1 millisecond';
  RETURN QUERY SELECT present.now_ms, present.counted_ms;
END
$$;

-- Begins a turn of a node: `count_plan_time()`, and whether the region is to note how far it has recorded its check-ins
-- (`note_region_mark`). That is so once a minute, which shows that the region is there, and while a plan with guards
-- waits for the mark.
CREATE OR REPLACE FUNCTION begin_plan_turn(of_region text)
RETURNS TABLE (now_ms bigint, counted_ms bigint, is_mark_wanted boolean)
LANGUAGE plpgsql VOLATILE SET jit = off AS $$
DECLARE
  present record;
BEGIN
  SELECT * INTO present FROM count_plan_time();
  RETURN QUERY SELECT present.now_ms, present.counted_ms, NOT EXISTS (
    SELECT FROM region_marks
    WHERE region = of_region AND noted_at > clock_timestamp() - interval '1 minute'
      AND recorded_ms >= coalesce((
        SELECT max(ends.ms) FROM rollout_plans AS plan
        CROSS JOIN LATERAL (SELECT coalesce(plan.due_ms, (plan.state ->> 'dueMs')::bigint) AS ms) AS ends
        WHERE plan.status = 'running' AND plan.is_guarded AND ends.ms <= present.counted_ms
      ), recorded_ms)
  );
END
$$;

-- Notes up to which counted time a region has recorded its check-ins. One of several calls within half a second is
-- enough. Time in which no region reaches the ledger makes none of them silent. Marks that are a day old go.
CREATE OR REPLACE FUNCTION note_region_mark(of_region text, recorded bigint) RETURNS void
LANGUAGE plpgsql VOLATILE SET jit = off AS $$
DECLARE
  present timestamptz(3);
  away interval;
BEGIN
  -- One call at a time.
  PERFORM FROM plan_clock FOR UPDATE;
  present := clock_timestamp();
  SELECT present - max(noted_at) INTO away FROM region_marks;
  IF away > interval '5 minutes' THEN
    UPDATE region_marks SET noted_at = noted_at + away;
  END IF;
  INSERT INTO region_marks VALUES (of_region, recorded, present)
  ON CONFLICT (region) DO UPDATE
    SET recorded_ms = greatest(region_marks.recorded_ms, excluded.recorded_ms), noted_at = present
    WHERE NOT region_marks.noted_at BETWEEN present - interval '500 milliseconds' AND present
      AND (region_marks.recorded_ms < excluded.recorded_ms
        OR NOT region_marks.noted_at BETWEEN present - interval '1 minute' AND present);
  DELETE FROM region_marks WHERE noted_at < present - interval '1 day';
END
$$;

-- Returns plans to drive: first those with a due step, then those whose guards were not checked for longest. Skips
-- plans that another node has taken within `taken_for_ms`. Columns of a running plan: `due_ms` is null while it waits
-- for a guard or for its hours, and `start_at_ms` is the next opening of those hours.
CREATE OR REPLACE FUNCTION plans_to_drive(check_ms bigint, taken_for_ms bigint, count_max integer)
RETURNS TABLE (plan_id text, app text, channel text, canonical_version text)
LANGUAGE plpgsql VOLATILE SET jit = off AS $$
DECLARE
  present record;
BEGIN
  SELECT * INTO present FROM plan_time();
  RETURN QUERY
  WITH found AS MATERIALIZED (
    SELECT plan.id, plan.release_id, plan.channel_id FROM rollout_plans AS plan
    JOIN releases ON releases.id = plan.release_id
    CROSS JOIN LATERAL (
      SELECT plan.status = 'running' AND plan.due_ms <= present.counted_ms
          OR plan.status IN ('scheduled', 'running') AND plan.start_at_ms <= present.now_ms AS is_due,
        plan.is_guarded AND coalesce(plan.checked_ms, 0) <= present.counted_ms - check_ms AS is_unchecked
    ) AS wants
    WHERE plan.status IN ('scheduled', 'running', 'held')
      AND coalesce(plan.taken_ms <= present.counted_ms - taken_for_ms, TRUE)
      AND CASE plan.status
        WHEN 'scheduled' THEN releases.status IN ('rolled_back', 'deprecated')
          OR releases.status = 'published' AND (wants.is_due OR plan.start_at_ms IS NULL)
        WHEN 'running' THEN wants.is_due OR wants.is_unchecked OR releases.status <> 'published'
        ELSE wants.is_unchecked AND releases.status = 'published'
      END
    ORDER BY wants.is_due IS NOT TRUE, coalesce(plan.checked_ms, 0), plan.id
    LIMIT count_max FOR UPDATE OF plan SKIP LOCKED
  ), taken AS (
    UPDATE rollout_plans SET taken_ms = present.counted_ms FROM found WHERE rollout_plans.id = found.id
  )
  SELECT found.id, apps.ref, channels.name, releases.canonical_version FROM found
  JOIN releases ON releases.id = found.release_id
  JOIN channels ON channels.id = found.channel_id
  JOIN apps ON apps.id = channels.app_id;
END
$$;
