// Roll-out of a release, and the control that raises it.

import { useState } from 'preact/hooks';
import type { RenderedReleaseDetail } from '../../contract/console.ts';
import { servedShare } from '../format/served-share.ts';
import { servingObstacle } from '../format/serving-obstacle.ts';
import { Card } from '../part/card.tsx';
import { Field } from '../part/field.tsx';
import { Form } from '../part/form.tsx';
import { ShareBar } from '../part/share-bar.tsx';
import { useMay } from '../session/use-session.ts';
import type { ReleaseName } from './release-name.ts';
import { SteerDialog } from './steer-dialog.tsx';

const STEPS = [1, 5, 10, 25, 50, 100] as const;

type Props = {
  name: ReleaseName;
  release: RenderedReleaseDetail['release'];
  onDone: () => Promise<void>;
};

/** Card with the rollout bar; publishers also get steps, an exact share and the obstacle to a change. */
export function RolloutCard(props: Props) {
  const { release } = props;
  const maySteer = useMay('publisher');
  const isOver = release.status === 'rolled_back';
  return (
    <Card title="Roll-out">
      <div class="rollout-now">
        <ShareBar
          percent={servedShare(release)}
          label="Roll-out"
          tone={release.status === 'published' ? 'accent' : 'quiet'}
        />
      </div>
      <p class="hint">{stateText(release)}</p>
      {maySteer && !isOver && release.rolloutPct < 100 && <RolloutForm {...props} />}
      {maySteer && !isOver && release.rolloutPct === 100 && !release.offered && (
        <RolloutForm {...props} />
      )}
    </Card>
  );
}

/** Asks before a chosen share is applied, because an offer to a device cannot be taken back. */
function RolloutForm({ name, release, onDone }: Props) {
  const [wanted, setWanted] = useState<string>();
  const [isAsking, setAsking] = useState(false);
  const { rolloutPct, offered } = release;
  const percent = wanted === undefined || wanted.trim() === '' ? Number.NaN : Number(wanted);
  const obstacle =
    wanted === undefined ? 'Choose a share' : servingObstacle.toRollout(release, percent);
  const verb = percent < rolloutPct ? 'Lower' : 'Raise';
  const done = async () => {
    setWanted(undefined);
    await onDone();
  };
  return (
    <>
      <Form
        label="Change the roll-out"
        send={obstacle === undefined ? `${verb} to ${percent}%…` : 'Set roll-out'}
        onSend={async () => setAsking(true)}
        obstacle={obstacle}
      >
        <fieldset class="steps">
          <legend>Share of the fleet</legend>
          {STEPS.map((step) => {
            const barred = servingObstacle.toRollout(release, step);
            return (
              <button
                key={step}
                type="button"
                class="step"
                aria-pressed={percent === step}
                disabled={barred !== undefined}
                title={barred}
                onClick={() => setWanted(String(step))}
              >
                {step}%
              </button>
            );
          })}
        </fieldset>
        <Field
          label="Exactly (%)"
          type="number"
          min={offered ? rolloutPct : 0}
          max={100}
          value={wanted ?? ''}
          placeholder={String(rolloutPct)}
          onInput={setWanted}
          hint={
            wanted !== undefined && obstacle !== undefined ? (
              <span class="bad-text">{obstacle}</span>
            ) : offered ? (
              `Devices were already offered it at ${rolloutPct}%: the share can only go up.`
            ) : (
              'No device was offered it yet: the share can still go either way.'
            )
          }
        />
      </Form>
      {isAsking && (
        <SteerDialog
          name={name}
          release={release}
          change={{ rollout: percent }}
          verb={`${verb} to ${percent}%`}
          onDone={done}
          onClose={() => setAsking(false)}
        />
      )}
    </>
  );
}

function stateText({ status, rolloutPct, offered }: Props['release']): string {
  if (status === 'rolled_back')
    return `Rolled back at ${rolloutPct}%: nobody is offered it, and devices on it are sent down.`;
  if (status === 'paused') {
    return `Paused at ${rolloutPct}%: nobody is offered it until it is resumed.`;
  }
  if (status === 'deprecated') {
    return 'Deprecated: nobody is offered it; devices on it are told that their next update is required.';
  }
  if (rolloutPct === 0) return 'Published, but for nobody yet: raise the roll-out to begin.';
  if (rolloutPct === 100) return 'Every device it is meant for gets it.';
  return offered
    ? `Going out to ${rolloutPct}% of the devices it is meant for.`
    : `Goes out to ${rolloutPct}% of the devices it is meant for, as they ask.`;
}
