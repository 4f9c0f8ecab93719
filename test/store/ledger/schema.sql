CREATE TYPE public.cell_change AS (
	app_id text COLLATE pg_catalog."C",
	part smallint,
	is_new boolean,
	is_elsewhere boolean,
	is_in_new_hour boolean,
	is_ahead boolean,
	new_hour timestamp with time zone,
	new_channel text COLLATE pg_catalog."C",
	new_version text COLLATE pg_catalog."C",
	new_platform text COLLATE pg_catalog."C",
	old_hour timestamp with time zone,
	old_channel text COLLATE pg_catalog."C",
	old_version text COLLATE pg_catalog."C",
	old_platform text COLLATE pg_catalog."C",
	devices bigint
);

CREATE TYPE public.device_news AS (
	app_id text COLLATE pg_catalog."C",
	device_id text COLLATE pg_catalog."C",
	part smallint,
	at timestamp with time zone,
	is_new boolean,
	is_elsewhere boolean,
	is_told boolean,
	may_revert boolean,
	channel text COLLATE pg_catalog."C",
	version text COLLATE pg_catalog."C",
	offer text COLLATE pg_catalog."C",
	first_seen timestamp with time zone,
	first_reported timestamp with time zone,
	old_version text COLLATE pg_catalog."C",
	old_version_changes integer,
	old_seen timestamp with time zone
);

CREATE TYPE public.release_first AS (
	release_id text COLLATE pg_catalog."C",
	device_id text COLLATE pg_catalog."C",
	part smallint,
	known integer,
	pushed integer,
	at timestamp with time zone,
	is_reached boolean,
	is_offered boolean,
	is_installed boolean,
	is_reverted boolean
);

CREATE TYPE public.written_labels AS (
	labels jsonb,
	times jsonb
);

CREATE FUNCTION public.add_to_channel() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
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

CREATE TABLE public.artifacts (
    release_id text NOT NULL COLLATE pg_catalog."C",
    "position" integer NOT NULL,
    platform text NOT NULL,
    arch text,
    url text,
    sha512 text,
    size bigint,
    signature text,
    sha256 text COLLATE pg_catalog."C",
    format text,
    given_sha256 text,
    sha1 text,
    minimum_system_version text,
    build_version text,
    CONSTRAINT artifacts_given_sha256_check CHECK ((given_sha256 ~ '^[0-9a-f]{64}$'::text)),
    CONSTRAINT artifacts_sha1_check CHECK ((sha1 ~ '^[0-9a-f]{40}$'::text)),
    CONSTRAINT artifacts_sha256_check CHECK ((sha256 ~ '^[0-9a-f]{64}$'::text))
);

CREATE FUNCTION public.artifact_bytes(public.artifacts) RETURNS integer
    LANGUAGE sql STABLE
    AS $_$
  SELECT 64 + octet_length(concat($1.platform, $1.arch, $1.url, $1.sha512, $1.sha256, $1.signature,
    $1.format, $1.given_sha256, $1.sha1, $1.minimum_system_version, $1.build_version))
$_$;

CREATE FUNCTION public.change_in_channel() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
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

CREATE FUNCTION public.content_bytes_of(release_id text, notes text) RETURNS integer
    LANGUAGE sql STABLE
    AS $_$
  SELECT (octet_length($2) + coalesce(sum(artifact_bytes(artifacts)), 0))::integer
  FROM artifacts WHERE artifacts.release_id = $1
$_$;

CREATE FUNCTION public.count_artifacts() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  UPDATE releases SET edition = new_edition(), content_bytes = content_bytes_of(id, notes)
  WHERE id IN (SELECT release_id FROM changed);
  RETURN NULL;
END
$$;

CREATE FUNCTION public.count_notes() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  NEW.content_bytes := octet_length(NEW.notes);
  RETURN NEW;
END
$$;

CREATE FUNCTION public.device_part(app_id text, device_id text) RETURNS smallint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $_$
  -- One expression, so that it is compiled into the statements that call it.
  SELECT ((
    (hashtextextended($1, 8816678312871386365) & 4294967295) + 367372515
    # (hashtextextended($2, 8816678312871386365) & 4294967295) + 367372515
      + ((hashtextextended($1, 8816678312871386365) & 4294967295) + 367372515 >> 7)
  ) & 15)::smallint
$_$;

CREATE FUNCTION public.device_place(app_id text, channel text) RETURNS integer
    LANGUAGE sql IMMUTABLE
    AS $_$
  SELECT hashtext($1 || ' ' || $2)
$_$;

CREATE FUNCTION public.forget_release_devices() RETURNS trigger
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
BEGIN
  DELETE FROM release_devices USING gone
  CROSS JOIN LATERAL (
    SELECT ctid AS left_row FROM release_devices AS reached
    WHERE reached.app_id = gone.app_id AND reached.device_id = gone.device_id OFFSET 0
  ) AS found
  WHERE release_devices.ctid = left_row;
  RETURN NULL;
END
$$;

CREATE FUNCTION public.new_edition() RETURNS text
    LANGUAGE sql
    AS $$
  -- Random, so that a ledger which lost its last commits never gives the same one to something else.
  SELECT left(replace(gen_random_uuid()::text, '-', ''), 24)
$$;

CREATE FUNCTION public.note_publishing() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  IF NEW.status = 'published' AND NEW.published_at IS NULL THEN
    NEW.published_at := clock_timestamp();
  END IF;
  RETURN NEW;
END
$$;

CREATE FUNCTION public.number_release() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  INSERT INTO release_numbers AS numbers (app_id, last)
  SELECT app_id, 1 FROM channels WHERE id = NEW.channel_id
  ON CONFLICT (app_id) DO UPDATE SET last = numbers.last + 1
  RETURNING last INTO NEW.number;
  RETURN NEW;
END
$$;

CREATE TABLE public.device_writers (
    part smallint NOT NULL,
    writer text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    turns bigint DEFAULT 0 NOT NULL,
    awaited bigint DEFAULT 0 NOT NULL
)
WITH (fillfactor='10');

CREATE FUNCTION public.refuse_epoch_going_back() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  IF NEW.epoch < OLD.epoch THEN
    RAISE EXCEPTION 'the epoch of the ledger never goes back'
      USING ERRCODE = 'check_violation', CONSTRAINT = 'ledger_epoch_rises';
  END IF;
  -- An operator may take the name away, so that a copy becomes a record of its own.
  IF NEW.record <> OLD.record THEN
    RAISE EXCEPTION 'the record of a ledger keeps its name'
      USING ERRCODE = 'check_violation', CONSTRAINT = 'ledger_record_stays';
  END IF;
  -- Here, so that nobody who raises the epoch forgets it.
  IF NEW.epoch > OLD.epoch THEN
    NEW.line := gen_random_uuid()::text;
  END IF;
  RETURN NEW;
END
$$;

CREATE FUNCTION public.refuse_new_number() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  IF NEW.number IS DISTINCT FROM OLD.number THEN
    RAISE EXCEPTION 'release % keeps its number', OLD.id
      USING ERRCODE = 'check_violation', CONSTRAINT = 'releases_immutable';
  END IF;
  RETURN NEW;
END
$$;

CREATE FUNCTION public.refuse_release_change() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  IF (NEW.id, NEW.channel_id, NEW.version, NEW.canonical_version, NEW.created_at, NEW.source)
    IS DISTINCT FROM
    (OLD.id, OLD.channel_id, OLD.version, OLD.canonical_version, OLD.created_at, OLD.source)
    OR (OLD.source <> 'webhook' OR OLD.offered_at IS NOT NULL) AND NEW.notes IS DISTINCT FROM OLD.notes
  THEN
    RAISE EXCEPTION 'release % is immutable', OLD.id
      USING ERRCODE = 'check_violation', CONSTRAINT = 'releases_immutable';
  END IF;
  IF OLD.offered_at IS NOT NULL AND NEW.offered_at IS DISTINCT FROM OLD.offered_at THEN
    RAISE EXCEPTION 'release % was offered, and that stays', OLD.id
      USING ERRCODE = 'check_violation', CONSTRAINT = 'releases_stay_offered';
  END IF;
  IF OLD.offered_at IS NOT NULL AND NEW.rollout_pct < OLD.rollout_pct THEN
    RAISE EXCEPTION 'release % was offered: its rollout can only increase', OLD.id
      USING ERRCODE = 'check_violation', CONSTRAINT = 'releases_rollout_rises';
  END IF;
  IF OLD.status = 'rolled_back' AND NEW.status <> 'rolled_back' THEN
    RAISE EXCEPTION 'release % was rolled back, and that stays', OLD.id
      USING ERRCODE = 'check_violation', CONSTRAINT = 'releases_stay_rolled_back';
  END IF;
  RETURN NEW;
END
$$;

