// Preview of a change: the findings and effect of a dry run by the service, and the confirmation of an offer
// to many devices.

import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import {
  type DryRunAnswer,
  type Reaching,
  reachedBy,
  type ServingDryRunAnswer,
} from '../../contract/dry-run.ts';
import type { Artifact } from '../../contract/resource.ts';
import { call } from '../api/call.ts';
import { offersText, type StressedText, sureText, waysText } from '../format/dry-run-text.ts';
import { countText, numberText } from '../format/figure-text.ts';
import {
  type FindingSentence,
  findingSentence,
  findingSentences,
} from '../format/finding-sentence.ts';
import { type Asked, useAsked } from '../hook/use-action.ts';
import { Badge } from './badge.tsx';

/** Maximum number of rows shown per list, the most frequent first. */
const LISTED_MAX = 5;

type ReleaseDryRunAnswer = DryRunAnswer<{
  readonly version: string;
  readonly artifacts?: readonly Artifact[];
}>;

/** Findings and effect of a change. */
export function DryRunView({ dryRun }: { dryRun: ReleaseDryRunAnswer }) {
  const { findings, release, effect } = dryRun;
  const sentences = findingSentences(findings, release.artifacts, effect);
  return (
    <section class="dry-run stack panel" role="status" aria-label="What it would do">
      {sentences.length === 0 ? <p>No problems found.</p> : <Findings sentences={sentences} />}
      <EffectView dryRun={dryRun} />
    </section>
  );
}

function Findings({ sentences }: { sentences: readonly FindingSentence[] }) {
  return (
    <ul class="findings stack tight">
      {sentences.map(({ severity, text }) => (
        <li key={text} class="line">
          <Badge tone={severity === 'error' ? 'bad' : 'warn'}>{severity}</Badge>
          <span>{text}</span>
        </li>
      ))}
    </ul>
  );
}

/** Sentence for a change without an effect to show. */
export function NoDevices() {
  return <p>No device was seen on the channel in the last 30 days.</p>;
}

function EffectView({ dryRun }: { dryRun: ReleaseDryRunAnswer }) {
  const { devices, lose, isEstimate, moves } = dryRun.effect;
  const reached = reachedBy(dryRun);
  if (devices === 0) return <NoDevices />;
  const about = isEstimate ? '≈ ' : '';
  return (
    <>
      <p>
        Of {countText(devices, 'device')} seen in the last 30 days, {about}
        <strong>{numberText(reached)}</strong> {reached === 1 ? 'is' : 'are'} offered{' '}
        <span class="code">{dryRun.release.version}</span>
        {lose > 0 && (
          <>
            {' '}
            and {about}
            <strong>{numberText(lose)}</strong> {lose === 1 ? 'is' : 'are'} no longer offered an
            update
          </>
        )}
        .
      </p>
      {moves.length > 0 && (
        <ul class="stack tight" aria-label="Offers that change">
          {moves.slice(0, LISTED_MAX).map(({ from, to, devices: count }) => (
            <li key={`${from} ${to}`}>
              <span class="code">{from ?? 'no offer'}</span> →{' '}
              <span class="code">{to ?? 'no offer'}</span>: {about}
              {countText(count, 'device')}
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

/** Effect of a change. `isAboutRunners`: shows which release the devices get that run the present one. */
export function ServingEffect(props: { dryRun: ServingDryRun; isAboutRunners?: boolean }) {
  const { dryRun, isAboutRunners = false } = props;
  const { said, error } = dryRun;
  if (error !== undefined) {
    return <p class="bad-text">The effect cannot be shown: {error}</p>;
  }
  if (said === undefined) {
    return (
      <section class="dry-run stack panel">
        <p class="muted">Asking what it would do …</p>
      </section>
    );
  }
  const sentences = said.findings.map((finding) => ({
    severity: finding.severity,
    text: findingSentence(finding),
  }));
  return (
    <section class="dry-run stack panel" role="status" aria-label="What it would do">
      {sentences.length > 0 && <Findings sentences={sentences} />}
      {isAboutRunners ? <Ways said={said} /> : <Offers said={said} />}
    </section>
  );
}

function Offers({ said }: { said: ServingDryRunAnswer }) {
  return said.effect.devices === 0 ? <NoDevices /> : <Stressed {...offersText(said)} />;
}

function Ways({ said }: { said: ServingDryRunAnswer }) {
  const { rows, rest, ...sentence } = waysText(said);
  return (
    <>
      <Stressed {...sentence} />
      {rows.length > 0 && (
        <ul class="stack tight" aria-label="Where they go">
          {rows.map(({ from, text, to }) => (
            <li key={`${from} ${text} ${to}`}>
              <span class="code">{from}</span>
              {text}
              {to !== null && <span class="code">{to}</span>}
            </li>
          ))}
          {rest !== null && <li>{rest}</li>}
        </ul>
      )}
    </>
  );
}

function Stressed({ before, what, after }: StressedText) {
  return (
    <p>
      {before}
      {what !== '' && <strong>{what}</strong>}
      {after}
    </p>
  );
}

type ServingDryRun = Asked<ServingDryRunAnswer>;

/** Does a dry run of a change, none for undefined; repeats it when `turn` changes. */
export function useServingDryRun(change: object | undefined, turn = 0): ServingDryRun {
  return useAsked(change && JSON.stringify(change), askDryRun, turn);
}

function askDryRun(change: object): Promise<ServingDryRunAnswer> {
  return call('POST', 'releases/rehearse-serving', change);
}

// Confirmation of an offer to many devices, because an offer cannot be taken back.

export type ConfirmedReach = {
  /** Why the change cannot be sent yet; undefined if it can. */
  readonly obstacle: string | undefined;
  /** Checkbox to confirm; null if none is needed. */
  readonly question: ComponentChildren;
};

/**
 * Asks for confirmation if a change reaches more than half of the devices or more than 1,000, or if its
 * effect is unknown. A confirmation is valid for the number of devices that it names.
 */
export function useConfirmedReach(dryRun: Asked<Reaching>): ConfirmedReach {
  const [sureOf, setSureOf] = useState<string>();
  const { said, error, isRefused = false } = dryRun;
  if (isRefused) return { obstacle: error, question: null };
  if (said === undefined && error === undefined) {
    return { obstacle: 'Wait until its effect is shown', question: null };
  }
  const text = sureText(said);
  if (text === undefined) return { obstacle: undefined, question: null };
  const isSure = sureOf === text;
  return {
    obstacle: isSure ? undefined : 'Confirm how many devices are offered it',
    question: (
      <label class="sure line">
        <input
          type="checkbox"
          checked={isSure}
          onChange={(event) => setSureOf(event.currentTarget.checked ? text : undefined)}
        />{' '}
        {text}
      </label>
    ),
  };
}
