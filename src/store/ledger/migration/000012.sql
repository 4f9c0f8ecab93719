-- What a change of a channel looks up does not grow with the number of its releases.

-- Answers the index of a snapshot, and the newest releases by a scan backwards, without the table.
CREATE INDEX releases_in_order ON releases (channel_id, created_at, id) INCLUDE (edition, offered_at);
DROP INDEX releases_newest_first;

-- Mostly a few of a channel.
CREATE INDEX releases_never_offered ON releases (channel_id, id) WHERE offered_at IS NULL;

-- Sums over the releases of a channel: it has a bound.
ALTER TABLE channels
  ADD COLUMN release_count integer NOT NULL DEFAULT 0,
  ADD COLUMN content_bytes bigint NOT NULL DEFAULT 0;

UPDATE channels SET release_count = sums.count, content_bytes = sums.bytes
FROM (
  SELECT channel_id, count(*) AS count, sum(content_bytes) AS bytes FROM releases GROUP BY channel_id
) AS sums
WHERE sums.channel_id = channels.id;

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

-- A first offer changes no sum, and must not touch the channel: others hold its lock at the same time.
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
