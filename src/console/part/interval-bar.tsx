// Interval of a rate as a bar, with the mark of its limit.

import type { SignalRate } from '../../contract/rollout-plan.ts';

/** Smallest percent at the end of the scale, so that a tiny rate does not look like a large one. */
const SCALE_PERCENT_MIN = 5;

/** Bar from the lower to the upper end of the interval; the text beside it says the same. */
export function IntervalBar({ rate }: { rate: SignalRate }) {
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
