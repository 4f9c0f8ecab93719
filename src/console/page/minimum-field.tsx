// Field for a channel's minimum supported version, with what it would tell the devices before it is set.

import type { ChannelDetail } from '../../contract/console.ts';
import { compareVersions, parseVersion } from '../../domain/decision/version.ts';
import { queryText } from '../format/console-path.ts';
import { countText, numberText } from '../format/figure-text.ts';
import { useLoad } from '../hook/use-load.ts';
import { Field } from '../part/field.tsx';

/** Field for the version; a new one says how many devices would be told that their update is required. */
export function MinimumField(props: {
  details: Pick<ChannelDetail, 'app' | 'name' | 'minimumSupportedVersion'>;
  value: string;
  onInput: (value: string) => void;
}) {
  const { details, value, onInput } = props;
  const minimum = value.trim();
  return (
    <>
      <Field
        name="minimumSupportedVersion"
        label="Minimum supported version"
        value={value}
        onInput={onInput}
        placeholder="none"
        hint="Devices below it are told that their next update is required. Empty for none."
        isFocused
        isCode
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
  const limit = parseVersion(minimum);
  if (fleet.data === undefined || limit === undefined) return null;
  const isBelow = (text: string) => {
    const version = parseVersion(text);
    return version !== undefined && compareVersions(version, limit) < 0;
  };
  const { cells } = fleet.data;
  const count = (kept: typeof cells) => kept.reduce((sum, { devices }) => sum + devices, 0);
  const below = count(cells.filter(({ version }) => isBelow(version)));
  return (
    <p role="status">
      Of {countText(count(cells), 'device')} on record for the channel,{' '}
      <strong>
        {numberText(below)} {below === 1 ? 'runs' : 'run'} a version below {limit.canonical}
      </strong>
      : each is told that its next update is required.
    </p>
  );
}
