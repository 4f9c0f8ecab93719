-- Editions of releases: a node that has an edition need not read that release again, and a change of a
-- channel costs what changed. Triggers keep them, so that no path can forget to: nodes of an older version
-- write releases, too.

CREATE FUNCTION new_edition() RETURNS text LANGUAGE sql VOLATILE AS $$
  -- Random, so that a ledger which lost its last commits never gives the same one to something else.
  SELECT left(replace(gen_random_uuid()::text, '-', ''), 24)
$$;

ALTER TABLE releases
  ADD COLUMN edition text COLLATE "C" NOT NULL DEFAULT new_edition(),
  -- Bytes of the notes and of the artifacts' fields: a channel has a bound.
  ADD COLUMN content_bytes integer NOT NULL DEFAULT 0;

CREATE FUNCTION artifact_bytes(artifacts) RETURNS integer LANGUAGE sql STABLE AS $$
  SELECT 64 + octet_length(concat($1.platform, $1.arch, $1.url, $1.sha512, $1.sha256, $1.signature))
$$;

CREATE FUNCTION content_bytes_of(release_id text, notes text) RETURNS integer LANGUAGE sql STABLE AS $$
  SELECT (octet_length($2) + coalesce(sum(artifact_bytes(artifacts)), 0))::integer
  FROM artifacts WHERE artifacts.release_id = $1
$$;

UPDATE releases SET content_bytes = content_bytes_of(id, notes);

CREATE UNIQUE INDEX releases_by_edition ON releases (edition);

-- Everything that a snapshot has of a release and that can change, but for the mark "offered": a device's first
-- offer changes nothing that a node would have to read again.
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
