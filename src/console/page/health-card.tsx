// What check-ins tell of a release: each signal with its interval, against the limit of the plan's guard.

import {
  type Health,
  type PlanGuards,
  SIGNALS,
  type Signal,
  type SignalRate,
} from '../../contract/rollout-plan.ts';
import { numberText } from '../format/number-text.ts';
import { rateText, SIGNAL_WORDS } from '../format/plan-words.ts';
import { Badge } from '../part/badge.tsx';
import { Card } from '../part/card.tsx';
import { DataTable } from '../part/data-table.tsx';
import { IntervalBar } from '../part/interval-bar.tsx';
import { VerdictBadge } from '../part/plan-badge.tsx';

/** Card with the signals of a release and the verdict. */
export function HealthCard({ health, guards }: { health: Health; guards: PlanGuards | null }) {
  const { offered, installed, rates, verdict } = health;
  return (
    <Card title="Health" aside={<VerdictBadge verdict={verdict} />}>
      <p>
        Of the devices known before it was published, {numberText(offered)} were offered it and{' '}
        {numberText(installed)} were seen on it.
        {verdict === 'too early' &&
          ` It is too early to tell until ${numberText(guards?.minimumDevices ?? 30)} were offered it.`}
      </p>
      <DataTable
        caption="Signals"
        rows={SIGNALS}
        keyOf={(signal) => signal}
        columns={[
          {
            label: 'Signal',
            render: (signal) => <SignalName signal={signal} rate={rates[signal]} />,
          },
          { label: 'Devices', isNumber: true, render: (signal) => numberText(health[signal]) },
          { label: 'Rate, 95% interval', render: (signal) => <RateView rate={rates[signal]} /> },
          {
            label: 'Limit',
            isNumber: true,
            render: (signal) =>
              rates[signal].limit === null ? (
                <span class="muted">none</span>
              ) : (
                `${rates[signal].limit}%`
              ),
          },
        ]}
      />
    </Card>
  );
}

function SignalName({ signal, rate }: { signal: Signal; rate: SignalRate }) {
  return (
    <span class="signal">
      <span>
        <strong>{signal}</strong> {rate.tripped && <Badge tone="bad">stopped the plan</Badge>}
      </span>
      <span class="hint">{SIGNAL_WORDS[signal]}</span>
    </span>
  );
}

function RateView({ rate }: { rate: SignalRate }) {
  return (
    <span class="rate">
      <IntervalBar rate={rate} />
      <span>{rateText(rate)}</span>
    </span>
  );
}
