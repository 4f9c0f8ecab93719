// Buttons that pause, resume, promote, withdraw, roll back or deprecate a release, with the dialogs to
// promote and to withdraw it.

import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import type { RenderedReleaseDetail } from '../../contract/console.ts';
import type { DryRunAnswer, UnpublishedRelease } from '../../contract/dry-run.ts';
import { call, type ReleaseName } from '../api/call.ts';
import { consolePath } from '../format/console-path.ts';
import { useAsked } from '../hook/use-action.ts';
import { ConfirmDialog, Dialog } from '../part/dialog.tsx';
import { DryRunView, useConfirmedReach } from '../part/dry-run.tsx';
import { Choice, ReasonField } from '../part/field.tsx';
import { Form } from '../part/form.tsx';
import { Notice } from '../part/notice.tsx';
import { type PaceDraft, PaceFields, paceBody } from '../part/pace.tsx';
import { useMay } from '../session/use-session.ts';
import { SteerDialog } from './rollout-card.tsx';

type Question = 'pause' | 'resume' | 'promote' | 'withdraw' | 'rollback' | 'deprecate';

type Props = {
  name: ReleaseName;
  /** Names of the app's other channels, as targets of a promotion. */
  others: readonly string[];
  details: RenderedReleaseDetail;
  onDone: () => Promise<void>;
};

/**
 * Buttons of a release; none for viewers and rolled-back releases. Each opens a dialog, so that a second
 * click at the same position never undoes the first.
 */
export function ReleaseControls(props: Props) {
  const { others, details } = props;
  const { status, offered } = details.release;
  const maySteer = useMay('publisher');
  const [asking, setAsking] = useState<Question>();
  // A dialog stays open if the right ends meanwhile; the service then refuses the request.
  if ((!maySteer || status === 'rolled_back') && asking === undefined) return null;
  const button = (question: Question, label: string, tone = 'plain') => (
    <button type="button" class={`button ${tone}`} onClick={() => setAsking(question)}>
      {label}
    </button>
  );
  return (
    <>
      {status === 'published' && button('pause', 'Pause…', 'warn')}
      {status === 'paused' && button('resume', 'Resume…', 'primary')}
      {status === 'deprecated' && button('resume', 'Publish again…', 'primary')}
      {status !== 'deprecated' && others.length > 0 && button('promote', 'Promote…')}
      {!offered && button('withdraw', 'Withdraw…')}
      {status !== 'deprecated' && button('deprecate', 'Deprecate…')}
      {button('rollback', 'Roll back…', 'danger')}
      {asking !== undefined && (
        <Answer {...props} question={asking} onClose={() => setAsking(undefined)} />
      )}
    </>
  );
}

function Answer({
  name,
  others,
  details,
  question,
  onDone,
  onClose,
}: Props & { question: Question; onClose: () => void }) {
  const { version } = name;
  const common = { name, release: details.release, onDone, onClose };
  switch (question) {
    case 'promote':
      return <PromoteDialog name={name} others={others} onClose={onClose} />;
    case 'withdraw':
      return <WithdrawDialog name={name} onClose={onClose} />;
    case 'pause':
      return (
        <SteerDialog {...common} change={{ status: 'paused' }} verb={`Pause ${version}`}>
          <p>Nobody is offered it until it is resumed. Devices that run it keep it.</p>
        </SteerDialog>
      );
    case 'resume':
      return (
        <SteerDialog {...common} change={{ status: 'published' }} verb={`Resume ${version}`}>
          <p>It is offered again to the devices that it was meant for.</p>
        </SteerDialog>
      );
    case 'deprecate':
      return (
        <SteerDialog {...common} change={{ status: 'deprecated' }} verb={`Deprecate ${version}`}>
          <p>
            Nobody is offered it any more, and devices that run it are told that their next update
            is required. It can be published again later.
          </p>
        </SteerDialog>
      );
    case 'rollback':
      return (
        <SteerDialog
          {...common}
          change={{ status: 'rolled_back' }}
          verb={`Roll back ${version}`}
          tone="danger"
          isAboutRunners
          isTyped
        >
          <p>
            Nobody is offered {version} again, and a rolled-back release can never be served again.
          </p>
        </SteerDialog>
      );
  }
}

/**
 * Dialog for a promotion to one of `others`; opens the new release afterwards. Shows the findings, which
 * include the state of the source, and the devices that would be offered the release.
 */
function PromoteDialog(props: {
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
  const dryRun = useAsked(JSON.stringify(promotion), askDryRun);
  const { obstacle, question } = useConfirmedReach(dryRun);
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
        {dryRun.error !== undefined && <Notice tone="bad">{dryRun.error}</Notice>}
        {dryRun.said !== undefined && <DryRunView dryRun={dryRun.said} />}
        {question}
        <ReasonField value={reason} onInput={setReason} />
      </Form>
    </Dialog>
  );
}

function askDryRun(promotion: object): Promise<DryRunAnswer<UnpublishedRelease>> {
  return call('POST', 'releases/rehearse-promotion', promotion);
}

/** Dialog for a withdrawal; opens the channel afterwards, because the release is gone. */
function WithdrawDialog({ name, onClose }: { name: ReleaseName; onClose: () => void }) {
  const { route } = useLocation();
  const [reason, setReason] = useState('');
  const withdraw = async () => {
    await call('DELETE', 'releases', { ...name, reason });
    route(consolePath.channel(name.app, name.channel));
  };
  return (
    <ConfirmDialog
      title={`Withdraw ${name.version}`}
      verb={`Withdraw ${name.version}`}
      onConfirm={withdraw}
      onClose={onClose}
    >
      <p>
        No device was offered it, so it can be removed as if it had never been: its version is free
        again. This is refused if a device is offered it meanwhile.
      </p>
      <ReasonField value={reason} onInput={setReason} isFocused />
    </ConfirmDialog>
  );
}
