// Dialog for a rollback, which is permanent: it shows the affected devices and asks for the version to be
// typed.

import { useState } from 'preact/hooks';
import type { RenderedReleaseDetail } from '../../contract/console.ts';
import { countText } from '../format/number-text.ts';
import { Dialog } from '../part/dialog.tsx';
import { Field } from '../part/field.tsx';
import { Form } from '../part/form.tsx';
import { Notice } from '../part/notice.tsx';

/** Dialog for a rollback; `onRollBack` performs it. */
export function RollbackDialog(props: {
  version: string;
  rollback: RenderedReleaseDetail['rollback'];
  onRollBack: () => Promise<void>;
  onClose: () => void;
}) {
  const { version, rollback, onRollBack, onClose } = props;
  const [typed, setTyped] = useState('');
  const rollBack = async () => {
    await onRollBack();
    onClose();
  };
  return (
    <Dialog title={`Roll back ${version}`} onClose={onClose}>
      <Form
        send={`Roll back ${version}`}
        tone="danger"
        onSend={rollBack}
        onCancel={onClose}
        obstacle={typed.trim() === version ? undefined : 'Type the version first'}
      >
        <Notice tone="warn">
          <RollbackConsequence {...rollback} /> Nobody is offered {version} again, and a rolled-back
          release can never be served again.
        </Notice>
        <Field
          label={`Type ${version} to confirm`}
          value={typed}
          onInput={setTyped}
          isFocused
          isCode
        />
      </Form>
    </Dialog>
  );
}

function RollbackConsequence({ devices, to }: RenderedReleaseDetail['rollback']) {
  if (devices === 0) return <>No device runs it.</>;
  if (to === null) {
    return (
      <>
        <strong>{countText(devices, 'device runs', 'devices run')} it and will stay on it</strong>:
        there is no older release to send them to. Publish a fix.
      </>
    );
  }
  return (
    <>
      <strong>
        {countText(devices, 'device')} will be sent down to {to}
      </strong>{' '}
      when {devices === 1 ? 'it next asks' : 'they next ask'}.
    </>
  );
}