CREATE FUNCTION public.refuse_revision_going_back() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  IF NEW.revision < OLD.revision THEN
    RAISE EXCEPTION 'the revision of channel % never goes back', OLD.id
      USING ERRCODE = 'check_violation', CONSTRAINT = 'channels_revision_rises';
  END IF;
  RETURN NEW;
END
$$;

CREATE FUNCTION public.renew_edition() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  IF (NEW.status, NEW.rollout_pct, NEW.targets::text, NEW.retried_at) IS DISTINCT FROM
    (OLD.status, OLD.rollout_pct, OLD.targets::text, OLD.retried_at)
  THEN
    NEW.edition := new_edition();
  END IF;
  RETURN NEW;
END
$$;

CREATE FUNCTION public.renew_notes() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  NEW.edition := new_edition();
  NEW.content_bytes := content_bytes_of(NEW.id, NEW.notes);
  RETURN NEW;
END
$$;

CREATE FUNCTION public.take_from_channel() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
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

CREATE TABLE public.accounts (
    id text NOT NULL COLLATE pg_catalog."C",
    email text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL,
    password_hash text,
    created_at timestamp(3) with time zone DEFAULT clock_timestamp() NOT NULL,
    password_number integer DEFAULT 1 NOT NULL
);

CREATE UNLOGGED TABLE public.admissions (
    minute timestamp(0) with time zone NOT NULL,
    source text NOT NULL COLLATE pg_catalog."C",
    devices integer NOT NULL
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_cost_delay='0');

CREATE TABLE public.api_keys (
    id text NOT NULL COLLATE pg_catalog."C",
    organization_id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL,
    prefix text NOT NULL COLLATE pg_catalog."C",
    secret_hash text NOT NULL,
    created_at timestamp(3) with time zone DEFAULT clock_timestamp() NOT NULL,
    revoked_at timestamp(3) with time zone,
    created_by text,
    last_used_at timestamp(3) with time zone,
    app_ids text[],
    may text[],
    expires_at timestamp with time zone,
    last_used_from text,
    CONSTRAINT api_keys_app_ids_check CHECK (((cardinality(app_ids) >= 1) AND (cardinality(app_ids) <= 50))),
    CONSTRAINT api_keys_may_check CHECK (((cardinality(may) > 0) AND (may <@ '{read,publish,control,fleet}'::text[])))
);

CREATE TABLE public.approvals (
    id text NOT NULL COLLATE pg_catalog."C",
    organization_id text NOT NULL COLLATE pg_catalog."C",
    app_id text NOT NULL COLLATE pg_catalog."C",
    channel_id text COLLATE pg_catalog."C",
    version text,
    operation text NOT NULL,
    body json NOT NULL,
    asked_on json NOT NULL,
    requested_by text NOT NULL,
    key_id text COLLATE pg_catalog."C",
    account_id text COLLATE pg_catalog."C",
    needed_role text COLLATE pg_catalog."C",
    reason text,
    effect json,
    status text DEFAULT 'pending'::text NOT NULL COLLATE pg_catalog."C",
    created_at timestamp(3) with time zone DEFAULT clock_timestamp() NOT NULL,
    expires_at timestamp(3) with time zone NOT NULL,
    decided_by text,
    decided_at timestamp(3) with time zone,
    result json,
    CONSTRAINT approvals_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'approved'::text, 'declined'::text, 'expired'::text, 'failed'::text])))
);

CREATE TABLE public.apps (
    id text NOT NULL COLLATE pg_catalog."C",
    organization_id text NOT NULL COLLATE pg_catalog."C",
    ref text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL,
    created_at timestamp(3) with time zone DEFAULT clock_timestamp() NOT NULL,
    archived_at timestamp(3) with time zone,
    ddi_auth text COLLATE pg_catalog."C",
    CONSTRAINT apps_ddi_auth_check CHECK ((ddi_auth = ANY (ARRAY['open'::text, 'token'::text])))
);

CREATE TABLE public.audit_entries (
    id bigint NOT NULL,
    organization_id text NOT NULL COLLATE pg_catalog."C",
    at timestamp(3) with time zone DEFAULT clock_timestamp() NOT NULL,
    actor text NOT NULL,
    action text NOT NULL,
    subject text NOT NULL,
    before json,
    after json,
    request_id text,
    reason text
);
ALTER TABLE public.audit_entries ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.audit_entries_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.awaited_devices (
    part smallint NOT NULL,
    number bigint NOT NULL,
    at timestamp(0) with time zone NOT NULL,
    app_id text NOT NULL COLLATE pg_catalog."C",
    device_id text NOT NULL COLLATE pg_catalog."C"
);

CREATE TABLE public.channels (
    id text NOT NULL COLLATE pg_catalog."C",
    app_id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    revision integer DEFAULT 1 NOT NULL,
    minimum_supported_version text,
    default_rollout integer DEFAULT 100 NOT NULL,
    update_mode text DEFAULT 'optional'::text NOT NULL,
    created_at timestamp(3) with time zone DEFAULT clock_timestamp() NOT NULL,
    release_count integer DEFAULT 0 NOT NULL,
    content_bytes bigint DEFAULT 0 NOT NULL,
    require_signature boolean DEFAULT false NOT NULL,
    follows text COLLATE pg_catalog."C",
    approvals text DEFAULT 'none'::text NOT NULL,
    approval_days integer DEFAULT 7 NOT NULL,
    ddi json,
    CONSTRAINT channels_approval_days_check CHECK (((approval_days >= 1) AND (approval_days <= 30))),
    CONSTRAINT channels_approvals_check CHECK ((approvals = ANY (ARRAY['none'::text, 'one'::text]))),
    CONSTRAINT channels_ddi_check CHECK ((json_typeof(ddi) = 'object'::text)),
    CONSTRAINT channels_default_rollout_check CHECK (((default_rollout >= 0) AND (default_rollout <= 100))),
    CONSTRAINT channels_update_mode_check CHECK ((update_mode = ANY (ARRAY['optional'::text, 'recommended'::text])))
);

CREATE TABLE public.ddi_gateway_tokens (
    id text NOT NULL COLLATE pg_catalog."C",
    app_id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL,
    token_hash text NOT NULL COLLATE pg_catalog."C",
    created_at timestamp(3) with time zone DEFAULT clock_timestamp() NOT NULL,
    created_by text NOT NULL,
    last_used_at timestamp(3) with time zone,
    revoked_at timestamp(3) with time zone
);

CREATE TABLE public.ddi_secrets (
    id text NOT NULL COLLATE pg_catalog."C",
    app_id text NOT NULL COLLATE pg_catalog."C",
    sealed_secret text NOT NULL,
    created_at timestamp(3) with time zone DEFAULT clock_timestamp() NOT NULL,
    created_by text NOT NULL
);

CREATE TABLE public.device_actions (
    app_id text NOT NULL COLLATE pg_catalog."C",
    device_id text NOT NULL COLLATE pg_catalog."C",
    revision integer NOT NULL,
    actions text NOT NULL,
    barred integer[] DEFAULT '{}'::integer[] NOT NULL,
    "position" bigint DEFAULT 0 NOT NULL
)
WITH (fillfactor='60', autovacuum_vacuum_scale_factor='0.02');

CREATE TABLE public.device_versions (
    app_id text NOT NULL COLLATE pg_catalog."C",
    device_id text NOT NULL COLLATE pg_catalog."C",
    slot smallint NOT NULL,
    at timestamp(3) with time zone NOT NULL,
    from_version text COLLATE pg_catalog."C",
    to_version text NOT NULL COLLATE pg_catalog."C"
);

CREATE TABLE public.device_versions_trim (
    is_only boolean DEFAULT true NOT NULL,
    app_id text NOT NULL COLLATE pg_catalog."C",
    device_id text NOT NULL COLLATE pg_catalog."C",
    slot smallint NOT NULL,
    CONSTRAINT device_versions_trim_is_only_check CHECK (is_only)
);

CREATE TABLE public.devices (
    app_id text NOT NULL COLLATE pg_catalog."C",
    device_id text NOT NULL COLLATE pg_catalog."C",
    first_seen timestamp(3) with time zone NOT NULL,
    last_seen timestamp(3) with time zone NOT NULL,
    last_offered_at timestamp(3) with time zone,
    labels_revision integer DEFAULT 0 NOT NULL,
    version_changes integer DEFAULT 0 NOT NULL,
    channel text NOT NULL COLLATE pg_catalog."C",
    version text NOT NULL COLLATE pg_catalog."C",
    platform text NOT NULL COLLATE pg_catalog."C",
    arch text NOT NULL COLLATE pg_catalog."C",
    source text NOT NULL COLLATE pg_catalog."C",
    last_offered_release_id text COLLATE pg_catalog."C",
    labels jsonb DEFAULT '{}'::jsonb NOT NULL,
    label_times jsonb DEFAULT '{}'::jsonb NOT NULL,
    labels_position bigint,
    client text DEFAULT ''::text NOT NULL,
    bundle text DEFAULT ''::text NOT NULL,
    first_reported timestamp(3) with time zone,
    network bigint,
    CONSTRAINT devices_source_check CHECK ((source = ANY (ARRAY['pull'::text, 'push'::text])))
)
PARTITION BY HASH (app_id, device_id);

