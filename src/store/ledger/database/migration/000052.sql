-- Every change of a device's actions gets a position, from the sequence of the changes of labels: nodes of another
-- region, and those whose Redis was away, find by it what they do not have.

DROP FUNCTION IF EXISTS write_device_actions(text[], text[], integer[], integer[], bigint[], text[], text[], boolean);

DROP INDEX device_actions_unshared;
ALTER TABLE device_actions DROP COLUMN is_unshared;
-- 0: from before this migration.
ALTER TABLE device_actions ADD COLUMN position bigint NOT NULL DEFAULT 0;
CREATE INDEX device_actions_by_position ON device_actions (position) WHERE position > 0;
