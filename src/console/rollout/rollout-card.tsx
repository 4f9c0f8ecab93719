// Rollout of a release with the control that raises it, and its targeting with the editor that broadens it.

import { useState } from 'preact/hooks';
import type { RenderedReleaseDetail } from '../../contract/console.ts';
import type { RolloutPlan } from '../../contract/rollout-plan.ts';
import type { ReleaseStanding } from '../../contract/standing.ts';
import { call, type ReleaseName } from '../api/call.ts';
import { type DialogEnd, FormDialog } from '../form/dialog.tsx';
import { PercentField, ReasonField } from '../form/field.tsx';
import { Form } from '../form/form.tsx';
import { SmallButton } from '../form/small-button.tsx';
import { TargetingEditor } from '../form/targeting-editor.tsx';
import { queryText } from '../format/console-path.ts';
import { percentText } from '../format/figure-text.ts';
import { afterRaise, isOpenPlan } from '../format/plan-words.ts';
import { servedShare, servingObstacle } from '../format/serving.ts';
import { draftObstacle, targetingDraft, targetingOf } from '../format/targeting.ts';
import { useLoad } from '../hook/use-load.ts';
import { Card, ShareBar } from '../part/card.tsx';
import { ServingEffect, useConfirmedReach, useServingDryRun } from '../part/dry-run.tsx';
import { MatchingDevices, TargetingView } from '../part/targeting-view.tsx';
import { Time } from '../part/time.tsx';
import { useMay } from '../session/use-session.ts';
import { ServingDialog } from './serving-dialog.tsx';

const STEPS = [1, 5, 10, 25, 50, 100] as const;

type RolloutProps = {
  name: ReleaseName;
  release: RenderedReleaseDetail['release'];
  standing: ReleaseStanding;
  /** Newest plan of the release; null if it has none. */
  plan: RolloutPlan | null;
  onDone: () => Promise<void>;
};

/** Card with the rollout bar; publishers can also choose a percentage, and see why one is not possible. */
export function RolloutCard(props: RolloutProps) {
  const { release, standing } = props;
  const share = servedShare({ ...release, standing });
  return (
    <Card title="Rollout">
      <div class="rollout-now">
        <ShareBar percent={share} label="Rollout" tone={share > 0 ? 'accent' : 'quiet'} />
      </div>
      <RolloutForm {...props} />
    </Card>
  );
}

/** Form with a dialog before the change, because an offer to a device cannot be taken back. */
function RolloutForm({ name, release, plan, onDone }: RolloutProps) {
  const maySteer = useMay('publisher');
  const [wanted, setWanted] = useState<string>();
  /** Percentage that the open dialog is about; undefined if none is open. */
  const [asked, setAsked] = useState<number>();
  const { status, rolloutPct, offered } = release;
  const isFixed = status === 'rolled_back' || (rolloutPct === 100 && offered);
  // A dialog stays open if the right ends meanwhile; the service then refuses the request.
  if ((!maySteer || isFixed) && asked === undefined) return null;
  const percent = wanted === undefined || wanted.trim() === '' ? Number.NaN : Number(wanted);
  const obstacle =
    wanted === undefined ? 'Choose a share' : servingObstacle.toRollout(release, percent);
  const verbTo = (share: number) =>
    `${share < rolloutPct ? 'Lower' : 'Raise'} to ${percentText(share)}`;
  const done = async () => {
    setWanted(undefined);
    await onDone();
  };
  return (
    <>
      <Form
        label="Change the rollout"
        send={obstacle === undefined ? `${verbTo(percent)}…` : 'Set rollout'}
        onSend={async () => setAsked(percent)}
        obstacle={obstacle}
      >
        <fieldset class="steps row">
          <legend>Share of the fleet</legend>
          {STEPS.map((step) => {
            const reason = servingObstacle.toRollout(release, step);
            return (
              <button
                key={step}
                type="button"
                class="step digits"
                aria-pressed={percent === step}
                disabled={reason !== undefined}
                title={reason}
                onClick={() => setWanted(String(step))}
              >
                {percentText(step)}
              </button>
            );
          })}
        </fieldset>
        <PercentField
          label="Exactly (%)"
          min={offered ? rolloutPct : 0}
          value={wanted ?? ''}
          placeholder={String(rolloutPct)}
          onInput={setWanted}
          hint={
            wanted !== undefined && obstacle !== undefined ? (
              <span class="bad-text">{obstacle}</span>
            ) : offered ? (
              `Devices were already offered it at ${percentText(rolloutPct)}: the share can only go up.`
            ) : (
              'No device was offered it yet: the share can still go either way.'
            )
          }
        />
      </Form>
      {asked !== undefined && (
        <ServingDialog
          name={name}
          release={release}
          change={{ rollout: asked }}
          {...(status === 'paused' ? { foreseen: { rollout: asked, status: 'published' } } : {})}
          verb={verbTo(asked)}
          onDone={done}
          onClose={() => setAsked(undefined)}
        >
          {status === 'paused' && (
            <p>
              It stays paused: {percentText(asked)} is the share that it has once it is resumed.
              What that would do then:
            </p>
          )}
          {plan !== null && isOpenPlan(plan.status) && <AfterRaise plan={plan} percent={asked} />}
        </ServingDialog>
      )}
    </>
  );
}

