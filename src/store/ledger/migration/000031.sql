-- Whose record a database holds, and on which time line it is. Both are random names: the first tells a Redis, a
-- disk and an edge of another record from one's own, the second two copies of one record that both went on.

ALTER TABLE ledger_epoch
  -- Made when a node first uses the database, and kept by dumps, restores and copies; null before that.
  ADD COLUMN record text,
  -- Made anew with every rise of the epoch; null before the first one since this column is there.
  ADD COLUMN line text;

CREATE OR REPLACE FUNCTION refuse_epoch_going_back() RETURNS trigger LANGUAGE plpgsql AS $$
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
  -- Here, because nodes of an earlier version raise the epoch as well.
  IF NEW.epoch > OLD.epoch THEN
    NEW.line := gen_random_uuid()::text;
  END IF;
  RETURN NEW;
END
$$;
