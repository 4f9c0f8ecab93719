// Dialog that promotes a release to another channel, in steps.

import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import type { DryRunAnswer, UnpublishedRelease } from '../../contract/dry-run.ts';
import { call, type ReleaseName } from '../api/call.ts';
import { Dialog } from '../form/dialog.tsx';
import { Choice, ReasonField } from '../form/field.tsx';
import { PACE_PATHS, PaceFields, PaceSummary, paceBody, paceDraft } from '../form/pace.tsx';
import { Steps } from '../form/steps.tsx';
import { consolePath } from '../format/console-path.ts';
import { useReview } from '../hook/use-action.ts';
import { useConfirmedReach } from '../part/dry-run.tsx';
import { ReleaseReview } from '../part/release-review.tsx';

/**
 * Dialog for a promotion to one of `others`; opens the new release afterwards. The findings of its review
 * include the state of the source.
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
  const [pace, setPace] = useState(() => paceDraft(''));
  const [reason, setReason] = useState('');
  const promotion = { app, version, from: channel, to, ...paceBody(pace) };
  const { dryRun, isReviewed, review } = useReview(promotion, askDryRun);
  const { obstacle, question } = useConfirmedReach(dryRun);
  const promote = async () => {
    await call('POST', 'releases/promote', { ...promotion, reason });
    onClose();
    route(consolePath.release(app, to, version));
  };
  const pacing = {
    ...{ name: 'How fast', title: 'Where it goes, and how fast', fields: ['to', ...PACE_PATHS] },
    summary: (
      <>
        To {to}. <PaceSummary {...pace} />
      </>
    ),
    content: (
      <>
        <p>
          The same version, notes and files are published on another channel. It stays on {channel}{' '}
          as it is.
        </p>
        <Choice label="To" value={to} options={others} onChoose={setTo} />
        <PaceFields pace={pace} onChange={setPace} placeholder="the channel's default" />
      </>
    ),
  };
  return (
    <Dialog title={`Promote ${version}`} isWide onClose={onClose}>
      <Steps
        steps={[pacing]}
        isReviewed={isReviewed}
        onReview={review}
        send={`Promote to ${to}`}
        obstacle={obstacle}
        onSend={promote}
        onCancel={onClose}
      >
        <ReleaseReview dryRun={dryRun} channel={to} pace={pace} />
        {question}
        <ReasonField value={reason} onInput={setReason} />
      </Steps>
    </Dialog>
  );
}

function askDryRun(promotion: object): Promise<DryRunAnswer<UnpublishedRelease>> {
  return call('POST', 'releases/rehearse-promotion', promotion);
}
