// Fields for the settings of DDI in the dialog of a channel.

import type { ComponentChildren } from 'preact';
import { DDI_KEYS } from '../../contract/choice.ts';
import { LIMIT } from '../../contract/limit.ts';
import { DDI_DEFAULTS, type DdiAuth, type DdiSettings } from '../../contract/resource.ts';
import { Choice, Field, optionsOf } from '../form/field.tsx';

const STATES = optionsOf({ off: 'Not answered', on: 'Answered' });

const UNKNOWN_VERSIONS = optionsOf({
  wait: 'It gets nothing until it tells its version',
  offer: 'It is offered the highest release that fits it',
});

type Change = (settings: DdiSettings | null) => void;

/** Choice whether DDI is answered, which `ddiAuth` of the app has to come before, and its settings. */
export function DdiFields(props: {
  ddiAuth: DdiAuth | null;
  settings: DdiSettings | null;
  onChange: Change;
}) {
  const { ddiAuth, settings, onChange } = props;
  const isOff = settings === null;
  const first = 'To turn it on, choose first under Edit app how these devices authenticate.';
  return (
    <>
      <Choice
        label="Devices that speak DDI"
        value={isOff ? 'off' : 'on'}
        options={STATES.filter(({ value }) => value === 'off' || ddiAuth !== null)}
        onChoose={(state) => onChange(state === 'off' ? null : DDI_DEFAULTS)}
        hint={`DDI is what SWUpdate, rauc-hawkbit-updater and Zephyr speak. ${ddiAuth === null ? first : ''}`}
      />
      {!isOff && <PollFields settings={settings} onChange={onChange} />}
      {!isOff && <DeviceFields settings={settings} onChange={onChange} />}
    </>
  );
}

type SettingsProps = { settings: DdiSettings; onChange: Change };

/** Fields for when devices ask, and get a release again. */
function PollFields({ settings, onChange }: SettingsProps) {
  const number = (name: NumberName) => ({
    name,
    value: settings[name],
    onChange: (value: number) => onChange({ ...settings, [name]: value }),
  });
  return (
    <>
      <NumberField
        label="Seconds between two polls"
        min={LIMIT.ddiPollSecondsMin}
        max={LIMIT.ddiPollSecondsMax}
        {...number('pollSeconds')}
      />
      <NumberField
        label="Retries"
        hint="How often a device gets a release again on which it failed."
        max={LIMIT.ddiRetriesMax}
        {...number('retries')}
      />
      <NumberField
        label="Minutes before the first retry"
        hint="Doubled before each further one."
        min={LIMIT.ddiRetryMinutesMin}
        max={LIMIT.ddiRetryMinutesMax}
        {...number('retryAfterMinutes')}
      />
      <NumberField
        label="Days until attributes are asked for again"
        hint="0 for never."
        max={LIMIT.ddiAskDaysMax}
        {...number('askDays')}
      />
    </>
  );
}

/** Fields for how it is known what a device is. */
function DeviceFields({ settings, onChange }: SettingsProps) {
  const { platform, arch, keys, unknownVersion } = settings;
  return (
    <>
      <Field
        name="ddi.platform"
        label="Platform of devices that tell none"
        value={platform}
        onInput={(text) => onChange({ ...settings, platform: text })}
        maxLength={LIMIT.artifactNameLengthMax}
        isRequired
        isCode
      />
      <Field
        name="ddi.arch"
        label="Architecture of devices that tell none"
        value={arch ?? ''}
        onInput={(text) => onChange({ ...settings, arch: text === '' ? null : text })}
        maxLength={LIMIT.artifactNameLengthMax}
        placeholder="none"
        isCode
      />
      <Choice
        label="A device whose version is unknown"
        value={unknownVersion}
        options={UNKNOWN_VERSIONS}
        onChoose={(effect) => onChange({ ...settings, unknownVersion: effect })}
      />
      {DDI_KEYS.map((key) => (
        <Field
          key={key}
          name={`ddi.keys.${key}`}
          label={KEY_LABELS[key]}
          value={keys[key]}
          onInput={(text) => onChange({ ...settings, keys: { ...keys, [key]: text } })}
          maxLength={LIMIT.labelKeyLengthMax}
          isRequired
          isCode
        />
      ))}
    </>
  );
}

const KEY_LABELS: Readonly<Record<keyof DdiSettings['keys'], string>> = {
  platform: 'Attribute that tells the platform',
  arch: 'Attribute that tells the architecture',
  version: 'Attribute that tells the version',
  bundle: 'Attribute that tells the kind of installation',
};

type NumberName = 'pollSeconds' | 'retries' | 'retryAfterMinutes' | 'askDays';

/** Field for a whole number; while it is empty, its value is NaN. */
function NumberField(props: {
  name: NumberName;
  label: string;
  value: number;
  onChange: (value: number) => void;
  hint?: ComponentChildren;
  min?: number;
  max: number;
}) {
  const { name, value, onChange, min = 0, ...field } = props;
  return (
    <Field
      {...field}
      name={`ddi.${name}`}
      type="number"
      min={min}
      value={Number.isNaN(value) ? '' : String(value)}
      onInput={(text) => onChange(text === '' ? Number.NaN : Number(text))}
      isRequired
    />
  );
}
