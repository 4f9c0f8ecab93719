// Shapes of the answers of the management API and the device endpoints. The types of the answers and the
// OpenAPI document are made from them, and the service tests check every answer against the document.

import { z } from 'zod';
import {
  APPROVAL_MODES,
  APPROVAL_STATUSES,
  ASKED_OPERATIONS,
  BLIND_EFFECTS,
  PLAN_PRESET_NAMES,
  PLAN_STATUSES,
  RELEASE_STATUSES,
  SIGNALS,
  STANDING_STATES,
  TARGET_OPERATORS,
  TRIP_EFFECTS,
  UPDATE_MODES,
  VERDICTS,
  WEEK_DAYS,
} from './choice.ts';
import { actions, client, ddi, device, deviceTokens, labels } from './device-shape.ts';

/** Type of an answer by the name of its shape in the OpenAPI document; read-only at every depth. */
export type Answer<Name extends keyof typeof ANSWER_SHAPES> = Answered<
  z.output<(typeof ANSWER_SHAPES)[Name]>
>;

/** The type with every property read-only, at every depth. */
export type Answered<Value> = unknown extends Value
  ? Value
  : { readonly [Key in keyof Value]: Answered<Value[Key]> };

/** RFC 3339, in UTC with milliseconds. */
const time = z.iso.datetime();
const count = z.int().min(0);
const percent = z.int().min(0).max(100);
const status = z.enum(RELEASE_STATUSES);

const error = z.object({
  error: z.string().describe('What was wrong; for a wrong field `<path>: <reason>`.'),
});

const artifact = z.object({
  platform: z.string(),
  arch: z.string().exactOptional(),
  url: z.string().exactOptional(),
  sha512: z.string().exactOptional(),
  size: count.describe('Bytes.').exactOptional(),
  signature: z.string().exactOptional(),
  /** Format of the file, such as `deb`; if absent, read from the URL. */
  format: z.string().describe('Absent where the address tells it.').exactOptional(),
  sha256: z.string().describe('Lower-case hex.').exactOptional(),
  sha1: z.string().describe('Lower-case hex.').exactOptional(),
  /** Oldest version of the operating system that it runs on, as dotted numbers. */
  minimumSystemVersion: z.string().exactOptional(),
  /** Build number that the app itself compares (`CFBundleVersion`). */
  buildVersion: z.string().exactOptional(),
});

const release = z.object({
  id: z.string(),
  app: z.string().describe('Ref of the app.'),
  channel: z.string(),
  version: z.string(),
  notes: z.string(),
  status,
  rolloutPct: percent,
  createdAt: time,
  artifacts: z.array(artifact),
});

/** A release that a dry run has not published has neither an id nor a time. */
const unpublished = release.omit({ id: true, createdAt: true });

const expression = z.object({
  key: z.string(),
  operator: z.enum(TARGET_OPERATORS),
  values: z.array(z.string()),
});

const targeting = z.object({
  matchLabels: z.record(z.string(), z.array(z.string())),
  matchExpressions: z.array(expression),
});

const servingState = z.object({
  app: z.string(),
  channel: z.string(),
  version: z.string(),
  rolloutPct: percent,
  status,
  targets: targeting.nullable(),
});

const finding = z.object({
  path: z.string().describe('`version`, `artifacts`, or one of them: `artifacts.0.url`.'),
  /** With an error, devices that are offered the release would fail. */
  severity: z.enum(['error', 'warning']),
  message: z.string(),
});

const effect = z.object({
  devices: count,
  /** Whether the numbers are estimates from a sample. */
  isEstimate: z.boolean(),
  gain: count.describe('Devices that had no offer and get one.'),
  lose: count.describe('Devices that had an offer and get none.'),
  /** Devices whose offer changes, the most frequent change first. */
  moves: z.array(
    z.object({ from: z.string().nullable(), to: z.string().nullable(), devices: count }),
  ),
  /** Parts of the fleet, the largest first. */
  platforms: z.array(
    z.object({
      platform: z.string(),
      /** Null for devices that report none. */
      arch: z.string().nullable(),
      devices: count,
      gain: count,
      lose: count,
      /** Devices that the changed release has no artifact for. */
      withoutArtifact: count,
    }),
  ),
  /** Ids of some devices that gain or lose an offer. */
  examples: z.object({ gain: z.array(z.string()), lose: z.array(z.string()) }),
});

