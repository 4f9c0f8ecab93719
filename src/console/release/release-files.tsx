// First step of publishing a release: version, notes and artifacts.

import { useState } from 'preact/hooks';
import type { Artifact } from '../../contract/resource.ts';
import {
  ARTIFACT_FORMATS,
  decodedFileName,
} from '../../domain/decision/artifact/artifact-format.ts';
import { Field, type FieldOfForm, TextArea } from '../form/field.tsx';
import type { FieldError } from '../form/field-error.ts';
import { CrossButton, SmallButton } from '../form/small-button.tsx';
import {
  type ArtifactDraft,
  artifactOf,
  NEW_ARTIFACT,
  nextArtifact,
  withVersion,
} from '../format/artifact-draft.ts';
import { countText } from '../format/figure-text.ts';
import type { PastedRelease } from '../format/pasted-release.ts';

export type FilesDraft = {
  readonly version: string;
  readonly notes: string;
  readonly artifacts: readonly ArtifactDraft[];
  /** Version in the URLs, which is replaced by the entered one; empty if there is none. */
  readonly named: string;
  /** Pasted text that is not used yet. */
  readonly pasted: string;
};

/** Name of the field for pasted text, which is not part of the request. */
const PASTED = 'pasted';

/** Paths of the fields in this step. */
export const FILES_PATHS: readonly string[] = ['version', 'notes', 'artifacts', PASTED];

/** Returns the files of a new release; the next one begins with the artifacts of `from`. */
export function filesDraft(
  from: { readonly version: string; readonly artifacts: readonly Artifact[] } | undefined,
): FilesDraft {
  const artifacts = from?.artifacts.map(nextArtifact) ?? [];
  return {
    ...{ version: '', notes: '', pasted: '', named: from?.version ?? '' },
    artifacts: artifacts.length === 0 ? [NEW_ARTIFACT] : artifacts,
  };
}

/** Returns the files as part of a request to publish. */
export function filesBody(draft: FilesDraft) {
  // The version's field may still have the focus, so its URLs may not be updated yet.
  const { version, notes, artifacts } = renamed(draft);
  const sent = artifacts.map(artifactOf).filter((artifact) => artifact !== undefined);
  return { version, notes, artifacts: sent };
}

/** Replaces the version in the URLs by the entered one. */
function renamed(draft: FilesDraft): FilesDraft {
  const { version, artifacts, named } = draft;
  const to = version.trim();
  if (to === '' || named === '') return draft;
  return { ...draft, artifacts: withVersion(artifacts, named, to), named: to };
}

/** Returns why the step cannot be left: pasted text would be lost. */
export function filesObstacle({ pasted }: FilesDraft): FieldError | undefined {
  if (pasted.trim() === '') return undefined;
  return { path: PASTED, reason: 'Use these files, or empty the field.' };
}

/** Files in words, for a review. */
export function FilesSummary({ draft }: { draft: FilesDraft }) {
  const { version, notes, artifacts } = filesBody(draft);
  return (
    <>
      <span class="code strong">{version}</span>
      <span class="hint">
        {countText(artifacts.length, 'file')}
        {notes.trim() === '' ? ', no notes' : ', with notes'}
      </span>
      {artifacts.map(({ platform, arch, url }, index) => (
        <span key={index} class="hint">
          {arch === undefined ? platform : `${platform}/${arch}`}
          {url !== undefined && (
            <>
              {' '}
              <span class="code">{decodedFileName(url)}</span>
            </>
          )}
        </span>
      ))}
    </>
  );
}

/** Fields for the version, the notes and the artifacts; `onPasted` gets a pasted release. */
export function FilesFields(props: {
  draft: FilesDraft;
  onChange: (draft: FilesDraft) => void;
  onPasted: (pasted: PastedRelease) => void;
}) {
  const { draft, onChange, onPasted } = props;
  const { artifacts } = draft;
  const field = (name: 'version' | 'notes' | typeof PASTED) => ({
    name,
    value: draft[name],
    onInput: (value: string) => onChange({ ...draft, [name]: value }),
  });
  return (
    <>
      <div class="columns">
        <Field
          label="Version"
          onLeave={() => onChange(renamed(draft))}
          placeholder="1.4.0"
          isRequired
          isFocused
          isCode
          {...field('version')}
        />
      </div>
      <TextArea label="Notes (Markdown)" {...field('notes')} />
      <PasteRelease {...field(PASTED)} onPasted={onPasted} />
      <ArtifactRows
        artifacts={artifacts}
        onChange={(changed) => onChange({ ...draft, artifacts: changed })}
      />
    </>
  );
}

