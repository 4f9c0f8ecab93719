-- Events of a code host concern the release of their id, and not whatever stands at the tag.

ALTER TABLE releases
  -- Which release of which code host it is; null where none announced it, or before this was kept.
  ADD COLUMN announced_by text COLLATE "C",
  ADD COLUMN host_id bigint,
  ADD COLUMN host_tag text,
  -- Times that the code host gave: of the publication, and of the upload of the last file.
  ADD COLUMN host_published_at timestamptz(3),
  ADD COLUMN host_files_at timestamptz(3),
  -- Whether it is paused, or kept from publishing itself, because its code host called it back, and for no
  -- other reason: then a release that is made anew goes on.
  ADD COLUMN called_back boolean NOT NULL DEFAULT false;

-- What events said of releases that were not here, or are gone, by their ids and the versions of their tags: the
-- newest of each channel.
CREATE TABLE host_memories (
  channel_id text COLLATE "C" NOT NULL REFERENCES channels (id),
  provider text COLLATE "C" NOT NULL,
  host_id bigint NOT NULL,
  canonical_version text COLLATE "C" NOT NULL,
  noted_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  -- Time here at which the deletion was heard of, and time there at which the deleted one was published.
  deleted_at timestamptz(3),
  host_published_at timestamptz(3),
  -- Time there of the change by which it was called back.
  called_back_at timestamptz(3),
  -- Artifacts that an edit told of before its release was announced, with the times of that event.
  files json,
  PRIMARY KEY (channel_id, provider, host_id, canonical_version)
);
