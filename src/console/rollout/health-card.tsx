// Health of a release: each signal with its interval against the limit of the plan's guard, and the failure
// breakdown by platform and by previous version, with the reasons that devices sent.

import { SIGNALS } from '../../contract/choice.ts';
import type { PlanAndHealth } from '../../contract/console.ts';
import type {
  FailureBreakdown,
  FailureReason,
  Signal,
  SignalBreakdown,
  SignalPlaces,
  SignalRate,
  SignalShare,
} from '../../contract/rollout-plan.ts';
import type { ReleaseName } from '../api/call.ts';
import { consolePath } from '../format/console-path.ts';
import { countText, numberText, percentText, shareText } from '../format/figure-text.ts';
import {
  intervalText,
  networkText,
  placesLeft,
  SIGNAL_WORDS,
  silentText,
  tooEarlyText,
} from '../format/plan-words.ts';
import { Badge, VerdictBadge } from '../part/badge.tsx';
import { Card, HelpLink, ShareBar } from '../part/card.tsx';
import { DataTable } from '../part/data-table.tsx';
import { Name } from '../part/name.tsx';
import { Time } from '../part/time.tsx';

/** Card with the signals of a release and the verdict; one line while no signal has a device to judge by. */
export function HealthCard(props: {
  name: ReleaseName;
  planned: PlanAndHealth;
  /** Whether devices are offered it now. */
  isOffered: boolean;
  /** Number of devices whose last offer it was, whether or not they were known before it was published. */
  offered: number;
  /** Undefined until it is loaded. */
  breakdown: FailureBreakdown | undefined;
}) {
  const { name, planned, isOffered, offered: everOffered, breakdown } = props;
  const { health } = planned;
  const { offered, installed, rates, verdict } = health;
  const hasData = SIGNALS.some((signal) => rates[signal].base > 0);
  if (!hasData) {
    return (
      <Card title="Health" aside={<VerdictBadge verdict={verdict} />}>
        <p>{noDataText(everOffered)}</p>
      </Card>
    );
  }
  return (
    <Card title="Health" aside={<VerdictBadge verdict={verdict} />}>
      <p>
        Of the devices known before it was published, {numberText(offered)} were offered it and{' '}
        {numberText(installed)} were seen on it. {tooEarlyText(planned, isOffered)}
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
            label: 'Rate, against its limit',
            render: (signal) =>
              rates[signal].base === 0 ? (
                <span class="muted">no data yet</span>
              ) : (
                <RateView
                  signal={signal}
                  devices={health[signal]}
                  rate={rates[signal]}
                  reached={
                    breakdown && Math.round(breakdown.signals[signal].base * breakdown.scale)
                  }
                />
              ),
          },
        ]}
      />
    </Card>
  );
}

/** Returns why there is nothing to judge by, and whether that will change. */
function noDataText(everOffered: number): string {
  return everOffered === 0
    ? 'No data yet: no device was offered it.'
    : 'No data: signals count devices that were known before it was published (a day, unless its ' +
        'plan says otherwise), for 90 days. None of those that were offered it counts, so nobody ' +
        'can tell how it fares. This does not change for this release.';
}

/** Number of devices, as a link to their list. */
function DevicesLink(props: { name: ReleaseName; signal: Signal; count: number }) {
  const { name, signal, count } = props;
  if (count === 0) return <>0</>;
  const { app, channel, version } = name;
  const href = consolePath.devices(app, { channel, release: version, signal });
  return (
    <a href={href} title={`Show the devices that are ${signal}`}>
      {numberText(count)}
    </a>
  );
}

function SignalName({ signal, rate }: { signal: Signal; rate: SignalRate }) {
  return (
    <span class="stack tight">
      <span>
        <strong>{signal}</strong> {rate.tripped && <Badge tone="bad">stopped the plan</Badge>}
      </span>
      <span class="hint">{SIGNAL_WORDS[signal]}</span>
    </span>
  );
}

