// Shapes of what the management API and the device endpoints answer, from which the OpenAPI document is made.
// The compiler holds each against the type that the service answers with, and the service tests hold every
// answer against the document.

import { z } from 'zod';
import {
  APPROVAL_STATUSES,
  type Approval,
  type ApprovalPage,
  ASKED_OPERATIONS,
} from '../../contract/approval.ts';
import type { DeviceRecord } from '../../contract/console-fleet.ts';
import type {
  Effect,
  Finding,
  PlanDryRunAnswer,
  UnpublishedRelease,
} from '../../contract/dry-run.ts';
import type { Explanation } from '../../contract/explanation.ts';
import {
  APPROVAL_MODES,
  type App,
  type Artifact,
  type ListedChannel,
  RELEASE_STATUSES,
  type Release,
  type ResumedStop,
  type ServingState,
  type Stop,
  TARGET_OPERATORS,
  type TargetExpression,
  type Targeting,
  UPDATE_MODES,
  type UpdateManifest,
  type WithdrawnRelease,
} from '../../contract/resource.ts';
import {
  BLIND_EFFECTS,
  type Health,
  type NamedPreset,
  PLAN_PRESET_NAMES,
  PLAN_STATUSES,
  type PlanGuards,
  type RaiseHours,
  type RolloutPlan,
  SIGNALS,
  type SignalRate,
  TRIP_EFFECTS,
  VERDICTS,
  WEEK_DAYS,
} from '../../contract/rollout-plan.ts';
import { type ReleaseStanding, STANDING_STATES } from '../../contract/standing.ts';
import type { OwnedRelease } from '../../store/ledger-terms.ts';

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
  format: z.string().describe('Absent where the address tells it.').exactOptional(),
  sha256: z.string().describe('Lower-case hex.').exactOptional(),
  sha1: z.string().describe('Lower-case hex.').exactOptional(),
  minimumSystemVersion: z.string().exactOptional(),
  buildVersion: z.string().exactOptional(),
}) satisfies z.ZodType<Artifact>;

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
}) satisfies z.ZodType<Release>;

/** A release that a dry run has not published has neither an id nor a time. */
const unpublished = release.omit({
  id: true,
  createdAt: true,
}) satisfies z.ZodType<UnpublishedRelease>;

const expression = z.object({
  key: z.string(),
  operator: z.enum(TARGET_OPERATORS),
  values: z.array(z.string()),
}) satisfies z.ZodType<TargetExpression>;

const targeting = z.object({
  matchLabels: z.record(z.string(), z.array(z.string())),
  matchExpressions: z.array(expression),
}) satisfies z.ZodType<Targeting>;

const servingState = z.object({
  app: z.string(),
  channel: z.string(),
  version: z.string(),
  rolloutPct: percent,
  status,
  targets: targeting.nullable(),
}) satisfies z.ZodType<ServingState>;

const finding = z.object({
  path: z.string().describe('`version`, `artifacts`, or one of them: `artifacts.0.url`.'),
  severity: z.enum(['error', 'warning']),
  message: z.string(),
}) satisfies z.ZodType<Finding>;

const effect = z.object({
  devices: count,
  isEstimate: z.boolean(),
  gain: count.describe('Devices that had no offer and get one.'),
  lose: count.describe('Devices that had an offer and get none.'),
  moves: z.array(
    z.object({ from: z.string().nullable(), to: z.string().nullable(), devices: count }),
  ),
  platforms: z.array(
    z.object({
      platform: z.string(),
      arch: z.string().nullable(),
      devices: count,
      gain: count,
      lose: count,
      withoutArtifact: count,
    }),
  ),
  examples: z.object({ gain: z.array(z.string()), lose: z.array(z.string()) }),
}) satisfies z.ZodType<Effect>;

const withdrawn = z.object({
  app: z.string(),
  channel: z.string(),
  version: z.string(),
}) satisfies z.ZodType<WithdrawnRelease>;

