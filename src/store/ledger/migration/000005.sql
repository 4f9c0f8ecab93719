-- First offers in one call.
--
-- Records that a release is about to be offered for the first time. Returns true when the channel is at the
-- revision and the release is published and marked as offered; the mark is durable when the call has returned,
-- because it is a transaction of its own. A caller that stalls in the middle of the call holds no lock: the
-- server ends it alone.
--
-- The shared lock on the channel conflicts with the lock under which serving is changed, but not with other
-- first offers. If the first statement has to wait for a change, it compares the revision again with the row
-- that the change left, and finds none. The release is read in a statement of its own, which sees what was
-- committed before the lock was granted: in a volatile function every statement has a snapshot of its own.
--
-- Of several first offers at once one writes the mark; the others wait for it, and find it set. If the writer
-- fails, the next one writes.
--
-- `lock_timeout` bounds each wait for a lock, after which the call fails with 55P03. There is no
-- `statement_timeout` here: the server measures it from the arrival of the call, by the session's setting.
CREATE FUNCTION record_first_offer(of_channel text, of_release text, at_revision integer)
RETURNS boolean LANGUAGE plpgsql VOLATILE SET lock_timeout = '1s' AS $$
DECLARE
  is_offered boolean;
BEGIN
  PERFORM FROM channels WHERE id = of_channel AND revision = at_revision FOR SHARE;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  SELECT offered_at IS NOT NULL INTO is_offered FROM releases
    WHERE id = of_release AND channel_id = of_channel AND status = 'published';
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  IF NOT is_offered THEN
    UPDATE releases SET offered_at = clock_timestamp() WHERE id = of_release AND offered_at IS NULL;
  END IF;
  RETURN true;
END
$$;
