// Limits of docs/contract.md 8, and the bounds of the console API. The unit is the last part of a name.

export const LIMIT = {
  managementRequestsPerMinute: 300,
  deviceRequestsPerMinute: 120,
  /**
   * Requests of a device per minute that a process allows by itself; for more, it asks the engine, which
   * counts the requests to all processes.
   */
  deviceAllowancePerMinute: 12,
  rateWindowMs: 60_000,

  labelCountMax: 16,
  labelKeyLengthMax: 128,
  labelValueLengthMax: 256,
  deviceIdLengthMax: 128,
  /** Maximum age of a check-in that is recorded after a wait for the ledger, as in an edge's journal. */
  checkInAgeDaysMax: 400,
  /** Maximum number of counts of mistaken ids that a process buffers before it writes them to the ledger. */
  mistakenIdCountsMax: 10_000,
  /** Time after the last request with a mistaken id for which the console reports it. */
  mistakenIdToldMs: 7 * 86_400_000,

  perPageMax: 100,
  perPageDefault: 20,
  rolloutPctMax: 100,

  versionLengthMax: 64,
  notesBytesMax: 256 * 1024,
  artifactCountMax: 200,
  reasonLengthMax: 500,
  /** Maximum number of apps in the scope of a key that is limited to some. */
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
  /** Maximum number of webhook deliveries kept per app. */
  webhookDeliveriesKeptMax: 50,
  /** Time for which deletions and early edits of a code host's releases are stored. */
  hostMemoryMs: 7 * 86_400_000,
  /** Maximum number of such deletions and edits per channel. */
  hostMemoriesMax: 100,
  /** Maximum length of the prefix of an app's tags, in UTF-16 code units. */
  tagPrefixLengthMax: 100,
  /** Maximum number of targets that a held release waits for. */
  webhookTargetsMax: 50,

  planStepsMax: 20,
  /** Maximum length of a time zone's name; the longest in the IANA database has 32 characters. */
  timeZoneLengthMax: 64,
  /** Maximum of each time in a plan that is given in minutes: 30 days. */
  planMinutesMax: 43_200,
  planConfirmMinutesMax: 1440,
  planStartAheadMsMax: 90 * 86_400_000,
  /** Maximum value of a guard's `minimumDevices`. */
  planDevicesMax: 100_000,
  /** Maximum number of requests that wait for an approval, per channel. */
  approvalsPendingMax: 100,
  /**
   * Maximum number of releases for which a change of settings compares, before and after it, what devices are
   * offered: the channel is locked meanwhile, and 10,000 releases take seconds.
   */
  comparedReleasesMax: 2000,
  approvalsPerPageMax: 20,
  /** Maximum number of requests that expire with their author's right; the sweep expires the others. */
  approvalsExpiredMax: 100,
  approvalDaysDefault: 7,
  approvalDaysMax: 30,
  /** Age of a membership from which it may approve; those of an organization's first day may at once. */
  approverAgeMs: 86_400_000,
  /** Time for which decided requests are kept. */
  approvalsKeptMs: 90 * 86_400_000,

  ddiPollSecondsMin: 10,
  /** `sleep` has eight characters, and so ends at 23:59:59. */
  ddiPollSecondsMax: 86_399,
  ddiRetriesMax: 8,
  ddiRetryMinutesMin: 5,
  ddiRetryMinutesMax: 10_080,
  ddiAskDaysMax: 365,

  failureReasonLengthMax: 256,
  failureBodyBytesMax: 4096,
  ddiBodyBytesMax: 1_048_576,

  /** Maximum time for which the service lets an edge wait for a change. */
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

  /** Maximum number of `moves`, and of `platforms`, in the effect of a change. */
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
  /** Maximum number of links that the people of an organization create, and mail, in `linksWindowMs`. */
  linksMax: 100,
  linksWindowMs: 3_600_000,
  /** Time for which the link of a recipient of notifications is valid. */
  recipientLinkLifetimeMs: 7 * 86_400_000,
  /** Maximum number of links that all organizations together mail to one address in `linksWindowMs`. */
  linksPerRecipientMax: 3,
  /** Maximum number of live feeds that one process keeps open for an account, and for an organization. */
  liveFeedsOfAccountMax: 10,
  liveFeedsOfOrganizationMax: 100,
  membersShownMax: 1000,
  organizationsShownMax: 1000,
  appsShownMax: 1000,
  /** Maximum number of items in `Attention`. */
  attentionMax: 50,
  /** Maximum number of devices whose decisions a person requests in one call. */
  decisionsAtOnceMax: 100,
  /** Maximum number of results of each kind in a search. */
  foundMax: 10,
  searchLengthMax: 128,
  /** Maximum number of an app's latest check-ins at the start of a live feed. */
  liveSamplesMax: 20,
  keysShownMax: 1000,
  /** Maximum number of gateway tokens of an app that are not revoked. */
  gatewayTokensMax: 4,
  /** Maximum number of an app's secrets of device tokens. */
  ddiSecretsMax: 2,
  /** Maximum number of destinations of an organization. */
  destinationsMax: 50,
  destinationAppsMax: 100,
  /** Maximum number of tests and repeated messages of a destination in `destinationCallsWindowMs`. */
  destinationCallsMax: 10,
  destinationCallsWindowMs: 60_000,
  /** Maximum number of releases of a stop that get an event each; a larger stop makes one event. */
  stopEventsMax: 100,
  /** Maximum length of a targeting in an event; a longer one is left out: a message has at most 64 KiB. */
  eventTargetsLengthMax: 16 * 1024,
  /** Time for which messages are listed and tried; older ones are deleted. */
  deliveryKeptMs: 7 * 86_400_000,
  deliveriesShownMax: 100,
  /** Time for which the previous secret still signs, after a rotation. */
  formerSecretMs: 86_400_000,
  releaseHistoryMax: 50,
  labelKeysShownMax: 50,
  labelValuesShownMax: 50,
  candidatesShownMax: 50,
  /** Maximum number of releases in an explanation for a program: of more, the first ones and the last one. */
  candidatesListedMax: 1000,
  loginWindowMs: 15 * 60_000,
  /** Maximum number of sign-in attempts for one account from one IP address in a window. */
  loginsPerPairMax: 10,
  loginsPerAddressMax: 50,
  /** Maximum number of attempts in a window from a browser that has signed in to the account before. */
  loginsPerBrowserMax: 10,
  /** Lifetime of the cookie by which such a browser is known: 400 days, the maximum that browsers allow. */
  knownBrowserLifetimeMs: 400 * 86_400_000,
  passwordResetLifetimeMs: 3_600_000,
  /** Time for answering a passkey challenge. */
  challengeLifetimeMs: 5 * 60_000,
  passkeysPerAccountMax: 20,
  recoveryLifetimeMs: 86_400_000,
  /** Maximum length of each text that a browser sends about a passkey. */
  passkeyTextLengthMax: 8192,
  /** Time for a sign-in at the provider, and for then proving that an existing account is one's own. */
  oidcSignInMs: 10 * 60_000,
  /**
   * Number of attempts in a window for one account, from all IP addresses, beyond which one is admitted every
   * `loginTurnMs`: see `LoginThrottle`.
   */
  loginsPerAccountMax: 30,
  loginTurnMs: 5000,
  /** Minutes without a mark of a region in the ledger after which plans no longer wait for its check-ins. */
  regionSilentMinutes: 60,
} as const;
