// Page of a device: its state, its history with offers and failures, and its present decision with a verdict
// for every candidate release.

import type { AppOverview } from '../../contract/console.ts';
import type {
  DeviceRelease,
  ExplainedCandidate,
  ExplainedDecision,
  ShownDevice,
} from '../../contract/console-fleet.ts';
import type { Verdict } from '../../contract/explanation.ts';
import type { DeviceClient } from '../../contract/resource.ts';
import { CopyButton } from '../form/copy-button.tsx';
import { LoadedView, Notice } from '../form/notice.tsx';
import { consolePath, queryText } from '../format/console-path.ts';
import { cohortPlace, reasonText, ticketText, troubleText } from '../format/decision-text.ts';
import { numberText, percentText } from '../format/figure-text.ts';
import { useLoad } from '../hook/use-load.ts';
import { Badge, StatusBadge, type Tone } from '../part/badge.tsx';
import { Card, HelpLink } from '../part/card.tsx';
import { LabelList, Name } from '../part/name.tsx';
import { PageHead, useTitle } from '../part/page-head.tsx';
import { AsOf, Time } from '../part/time.tsx';
import { ActionCard } from './action-card.tsx';
import { NeverSeenPage } from './never-seen-page.tsx';

const REFRESH_MS = 4000;

/** Page of a device, refreshed while it is open. */
export function DevicePage({ app, deviceId }: { app: AppOverview; deviceId: string }) {
  useTitle(deviceId, 'Devices', app.name);
  const device = useLoad(`device${queryText({ app: app.ref, deviceId })}`, REFRESH_MS);
  if (device.error?.status === 404) {
    return <NeverSeenPage app={app} deviceId={deviceId} />;
  }
  return (
    <>
      <PageHead
        title={<Name text={deviceId} isCode />}
        lead={<a href={consolePath.devices(app.ref)}>← Devices of {app.name}</a>}
      />
      <LoadedView of={device}>
        {(found) => (
          <div class="split">
            <div>
              <DecisionCard app={app.ref} device={found} />
            </div>
            <div>
              <FactsCard app={app.ref} device={found} />
              <ActionCard app={app.ref} device={found} onChange={device.reload} />
              <HistoryCard app={app.ref} device={found} />
            </div>
          </div>
        )}
      </LoadedView>
      <AsOf of={device} />
    </>
  );
}

function FactsCard({ app, device }: { app: string; device: ShownDevice }) {
  const { version, channel, lastOffered } = device;
  return (
    <Card title="Device">
      <dl class="facts">
        <dt>Runs</dt>
        <dd class="code">{version ?? 'unknown'}</dd>
        <dt>Channel</dt>
        <dd>
          <a href={consolePath.channel(app, channel)}>
            <Name text={channel} />
          </a>
        </dd>
        <dt>Platform</dt>
        <dd>
          <Name text={[device.platform, device.arch].filter(Boolean).join(' ')} />
        </dd>
        <dt>Client</dt>
        <dd>
          {clientText(device.client)}
          {device.bundle !== null && (
            <>
              , installed from <Name text={device.bundle} isCode />
            </>
          )}
        </dd>
        <dt>Labels</dt>
        <dd>
          <LabelList labels={device.labels} />
        </dd>
        <dt>Last seen</dt>
        <dd>
          <Time at={device.lastSeen} isZoned />{' '}
          <span class="muted">{device.source === 'push' ? 'in a report' : 'by its own check'}</span>
        </dd>
        <dt>First seen</dt>
        <dd>
          <Time at={device.firstSeen} isZoned />
        </dd>
        <dt>Last offered</dt>
        <dd>
          {lastOffered === null ? (
            <span class="muted">nothing yet</span>
          ) : (
            <>
              <a class="code" href={consolePath.release(app, channel, lastOffered.version)}>
                {lastOffered.version}
              </a>{' '}
              <Time at={lastOffered.at} isZoned />
            </>
          )}
        </dd>
      </dl>
    </Card>
  );
}

