// Dialog for the settings of a channel, with what a minimum version would do.

import { useState } from 'preact/hooks';
import type { ChannelDetail } from '../../contract/console.ts';
import { LIMIT } from '../../contract/limit.ts';
import type { DdiAuth } from '../../contract/resource.ts';
import { call } from '../api/call.ts';
import { type DialogEnd, FormDialog } from '../form/dialog.tsx';
import { Choice, Field, type FieldOfForm, optionsOf, PercentField } from '../form/field.tsx';
import { useFields } from '../form/form.tsx';
import { queryText } from '../format/console-path.ts';
import { countText, numberText } from '../format/figure-text.ts';
import { belowMinimum, totalOf } from '../format/fleet-bars.ts';
import { useLoad } from '../hook/use-load.ts';
import { OpenDoors } from '../rollout/open-doors.tsx';
import { DdiFields } from './ddi-fields.tsx';

const MODES = optionsOf({ optional: 'Optional', recommended: 'Recommended' });

const SIGNATURES = optionsOf({ optional: 'Optional', required: 'Required' });

const APPROVALS = optionsOf({ none: 'Not asked for', one: 'One other member' });

type Chosen = Pick<ChannelDetail, 'updateMode' | 'requireSignature' | 'follows' | 'ddi'> &
  AskedApprovals;

function chosenOf(details: ChannelDetail): Chosen {
  const { updateMode, requireSignature, follows, approvals, approvalDays, ddi } = details;
  return { updateMode, requireSignature, follows, approvals, approvalDays, ddi };
}

/** Option for no channel; no channel has an empty name. */
const NOBODY = '';

/** Dialog for the settings; sends only changed fields, because another person may have changed others. */
export function ChannelDialog(
  props: DialogEnd & {
    details: ChannelDetail;
    /** Names of the app's other channels. */
    others: readonly string[];
    ddiAuth: DdiAuth | null;
  },
) {
  const { details, others, ddiAuth, ...end } = props;
  const { values, field } = useFields({
    minimumSupportedVersion: details.minimumSupportedVersion ?? '',
    defaultRollout: String(details.defaultRollout),
  });
  const [chosen, setChosen] = useState<Chosen>(() => chosenOf(details));
  const choose = (part: Partial<Chosen>) => setChosen({ ...chosen, ...part });
  const { updateMode, requireSignature, follows, approvals, ddi } = chosen;
  const change = changedIn(details, {
    ...chosen,
    minimumSupportedVersion: values.minimumSupportedVersion.trim() || null,
    defaultRollout: Number(values.defaultRollout),
  });
  return (
    <FormDialog
      title={`Settings of ${details.name}`}
      verb="Save"
      obstacle={Object.keys(change).length === 0 ? 'Nothing was changed' : undefined}
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
      <DdiFields
        ddiAuth={ddiAuth}
        settings={ddi}
        onChange={(settings) => choose({ ddi: settings })}
      />
      <ApprovalFields {...chosen} onChange={choose} />
      <OpenDoors app={details.app} channel={details.name} change={{ approvals, follows }} />
    </FormDialog>
  );
}

/** Returns the fields of `after` that differ; of a record in both, only its fields that differ. */
function changedIn(before: object, after: object): Readonly<Record<string, unknown>> {
  const was = new Map<string, unknown>(Object.entries(before));
  const changed = Object.entries(after).flatMap(([name, value]): [string, unknown][] => {
    const old = was.get(name);
    if (!isRecord(old) || !isRecord(value)) return Object.is(old, value) ? [] : [[name, value]];
    const inner = changedIn(old, value);
    return Object.keys(inner).length === 0 ? [] : [[name, inner]];
  });
  return Object.fromEntries(changed);
}

function isRecord(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
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
