// Page of a release: its rollout, devices, artifacts and serving controls.

import type { AppOverview, PlanAndHealth, RenderedReleaseDetail } from '../../contract/console.ts';
import type { Artifact } from '../../contract/resource.ts';
import { artifactFormat } from '../../domain/decision/artifact/artifact-format.ts';
import type { ReleaseName } from '../api/call.ts';
import { AgeCard } from '../fleet/adoption-card.tsx';
import { CopyButton } from '../form/copy-button.tsx';
import { LoadedView, Skeleton } from '../form/notice.tsx';
import { consolePath, queryText } from '../format/console-path.ts';
import { bytesText, countText, middleText, numberText, shareText } from '../format/figure-text.ts';
import { isUnhealthy, type ReleaseVerdict, releaseVerdict } from '../format/release-verdict.ts';
import { AuditEntryView, OthersChange } from '../home/audit-entry.tsx';
import { NotFoundPage } from '../home/not-found-page.tsx';
import { type Loaded, useLoad } from '../hook/use-load.ts';
import { StandingBadge, VerdictBadge } from '../part/badge.tsx';
import { Card, FigureTile } from '../part/card.tsx';
import { type Column, DataTable } from '../part/data-table.tsx';
import { ServingEffect, useServingDryRun } from '../part/dry-run.tsx';
import { Name, None } from '../part/name.tsx';
import { PageHead, useTitle } from '../part/page-head.tsx';
import { AsOf, Time } from '../part/time.tsx';
import { FailureBreakdownCard, HealthCard } from '../rollout/health-card.tsx';
import { PlanCard } from '../rollout/plan-card.tsx';
import { RolloutCard, TargetingCard } from '../rollout/rollout-card.tsx';
import { useMay } from '../session/use-session.ts';
import { ReleaseControls } from './release-controls.tsx';

const REFRESH_MS = 3000;
const BREAKDOWN_REFRESH_MS = 10_000;
const ADOPTION_REFRESH_MS = 30_000;

/** Page of a release, refreshed while it is open. */
export function ReleasePage(props: { app: AppOverview; channel: string; version: string }) {
  const { app, channel, version } = props;
  useTitle(version, channel, app.name);
  const name = { app: app.ref, channel, version };
  const details = useLoad(`release${queryText(name)}`, REFRESH_MS);
  if (details.error?.status === 404) return <NotFoundPage what={`The release ${version}`} />;
  return (
    <LoadedView of={details}>
      {(found) => <ReleaseView app={app} name={name} details={found} loaded={details} />}
    </LoadedView>
  );
}

function ReleaseView(props: {
  app: AppOverview;
  name: ReleaseName;
  details: RenderedReleaseDetail;
  loaded: Loaded<RenderedReleaseDetail>;
}) {
  const { app, name, details, loaded } = props;
  const planned = useLoad(`releases/plan${queryText(name)}`, REFRESH_MS);
  const { data: breakdown } = useLoad(`releases/trouble${queryText(name)}`, BREAKDOWN_REFRESH_MS);
  const { data: spread } = useLoad(`releases/adoption${queryText(name)}`, ADOPTION_REFRESH_MS);
  const reload = async () => {
    await Promise.all([loaded.reload(), planned.reload()]);
  };
  const { release, standing } = details;
  const plannedNow = planned.data;
  return (
    <>
      <PageHead
        title={
          <>
            <span class="code">{release.version}</span> <StandingBadge state={standing.state} />
          </>
        }
        lead={
          <>
            <a href={consolePath.channel(name.app, name.channel)}>{name.channel}</a> · published{' '}
            <Time at={release.createdAt} />
            {release.source === 'webhook' ? ' · by webhook' : ''}
          </>
        }
        actions={
          <ReleaseControls
            {...{ app, name, details }}
            isUnhealthy={isUnhealthy(plannedNow)}
            onDone={reload}
          />
        }
      />
      <OthersChange history={details.history} />
      {planned.isComing ? (
        <Skeleton />
      ) : (
        <VerdictView
          verdict={releaseVerdict({
            ...{ ...release, standing, history: details.history },
            planned: plannedNow,
          })}
          planned={plannedNow}
        />
      )}
      <DeviceFigures name={name} details={details} />
      <AsOf of={loaded} />
      <div class="split with-side">
        <div>
          {release.status === 'rolled_back' && (
            <WayDownCard name={name} devices={details.devices} />
          )}
          <LoadedView of={planned}>
            {(found) => (
              <PlanCard {...{ name, release, found }} history={details.history} onDone={reload} />
            )}
          </LoadedView>
          <RolloutCard
            name={name}
            release={release}
            standing={standing}
            plan={plannedNow?.plan ?? null}
            onDone={reload}
          />
          {plannedNow !== undefined && (
            <HealthCard
              name={name}
              planned={plannedNow}
              isOffered={release.status === 'published' && release.rolloutPct > 0}
              offered={details.devices.offered}
              breakdown={breakdown}
            />
          )}
          {breakdown !== undefined && (
            <FailureBreakdownCard breakdown={breakdown} version={release.version} />
          )}
          {spread?.adoption && <AgeCard adoption={spread.adoption} />}
        </div>
        <div>
          <TargetingCard name={name} release={release} onDone={reload} />
          <NotesCard html={release.notesHtml} />
          <HistoryCard history={details.history} />
        </div>
      </div>
      <ArtifactCard artifacts={release.artifacts} />
    </>
  );
}

