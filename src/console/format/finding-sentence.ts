// Findings of a dry run as sentences, which name the files that they are about, and count the devices that a
// release has no file for.

import type { Effect, Finding } from '../../contract/dry-run.ts';
import type { Artifact } from '../../contract/resource.ts';
import { platformName, wordFor } from '../../contract/text.ts';
import { decodedFileName } from '../../domain/decision/artifact/artifact-format.ts';
import { countText, minutesText, momentText } from './figure-text.ts';

export type FindingSentence = { readonly severity: Finding['severity']; readonly text: string };

type NamedFile = Pick<Artifact, 'url'>;

/** Fields of an artifact that a sentence names beside the file; for any other, it names only the file. */
const PART_NAMES: Readonly<Record<string, string>> = {
  platform: 'platform',
  arch: 'architecture',
  signature: 'signature',
  sha512: 'SHA-512',
};

/** Maximum number of platforms that are listed besides those in findings, the largest first. */
const LISTED_MAX = 5;

/** Messages whose subject is the path of the finding. */
const WITHOUT_SUBJECT = /^(?:Is|Has|Names) /;
/** Message about a platform, or a platform and architecture, for which the release has no file. */
const NO_FILE = /^([^\s/]+)(?:\/(\S+))? (has no file\b.*)$/s;

/** Path of a step of a plan, or of a part of it. */
const STEP = /^(?:plan\.)?steps\.(\d+)(?:\.|$)/;

/** Words of the page for the names of times in messages about plans. */
const TIME_NAMES: Readonly<Record<string, string>> = {
  stuckAfterMinutes: 'the time of stuck',
  silentAfterMinutes: 'the time of silent',
  confirmMinutes: 'the time of two checks',
};

/** Returns a finding as a sentence; `artifacts` are those of the release, if known. */
export function findingSentence(finding: Finding, artifacts: readonly NamedFile[] = []): string {
  const { path, message } = finding;
  const [, step] = STEP.exec(path) ?? [];
  if (step !== undefined) return closed(`Step ${Number(step) + 1}: ${stepText(message)}`);
  if (!WITHOUT_SUBJECT.test(message)) return closed(message);
  return closed(`${subjectOf(path, artifacts)} ${withoutCapital(message)}`);
}

/** Returns a message about a step, with its times as the page formats them. */
function stepText(message: string): string {
  const text = message
    .replace(/\b(\w+Minutes) \((\d+)\)/g, (_, name: string, minutes: string) => {
      return `${wordFor(TIME_NAMES, name)} (${minutesText(Number(minutes))})`;
    })
    .replace(/\b(\d+) minutes\b/g, (_, minutes: string) => minutesText(Number(minutes)))
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, (time) => momentText(new Date(time)));
  return withoutCapital(text);
}

function withoutCapital(text: string): string {
  return `${text.charAt(0).toLowerCase()}${text.slice(1)}`;
}

function closed(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

function subjectOf(path: string, artifacts: readonly NamedFile[]): string {
  const [list, index = '', part = ''] = path.split('.');
  if (list !== 'artifacts') return `The ${path}`;
  const url = artifacts[Number(index)]?.url;
  const file = url === undefined ? `artifact ${Number(index) + 1}` : decodedFileName(url);
  const name = PART_NAMES[part] ?? (url === undefined ? 'URL' : undefined);
  return name === undefined ? file : `The ${name} of ${file}`;
}

type Platforms = Pick<Effect, 'platforms' | 'isEstimate'>;

/**
 * Returns the findings as sentences. Those about platforms without a file say how many devices keep their
 * version for lack of one; platforms that no finding names follow.
 */
export function findingSentences(
  findings: readonly Finding[],
  artifacts: readonly NamedFile[] | undefined,
  { platforms, isEstimate }: Platforms,
): readonly FindingSentence[] {
  const left = new Map(
    platforms
      .filter(({ withoutArtifact }) => withoutArtifact > 0)
      .map((row) => [targetText(row.platform, row.arch), row]),
  );
  const kept = (targets: readonly string[]): string => {
    const devices = targets.reduce((sum, each) => sum + (left.get(each)?.withoutArtifact ?? 0), 0);
    for (const each of targets) left.delete(each);
    const what = devices === 1 ? 'keeps its version' : 'keep their versions';
    return devices === 0
      ? ''
      : ` ${isEstimate ? '≈ ' : ''}${countText(devices, 'device')} ${what}.`;
  };
  const said = findings.map((finding): FindingSentence => {
    const { severity } = finding;
    const [, platform = '', arch = null, rest = ''] = NO_FILE.exec(finding.message) ?? [];
    if (platform === '') return { severity, text: findingSentence(finding, artifacts) };
    const found = [...left].filter(
      ([, row]) => row.platform === platform && (arch === null || row.arch === arch),
    );
    const text = closed(`${targetText(platform, arch)} ${rest}`);
    return { severity, text: `${text}${kept(found.map(([target]) => target))}` };
  });
  // For a release without any file, one finding says so.
  if (artifacts?.length === 0) return said;
  const others = [...left.keys()].slice(0, LISTED_MAX).map((target): FindingSentence => {
    return { severity: 'warning', text: `${target} has no file.${kept([target])}` };
  });
  return [...said, ...others];
}

function targetText(platform: string, arch: string | null): string {
  const name = platformName(platform);
  return arch === null ? name : `${name} (${arch})`;
}
