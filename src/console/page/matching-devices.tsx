// How many devices a targeting is meant for, while it is written.

import type { MatchingDevices as Matching } from '../../contract/console.ts';
import type { Targeting } from '../../contract/resource.ts';
import { call } from '../api/call.ts';
import { consolePath } from '../format/console-path.ts';
import { countText, numberText } from '../format/figure-text.ts';
import { useAsked } from '../hook/use-asked.ts';
import { Name } from '../part/name.tsx';

/** Sentence with the number of devices and a few of them; nothing for a targeting of every device. */
export function MatchingDevices(props: {
  app: string;
  channel: string;
  targets: Targeting | null;
}) {
  const { app, channel, targets } = props;
  const question = targets === null ? undefined : JSON.stringify({ app, channel, targets });
  const { said, error } = useAsked(question, askMatching);
  if (targets === null) return null;
  if (error !== undefined) return <p class="bad-text">Its devices cannot be counted: {error}</p>;
  if (said === undefined) return <p class="muted">Counting the devices …</p>;
  const about = said.isEstimate ? '≈ ' : '';
  return (
    <p role="status">
      {about}
      <strong>{numberText(said.matching)}</strong> of {about}
      {countText(said.devices, 'device')} seen in the last 30 days{' '}
      {said.matching === 1 ? 'matches' : 'match'}
      {said.examples.length > 0 && ', such as '}
      {said.examples.map((deviceId, index) => (
        <span key={deviceId}>
          {index > 0 && ', '}
          <a href={consolePath.device(app, deviceId)} target="_blank" rel="noreferrer">
            <Name text={deviceId} isCode />
          </a>
        </span>
      ))}
      .
    </p>
  );
}

function askMatching(question: object): Promise<Matching> {
  return call('POST', 'releases/matching', question);
}
