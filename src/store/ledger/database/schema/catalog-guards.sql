-- Triggers of the catalog: values that only move one way, the editions of releases, and the sums of a channel.

CREATE FUNCTION refuse_revision_going_back() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.revision < OLD.revision THEN
    RAISE EXCEPTION 'the revision of channel % never goes back', OLD.id
      USING ERRCODE = 'check_violation', CONSTRAINT = 'channels_revision_rises';
  END IF;
  RETURN NEW;
END
$$;

CREATE TRIGGER refuse_revision_going_back BEFORE UPDATE ON channels
  FOR EACH ROW EXECUTE FUNCTION refuse_revision_going_back();

-- Guards the promises about a release here as well as in the code. The source of a release is also immutable, because
-- it decides whether assets may be added later.
CREATE FUNCTION refuse_release_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (NEW.id, NEW.channel_id, NEW.version, NEW.canonical_version, NEW.notes, NEW.created_at, NEW.source)
    IS DISTINCT FROM
    (OLD.id, OLD.channel_id, OLD.version, OLD.canonical_version, OLD.notes, OLD.created_at, OLD.source)
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

CREATE TRIGGER refuse_release_change BEFORE UPDATE ON releases
  FOR EACH ROW EXECUTE FUNCTION refuse_release_change();

CREATE FUNCTION note_publishing() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.status = 'published' AND NEW.published_at IS NULL THEN
    NEW.published_at := clock_timestamp();
  END IF;
  RETURN NEW;
END
$$;

CREATE TRIGGER note_publishing BEFORE INSERT OR UPDATE OF status ON releases
  FOR EACH ROW EXECUTE FUNCTION note_publishing();

-- Everything that may change in a snapshot's release except the mark "offered": for a first offer no node has to read
-- the release again.
CREATE FUNCTION renew_edition() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (NEW.status, NEW.rollout_pct, NEW.targets::text) IS DISTINCT FROM
    (OLD.status, OLD.rollout_pct, OLD.targets::text)
  THEN
    NEW.edition := new_edition();
  END IF;
  RETURN NEW;
END
$$;

CREATE TRIGGER renew_edition BEFORE UPDATE ON releases
  FOR EACH ROW EXECUTE FUNCTION renew_edition();

CREATE FUNCTION count_notes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.content_bytes := octet_length(NEW.notes);
  RETURN NEW;
END
$$;

CREATE TRIGGER count_notes BEFORE INSERT ON releases
  FOR EACH ROW EXECUTE FUNCTION count_notes();

CREATE FUNCTION artifact_bytes(artifacts) RETURNS integer LANGUAGE sql STABLE AS $$
  SELECT 64 + octet_length(concat($1.platform, $1.arch, $1.url, $1.sha512, $1.sha256, $1.signature,
    $1.format, $1.given_sha256, $1.sha1, $1.minimum_system_version, $1.build_version))
$$;

CREATE FUNCTION content_bytes_of(release_id text, notes text) RETURNS integer LANGUAGE sql STABLE AS $$
  SELECT (octet_length($2) + coalesce(sum(artifact_bytes(artifacts)), 0))::integer
  FROM artifacts WHERE artifacts.release_id = $1
$$;

CREATE FUNCTION count_artifacts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE releases SET edition = new_edition(), content_bytes = content_bytes_of(id, notes)
  WHERE id IN (SELECT release_id FROM changed);
  RETURN NULL;
END
$$;

CREATE TRIGGER count_inserted_artifacts AFTER INSERT ON artifacts
  REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_artifacts();
CREATE TRIGGER count_updated_artifacts AFTER UPDATE ON artifacts
  REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_artifacts();
CREATE TRIGGER count_deleted_artifacts AFTER DELETE ON artifacts
  REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_artifacts();

CREATE FUNCTION add_to_channel() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE channels SET release_count = release_count + sums.count,
    content_bytes = channels.content_bytes + sums.bytes
  FROM (
    SELECT channel_id, count(*) AS count, sum(content_bytes) AS bytes FROM added GROUP BY channel_id
  ) AS sums
  WHERE sums.channel_id = channels.id;
  RETURN NULL;
END
$$;

CREATE FUNCTION take_from_channel() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE channels SET release_count = release_count - sums.count,
    content_bytes = channels.content_bytes - sums.bytes
  FROM (
    SELECT channel_id, count(*) AS count, sum(content_bytes) AS bytes FROM taken GROUP BY channel_id
  ) AS sums
  WHERE sums.channel_id = channels.id;
  RETURN NULL;
END
$$;

-- A first offer changes no sum and must not touch the channel's row, which others have locked.
CREATE FUNCTION change_in_channel() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE channels SET content_bytes = channels.content_bytes + sums.bytes
  FROM (
    SELECT channel_id, sum(change) AS bytes
    FROM (
      SELECT channel_id, content_bytes AS change FROM added
      UNION ALL SELECT channel_id, -content_bytes FROM taken
    ) AS changes
    GROUP BY channel_id HAVING sum(change) <> 0
  ) AS sums
  WHERE sums.channel_id = channels.id;
  RETURN NULL;
END
$$;

CREATE TRIGGER add_to_channel AFTER INSERT ON releases
  REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION add_to_channel();
CREATE TRIGGER take_from_channel AFTER DELETE ON releases
  REFERENCING OLD TABLE AS taken FOR EACH STATEMENT EXECUTE FUNCTION take_from_channel();
CREATE TRIGGER change_in_channel AFTER UPDATE ON releases
  REFERENCING OLD TABLE AS taken NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION change_in_channel();