const PLATFORMS = ['darwin', 'windows', 'linux'];
const ARCHES = ['universal', 'aarch64', 'x86_64', 'x86'];

/** Rows for artifacts; empty rows are ignored. */
function ArtifactRows(props: {
  artifacts: readonly ArtifactDraft[];
  onChange: (artifacts: readonly ArtifactDraft[]) => void;
}) {
  const { artifacts, onChange } = props;
  return (
    <fieldset class="wide">
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
      <div>
        <SmallButton onClick={() => onChange([...artifacts, NEW_ARTIFACT])}>
          Add an artifact
        </SmallButton>
      </div>
    </fieldset>
  );
}

function ArtifactRow(props: {
  number: number;
  /** Path of the artifact in the request; undefined for an empty row, which is not sent. */
  path: string | undefined;
  artifact: ArtifactDraft;
  onChange: (artifact: ArtifactDraft) => void;
  onRemove: () => void;
}) {
  const { number, path, artifact, onChange, onRemove } = props;
  const { signature, sha512, size, format } = artifact;
  const isFilled = [signature, sha512, size, format].some((text) => text !== '');
  // The details stay open when the last of these fields is emptied.
  const [isOpen, setOpen] = useState(isFilled);
  const field = (name: keyof ArtifactDraft) => ({
    name: path === undefined ? undefined : `${path}.${name}`,
    value: artifact[name],
    onInput: (value: string) => onChange({ ...artifact, [name]: value }),
  });
  return (
    <div class="artifact-row stack panel">
      <div class="artifact-main">
        <Field label="Platform" options={PLATFORMS} placeholder="darwin" {...field('platform')} />
        <Field label="Architecture" options={ARCHES} placeholder="any" {...field('arch')} />
        <Field label="URL" placeholder="https://…" isCode {...field('url')} />
      </div>
      <details
        class="rare"
        open={isOpen || isFilled}
        onToggle={(event) => setOpen(event.currentTarget.open)}
      >
        <summary>Signature, checksum, size, format</summary>
        <div class="columns">
          <Field label="Signature" isCode {...field('signature')} />
          <Field label="SHA-512" isCode {...field('sha512')} />
          <Field label="Size (bytes)" {...field('size')} />
          <Field
            label="Format"
            options={ARTIFACT_FORMATS}
            placeholder="as the URL ends"
            {...field('format')}
          />
        </div>
      </details>
      <CrossButton label={`Remove artifact ${number}`} onClick={onRemove} />
    </div>
  );
}

function pathOf(artifacts: readonly ArtifactDraft[], index: number): string | undefined {
  const isSent = artifacts.map((artifact) => artifactOf(artifact) !== undefined);
  if (isSent[index] !== true) return undefined;
  return `artifacts.${isSent.slice(0, index).filter(Boolean).length}`;
}

/** Text area and button for pasted releases; the code is loaded on first use. */
function PasteRelease(props: FieldOfForm & { onPasted: (pasted: PastedRelease) => void }) {
  const { onPasted, ...field } = props;
  const text = field.value;
  const [fault, setFault] = useState<string>();
  // Only the initial state: afterwards, the reader opens and closes it.
  const [isFilled] = useState(text !== '');
  const take = async () => {
    const { readPasted } = await import('../format/pasted-release.ts');
    const pasted = readPasted(text);
    setFault(typeof pasted === 'string' ? pasted : undefined);
    if (typeof pasted !== 'string') onPasted(pasted);
  };
  return (
    <details class="more" open={isFilled}>
      <summary>Paste addresses or JSON</summary>
      <TextArea
        {...field}
        label="Addresses of the files, one a line, or the release as JSON"
        placeholder="https://…"
        hint="The names of the files tell what they are for. It takes the place of the artifacts below."
      />
      {fault !== undefined && (
        <p class="bad-text" role="alert">
          {fault}
        </p>
      )}
      <SmallButton onClick={() => void take()}>Use these files</SmallButton>
    </details>
  );
}
