-- Publishes an announcement. A plain PUBLISH would do on one server; in a cluster the key decides which
-- node publishes, so the announcements of one channel leave from one node and keep their order.
--
-- KEYS[1]  snapshot key of the announced channel, for routing only
-- ARGV[1]  pub/sub channel
-- ARGV[2]  the announcement as JSON
-- Returns  the number of subscribers on the node that published

return redis.call('PUBLISH', ARGV[1], ARGV[2])
