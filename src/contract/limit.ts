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
} as const;
