-- Locks under which the served state of channels changes, and first offers.

CREATE OR REPLACE FUNCTION present_epoch() RETURNS integer LANGUAGE sql STABLE AS $$
  SELECT epoch FROM ledger_epoch
$$;

-- Locks a channel, all its followers, and another channel if given, in the order of their ids, so that transactions
-- cannot deadlock. Returns the channel and its followers.
--
-- Letting a channel follow another one takes an exclusive lock on the app, everything else a shared one: so the
-- followers stay the same from the first lock to the end of the transaction. They are read in a separate statement,
-- which sees what was committed before the lock on the app was granted, because every statement of a volatile
-- function has its own snapshot.
--
-- NO KEY UPDATE, because keys never change: for a second update of a follower in one transaction, PostgreSQL checks
-- the followed channel's key again, and that must not wait.
CREATE OR REPLACE FUNCTION lock_channel(of_app text, named text, beside text)
RETURNS TABLE (id text, name text) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  target text;
BEGIN
  PERFORM FROM apps WHERE apps.id = of_app FOR KEY SHARE;
  SELECT channels.id INTO target FROM channels
    WHERE channels.app_id = of_app AND channels.name = named;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  PERFORM FROM channels
    WHERE channels.id = target OR channels.id = beside OR channels.follows = target
    ORDER BY channels.id FOR NO KEY UPDATE;
  RETURN QUERY SELECT channels.id, channels.name FROM channels
    WHERE channels.id = target OR channels.follows = target;
END
$$;

-- Records that a release is about to be offered for the first time, on its channel or a follower of it. Returns true
-- when the channel is at the revision and the release is published and marked as offered. The call is a transaction
-- of its own, so the mark is durable when it returns, and a caller that stalls during the call holds no lock.
--
-- The shared lock on the channel conflicts with the lock of serving control, but not with other first offers. If the
-- first statement waits for a change, it compares the revision again with the changed row, and finds none. The lock
-- on a follower alone is enough: a change of the followed channel locks its followers first, and raises their
-- revisions. The release is read in a separate statement, which sees what was committed before the lock was granted.
--
-- Of several concurrent first offers one writes the mark; the others wait for it and find it set. If the writer
-- fails, the next one writes.
--
-- `lock_timeout` limits each wait for a lock; then the call fails with 55P03. There is no `statement_timeout` here,
-- because the server measures it from the arrival of the call, by the session's setting.
CREATE OR REPLACE FUNCTION record_first_offer(
  of_channel text, of_release text, at_epoch integer, at_revision integer
) RETURNS boolean LANGUAGE plpgsql VOLATILE SET lock_timeout = '1s' AS $$
DECLARE
  followed text;
  is_offered boolean;
BEGIN
  SELECT follows INTO followed FROM channels
    WHERE id = of_channel AND revision = at_revision FOR SHARE;
  IF NOT FOUND OR present_epoch() <> at_epoch THEN
    RETURN false;
  END IF;
  SELECT offered_at IS NOT NULL INTO is_offered FROM releases
    WHERE id = of_release AND channel_id IN (of_channel, followed) AND status = 'published';
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  IF NOT is_offered THEN
    UPDATE releases SET offered_at = clock_timestamp() WHERE id = of_release AND offered_at IS NULL;
  END IF;
  RETURN true;
END
$$;