type Happening = {
  readonly at: string;
  readonly what: string;
  readonly tone?: Tone;
  readonly why?: string;
};

function HistoryCard({ app, device }: { app: string; device: ShownDevice }) {
  const happenings = happeningsOf(device);
  return (
    <Card title="History" aside={<HelpLink to="signals">What counts as a signal</HelpLink>}>
      {happenings.length === 0 ? (
        <p class="muted">It ran the same version all the time, and was offered nothing.</p>
      ) : (
        <ol class="timeline">
          {happenings.map(({ at, what, tone, why }) => (
            <li key={`${at} ${what}`} class="row apart">
              <span>
                {tone === undefined ? what : <Badge tone={tone}>{what}</Badge>}
                {why !== undefined && <span class="timeline-why muted">{why}</span>}
              </span>
              <span class="muted">
                <Time at={at} isZoned />
              </span>
            </li>
          ))}
        </ol>
      )}
      {device.lastOffered !== null && device.releases.length === 0 && (
        <p class="hint">
          Offers and failures are kept of releases that were published after the device was first
          seen. <a href={consolePath.channel(app, device.channel)}>Releases of its channel</a>
        </p>
      )}
    </Card>
  );
}

/** Returns the events of a device, newest first. */
function happeningsOf({ history, releases }: ShownDevice): readonly Happening[] {
  const versions = history.map(({ at, from, to }) => ({
    ...{ at, what: from === null ? `Ran ${to}` : `${from} → ${to}` },
  }));
  return [...versions, ...releases.flatMap(eventsOf)].toSorted((one, other) =>
    other.at.localeCompare(one.at),
  );
}

function eventsOf(release: DeviceRelease): readonly Happening[] {
  const { version, channel, offeredAt, revertedAt, failedAt, failedReason } = release;
  const events: Happening[] = [];
  if (failedAt !== null) {
    const why = failedReason === null ? {} : { why: failedReason };
    events.push({ at: failedAt, what: `Failed to install ${version}`, tone: 'bad', ...why });
  }
  if (revertedAt !== null)
    events.push({ at: revertedAt, what: `Went back from ${version}`, tone: 'warn' });
  if (offeredAt !== null)
    events.push({ at: offeredAt, what: `Was offered ${version} (${channel})` });
  return events;
}

/** Card with the decision for a device. Loading it records no offer. */
function DecisionCard({ app, device }: { app: string; device: ShownDevice }) {
  const { deviceId, channel } = device;
  const trouble = troubleText(device.releases, device);
  const decision = useLoad(`decision${queryText({ app, deviceId, channel })}`, REFRESH_MS);
  return (
    <Card title="What it would get now">
      <LoadedView of={decision}>
        {(found) => (
          <>
            <Outcome decision={found} app={app} channel={channel} />
            {trouble !== undefined && <Notice tone="warn">{trouble}</Notice>}
            <p class="ticket row panel">
              <span>{ticketText(found, trouble)}</span>
              <CopyButton text={ticketText(found, trouble)} what="sentence" />
            </p>
            {found.candidates.length > 0 && (
              <ol class="candidates stack" aria-label="Releases considered, newest first">
                {found.candidates.map((candidate) => (
                  <CandidateRow
                    key={candidate.version}
                    candidate={candidate}
                    href={consolePath.release(app, channel, candidate.version)}
                  />
                ))}
              </ol>
            )}
            {found.considered > found.candidates.length && (
              <p class="hint">
                {numberText(found.considered - found.candidates.length)} more were passed over
                before the last one.
              </p>
            )}
          </>
        )}
      </LoadedView>
    </Card>
  );
}