/** The verdict: the state in one line, its cause and time, and what happens next automatically. */
function VerdictView(props: { verdict: ReleaseVerdict; planned: PlanAndHealth | undefined }) {
  const { verdict, planned } = props;
  const { tone, state, cause, since, next } = verdict;
  return (
    <section class={`notice panel small verdict stack tight ${tone}`} aria-label="Verdict">
      <p>
        <strong>{state}</strong>{' '}
        {planned !== undefined && <VerdictBadge verdict={planned.health.verdict} />}
      </p>
      {(cause !== null || since !== null) && (
        <p>
          {cause}
          {cause !== null && since !== null && ' · '}
          {since !== null && (
            <>
              since <Time at={since} isZoned />
            </>
          )}
        </p>
      )}
      {next !== null && (
        <p>
          {next.text}
          {next.at !== null && (
            <>
              : <Time at={next.at} isZoned />
            </>
          )}
        </p>
      )}
    </section>
  );
}

function DeviceFigures({ name, details }: { name: ReleaseName; details: RenderedReleaseDetail }) {
  const { on, offered, offeredNotOn, offeredIsEstimate, lastOfferedAt, below, fleet } =
    details.devices;
  const { app, channel, version } = name;
  const devices = (filter: Record<string, string>) =>
    consolePath.devices(app, { channel, ...filter });
  const count = (shown: string, filter: Record<string, string>, which: string) => (
    <a href={devices(filter)} title={`Show the devices ${which}`}>
      {shown}
    </a>
  );
  const about = offeredIsEstimate ? '≈ ' : '';
  return (
    <dl class="figures">
      <FigureTile
        label="Installed"
        value={count(numberText(on), { version }, `on ${version}`)}
        note={`${shareText(on, fleet)} of the fleet`}
      />
      <FigureTile
        label="Offered"
        value={count(about + numberText(offered), { offered: version }, `offered ${version} last`)}
        note={
          lastOfferedAt === null ? (
            'no device’s latest offer is this one'
          ) : (
            <>
              latest <Time at={lastOfferedAt} />
              {offeredNotOn > 0 && (
                <>
                  {' · '}
                  <a href={devices({ offered: version, moved: 'no' })}>
                    {about}
                    {numberText(offeredNotOn)} not on it yet
                  </a>
                </>
              )}
            </>
          )
        }
      />
      <FigureTile
        label="On an older version"
        value={count(numberText(below), { below: version }, `below ${version}`)}
        note={`below ${version}`}
      />
      <FigureTile
        label="Fleet"
        value={count(numberText(fleet), {}, `of ${channel}`)}
        note="devices on the channel"
      />
    </dl>
  );
}

