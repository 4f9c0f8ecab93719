// Dialog that shows, for a pasted list of device ids, what each would get now, and why.

import { useState } from 'preact/hooks';
import type { BriefDecision } from '../../contract/console-fleet.ts';
import { LIMIT } from '../../contract/limit.ts';
import { call } from '../api/call.ts';
import { Dialog } from '../form/dialog.tsx';
import { TextArea } from '../form/field.tsx';
import { Form } from '../form/form.tsx';
import { briefReasonText } from '../format/decision-text.ts';
import { countText } from '../format/figure-text.ts';
import { type Column, DataTable } from '../part/data-table.tsx';
import { DeviceLink } from '../part/name.tsx';

export function WhyNotDialog({ app, onClose }: { app: string; onClose: () => void }) {
  const [text, setText] = useState('');
  const [decisions, setDecisions] = useState<readonly BriefDecision[]>();
  const ids = [...new Set(text.split(/[\s,;]+/).filter((id) => id !== ''))];
  const max = LIMIT.decisionsAtOnceMax;
  const ask = async () => {
    const answer = await call('POST', 'decisions', { app, deviceIds: ids });
    setDecisions(answer.decisions);
  };
  return (
    <Dialog title="Why do these devices not get it?" isWide isDisposable onClose={onClose}>
      <Form send="Show" onSend={ask} obstacle={obstacleOf(ids.length, max)} onCancel={onClose}>
        <TextArea
          name="deviceIds"
          label="Ids of devices"
          value={text}
          onInput={setText}
          hint={`One in each line, at most ${max}; ${countText(ids.length, 'device')} so far.`}
        />
      </Form>
      {decisions !== undefined && (
        <div role="status">
          <DataTable
            caption="What each device would get now"
            columns={columnsFor(app)}
            rows={decisions}
            keyOf={({ deviceId }) => deviceId}
          />
        </div>
      )}
    </Dialog>
  );
}

function obstacleOf(count: number, max: number): string | undefined {
  if (count === 0) return 'Paste at least one id.';
  return count > max ? `At most ${max} at once.` : undefined;
}

function columnsFor(app: string): readonly Column<BriefDecision>[] {
  return [
    { label: 'Device', render: ({ deviceId }) => <DeviceLink app={app} deviceId={deviceId} /> },
    {
      label: 'Runs',
      isNamed: true,
      render: ({ device }) =>
        device === null ? (
          <span class="muted whole">never seen</span>
        ) : (
          <span class="code">{device.version ?? 'unknown'}</span>
        ),
    },
    {
      label: 'Gets',
      isNamed: true,
      render: ({ offer }) =>
        offer === null ? (
          <span class="muted whole">nothing</span>
        ) : (
          <span class="code">{offer}</span>
        ),
    },
    { label: 'Why', render: (decision) => briefReasonText(decision) },
  ];
}