function RateView(props: {
  signal: Signal;
  devices: number;
  rate: SignalRate;
  /** Number of devices that could show the signal; undefined until it is loaded. */
  reached: number | undefined;
}) {
  const { signal, devices, rate, reached } = props;
  const less = signal === 'silent' ? silentText(devices, rate, reached) : undefined;
  const network = networkText(rate);
  return (
    <span class="rate stack tight digits">
      <span>
        <strong class="rate-figure">{percentText(rate.percent)}</strong>{' '}
        <span class="muted">
          {percentText(95)}: {intervalText(rate)}
        </span>
      </span>
      {rate.limit !== null && <IntervalBar rate={rate} limit={rate.limit} />}
      {less !== undefined && <span class="hint">{less}</span>}
      {network !== undefined && <span class="hint">{network}</span>}
    </span>
  );
}

/** End of the scale of every signal, in multiples of its limit. */
const SCALE_LIMITS = 4;
/** Minimum share of the scale for an interval at its end. */
const SPAN_SHARE_MIN = 6;
/** Scale in percent for a limit of 0. */
const SCALE_PERCENT = 4;

/** Bar of the interval, in multiples of the limit. The text above it has the same numbers. */
function IntervalBar({ rate, limit }: { rate: SignalRate; limit: number }) {
  const { percent, low, high } = rate;
  const scale = limit === 0 ? SCALE_PERCENT : limit * SCALE_LIMITS;
  const share = (value: number) => Math.min(100, (value / scale) * 100);
  // An interval beyond the scale stays visible at its end.
  const left = Math.min(share(low), 100 - SPAN_SHARE_MIN);
  const at = (value: number) => `${share(value)}%`;
  const tone = low > limit ? 'bad' : high > limit ? 'warn' : 'good';
  return (
    <span class="interval" aria-hidden="true">
      <span
        class={`interval-span ${tone}`}
        style={{ left: `${left}%`, width: `${Math.max(share(high) - left, 0)}%` }}
      />
      <span class="interval-figure" style={{ left: at(percent) }} />
      <span class="interval-limit" style={{ left: at(limit) }} />
      <span class="interval-label" style={{ left: at(limit) }}>
        limit {percentText(limit)}
      </span>
    </span>
  );
}

/** Card with the failure breakdown of a release; nothing without failures. */
export function FailureBreakdownCard(props: { breakdown: FailureBreakdown; version: string }) {
  const { breakdown, version } = props;
  const { signals, scale, reasons } = breakdown;
  const shown = SIGNALS.filter((signal) => signals[signal].devices > 0).sort(
    (left, right) => signals[right].devices - signals[left].devices,
  );
  if (shown.length === 0 && reasons.length === 0) return null;
  return (
    <Card
      title="Where the trouble is"
      aside={<HelpLink to="signals">What the signals count</HelpLink>}
    >
      {scale > 1 && (
        <p class="hint">
          Of about 10,000 devices that were looked at: each stands for{' '}
          {numberText(Math.round(scale))}.
        </p>
      )}
      {shown.map((signal) => (
        <SignalView key={signal} signal={signal} breakdown={signals[signal]} version={version} />
      ))}
      {reasons.length > 0 && <Reasons reasons={reasons} />}
    </Card>
  );
}

function SignalView(props: { signal: Signal; breakdown: SignalBreakdown; version: string }) {
  const { signal, breakdown, version } = props;
  const { left, moved } = placesLeft(breakdown.versions, version);
  return (
    <section class="trouble" aria-label={`Where devices are ${signal}`}>
      <h3>
        {signal} <span class="muted digits">{shareLine(breakdown)}</span>
      </h3>
      <Places signal={signal} by="platform" places={breakdown.platforms} />
      <Places signal={signal} by="version before" places={left} />
      {moved > 0 && (
        <p class="hint">
          {countText(moved, 'of these devices', 'of these devices')} went on to a newer release:
          nothing is wrong with them.
        </p>
      )}
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
  if (only === undefined && others === null) return null;
  if (only !== undefined && named.length === 1 && others === null) {
    return (
      <p class="hint">
        The only {by}: {only.name === '' ? 'unknown' : <Name text={only.name} isCode={isCode} />}
      </p>
    );
  }
  return (
    <>
      <p class="hint">By {by}</p>
      <ul class="bars stack" aria-label={`${signal} by ${by}`}>
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
    </>
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
