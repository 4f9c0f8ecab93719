// Page of a channel: its releases by version with their rollout, first steps while the app has no devices,
// and the dialog for the channel's settings.

import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import type { AppOverview, ChannelDetail } from '../../contract/console.ts';
import { LIMIT } from '../../contract/limit.ts';
import { call } from '../api/call.ts';
import { CopyButton } from '../form/copy-button.tsx';
import { type DialogEnd, FormDialog } from '../form/dialog.tsx';
import { Choice, Field, type FieldOfForm, optionsOf, PercentField } from '../form/field.tsx';
import { useFields } from '../form/form.tsx';
import { LoadedView, Skeleton } from '../form/notice.tsx';
import { consolePath, queryText } from '../format/console-path.ts';
import { countText, numberText, percentText } from '../format/figure-text.ts';
import { belowMinimum, totalOf } from '../format/fleet-bars.ts';
import { servingText } from '../format/serving.ts';
import { useLoad } from '../hook/use-load.ts';
import { Card } from '../part/card.tsx';
import { Name } from '../part/name.tsx';
import { PageHead, useTitle } from '../part/page-head.tsx';
import { AsOf } from '../part/time.tsx';
import { OpenDoors } from '../rollout/open-doors.tsx';
import { useMay, useOrganization } from '../session/use-session.ts';
import { PublishDialog } from './publish-dialog.tsx';
import { isFiltered, ReleaseList } from './release-list.tsx';

const REFRESH_MS = 4000;

/** Page of a channel; filters and page of the list are query parameters. */
export function ChannelPage({ app, channel }: { app: AppOverview; channel: string }) {
  useTitle(channel, app.name);
  const { query } = useLocation();
  const [open, setOpen] = useState<'publish' | 'settings'>();
  const mayPublish = useMay('publisher') && app.archivedAt === null;
  const maySet = useMay('owner');
  const place = { app: app.ref, channel };
  const wanted = { version: query.version, status: query.status };
  const details = useLoad(`channel${queryText(place)}`, REFRESH_MS);
  const releases = useLoad(
    `releases${queryText({ ...place, ...wanted, page: query.page, perPage: 25 })}`,
    REFRESH_MS,
  );
  const reload = () => Promise.all([details.reload(), releases.reload()]);
  // Buttons appear together, because each one moves the others.
  const isListed = !details.isComing && !releases.isComing;
  const publish = mayPublish ? (
    <button type="button" class="button primary" onClick={() => setOpen('publish')}>
      Publish release
    </button>
  ) : undefined;
  return (
    <>
      <PageHead
        title={channel}
        lead={details.data === undefined ? '\u00a0' : <ChannelLead details={details.data} />}
        actions={
          <>
            {isListed && details.data !== undefined && maySet && (
              <button type="button" class="button plain" onClick={() => setOpen('settings')}>
                Channel settings
              </button>
            )}
            {/* An empty list has the button itself. */}
            {isListed &&
              releases.data !== undefined &&
              (releases.data.total > 0 || isFiltered(query)) &&
              publish}
          </>
        }
      />
      {details.data !== undefined && <ChannelTop app={app} details={details.data} />}
      {details.isComing && <Skeleton />}
      <LoadedView of={releases}>
        {(page) => (
          <ReleaseList
            {...{ app, channel, page, query, publish }}
            follows={details.data?.follows ?? null}
          />
        )}
      </LoadedView>
      <AsOf of={releases} />
      {open === 'publish' && (
        <PublishDialog
          app={app}
          channel={channel}
          defaultRollout={details.data?.defaultRollout ?? 100}
          onClose={() => setOpen(undefined)}
        />
      )}
      {open === 'settings' && details.data !== undefined && (
        <ChannelDialog
          details={details.data}
          others={app.channels.map(({ name }) => name).filter((name) => name !== channel)}
          onClose={() => setOpen(undefined)}
          onDone={reload}
        />
      )}
    </>
  );
}

/** Content above the releases: a warning, the download address for people, and the first steps. */
function ChannelTop({ app, details }: { app: AppOverview; details: ChannelDetail }) {
  const { name, downloadUrl, approvals, follows } = details;
  return (
    <>
      {/* Uses the page's settings, which are newer than those in the list of all channels. */}
      <OpenDoors app={app.ref} channel={name} change={{ approvals, follows }} />
      <p class="download-link row small">
        <span class="muted">For people:</span> <code>{downloadUrl}</code>
        <CopyButton text={downloadUrl} what="download link" />
      </p>
      <FirstSteps app={app} channel={name} base={downloadUrl.replace(/\/download\/.*$/, '')} />
    </>
  );
}

