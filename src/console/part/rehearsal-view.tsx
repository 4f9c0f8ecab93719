// What a dry run says: what speaks against the release, and what it would do to the fleet.

import { useEffect, useRef } from 'preact/hooks';
import { type Finding, type Rehearsed, reachedBy } from '../../contract/rehearsed.ts';
import { countText, numberText } from '../format/figure-text.ts';
import { Badge } from './badge.tsx';

/** Maximum number of rows that are shown of each list; the first ones are the most frequent. */
const LISTED_MAX = 5;

type RehearsedRelease = Rehearsed<{ readonly version: string }>;

/** Findings and effect of a change that was not made yet. */
export function RehearsalView(props: {
  rehearsed: RehearsedRelease;
  /** Whether it appears below a long form, with the button that it is about, and is scrolled to. */
  isScrolledTo?: boolean;
}) {
  const { rehearsed, isScrolledTo = false } = props;
  const section = useRef<HTMLElement>(null);
  useEffect(() => {
    if (isScrolledTo) section.current?.scrollIntoView({ block: 'start' });
  }, []);
  return (
    <section ref={section} class="rehearsal" role="status" aria-label="What it would do">
      <Findings findings={rehearsed.findings} />
      <EffectView rehearsed={rehearsed} />
    </section>
  );
}

function Findings({ findings }: { findings: readonly Finding[] }) {
  if (findings.length === 0) return <p>No problems found.</p>;
  return (
    <ul class="findings">
      {findings.map(({ path, severity, message }) => (
        <li key={`${path} ${message}`}>
          <Badge tone={severity === 'error' ? 'bad' : 'warn'}>{severity}</Badge>{' '}
          <span class="code">{path}</span> {message}
        </li>
      ))}
    </ul>
  );
}

function EffectView({ rehearsed }: { rehearsed: RehearsedRelease }) {
  const { devices, lose, isEstimate, moves, platforms } = rehearsed.effect;
  const reached = reachedBy(rehearsed);
  if (devices === 0) return <p>No device was seen on the channel in the last 30 days.</p>;
  const about = isEstimate ? '≈ ' : '';
  const without = platforms.filter(({ withoutArtifact }) => withoutArtifact > 0);
  return (
    <>
      <p>
        Of {countText(devices, 'device')} seen in the last 30 days, {about}
        <strong>{numberText(reached)}</strong> {reached === 1 ? 'is' : 'are'} offered{' '}
        <span class="code">{rehearsed.release.version}</span>
        {lose > 0 && (
          <>
            {' '}
            and {about}
            <strong>{numberText(lose)}</strong> {lose === 1 ? 'is' : 'are'} offered nothing any more
          </>
        )}
        .
      </p>
      {moves.length > 0 && (
        <ul class="moves" aria-label="Offers that change">
          {moves.slice(0, LISTED_MAX).map(({ from, to, devices: count }) => (
            <li key={`${from} ${to}`}>
              <span class="code">{from ?? 'no offer'}</span> →{' '}
              <span class="code">{to ?? 'no offer'}</span>: {about}
              {countText(count, 'device')}
            </li>
          ))}
        </ul>
      )}
      {without.slice(0, LISTED_MAX).map(({ platform, arch, withoutArtifact }) => (
        <p key={`${platform} ${arch}`} class="hint">
          <span class="code">{arch === null ? platform : `${platform}/${arch}`}</span>: {about}
          {countText(withoutArtifact, 'device')} without a file in this release
        </p>
      ))}
    </>
  );
}
