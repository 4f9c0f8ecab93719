// Pages of approvals: all calls that wait, and one call with its effect and the decision.

import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import type { Approval, ApprovalStatus } from '../../contract/resource.ts';
import { CALL_DEEDS, placeWords } from '../../words/name.ts';
import { ApiError, call } from '../api/call.ts';
import { ReasonField } from '../form/field.tsx';
import { Form } from '../form/form.tsx';
import { LoadedView } from '../form/notice.tsx';
import { consolePath, queryText } from '../format/console-path.ts';
import { capitalized, countText, numberText } from '../format/figure-text.ts';
import { useLoad } from '../hook/use-load.ts';
import { Badge } from '../part/badge.tsx';
import { Card, Empty } from '../part/card.tsx';
import { NoDevices } from '../part/dry-run.tsx';
import { Actor } from '../part/name.tsx';
import { PageHead, useTitle } from '../part/page-head.tsx';
import { Time } from '../part/time.tsx';
import { type DoorSettings, OpenDoors } from '../rollout/open-doors.tsx';
import { useMay, useOrganization, useSession } from '../session/use-session.ts';
import { NotFoundPage } from './not-found-page.tsx';
import { APPROVALS_MS } from './waiting-count.tsx';

const TONES = {
  pending: 'warn',
  approved: 'good',
  declined: 'bad',
  expired: 'quiet',
  failed: 'bad',
} as const satisfies Record<ApprovalStatus, string>;

/** Page of the organization's calls that wait, newest first. */
export function ApprovalsPage() {
  useTitle('Approvals');
  const { id: org } = useOrganization();
  const waiting = useLoad(`approvals${queryText({ org, status: 'pending' })}`, APPROVALS_MS);
  return (
    <>
      <PageHead
        title="Approvals"
        lead="Calls that offer a release to more devices, and wait for a second person."
      />
      <LoadedView of={waiting}>
        {({ approvals }) =>
          approvals.length === 0 ? (
            <Empty title="Nothing waits" />
          ) : (
            approvals.map((approval) => (
              <ApprovalCard key={approval.id} approval={approval} onDecided={waiting.reload} />
            ))
          )
        }
      </LoadedView>
    </>
  );
}

/** Page of one approval, pending or decided. */
export function ApprovalPage({ id }: { id: string }) {
  useTitle('Approval');
  const found = useLoad(`approvals/${encodeURIComponent(id)}`, APPROVALS_MS);
  if (found.error?.status === 404) return <NotFoundPage what="This request" />;
  return (
    <>
      <PageHead title="Approval" lead={<a href={consolePath.approvals}>← What waits</a>} />
      <LoadedView of={found}>
        {({ approval }) => <ApprovalCard approval={approval} onDecided={found.reload} />}
      </LoadedView>
    </>
  );
}

function ApprovalCard(props: { approval: Approval; onDecided: () => Promise<void> }) {
  const { approval, onDecided } = props;
  const { status, request, requestedBy, reason, effect, decidedBy, result } = approval;
  const { app, channel } = request;
  const title = `${capitalized(CALL_DEEDS[request.operation])} ${placeWords(request)}`;
  const why = result?.error ?? result?.reason;
  return (
    <Card title={title} aside={<Badge tone={TONES[status]}>{status}</Badge>}>
      <div class="stack">
        <p>
          Asked by <Actor text={requestedBy} /> <Time at={approval.createdAt} />
          {reason !== null && `: ${reason}`}
          {status === 'pending' && (
            <>
              . It expires <Time at={approval.expiresAt} />
            </>
          )}
          .
        </p>
        <p>
          <a href={placePath(approval)}>Where it applies</a>
        </p>
        {status === 'pending' && channel !== null && request.operation === 'updateChannel' && (
          <OpenDoors app={app} channel={channel} change={settingsIn(request.body)} />
        )}
        {effect?.devices === 0 && <NoDevices />}
        {effect !== null && effect.devices > 0 && (
          <p>
            Of {countText(effect.devices, 'device')}, {numberText(effect.gain)} would get an offer
            that have none, and{' '}
            {numberText(effect.moves.reduce((sum, { devices }) => sum + devices, 0))} another one.
          </p>
        )}
        {decidedBy !== null && (
          <p>
            Decided by <Actor text={decidedBy} /> <Time at={approval.decidedAt} />
            {typeof why === 'string' && `: ${why}`}
          </p>
        )}
        <details>
          <summary>The call</summary>
          <pre class="code call panel">{JSON.stringify(request.body, null, 2)}</pre>
        </details>
        {status === 'pending' && (
          <Decision approval={approval} place={title} onDecided={onDecided} />
        )}
      </div>
    </Card>
  );
}

/** Returns the settings in a request's body that determine who can publish to the channel's devices. */
function settingsIn({ approvals, follows }: Approval['request']['body']): DoorSettings {
  return {
    ...((approvals === 'one' || approvals === 'none') && { approvals }),
    ...((follows === null || typeof follows === 'string') && { follows }),
  };
}

/** Returns the page of a request's subject: the channel's if the release does not exist yet. */
function placePath({ status, request }: Approval): string {
  const { operation, app, channel, version } = request;
  if (channel === null) return consolePath.app(app);
  const isNew = operation === 'publishRelease' || operation === 'promoteRelease';
  if (version === null || (isNew && status !== 'approved'))
    return consolePath.channel(app, channel);
  return consolePath.release(app, channel, version);
}

/** Form for the decision, for those who may decide; then opens the request's page, which shows the result. */
function Decision(props: {
  approval: Approval;
  /** Subject of the request, as in the card's title. */
  place: string;
  onDecided: () => Promise<void>;
}) {
  const { approval, place, onDecided } = props;
  const { id, requestedBy } = approval;
  const { account } = useSession();
  const { route } = useLocation();
  const mayDecide = useMay('publisher');
  const [reason, setReason] = useState('');
  if (requestedBy === `account:${account.email}`) {
    return <p class="hint">You asked for it: another publisher or owner decides.</p>;
  }
  if (!mayDecide) return <p class="hint">A publisher or an owner decides.</p>;
  const decide = (how: 'approve' | 'decline') => async () => {
    const given = reason.trim();
    try {
      await call('POST', `approvals/${id}/${how}`, given === '' ? {} : { reason: given });
    } catch (error) {
      // Another member has decided it, or the call could not be made: the page shows which.
      if (!(error instanceof ApiError) || error.status !== 409) throw error;
    }
    await onDecided();
    route(consolePath.approval(id));
  };
  return (
    <>
      <ReasonField value={reason} onInput={setReason} />
      <div class="form-actions row">
        <Form label={`Approve ${place}`} send="Approve" onSend={decide('approve')} />
        <Form label={`Decline ${place}`} send="Decline" tone="plain" onSend={decide('decline')} />
      </div>
    </>
  );
}