function NotesCard({ html }: { html: string }) {
  return (
    <Card title="Notes">
      {html.trim() === '' ? (
        <p class="muted">No notes were published.</p>
      ) : (
        // The service renders and sanitises it; the console inserts no other HTML.
        <div class="prose stack" dir="auto" dangerouslySetInnerHTML={{ __html: html }} />
      )}
    </Card>
  );
}

function HistoryCard({ history }: Pick<RenderedReleaseDetail, 'history'>) {
  return (
    <Card title="History">
      {history.length === 0 ? (
        <p class="muted">Nothing happened yet.</p>
      ) : (
        <ol class="audit stack">
          {history.map((entry) => (
            <AuditEntryView key={entry.id} entry={entry} hasSubject={false} />
          ))}
        </ol>
      )}
    </Card>
  );
}

const WEB_ADDRESS = /^https?:\/\//i;

const COLUMNS: readonly Column<Artifact>[] = [
  { label: 'Platform', render: ({ platform }) => <Name text={platform} /> },
  {
    label: 'Architecture',
    render: ({ arch }) =>
      arch === undefined ? <span class="muted">any</span> : <Name text={arch} />,
  },
  {
    label: 'Format',
    render: (artifact) => {
      const format = artifactFormat(artifact);
      return format === undefined ? <None /> : <span class="whole">{format}</span>;
    },
  },
  {
    label: 'Size',
    isNumber: true,
    render: ({ size }) => (size === undefined ? <None /> : bytesText(size)),
  },
  {
    label: 'Signed',
    render: ({ signature }) =>
      signature === undefined ? <span class="muted">no</span> : <span title={signature}>yes</span>,
  },
  { label: 'Address', render: ({ url }) => <Address url={url} /> },
];

/** Card with a row per artifact; its URL is a link. */
function ArtifactCard({ artifacts }: { artifacts: readonly Artifact[] }) {
  return (
    <Card title="Artifacts" isFlush>
      {artifacts.length === 0 ? (
        <p class="hint padded">
          No artifacts: no device can install this release by itself. Fleet decisions still plan it.
        </p>
      ) : (
        <DataTable
          caption="Artifacts"
          columns={COLUMNS}
          rows={artifacts}
          keyOf={({ platform, arch, url }) => `${platform}/${arch}/${url}`}
        />
      )}
    </Card>
  );
}

/** Link for an http(s) URL, with a button to copy it; shows any other value as text. */
function Address({ url }: { url: string | undefined }) {
  if (url === undefined) return <None />;
  if (!WEB_ADDRESS.test(url)) return <Name text={url} isCode />;
  return (
    <span class="file-address row">
      <a class="code" href={url} target="_blank" rel="noopener noreferrer" title={url}>
        {middleText(url.split('/').at(-1) || url)}
      </a>{' '}
      <CopyButton text={url} what="address" />
    </span>
  );
}

function stillRunning(devices: number): string {
  return devices === 1
    ? '1 device still runs it, and is sent down when it asks.'
    : `${numberText(devices)} devices still run it, and are sent down as they ask.`;
}

/** Card of a rolled-back release: how many devices still run it, and which release they get instead. */
function WayDownCard(props: { name: ReleaseName; devices: RenderedReleaseDetail['devices'] }) {
  const { name, devices } = props;
  // Viewers may not do a dry run.
  const maySteer = useMay('publisher');
  const isAsking = maySteer && devices.on > 0;
  const dryRun = useServingDryRun(
    isAsking ? { ...name, status: 'rolled_back' } : undefined,
    // Repeats the dry run when the number of devices changes.
    devices.on,
  );
  return (
    <Card title="The way down">
      {devices.on === 0 ? (
        <p>No device is known to run it.</p>
      ) : isAsking ? (
        <ServingEffect dryRun={dryRun} isAboutRunners />
      ) : (
        <p>{stillRunning(devices.on)}</p>
      )}
      {devices.offeredNotOn > 0 && devices.lastOfferedAt !== null && (
        <p>
          {countText(devices.offeredNotOn, 'device was', 'devices were')} offered it last, the
          latest <Time at={devices.lastOfferedAt} />, and may still install it. They are sent down
          when they ask next.
        </p>
      )}
    </Card>
  );
}
