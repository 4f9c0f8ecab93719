// What check-ins tell of a release: each signal with its interval, against the limit of the plan's guard.

import type { PlanAndHealth } from '../../contract/console.ts';
import type { ReleaseTrouble } from '../../contract/release-trouble.ts';
import { SIGNALS, type Signal, type SignalRate } from '../../contract/rollout-plan.ts';
import type { ReleaseName } from '../api/call.ts';
import { consolePath, queryText } from '../format/console-path.ts';
import { numberText } from '../format/figure-text.ts';
import { hasSignalData } from '../format/has-signal-data.ts';
import { rateText, SIGNAL_WORDS } from '../format/plan-words.ts';
import { Badge, VerdictBadge } from '../part/badge.tsx';
import { Card } from '../part/card.tsx';
import { DataTable } from '../part/data-table.tsx';
import { IntervalBar } from '../part/interval-bar.tsx';

/** Card with the signals of a release and the verdict. */
export function HealthCard(props: {
  name: ReleaseName;
  planned: PlanAndHealth;
  /** Undefined while it is not known. */
  trouble: ReleaseTrouble | undefined;
}) {
  const { name, planned, trouble } = props;
  const { health, plan } = planned;
  const { offered, installed, rates, verdict } = health;
  return (
    <Card title="Health" aside={<VerdictBadge verdict={verdict} />}>
      <p>
        Of the devices known before it was published, {numberText(offered)} were offered it and{' '}
        {numberText(installed)} were seen on it.
        {verdict === 'too early' &&
          ` It is too early to tell until ${numberText(plan?.guards?.minimumDevices ?? 30)} were offered it.`}
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
          {
            label: 'Devices',
            isNumber: true,
            render: (signal) => <DevicesLink name={name} signal={signal} count={health[signal]} />,
          },
          {
            label: 'Rate, 95% interval',
            render: (signal) =>
              hasSignalData(signal, health, trouble) ? (
                <RateView rate={rates[signal]} />
              ) : (
                <span class="muted">no data yet</span>
              ),
          },
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

/** Number of devices that leads to them. */
function DevicesLink(props: { name: ReleaseName; signal: Signal; count: number }) {
  const { name, signal, count } = props;
  if (count === 0) return <>0</>;
  const { app, channel, version } = name;
  const query = queryText({ channel, release: version, signal });
  return (
    <a
      href={`${consolePath.fleet(app)}${query}#devices`}
      title={`Show the devices that are ${signal}`}
    >
      {numberText(count)}
    </a>
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