CREATE TABLE public.devices_0 (
    app_id text NOT NULL COLLATE pg_catalog."C",
    device_id text NOT NULL COLLATE pg_catalog."C",
    first_seen timestamp(3) with time zone NOT NULL,
    last_seen timestamp(3) with time zone NOT NULL,
    last_offered_at timestamp(3) with time zone,
    labels_revision integer DEFAULT 0 NOT NULL,
    version_changes integer DEFAULT 0 NOT NULL,
    channel text NOT NULL COLLATE pg_catalog."C",
    version text NOT NULL COLLATE pg_catalog."C",
    platform text NOT NULL COLLATE pg_catalog."C",
    arch text NOT NULL COLLATE pg_catalog."C",
    source text NOT NULL COLLATE pg_catalog."C",
    last_offered_release_id text COLLATE pg_catalog."C",
    labels jsonb DEFAULT '{}'::jsonb NOT NULL,
    label_times jsonb DEFAULT '{}'::jsonb NOT NULL,
    labels_position bigint,
    client text DEFAULT ''::text NOT NULL,
    bundle text DEFAULT ''::text NOT NULL,
    first_reported timestamp(3) with time zone,
    network bigint,
    CONSTRAINT devices_source_check CHECK ((source = ANY (ARRAY['pull'::text, 'push'::text])))
)
WITH (fillfactor='70', autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_insert_scale_factor='0.05', autovacuum_analyze_scale_factor='0.05', autovacuum_vacuum_cost_delay='0');

CREATE TABLE public.edge_tokens (
    id text NOT NULL COLLATE pg_catalog."C",
    organization_id text COLLATE pg_catalog."C",
    name text NOT NULL,
    prefix text NOT NULL COLLATE pg_catalog."C",
    secret_hash text NOT NULL,
    created_at timestamp(3) with time zone DEFAULT clock_timestamp() NOT NULL,
    created_by text NOT NULL,
    revoked_at timestamp(3) with time zone,
    refusal_told_at timestamp(3) with time zone
);

CREATE TABLE public.erased_devices (
    app_id text NOT NULL COLLATE pg_catalog."C",
    device_hash text NOT NULL COLLATE pg_catalog."C",
    erased_at timestamp(3) with time zone NOT NULL
);

CREATE TABLE public.failed_sign_ins (
    account_id text NOT NULL COLLATE pg_catalog."C",
    failures bigint NOT NULL,
    told_at timestamp(3) with time zone NOT NULL
);

CREATE TABLE public.fleet_count_parts (
    app_id text NOT NULL COLLATE pg_catalog."C",
    channel text NOT NULL COLLATE pg_catalog."C",
    version text NOT NULL COLLATE pg_catalog."C",
    platform text NOT NULL COLLATE pg_catalog."C",
    devices bigint NOT NULL,
    part smallint NOT NULL
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_cost_delay='0');

CREATE VIEW public.fleet_counts AS
 SELECT fleet_count_parts.app_id,
    fleet_count_parts.channel,
    fleet_count_parts.version,
    fleet_count_parts.platform,
    (sum(fleet_count_parts.devices))::bigint AS devices
   FROM public.fleet_count_parts
  GROUP BY fleet_count_parts.app_id, fleet_count_parts.channel, fleet_count_parts.version, fleet_count_parts.platform
 HAVING (sum(fleet_count_parts.devices) > (0)::numeric);

CREATE TABLE public.fleet_hour_parts (
    app_id text NOT NULL COLLATE pg_catalog."C",
    hour timestamp(0) with time zone NOT NULL,
    channel text NOT NULL COLLATE pg_catalog."C",
    version text NOT NULL COLLATE pg_catalog."C",
    platform text NOT NULL COLLATE pg_catalog."C",
    devices bigint NOT NULL,
    part smallint NOT NULL
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_cost_delay='0');

CREATE VIEW public.fleet_hours AS
 SELECT fleet_hour_parts.app_id,
    fleet_hour_parts.hour,
    fleet_hour_parts.channel,
    fleet_hour_parts.version,
    fleet_hour_parts.platform,
    (sum(fleet_hour_parts.devices))::bigint AS devices
   FROM public.fleet_hour_parts
  GROUP BY fleet_hour_parts.app_id, fleet_hour_parts.hour, fleet_hour_parts.channel, fleet_hour_parts.version, fleet_hour_parts.platform
 HAVING (sum(fleet_hour_parts.devices) > (0)::numeric);

CREATE TABLE public.fleet_step_parts (
    app_id text NOT NULL COLLATE pg_catalog."C",
    step text NOT NULL COLLATE pg_catalog."C",
    at timestamp(0) with time zone NOT NULL,
    channel text NOT NULL COLLATE pg_catalog."C",
    version text NOT NULL COLLATE pg_catalog."C",
    platform text NOT NULL COLLATE pg_catalog."C",
    devices bigint NOT NULL,
    is_minimum boolean DEFAULT false NOT NULL,
    part smallint NOT NULL,
    CONSTRAINT fleet_steps_step_check CHECK ((step = ANY (ARRAY['day'::text, 'month'::text])))
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_cost_delay='0');

CREATE VIEW public.fleet_steps AS
 SELECT fleet_step_parts.app_id,
    fleet_step_parts.step,
    fleet_step_parts.at,
    fleet_step_parts.channel,
    fleet_step_parts.version,
    fleet_step_parts.platform,
    (sum(fleet_step_parts.devices))::bigint AS devices,
    bool_or(fleet_step_parts.is_minimum) AS is_minimum
   FROM public.fleet_step_parts
  GROUP BY fleet_step_parts.app_id, fleet_step_parts.step, fleet_step_parts.at, fleet_step_parts.channel, fleet_step_parts.version, fleet_step_parts.platform
 HAVING (sum(fleet_step_parts.devices) > (0)::numeric);

CREATE TABLE public.host_memories (
    channel_id text NOT NULL COLLATE pg_catalog."C",
    provider text NOT NULL COLLATE pg_catalog."C",
    host_id bigint NOT NULL,
    canonical_version text NOT NULL COLLATE pg_catalog."C",
    noted_at timestamp(3) with time zone DEFAULT clock_timestamp() NOT NULL,
    deleted_at timestamp(3) with time zone,
    host_published_at timestamp(3) with time zone,
    called_back_at timestamp(3) with time zone,
    files json
);

CREATE TABLE public.idempotency_keys (
    api_key_id text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    request text NOT NULL,
    release_id text COLLATE pg_catalog."C",
    status text,
    rollout_pct integer,
    used_at timestamp(3) with time zone DEFAULT clock_timestamp() NOT NULL,
    approval_id text COLLATE pg_catalog."C"
);

CREATE TABLE public.one_time_links (
    kind text NOT NULL COLLATE pg_catalog."C",
    id text COLLATE pg_catalog."C",
    organization_id text COLLATE pg_catalog."C",
    account_id text COLLATE pg_catalog."C",
    issuer text COLLATE pg_catalog."C",
    subject text COLLATE pg_catalog."C",
    token_hash text NOT NULL COLLATE pg_catalog."C",
    email text COLLATE pg_catalog."C",
    role text COLLATE pg_catalog."C",
    roles json,
    created_by text,
    created_at timestamp(3) with time zone,
    expires_at timestamp(3) with time zone NOT NULL,
    used_at timestamp(3) with time zone,
    revoked_at timestamp(3) with time zone
)
PARTITION BY LIST (kind);

CREATE TABLE public.invitations (
    id text NOT NULL COLLATE pg_catalog."C",
    organization_id text NOT NULL COLLATE pg_catalog."C",
    token_hash text NOT NULL COLLATE pg_catalog."C",
    email text NOT NULL COLLATE pg_catalog."C",
    role text NOT NULL COLLATE pg_catalog."C",
    created_by text NOT NULL,
    created_at timestamp(3) with time zone DEFAULT clock_timestamp() NOT NULL,
    expires_at timestamp(3) with time zone NOT NULL,
    used_at timestamp(3) with time zone,
    revoked_at timestamp(3) with time zone,
    kind text DEFAULT 'invitation'::text NOT NULL COLLATE pg_catalog."C",
    account_id text COLLATE pg_catalog."C",
    issuer text COLLATE pg_catalog."C",
    subject text COLLATE pg_catalog."C",
    roles json,
    CONSTRAINT invitations_role_check CHECK ((role = ANY (ARRAY['owner'::text, 'publisher'::text, 'viewer'::text])))
);

