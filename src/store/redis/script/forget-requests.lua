-- Empties the window of `count-request.lua`.
--
-- KEYS[1]  list: microseconds of the allowed requests
-- Returns  number of keys deleted

return redis.call('DEL', KEYS[1])
