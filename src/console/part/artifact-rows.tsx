// Form rows for the artifacts of a new release.

import { ARTIFACT_FORMATS } from '../../domain/decision/artifact-format.ts';
import { type ArtifactDraft, artifactOf, NEW_ARTIFACT } from '../format/artifact-draft.ts';
import { Field } from './field.tsx';

const PLATFORMS = ['darwin', 'windows', 'linux'];
const ARCHES = ['universal', 'aarch64', 'x86_64', 'x86'];

/** Rows for artifacts; there is always at least one, and empty rows are ignored. */
export function ArtifactRows(props: {
  artifacts: readonly ArtifactDraft[];
  onChange: (artifacts: readonly ArtifactDraft[]) => void;
}) {
  const { artifacts, onChange } = props;
  return (
    <fieldset>
      <legend>Artifacts</legend>
      {artifacts.map((artifact, index) => (
        <ArtifactRow
          key={index}
          number={index + 1}
          path={pathOf(artifacts, index)}
          artifact={artifact}
          onChange={(changed) => onChange(artifacts.with(index, changed))}
          onRemove={() => onChange(artifacts.toSpliced(index, 1))}
        />
      ))}
      <button
        type="button"
        class="button plain small"
        onClick={() => onChange([...artifacts, NEW_ARTIFACT])}
      >
        Add an artifact
      </button>
    </fieldset>
  );
}

function ArtifactRow(props: {
  number: number;
  /** Path of the artifact in what is sent; undefined for an empty row, which is not. */
  path: string | undefined;
  artifact: ArtifactDraft;
  onChange: (artifact: ArtifactDraft) => void;
  onRemove: () => void;
}) {
  const { number, path, artifact, onChange, onRemove } = props;
  const field = (name: keyof ArtifactDraft) => ({
    name: path === undefined ? undefined : `${path}.${name}`,
    value: artifact[name],
    onInput: (value: string) => onChange({ ...artifact, [name]: value }),
  });
  return (
    <div class="artifact-row">
      <div class="columns">
        <Field label="Platform" options={PLATFORMS} placeholder="darwin" {...field('platform')} />
        <Field label="Architecture" options={ARCHES} placeholder="any" {...field('arch')} />
        <Field
          label="Format"
          options={ARTIFACT_FORMATS}
          placeholder="as the URL ends"
          {...field('format')}
        />
        <Field label="Size (bytes)" {...field('size')} />
      </div>
      <Field label="URL" placeholder="https://…" isCode {...field('url')} />
      <div class="columns">
        <Field label="Signature" isCode {...field('signature')} />
        <Field label="SHA-512" isCode {...field('sha512')} />
      </div>
      <button
        type="button"
        class="icon-button"
        aria-label={`Remove artifact ${number}`}
        onClick={onRemove}
      >
        ×
      </button>
    </div>
  );
}

function pathOf(artifacts: readonly ArtifactDraft[], index: number): string | undefined {
  const isSent = artifacts.map((artifact) => artifactOf(artifact) !== undefined);
  if (isSent[index] !== true) return undefined;
  return `artifacts.${isSent.slice(0, index).filter(Boolean).length}`;
}
