// Buttons that pause, resume, promote, withdraw, roll back or deprecate a release.

import { useState } from 'preact/hooks';
import type { RenderedReleaseDetail } from '../../contract/console.ts';
import type { ReleaseName } from '../api/call.ts';
import { useMay } from '../session/use-session.ts';
import { PromoteDialog } from './promote-dialog.tsx';
import { SteerDialog } from './steer-dialog.tsx';
import { WithdrawDialog } from './withdraw-dialog.tsx';

type Question = 'pause' | 'resume' | 'promote' | 'withdraw' | 'rollback' | 'deprecate';

type Props = {
  name: ReleaseName;
  /** Names of the app's other channels, to which the release can be promoted. */
  others: readonly string[];
  details: RenderedReleaseDetail;
  onDone: () => Promise<void>;
};

/**
 * Buttons of a release; none for viewers, and none for a release that was rolled back. Each asks first: a
 * second click at the same place never undoes the first one.
 */
export function ReleaseControls(props: Props) {
  const { others, details } = props;
  const { status, offered } = details.release;
  const maySteer = useMay('publisher');
  const [asking, setAsking] = useState<Question>();
  // A dialog stays when the right ends meanwhile: the service says so to what is sent.
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
