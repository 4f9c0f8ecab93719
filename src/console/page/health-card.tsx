// Health of a release: each signal with its interval against the limit of the plan's guard; and its failure
// breakdown by platform and by previous version, with the reasons that devices sent.

import type { PlanAndHealth } from '../../contract/console.ts';
import type {
  FailureBreakdown,
  FailureReason,
  SignalBreakdown,
  SignalPlaces,
  SignalShare,
} from '../../contract/failure-breakdown.ts';
import { type Health, SIGNALS, type Signal, type SignalRate } from '../../contract/rollout-plan.ts';
import type { ReleaseName } from '../api/call.ts';
import { consolePath, queryText } from '../format/console-path.ts';
import { numberText, shareText } from '../format/figure-text.ts';
import { rateText, SIGNAL_WORDS } from '../format/plan-words.ts';
import { Badge, VerdictBadge } from '../part/badge.tsx';
import { Card, ShareBar } from '../part/card.tsx';
import { DataTable } from '../part/data-table.tsx';
import { Name } from '../part/name.tsx';
import { Time } from '../part/time.tsx';

/** Card with the signals of a release and the verdict. */
export function HealthCard(props: {
  name: ReleaseName;
  planned: PlanAndHealth;
  /** Undefined until it is loaded. */
  breakdown: FailureBreakdown | undefined;
}) {
  const { name, planned, breakdown } = props;
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
              hasSignalData(signal, health, breakdown) ? (
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

/** Number of devices, as a link to their list. */
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

/** Minimum percentage at the end of the scale, so that a tiny rate does not look large. */
const SCALE_PERCENT_MIN = 5;

/** Bar of the interval; the text beside it says the same. */
function IntervalBar({ rate }: { rate: SignalRate }) {
  const { low, high, limit } = rate;
  const scale = Math.min(100, Math.max(SCALE_PERCENT_MIN, high * 1.2, (limit ?? 0) * 2));
  const at = (percent: number) => `${Math.min(100, (percent / scale) * 100)}%`;
  const tone = limit === null ? 'quiet' : low > limit ? 'bad' : high > limit ? 'warn' : 'good';
  return (
    <span class="interval" aria-hidden="true">
      <span
        class={`interval-span ${tone}`}
        style={{ left: at(low), width: at(Math.max(high - low, 0)) }}
      />
      {limit !== null && <span class="interval-limit" style={{ left: at(limit) }} />}
    </span>
  );
}

/**
 * Returns whether a rate has data. The base of stuck and silent is in the breakdown; until that is loaded, a
 * rate with an empty interval has none.
 */
function hasSignalData(
  signal: Signal,
  health: Health,
  breakdown: FailureBreakdown | undefined,
): boolean {
  if (signal === 'failed') return health.offered > 0;
  if (signal === 'reverted') return health.installed > 0;
  const base = breakdown?.signals[signal].base;
  return base === undefined ? health.rates[signal].high > 0 : base > 0;
}

/** Card with the failure breakdown of a release; nothing without failures. */
export function FailureBreakdownCard({ breakdown }: { breakdown: FailureBreakdown }) {
  const { signals, scale, reasons } = breakdown;
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
        <SignalView key={signal} signal={signal} breakdown={signals[signal]} />
      ))}
      {reasons.length > 0 && <Reasons reasons={reasons} />}
    </Card>
  );
}

function SignalView({ signal, breakdown }: { signal: Signal; breakdown: SignalBreakdown }) {
  return (
    <section class="trouble" aria-label={`Where devices are ${signal}`}>
      <h3>
        {signal} <span class="muted">{shareLine(breakdown)}</span>
      </h3>
      <Places signal={signal} by="platform" places={breakdown.platforms} />
      <Places signal={signal} by="version before" places={breakdown.versions} />
    </section>
  );
}

/** Devices by platform or version; one line if all have the same. */
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

/** Reasons as devices sent them, shown as text. */
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
