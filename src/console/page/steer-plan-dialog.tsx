// Dialog that holds, resumes, advances or cancels a plan, with a reason. One that begins a step shows what
// the step does, and asks where it reaches many devices.

import { useState } from 'preact/hooks';
import type { PlanAction, PlanStep } from '../../contract/rollout-plan.ts';
import { call, type ReleaseName } from '../api/call.ts';
import { PLAN_WORDS } from '../format/plan-words.ts';
import { Dialog } from '../part/dialog.tsx';
import { ReasonField } from '../part/field.tsx';
import { Form } from '../part/form.tsx';
import { ServingEffect, useConfirmedReach, useServingRehearsal } from '../part/rehearsal.tsx';

/** Dialog of one act; `onDone` loads the plan again. */
export function SteerPlanDialog(props: {
  name: ReleaseName;
  action: PlanAction;
  /** Step that the plan begins next; undefined where it only has to be completed. */
  next: PlanStep | undefined;
  onDone: () => Promise<void>;
  onClose: () => void;
}) {
  const { name, action, next, onDone, onClose } = props;
  const { consequence } = PLAN_WORDS[action];
  const isStep = action === 'advance' && next !== undefined;
  const verb = isStep ? `Go to ${next.rollout}% now` : PLAN_WORDS[action].verb;
  const [reason, setReason] = useState('');
  const rehearsal = useServingRehearsal(isStep ? { ...name, rollout: next.rollout } : undefined);
  const reach = useConfirmedReach(rehearsal);
  const steer = async () => {
    await call('PATCH', 'releases/plan', { ...name, action, reason });
    await onDone();
    onClose();
  };
  return (
    <Dialog title={`${verb}: ${name.version}`} onClose={onClose}>
      <Form
        send={verb}
        tone={action === 'cancel' ? 'danger' : 'primary'}
        onSend={steer}
        onCancel={onClose}
        obstacle={isStep ? reach.obstacle : undefined}
      >
        <p>{consequence}</p>
        {isStep && <ServingEffect rehearsal={rehearsal} />}
        {isStep && reach.question}
        <ReasonField value={reason} onInput={setReason} isFocused />
      </Form>
    </Dialog>
  );
}
