// What a change of a release's serving would do, as the service itself would decide: who gets an offer and
// who loses one, and where the devices go that run the release.

import { type RehearsedServing, type RunnerEffect, reachedBy } from '../../contract/rehearsed.ts';
import { stayText } from '../format/decision-text.ts';
import { countText, numberText } from '../format/figure-text.ts';
import type { ServingRehearsal } from '../hook/use-serving-rehearsal.ts';
import { Badge } from './badge.tsx';

/** Maximum number of rows of the way that devices go; the rest is summed up. */
const RUNNER_ROWS_MAX = 8;

/**
 * Effect of a change that was not made yet. `isAboutRunners` tells where the devices go that run the release,
 * for changes that take it from them.
 */
export function ServingEffect(props: { rehearsal: ServingRehearsal; isAboutRunners?: boolean }) {
  const { rehearsal, isAboutRunners = false } = props;
  const { said, error } = rehearsal;
  if (error !== undefined) {
    return <p class="bad-text">What it would do cannot be told: {error}</p>;
  }
  if (said === undefined) return <p class="muted">Asking what it would do …</p>;
  return (
    <section class="rehearsal" role="status" aria-label="What it would do">
      {said.findings.map(({ severity, message }) => (
        <p key={message}>
          <Badge tone={severity === 'error' ? 'bad' : 'warn'}>{severity}</Badge> {message}
        </p>
      ))}
      {isAboutRunners ? <Ways said={said} /> : <Offers said={said} />}
    </section>
  );
}

function Offers({ said: { release, effect } }: { said: RehearsedServing }) {
  const { devices, isEstimate, lose, moves } = effect;
  const about = isEstimate ? '≈ ' : '';
  if (devices === 0) return <p>No device was seen on the channel in the last 30 days.</p>;
  const reached = reachedBy({ release, effect });
  const others = moves.reduce((sum, move) => sum + move.devices, 0) - reached - lose;
  const parts = [
    ...(reached > 0 ? [`${about}${numberText(reached)} more are offered ${release.version}`] : []),
    ...(others > 0 ? [`${about}${numberText(others)} are offered another release`] : []),
    ...(lose > 0 ? [`${about}${numberText(lose)} are offered nothing any more`] : []),
  ];
  return (
    <p>
      Of {countText(devices, 'device')} seen in the last 30 days,{' '}
      <strong>{parts.length === 0 ? 'none is offered anything else' : parts.join(', ')}</strong>.
    </p>
  );
}

function Ways({ said: { release, effect, runners } }: { said: RehearsedServing }) {
  const count = (rows: readonly RunnerEffect[]) => rows.reduce((sum, row) => sum + row.devices, 0);
  const about = effect.isEstimate ? '≈ ' : '';
  const staying = runners.filter(({ to }) => to === null);
  if (runners.length === 0) {
    return <p>No device that was seen in the last 30 days runs {release.version}.</p>;
  }
  return (
    <>
      <p>
        {about}
        <strong>{countText(count(runners), 'device runs', 'devices run')}</strong> it. {about}
        {numberText(count(runners) - count(staying))} go to another release, {about}
        {numberText(count(staying))} stay.
      </p>
      <ul class="moves" aria-label="Where they go">
        {runners.slice(0, RUNNER_ROWS_MAX).map((row) => (
          <li key={JSON.stringify(row)}>
            <span class="code">
              {row.arch === null ? row.platform : `${row.platform}/${row.arch}`}
            </span>
            : {about}
            {numberText(row.devices)}{' '}
            {row.to === null ? (
              <>stay: {stayText(row.reason)}</>
            ) : (
              <>
                → <span class="code">{row.to}</span>
              </>
            )}
          </li>
        ))}
        {runners.length > RUNNER_ROWS_MAX && (
          <li>
            and {about}
            {countText(count(runners.slice(RUNNER_ROWS_MAX)), 'device')} more
          </li>
        )}
      </ul>
    </>
  );
}