function ChannelLead({ details }: { details: ChannelDetail }) {
  const {
    devices,
    devicesDay,
    minimumSupportedVersion,
    defaultRollout,
    updateMode,
    requireSignature,
    follows,
    standing,
  } = details;
  const serving = servingText(standing, details.name);
  return (
    <>
      {serving === undefined ? (
        'No release at 100\u00a0%'
      ) : (
        <>
          Serving <span class="code">{serving}</span>
        </>
      )}{' '}
      · {countText(devices, 'device')}, {countText(devicesDay, 'seen', 'seen')} in the last day ·
      new releases start at {percentText(defaultRollout)} · updates are {updateMode}
      {minimumSupportedVersion !== null && (
        <>
          {' '}
          and required below <span class="code">{minimumSupportedVersion}</span>
        </>
      )}
      {requireSignature && ' · signed artifacts only'}
      {follows !== null && (
        <>
          {' '}
          · follows <Name text={follows} />: its devices are offered the releases of both
        </>
      )}
    </>
  );
}

const STEPS_REFRESH_MS = 5000;

/** Checklist for an unarchived app without devices; nothing for any other. `base`: the service's URL. */
function FirstSteps(props: { app: AppOverview; channel: string; base: string }) {
  const { app, channel, base } = props;
  const { id: org } = useOrganization();
  const isNew = app.devices === 0 && app.archivedAt === null;
  const keys = useLoad(isNew ? `keys${queryText({ org })}` : null, STEPS_REFRESH_MS);
  if (!isNew) return null;
  const isPublished = app.channels.some(({ releases }) => releases > 0);
  const hasKey = keys.data?.keys.some(({ revokedAt }) => revokedAt === null) ?? false;
  const address = `${base}/u/${encodeURIComponent(app.ref)}/${encodeURIComponent(channel)}`;
  const line = `curl -i -H 'X-Service-Device: my-first-device' ${address}/darwin/aarch64/0.0.1`;
  return (
    <Card title="First steps">
      <ol class="steps-list stack">
        <Step isDone>Create the app {app.name}.</Step>
        <Step isDone={isPublished}>Publish a release, here or from your build.</Step>
        <Step isDone={hasKey}>
          <a class="link" href={consolePath.settings('keys')}>
            Create a key
          </a>{' '}
          for your build, so that it can publish by itself.
        </Step>
        <Step isDone={false}>
          Let a device ask: <code>{line}</code> <CopyButton text={line} what="command" />
        </Step>
      </ol>
    </Card>
  );
}

function Step({ isDone, children }: { isDone: boolean; children: ComponentChildren }) {
  return (
    <li class={isDone ? 'muted' : ''}>
      <span aria-hidden="true">{isDone ? '✓' : '○'}</span>
      <span>
        <span class="unseen">{isDone ? 'Done: ' : 'To do: '}</span>
        {children}
      </span>
    </li>
  );
}

const MODES = optionsOf({ optional: 'Optional', recommended: 'Recommended' });

const SIGNATURES = optionsOf({ optional: 'Optional', required: 'Required' });

const APPROVALS = optionsOf({ none: 'Not asked for', one: 'One other member' });

type Chosen = Pick<ChannelDetail, 'updateMode' | 'requireSignature' | 'follows'> & AskedApprovals;

function chosenOf(details: ChannelDetail): Chosen {
  const { updateMode, requireSignature, follows, approvals, approvalDays } = details;
  return { updateMode, requireSignature, follows, approvals, approvalDays };
}

/** Option for no channel; no channel has an empty name. */
const NOBODY = '';

