// Pages of approvals: the calls that wait, and one of them with its effect and the decision.

import { useState } from 'preact/hooks';
import type { Approval, ApprovalStatus, AskedOperation } from '../../contract/approval.ts';
import { call } from '../api/call.ts';
import { consolePath, queryText } from '../format/console-path.ts';
import { countText } from '../format/figure-text.ts';
import { useLoad } from '../hook/use-load.ts';
import { Badge } from '../part/badge.tsx';
import { Card, Empty } from '../part/card.tsx';
import { Field } from '../part/field.tsx';
import { Form } from '../part/form.tsx';
import { Name } from '../part/name.tsx';
import { LoadedView } from '../part/notice.tsx';
import { PageHead, useTitle } from '../part/page-head.tsx';
import { useMay, useOrganization } from '../session/use-session.ts';

const REFRESH_MS = 4000;

const DEEDS: Readonly<Record<AskedOperation, string>> = {
  publishRelease: 'Publish',
  promoteRelease: 'Promote',
  controlServing: 'Change the serving of',
  planRollout: 'Plan the roll-out of',
  steerPlan: 'Let the plan go on of',
  resumeStop: 'End the stop of',
  updateChannel: 'Change the settings of',
};

const TONES = {
  pending: 'warn',
  approved: 'good',
  declined: 'bad',
  expired: 'quiet',
  failed: 'bad',
} as const satisfies Record<ApprovalStatus, string>;

/** Page of what waits in the organization, newest first. */
export function ApprovalsPage() {
  useTitle('Approvals');
  const { id: org } = useOrganization();
  const waiting = useLoad(`approvals${queryText({ org, status: 'pending' })}`, REFRESH_MS);
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

/** Page of one approval, also of one that was decided. */
export function ApprovalPage({ id }: { id: string }) {
  useTitle('Approval');
  const found = useLoad(`approvals/${encodeURIComponent(id)}`, REFRESH_MS);
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
  const { id, status, request, requestedBy, reason, effect, decidedBy, result } = approval;
  const { app, channel, version } = request;
  const place = [app, channel, version].filter((part) => part !== null).join(' ');
  const mayDecide = useMay('publisher') && status === 'pending';
  const why = result?.error ?? result?.reason;
  return (
    <Card title={`${DEEDS[request.operation]} ${place}`}>
      <p>
        <Badge tone={TONES[status]}>{status}</Badge> Asked by <Name text={requestedBy} />
        {reason !== null && `: ${reason}`}
      </p>
      {effect !== null && (
        <p>
          Of {countText(effect.devices, 'device')}, {effect.gain} would get an offer that have none,
          and {effect.moves.reduce((sum, { devices }) => sum + devices, 0)} another one.
        </p>
      )}
      {decidedBy !== null && (
        <p>
          Decided by <Name text={decidedBy} />
          {typeof why === 'string' && `: ${why}`}
        </p>
      )}
      <details>
        <summary>The call</summary>
        <pre class="code">{JSON.stringify(request.body, null, 2)}</pre>
      </details>
      {mayDecide && <Decision id={id} onDecided={onDecided} />}
    </Card>
  );
}

function Decision({ id, onDecided }: { id: string; onDecided: () => Promise<void> }) {
  const [reason, setReason] = useState('');
  const decide = (how: 'approve' | 'decline') => async () => {
    const given = reason.trim();
    const body = given === '' ? {} : { reason: given };
    try {
      await call('POST', `approvals/${id}/${how}`, body);
    } finally {
      await onDecided();
    }
  };
  return (
    <>
      <Field
        label="Reason"
        value={reason}
        onInput={setReason}
        hint="For the audit; may be empty."
      />
      <Form label="Approve" send="Approve" onSend={decide('approve')} />
      <Form label="Decline" send="Decline" tone="plain" onSend={decide('decline')} />
    </>
  );
}