const app = z.object({
  id: z.string(),
  name: z.string(),
  ref: z.string(),
  channels: z.array(z.string()),
}) satisfies z.ZodType<App>;

const channel = z.object({
  name: z.string(),
  minimumSupportedVersion: z.string().nullable(),
  defaultRollout: percent,
  updateMode: z.enum(UPDATE_MODES),
  requireSignature: z.boolean(),
  follows: z.string().nullable(),
  approvals: z
    .enum(APPROVAL_MODES)
    .describe('Whether what widens exposure waits for another member.'),
  approvalDays: count.describe('Days after which a request expires.'),
}) satisfies z.ZodType<ListedChannel>;

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
  requestedBy: z.string(),
  reason: z.string().nullable(),
  effect: effect.nullable().describe('When it was asked for, without examples.'),
  createdAt: time,
  expiresAt: time,
  decidedBy: z.string().nullable(),
  decidedAt: time.nullable(),
  result: z
    .record(z.string(), z.unknown())
    .nullable()
    .describe('What the call answered; `{ error }` when it failed, `{ reason }` of a decline.'),
  url: z.string().describe('Page on which people decide.'),
}) satisfies z.ZodType<Approval>;

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
}) satisfies z.ZodType<UpdateManifest>;

const client = z.enum(['u', 'tauri', 'e', 'squirrel', 'velopack', 'sparkle', 'push']);
const labels = z.record(z.string(), z.string());

const device = z.object({
  deviceId: z.string(),
  version: z.string().nullable(),
  platform: z.string(),
  arch: z.string().nullable(),
  channel: z.string(),
  labels,
  source: z.enum(['pull', 'push']),
  client: client.nullable(),
  bundle: z.string().nullable(),
  firstSeen: time,
  lastSeen: time,
  lastOffered: z.object({ version: z.string(), at: time }).nullable(),
}) satisfies z.ZodType<DeviceRecord>;

const standing = z.object({
  state: z.enum(STANDING_STATES),
  on: z
    .array(z.string())
    .describe('Platforms that are offered it; empty for all it has files for.'),
  supersededBy: z.string().nullable().describe('Version that all other devices are offered.'),
  wayDownFor: z.array(z.string()).describe('Rolled-back versions that it is the way down from.'),
  change: z.object({ at: time, by: z.string(), reason: z.string().nullable() }).nullable(),
}) satisfies z.ZodType<ReleaseStanding>;

const ownedRelease = z.object({
  release,
  targets: targeting.nullable(),
  offered: z.boolean(),
  offeredAt: time.nullable(),
  devices: count.describe('Devices that run it on its channel.'),
  standing,
}) satisfies z.ZodType<Omit<OwnedRelease, 'change'> & { readonly standing: ReleaseStanding }>;

const explanation = z.object({
  decision: z.object({
    update: manifest.nullable(),
    reason: z.enum([
      ...(['offered', 'up-to-date', 'no-artifact', 'not-targeted', 'outside-cohort'] as const),
      'rolled-back-without-fallback',
    ]),
  }),
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
  candidates: z.array(
    z.object({
      version: z.string(),
      channel: z.string(),
      status,
      verdict: z.enum([
        ...(['offered', 'not-published', 'no-artifact', 'not-targeted', 'outside-cohort'] as const),
      ]),
      bucket: z.int().min(0).max(9999).nullable(),
      threshold: z.int().min(0).max(10_000),
      unmet: z.array(expression),
    }),
  ),
}) satisfies z.ZodType<Explanation>;

const guards = z.object({
  minimumDevices: count,
  failedPercent: z.number().exactOptional(),
  revertedPercent: z.number().exactOptional(),
  stuckPercent: z.number().exactOptional(),
  silentPercent: z.number().exactOptional(),
  stuckAfterMinutes: count,
  silentAfterMinutes: count,
  knownForMinutes: count,
  confirmMinutes: count,
  source: z.literal('push').exactOptional(),
}) satisfies z.ZodType<PlanGuards>;