const withdrawn = z.object({
  app: z.string(),
  channel: z.string(),
  version: z.string(),
});

const app = z.object({
  id: z.string(),
  name: z.string(),
  ref: z.string(),
  channels: z.array(z.string()),
});

/** Settings of DDI; `platform` and `arch` are those of devices that tell none. */
const channel = z.object({
  name: z.string(),
  minimumSupportedVersion: z.string().nullable(),
  defaultRollout: percent,
  updateMode: z.enum(UPDATE_MODES),
  /** Whether devices get only artifacts with a URL and a signature. */
  requireSignature: z.boolean(),
  /** Channel of the same app whose releases its devices are offered as well; null if it follows none. */
  follows: z.string().nullable(),
  approvals: z
    .enum(APPROVAL_MODES)
    .describe('Whether what widens exposure waits for another member.'),
  approvalDays: count.describe('Days after which a request expires.'),
  ddi: ddi.nullable().describe('Null where the channel answers no DDI.'),
});

const approval = z.object({
  id: z.string(),
  status: z.enum(APPROVAL_STATUSES),
  request: z.object({
    operation: z.enum(ASKED_OPERATIONS),
    app: z.string().describe('Ref of the app.'),
    channel: z.string().nullable().describe('Null where the call concerns several.'),
    version: z.string().nullable().describe('Null where the call concerns none, or several.'),
    body: z.record(z.string(), z.unknown()).describe('Body of the call.'),
  }),
  /** Actor, as in the audit log. */
  requestedBy: z.string(),
  /** Reason that the author gave; null if none. */
  reason: z.string().nullable(),
  /** Null if it was not measured. */
  effect: effect.nullable().describe('When it was asked for, without examples.'),
  createdAt: time,
  expiresAt: time,
  /** Actor that decided; null for a pending or expired request. */
  decidedBy: z.string().nullable(),
  decidedAt: time.nullable(),
  result: z
    .record(z.string(), z.unknown())
    .nullable()
    .describe('What the call answered; `{ error }` when it failed, `{ reason }` of a decline.'),
  url: z.string().describe('Page on which people decide.'),
});

const manifest = z.object({
  version: z.string(),
  notes: z.string(),
  pub_date: time,
  url: z.string().exactOptional(),
  sha512: z.string().exactOptional(),
  signature: z.string().exactOptional(),
  size: count.exactOptional(),
  updateMode: z.enum([...UPDATE_MODES, 'required']),
  minimumSupportedVersion: z.string().exactOptional(),
  allowDowngrade: z.literal(true).exactOptional(),
});

const standing = z.object({
  state: z.enum(STANDING_STATES),
  on: z
    .array(z.string())
    .describe('Platforms that are offered it; empty for all it has files for.'),
  /** The highest such version; null if there is none. */
  supersededBy: z.string().nullable().describe('Version that all other devices are offered.'),
  /** Their devices are downgraded to this release, which is offered to no other device. */
  wayDownFor: z.array(z.string()).describe('Rolled-back versions that it is the way down from.'),
  /** Last change of the status; null while it is published, and if the audit log lacks the change. */
  change: z.object({ at: time, by: z.string(), reason: z.string().nullable() }).nullable(),
});

const ownedRelease = z.object({
  release,
  targets: targeting.nullable(),
  offered: z.boolean(),
  /** Time of the first offer; null before that. */
  offeredAt: time.nullable(),
  devices: count.describe('Devices that run it on its channel.'),
  standing,
});

