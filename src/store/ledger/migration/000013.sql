-- Which file a client can install: what publishers tell of an artifact beyond the contract's fields, and whether a
-- channel wants signed artifacts only.

ALTER TABLE artifacts
  ADD COLUMN format text,
  -- SHA-256 that the publisher gave; `sha256` is what a code-hosting service told.
  ADD COLUMN given_sha256 text CHECK (given_sha256 ~ '^[0-9a-f]{64}$'),
  ADD COLUMN sha1 text CHECK (sha1 ~ '^[0-9a-f]{40}$'),
  ADD COLUMN minimum_system_version text,
  ADD COLUMN build_version text;

ALTER TABLE channels ADD COLUMN require_signature boolean NOT NULL DEFAULT false;

CREATE OR REPLACE FUNCTION artifact_bytes(artifacts) RETURNS integer LANGUAGE sql STABLE AS $$
  SELECT 64 + octet_length(concat($1.platform, $1.arch, $1.url, $1.sha512, $1.sha256, $1.signature,
    $1.format, $1.given_sha256, $1.sha1, $1.minimum_system_version, $1.build_version))
$$;
