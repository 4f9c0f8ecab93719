-- The ledger's time line. Revisions order the states of a channel only while the database moves forward. When
-- it went back (a standby without the last commits took over, a backup was restored), the epoch is raised, and
-- (epoch, revision) orders the states across that.

CREATE TABLE ledger_epoch (
  -- One row.
  is_present boolean PRIMARY KEY DEFAULT TRUE CHECK (is_present),
  epoch integer NOT NULL DEFAULT 0 CHECK (epoch >= 0),
  -- Names the server, its time line and the database for which the epoch was set; null before a node has set
  -- it. Two identities can only be compared for being the same: they have no order.
  identity text,
  raised_at timestamptz(3)
);

INSERT INTO ledger_epoch DEFAULT VALUES;

CREATE FUNCTION refuse_epoch_going_back() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.epoch < OLD.epoch THEN
    RAISE EXCEPTION 'the epoch of the ledger never goes back'
      USING ERRCODE = 'check_violation', CONSTRAINT = 'ledger_epoch_rises';
  END IF;
  RETURN NEW;
END
$$;

CREATE TRIGGER refuse_epoch_going_back BEFORE UPDATE ON ledger_epoch
  FOR EACH ROW EXECUTE FUNCTION refuse_epoch_going_back();

-- Present epoch, for the statements that read or change what a channel serves.
CREATE FUNCTION present_epoch() RETURNS integer LANGUAGE sql STABLE AS $$
  SELECT epoch FROM ledger_epoch
$$;

-- As in 000005; a revision of another epoch is another state of the channel.
DROP FUNCTION record_first_offer(text, text, integer);

CREATE FUNCTION record_first_offer(
  of_channel text, of_release text, at_epoch integer, at_revision integer
) RETURNS boolean LANGUAGE plpgsql VOLATILE SET lock_timeout = '1s' AS $$
DECLARE
  is_offered boolean;
BEGIN
  PERFORM FROM channels WHERE id = of_channel AND revision = at_revision FOR SHARE;
  IF NOT FOUND OR present_epoch() <> at_epoch THEN
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
