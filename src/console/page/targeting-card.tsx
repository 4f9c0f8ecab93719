// Targeting of a release, and the editor that broadens it.

import { useState } from 'preact/hooks';
import type { RenderedReleaseDetail } from '../../contract/console.ts';
import { call, type ReleaseName } from '../api/call.ts';
import { queryText } from '../format/console-path.ts';
import { servingObstacle } from '../format/serving.ts';
import { draftObstacle, targetingDraft, targetingOf } from '../format/targeting.ts';
import { useLoad } from '../hook/use-load.ts';
import { Card } from '../part/card.tsx';
import { Dialog } from '../part/dialog.tsx';
import { ReasonField } from '../part/field.tsx';
import { Form } from '../part/form.tsx';
import { ServingEffect, useConfirmedReach, useServingRehearsal } from '../part/rehearsal.tsx';
import { MatchingDevices, TargetingEditor, TargetingView } from '../part/targeting-editor.tsx';
import { useMay } from '../session/use-session.ts';

type TargetingProps = {
  name: ReleaseName;
  release: RenderedReleaseDetail['release'];
  onDone: () => Promise<void>;
};

/** Card with the targeting in words; publishers can edit it. */
export function TargetingCard(props: TargetingProps) {
  const { release } = props;
  const [isEditing, setEditing] = useState(false);
  const mayEdit = useMay('publisher') && release.status !== 'rolled_back';
  return (
    <Card
      title="Targeting"
      aside={
        mayEdit ? (
          <button type="button" class="button plain small" onClick={() => setEditing(true)}>
            Edit targeting
          </button>
        ) : undefined
      }
    >
      <TargetingView targets={release.targets} />
      {isEditing && <TargetingDialog {...props} onClose={() => setEditing(false)} />}
    </Card>
  );
}

function TargetingDialog({
  name,
  release,
  onDone,
  onClose,
}: TargetingProps & { onClose: () => void }) {
  const labels = useLoad(`labels${queryText({ app: name.app })}`);
  // Taken when the dialog opened, so that a refresh does not change the rows while they are edited.
  const [base] = useState(release);
  const [draft, setDraft] = useState(() => targetingDraft(release.targets));
  const targets = targetingOf(draft);
  const isUnchanged =
    JSON.stringify(targets) === JSON.stringify(targetingOf(targetingDraft(base.targets)));
  const obstacle = draftObstacle(draft) ?? servingObstacle.toTargets(release, targets);
  const isReady = !isUnchanged && obstacle === undefined;
  const rehearsal = useServingRehearsal(isReady ? { ...name, targets } : undefined);
  const reach = useConfirmedReach(rehearsal);
  const [reason, setReason] = useState('');
  const save = async () => {
    await call('PATCH', 'releases', {
      ...{ ...name, targets, reason },
      seen: { status: base.status, rolloutPct: base.rolloutPct },
    });
    await onDone();
    onClose();
  };
  return (
    <Dialog title={`Targeting of ${name.version}`} isWide onClose={onClose}>
      <Form
        send="Save targeting"
        onSend={save}
        onCancel={onClose}
        obstacle={isUnchanged ? 'Nothing was changed' : (obstacle ?? reach.obstacle)}
      >
        <TargetingEditor
          draft={draft}
          onChange={setDraft}
          labels={labels.data}
          {...(release.offered ? { offered: { targets: base.targets } } : {})}
        />
        <div class="outcome" aria-live="polite">
          <span class="muted">It will be for</span> <TargetingView targets={targets} />
        </div>
        {!isUnchanged && obstacle !== undefined && <p class="bad-text">{obstacle}</p>}
        {isReady && <MatchingDevices app={name.app} channel={name.channel} targets={targets} />}
        {isReady && <ServingEffect rehearsal={rehearsal} />}
        {isReady && reach.question}
        <ReasonField value={reason} onInput={setReason} />
      </Form>
    </Dialog>
  );
}
