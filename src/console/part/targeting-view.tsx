// Targeting of a release in words, and the devices that match it.

import type { MatchingDevices as Matching } from '../../contract/console.ts';
import type { Targeting } from '../../contract/resource.ts';
import { call } from '../api/call.ts';
import { consolePath } from '../format/console-path.ts';
import { countText, numberText } from '../format/figure-text.ts';
import { targetingText } from '../format/targeting.ts';
import { useAsked } from '../hook/use-action.ts';
import { Name } from './name.tsx';

/** List with one chip per condition, all of which must hold. */
export function TargetingView({ targets }: { targets: Targeting | null }) {
  const clauses = targetingText(targets);
  if (clauses.length === 0) return <span class="muted whole">Every device</span>;
  return (
    <ul class="clauses row tight" aria-label="Devices whose">
      {clauses.map((clause) => (
        <li key={clause} dir="auto">
          {clause}
        </li>
      ))}
    </ul>
  );
}

/** Number of devices that match a targeting, with a few examples; nothing if it matches every device. */
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
