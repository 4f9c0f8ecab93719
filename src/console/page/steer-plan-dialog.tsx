// Dialog that holds, resumes, advances or cancels a plan, with a reason.

import { useState } from 'preact/hooks';
import type { PlanAction } from '../../contract/rollout-plan.ts';
import { call } from '../api/call.ts';
import { PLAN_WORDS } from '../format/plan-words.ts';
import { ConfirmDialog } from '../part/confirm-dialog.tsx';
import { ReasonField } from '../part/reason-field.tsx';
import type { ReleaseName } from './release-name.ts';

/** Dialog of one act; `onDone` loads the plan again. */
export function SteerPlanDialog(props: {
  name: ReleaseName;
  action: PlanAction;
  onDone: () => Promise<void>;
  onClose: () => void;
}) {
  const { name, action, onDone, onClose } = props;
  const { verb, consequence } = PLAN_WORDS[action];
  const [reason, setReason] = useState('');
  const steer = async () => {
    await call('PATCH', 'releases/plan', { ...name, action, reason });
    await onDone();
  };
  return (
    <ConfirmDialog
      title={`${verb} of ${name.version}`}
      verb={verb}
      tone={action === 'cancel' ? 'danger' : 'primary'}
      onConfirm={steer}
      onClose={onClose}
    >
      <p>{consequence}</p>
      <ReasonField value={reason} onInput={setReason} isFocused />
    </ConfirmDialog>
  );
}
