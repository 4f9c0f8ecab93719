// Asks before something that cannot be taken back with a click.

import type { ComponentChildren } from 'preact';
import { Dialog } from './dialog.tsx';
import { Form } from './form.tsx';

/** `children` say what will happen; `verb` is the button that makes it so. */
export function ConfirmDialog(props: {
  title: string;
  verb: string;
  tone?: 'primary' | 'danger';
  onConfirm: () => Promise<unknown>;
  onClose: () => void;
  children: ComponentChildren;
}) {
  const { title, verb, tone = 'danger', onConfirm, onClose, children } = props;
  const confirm = async () => {
    await onConfirm();
    onClose();
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <Form send={verb} tone={tone} onSend={confirm} onCancel={onClose}>
        {children}
      </Form>
    </Dialog>
  );
}