CREATE SEQUENCE public.label_positions
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE TABLE public.ledger_epoch (
    is_present boolean DEFAULT true NOT NULL,
    epoch integer DEFAULT 0 NOT NULL,
    identity text,
    raised_at timestamp(3) with time zone,
    record text,
    line text,
    move text,
    CONSTRAINT ledger_epoch_epoch_check CHECK ((epoch >= 0)),
    CONSTRAINT ledger_epoch_is_present_check CHECK (is_present)
);

CREATE TABLE public.memberships (
    organization_id text NOT NULL COLLATE pg_catalog."C",
    account_id text NOT NULL COLLATE pg_catalog."C",
    role text NOT NULL COLLATE pg_catalog."C",
    created_at timestamp(3) with time zone DEFAULT clock_timestamp() NOT NULL,
    role_from_groups text COLLATE pg_catalog."C",
    role_by_hand text COLLATE pg_catalog."C",
    CONSTRAINT memberships_role_by_hand_check CHECK ((role_by_hand = ANY (ARRAY['owner'::text, 'publisher'::text, 'viewer'::text]))),
    CONSTRAINT memberships_role_check CHECK ((role = ANY (ARRAY['owner'::text, 'publisher'::text, 'viewer'::text]))),
    CONSTRAINT memberships_role_from_groups_check CHECK ((role_from_groups = ANY (ARRAY['owner'::text, 'publisher'::text, 'viewer'::text])))
);

CREATE TABLE public.mistaken_ids (
    app_id text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    requests bigint NOT NULL,
    first_at timestamp(3) with time zone NOT NULL,
    last_at timestamp(3) with time zone NOT NULL
);

CREATE TABLE public.notification_deliveries (
    id text NOT NULL COLLATE pg_catalog."C",
    destination_id text NOT NULL COLLATE pg_catalog."C",
    event_id text NOT NULL COLLATE pg_catalog."C",
    seq bigint NOT NULL,
    is_apart boolean DEFAULT false NOT NULL,
    state text DEFAULT 'waiting'::text NOT NULL COLLATE pg_catalog."C",
    created_at timestamp(3) with time zone DEFAULT clock_timestamp() NOT NULL,
    next_at timestamp(3) with time zone DEFAULT clock_timestamp() NOT NULL,
    first_failed_at timestamp(3) with time zone,
    try_count integer DEFAULT 0 NOT NULL,
    tries jsonb DEFAULT '[]'::jsonb NOT NULL,
    CONSTRAINT notification_deliveries_state_check CHECK ((state = ANY (ARRAY['waiting'::text, 'delivered'::text, 'failed'::text, 'dropped'::text])))
);
ALTER TABLE public.notification_deliveries ALTER COLUMN seq ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.notification_deliveries_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.notification_destinations (
    id text NOT NULL COLLATE pg_catalog."C",
    organization_id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    url text,
    mail_to text,
    events text[],
    apps text[],
    is_enabled boolean DEFAULT true NOT NULL,
    disabled_why text,
    secret_sealed text,
    former_secret_sealed text,
    former_secret_until timestamp(3) with time zone,
    created_at timestamp(3) with time zone DEFAULT clock_timestamp() NOT NULL,
    created_by text NOT NULL,
    failing_since timestamp(3) with time zone,
    leased_until timestamp(3) with time zone,
    lease_holder text,
    pace_ms integer DEFAULT 0 NOT NULL,
    link_hash text COLLATE pg_catalog."C",
    link_to text,
    link_expires_at timestamp(3) with time zone,
    confirmed_to text,
    declined_to text,
    CONSTRAINT notification_destinations_check CHECK (((kind = 'mail'::text) = (mail_to IS NOT NULL))),
    CONSTRAINT notification_destinations_check1 CHECK (((kind = 'mail'::text) = (url IS NULL))),
    CONSTRAINT notification_destinations_check2 CHECK (((kind = 'webhook'::text) = (secret_sealed IS NOT NULL))),
    CONSTRAINT notification_destinations_kind_check CHECK ((kind = ANY (ARRAY['webhook'::text, 'slack'::text, 'mail'::text])))
);

CREATE TABLE public.notification_events (
    id text NOT NULL COLLATE pg_catalog."C",
    organization_id text NOT NULL COLLATE pg_catalog."C",
    "position" bigint NOT NULL,
    app_id text COLLATE pg_catalog."C",
    type text NOT NULL COLLATE pg_catalog."C",
    at timestamp(3) with time zone DEFAULT clock_timestamp() NOT NULL,
    data json NOT NULL,
    console_url text,
    organization_name text
);

CREATE TABLE public.notification_positions (
    organization_id text NOT NULL COLLATE pg_catalog."C",
    "position" bigint NOT NULL
);

CREATE TABLE public.oidc_arrivals (
    issuer text NOT NULL COLLATE pg_catalog."C",
    subject text NOT NULL COLLATE pg_catalog."C",
    token_hash text NOT NULL COLLATE pg_catalog."C",
    email text NOT NULL COLLATE pg_catalog."C",
    roles json NOT NULL,
    expires_at timestamp(3) with time zone NOT NULL,
    kind text DEFAULT 'arrival'::text NOT NULL COLLATE pg_catalog."C",
    id text COLLATE pg_catalog."C",
    organization_id text COLLATE pg_catalog."C",
    account_id text COLLATE pg_catalog."C",
    role text COLLATE pg_catalog."C",
    created_by text,
    created_at timestamp(3) with time zone,
    used_at timestamp(3) with time zone,
    revoked_at timestamp(3) with time zone
);

CREATE TABLE public.oidc_identities (
    issuer text NOT NULL COLLATE pg_catalog."C",
    subject text NOT NULL COLLATE pg_catalog."C",
    account_id text NOT NULL COLLATE pg_catalog."C",
    created_at timestamp(3) with time zone DEFAULT clock_timestamp() NOT NULL
);

CREATE TABLE public.organizations (
    id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL,
    created_at timestamp(3) with time zone DEFAULT clock_timestamp() NOT NULL,
    require_second_factor boolean DEFAULT false NOT NULL
);

CREATE TABLE public.outgoing_mails (
    id text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    sealed text NOT NULL,
    created_at timestamp(3) with time zone DEFAULT clock_timestamp() NOT NULL,
    next_at timestamp(3) with time zone DEFAULT clock_timestamp() NOT NULL,
    try_count integer DEFAULT 0 NOT NULL,
    expires_at timestamp(3) with time zone NOT NULL,
    leased_until timestamp(3) with time zone,
    CONSTRAINT outgoing_mails_kind_check CHECK ((kind = ANY (ARRAY['invitation'::text, 'password-reset'::text, 'sign-in'::text, 'confirmation'::text])))
);

CREATE TABLE public.passkey_recoveries (
    account_id text NOT NULL COLLATE pg_catalog."C",
    token_hash text NOT NULL COLLATE pg_catalog."C",
    created_at timestamp(3) with time zone NOT NULL,
    expires_at timestamp(3) with time zone NOT NULL,
    kind text DEFAULT 'recovery'::text NOT NULL COLLATE pg_catalog."C",
    id text COLLATE pg_catalog."C",
    organization_id text COLLATE pg_catalog."C",
    issuer text COLLATE pg_catalog."C",
    subject text COLLATE pg_catalog."C",
    email text COLLATE pg_catalog."C",
    role text COLLATE pg_catalog."C",
    roles json,
    created_by text,
    used_at timestamp(3) with time zone,
    revoked_at timestamp(3) with time zone
);

CREATE TABLE public.passkeys (
    id text NOT NULL COLLATE pg_catalog."C",
    account_id text NOT NULL COLLATE pg_catalog."C",
    credential_id text NOT NULL COLLATE pg_catalog."C",
    public_key text NOT NULL COLLATE pg_catalog."C",
    counter bigint NOT NULL,
    transports text[] NOT NULL,
    name text NOT NULL,
    created_at timestamp(3) with time zone NOT NULL,
    last_used_at timestamp(3) with time zone
);

CREATE TABLE public.password_resets (
    account_id text NOT NULL COLLATE pg_catalog."C",
    token_hash text NOT NULL COLLATE pg_catalog."C",
    created_at timestamp(3) with time zone NOT NULL,
    expires_at timestamp(3) with time zone NOT NULL,
    kind text DEFAULT 'reset'::text NOT NULL COLLATE pg_catalog."C",
    id text COLLATE pg_catalog."C",
    organization_id text COLLATE pg_catalog."C",
    issuer text COLLATE pg_catalog."C",
    subject text COLLATE pg_catalog."C",
    email text COLLATE pg_catalog."C",
    role text COLLATE pg_catalog."C",
    roles json,
    created_by text,
    used_at timestamp(3) with time zone,
    revoked_at timestamp(3) with time zone
);

