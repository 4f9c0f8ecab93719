// Where the trouble of a release is: each signal by platform and by the version before, and the reasons that
// devices gave.

import type {
  FailureReason,
  ReleaseTrouble,
  SignalPlaces,
  SignalShare,
  SignalTrouble,
} from '../../contract/release-trouble.ts';
import { SIGNALS, type Signal } from '../../contract/rollout-plan.ts';
import { numberText, shareText } from '../format/figure-text.ts';
import { Card, ShareBar } from '../part/card.tsx';
import { DataTable } from '../part/data-table.tsx';
import { Name } from '../part/name.tsx';
import { Time } from '../part/time.tsx';

/** Card with the trouble of a release; nothing where there is none. */
export function TroubleCard({ trouble }: { trouble: ReleaseTrouble }) {
  const { signals, scale, reasons } = trouble;
  const shown = SIGNALS.filter((signal) => signals[signal].devices > 0).sort(
    (left, right) => signals[right].devices - signals[left].devices,
  );
  if (shown.length === 0 && reasons.length === 0) return null;
  return (
    <Card title="Where the trouble is">
      {scale > 1 && (
        <p class="hint">
          Of about 10,000 devices that were looked at: each stands for{' '}
          {numberText(Math.round(scale))}.
        </p>
      )}
      {shown.map((signal) => (
        <SignalView key={signal} signal={signal} trouble={signals[signal]} />
      ))}
      {reasons.length > 0 && <Reasons reasons={reasons} />}
    </Card>
  );
}

function SignalView({ signal, trouble }: { signal: Signal; trouble: SignalTrouble }) {
  return (
    <section class="trouble" aria-label={`Where devices are ${signal}`}>
      <h3>
        {signal} <span class="muted">{shareLine(trouble)}</span>
      </h3>
      <Places signal={signal} by="platform" places={trouble.platforms} />
      <Places signal={signal} by="version before" places={trouble.versions} />
    </section>
  );
}

/** Devices by platform or version; a line where all are in one place, as there is nothing to compare. */
function Places(props: {
  signal: Signal;
  by: 'platform' | 'version before';
  places: SignalPlaces;
}) {
  const { signal, by, places } = props;
  const { named, others } = places;
  const isCode = by === 'version before';
  const [only] = named;
  if (only !== undefined && named.length === 1 && others === null) {
    return (
      <p class="hint">
        The only {by}: {only.name === '' ? 'unknown' : <Name text={only.name} isCode={isCode} />}
      </p>
    );
  }
  return (
    <ul class="bars" aria-label={`${signal} by ${by}`}>
      {named.map((each) => (
        <li key={each.name}>
          {each.name === '' ? (
            <span class="muted">unknown</span>
          ) : (
            <Name text={each.name} isCode={isCode} />
          )}
          <Share label={each.name === '' ? 'unknown' : each.name} share={each} />
        </li>
      ))}
      {others !== null && (
        <li>
          <span class="muted">others</span>
          <Share label="others" share={others} />
        </li>
      )}
    </ul>
  );
}

function Share({ label, share }: { label: string; share: SignalShare }) {
  const { devices, base } = share;
  return (
    <ShareBar
      percent={base > 0 ? (devices / base) * 100 : 0}
      label={label}
      text={shareLine(share)}
    />
  );
}

function shareLine({ devices, base }: SignalShare): string {
  return `${numberText(devices)} of ${numberText(base)} · ${shareText(devices, base)}`;
}

/** Reasons as devices sent them: rendered as text, whatever they hold. */
function Reasons({ reasons }: { reasons: readonly FailureReason[] }) {
  return (
    <section class="trouble" aria-label="Why devices failed">
      <h3>Why devices failed</h3>
      <DataTable
        caption="Reasons of failures, the most frequent first"
        rows={reasons}
        keyOf={({ reason }) => reason ?? ''}
        columns={[
          {
            label: 'Reason',
            render: ({ reason }) =>
              reason === null ? <span class="muted">none given</span> : <Name text={reason} />,
          },
          { label: 'Devices', isNumber: true, render: ({ devices }) => numberText(devices) },
          { label: 'Last', render: ({ at }) => <Time at={at} /> },
        ]}
      />
    </section>
  );
}
