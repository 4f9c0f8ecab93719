// Every number the contract fixes, and those chosen where it is silent. Units stand last in the name.

export const LIMIT = {
  managementRequestsPerMinute: 300,
  deviceRequestsPerMinute: 120,
  /** What a process lets a device have in a minute before it asks what the other processes let it have. */
  deviceAllowancePerMinute: 12,
  rateWindowMs: 60_000,

  labelCountMax: 16,
  labelKeyLengthMax: 128,
  labelValueLengthMax: 256,
  deviceIdLengthMax: 128,

  perPageMax: 100,
  perPageDefault: 20,
  rolloutPctMax: 100,

  versionLengthMax: 64,
  notesBytesMax: 256 * 1024,
  artifactCountMax: 200,
  artifactUrlLengthMax: 2048,
  artifactNameLengthMax: 64,
  artifactPassThroughLengthMax: 16 * 1024,
  bodyBytesMax: 1024 * 1024,
  /** 500 devices with 16 labels of 128 + 256 characters, each up to 4 bytes, and what stands around them. */
  reportBodyBytesMax: 16 * 1024 * 1024,
  webhookBodyBytesMax: 25 * 1024 * 1024,
  /** Per app. */
  webhookDeliveriesKeptMax: 50,

  devicesPerCallMax: 500,
  devicePageMax: 1000,
  devicePageDefault: 100,

  feedReleasesMax: 50,

  refLengthMax: 64,
  nameLengthMax: 200,
  channelsPerCreateMax: 50,
  auditEntriesMax: 1000,
  auditEntriesDefault: 50,

  emailLengthMax: 254,
  passwordLengthMin: 12,
  passwordLengthMax: 256,
  sessionsPerAccountMax: 20,
  /** Without a request for this long, a session ends. */
  sessionIdleMs: 12 * 3_600_000,
  sessionLifetimeMs: 14 * 86_400_000,
  invitationLifetimeMs: 7 * 86_400_000,
  /** Open ones, per organization. */
  invitationsMax: 500,
  membersShownMax: 1000,
  organizationsShownMax: 1000,
  appsShownMax: 1000,
  keysShownMax: 1000,
  releaseHistoryMax: 50,
  labelKeysShownMax: 50,
  labelValuesShownMax: 50,
  candidatesShownMax: 50,
  loginWindowMs: 15 * 60_000,
  /** Sign-ins of one account from one address that may fail in a window. */
  loginsPerPairMax: 10,
  loginsPerAddressMax: 50,
  /** Beyond these, sign-ins of an account from strange addresses take turns: see `LoginThrottle`. */
  loginsPerAccountMax: 30,
  loginTurnMs: 5000,
} as const;
