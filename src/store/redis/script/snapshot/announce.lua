-- Publishes an announcement. In a cluster the key chooses the publishing node, so all announcements of a
-- channel leave from one node and keep their order; a single server would not need a script.
--
-- KEYS[1]  snapshot key of the channel, for routing only
-- ARGV[1]  pub/sub channel
-- ARGV[2]  the announcement as JSON
-- Returns  number of subscribers on the publishing node

return redis.call('PUBLISH', ARGV[1], ARGV[2])