/** What the plan of the release does after the raise. */
function AfterRaise({ plan, percent }: { plan: RolloutPlan; percent: number }) {
  const { text, at } = afterRaise(plan, percent);
  return (
    <p>
      {text}
      {at !== null && (
        <>
          : <Time at={at} isZoned />
        </>
      )}
    </p>
  );
}

type TargetingProps = Pick<RolloutProps, 'name' | 'release' | 'onDone'>;

/** Card with the targeting in words; publishers can edit it. */
export function TargetingCard(props: TargetingProps) {
  const { release } = props;
  const [isEditing, setEditing] = useState(false);
  const mayEdit = useMay('publisher') && release.status !== 'rolled_back';
  return (
    <Card
      title="Targeting"
      aside={mayEdit && <SmallButton onClick={() => setEditing(true)}>Edit targeting</SmallButton>}
    >
      <TargetingView targets={release.targets} />
      {isEditing && <TargetingDialog {...props} onClose={() => setEditing(false)} />}
    </Card>
  );
}

function TargetingDialog({ name, release, ...end }: TargetingProps & DialogEnd) {
  const labels = useLoad(`labels${queryText({ app: name.app })}`);
  // State when the dialog opened, so that a refresh does not change the rows during editing.
  const [base] = useState(release);
  const [draft, setDraft] = useState(() => targetingDraft(release.targets));
  const targets = targetingOf(draft);
  const isUnchanged =
    JSON.stringify(targets) === JSON.stringify(targetingOf(targetingDraft(base.targets)));
  const obstacle = draftObstacle(draft)?.reason ?? servingObstacle.toTargets(release, targets);
  const isReady = !isUnchanged && obstacle === undefined;
  const dryRun = useServingDryRun(isReady ? { ...name, targets } : undefined);
  const reach = useConfirmedReach(dryRun);
  const [reason, setReason] = useState('');
  const save = () =>
    call('PATCH', 'releases', {
      ...{ ...name, targets, reason },
      seen: { status: base.status, rolloutPct: base.rolloutPct },
    });
  return (
    <FormDialog
      title={`Targeting of ${name.version}`}
      isWide
      verb="Save targeting"
      obstacle={isUnchanged ? 'Nothing was changed' : (obstacle ?? reach.obstacle)}
      onSend={save}
      {...end}
    >
      <TargetingEditor
        draft={draft}
        onChange={setDraft}
        labels={labels.data}
        {...(release.offered ? { offered: { targets: base.targets } } : {})}
      />
      <div class="outcome row" aria-live="polite">
        <span class="muted">It will be for</span> <TargetingView targets={targets} />
      </div>
      {!isUnchanged && obstacle !== undefined && <p class="bad-text">{obstacle}</p>}
      {isReady && <MatchingDevices app={name.app} channel={name.channel} targets={targets} />}
      {isReady && <ServingEffect dryRun={dryRun} />}
      {isReady && reach.question}
      <ReasonField value={reason} onInput={setReason} />
    </FormDialog>
  );
}
