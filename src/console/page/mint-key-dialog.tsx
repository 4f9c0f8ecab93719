// Mints a key and shows its secret, this once.

import { useState } from 'preact/hooks';
import { Dialog } from '../part/dialog.tsx';
import { Field } from '../part/field.tsx';
import { Form } from '../part/form.tsx';
import { Notice } from '../part/notice.tsx';
import { Secret } from '../part/secret.tsx';

/** `onMint` makes the key and gives its secret. */
export function MintKeyDialog(props: {
  onMint: (name: string) => Promise<string>;
  onClose: () => void;
}) {
  const { onMint, onClose } = props;
  const [name, setName] = useState('');
  const [secret, setSecret] = useState<string>();
  if (secret !== undefined) {
    return (
      <Dialog title="Key minted" onClose={onClose}>
        <Notice tone="warn">
          Copy the key now. It is shown this once; only its fingerprint is kept.
        </Notice>
        <Secret label="Key" text={secret} what="key" />
        <div class="form-actions">
          <button type="button" class="button primary" onClick={onClose}>
            Done
          </button>
        </div>
      </Dialog>
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
