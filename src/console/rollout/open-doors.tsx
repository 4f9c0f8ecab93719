// Warning about approvals that can be bypassed: of two channels, one asks for them and follows the other.

import type { Channel } from '../../contract/resource.ts';
import { openDoors } from '../../domain/release/open-doors.ts';
import { Notice } from '../form/notice.tsx';
import { queryText } from '../format/console-path.ts';
import { findingSentence } from '../format/finding-sentence.ts';
import { useLoad } from '../hook/use-load.ts';

/** Milliseconds between two reads of the settings of the app's channels. */
const SETTINGS_MS = 30_000;

/** Settings that decide whether approvals can be bypassed. */
export type DoorSettings = Partial<Pick<Channel, 'approvals' | 'follows'>>;

/** Warns if approvals can be bypassed with a channel's settings, with `change` applied to them. */
export function OpenDoors(props: { app: string; channel: string; change?: DoorSettings }) {
  const { app, channel, change } = props;
  const { data } = useLoad(`channels${queryText({ app })}`, SETTINGS_MS);
  const present = data?.channels.find(({ name }) => name === channel);
  if (data === undefined || present === undefined) return null;
  const others = data.channels.filter(({ name }) => name !== channel);
  const doors = openDoors({ ...present, ...change }, others).map((door) => findingSentence(door));
  if (doors.length === 0) return null;
  return (
    <Notice tone="warn">
      {doors.map((door) => (
        <p key={door}>{door}</p>
      ))}
    </Notice>
  );
}
