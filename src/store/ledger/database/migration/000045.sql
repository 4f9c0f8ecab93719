-- The notes of a release from a code host may change until its first offer.
CREATE OR REPLACE FUNCTION refuse_release_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (NEW.id, NEW.channel_id, NEW.version, NEW.canonical_version, NEW.created_at, NEW.source)
    IS DISTINCT FROM
    (OLD.id, OLD.channel_id, OLD.version, OLD.canonical_version, OLD.created_at, OLD.source)
    OR (OLD.source <> 'webhook' OR OLD.offered_at IS NOT NULL) AND NEW.notes IS DISTINCT FROM OLD.notes
  THEN
    RAISE EXCEPTION 'release % is immutable', OLD.id
      USING ERRCODE = 'check_violation', CONSTRAINT = 'releases_immutable';
  END IF;
  IF OLD.offered_at IS NOT NULL AND NEW.offered_at IS DISTINCT FROM OLD.offered_at THEN
    RAISE EXCEPTION 'release % was offered, and that stays', OLD.id
      USING ERRCODE = 'check_violation', CONSTRAINT = 'releases_stay_offered';
  END IF;
  IF OLD.offered_at IS NOT NULL AND NEW.rollout_pct < OLD.rollout_pct THEN
    RAISE EXCEPTION 'release % was offered: its rollout can only increase', OLD.id
      USING ERRCODE = 'check_violation', CONSTRAINT = 'releases_rollout_rises';
  END IF;
  IF OLD.status = 'rolled_back' AND NEW.status <> 'rolled_back' THEN
    RAISE EXCEPTION 'release % was rolled back, and that stays', OLD.id
      USING ERRCODE = 'check_violation', CONSTRAINT = 'releases_stay_rolled_back';
  END IF;
  RETURN NEW;
END
$$;

-- Only statements that write notes: a first offer reads none.
CREATE FUNCTION renew_notes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.edition := new_edition();
  NEW.content_bytes := content_bytes_of(NEW.id, NEW.notes);
  RETURN NEW;
END
$$;

CREATE TRIGGER renew_notes BEFORE UPDATE OF notes ON releases
  FOR EACH ROW EXECUTE FUNCTION renew_notes();
