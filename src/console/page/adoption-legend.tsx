// Legend of the adoption chart: each version with its color and number; a click shows or hides it.

import type { AdoptionStep } from '../../contract/resource.ts';
import type { AdoptionSeries } from '../format/adoption-series.ts';
import { numberText, shareText } from '../format/figure-text.ts';

const HOUR = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'short' });
const DAY = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeZone: 'UTC' });
const MONTH = new Intl.DateTimeFormat('en', {
  year: 'numeric',
  month: 'long',
  timeZone: 'UTC',
});
const SEEN: Readonly<Record<AdoptionStep, string>> = {
  hour: 'seen',
  day: 'seen in the day',
  month: 'seen in the month',
};
const FORMATS: Readonly<Record<AdoptionStep, Intl.DateTimeFormat>> = {
  hour: HOUR,
  day: DAY,
  month: MONTH,
};

/** Legend with the numbers of the time at `index`. */
export function AdoptionLegend(props: {
  series: AdoptionSeries;
  /** Color of each version, in their order. */
  colors: readonly string[];
  hidden: ReadonlySet<string>;
  step: AdoptionStep;
  index: number;
  onToggle: (name: string) => void;
}) {
  const { series, colors, hidden, step, index, onToggle } = props;
  const time = series.times[index];
  const sum = series.versions.reduce((total, { devices }) => total + (devices[index] ?? 0), 0);
  return (
    <div class="legend">
      <p class="muted">
        {time === undefined ? '\u00a0' : FORMATS[step].format(new Date(time * 1000))}
        {step === 'hour' ? ' · ' : ' (UTC) · '}
        {time !== undefined && series.minimums.has(time) && 'at least '}
        {numberText(sum)} {SEEN[step]}
      </p>
      <ul>
        {series.versions.map(({ name, devices }, row) => (
          <li key={name}>
            <button
              type="button"
              aria-pressed={!hidden.has(name)}
              title={hidden.has(name) ? `Show ${name}` : `Hide ${name}`}
              onClick={() => onToggle(name)}
            >
              <span class="swatch" style={{ background: colors[row] ?? '' }} />
              <span class="code">{name}</span>
              <span class="legend-count">
                {numberText(devices[index] ?? 0)} · {shareText(devices[index] ?? 0, sum)}
              </span>
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}
