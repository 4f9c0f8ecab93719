-- Notes labels that devices have sent and that are not on record yet. Of each label the newest note stays.
--
-- KEYS[i]  hash of one device, "<milliseconds> <value>" by the label's key
-- ARGV     for each key: milliseconds since 1970 at which the labels were sent, number of labels, and each
--          label's key and value
-- Returns  0, without meaning

-- Milliseconds to keep a hash, and the greatest number of labels in it, as LabelNoteStore states them: not
-- arguments, because each argument of each key takes time on the way of a check.
local life, most = 900000, 32

local at = 1
for _, key in ipairs(KEYS) do
  local sent, count = ARGV[at], tonumber(ARGV[at + 1])
  at = at + 2
  if redis.call('HLEN', key) + count > most then
    -- A device that sends ever other labels: the newest ones count first.
    redis.call('UNLINK', key)
  end
  for _ = 1, count do
    local known = redis.call('HGET', key, ARGV[at])
    if not known or tonumber(string.match(known, '^%d+')) <= tonumber(sent) then
      redis.call('HSET', key, ARGV[at], sent .. ' ' .. ARGV[at + 1])
    end
    at = at + 2
  end
  redis.call('PEXPIRE', key, life)
end
return 0
