// Button that stops all that an app, or one channel of it, has published; its dialog, and the button that
// resumes it afterwards.

import { useState } from 'preact/hooks';
import type { AppOverview } from '../../contract/console.ts';
import type { ResumedStop, Stop, StopReach } from '../../contract/resource.ts';
import { call } from '../api/call.ts';
import { ConfirmDialog, Dialog } from '../form/dialog.tsx';
import { Choice, ReasonField } from '../form/field.tsx';
import { Form } from '../form/form.tsx';
import { LoadedView, Notice } from '../form/notice.tsx';
import { SmallButton } from '../form/small-button.tsx';
import { queryText } from '../format/console-path.ts';
import { countText } from '../format/figure-text.ts';
import { useLoad } from '../hook/use-load.ts';
import { useMay } from '../session/use-session.ts';

type Props = { app: AppOverview; channel: string | undefined; onChange: () => Promise<void> };

/** Value of the choice that stands for all channels; no channel has an empty name. */
const ALL = '';

/** Button for publishers with its dialog, and the result of the last stop that was made here. */
export function StopControls(props: Props) {
  const { app, onChange } = props;
  const mayStop = useMay('publisher');
  const [isAsking, setAsking] = useState(false);
  const [stop, setStop] = useState<Stop>();
  const done = async (made: Stop) => {
    setStop(made);
    setAsking(false);
    await onChange();
  };
  return (
    <>
      {mayStop && <SmallButton onClick={() => setAsking(true)}>Stop…</SmallButton>}
      {isAsking && <StopDialog {...props} onDone={done} onClose={() => setAsking(false)} />}
      {stop !== undefined && <Stopped key={stop.id} app={app} stop={stop} onChange={onChange} />}
    </>
  );
}

/** Dialog that says how much it stops. A stop is not refused for changes that others make meanwhile. */
function StopDialog({
  app,
  channel,
  onDone,
  onClose,
}: Props & { onDone: (stop: Stop) => Promise<void>; onClose: () => void }) {
  const [place, setPlace] = useState(ALL);
  const [reason, setReason] = useState('');
  const named = place === ALL ? { app: app.ref } : { app: app.ref, channel: place };
  const reach = useLoad(`stop${queryText(named)}`);
  const send = async () => onDone((await call('POST', 'stop', { ...named, reason })).stop);
  const places = channel === undefined ? [] : [{ value: channel, label: `Only ${channel}` }];
  return (
    <Dialog title={`Stop ${app.name}`} onClose={onClose}>
      <Form send="Stop all of it" tone="danger" onSend={send} onCancel={onClose} isDeliberate>
        {places.length > 0 && (
          <Choice
            label="What"
            value={place}
            options={[{ value: ALL, label: 'All channels' }, ...places]}
            onChoose={setPlace}
          />
        )}
        <ReasonField value={reason} onInput={setReason} />
      </Form>
      {/* Below the button, which does not wait for it, so that it moves nothing under a press. */}
      <LoadedView of={reach}>{(found) => <Reach reach={found} />}</LoadedView>
    </Dialog>
  );
}

function Reach({ reach: { releases, devices } }: { reach: StopReach }) {
  return (
    <p role="status" aria-label="What it stops">
      It pauses {countText(releases, 'published release')}, for {countText(devices, 'device')}:
      nobody is offered any of them until it goes on. Devices keep what they run. Plans are held.
    </p>
  );
}

function Stopped({
  app,
  stop: { id, releases },
  onChange,
}: {
  app: AppOverview;
  stop: Stop;
  onChange: () => Promise<void>;
}) {
  const [isAsking, setAsking] = useState(false);
  const [resumed, setResumed] = useState<ResumedStop>();
  const resume = async () => {
    setResumed(await call('POST', 'resume', { app: app.ref, stop: id }));
    await onChange();
  };
  if (resumed !== undefined) return <Resumed {...resumed} />;
  return (
    <Notice tone="warn">
      {countText(releases.length, 'release')} stopped, as <code>{id}</code>.{' '}
      {releases.length > 0 && <SmallButton onClick={() => setAsking(true)}>Resume…</SmallButton>}
      {isAsking && (
        <ConfirmDialog
          title="Resume what was stopped"
          verb="Resume"
          tone="primary"
          onSend={resume}
          onClose={() => setAsking(false)}
        >
          <p>
            {countText(releases.length, 'release')} are published again at their present rollout,
            but those whose status somebody has set since. Plans stay held.
          </p>
        </ConfirmDialog>
      )}
    </Notice>
  );
}

function Resumed({ released, changed }: ResumedStop) {
  return (
    <Notice tone="good">
      {countText(released.length, 'release')} published again.
      {changed.length > 0 && (
        <ul>
          {changed.map(({ channel, version, reason }) => (
            <li key={`${channel} ${version}`}>
              {channel} {version} is left as it is. {reason}.
            </li>
          ))}
        </ul>
      )}
    </Notice>
  );
}
