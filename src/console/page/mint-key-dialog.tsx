// Dialog that creates an API key and shows its secret once.

import { useState } from 'preact/hooks';
import { Dialog } from '../part/dialog.tsx';
import { Field } from '../part/field.tsx';
import { Form } from '../part/form.tsx';
import { SecretDialog } from '../part/secret-dialog.tsx';

/** Dialog for a new key; `onMint` creates it and resolves with its secret. */
export function MintKeyDialog(props: {
  onMint: (name: string) => Promise<string>;
  onClose: () => void;
}) {
  const { onMint, onClose } = props;
  const [name, setName] = useState('');
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
      <Form send="Mint key" onSend={async () => setSecret(await onMint(name))} onCancel={onClose}>
        <Field
          label="Name"
          value={name}
          onInput={setName}
          placeholder="ci"
          hint="Where it will be used; the audit calls it by this name."
          isRequired
          isFocused
        />
      </Form>
    </Dialog>
  );
}
