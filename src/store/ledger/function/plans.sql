-- Rollout plans: their clock, and the choice of plans to drive. None of it uses JIT: without statistics, PostgreSQL
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
