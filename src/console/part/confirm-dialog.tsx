// Confirmation of an action that cannot be undone with a click.

import type { ComponentChildren } from 'preact';
import { Dialog } from './dialog.tsx';
import { Form } from './form.tsx';

/** Dialog that explains an action in `children`; `verb` labels the button that performs it. */
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
