// Dialog that publishes a release of one channel on another, once it was shown what it would do there.

import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import type { Rehearsed, UnpublishedRelease } from '../../contract/rehearsed.ts';
import { call, type ReleaseName } from '../api/call.ts';
import { consolePath } from '../format/console-path.ts';
import { useAsked } from '../hook/use-action.ts';
import { Dialog } from '../part/dialog.tsx';
import { Choice, ReasonField } from '../part/field.tsx';
import { Form } from '../part/form.tsx';
import { Notice } from '../part/notice.tsx';
import { type PaceDraft, PaceFields, paceBody } from '../part/pace.tsx';
import { RehearsalView, useConfirmedReach } from '../part/rehearsal.tsx';

/**
 * Dialog for a promotion to one of `others`; opens the new release afterwards. It shows the findings, the
 * state of the source among them, and which devices would be offered the release.
 */
export function PromoteDialog(props: {
  name: ReleaseName;
  others: readonly string[];
  onClose: () => void;
}) {
  const { name, others, onClose } = props;
  const { app, channel, version } = name;
  const { route } = useLocation();
  const [to, setTo] = useState(others[0] ?? '');
  const [pace, setPace] = useState<PaceDraft>({ kind: 'share', rollout: '' });
  const [reason, setReason] = useState('');
  const promotion = { app, version, from: channel, to, ...paceBody(pace) };
  const rehearsal = useAsked(JSON.stringify(promotion), rehearse);
  const { obstacle, question } = useConfirmedReach(rehearsal);
  const promote = async () => {
    await call('POST', 'releases/promote', { ...promotion, reason });
    onClose();
    route(consolePath.release(app, to, version));
  };
  return (
    <Dialog title={`Promote ${version}`} onClose={onClose}>
      <Form
        send={`Promote to ${to}`}
        onSend={promote}
        onCancel={onClose}
        obstacle={obstacle}
        isDeliberate
      >
        <p>
          The same version, notes and files are published on another channel. It stays on {channel}{' '}
          as it is.
        </p>
        <Choice
          label="To"
          value={to}
          options={others.map((value) => ({ value, label: value }))}
          onChoose={setTo}
        />
        <PaceFields pace={pace} onChange={setPace} placeholder="the channel's default" />
        {rehearsal.error !== undefined && <Notice tone="bad">{rehearsal.error}</Notice>}
        {rehearsal.said !== undefined && <RehearsalView rehearsed={rehearsal.said} />}
        {question}
        <ReasonField value={reason} onInput={setReason} />
      </Form>
    </Dialog>
  );
}

function rehearse(promotion: object): Promise<Rehearsed<UnpublishedRelease>> {
  return call('POST', 'releases/rehearse-promotion', promotion);
}