/** Dialog for the settings; sends only changed fields, because another person may have changed others. */
function ChannelDialog(
  props: DialogEnd & {
    details: ChannelDetail;
    /** Names of the app's other channels. */
    others: readonly string[];
  },
) {
  const { details, others, ...end } = props;
  const { values, field } = useFields({
    minimumSupportedVersion: details.minimumSupportedVersion ?? '',
    defaultRollout: String(details.defaultRollout),
  });
  const [chosen, setChosen] = useState<Chosen>(() => chosenOf(details));
  const choose = (part: Partial<Chosen>) => setChosen({ ...chosen, ...part });
  const { updateMode, requireSignature, follows, approvals } = chosen;
  const wanted = {
    ...chosen,
    minimumSupportedVersion: values.minimumSupportedVersion.trim() || null,
    defaultRollout: Number(values.defaultRollout),
  };
  const names = Object.keys(wanted) as (keyof typeof wanted)[];
  const changed = names.filter((name) => wanted[name] !== details[name]);
  const change = Object.fromEntries(changed.map((name) => [name, wanted[name]]));
  return (
    <FormDialog
      title={`Settings of ${details.name}`}
      verb="Save"
      obstacle={changed.length === 0 ? 'Nothing was changed' : undefined}
      onSend={() => call('PATCH', 'channels', { app: details.app, name: details.name, ...change })}
      {...end}
    >
      <MinimumField details={details} {...field('minimumSupportedVersion')} />
      <PercentField
        label="Default rollout (%)"
        hint="The share of the fleet that a new release begins with, unless the publisher says otherwise."
        isRequired
        {...field('defaultRollout')}
      />
      <Choice
        label="Update mode"
        value={updateMode}
        options={MODES}
        onChoose={(mode) => choose({ updateMode: mode })}
        hint="What apps are told about an update that is not required."
      />
      <Choice
        label="Signatures"
        value={requireSignature ? 'required' : 'optional'}
        options={SIGNATURES}
        onChoose={(choice) => choose({ requireSignature: choice === 'required' })}
        hint="Whether an artifact may be unsigned. Tauri apps never get one that is."
      />
      <Choice
        label="Follows"
        value={follows ?? NOBODY}
        options={[{ value: NOBODY, label: 'No other channel' }, ...others]}
        onChoose={(choice) => choose({ follows: choice === NOBODY ? null : choice })}
        hint="Its devices also get the releases of the channel it follows: the highest version of both."
      />
      <ApprovalFields {...chosen} onChange={choose} />
      <OpenDoors app={details.app} channel={details.name} change={{ approvals, follows }} />
    </FormDialog>
  );
}

type AskedApprovals = Pick<ChannelDetail, 'approvals' | 'approvalDays'>;

function ApprovalFields(
  props: AskedApprovals & { onChange: (part: Partial<AskedApprovals>) => void },
) {
  const { approvals, approvalDays, onChange } = props;
  return (
    <>
      <Choice
        label="Approvals"
        value={approvals}
        options={APPROVALS}
        onChoose={(choice) => onChange({ approvals: choice })}
        hint="Whether what offers a release to more devices waits for a second publisher or owner."
      />
      {approvals === 'one' && (
        <Field
          name="approvalDays"
          label="Days until a request expires"
          type="number"
          min={1}
          max={LIMIT.approvalDaysMax}
          value={approvalDays === 0 ? '' : String(approvalDays)}
          onInput={(days) => onChange({ approvalDays: Number(days) })}
          isRequired
        />
      )}
    </>
  );
}

/** Field for the version, with the number of devices whose update would be required. */
function MinimumField(props: FieldOfForm & { details: ChannelDetail }) {
  const { details, ...field } = props;
  const minimum = field.value.trim();
  return (
    <>
      <Field
        label="Minimum supported version"
        placeholder="none"
        hint="The next update that a device below it is offered is required. Empty for none."
        isFocused
        isCode
        {...field}
      />
      {minimum !== '' && minimum !== details.minimumSupportedVersion && (
        <MinimumEffect app={details.app} channel={details.name} minimum={minimum} />
      )}
    </>
  );
}

function MinimumEffect(props: { app: string; channel: string; minimum: string }) {
  const { app, channel, minimum } = props;
  const fleet = useLoad(`fleet${queryText({ app, channel })}`);
  const { cells = [] } = fleet.data ?? {};
  const found = belowMinimum(cells, minimum);
  if (fleet.data === undefined || found === undefined) return null;
  const { limit, below } = found;
  return (
    <p role="status">
      Of {countText(totalOf(cells), 'device')} on record for the channel,{' '}
      <strong>
        {numberText(below)} {below === 1 ? 'runs' : 'run'} a version below {limit}
      </strong>
      : the next update that one of them is offered is required. Those that are offered none are
      told nothing.
    </p>
  );
}
