// Limits of docs/contract.md 8, and the bounds of the console API. The unit is the last part of a name.

export const LIMIT = {
  managementRequestsPerMinute: 300,
  deviceRequestsPerMinute: 120,
  /**
   * Requests of a device per minute that a process allows before it must ask the engine about the other
   * processes' requests.
   */
  deviceAllowancePerMinute: 12,
  rateWindowMs: 60_000,

  labelCountMax: 16,
  labelKeyLengthMax: 128,
  labelValueLengthMax: 256,
  deviceIdLengthMax: 128,
  /** Age up to which a check-in that waited for the ledger, such as in an edge's journal, is recorded. */
  checkInAgeDaysMax: 400,
  /** Maximum number of counts of mistaken ids that a process holds until the ledger takes them. */
  mistakenIdCountsMax: 10_000,
  /** Time after its last request for which an app's mistaken id is told. */
  mistakenIdToldMs: 7 * 86_400_000,

  perPageMax: 100,
  perPageDefault: 20,
  rolloutPctMax: 100,

  versionLengthMax: 64,
  notesBytesMax: 256 * 1024,
  artifactCountMax: 200,
  reasonLengthMax: 500,
  /** Maximum number of apps that a key is narrowed to. */
  keyAppsMax: 50,
  idempotencyKeyLengthMax: 128,
  idempotencyKeyLifetimeMs: 86_400_000,
  artifactUrlLengthMax: 2048,
  artifactNameLengthMax: 64,
  artifactPassThroughLengthMax: 16 * 1024,
  artifactFormatLengthMax: 32,
  systemVersionLengthMax: 32,
  buildVersionLengthMax: 64,
  channelReleasesMax: 10_000,
  /** Maximum bytes of the notes and artifacts of all releases of a channel, of any status. */
  channelContentBytesMax: 64 * 1024 * 1024,
  bodyBytesMax: 1024 * 1024,
  /** Enough for 500 devices with 16 labels of 128 + 256 characters of up to 4 bytes each, with their JSON. */
  reportBodyBytesMax: 16 * 1024 * 1024,
  webhookBodyBytesMax: 25 * 1024 * 1024,
  /** Time for a whole body. GitHub gives a delivery 10 s, including the answer. */
  bodyMsMax: 30_000,
  reportBodyMsMax: 60_000,
  /** Maximum number per app. */
  webhookDeliveriesKeptMax: 50,
  /** Time for which deletions and early edits of a code host's releases are stored. */
  hostMemoryMs: 7 * 86_400_000,
  /** Maximum number of them per channel. */
  hostMemoriesMax: 100,
  /** Maximum length of the prefix of an app's tags, in UTF-16 code units. */
  tagPrefixLengthMax: 100,
  /** Maximum number of targets that a held release waits for. */
  webhookTargetsMax: 50,

  planStepsMax: 20,
  /** Length of the name of a time zone; the longest of the IANA database has 32 characters. */
  timeZoneLengthMax: 64,
  /** Maximum of every time in a plan that is given in minutes, 30 days. */
  planMinutesMax: 43_200,
  planConfirmMinutesMax: 1440,
  planStartAheadMsMax: 90 * 86_400_000,
  /** Maximum of a guard's minimum of devices. */
  planDevicesMax: 100_000,
  /** Maximum number of requests that wait for an approval, per channel. */
  approvalsPendingMax: 100,
  /**
   * Maximum number of releases whose devices are compared before and after a change of settings: the channel
   * is locked meanwhile, and 10,000 take seconds.
   */
  comparedReleasesMax: 2000,
  approvalsPerPageMax: 20,
  /** Maximum number of requests that the end of a right expires at once; the sweep expires the others. */
  approvalsExpiredMax: 100,
  approvalDaysDefault: 7,
  approvalDaysMax: 30,
  /** Age at which a member may approve; an organization's first members may at once. */
  approverAgeMs: 86_400_000,
  /** Time for which decided requests are kept. */
  approvalsKeptMs: 90 * 86_400_000,

  failureReasonLengthMax: 256,
  failureBodyBytesMax: 4096,

  /** Maximum wait of an edge for a change. */
  edgeWaitMsMax: 5000,
  /**
   * Maximum bytes of an edge's upload of check-ins: enough for 2,000 with 16 labels each of 128 + 256
   * characters of up to 4 bytes.
   */
  edgeBodyBytesMax: 64 * 1024 * 1024,
  /** Maximum bytes of an edge's upload of failures: enough for 500 of maximum size. */
  edgeFailuresBytesMax: 4 * 1024 * 1024,
  /** Maximum number of devices, check-ins and changes in an edge's call about labels. */
  edgeDevicesMax: 500,

  devicesPerCallMax: 500,
  devicePageMax: 1000,
  devicePageDefault: 100,

  feedReleasesMax: 50,

  /** Maximum number of moves, and of platforms, in the effect of a change. */
  effectRowsMax: 100,
  /** Maximum number of example devices that a targeting matches. */
  matchingExamplesMax: 5,
  /** Maximum number of example devices of each kind of effect. */
  effectExamplesMax: 10,

  refLengthMax: 64,
  nameLengthMax: 200,
  channelsPerCreateMax: 50,
  auditEntriesMax: 1000,
  auditEntriesDefault: 50,

  emailLengthMax: 254,
  passwordLengthMin: 12,
  passwordLengthMax: 256,
  sessionsPerAccountMax: 20,
  /** Time without a request after which a session ends. */
  sessionIdleMs: 12 * 3_600_000,
  sessionLifetimeMs: 14 * 86_400_000,
  invitationLifetimeMs: 7 * 86_400_000,
  /** Maximum number of open invitations per organization. */
  invitationsMax: 500,
  /** Maximum number of links, each of which is mailed, that an organization's people make in the window. */
  linksMax: 100,
  linksWindowMs: 3_600_000,
  /** Time for which a recipient of notifications can confirm. */
  recipientLinkLifetimeMs: 7 * 86_400_000,
  /** Maximum number of links that all organizations mail to one address in the window of links. */
  linksPerRecipientMax: 3,
  /** Maximum number of live feeds that one process keeps open. */
  liveFeedsOfAccountMax: 10,
  liveFeedsOfOrganizationMax: 100,
  membersShownMax: 1000,
  organizationsShownMax: 1000,
  appsShownMax: 1000,
  /** Maximum number of things that the overview lists as needing a person. */
  attentionMax: 50,
  /** Maximum number of devices whose decisions a person asks for at once. */
  decisionsAtOnceMax: 100,
  /** Maximum number of results of each kind in a search. */
  foundMax: 10,
  searchLengthMax: 128,
  /** Maximum number of an app's latest check-ins at the start of a live feed. */
  liveSamplesMax: 20,
  keysShownMax: 1000,
  /** Maximum number per organization. */
  destinationsMax: 50,
  destinationAppsMax: 100,
  /** Maximum number of tests and repeated messages of a destination in a window. */
  destinationCallsMax: 10,
  destinationCallsWindowMs: 60_000,
  /** Maximum number of releases of a stop that are told one by one, each to each destination. */
  stopEventsMax: 100,
  /** Maximum length of a targeting in a message, whose body has at most 64 KiB; a longer one is left out. */
  eventTargetsLengthMax: 16 * 1024,
  /** Time for which messages are listed, and after which they are no longer sent. */
  deliveryKeptMs: 7 * 86_400_000,
  deliveriesShownMax: 100,
  /** Time for which the secret before the present one signs as well. */
  formerSecretMs: 86_400_000,
  releaseHistoryMax: 50,
  labelKeysShownMax: 50,
  labelValuesShownMax: 50,
  candidatesShownMax: 50,
  /** Maximum number of releases in an explanation for a program: of more, the first ones and the last. */
  candidatesListedMax: 1000,
  loginWindowMs: 15 * 60_000,
  /** Maximum number of sign-in attempts for one account from one IP address in a window. */
  loginsPerPairMax: 10,
  loginsPerAddressMax: 50,
  /** Maximum number of attempts in a window of a browser that signed in to the account before. */
  loginsPerBrowserMax: 10,
  /** Lifetime of the cookie of such a browser: the longest that browsers keep one. */
  knownBrowserLifetimeMs: 400 * 86_400_000,
  passwordResetLifetimeMs: 3_600_000,
  /** Time for showing a passkey, from the question on. */
  challengeLifetimeMs: 5 * 60_000,
  passkeysPerAccountMax: 20,
  recoveryLifetimeMs: 86_400_000,
  /** Maximum length of each text that a browser tells of a passkey. */
  passkeyTextLengthMax: 8192,
  /** Time for a sign-in at the provider, and for the proof of an account after it. */
  oidcSignInMs: 10 * 60_000,
  /**
   * Attempts for one account from all IP addresses, beyond which new ones are slowed down: see
   * `LoginThrottle`.
   */
  loginsPerAccountMax: 30,
  loginTurnMs: 5000,
  /** Minutes without a mark of a region after which no plan waits for its check-ins. */
  regionSilentMinutes: 60,
} as const;
