-- DDI: how its devices authenticate to an app, and the settings of a channel that answers them; both null where it is
-- not served. Nodes of the version before serve none, and write neither. Json, not jsonb, to keep the order of keys.
ALTER TABLE apps ADD COLUMN ddi_auth text COLLATE "C" CHECK (ddi_auth IN ('open', 'token'));
ALTER TABLE channels ADD COLUMN ddi json CHECK (json_typeof(ddi) = 'object');
