// Buttons that pause, resume, promote, withdraw, roll back or deprecate a release.

import { useState } from 'preact/hooks';
import type { RenderedReleaseDetail } from '../../contract/console.ts';
import type { ReleaseStatus } from '../../contract/resource.ts';
import { call } from '../api/call.ts';
import { countText } from '../format/number-text.ts';
import { useAction } from '../hook/use-action.ts';
import { ConfirmDialog } from '../part/confirm-dialog.tsx';
import { Notice } from '../part/notice.tsx';
import { useMay } from '../session/use-session.ts';
import { PromoteDialog } from './promote-dialog.tsx';
import type { ReleaseName } from './release-name.ts';
import { RollbackDialog } from './rollback-dialog.tsx';
import { WithdrawDialog } from './withdraw-dialog.tsx';

type Question = 'promote' | 'withdraw' | 'rollback' | 'deprecate';

/** Buttons of a release; none for viewers, and none for a release that was rolled back. */
export function ReleaseControls(props: {
  name: ReleaseName;
  /** Names of the app's other channels. */
  others: readonly string[];
  details: RenderedReleaseDetail;
  onDone: () => Promise<void>;
}) {
  const { name, others, details, onDone } = props;
  const { status, offered } = details.release;
  const maySteer = useMay('publisher');
  const action = useAction();
  const [asking, setAsking] = useState<Question>();
  if (!maySteer || status === 'rolled_back') return null;
  const become = async (next: ReleaseStatus) => {
    await call('PATCH', 'releases', { ...name, status: next });
    await onDone();
  };
  const next = NEXT[status];
  const close = () => setAsking(undefined);
  return (
    <>
      {action.error !== undefined && <Notice tone="bad">{action.error}</Notice>}
      <button
        type="button"
        class={`button ${next.status === 'paused' ? 'warn' : 'primary'}`}
        disabled={action.isBusy}
        onClick={() => void action.run(() => become(next.status))}
      >
        {next.label}
      </button>
      {status !== 'deprecated' && others.length > 0 && (
        <button type="button" class="button plain" onClick={() => setAsking('promote')}>
          Promote…
        </button>
      )}
      {!offered && (
        <button type="button" class="button plain" onClick={() => setAsking('withdraw')}>
          Withdraw…
        </button>
      )}
      {status !== 'deprecated' && (
        <button type="button" class="button plain" onClick={() => setAsking('deprecate')}>
          Deprecate…
        </button>
      )}
      <button type="button" class="button danger" onClick={() => setAsking('rollback')}>
        Roll back…
      </button>
      {asking === 'promote' && <PromoteDialog name={name} others={others} onClose={close} />}
      {asking === 'withdraw' && <WithdrawDialog name={name} onClose={close} />}
      {asking === 'rollback' && (
        <RollbackDialog
          version={name.version}
          rollback={details.rollback}
          onRollBack={() => become('rolled_back')}
          onClose={close}
        />
      )}
      {asking === 'deprecate' && (
        <ConfirmDialog
          title={`Deprecate ${name.version}`}
          verb={`Deprecate ${name.version}`}
          tone="primary"
          onConfirm={() => become('deprecated')}
          onClose={close}
        >
          <p>
            Nobody is offered it any more.{' '}
            {countText(details.devices.on, 'device runs', 'devices run')} it: their next update will
            be marked as required. It can be published again later.
          </p>
        </ConfirmDialog>
      )}
    </>
  );
}

/** Action of the first button by the release's status. */
const NEXT = {
  published: { label: 'Pause', status: 'paused' },
  paused: { label: 'Resume', status: 'published' },
  deprecated: { label: 'Publish again', status: 'published' },
} as const satisfies Record<string, { label: string; status: ReleaseStatus }>;