CREATE TABLE public.plan_clock (
    is_only boolean DEFAULT true NOT NULL,
    counted_ms bigint DEFAULT 0 NOT NULL,
    read_at timestamp(3) with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT plan_clock_is_only_check CHECK (is_only)
)
WITH (fillfactor='50');

CREATE TABLE public.region_marks (
    region text NOT NULL COLLATE pg_catalog."C",
    recorded_ms bigint NOT NULL,
    noted_at timestamp(3) with time zone NOT NULL
)
WITH (fillfactor='50');

CREATE TABLE public.release_devices (
    app_id text NOT NULL COLLATE pg_catalog."C",
    device_id text NOT NULL COLLATE pg_catalog."C",
    release_id text NOT NULL COLLATE pg_catalog."C",
    known integer NOT NULL,
    pushed integer NOT NULL,
    offered_at timestamp(3) with time zone,
    installed_at timestamp(3) with time zone,
    installed_on text COLLATE pg_catalog."C",
    reverted_at timestamp(3) with time zone
)
WITH (fillfactor='80', autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_insert_scale_factor='0.05', autovacuum_vacuum_cost_delay='0');

CREATE TABLE public.release_failures (
    release_id text NOT NULL COLLATE pg_catalog."C",
    app_id text NOT NULL COLLATE pg_catalog."C",
    device_id text NOT NULL COLLATE pg_catalog."C",
    network text COLLATE pg_catalog."C",
    known integer NOT NULL,
    pushed integer NOT NULL,
    is_offered boolean NOT NULL,
    version text,
    reason text,
    at timestamp(3) with time zone DEFAULT clock_timestamp() NOT NULL
);

CREATE TABLE public.release_numbers (
    app_id text NOT NULL COLLATE pg_catalog."C",
    last integer NOT NULL
);

CREATE TABLE public.release_signals (
    release_id text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    part smallint NOT NULL,
    known integer NOT NULL,
    pushed integer NOT NULL,
    at timestamp(0) with time zone NOT NULL,
    devices bigint NOT NULL,
    CONSTRAINT release_signals_kind_check CHECK ((kind = ANY (ARRAY['offered'::text, 'installed'::text, 'reverted'::text, 'reached'::text])))
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_cost_delay='0');

CREATE TABLE public.releases (
    id text NOT NULL COLLATE pg_catalog."C",
    channel_id text NOT NULL COLLATE pg_catalog."C",
    version text NOT NULL,
    canonical_version text NOT NULL COLLATE pg_catalog."C",
    notes text NOT NULL,
    status text NOT NULL,
    rollout_pct integer NOT NULL,
    targets json,
    offered_at timestamp(3) with time zone,
    created_at timestamp(3) with time zone DEFAULT clock_timestamp() NOT NULL,
    source text DEFAULT 'api'::text NOT NULL COLLATE pg_catalog."C",
    edition text DEFAULT public.new_edition() NOT NULL COLLATE pg_catalog."C",
    content_bytes integer DEFAULT 0 NOT NULL,
    hold text,
    announced_at timestamp(3) with time zone,
    published_at timestamp(3) with time zone,
    is_watched boolean DEFAULT true NOT NULL,
    announced_by text COLLATE pg_catalog."C",
    host_id bigint,
    host_tag text,
    host_published_at timestamp(3) with time zone,
    host_files_at timestamp(3) with time zone,
    called_back boolean DEFAULT false NOT NULL,
    number integer NOT NULL,
    retried_at timestamp(3) with time zone,
    CONSTRAINT releases_hold_check CHECK ((hold = ANY (ARRAY['expecting'::text, 'by-hand'::text]))),
    CONSTRAINT releases_rollout_pct_check CHECK (((rollout_pct >= 0) AND (rollout_pct <= 100))),
    CONSTRAINT releases_source_check CHECK ((source = ANY (ARRAY['api'::text, 'webhook'::text]))),
    CONSTRAINT releases_status_check CHECK ((status = ANY (ARRAY['published'::text, 'paused'::text, 'rolled_back'::text, 'deprecated'::text])))
);

CREATE TABLE public.rollout_plans (
    id text NOT NULL COLLATE pg_catalog."C",
    release_id text NOT NULL COLLATE pg_catalog."C",
    channel_id text NOT NULL COLLATE pg_catalog."C",
    status text NOT NULL,
    state json NOT NULL,
    start_at_ms bigint,
    due_ms bigint,
    is_guarded boolean NOT NULL,
    checked_ms bigint,
    created_at timestamp(3) with time zone DEFAULT clock_timestamp() NOT NULL,
    created_by text NOT NULL,
    taken_ms bigint,
    CONSTRAINT rollout_plans_status_check CHECK ((status = ANY (ARRAY['scheduled'::text, 'running'::text, 'held'::text, 'completed'::text, 'cancelled'::text])))
)
WITH (fillfactor='70');

CREATE TABLE public.sessions (
    token_hash text NOT NULL COLLATE pg_catalog."C",
    account_id text NOT NULL COLLATE pg_catalog."C",
    created_at timestamp(3) with time zone NOT NULL,
    last_seen_at timestamp(3) with time zone NOT NULL,
    expires_at timestamp(3) with time zone NOT NULL,
    id text DEFAULT ('ses_'::text || translate((gen_random_uuid())::text, '-'::text, ''::text)) NOT NULL COLLATE pg_catalog."C",
    browser text,
    address text,
    opened_by text DEFAULT 'password'::text NOT NULL COLLATE pg_catalog."C",
    second_factor boolean DEFAULT false NOT NULL,
    CONSTRAINT sessions_opened_by_check CHECK ((opened_by = ANY (ARRAY['password'::text, 'oidc'::text, 'passkey'::text])))
);

CREATE TABLE public.signing_keys (
    name text NOT NULL COLLATE pg_catalog."C",
    secret text NOT NULL,
    created_at timestamp(3) with time zone DEFAULT clock_timestamp() NOT NULL
);

CREATE TABLE public.sluice_migrations (
    id integer NOT NULL,
    name text NOT NULL,
    applied_at timestamp(3) with time zone DEFAULT clock_timestamp() NOT NULL
);

CREATE TABLE public.stopped_releases (
    stop_id text NOT NULL COLLATE pg_catalog."C",
    release_id text NOT NULL COLLATE pg_catalog."C",
    channel_id text NOT NULL COLLATE pg_catalog."C",
    version text NOT NULL,
    "position" integer NOT NULL,
    set_at timestamp(3) with time zone,
    resumed_at timestamp(3) with time zone
);

CREATE TABLE public.stops (
    id text NOT NULL COLLATE pg_catalog."C",
    app_id text NOT NULL COLLATE pg_catalog."C",
    channel_id text COLLATE pg_catalog."C",
    stopped_at timestamp(3) with time zone DEFAULT clock_timestamp() NOT NULL
);

CREATE TABLE public.used_challenges (
    challenge text NOT NULL COLLATE pg_catalog."C",
    expires_at timestamp(3) with time zone NOT NULL
);

CREATE TABLE public.webhook_deliveries (
    id bigint NOT NULL,
    app_id text NOT NULL COLLATE pg_catalog."C",
    at timestamp(3) with time zone DEFAULT clock_timestamp() NOT NULL,
    event text NOT NULL,
    action text,
    guid text,
    outcome text NOT NULL,
    reason text,
    version text,
    provider text DEFAULT 'github'::text NOT NULL COLLATE pg_catalog."C",
    CONSTRAINT webhook_deliveries_outcome_check CHECK ((outcome = ANY (ARRAY['created'::text, 'duplicate'::text, 'ignored'::text, 'refused'::text])))
);
ALTER TABLE public.webhook_deliveries ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.webhook_deliveries_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.webhooks (
    app_id text NOT NULL COLLATE pg_catalog."C",
    provider text NOT NULL COLLATE pg_catalog."C",
    sealed_secret text,
    created_at timestamp(3) with time zone DEFAULT clock_timestamp() NOT NULL,
    enabled_at timestamp(3) with time zone DEFAULT clock_timestamp() NOT NULL,
    disabled_at timestamp(3) with time zone,
    tag_prefix text,
    hold boolean DEFAULT false NOT NULL,
    expect json,
    repository_id bigint,
    repository text,
    other_repository text,
    other_repository_at timestamp(3) with time zone,
    CONSTRAINT webhooks_check CHECK (((disabled_at IS NULL) = (sealed_secret IS NOT NULL))),
    CONSTRAINT webhooks_check1 CHECK ((hold OR (expect IS NULL))),
    CONSTRAINT webhooks_provider_check CHECK ((provider = ANY (ARRAY['github'::text, 'gitea'::text, 'forgejo'::text])))
);

