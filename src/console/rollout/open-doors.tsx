// Warning about a channel that asks for approvals and follows one that does not, or is followed so.

import type { Channel } from '../../contract/resource.ts';
import { openDoors } from '../../domain/release/open-doors.ts';
import { Notice } from '../form/notice.tsx';
import { queryText } from '../format/console-path.ts';
import { findingSentence } from '../format/finding-sentence.ts';
import { useLoad } from '../hook/use-load.ts';

/** Milliseconds between two reads of the settings of the app's channels. */
const SETTINGS_MS = 30_000;

/** Settings that leave a door open, or close it. */
export type DoorSettings = Partial<Pick<Channel, 'approvals' | 'follows'>>;

/** Warns of what the settings of a channel leave open, as they are or after a change. */
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
