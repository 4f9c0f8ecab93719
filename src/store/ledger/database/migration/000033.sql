-- The function that records check-ins hands what they changed to smaller ones, in arrays of these types; and what
-- versions before the first one left behind goes.

-- Devices of a part that changed their cell of the counts, or came into a new hour: from which cell, to which one.
CREATE TYPE cell_change AS (
  app_id text COLLATE "C",
  part smallint,
  is_new boolean,
  is_elsewhere boolean,
  is_in_new_hour boolean,
  -- Whether the old hour is yet to come.
  is_ahead boolean,
  new_hour timestamptz,
  new_channel text COLLATE "C",
  new_version text COLLATE "C",
  new_platform text COLLATE "C",
  old_hour timestamptz,
  old_channel text COLLATE "C",
  old_version text COLLATE "C",
  old_platform text COLLATE "C",
  devices bigint
);

-- What may be a first of a device with a release, or a change of its version.
CREATE TYPE device_news AS (
  app_id text COLLATE "C",
  device_id text COLLATE "C",
  part smallint,
  at timestamptz,
  is_new boolean,
  is_elsewhere boolean,
  -- Whether the check-in tells the version that the device is on record with after it.
  is_told boolean,
  may_revert boolean,
  channel text COLLATE "C",
  version text COLLATE "C",
  -- Release that was offered and was not the last one that was; null for none.
  offer text COLLATE "C",
  first_seen timestamptz,
  first_reported timestamptz,
  -- As they were before.
  old_version text COLLATE "C",
  old_version_changes integer,
  old_seen timestamptz
);

-- A first of a device with a release, as `release_signals` counts it.
CREATE TYPE release_first AS (
  release_id text COLLATE "C",
  device_id text COLLATE "C",
  part smallint,
  known integer,
  pushed integer,
  at timestamptz,
  is_reached boolean,
  is_offered boolean,
  is_installed boolean,
  is_reverted boolean
);

-- Plans from before a plan knew so much get what was assumed of them.
UPDATE rollout_plans SET state = (
  '{
    "isReached": false, "waitingFor": null, "blindSinceMs": null, "isPushed": false, "onBlind": "hold",
    "patienceMinutes": 1440, "raiseBetween": null, "preset": null
  }'::jsonb
  || jsonb_build_object('silentOthers', (
    SELECT jsonb_build_object('devices', devices, 'silent', devices * share, 'scale', 1)
    FROM (
      SELECT coalesce((state #>> '{guards,minimumDevices}')::numeric, 0) AS devices,
        (state ->> 'silentShare')::numeric AS share
    ) AS before
    WHERE share IS NOT NULL
  ))
  || state::jsonb
)::json
WHERE NOT state::jsonb ?& ARRAY [
  'isReached', 'waitingFor', 'blindSinceMs', 'isPushed', 'onBlind', 'patienceMinutes', 'raiseBetween', 'preset',
  'silentOthers'
];

-- Functions are made anew with this migration, as with every other (function/). These lose defaults of arguments that
-- every node gives: PostgreSQL takes a default away from no function that is there, so they go first.
DROP FUNCTION IF EXISTS record_checks(
  text[], text[], text[], text[], text[], text[], text[], bigint[], text[], text[], boolean, text[], text[],
  integer, integer, integer, text[], text[], integer, integer, text, text[]
);
DROP FUNCTION IF EXISTS record_check_ins(
  text[], text[], text[], text[], text[], text[], text[], bigint[], text[], text[], boolean, text[], text[],
  integer, integer, text, text[]
);