CREATE TABLE public.withdrawn_versions (
    channel_id text NOT NULL COLLATE pg_catalog."C",
    canonical_version text NOT NULL COLLATE pg_catalog."C",
    withdrawn_at timestamp(3) with time zone DEFAULT clock_timestamp() NOT NULL
);
ALTER TABLE ONLY public.devices ATTACH PARTITION public.devices_0 FOR VALUES WITH (modulus 16, remainder 0);
ALTER TABLE ONLY public.one_time_links ATTACH PARTITION public.invitations FOR VALUES IN ('invitation');
ALTER TABLE ONLY public.one_time_links ATTACH PARTITION public.oidc_arrivals FOR VALUES IN ('arrival');
ALTER TABLE ONLY public.one_time_links ATTACH PARTITION public.passkey_recoveries FOR VALUES IN ('recovery');
ALTER TABLE ONLY public.one_time_links ATTACH PARTITION public.password_resets FOR VALUES IN ('reset');

INSERT INTO public.device_versions_trim VALUES (true, '', '', -1);

INSERT INTO public.device_writers VALUES (0, '', 0, 0);
INSERT INTO public.device_writers VALUES (1, '', 0, 0);
INSERT INTO public.device_writers VALUES (2, '', 0, 0);
INSERT INTO public.device_writers VALUES (3, '', 0, 0);
INSERT INTO public.device_writers VALUES (4, '', 0, 0);
INSERT INTO public.device_writers VALUES (5, '', 0, 0);
INSERT INTO public.device_writers VALUES (6, '', 0, 0);
INSERT INTO public.device_writers VALUES (7, '', 0, 0);
INSERT INTO public.device_writers VALUES (8, '', 0, 0);
INSERT INTO public.device_writers VALUES (9, '', 0, 0);
INSERT INTO public.device_writers VALUES (10, '', 0, 0);
INSERT INTO public.device_writers VALUES (11, '', 0, 0);
INSERT INTO public.device_writers VALUES (12, '', 0, 0);
INSERT INTO public.device_writers VALUES (13, '', 0, 0);
INSERT INTO public.device_writers VALUES (14, '', 0, 0);
INSERT INTO public.device_writers VALUES (15, '', 0, 0);

INSERT INTO public.ledger_epoch VALUES (true, 0, NULL, NULL, NULL, NULL, NULL);

INSERT INTO public.plan_clock VALUES (true, 0, 'TIME');

SELECT pg_catalog.setval('public.audit_entries_id_seq', 1, false);

SELECT pg_catalog.setval('public.label_positions', 1, false);

SELECT pg_catalog.setval('public.notification_deliveries_seq_seq', 1, false);

