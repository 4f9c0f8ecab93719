// Actions on a release: the two most likely ones as buttons, the others in a menu, each with a dialog.

import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import type { AppOverview, RenderedReleaseDetail } from '../../contract/console.ts';
import { call, type ReleaseName } from '../api/call.ts';
import { RetryDialog } from '../fleet/retry-dialog.tsx';
import { ConfirmDialog } from '../form/dialog.tsx';
import { ReasonField } from '../form/field.tsx';
import { consolePath, queryText } from '../format/console-path.ts';
import {
  type ActionState,
  actionLabel,
  actionTone,
  type ReleaseAction,
  releaseActions,
} from '../format/release-actions.ts';
import { useLoad } from '../hook/use-load.ts';
import { Menu } from '../part/menu.tsx';
import { ServingDialog } from '../rollout/serving-dialog.tsx';
import { useMay } from '../session/use-session.ts';
import { PromoteDialog } from './promote-dialog.tsx';
import { NextDialog } from './publish-dialog.tsx';

type Props = {
  app: AppOverview;
  name: ReleaseName;
  details: RenderedReleaseDetail;
  /** Whether its signals are above their limits. */
  isUnhealthy: boolean;
  onDone: () => Promise<void>;
};

/** Returns the state on which the actions depend. */
function stateOf({ app, details, isUnhealthy }: Props, hasDdi: boolean): ActionState {
  const { status, offered, hold } = details.release;
  const { state } = details.standing;
  const [isArchived, hasOther] = [app.archivedAt !== null, app.channels.length > 1];
  return { status, offered, hold, state, isUnhealthy, isArchived, hasOther, hasDdi };
}

const SHOWN = 2;

/**
 * Actions of a release; none for viewers. Each opens a dialog, so that a second click at the same position
 * never undoes the first.
 */
export function ReleaseControls(props: Props) {
  const { status } = props.details.release;
  const maySteer = useMay('publisher');
  const [asking, setAsking] = useState<ReleaseAction>();
  const { app, channel } = props.name;
  const { data } = useLoad(maySteer ? `channel${queryText({ app, channel })}` : null);
  const state = stateOf(props, data?.ddi != null);
  const questions = releaseActions(state);
  // A dialog stays open if the right ends meanwhile; the service then refuses the request.
  if ((!maySteer || questions.length === 0) && asking === undefined) return null;
  const rest = questions.slice(SHOWN);
  return (
    <>
      {questions.slice(0, SHOWN).map((question) => (
        <button
          key={question}
          type="button"
          class={`button ${actionTone(question, state)}`}
          onClick={() => setAsking(question)}
        >
          {actionLabel(question, status)}
        </button>
      ))}
      {rest.length > 0 && (
        <Menu label="More" buttonClass="button plain" isClosing>
          {rest.map((question) => (
            <button
              key={question}
              type="button"
              class="menu-item"
              onClick={() => setAsking(question)}
            >
              {actionLabel(question, status)}
            </button>
          ))}
        </Menu>
      )}
      {asking !== undefined && (
        <Answer {...props} question={asking} onClose={() => setAsking(undefined)} />
      )}
    </>
  );
}

function Answer({
  app,
  name,
  details,
  question,
  onDone,
  onClose,
}: Props & { question: ReleaseAction; onClose: () => void }) {
  const { version } = name;
  const { release } = details;
  const common = { name, release, onDone, onClose };
  const isAgain = release.status === 'deprecated';
  const others = app.channels.map((each) => each.name).filter((each) => each !== name.channel);
  switch (question) {
    case 'next':
      return <NextDialog app={app} channel={name.channel} release={release} onClose={onClose} />;
    case 'promote':
      return <PromoteDialog name={name} others={others} onClose={onClose} />;
    case 'withdraw':
      return <WithdrawDialog name={name} onClose={onClose} />;
    case 'retry':
      return <RetryDialog name={name} onDone={onDone} onClose={onClose} />;
    case 'pause':
      return (
        <ServingDialog {...common} change={{ status: 'paused' }} verb={`Pause ${version}`}>
          <p>Nobody is offered it until it is resumed. Devices that run it keep it.</p>
        </ServingDialog>
      );
    case 'resume':
      return (
        <ServingDialog
          {...common}
          change={{ status: 'published' }}
          verb={isAgain ? `Publish ${version} again` : `Resume ${version}`}
        >
          <p>It is offered again to the devices that it was meant for.</p>
        </ServingDialog>
      );
    case 'deprecate':
      return (
        <ServingDialog {...common} change={{ status: 'deprecated' }} verb={`Deprecate ${version}`}>
          <p>
            Nobody is offered it any more. A device that runs it and is offered an update is told
            that the update is required. It can be published again later.
          </p>
        </ServingDialog>
      );
    case 'rollback':
      return (
        <ServingDialog
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
        </ServingDialog>
      );
  }
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
      onSend={withdraw}
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