const explanation = z.object({
  decision: z.object({
    update: manifest.nullable(),
    reason: z.enum([
      ...(['offered', 'up-to-date', 'no-artifact', 'not-targeted', 'outside-cohort'] as const),
      ...(['rolled-back-without-fallback', 'unknown-version', 'barred'] as const),
    ]),
  }),
  /** The device on record; the caller's description replaces single fields. */
  device: z.object({
    deviceId: z.string().nullable(),
    channel: z.string(),
    platform: z.string(),
    arch: z.string().nullable(),
    version: z.string().nullable(),
    client,
    bundle: z.string().nullable(),
    labels,
  }),
  /** Releases that were considered, highest version first, down to the offered one. */
  candidates: z.array(
    z.object({
      version: z.string(),
      /** Channel of the release: the device's, or the one that it follows. */
      channel: z.string(),
      status,
      verdict: z.enum([
        ...(['offered', 'not-published', 'no-artifact', 'not-targeted', 'outside-cohort'] as const),
        'barred',
      ]),
      /** Bucket of the device in the rollout, 0 to 9,999; null without a device id. */
      bucket: z.int().min(0).max(9999).nullable(),
      /** Buckets below this one are in the rollout. */
      threshold: z.int().min(0).max(10_000),
      /** Conditions of the targeting that the device does not meet. */
      unmet: z.array(expression),
    }),
  ),
});

const guards = z.object({
  /** Minimum number of devices in the base of a signal before it trips. */
  minimumDevices: count,
  failedPercent: z.number().exactOptional(),
  revertedPercent: z.number().exactOptional(),
  stuckPercent: z.number().exactOptional(),
  silentPercent: z.number().exactOptional(),
  stuckAfterMinutes: count,
  silentAfterMinutes: count,
  /** A device counts if it was first seen at least this many minutes before the release was published. */
  knownForMinutes: count,
  /** Minutes between the two checks that must find a signal above its limit. */
  confirmMinutes: count,
  /** With `push`, only devices that were reported with an API key count. */
  source: z.literal('push').exactOptional(),
});

const raiseHours = z.object({
  /** Days on which the hours open. */
  days: z.array(z.enum(WEEK_DAYS)),
  /** `HH:MM` in the time zone; `from` is within the hours, `to` is not. */
  from: z.string(),
  to: z.string(),
  /** Name in the IANA database. */
  timeZone: z.string(),
});

const plan = z.object({
  id: z.string(),
  app: z.string().describe('Ref of the app.'),
  channel: z.string(),
  version: z.string(),
  status: z.enum(PLAN_STATUSES),
  reason: z.string().nullable().describe('Why it is in this status, in words.'),
  steps: z.array(
    z.object({
      rollout: percent,
      holdMinutes: count,
      startedAt: time.nullable(),
      endedAt: time.nullable(),
    }),
  ),
  /** Null before the first step. */
  step: count.nullable().describe('Index of the step that began, or was reached, last.'),
  /** Null if unknown. */
  nextAt: time.nullable().describe('End of the present wait.'),
  /** Null while it waits for time only. */
  waitingFor: z
    .object({
      guard: z
        .enum(SIGNALS)
        .nullable()
        .describe('Null while the hours are closed, or it waits for a region.'),
      region: z.string().optional().describe('Region whose check-ins are not recorded yet.'),
      since: time,
      reason: z.string(),
    })
    .nullable()
    .describe('What it waits for after its hold.'),
  guards: guards.nullable(),
  onBlind: z.enum(BLIND_EFFECTS),
  /** Minutes for which the plan waits for a guard that cannot judge, before it is held. */
  patienceMinutes: count,
  raiseBetween: raiseHours.nullable(),
  /** Preset that its steps and guards are from; null if the plan defines them itself. */
  preset: z.enum(PLAN_PRESET_NAMES).nullable(),
  onTrip: z.enum(TRIP_EFFECTS),
  createdAt: time,
  /** Actor, as in the audit log. */
  createdBy: z.string(),
});

const rate = z.object({
  base: z.number().describe('Devices that could have shown it by now.'),
  percent: z.number(),
  low: z.number().describe('Lower end of the 95 % interval.'),
  high: z.number().describe('Upper end of the 95 % interval.'),
  /** Limit of the plan's guard; null if there is none. */
  limit: z.number().nullable(),
  /** Whether the plan is held because the guard of this signal tripped. */
  tripped: z.boolean(),
  /** Devices that show the signal (`count`), of those in the network that could (`base`). */
  network: z
    .object({ count: z.number(), base: z.number() })
    .nullable()
    .describe(
      'Devices of the network without which too few are left to judge by, while the condition holds.',
    ),
});