SELECT pg_catalog.setval('public.webhook_deliveries_id_seq', 1, false);
ALTER TABLE ONLY public.accounts ADD CONSTRAINT accounts_email_key UNIQUE (email);
ALTER TABLE ONLY public.accounts ADD CONSTRAINT accounts_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.admissions ADD CONSTRAINT admissions_pkey PRIMARY KEY (minute, source);
ALTER TABLE ONLY public.api_keys ADD CONSTRAINT api_keys_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.api_keys ADD CONSTRAINT api_keys_prefix_key UNIQUE (prefix);
ALTER TABLE ONLY public.approvals ADD CONSTRAINT approvals_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.apps ADD CONSTRAINT apps_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.apps ADD CONSTRAINT apps_ref_key UNIQUE (ref);
ALTER TABLE ONLY public.artifacts ADD CONSTRAINT artifacts_pkey PRIMARY KEY (release_id, "position");
ALTER TABLE ONLY public.audit_entries ADD CONSTRAINT audit_entries_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.awaited_devices ADD CONSTRAINT awaited_devices_pkey PRIMARY KEY (part, number);
ALTER TABLE ONLY public.channels ADD CONSTRAINT channels_app_id_name_key UNIQUE (app_id, name);
ALTER TABLE ONLY public.channels ADD CONSTRAINT channels_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.ddi_gateway_tokens ADD CONSTRAINT ddi_gateway_tokens_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.ddi_secrets ADD CONSTRAINT ddi_secrets_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.device_actions ADD CONSTRAINT device_actions_pkey PRIMARY KEY (app_id, device_id);
ALTER TABLE ONLY public.device_versions ADD CONSTRAINT device_versions_pkey PRIMARY KEY (app_id, device_id, slot);
ALTER TABLE ONLY public.device_versions_trim ADD CONSTRAINT device_versions_trim_pkey PRIMARY KEY (is_only);
ALTER TABLE ONLY public.device_writers ADD CONSTRAINT device_writers_pkey PRIMARY KEY (part);
ALTER TABLE ONLY public.devices ADD CONSTRAINT devices_pkey PRIMARY KEY (app_id, device_id);
ALTER TABLE ONLY public.devices_0 ADD CONSTRAINT devices_0_pkey PRIMARY KEY (app_id, device_id);
ALTER TABLE ONLY public.edge_tokens ADD CONSTRAINT edge_tokens_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.edge_tokens ADD CONSTRAINT edge_tokens_prefix_key UNIQUE (prefix);
ALTER TABLE ONLY public.erased_devices ADD CONSTRAINT erased_devices_pkey PRIMARY KEY (app_id, device_hash);
ALTER TABLE ONLY public.failed_sign_ins ADD CONSTRAINT failed_sign_ins_pkey PRIMARY KEY (account_id);
ALTER TABLE ONLY public.fleet_count_parts ADD CONSTRAINT fleet_count_parts_pkey PRIMARY KEY (app_id, channel, version, platform, part);
ALTER TABLE ONLY public.fleet_hour_parts ADD CONSTRAINT fleet_hour_parts_pkey PRIMARY KEY (app_id, hour, channel, version, platform, part);
ALTER TABLE ONLY public.fleet_step_parts ADD CONSTRAINT fleet_step_parts_pkey PRIMARY KEY (app_id, step, at, channel, version, platform, part);
ALTER TABLE ONLY public.host_memories ADD CONSTRAINT host_memories_pkey PRIMARY KEY (channel_id, provider, host_id, canonical_version);
ALTER TABLE ONLY public.idempotency_keys ADD CONSTRAINT idempotency_keys_pkey PRIMARY KEY (api_key_id, key);
ALTER TABLE ONLY public.invitations ADD CONSTRAINT invitations_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.invitations ADD CONSTRAINT invitations_token_hash_key UNIQUE (token_hash);
ALTER TABLE ONLY public.ledger_epoch ADD CONSTRAINT ledger_epoch_pkey PRIMARY KEY (is_present);
ALTER TABLE ONLY public.memberships ADD CONSTRAINT memberships_pkey PRIMARY KEY (organization_id, account_id);
ALTER TABLE ONLY public.mistaken_ids ADD CONSTRAINT mistaken_ids_pkey PRIMARY KEY (app_id, kind);
ALTER TABLE ONLY public.notification_deliveries ADD CONSTRAINT notification_deliveries_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.notification_destinations ADD CONSTRAINT notification_destinations_link_hash_key UNIQUE (link_hash);
ALTER TABLE ONLY public.notification_destinations ADD CONSTRAINT notification_destinations_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.notification_events ADD CONSTRAINT notification_events_organization_id_position_key UNIQUE (organization_id, "position");
ALTER TABLE ONLY public.notification_events ADD CONSTRAINT notification_events_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.notification_positions ADD CONSTRAINT notification_positions_pkey PRIMARY KEY (organization_id);
ALTER TABLE ONLY public.oidc_arrivals ADD CONSTRAINT oidc_arrivals_pkey PRIMARY KEY (issuer, subject);
ALTER TABLE ONLY public.oidc_arrivals ADD CONSTRAINT oidc_arrivals_token_hash_key UNIQUE (token_hash);
ALTER TABLE ONLY public.oidc_identities ADD CONSTRAINT oidc_identities_account_id_issuer_key UNIQUE (account_id, issuer);
ALTER TABLE ONLY public.oidc_identities ADD CONSTRAINT oidc_identities_pkey PRIMARY KEY (issuer, subject);
ALTER TABLE ONLY public.organizations ADD CONSTRAINT organizations_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.outgoing_mails ADD CONSTRAINT outgoing_mails_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.passkey_recoveries ADD CONSTRAINT passkey_recoveries_pkey PRIMARY KEY (account_id);
ALTER TABLE ONLY public.passkey_recoveries ADD CONSTRAINT passkey_recoveries_token_hash_key UNIQUE (token_hash);
ALTER TABLE ONLY public.passkeys ADD CONSTRAINT passkeys_credential_id_key UNIQUE (credential_id);
ALTER TABLE ONLY public.passkeys ADD CONSTRAINT passkeys_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.password_resets ADD CONSTRAINT password_resets_pkey PRIMARY KEY (account_id);
ALTER TABLE ONLY public.password_resets ADD CONSTRAINT password_resets_token_hash_key UNIQUE (token_hash);
ALTER TABLE ONLY public.plan_clock ADD CONSTRAINT plan_clock_pkey PRIMARY KEY (is_only);
ALTER TABLE ONLY public.region_marks ADD CONSTRAINT region_marks_pkey PRIMARY KEY (region);
ALTER TABLE ONLY public.release_devices ADD CONSTRAINT release_devices_pkey PRIMARY KEY (app_id, device_id, release_id);
ALTER TABLE ONLY public.release_failures ADD CONSTRAINT release_failures_pkey PRIMARY KEY (release_id, device_id);
ALTER TABLE ONLY public.release_numbers ADD CONSTRAINT release_numbers_pkey PRIMARY KEY (app_id);
ALTER TABLE ONLY public.release_signals ADD CONSTRAINT release_signals_pkey PRIMARY KEY (release_id, kind, part, known, pushed, at);
ALTER TABLE ONLY public.releases ADD CONSTRAINT releases_channel_id_canonical_version_key UNIQUE (channel_id, canonical_version);
ALTER TABLE ONLY public.releases ADD CONSTRAINT releases_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.rollout_plans ADD CONSTRAINT rollout_plans_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.sessions ADD CONSTRAINT sessions_id_key UNIQUE (id);
ALTER TABLE ONLY public.sessions ADD CONSTRAINT sessions_pkey PRIMARY KEY (token_hash);
ALTER TABLE ONLY public.signing_keys ADD CONSTRAINT signing_keys_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.sluice_migrations ADD CONSTRAINT sluice_migrations_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.stopped_releases ADD CONSTRAINT stopped_releases_pkey PRIMARY KEY (stop_id, release_id);
ALTER TABLE ONLY public.stops ADD CONSTRAINT stops_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.used_challenges ADD CONSTRAINT used_challenges_pkey PRIMARY KEY (challenge);
ALTER TABLE ONLY public.webhook_deliveries ADD CONSTRAINT webhook_deliveries_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.webhooks ADD CONSTRAINT webhooks_pkey PRIMARY KEY (app_id, provider);
ALTER TABLE ONLY public.withdrawn_versions ADD CONSTRAINT withdrawn_versions_pkey PRIMARY KEY (channel_id, canonical_version);
CREATE INDEX api_keys_of_organization ON public.api_keys USING btree (organization_id, created_at DESC);
CREATE INDEX approvals_decided_oldest_first ON public.approvals USING btree (decided_at) WHERE (status <> 'pending'::text);
CREATE INDEX approvals_of_organization ON public.approvals USING btree (organization_id, id DESC);
CREATE INDEX approvals_pending ON public.approvals USING btree (app_id, channel_id) WHERE (status = 'pending'::text);
CREATE INDEX apps_of_organization ON public.apps USING btree (organization_id, ref);
CREATE INDEX audit_entries_newest_first ON public.audit_entries USING btree (organization_id, at DESC, id DESC);
CREATE INDEX audit_entries_of_subject ON public.audit_entries USING btree (organization_id, subject, at DESC, id DESC);
CREATE INDEX channels_following ON public.channels USING btree (follows) WHERE (follows IS NOT NULL);
CREATE INDEX ddi_gateway_tokens_of_app ON public.ddi_gateway_tokens USING btree (app_id, id DESC);
CREATE INDEX ddi_secrets_of_app ON public.ddi_secrets USING btree (app_id);
CREATE INDEX device_actions_by_position ON public.device_actions USING btree ("position") WHERE ("position" > 0);
CREATE INDEX devices_in_random_order ON ONLY public.devices USING btree (public.device_place(app_id, channel), hashtext(device_id));
CREATE INDEX devices_0_device_place_hashtext_idx ON public.devices_0 USING btree (public.device_place(app_id, channel), hashtext(device_id));
CREATE INDEX devices_by_labels_position ON ONLY public.devices USING btree (labels_position) WHERE (labels_position IS NOT NULL);
CREATE INDEX devices_0_labels_position_idx ON public.devices_0 USING btree (labels_position) WHERE (labels_position IS NOT NULL);
CREATE INDEX devices_of_version ON ONLY public.devices USING btree (version, app_id, device_id);
CREATE INDEX devices_0_version_app_id_device_id_idx ON public.devices_0 USING btree (version, app_id, device_id);
CREATE INDEX erased_devices_newest_first ON public.erased_devices USING btree (erased_at DESC);
CREATE INDEX fleet_hour_parts_to_fold ON public.fleet_hour_parts USING btree (hour) WHERE (part >= 0);
CREATE INDEX fleet_hours_oldest_first ON public.fleet_hour_parts USING btree (hour);
CREATE INDEX fleet_step_parts_to_fold ON public.fleet_step_parts USING btree (at) WHERE (part >= 0);
CREATE INDEX fleet_steps_oldest_first ON public.fleet_step_parts USING btree (at);
CREATE INDEX idempotency_keys_of_approval ON public.idempotency_keys USING btree (approval_id) WHERE (approval_id IS NOT NULL);
CREATE INDEX idempotency_keys_of_release ON public.idempotency_keys USING btree (release_id);
CREATE INDEX idempotency_keys_oldest_first ON public.idempotency_keys USING btree (used_at);
CREATE INDEX invitations_of_organization ON public.invitations USING btree (organization_id, created_at DESC);
CREATE INDEX memberships_of_account ON public.memberships USING btree (account_id);
CREATE INDEX notification_deliveries_apart ON public.notification_deliveries USING btree (destination_id, seq) WHERE ((state = 'waiting'::text) AND (is_apart OR (first_failed_at IS NOT NULL)));
CREATE INDEX notification_deliveries_newest_first ON public.notification_deliveries USING btree (destination_id, seq DESC);
CREATE INDEX notification_deliveries_of_event ON public.notification_deliveries USING btree (event_id);
CREATE INDEX notification_deliveries_waiting ON public.notification_deliveries USING btree (destination_id, seq) WHERE (state = 'waiting'::text);
CREATE INDEX notification_destinations_of ON public.notification_destinations USING btree (organization_id, id);
CREATE INDEX notification_events_oldest_first ON public.notification_events USING btree (at);
CREATE INDEX oidc_arrivals_oldest_first ON public.oidc_arrivals USING btree (expires_at);
CREATE INDEX outgoing_mails_due ON public.outgoing_mails USING btree (next_at);
CREATE INDEX passkeys_of_account ON public.passkeys USING btree (account_id, created_at);
CREATE INDEX release_devices_in_order ON public.release_devices USING btree (release_id, known, hashtext(device_id));
CREATE INDEX release_failures_by_network ON public.release_failures USING btree (release_id, network);
CREATE INDEX release_failures_early ON public.release_failures USING btree (release_id) WHERE (NOT is_offered);
CREATE INDEX release_failures_newest_first ON public.release_failures USING btree (release_id, at DESC);
CREATE UNIQUE INDEX releases_by_edition ON public.releases USING btree (edition);
CREATE INDEX releases_in_order ON public.releases USING btree (channel_id, created_at, id) INCLUDE (edition, offered_at);
CREATE INDEX releases_never_offered ON public.releases USING btree (channel_id, id) WHERE (offered_at IS NULL);
CREATE INDEX releases_watched ON public.releases USING btree (published_at) WHERE is_watched;
CREATE INDEX rollout_plans_of_release ON public.rollout_plans USING btree (release_id, created_at DESC, id DESC);
CREATE UNIQUE INDEX rollout_plans_one_open ON public.rollout_plans USING btree (release_id) WHERE (status = ANY (ARRAY['scheduled'::text, 'running'::text, 'held'::text]));
CREATE INDEX rollout_plans_to_drive ON public.rollout_plans USING btree (id) WHERE (status = ANY (ARRAY['scheduled'::text, 'running'::text, 'held'::text]));
CREATE INDEX sessions_of_account ON public.sessions USING btree (account_id, created_at);
CREATE INDEX stopped_releases_waiting ON public.stopped_releases USING btree (release_id) WHERE ((set_at IS NULL) AND (resumed_at IS NULL));
CREATE INDEX webhook_deliveries_newest_first ON public.webhook_deliveries USING btree (app_id, id DESC);
ALTER INDEX public.devices_in_random_order ATTACH PARTITION public.devices_0_device_place_hashtext_idx;
ALTER INDEX public.devices_by_labels_position ATTACH PARTITION public.devices_0_labels_position_idx;
ALTER INDEX public.devices_pkey ATTACH PARTITION public.devices_0_pkey;
ALTER INDEX public.devices_of_version ATTACH PARTITION public.devices_0_version_app_id_device_id_idx;
CREATE TRIGGER add_to_channel AFTER INSERT ON public.releases REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION public.add_to_channel();
CREATE TRIGGER change_in_channel AFTER UPDATE ON public.releases REFERENCING OLD TABLE AS taken NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION public.change_in_channel();
CREATE TRIGGER count_deleted_artifacts AFTER DELETE ON public.artifacts REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.count_artifacts();
CREATE TRIGGER count_inserted_artifacts AFTER INSERT ON public.artifacts REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.count_artifacts();
CREATE TRIGGER count_notes BEFORE INSERT ON public.releases FOR EACH ROW EXECUTE FUNCTION public.count_notes();
CREATE TRIGGER count_updated_artifacts AFTER UPDATE ON public.artifacts REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.count_artifacts();
CREATE TRIGGER forget_release_devices AFTER DELETE ON public.devices REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION public.forget_release_devices();
CREATE TRIGGER note_publishing BEFORE INSERT OR UPDATE OF status ON public.releases FOR EACH ROW EXECUTE FUNCTION public.note_publishing();
CREATE TRIGGER number_release BEFORE INSERT ON public.releases FOR EACH ROW EXECUTE FUNCTION public.number_release();
CREATE TRIGGER refuse_epoch_going_back BEFORE UPDATE ON public.ledger_epoch FOR EACH ROW EXECUTE FUNCTION public.refuse_epoch_going_back();
CREATE TRIGGER refuse_new_number BEFORE UPDATE OF number ON public.releases FOR EACH ROW EXECUTE FUNCTION public.refuse_new_number();
CREATE TRIGGER refuse_release_change BEFORE UPDATE ON public.releases FOR EACH ROW EXECUTE FUNCTION public.refuse_release_change();
CREATE TRIGGER refuse_revision_going_back BEFORE UPDATE ON public.channels FOR EACH ROW EXECUTE FUNCTION public.refuse_revision_going_back();
CREATE TRIGGER renew_edition BEFORE UPDATE ON public.releases FOR EACH ROW EXECUTE FUNCTION public.renew_edition();
CREATE TRIGGER renew_notes BEFORE UPDATE OF notes ON public.releases FOR EACH ROW EXECUTE FUNCTION public.renew_notes();
CREATE TRIGGER take_from_channel AFTER DELETE ON public.releases REFERENCING OLD TABLE AS taken FOR EACH STATEMENT EXECUTE FUNCTION public.take_from_channel();
ALTER TABLE ONLY public.api_keys ADD CONSTRAINT api_keys_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES public.organizations(id);
ALTER TABLE ONLY public.approvals ADD CONSTRAINT approvals_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.accounts(id);
ALTER TABLE ONLY public.approvals ADD CONSTRAINT approvals_app_id_fkey FOREIGN KEY (app_id) REFERENCES public.apps(id);
ALTER TABLE ONLY public.approvals ADD CONSTRAINT approvals_channel_id_fkey FOREIGN KEY (channel_id) REFERENCES public.channels(id);
ALTER TABLE ONLY public.approvals ADD CONSTRAINT approvals_key_id_fkey FOREIGN KEY (key_id) REFERENCES public.api_keys(id);
ALTER TABLE ONLY public.approvals ADD CONSTRAINT approvals_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES public.organizations(id);
ALTER TABLE ONLY public.apps ADD CONSTRAINT apps_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES public.organizations(id);
ALTER TABLE ONLY public.artifacts ADD CONSTRAINT artifacts_release_id_fkey FOREIGN KEY (release_id) REFERENCES public.releases(id);
ALTER TABLE ONLY public.audit_entries ADD CONSTRAINT audit_entries_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES public.organizations(id);
ALTER TABLE ONLY public.channels ADD CONSTRAINT channels_app_id_fkey FOREIGN KEY (app_id) REFERENCES public.apps(id);
ALTER TABLE ONLY public.channels ADD CONSTRAINT channels_follows_fkey FOREIGN KEY (follows) REFERENCES public.channels(id);
ALTER TABLE ONLY public.ddi_gateway_tokens ADD CONSTRAINT ddi_gateway_tokens_app_id_fkey FOREIGN KEY (app_id) REFERENCES public.apps(id);
ALTER TABLE ONLY public.ddi_secrets ADD CONSTRAINT ddi_secrets_app_id_fkey FOREIGN KEY (app_id) REFERENCES public.apps(id);
ALTER TABLE ONLY public.edge_tokens ADD CONSTRAINT edge_tokens_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES public.organizations(id);
ALTER TABLE ONLY public.erased_devices ADD CONSTRAINT erased_devices_app_id_fkey FOREIGN KEY (app_id) REFERENCES public.apps(id);
ALTER TABLE ONLY public.failed_sign_ins ADD CONSTRAINT failed_sign_ins_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.accounts(id);
ALTER TABLE ONLY public.host_memories ADD CONSTRAINT host_memories_channel_id_fkey FOREIGN KEY (channel_id) REFERENCES public.channels(id);
ALTER TABLE ONLY public.idempotency_keys ADD CONSTRAINT idempotency_keys_api_key_id_fkey FOREIGN KEY (api_key_id) REFERENCES public.api_keys(id);
ALTER TABLE ONLY public.idempotency_keys ADD CONSTRAINT idempotency_keys_approval_id_fkey FOREIGN KEY (approval_id) REFERENCES public.approvals(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.idempotency_keys ADD CONSTRAINT idempotency_keys_release_id_fkey FOREIGN KEY (release_id) REFERENCES public.releases(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.invitations ADD CONSTRAINT invitations_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES public.organizations(id);
ALTER TABLE ONLY public.memberships ADD CONSTRAINT memberships_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.accounts(id);
ALTER TABLE ONLY public.memberships ADD CONSTRAINT memberships_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES public.organizations(id);
ALTER TABLE ONLY public.mistaken_ids ADD CONSTRAINT mistaken_ids_app_id_fkey FOREIGN KEY (app_id) REFERENCES public.apps(id);
ALTER TABLE ONLY public.notification_deliveries ADD CONSTRAINT notification_deliveries_destination_id_fkey FOREIGN KEY (destination_id) REFERENCES public.notification_destinations(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.notification_deliveries ADD CONSTRAINT notification_deliveries_event_id_fkey FOREIGN KEY (event_id) REFERENCES public.notification_events(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.notification_destinations ADD CONSTRAINT notification_destinations_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES public.organizations(id);
ALTER TABLE ONLY public.notification_events ADD CONSTRAINT notification_events_app_id_fkey FOREIGN KEY (app_id) REFERENCES public.apps(id);
ALTER TABLE ONLY public.notification_events ADD CONSTRAINT notification_events_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES public.organizations(id);
ALTER TABLE ONLY public.notification_positions ADD CONSTRAINT notification_positions_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES public.organizations(id);
ALTER TABLE ONLY public.oidc_identities ADD CONSTRAINT oidc_identities_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.accounts(id);
ALTER TABLE ONLY public.passkey_recoveries ADD CONSTRAINT passkey_recoveries_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.accounts(id);
ALTER TABLE ONLY public.passkeys ADD CONSTRAINT passkeys_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.accounts(id);
ALTER TABLE ONLY public.password_resets ADD CONSTRAINT password_resets_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.accounts(id);
ALTER TABLE ONLY public.release_numbers ADD CONSTRAINT release_numbers_app_id_fkey FOREIGN KEY (app_id) REFERENCES public.apps(id);
ALTER TABLE ONLY public.releases ADD CONSTRAINT releases_channel_id_fkey FOREIGN KEY (channel_id) REFERENCES public.channels(id);
ALTER TABLE ONLY public.rollout_plans ADD CONSTRAINT rollout_plans_channel_id_fkey FOREIGN KEY (channel_id) REFERENCES public.channels(id);
ALTER TABLE ONLY public.sessions ADD CONSTRAINT sessions_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.accounts(id);
ALTER TABLE ONLY public.stopped_releases ADD CONSTRAINT stopped_releases_channel_id_fkey FOREIGN KEY (channel_id) REFERENCES public.channels(id);
ALTER TABLE ONLY public.stopped_releases ADD CONSTRAINT stopped_releases_stop_id_fkey FOREIGN KEY (stop_id) REFERENCES public.stops(id);
ALTER TABLE ONLY public.stops ADD CONSTRAINT stops_app_id_fkey FOREIGN KEY (app_id) REFERENCES public.apps(id);
ALTER TABLE ONLY public.stops ADD CONSTRAINT stops_channel_id_fkey FOREIGN KEY (channel_id) REFERENCES public.channels(id);
ALTER TABLE ONLY public.webhook_deliveries ADD CONSTRAINT webhook_deliveries_app_id_fkey FOREIGN KEY (app_id) REFERENCES public.apps(id);
ALTER TABLE ONLY public.webhooks ADD CONSTRAINT webhooks_app_id_fkey FOREIGN KEY (app_id) REFERENCES public.apps(id);
ALTER TABLE ONLY public.withdrawn_versions ADD CONSTRAINT withdrawn_versions_channel_id_fkey FOREIGN KEY (channel_id) REFERENCES public.channels(id);
