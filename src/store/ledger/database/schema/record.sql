-- Identity and epoch of the record. Revisions order the states of a channel only while the database moves forward.
-- When it went back (a standby without the last commits took over, a backup was restored), the epoch is raised, and
-- (epoch, revision) orders the states across that.

CREATE TABLE ledger_epoch (
  -- One row.
  is_present boolean PRIMARY KEY DEFAULT TRUE CHECK (is_present),
  epoch integer NOT NULL DEFAULT 0 CHECK (epoch >= 0),
  -- Server, time line and database for which the epoch was set; null before a node has set it. Identities have no
  -- order and can only be compared for equality.
  identity text,
  raised_at timestamptz(3),
  -- Random name of the record, by which a node recognises a Redis, a disk or an edge of another record. Created when
  -- a node first uses the database, and kept by dumps, restores and copies; null before.
  record text,
  -- Random name of the time line, which distinguishes two copies of one record that both went on. Renewed with every
  -- rise of the epoch; null before the first.
  line text
);

INSERT INTO ledger_epoch DEFAULT VALUES;

CREATE FUNCTION refuse_epoch_going_back() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.epoch < OLD.epoch THEN
    RAISE EXCEPTION 'the epoch of the ledger never goes back'
      USING ERRCODE = 'check_violation', CONSTRAINT = 'ledger_epoch_rises';
  END IF;
  -- An operator may take the name away, so that a copy becomes a record of its own.
  IF NEW.record <> OLD.record THEN
    RAISE EXCEPTION 'the record of a ledger keeps its name'
      USING ERRCODE = 'check_violation', CONSTRAINT = 'ledger_record_stays';
  END IF;
  -- Here, so that nobody who raises the epoch forgets it.
  IF NEW.epoch > OLD.epoch THEN
    NEW.line := gen_random_uuid()::text;
  END IF;
  RETURN NEW;
END
$$;

CREATE TRIGGER refuse_epoch_going_back BEFORE UPDATE ON ledger_epoch
  FOR EACH ROW EXECUTE FUNCTION refuse_epoch_going_back();