const raiseHours = z.object({
  days: z.array(z.enum(WEEK_DAYS)),
  from: z.string(),
  to: z.string(),
  timeZone: z.string(),
}) satisfies z.ZodType<RaiseHours>;

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
  step: count.nullable().describe('Index of the step that began, or was reached, last.'),
  nextAt: time.nullable().describe('End of the present wait.'),
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
  patienceMinutes: count,
  raiseBetween: raiseHours.nullable(),
  preset: z.enum(PLAN_PRESET_NAMES).nullable(),
  onTrip: z.enum(TRIP_EFFECTS),
  createdAt: time,
  createdBy: z.string(),
}) satisfies z.ZodType<RolloutPlan>;

const rate = z.object({
  base: z.number().describe('Devices that could have shown it by now.'),
  percent: z.number(),
  low: z.number().describe('Lower end of the 95 % interval.'),
  high: z.number().describe('Upper end of the 95 % interval.'),
  limit: z.number().nullable(),
  tripped: z.boolean(),
  network: z
    .object({ count: z.number(), base: z.number() })
    .nullable()
    .describe(
      'Devices of the network without which too few are left to judge by, while the condition holds.',
    ),
}) satisfies z.ZodType<SignalRate>;

const health = z.object({
  ...{ offered: count, installed: count, failed: count, reverted: count, stuck: count },
  silent: count,
  rates: z.object({ failed: rate, reverted: rate, stuck: rate, silent: rate }),
  verdict: z.enum(VERDICTS),
}) satisfies z.ZodType<Health>;

const stoppedRelease = z.object({ channel: z.string(), version: z.string() });

const stop = z.object({
  id: z.string(),
  releases: z.array(stoppedRelease).describe('What was published, by channel, the oldest first.'),
}) satisfies z.ZodType<Stop>;

const resumedStop = z.object({
  released: z.array(stoppedRelease),
  changed: z
    .array(stoppedRelease.extend({ reason: z.string() }))
    .describe('What is left as it is, because its status was set since.'),
}) satisfies z.ZodType<ResumedStop>;

/** Shapes by the names that they have in the document. */
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
  Device: device,
  UpdateManifest: manifest,
  ReleaseAnswer: z.object({ release, findings: z.array(finding).exactOptional() }),
  RehearsedRelease: z.object({ release: unpublished, findings: z.array(finding), effect }),
  ServingAnswer: z.object({ release: servingState }),
  RehearsedServing: z.object({ release: servingState, findings: z.array(finding), effect }),
  WithdrawnAnswer: z.object({ release: withdrawn }),
  StopAnswer: z.object({ stop }),
  ResumedStop: resumedStop,
  Approval: approval,
  ApprovalAnswer: z.object({ approval, findings: z.array(finding).exactOptional() }),
  ApprovalPage: z.object({
    approvals: z.array(approval),
    next: z.string().nullable().describe('`before` of the next page.'),
  }) satisfies z.ZodType<ApprovalPage>,
  RolloutPlan: plan,
  Health: health,
  PlanAnswer: z.object({ plan }),
  RehearsedPlan: z.object({
    plan: plan.omit({ id: true, createdAt: true, createdBy: true }),
    findings: z.array(finding),
    effect,
  }) satisfies z.ZodType<PlanDryRunAnswer>,
  PlanPresets: z.object({
    presets: z.array(
      z.object({
        name: z.enum(PLAN_PRESET_NAMES),
        steps: z.array(z.object({ rollout: percent, holdMinutes: count })),
        guards,
      }) satisfies z.ZodType<NamedPreset>,
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
  DeviceAnswer: z.object({ device }),
  Explanation: explanation,
  ReportedFleet: z.object({ app: z.string(), received: count }),
  Wave: z.object({
    app: z.string(),
    channel: z.string(),
    decisions: z.array(z.object({ deviceId: z.string(), update: manifest.nullable() })),
    updatesOffered: count,
  }),
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
