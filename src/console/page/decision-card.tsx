// What a device would get if it asked now, and why: every release that came into question, from the top.

import type { Candidate, DecisionDetails } from '../api/resource.ts';
import { consolePath } from '../format/console-path.ts';
import { numberText } from '../format/number-text.ts';
import { queryText } from '../format/query-text.ts';
import { reasonText } from '../format/reason-text.ts';
import { useLoad } from '../hook/use-load.ts';
import { Badge, type Tone } from '../part/badge.tsx';
import { Card } from '../part/card.tsx';
import { LoadedView } from '../part/loaded-view.tsx';
import { StatusBadge } from '../part/status-badge.tsx';

const REFRESH_MS = 4000;
const BUCKETS = 10_000;

/** Asking here changes nothing: no offer is recorded. */
export function DecisionCard(props: { app: string; deviceId: string; channel: string }) {
  const { app, deviceId, channel } = props;
  const decision = useLoad<DecisionDetails>(
    `decision${queryText({ app, deviceId, channel })}`,
    REFRESH_MS,
  );
  return (
    <Card title="What it would get now">
      <LoadedView of={decision}>
        {(found) => (
          <>
            <Outcome decision={found} app={app} channel={channel} />
            {found.candidates.length > 0 && (
              <ol class="candidates" aria-label="Releases considered, newest first">
                {found.candidates.map((candidate) => (
                  <CandidateRow
                    key={candidate.version}
                    candidate={candidate}
                    href={consolePath.release(app, channel, candidate.version)}
                  />
                ))}
              </ol>
            )}
            {found.considered > found.candidates.length && (
              <p class="hint">
                {numberText(found.considered - found.candidates.length)} more were passed over
                before the last one.
              </p>
            )}
          </>
        )}
      </LoadedView>
    </Card>
  );
}

function Outcome(props: { decision: DecisionDetails; app: string; channel: string }) {
  const { decision, app, channel } = props;
  const { offer, reason, current } = decision;
  return (
    <div class="decision">
      {offer === null ? (
        <p class="decision-offer">Nothing</p>
      ) : (
        <p class="decision-offer">
          <a class="code" href={consolePath.release(app, channel, offer.version)}>
            {offer.version}
          </a>{' '}
          {offer.allowDowngrade === true && <Badge tone="warn">downgrade</Badge>}{' '}
          {offer.updateMode === 'required' && <Badge tone="bad">required</Badge>}
        </p>
      )}
      <p>{reasonText(decision)}</p>
      <p class="hint">
        It runs <span class="code">{current.version ?? 'an unknown version'}</span>{' '}
        {current.status !== null && <StatusBadge status={current.status} />}
        <span class="unseen">{reason}</span>
      </p>
    </div>
  );
}

const VERDICTS: Readonly<Record<string, readonly [label: string, tone: Tone]>> = {
  offered: ['Offered', 'good'],
  'not-targeted': ['Not for it', 'quiet'],
  'outside-cohort': ['Not yet its turn', 'warn'],
  'no-artifact': ['No artifact', 'quiet'],
  'first-offer-unavailable': ['Cannot be offered now', 'bad'],
  paused: ['Paused', 'warn'],
  deprecated: ['Deprecated', 'quiet'],
  'rolled-back': ['Rolled back', 'bad'],
  rolled_back: ['Rolled back', 'bad'],
};

function CandidateRow({ candidate, href }: { candidate: Candidate; href: string }) {
  const { version, verdict, detail, bucket, threshold } = candidate;
  // For everybody, or not for this device in any case: then its place in the roll-out says nothing.
  const isPartial = threshold !== BUCKETS && /^(?:offered|outside-cohort)$/.test(verdict);
  const known = Object.hasOwn(VERDICTS, verdict) ? VERDICTS[verdict] : undefined;
  const [label, tone] = known ?? [verdict.replaceAll('-', ' '), 'quiet' as const];
  return (
    <li class={verdict === 'offered' ? 'chosen' : ''}>
      <a class="code strong" href={href}>
        {version}
      </a>
      <Badge tone={tone}>{label}</Badge>
      <span class="candidate-detail" dir="auto">
        {detail}
      </span>
      {isPartial && bucket !== undefined && threshold !== undefined && (
        <Cohort bucket={bucket} threshold={threshold} />
      )}
    </li>
  );
}

/** Where the device stands in the roll-out: it gets the release when the bar reaches its mark. */
function Cohort({ bucket, threshold }: { bucket: number; threshold: number }) {
  const place = `${(bucket / BUCKETS) * 100}%`;
  const reached = `${(threshold / BUCKETS) * 100}%`;
  return (
    <span
      class="cohort"
      role="img"
      aria-label={`Stands at ${place} of the fleet; the roll-out reaches ${reached}`}
      title={`Its place: ${place}. The roll-out reaches ${reached}.`}
    >
      <span class="cohort-reach" style={{ width: reached }} />
      <span class="cohort-mark" style={{ left: place }} />
    </span>
  );
}
