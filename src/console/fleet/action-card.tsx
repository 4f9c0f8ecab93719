// Card of a device that speaks DDI: what it is to install, how the last installation ended, and which
// releases it does not get again.

import type { ShownActions, ShownDevice } from '../../contract/console-fleet.ts';
import { actionText, barText } from '../../words/action-words.ts';
import { useDialog } from '../form/dialog.tsx';
import { SmallButton } from '../form/small-button.tsx';
import { consolePath } from '../format/console-path.ts';
import { Badge, type Tone } from '../part/badge.tsx';
import { Card } from '../part/card.tsx';
import { Time } from '../part/time.tsx';
import { useMay } from '../session/use-session.ts';
import { RetryDialog } from './retry-dialog.tsx';

type ShownAction = NonNullable<ShownActions['action']>;

const TONES: Readonly<Record<ShownAction['state'], Tone>> = {
  open: 'quiet',
  fetched: 'good',
  withdrawing: 'warn',
  succeeded: 'good',
  failed: 'bad',
  withdrawn: 'quiet',
};

/** Card with the action of a device and its bars; nothing for a device without both. */
export function ActionCard(props: {
  app: string;
  device: ShownDevice;
  onChange: () => Promise<void>;
}) {
  const { app, device, onChange } = props;
  const { action, barred, channel, deviceId } = device;
  const maySteer = useMay('publisher');
  const [dialog, open] = useDialog(onChange);
  if (action === null && barred.length === 0) return null;
  const link = (version: string) => (
    <a class="code" href={consolePath.release(app, channel, version)}>
      {version}
    </a>
  );
  const ask = (version: string) =>
    open((end) => <RetryDialog {...end} name={{ app, channel, version }} deviceId={deviceId} />);
  return (
    <Card title="Installation">
      {action !== null && (
        <div class="stack tight">
          <p class="row">
            {link(action.version)}
            <Badge tone={TONES[action.state] ?? 'quiet'}>{action.state}</Badge>
            <Time at={action.since} isZoned />
          </p>
          <p dir="auto">{actionText(action)}</p>
          <p class="hint">
            The device knows it as action <span class="code">{action.id}</span>.
          </p>
        </div>
      )}
      {barred.length > 0 && (
        <>
          <h3>Not again</h3>
          <ul class="stack tight" aria-label="Not again">
            {barred.map((bar) => (
              <li key={bar.version}>
                {link(bar.version)} {barText(bar)}
                {bar.until !== null && (
                  <>
                    {' '}
                    <Time at={bar.until} isZoned />.
                  </>
                )}{' '}
                {maySteer && (
                  <SmallButton of={bar.version} onClick={() => ask(bar.version)}>
                    Let this device try again…
                  </SmallButton>
                )}
              </li>
            ))}
          </ul>
        </>
      )}
      {dialog}
    </Card>
  );
}
