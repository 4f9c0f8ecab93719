// Dialog that creates an API key and shows its secret once.

import { useState } from 'preact/hooks';
import { KEY_RIGHTS, type KeyRight } from '../../contract/resource.ts';
import { ChipsInput } from '../part/chips-input.tsx';
import { Dialog, SecretDialog } from '../part/dialog.tsx';
import { CheckGroup, Choice, Field } from '../part/field.tsx';
import { Form } from '../part/form.tsx';
import { RIGHT_OPTIONS } from './right-options.ts';

const END_OPTIONS = [
  { value: 'never', label: 'never' },
  { value: '30', label: 'in 30 days' },
  { value: '90', label: 'in 90 days' },
  { value: '365', label: 'in a year' },
] as const;

type End = (typeof END_OPTIONS)[number]['value'];

const DAY_MS = 86_400_000;

/** What a key is made with, as the service takes it. */
type KeyDraft = {
  readonly name: string;
  readonly apps: readonly string[] | undefined;
  readonly may: readonly KeyRight[] | undefined;
  readonly expiresAt: string | undefined;
};

function draftOf(
  name: string,
  apps: readonly string[],
  may: readonly KeyRight[],
  end: End,
): KeyDraft {
  const expiresAt = new Date(Date.now() + Number(end) * DAY_MS);
  return {
    name,
    apps: apps.length === 0 ? undefined : apps,
    may: may.length === KEY_RIGHTS.length ? undefined : may,
    expiresAt: end === 'never' ? undefined : expiresAt.toISOString(),
  };
}

/** Dialog for a new key; `apps` are suggested, `onMint` creates it and resolves with its secret. */
export function MintKeyDialog(props: {
  apps: readonly string[];
  onMint: (draft: KeyDraft) => Promise<string>;
  onClose: () => void;
}) {
  const { apps, onMint, onClose } = props;
  const [name, setName] = useState('');
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const [may, setMay] = useState<readonly KeyRight[]>(KEY_RIGHTS);
  const [end, setEnd] = useState<End>('never');
  const [secret, setSecret] = useState<string>();
  if (secret !== undefined) {
    return (
      <SecretDialog title="Key minted" label="Key" text={secret} what="key" onClose={onClose}>
        Copy the key now. It is shown this once; only its fingerprint is kept.
      </SecretDialog>
    );
  }
  return (
    <Dialog title="Mint a key" onClose={onClose}>
      <Form
        send="Mint key"
        obstacle={may.length === 0 ? 'Choose what it may do.' : undefined}
        onSend={async () => setSecret(await onMint(draftOf(name, chosen, may, end)))}
        onCancel={onClose}
      >
        <Field
          name="name"
          label="Name"
          value={name}
          onInput={setName}
          placeholder="ci"
          hint="Where it will be used; the audit calls it by this name."
          isRequired
          isFocused
        />
        <fieldset>
          <legend>Apps</legend>
          <ChipsInput
            label="Add an app"
            values={chosen}
            options={apps}
            placeholder={chosen.length === 0 ? 'all apps; or choose some' : undefined}
            onChange={setChosen}
          />
        </fieldset>
        <CheckGroup
          label="It may"
          values={may}
          options={RIGHT_OPTIONS}
          onChange={setMay}
          hint={
            may.length === 0 ? 'Choose at least one.' : 'A build needs no more than to publish.'
          }
        />
        <Choice label="Ends" value={end} options={END_OPTIONS} onChoose={setEnd} />
      </Form>
    </Dialog>
  );
}
