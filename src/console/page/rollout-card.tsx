// Roll-out of a release, and the control that raises it.

import { useState } from 'preact/hooks';
import type { RenderedReleaseDetail } from '../../contract/console.ts';
import type { RolloutPlan } from '../../contract/rollout-plan.ts';
import type { ReleaseName } from '../api/call.ts';
import { afterRaiseText, planActions } from '../format/plan-words.ts';
import { servedShare, servingObstacle } from '../format/serving.ts';
import { Card, ShareBar } from '../part/card.tsx';
import { Field } from '../part/field.tsx';
import { Form } from '../part/form.tsx';
import { useMay } from '../session/use-session.ts';
import { SteerDialog } from './steer-dialog.tsx';

const STEPS = [1, 5, 10, 25, 50, 100] as const;

type RolloutProps = {
  name: ReleaseName;
  release: RenderedReleaseDetail['release'];
  /** Higher version that every device is offered rather than the release; null when there is none. */
  supersededBy: string | null;
  /** Newest plan of the release; null when it has none. */
  plan: RolloutPlan | null;
  onDone: () => Promise<void>;
};

/** Card with the rollout bar; publishers also get steps, an exact share and the obstacle to a change. */
export function RolloutCard(props: RolloutProps) {
  const { release, supersededBy } = props;
  return (
    <Card title="Roll-out">
      <div class="rollout-now">
        <ShareBar
          percent={servedShare(release)}
          label="Roll-out"
          tone={release.status === 'published' && supersededBy === null ? 'accent' : 'quiet'}
        />
      </div>
      <p class="hint">{stateText(release, supersededBy)}</p>
      <RolloutForm {...props} />
    </Card>
  );
}

/** Asks before a chosen share is applied, because an offer to a device cannot be taken back. */
function RolloutForm({ name, release, plan, onDone }: RolloutProps) {
  const maySteer = useMay('publisher');
  const [wanted, setWanted] = useState<string>();
  /** Share that the open dialog is about. */
  const [asked, setAsked] = useState<number>();
  const { status, rolloutPct, offered } = release;
  const isFixed = status === 'rolled_back' || (rolloutPct === 100 && offered);
  // A dialog stays when the right ends meanwhile: the service says so to what is sent.
  if ((!maySteer || isFixed) && asked === undefined) return null;
  const percent = wanted === undefined || wanted.trim() === '' ? Number.NaN : Number(wanted);
  const obstacle =
    wanted === undefined ? 'Choose a share' : servingObstacle.toRollout(release, percent);
  const verbTo = (share: number) => `${share < rolloutPct ? 'Lower' : 'Raise'} to ${share}%`;
  const done = async () => {
    setWanted(undefined);
    await onDone();
  };
  return (
    <>
      <Form
        label="Change the roll-out"
        send={obstacle === undefined ? `${verbTo(percent)}…` : 'Set roll-out'}
        onSend={async () => setAsked(percent)}
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
      {asked !== undefined && (
        <SteerDialog
          name={name}
          release={release}
          change={{ rollout: asked }}
          verb={verbTo(asked)}
          onDone={done}
          onClose={() => setAsked(undefined)}
        >
          {status === 'paused' && (
            <p>It is paused: {asked}% is the share that it has once it is resumed.</p>
          )}
          {plan !== null && planActions(plan.status).length > 0 && (
            <p>{afterRaiseText(plan.steps, asked)}</p>
          )}
        </SteerDialog>
      )}
    </>
  );
}

function stateText(
  { status, rolloutPct, offered }: RolloutProps['release'],
  supersededBy: string | null,
): string {
  if (status === 'rolled_back')
    return `Rolled back at ${rolloutPct}%: nobody is offered it, and devices on it are sent down.`;
  if (status === 'paused') {
    return `Paused at ${rolloutPct}%: nobody is offered it until it is resumed.`;
  }
  if (status === 'deprecated') {
    return 'Deprecated: nobody is offered it; devices on it are told that their next update is required.';
  }
  if (supersededBy !== null) {
    return `Not offered: ${supersededBy} is newer, and every device is offered that.`;
  }
  if (rolloutPct === 0) return 'Published, but for nobody yet: raise the roll-out to begin.';
  if (rolloutPct === 100) return 'Every device it is meant for gets it.';
  return offered
    ? `Going out to ${rolloutPct}% of the devices it is meant for.`
    : `Goes out to ${rolloutPct}% of the devices it is meant for, as they ask.`;
}