const health = z.object({
  ...{ offered: count, installed: count, failed: count, reverted: count, stuck: count },
  silent: count,
  rates: z.object({ failed: rate, reverted: rate, stuck: rate, silent: rate }),
  verdict: z.enum(VERDICTS),
});

const stoppedRelease = z.object({ channel: z.string(), version: z.string() });

const stop = z.object({
  id: z.string(),
  releases: z.array(stoppedRelease).describe('What was published, by channel, the oldest first.'),
});

const resumedStop = z.object({
  released: z.array(stoppedRelease),
  changed: z
    .array(stoppedRelease.extend({ reason: z.string() }))
    .describe('What is left as it is, because its status was set since.'),
});

/** Shapes by their names in the OpenAPI document. */
export const ANSWER_SHAPES = {
  ErrorBody: error,
  Artifact: artifact,
  Release: release,
  UnpublishedRelease: unpublished,
  Targeting: targeting,
  TargetExpression: expression,
  ServingState: servingState,
  Finding: finding,
  Effect: effect,
  App: app,
  Channel: channel,
  DdiSettings: ddi,
  Device: device,
  UpdateManifest: manifest,
  ReleaseAnswer: z.object({ release, findings: z.array(finding).exactOptional() }),
  RehearsedRelease: z.object({ release: unpublished, findings: z.array(finding), effect }),
  ServingAnswer: z.object({ release: servingState }),
  RehearsedServing: z.object({ release: servingState, findings: z.array(finding), effect }),
  WithdrawnAnswer: z.object({ release: withdrawn }),
  RetriedAnswer: z.object({
    release: withdrawn,
    devices: count.describe('Number of bars that have ended.'),
  }),
  StopAnswer: z.object({ stop }),
  ResumedStop: resumedStop,
  Approval: approval,
  ApprovalAnswer: z.object({ approval, findings: z.array(finding).exactOptional() }),
  ApprovalPage: z.object({
    approvals: z.array(approval),
    next: z.string().nullable().describe('`before` of the next page.'),
  }),
  RolloutPlan: plan,
  Health: health,
  PlanAnswer: z.object({ plan }),
  RehearsedPlan: z.object({
    plan: plan.omit({ id: true, createdAt: true, createdBy: true }),
    findings: z.array(finding),
    effect,
  }),
  PlanPresets: z.object({
    presets: z.array(
      z.object({
        name: z.enum(PLAN_PRESET_NAMES),
        steps: z.array(z.object({ rollout: percent, holdMinutes: count })),
        guards,
      }),
    ),
  }),
  PlanWithHealth: z.object({ plan, health }),
  HealthAnswer: z.object({ health }),
  ReleasePage: z.object({
    releases: z.array(
      release.extend({ standing: standing.exactOptional().describe('With `standing=true`.') }),
    ),
    page: z.int().min(1),
    pageCount: z.int().min(1),
    total: count,
  }),
  OwnedRelease: ownedRelease,
  AppList: z.object({ apps: z.array(app) }),
  ChannelList: z.object({ channels: z.array(channel) }),
  DeviceAnswer: z.object({ device: device.extend(actions.shape) }),
  Explanation: explanation,
  ReportedFleet: z.object({ app: z.string(), received: count }),
  Wave: z.object({
    app: z.string(),
    channel: z.string(),
    decisions: z.array(z.object({ deviceId: z.string(), update: manifest.nullable() })),
    updatesOffered: count,
  }),
  DeviceTokens: deviceTokens,
  ReleaseNotesFeed: z.object({
    app: z.string(),
    channel: z.string(),
    releases: z.array(release),
  }),
  SquirrelManifest: z.object({
    url: z.string(),
    name: z.string(),
    notes: z.string(),
    pub_date: time,
    sha256: z.string().optional(),
    size: count.optional(),
  }),
  VelopackFeed: z.object({
    Assets: z.array(
      z.object({
        PackageId: z.string(),
        Version: z.string(),
        Type: z.literal('Full'),
        FileName: z.string(),
        SHA1: z.string().optional(),
        SHA256: z.string().optional(),
        Size: count,
        NotesMarkdown: z.string().optional(),
      }),
    ),
  }),
} as const;