function Outcome(props: { decision: ExplainedDecision; app: string; channel: string }) {
  const { decision, app, channel } = props;
  const { offer, reason, current } = decision;
  return (
    <div class="decision stack tight">
      {offer === null ? (
        <p class="decision-offer">Nothing</p>
      ) : (
        <p class="decision-offer">
          <a class="code" href={consolePath.release(app, channel, offer.version)}>
            {offer.version}
          </a>{' '}
          {offer.allowDowngrade === true && <Badge tone="warn">downgrade</Badge>}{' '}
          {offer.updateMode === 'required' && <Badge tone="bad">required</Badge>}
        </p>
      )}
      <p>{reasonText(decision)}</p>
      <p class="hint">
        It runs <span class="code">{current.version ?? 'an unknown version'}</span>{' '}
        {current.status !== null && <StatusBadge status={current.status} />}
        <span class="unseen">{reason}</span>
      </p>
    </div>
  );
}

type VerdictLook = {
  readonly label: string;
  readonly tone: Tone;
  /** Whether the device's bucket in the rollout explains the verdict. */
  readonly showsCohort?: true;
};

const LOOKS: Readonly<Record<Verdict, VerdictLook>> = {
  offered: { label: 'Offered', tone: 'good', showsCohort: true },
  'not-targeted': { label: 'Not for it', tone: 'quiet' },
  'outside-cohort': { label: 'Not yet its turn', tone: 'warn', showsCohort: true },
  'no-artifact': { label: 'No artifact', tone: 'quiet' },
  barred: { label: 'Not again', tone: 'warn' },
  'first-offer-unavailable': { label: 'Cannot be offered now', tone: 'bad' },
  paused: { label: 'Paused', tone: 'warn' },
  deprecated: { label: 'Deprecated', tone: 'quiet' },
  'rolled-back': { label: 'Rolled back', tone: 'bad' },
};

/** Returns label and tone of a verdict, even of one that this page does not know. */
function lookOf(verdict: Verdict): VerdictLook {
  if (Object.hasOwn(LOOKS, verdict)) return LOOKS[verdict];
  return { label: verdict.replaceAll('-', ' '), tone: 'quiet' };
}

function CandidateRow({ candidate, href }: { candidate: ExplainedCandidate; href: string }) {
  const { version, verdict, detail, bucket, threshold } = candidate;
  const { label, tone, showsCohort = false } = lookOf(verdict);
  // The bucket explains nothing if the release is rolled out to all devices.
  const isPartial = threshold !== cohortPlace.buckets && showsCohort;
  return (
    <li class={verdict === 'offered' ? 'chosen' : ''}>
      <a class="code strong" href={href}>
        {version}
      </a>
      <Badge tone={tone}>{label}</Badge>
      <span class="candidate-detail hint" dir="auto">
        {detail}
      </span>
      {isPartial && bucket !== undefined && <Cohort bucket={bucket} threshold={threshold} />}
    </li>
  );
}

/** Bar of the rollout with a mark at the device's bucket; the device is included when the bar reaches it. */
function Cohort({ bucket, threshold }: { bucket: number; threshold: number }) {
  const place = (bucket / cohortPlace.buckets) * 100;
  const reached = (threshold / cohortPlace.buckets) * 100;
  return (
    <span
      class="cohort"
      role="img"
      aria-label={`It is at ${percentText(place)} of the rollout, which has reached ${percentText(reached)}`}
      title={`It is at ${percentText(place)} of the rollout, which has reached ${percentText(reached)}.`}
    >
      <span class="cohort-reach" style={{ width: `${reached}%` }} />
      <span class="cohort-mark" style={{ left: `${place}%` }} />
    </span>
  );
}

const CLIENT_TEXTS: Readonly<Record<DeviceClient, string>> = {
  u: 'update checks',
  tauri: 'Tauri',
  e: 'electron-updater',
  squirrel: 'Squirrel',
  velopack: 'Velopack',
  sparkle: 'Sparkle',
  ddi: 'DDI (SWUpdate, rauc-hawkbit-updater, Zephyr)',
  push: 'an orchestrator',
};

/** Returns the client of a device's check-ins. */
function clientText(client: DeviceClient | null): string {
  if (client === null) return 'unknown';
  // A page loaded before an upgrade of the service may receive an unknown client.
  return Object.hasOwn(CLIENT_TEXTS, client) ? CLIENT_TEXTS[client] : client;
}
