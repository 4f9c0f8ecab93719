-- Removes the cached labels of devices, or the notes of them.
--
-- KEYS[i]  string or hash of one device
-- Returns  0, without meaning

for _, key in ipairs(KEYS) do
  redis.call('UNLINK', key)
end
return 0
